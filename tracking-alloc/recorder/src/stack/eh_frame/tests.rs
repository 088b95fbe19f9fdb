mod aarch64;

use super::machine::{Base, Host, Layout, Machine};
use super::*;
use crate::stack::Find;
use crate::stack::last_walk::tests::Random;

/// Returns the rule of a frame whose return address is its last word.
fn rule(base: Base, end: u64, bp: Option<u64>) -> Option<Rule> {
    Rule::new::<Host>(Layout {
        base,
        end,
        address: 8,
        bp,
    })
}

/// The rules of three functions: one that saves its caller's rbp, one whose frame ends at rbp, and
/// the outermost one.
struct Rules(Stack);

impl Step for Rules {
    type Frame = UnwoundFrame;

    fn place(frame: Frame) -> usize {
        frame.sp
    }

    fn step(&self, frame: Frame) -> Option<Stepped<UnwoundFrame>> {
        let rule = match frame.pc {
            1 => rule(Base::Sp, 4 * 8, Some(16))?,
            2 => rule(Base::Bp, 16, Some(16))?,
            _ => Rule::OUTERMOST,
        };
        UnwoundFrame::step(frame, rule, self.0)
    }
}

#[test]
fn a_caller_whose_rbp_alone_changed_is_walked_anew() {
    // From the inside out: the frame of 1 with rbp and return address, then two ends of the frame
    // of 2.
    let mut words = [0u64; 16];
    let place = words.as_ptr().addr();
    let at = |word: usize| (place + 8 * word) as u64;
    (words[2], words[3]) = (at(6), 2);
    (words[6], words[7]) = (at(14), 3);
    (words[10], words[11]) = (at(14), 4);
    let stack = Stack {
        low: place,
        high: at(16) as usize,
    };
    let rules = Rules(stack);
    let last = LastWalk::none();
    let walk = |words: &[u64; 16]| {
        std::hint::black_box(words);
        let start = Frame::first(Start::from_registers((0, place, 1)), &last.register);
        last.go_on(&rules, stack, start, Sum::new(5, 0))
    };
    let sum = |addresses: [u64; 2]| {
        let mut sum = Sum::new(5, 0);
        addresses
            .into_iter()
            .for_each(|address| sum.add_far(address));
        Some(sum.value)
    };
    assert_eq!(walk(&words), sum([2, 3]));
    assert_eq!(walk(&words), sum([2, 3]), "nothing changed");
    words[2] = at(10);
    assert_eq!(walk(&words), sum([2, 4]), "the frame of 2 ends elsewhere");
    words[2] = at(6);
    words[7] = 5;
    assert_eq!(walk(&words), sum([2, 5]), "its return address changed");
}

/// The kinds of functions, by how they keep what their caller needs. The low bits of an address
/// tell the kind of its function.
const PLAIN: u64 = 0;
const SMALL: u64 = 1;
const SAVES_BP: u64 = 2;
const BY_BP: u64 = 3;
const REALIGNED: u64 = 4;
const OUTERMOST: u64 = 5;
const UNKNOWN: u64 = 6;

/// Returns the distance of the return address from the end of a frame, where that may be chosen.
fn address_below_end(kind: u64) -> u64 {
    if kind == PLAIN && !Host::ENDS_WITH_ADDRESS {
        40
    } else {
        8
    }
}

fn rule_at(frame: Frame, _: Stack) -> Rule {
    let rule = match frame.pc % 8 {
        PLAIN => Rule::new::<Host>(Layout {
            base: Base::Sp,
            end: 6 * 8,
            address: address_below_end(PLAIN),
            bp: None,
        }),
        SMALL => rule(Base::Sp, 2 * 8, None),
        SAVES_BP => rule(Base::Sp, 4 * 8, Some(16)),
        BY_BP => rule(Base::Bp, 16, Some(16)),
        REALIGNED => rule(Base::Loaded, 8, None).or(Some(Rule::UNKNOWN)),
        OUTERMOST => Some(Rule::OUTERMOST),
        _ => Some(Rule::UNKNOWN),
    };
    let rule = rule.expect("fits");
    if let Some(cache) = cache::current().filter(|_| rule != Rule::UNKNOWN) {
        cache.insert(frame.pc, rule);
    }
    rule
}

