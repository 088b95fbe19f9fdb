//! Walking by the rules of `.eh_frame`, for programs built without frame pointers: one cache look-up and two or three
//! loads a frame, of which mostly only the last remain: what earlier walks met is compared (see `near` and `last_walk`).
//!
//! ```text
//! walk ──▶ cache: return address → rule ──▶ step: caller's registers ──▶ visit
//!              │ miss
//!              ▼ write lock
//!          fill: module ─▶ tables (copied from its file) ─▶ gimli ─▶ rule
//! ```
//! Rules come from gimli, not from framehop: framehop keeps modules and rules in collections that allocate, and here
//! that would be through the very allocator being hooked.
//!
//! Never reads outside the thread's own stack between the hook's frame and the stack's top, whatever the rules say;
//! never allocates, never asks the dynamic linker, never reads the target's own `.eh_frame` (it may be unloaded).

mod cache;
mod evaluate;
mod fill;
mod near;
mod rule;
mod tables;

pub(super) use cache::forget_rules;
pub(crate) use cache::prepare;
pub(crate) use fill::{Code, EhFrames};
pub(super) use near::NEAR;
use near::NearWalks;
use rule::LazyFrame;
pub(crate) use rule::{Bounds, Frame, Rule, UnwoundFrame};

use super::last_walk::{LastWalk, Step, Stepped};
use super::{CutAfter, End, FindRule, Limits, Powers, Stack, Start, Sum};
use cache::Cache;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::MAX_FRAMES;

/// Whether the rules of this machine are known: elsewhere, a program without frame pointers has no stacks.
pub(crate) const IS_SUPPORTED: bool = cfg!(target_arch = "x86_64");

/// What the walks of one thread met last. All-zero bytes are nothing.
#[repr(C)]
pub(super) struct Unwound {
    near: NearWalks,
    walk: LastWalk<UnwoundFrame>,
}

/// Visits return addresses from the innermost outward: those of [`super::frame_pointers::walk`] in a program that
/// keeps frame pointers everywhere.
#[inline(always)]
pub(super) fn walk(
    start: Start,
    limits: &Limits,
    find_rule: FindRule,
    visit: impl FnMut(u64),
) -> End {
    let Some(cache) = cache::current() else {
        return End::Stopped;
    };
    let rule_of = |frame: &Frame, bounds| {
        cache
            .find(frame.pc)
            .unwrap_or_else(|| find(find_rule, *frame, bounds))
    };
    let stop = limits.cut_after.in_use();
    walk_by(rule_of, start, limits.stack(), stop, visit)
}

/// The same, with rules from anywhere.
#[inline(always)]
fn walk_by(
    mut rule_of: impl FnMut(&Frame, Bounds) -> Rule,
    start: Start,
    stack: Stack,
    stop: Option<&CutAfter>,
    mut visit: impl FnMut(u64),
) -> End {
    let mut frame = Frame {
        pc: start.pc,
        sp: start.stack_pointer,
        bp: start.frame_pointer,
    };
    if frame.sp < stack.low || frame.sp >= stack.high {
        if stack.high != 0 {
            // The hook's own frame is no larger than this; beyond it nothing is known to be mapped.
            const OWN_FRAME: usize = 1024;
            let bounds = Bounds {
                low: frame.sp,
                high: frame.sp.saturating_add(OWN_FRAME),
            };
            let rule = rule_of(&frame, bounds);
            if frame.step(rule, bounds).is_ok() {
                visit(frame.pc);
            }
        }
        return End::Foreign;
    }
    let bounds = Bounds {
        low: frame.sp,
        high: stack.high,
    };
    for _ in 0..MAX_FRAMES {
        let rule = rule_of(&frame, bounds);
        if let Err(end) = frame.step(rule, bounds) {
            return end;
        }
        visit(frame.pc);
        if stop.is_some_and(|stop| stop.contains(frame.pc)) {
            return End::Stopped;
        }
    }
    End::TooDeep
}

/// The rule of an address that is not in the cache.
#[cold]
#[inline(never)]
fn find(find_rule: FindRule, frame: Frame, bounds: Bounds) -> Rule {
    find_rule(frame, bounds)
}

/// The sum of the return addresses that [`walk`] visits.
#[inline(always)]
pub(super) fn hash(
    start: Start,
    limits: &Limits,
    last: &Unwound,
    find_rule: FindRule,
    powers: &Powers,
    scope: u32,
) -> u64 {
    let (low, span) = (limits.low.get(), limits.span.get());
    let (bp, sp, pc) = start.registers();
    if sp.wrapping_sub(low) <= span {
        let frame = LazyFrame::new(Frame { pc, sp, bp }, last.walk.register());
        // Frames in the last words of a stack are left to the slower path.
        // PERF: nothing here waits for a rule, nor is anything stored that a slower path reads.
        if let Some((frame, sum)) = last.near.find(frame, low + span, powers)
            && let sum = powers.sum::<NEAR>(powers.begin(scope).value().wrapping_add(sum))
            && let Some(sum) = last.walk.unchanged(limits.stack(), frame.sp, frame, sum)
        {
            return sum;
        }
    }
    hash_anew(start, limits, last, find_rule, powers, scope)
}

