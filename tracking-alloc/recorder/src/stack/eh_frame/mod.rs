//! Walks by the rules of `.eh_frame`, for programs built without frame pointers. Each frame takes
//! one cache look-up and two or three loads. Usually only the last load remains, because frames
//! that earlier walks met are only compared (see `near` and `last_walk`).
//!
//! ```text
//! walk ──▶ cache: return address → rule ──▶ step: caller's registers ──▶ visit
//!              │ miss
//!              ▼ write lock
//!          fill: module ─▶ tables (copied from its file) ─▶ gimli ─▶ rule
//! ```
//! Rules come from gimli, not from framehop: framehop's collections of modules and rules allocate,
//! which would call the observed allocator.
//!
//! Whatever the rules say, a walk reads only the thread's own stack, between the hook's frame and
//! the top of the stack. It never allocates and never calls the dynamic linker. It never reads the
//! target's own `.eh_frame`, which may be unloaded.

mod cache;
mod evaluate;
mod fill;
mod machine;
mod near;
mod row;
mod rule;
mod start_up;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use cache::{forget, forget_rules, prepare};
pub(crate) use fill::Code;
pub(super) use near::NEAR;
use near::NearWalks;
pub(crate) use rule::{Frame, Rule, UnwoundFrame};

use super::last_walk::{LastWalk, Step, Stepped};
use super::{End, Finders, Limits, Powers, Stack, Start, Sum};
use cache::Cache;
use std::cell::Cell;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::MAX_FRAMES;

/// The last walk of one thread. All-zero bytes mean none.
#[repr(C)]
pub(super) struct Unwound {
    near: NearWalks,
    walk: LastWalk<UnwoundFrame>,
}

/// Visits return addresses, innermost first. In a program that keeps frame pointers everywhere,
/// they are the same as those of [`super::frame_pointers::walk`].
#[inline(always)]
pub(super) fn walk(start: Start, limits: &Limits, finders: Finders, visit: impl FnMut(u64)) -> End {
    let Some(cache) = cache::current() else {
        return End::Stopped;
    };
    let rule_of = |frame: Frame, bounds| {
        cache
            .find(frame.pc)
            .unwrap_or_else(|| find(finders, frame, bounds))
    };
    walk_by(rule_of, start, limits, Some(finders), visit)
}

/// Walks with rules from any source. Without `finders`, only known stacks are walked.
#[inline(always)]
fn walk_by(
    mut rule_of: impl FnMut(Frame, Stack) -> Rule,
    start: Start,
    limits: &Limits,
    finders: Option<Finders>,
    mut visit: impl FnMut(u64),
) -> End {
    let register = Cell::new(0);
    let mut frame = Frame::first(start, &register);
    let Some(mut stack) = limits.stack_of(frame.sp) else {
        if limits.stack().high != 0 {
            // The hook's own frame is not larger than this. Memory beyond it may not be mapped.
            const OWN_FRAME: usize = 1024;
            let bounds = Stack {
                low: frame.sp,
                high: frame.sp.saturating_add(OWN_FRAME),
            };
            if let Ok(caller) = frame.step(rule_of(frame, bounds), bounds) {
                visit(caller.pc);
            }
        }
        return End::Foreign;
    };
    let stop = limits.cut_after.in_use();
    let mut bounds = Stack {
        low: frame.sp,
        ..stack
    };
    for _ in 0..MAX_FRAMES {
        let rule = rule_of(frame, bounds);
        frame = match frame.step(rule, bounds) {
            Ok(caller) => caller,
            Err(End::Stopped) if stack != limits.stack() => {
                // The frame of a function that switched stacks ends on the previous stack.
                let place = frame.return_address_by_bp(rule);
                let before = place.and_then(|place| limits.stack_before(stack, place, finders));
                let Some(before) = before else {
                    return End::Foreign;
                };
                (stack, bounds) = (before, before);
                let frame = Frame {
                    sp: bounds.low,
                    ..frame
                };
                match frame.step(rule, bounds) {
                    Ok(caller) => caller,
                    Err(_) => return End::Foreign,
                }
            }
            Err(end) => return end,
        };
        visit(frame.pc);
        if stop.is_some_and(|stop| stop.contains(frame.pc)) {
            return End::Stopped;
        }
    }
    End::TooDeep
}

/// Finds the rule of an address that is not in the cache.
#[cold]
#[inline(never)]
fn find(finders: Finders, frame: Frame, bounds: Stack) -> Rule {
    (finders.rule)(frame, bounds)
}

