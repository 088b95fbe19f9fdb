use super::*;
use crate::stack::frame_pointers::{self, NEAR};
use crate::stack::{Limits, Powers};

/// Random numbers (xorshift).
pub(in crate::stack) struct Random(pub(in crate::stack) u64);

impl Random {
    pub(in crate::stack) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }
}

/// A hand-made stack: frames of a few words each, in ordinary memory.
struct Model {
    words: Vec<u64>,
    /// Indices of the frames' words, outermost first.
    frames: Vec<usize>,
    limits: Limits,
}

const WORDS: usize = 16_384;

/// Walks like the hook does.
fn walk(
    frame: usize,
    model: &Model,
    last: &LastWalk<frame_pointers::Linked>,
    seed: u64,
    scope: u32,
) -> u64 {
    frame_pointers::hash(frame, &model.limits, last, &Powers::of(seed), scope)
        .unwrap_or_else(|| frame_pointers::hash_in_full(frame, &model.limits, seed, scope))
}

impl Model {
    fn new() -> Model {
        let words = vec![0u64; WORDS];
        let range = words.as_ptr_range();
        let stack = Stack {
            low: range.start.addr(),
            high: range.end.addr(),
        };
        Model {
            words,
            frames: Vec::new(),
            limits: Limits::of(stack),
        }
    }

    fn address(&self, frame: usize) -> usize {
        self.words.as_ptr().addr() + 8 * frame
    }

    /// Calls a function: adds a frame and its return address.
    fn call(&mut self, random: &mut Random) {
        let caller = self.frames.last().copied();
        let top = caller.unwrap_or(WORDS - 4);
        let Some(frame) = top.checked_sub(2 + random.below(4)) else {
            return;
        };
        self.words[frame] = caller.map_or(0, |caller| self.address(caller) as u64);
        self.words[frame + 1] = 1 + random.below(3) as u64;
        self.frames.push(frame);
    }

    /// Overwrites a word of the stack, which may or may not belong to a frame in use.
    fn spoil(&mut self, random: &mut Random) {
        let word = random.below(WORDS);
        self.words[word] = match random.below(4) {
            0 => 0,
            1 => self.address(random.below(WORDS)) as u64,
            2 => self.address(random.below(WORDS)) as u64 + 3,
            _ => random.below(5) as u64,
        };
    }
}

fn last_walk() -> Box<LastWalk<frame_pointers::Linked>> {
    LastWalk::none()
}

#[test]
fn whatever_was_walked_before_the_sum_is_that_of_a_walk_in_full() {
    let cases = [
        (5, NEAR, 0),
        (13, 60, 0),
        (21, 60, 30),
        (29, 300, 0),
        (37, 300, 40),
        (45, 900, 0),
        (53, 900, 40),
        (61, 4_000, 0),
        (69, 4_000, 40),
    ];
    for (seed, depth, spoils) in cases {
        let mut random = Random(seed * 0x1234_5678_9ABC);
        let (mut model, last) = (Model::new(), last_walk());
        let mut kept = 0;
        for round in 0..40_000 {
            // The next stack is usually close to the previous one, and sometimes much shorter.
            let fewer = if round % 701 == 0 { depth } else { 6 };
            for _ in 0..random.below(fewer) {
                model.frames.pop();
            }
            let wanted = if round % 500 == 0 { depth } else { 6 };
            for _ in 0..random.below(wanted) {
                if model.frames.len() < depth {
                    model.call(&mut random);
                }
            }
            if random.below(100) < spoils {
                model.spoil(&mut random);
            }
            let Some(frame) = model.frames.last().map(|frame| model.address(*frame)) else {
                continue;
            };
            let hash = walk(frame, &model, &last, seed, 3);
            let whole = frame_pointers::hash_in_full(frame, &model.limits, seed, 3);
            assert_eq!(hash, whole, "seed {seed}, round {round}");
            kept += last.len.get();
        }
        assert_eq!(kept > 0, depth > NEAR, "seed {seed}: {kept}");
    }
}

