//! Walking by the rules of `.eh_frame`, for programs built without frame pointers: one cache look-up and two or three
//! loads a frame.
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
mod rule;
mod tables;

pub(super) use cache::forget_rules;
pub(crate) use cache::prepare;
pub(crate) use fill::{Code, EhFrames};
use rule::LazyFrame;
pub(crate) use rule::{Bounds, Frame, Rule, UnwoundFrame};

use super::last_walk::{LastWalk, Step, Stepped};
use super::{CutAfter, End, FindRule, Limits, Powers, Stack, Start, Sum};
use cache::Cache;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::MAX_FRAMES;

/// Whether the rules of this machine are known: elsewhere, a program without frame pointers has no stacks.
pub(crate) const IS_SUPPORTED: bool = cfg!(target_arch = "x86_64");

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

/// Frames that are walked without asking what the last walk met, as by frame pointers.
pub(super) const NEAR: usize = 6;

/// The sum of the return addresses that [`walk`] visits.
#[inline(always)]
pub(super) fn hash(
    start: Start,
    limits: &Limits,
    last_walk: &LastWalk<UnwoundFrame>,
    find_rule: FindRule,
    powers: &Powers,
    scope: u32,
) -> u64 {
    let stack = limits.stack();
    let (bp, sp, pc) = start.registers();
    let fits = sp >= stack.low && sp < stack.high && limits.cut_after.in_use().is_none();
    let Some(cache) = cache::current().filter(|_| fits) else {
        return hash_in_full(start, limits, find_rule, powers.begin(scope));
    };
    let rules = Rules {
        cache,
        find_rule,
        bounds: Bounds {
            low: sp,
            high: stack.high,
        },
    };
    let mut frame = LazyFrame::new(Frame { pc, sp, bp }, last_walk.register());
    let mut value = powers.begin(scope).value();
    // PERF: a product that no other one waits for.
    for power in &powers.0[..NEAR] {
        if !frame.step(rules.rule_of(frame), rules.bounds) {
            return value;
        }
        value = value.wrapping_add(frame.pc.wrapping_mul(power.load(Relaxed)));
    }
    last_walk
        .go_on(&rules, stack, frame, powers.sum::<NEAR>(value))
        .unwrap_or_else(|| hash_in_full(start, limits, find_rule, powers.begin(scope)))
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
    #[inline(always)]
    fn rule_of(&self, frame: LazyFrame) -> Rule {
        self.cache
            .find(frame.pc)
            .unwrap_or_else(|| find(self.find_rule, frame.frame(), self.bounds))
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
        UnwoundFrame::step(frame, self.rule_of(frame), self.bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::rule::Base;
    use super::*;

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
}