/// Returns the sum of the return addresses that [`walk`] visits.
#[inline(always)]
pub(super) fn hash(
    start: Start,
    limits: &Limits,
    last: &Unwound,
    finders: Finders,
    powers: &Powers,
    scope: u32,
) -> u64 {
    let (low, span) = (limits.low.get(), limits.span.get());
    if start.stack_pointer.wrapping_sub(low) <= span {
        let frame = Frame::first(start, &last.walk.register);
        // Frames in the last words of a stack are left to the slower path.
        // PERF: nothing here waits for a rule, and nothing is stored that a slower path reads.
        if let Some((frame, sum)) = last.near.find(frame, low + span, powers)
            && let sum = powers.sum::<NEAR>(powers.begin(scope).value.wrapping_add(sum))
            && let Some(sum) = last.walk.unchanged(limits.stack(), frame.sp, frame, sum)
        {
            return sum;
        }
    }
    hash_anew(start, limits, last, finders, powers, scope)
}

/// Calls [`NearWalks::find`] in a frame of its own, because an event has little stack.
#[inline(never)]
fn find_again(
    near_walks: &NearWalks,
    start: Frame,
    high: usize,
    powers: &Powers,
) -> Option<(Frame, u64)> {
    near_walks.find(start, high, powers)
}

/// Returns the sum if anything changed since the last walks.
#[inline(never)]
fn hash_anew(
    start: Start,
    limits: &Limits,
    last: &Unwound,
    finders: Finders,
    powers: &Powers,
    scope: u32,
) -> u64 {
    let (sp, stack) = (start.stack_pointer, limits.stack());
    let none = powers.begin(scope);
    let fits = stack.contains(sp) && limits.cut_after.in_use().is_none();
    let Some(cache) = cache::current().filter(|_| fits) else {
        limits.learn(start, finders);
        return hash_in_full(start, limits, finders, none);
    };
    let rules = Rules {
        cache,
        finders,
        bounds: Stack { low: sp, ..stack },
    };
    let frame = Frame::first(start, &last.walk.register);
    last.walk.count_pages(0, 1);
    let near = match find_again(&last.near, frame, stack.high, powers) {
        Some(near) => Ok(near),
        None => rules.walk_near(frame, &last.near, powers),
    };
    let hash = match near {
        Ok((frame, sum)) => {
            let sum = powers.sum::<NEAR>(none.value.wrapping_add(sum));
            last.walk.go_on_anew(&rules, stack, frame, sum)
        }
        Err(sum) => sum.map(|sum| none.value.wrapping_add(sum)),
    };
    hash.unwrap_or_else(|| hash_in_full(start, limits, finders, none))
}

/// Returns the sum of a full walk, which does not use the last walk.
#[inline(never)]
pub(super) fn hash_in_full(start: Start, limits: &Limits, finders: Finders, mut sum: Sum) -> u64 {
    walk(start, limits, finders, |address| sum.add(address));
    sum.value
}

/// The data that steps by rules need.
struct Rules {
    cache: &'static Cache,
    finders: Finders,
    bounds: Stack,
}

impl Rules {
    /// Walks the innermost frames. Returns the next frame and their sum. An error contains the sum
    /// of a walk that ends before that, or `None` if a full walk is needed.
    ///
    /// NOTE: never inlined, so that its memory is free while the walk continues. An event has
    /// little stack.
    #[inline(never)]
    fn walk_near(
        &self,
        start: Frame,
        near_walks: &NearWalks,
        powers: &Powers,
    ) -> Result<(Frame, u64), Option<u64>> {
        let (mut frame, mut sum) = (start, 0u64);
        let mut frames = [start; NEAR];
        let mut rules = [Rule::UNKNOWN; NEAR];
        // PERF: no product waits for another one.
        for index in 0..NEAR {
            // An address that is not in the cache is left to a full walk, which takes less stack.
            let rule = self.cache.find(frame.pc).ok_or(None)?;
            if rule.is_special() {
                return Err((!rule.is_realigned()).then_some(sum));
            }
            rules[index] = rule;
            frame = frame.step(rule, self.bounds).map_err(|_| Some(sum))?;
            sum = sum.wrapping_add(frame.pc.wrapping_mul(powers.0[index].load(Relaxed)));
            frames[index] = frame;
        }
        near_walks.keep(start, &frames, &rules, sum, powers.seed());
        Ok((frame, sum))
    }
}

impl Step for Rules {
    type Frame = UnwoundFrame;

    #[inline(always)]
    fn place(frame: Frame) -> usize {
        frame.sp
    }

    #[inline(always)]
    fn step(&self, frame: Frame) -> Option<Stepped<UnwoundFrame>> {
        let known = self.cache.find(frame.pc);
        let rule = known.unwrap_or_else(|| find(self.finders, frame, self.bounds));
        UnwoundFrame::step(frame, rule, self.bounds)
    }
}