/// [`NearWalks::find`], apart for the sake of the memory it takes: an event has little stack.
#[inline(never)]
fn find_again(
    near_walks: &NearWalks,
    start: LazyFrame,
    high: usize,
    powers: &Powers,
) -> Option<(LazyFrame, u64)> {
    near_walks.find(start, high, powers)
}

/// The same when anything changed since the last walks.
#[inline(never)]
fn hash_anew(
    start: Start,
    limits: &Limits,
    last: &Unwound,
    find_rule: FindRule,
    powers: &Powers,
    scope: u32,
) -> u64 {
    let (bp, sp, pc) = start.registers();
    let stack = limits.stack();
    let none = powers.begin(scope);
    let fits = sp >= stack.low && sp < stack.high && limits.cut_after.in_use().is_none();
    let Some(cache) = cache::current().filter(|_| fits) else {
        return hash_in_full(start, limits, find_rule, none);
    };
    let bounds = Bounds {
        low: sp,
        high: stack.high,
    };
    let rules = Rules {
        cache,
        find_rule,
        bounds,
    };
    let frame = LazyFrame::new(Frame { pc, sp, bp }, last.walk.register());
    last.walk.count_register();
    let near = match find_again(&last.near, frame, stack.high, powers) {
        Some(near) => Ok(near),
        None => rules.walk_near(frame, &last.near, powers),
    };
    let hash = match near {
        Ok((frame, sum)) => {
            let sum = powers.sum::<NEAR>(none.value().wrapping_add(sum));
            last.walk.go_on_anew(&rules, stack, frame, sum)
        }
        Err(sum) => sum.map(|sum| none.value().wrapping_add(sum)),
    };
    hash.unwrap_or_else(|| hash_in_full(start, limits, find_rule, none))
}

/// The same without what the last walk met.
#[inline(never)]
pub(super) fn hash_in_full(
    start: Start,
    limits: &Limits,
    find_rule: FindRule,
    mut sum: Sum,
) -> u64 {
    walk(start, limits, find_rule, |address| sum.add(address));
    sum.value()
}

/// What steps by rules need.
struct Rules {
    cache: &'static Cache,
    find_rule: FindRule,
    bounds: Bounds,
}

impl Rules {
    /// Walks the innermost frames: the frame that comes next, and their sum. An error is the sum of a walk that ends
    /// before, or `None` if it must be made in full.
    ///
    /// NOTE: never inlined, so that its memory is not in use while the walk goes on: an event has little stack.
    #[inline(never)]
    fn walk_near(
        &self,
        start: LazyFrame,
        near_walks: &NearWalks,
        powers: &Powers,
    ) -> Result<(LazyFrame, u64), Option<u64>> {
        let (mut frame, mut sum) = (start, 0u64);
        let mut frames = [start; NEAR];
        let mut needs_bp = [false; NEAR];
        // PERF: a product that no other one waits for.
        for index in 0..NEAR {
            // One that is not in the cache is looked up by a walk in full, which takes less of the stack.
            let rule = self.cache.find(frame.pc).ok_or(None)?;
            if rule.is_special() {
                return Err((!rule.is_realigned()).then_some(sum));
            }
            needs_bp[index] = rule.is_based();
            frame = frame.step(rule, self.bounds).ok_or(Some(sum))?;
            sum = sum.wrapping_add(frame.pc.wrapping_mul(powers.0[index].load(Relaxed)));
            frames[index] = frame;
        }
        near_walks.keep(start, &frames, needs_bp, sum, powers.seed());
        Ok((frame, sum))
    }
}

impl Step for Rules {
    type Frame = UnwoundFrame;

    #[inline(always)]
    fn place(frame: LazyFrame) -> usize {
        frame.sp
    }

