//! Tests if code built with this program's flags keeps frame pointers.
//!
//! A successful walk proves nothing: std may keep frame pointers when the program's own crates do
//! not. The functions here are built with the same flags as the program's crates, so the result
//! holds for those too.

use super::{Finders, Limits, Stack, Start, eh_frame};
use std::hint::black_box;

/// Checks in three nested functions that each saved frame pointer is that of the caller.
pub(crate) fn keeps_frame_pointers() -> bool {
    black_box(outer as fn() -> bool)()
}

#[inline(never)]
fn outer() -> bool {
    let own = Start::here().frame_pointer;
    let kept = black_box(middle as fn(usize) -> bool)(own);
    // The frame is still needed here, so the call above is not a tail call.
    black_box(own);
    kept
}

#[inline(never)]
fn middle(outer: usize) -> bool {
    let own = Start::here().frame_pointer;
    let kept = black_box(inner as fn(usize, usize) -> bool)(outer, own);
    black_box(own);
    kept
}

#[inline(never)]
fn inner(outer: usize, middle: usize) -> bool {
    let own = Start::here().frame_pointer;
    // Without frame pointers, all three functions read the same register, or other data.
    if !(own < middle && middle < outer && outer - own < 1 << 16 && own & 7 == 0 && middle & 7 == 0)
    {
        return false;
    }
    // SAFETY: both addresses lie on this stack, between this function's frame and its
    // grandparent's.
    let (first, second) = unsafe {
        (
            *(black_box(own) as *const usize),
            *(black_box(middle) as *const usize),
        )
    };
    first == middle && second == outer
}

/// The type of the functions that call each other.
type Nested = fn(usize, Finders) -> [u64; 3];

/// Returns `true` if a walk by `.eh_frame` from three nested functions finds the caller of each.
/// The caller must not hold the write lock.
///
/// It works on any stack, because nothing beyond this function's frame is read.
#[inline(never)]
pub(crate) fn finds_callers(finders: Finders) -> bool {
    let top = Start::here().registers().1;
    let found = black_box(first as Nested)(top, finders);
    let callers = [
        second as Nested as usize,
        first as Nested as usize,
        finds_callers as fn(Finders) -> bool as usize,
    ];
    // No function here is longer than this.
    const MOST_BYTES: u64 = 2048;
    found
        .iter()
        .zip(callers)
        .all(|(address, function)| address.wrapping_sub(function as u64) < MOST_BYTES)
}

#[inline(never)]
fn first(top: usize, finders: Finders) -> [u64; 3] {
    let found = black_box(second as Nested)(top, finders);
    black_box(found)
}

#[inline(never)]
fn second(top: usize, finders: Finders) -> [u64; 3] {
    let mut found = black_box(third as Nested)(top, finders);
    // This makes the code differ from `first`. Otherwise the compiler may merge the two functions.
    found.reverse();
    black_box(found)
}

#[inline(never)]
fn third(top: usize, finders: Finders) -> [u64; 3] {
    let (mut found, mut seen) = ([0; 3], 0);
    let limits = Limits::of(Stack { low: 0, high: top });
    eh_frame::walk(Start::here(), &limits, finders, |address| {
        if let Some(place) = found.get_mut(seen) {
            *place = address;
            seen += 1;
        }
    });
    found.reverse();
    found
}