#[test]
fn another_stack_and_other_keys_begin_anew() {
    let mut random = Random(7);
    let (mut one, mut other, last) = (Model::new(), Model::new(), last_walk());
    for model in [&mut one, &mut other] {
        (0..80).for_each(|_| model.call(&mut random));
    }
    for round in 0..100u64 {
        for model in [&one, &other] {
            let frame = model.address(model.frames[79]);
            let hash = walk(frame, model, &last, round / 10, 0);
            let whole = frame_pointers::hash_in_full(frame, &model.limits, round / 10, 0);
            assert_eq!(hash, whole, "round {round}");
        }
    }
}

#[test]
fn a_change_of_any_word_of_any_frame_is_seen() {
    let mut random = Random(9);
    let (mut model, last) = (Model::new(), last_walk());
    (0..100).for_each(|_| model.call(&mut random));
    let frame = model.address(model.frames[99]);
    let hash = |model: &Model| walk(frame, model, &last, 5, 0);
    let before = hash(&model);
    for index in 0..99 {
        let place = model.frames[index] + 1;
        let address = std::mem::replace(&mut model.words[place], 77);
        assert_ne!(hash(&model), before, "return address of frame {index}");
        model.words[place] = address;
        assert_eq!(hash(&model), before, "as before");
        let link = std::mem::replace(&mut model.words[place - 1], 0);
        assert_eq!(
            hash(&model) == before,
            index == 0,
            "a link of 0 ends the stack at frame {index}"
        );
        model.words[place - 1] = link;
        assert_eq!(hash(&model), before);
    }
}

#[test]
fn of_a_stack_that_is_too_deep_the_innermost_frames_count_and_no_others() {
    let mut random = Random(11);
    let (mut model, last) = (Model::new(), last_walk());
    (0..2_000).for_each(|_| model.call(&mut random));
    let frames = model.frames.clone();
    let walked = |model: &Model, frame: usize| {
        let frame = model.address(frames[frame]);
        let hash = walk(frame, model, &last, 5, 0);
        assert_eq!(
            hash,
            frame_pointers::hash_in_full(frame, &model.limits, 5, 0)
        );
        assert_eq!(last.skips.get(), 0, "it is kept");
        hash
    };
    let before = walked(&model, 1_999);
    for (index, frame) in frames.iter().enumerate().take(1_999).skip(1_700) {
        let place = frame + 1;
        let address = std::mem::replace(&mut model.words[place], 77);
        let is_beyond = index < 1_999 + 1 - MAX_FRAMES;
        assert_eq!(walked(&model, 1_999) == before, is_beyond, "frame {index}");
        model.words[place] = address;
        assert_eq!(walked(&model, 1_999), before, "as before");
    }
    // Walk outward through all kept frames and beyond, then inward again through more frames than
    // there is room for.
    let (outward, inward) = ((100..2_000).rev(), 100..2_000);
    for index in outward.clone().chain(inward.clone()).chain(outward) {
        walked(&model, index);
    }
    for index in inward {
        // Each time, a frame further out gets another return address.
        model.words[frames[index - 50] + 1] ^= 64;
        walked(&model, index);
    }
}

/// Links with one step that does not depend on the stack alone.
struct Stubborn {
    links: frame_pointers::Links,
    at: usize,
}

impl Step for Stubborn {
    type Frame = frame_pointers::Linked;

    fn place(state: usize) -> usize {
        state
    }

    fn step(&self, state: usize) -> Option<Stepped<Self::Frame>> {
        (state != self.at).then(|| self.links.step(state)).flatten()
    }
}

#[test]
fn a_step_that_other_things_decide_is_walked_in_full_where_it_counts_and_else_not_taken() {
    let mut random = Random(13);
    let mut model = Model::new();
    (0..600).for_each(|_| model.call(&mut random));
    let stack = model.limits.stack();
    let state = model.address(model.frames[599]);
    let mut whole = Sum::new(5, 0);
    frame_pointers::walk(state, &model.limits, |address| whole.add_far(address));
    let whole = whole.value;
    for (at, found) in [(599 - 300, Some(whole)), (599 - 200, None)] {
        let way = Stubborn {
            links: frame_pointers::Links::of(stack),
            at: model.address(model.frames[at]),
        };
        let hash = last_walk().go_on(&way, stack, state, Sum::new(5, 0));
        assert_eq!(hash, found, "frame {at}");
    }
}