    #[inline(always)]
    fn step(&self, frame: LazyFrame) -> Option<Stepped<UnwoundFrame>> {
        let known = self.cache.find(frame.pc);
        let rule = known.unwrap_or_else(|| find(self.find_rule, frame.frame(), self.bounds));
        UnwoundFrame::step(frame, rule, self.bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::rule::Base;
    use super::*;
    use crate::stack::last_walk::tests::Random;

    /// Rules of three functions: one that has its caller's rbp at hand, one whose frame ends by rbp, the outermost.
    struct Rules(Bounds);

    impl Step for Rules {
        type Frame = UnwoundFrame;

        fn place(frame: LazyFrame) -> usize {
            frame.sp
        }

        fn step(&self, frame: LazyFrame) -> Option<Stepped<UnwoundFrame>> {
            let rule = match frame.pc {
                1 => Rule::new(Base::Sp, 4 * 8, Some(16))?,
                2 => Rule::new(Base::Bp, 16, Some(16))?,
                _ => Rule::OUTERMOST,
            };
            UnwoundFrame::step(frame, rule, self.0)
        }
    }

    #[test]
    fn a_caller_whose_rbp_alone_changed_is_walked_anew() {
        // From the inside: the frame of 1 with rbp and return address, then two ends of the frame of 2.
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
        let rules = Rules(Bounds {
            low: stack.low,
            high: stack.high,
        });
        let last = LastWalk::none();
        let walk = |words: &[u64; 16]| {
            std::hint::black_box(words);
            let start = Frame {
                pc: 1,
                sp: place,
                bp: 0,
            };
            let start = LazyFrame::new(start, last.register());
            last.go_on(&rules, stack, start, Sum::new(5, 0))
        };
        let sum = |addresses: [u64; 2]| {
            let mut sum = Sum::new(5, 0);
            addresses.into_iter().for_each(|address| sum.add(address));
            Some(sum.value())
        };
        assert_eq!(walk(&words), sum([2, 3]));
        assert_eq!(walk(&words), sum([2, 3]), "nothing changed");
        words[2] = at(10);
        assert_eq!(walk(&words), sum([2, 4]), "the frame of 2 ends elsewhere");
        words[2] = at(6);
        words[7] = 5;
        assert_eq!(walk(&words), sum([2, 5]), "its return address changed");
    }

    /// How a function keeps what its caller needs: the low bits of the addresses in it.
    const PLAIN: u64 = 0;
    const SMALL: u64 = 1;
    const SAVES_BP: u64 = 2;
    const BY_BP: u64 = 3;
    const REALIGNED: u64 = 4;
    const OUTERMOST: u64 = 5;
    const UNKNOWN: u64 = 6;

    fn rule_at(frame: Frame, _: Bounds) -> Rule {
        let rule = match frame.pc % 8 {
            PLAIN => Rule::new(Base::Sp, 6 * 8, None),
            SMALL => Rule::new(Base::Sp, 2 * 8, None),
            SAVES_BP => Rule::new(Base::Sp, 4 * 8, Some(16)),
            BY_BP => Rule::new(Base::Bp, 16, Some(16)),
            REALIGNED => Rule::new(Base::Loaded, 8, None),
            OUTERMOST => Some(Rule::OUTERMOST),
            _ => Some(Rule::UNKNOWN),
        };
        let rule = rule.expect("fits");
        if let Some(cache) = cache::current().filter(|_| rule != Rule::UNKNOWN) {
            cache.insert(frame.pc, rule);
        }
        rule
    }

    /// A stack made by hand, in memory that serves as one: functions in progress, outermost first.
    struct Model {
        words: Vec<u64>,
        frames: Vec<Frame>,
        limits: Limits,
        last: Box<Unwound>,
    }

    impl Model {
        fn new() -> Model {
            prepare(&mut crate::sys::Bump::new());
            let words = vec![0u64; 16_384];
            let range = words.as_ptr_range();
            let (low, high) = (range.start.addr(), range.end.addr());
            let outermost = Frame {
                pc: OUTERMOST + 8,
                sp: high - 64,
                bp: 0,
            };
            Model {
                words,
                frames: vec![outermost],
                limits: Limits::of(Stack { low, high }),
                // SAFETY: all-zero bytes are nothing.
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
            self.write(end - 8, caller.pc as usize);
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
            self.frames.push(Frame {
                pc: kind + 8,
                sp: end - size,
                bp,
            });
        }

        /// The sum of the present stack, which must be that of a walk in full.
        fn hash(&self, powers: &Powers) -> u64 {
            let Frame { pc, sp, bp } = *self.frames.last().expect("the outermost");
            let start = Start::from_registers((bp, sp, pc));
            std::hint::black_box(&self.words);
            let hash = hash(start, &self.limits, &self.last, rule_at, powers, 3);
            let whole = hash_in_full(start, &self.limits, rule_at, powers.begin(3));
            assert_eq!(hash, whole, "of {} frames", self.frames.len());
            hash
        }

        /// Whether the innermost frames are those of an earlier walk.
        fn is_near_known(&self, powers: &Powers) -> bool {
            let frame = *self.frames.last().expect("the outermost");
            let frame = LazyFrame::new(frame, self.last.walk.register());
            let high = self.limits.stack().high;
            self.last.near.find(frame, high, powers).is_some()
        }
    }

    #[test]
    fn whatever_was_walked_before_the_sum_is_that_of_a_walk_in_full() {
        // Kinds of functions from the first on, depth, of 100 walks those before which words are overwritten.
        let usual = [PLAIN, SMALL, SAVES_BP, SAVES_BP, BY_BP, BY_BP];
        let special = [PLAIN, SAVES_BP, SAVES_BP, BY_BP, BY_BP, REALIGNED, UNKNOWN];
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
                // Mostly near where it was, at times far out; other keys at times.
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
            // A walk of so few frames ends within them.
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
            let address = std::mem::replace(&mut model.words[(end - 8 - low) / 8], 800);
            assert_ne!(model.hash(&powers), before, "return address of {index}");
            model.words[(end - 8 - low) / 8] = address;
            assert_eq!(model.hash(&powers), before, "as before");
            if frame.pc % 8 == PLAIN {
                continue;
            }
            let bp = std::mem::replace(&mut model.words[(end - 16 - low) / 8], 8);
            // What functions by rbp save is data of their callers; what those save, a function by rbp needs.
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
        // Outside of the innermost frames, too.
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
}
