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
pub(crate) use rule::{Bounds, Frame, Rule};

use super::{CutAfter, End, FindRule, Limits, Stack, Start};
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
    walk_by(rule_of, start, limits.stack.get(), stop, visit)
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