static FIND: Find = Find {
    rule: rule_at,
    stack: |_| None,
    stack_before: |_| None,
};

/// The registers of a function in progress.
#[derive(Clone, Copy)]
struct Registers {
    pc: u64,
    sp: usize,
    bp: usize,
}

/// A hand-made stack in ordinary memory: the functions in progress, outermost first.
struct Model {
    words: Vec<u64>,
    frames: Vec<Registers>,
    limits: Limits,
    last: Box<Unwound>,
}

impl Model {
    fn new() -> Model {
        prepare(&mut crate::sys::Bump::new());
        let words = vec![0u64; 16_384];
        let range = words.as_ptr_range();
        let (low, high) = (range.start.addr(), range.end.addr());
        let outermost = Registers {
            pc: OUTERMOST + 8,
            sp: high - 64,
            bp: 0,
        };
        Model {
            words,
            frames: vec![outermost],
            limits: Limits::of(Stack { low, high }),
            // SAFETY: all-zero bytes are a valid value without walks.
            last: unsafe { Box::new_zeroed().assume_init() },
        }
    }

    fn write(&mut self, at: usize, word: usize) {
        let low = self.limits.stack().low;
        self.words[(at - low) / 8] = word as u64;
    }

    /// Calls a function of a kind, from one of three places.
    fn call(&mut self, kind: u64, random: &mut Random) {
        let last = self.frames.last_mut().expect("the outermost");
        last.pc = last.pc % 8 + 8 * (1 + random.below(3) as u64);
        let caller = *last;
        let end = caller.sp;
        if end < self.limits.stack().low + 128 {
            return;
        }
        self.write(end - address_below_end(kind) as usize, caller.pc as usize);
        let (size, bp) = match kind {
            SAVES_BP | BY_BP => {
                self.write(end - 16, caller.bp);
                let data = random.below(1000);
                (32, if kind == BY_BP { end - 16 } else { data })
            }
            REALIGNED => {
                self.write(end - 32, caller.bp);
                self.write(end - 40, end);
                (64, end - 32)
            }
            PLAIN => (48, caller.bp),
            _ => (16, caller.bp),
        };
        self.frames.push(Registers {
            pc: kind + 8,
            sp: end - size,
            bp,
        });
    }

    /// Returns the sum of the current stack, and checks that a full walk gives the same sum.
    fn hash(&self, powers: &Powers) -> u64 {
        let Registers { pc, sp, bp } = *self.frames.last().expect("the outermost");
        let start = Start::from_registers((bp, sp, pc));
        std::hint::black_box(&self.words);
        let hash = hash(start, &self.limits, &self.last, &FIND, powers, 3);
        let whole = hash_in_full(start, &self.limits, &FIND, powers.begin(3));
        assert_eq!(hash, whole, "of {} frames", self.frames.len());
        hash
    }

    /// Returns `true` if an earlier walk met the same innermost frames.
    fn is_near_known(&self, powers: &Powers) -> bool {
        let Registers { pc, sp, bp } = *self.frames.last().expect("the outermost");
        let start = Start::from_registers((bp, sp, pc));
        let frame = Frame::first(start, &self.last.walk.register);
        let high = self.limits.stack().high;
        self.last.near.find(frame, high, powers).is_some()
    }
}

