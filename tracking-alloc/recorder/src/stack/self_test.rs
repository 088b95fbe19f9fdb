//! Tests if code built with this program's flags keeps frame pointers.
//!
//! A walk that merely succeeds proves nothing: std keeps them when the program's own crates do not.
//! These functions are built with the same flags as the program's crates, so what holds for them
//! holds for those.

use super::{Finders, Limits, Stack, Start, eh_frame};
use std::hint::black_box;

/// Three nested functions look whether each one's saved frame pointer is its caller's.
pub(crate) fn keeps_frame_pointers() -> bool {
    black_box(outer as fn() -> bool)()
}

#[inline(never)]
fn outer() -> bool {
    let own = Start::here().frame_pointer;
    let kept = black_box(middle as fn(usize) -> bool)(own);
    // The frame is still needed here, so that the call above is no tail call.
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
    // Without frame pointers all three read one and the same register, or data of somebody else.
    if !(own < middle && middle < outer && outer - own < 1 << 16 && own & 7 == 0 && middle & 7 == 0)
    {
        return false;
    }
    // SAFETY: both addresses lie on this stack between this function's frame and its grandparent's.
    let (first, second) = unsafe {
        (
            *(black_box(own) as *const usize),
            *(black_box(middle) as *const usize),
        )
    };
    first == middle && second == outer
}

/// Each of the functions that call each other.
type Nested = fn(usize, Finders) -> [u64; 3];

/// Returns `true` if a walk by `.eh_frame` from three nested functions finds each one's caller. Not
/// under the write lock.
///
/// On whichever stack: nothing beyond this function's frame is read.
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
    // Not the same code as `first`, which might be made one function of the two.
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