#[test]
fn whatever_was_walked_before_the_sum_is_that_of_a_walk_in_full() {
    // For each case: the kinds of functions to call, the depth, and the percentage of walks before
    // which words are overwritten.
    let usual = [PLAIN, SMALL, SAVES_BP, SAVES_BP, BY_BP, BY_BP];
    let realigned = rule(Base::Loaded, 8, None).map_or(SMALL, |_| REALIGNED);
    let special = [PLAIN, SAVES_BP, SAVES_BP, BY_BP, BY_BP, realigned, UNKNOWN];
    let cases: [(&[u64], usize, usize); 10] = [
        (&usual[..4], 3, 0),
        (&usual, NEAR, 0),
        (&usual, NEAR + 1, 0),
        (&usual[..4], 60, 0),
        (&usual, 60, 0),
        (&usual, 60, 30),
        (&special, 9, 10),
        (&special, 60, 10),
        (&usual, 900, 0),
        (&usual, 900, 40),
    ];
    for (case, (kinds, depth, spoils)) in cases.into_iter().enumerate() {
        let mut random = Random((case as u64 + 1) * 0x1234_5678_9ABC);
        let mut model = Model::new();
        let mut known = 0;
        for round in 0..20_000u64 {
            // Usually a few frames change, at times many do. At times the keys change.
            let powers = Powers::of(5 + 8 * (round / 5_000));
            let most = if round % 701 == 0 { depth } else { 4 };
            let fewer = random.below(most + 1).min(model.frames.len() - 1);
            model.frames.truncate(model.frames.len() - fewer);
            let wanted = if round % 500 == 0 { depth } else { 5 };
            for _ in 0..random.below(wanted) {
                if model.frames.len() <= depth {
                    model.call(kinds[random.below(kinds.len())], &mut random);
                }
            }
            if random.below(100) < spoils {
                let word = random.below(model.words.len());
                let place = model.words.as_ptr().addr() + 8 * random.below(model.words.len());
                model.words[word] = match random.below(4) {
                    0 => 0,
                    1 => place as u64,
                    2 => place as u64 + 3,
                    _ => random.below(30) as u64,
                };
            }
            known += u32::from(model.is_near_known(&powers));
            model.hash(&powers);
        }
        // A walk of fewer frames ends within the innermost ones.
        assert_eq!(known > 50, depth >= NEAR, "case {case}: {known}");
    }
}

#[test]
fn a_change_of_any_word_that_decides_a_step_is_seen() {
    let mut random = Random(9);
    let (mut model, powers) = (Model::new(), Powers::of(5));
    let kinds = [SAVES_BP, BY_BP, PLAIN];
    (0..60).for_each(|index| model.call(kinds[index % 3], &mut random));
    let before = model.hash(&powers);
    model.hash(&powers);
    assert!(model.is_near_known(&powers));
    for index in 1..=60 {
        let (frame, end) = (model.frames[index], model.frames[index - 1].sp);
        let low = model.limits.stack().low;
        let place = (end - address_below_end(frame.pc % 8) as usize - low) / 8;
        let address = std::mem::replace(&mut model.words[place], 800);
        assert_ne!(model.hash(&powers), before, "return address of {index}");
        model.words[place] = address;
        assert_eq!(model.hash(&powers), before, "as before");
        if frame.pc % 8 == PLAIN {
            continue;
        }
        let bp = std::mem::replace(&mut model.words[(end - 16 - low) / 8], 8);
        // Functions that end at rbp save their caller's data. The others save a value that a
        // function that ends at rbp needs.
        assert_eq!(
            model.hash(&powers) != before,
            frame.pc % 8 == SAVES_BP && index > 1,
            "rbp that {index} saves"
        );
        model.words[(end - 16 - low) / 8] = bp;
        assert_eq!(model.hash(&powers), before, "as before");
    }
}

#[test]
fn frames_that_need_the_register_of_the_beginning_are_known_by_its_value() {
    let mut random = Random(11);
    let (mut model, powers) = (Model::new(), Powers::of(5));
    (0..20).for_each(|_| model.call(SAVES_BP, &mut random));
    model.call(BY_BP, &mut random);
    let inside = model.frames.len() - 1;
    (0..3).for_each(|_| model.call(PLAIN, &mut random));
    let before = model.hash(&powers);
    assert!(model.is_near_known(&powers));
    let bp = std::mem::replace(&mut model.frames[inside + 3].bp, 8);
    assert!(!model.is_near_known(&powers));
    assert_ne!(model.hash(&powers), before);
    model.frames[inside + 3].bp = bp;
    assert_eq!(model.hash(&powers), before);
    // Also outside of the innermost frames.
    (0..9).for_each(|_| model.call(PLAIN, &mut random));
    let before = model.hash(&powers);
    assert!(model.is_near_known(&powers));
    let last = model.frames.len() - 1;
    model.frames[last].bp = 8;
    assert!(model.is_near_known(&powers));
    assert_ne!(model.hash(&powers), before);
    model.frames[last].bp = bp;
    assert_eq!(model.hash(&powers), before);
}
