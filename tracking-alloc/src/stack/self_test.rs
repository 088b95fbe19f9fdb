//! Whether code built with this program's flags keeps frame pointers.
//!
//! A walk that merely succeeds proves nothing: std keeps them when the program's own crates do not. These functions
//! are built with the same flags as the program's crates, so what holds for them holds for those.

use super::frame_pointers::current;
use std::hint::black_box;

/// Three nested functions look whether each one's saved frame pointer is its caller's.
pub(crate) fn keeps_frame_pointers() -> bool {
    black_box(outer as fn() -> bool)()
}

#[inline(never)]
fn outer() -> bool {
    let mine = current();
    let kept = black_box(middle as fn(usize) -> bool)(mine);
    // The frame is still needed here, so that the call above is no tail call.
    black_box(mine);
    kept
}

#[inline(never)]
fn middle(outer: usize) -> bool {
    let mine = current();
    let kept = black_box(inner as fn(usize, usize) -> bool)(outer, mine);
    black_box(mine);
    kept
}

#[inline(never)]
fn inner(outer: usize, middle: usize) -> bool {
    let mine = current();
    // Without frame pointers all three read one and the same register, or data of somebody else.
    if !(mine < middle && middle < outer && outer - mine < 1 << 16 && mine & 7 == 0 && middle & 7 == 0) {
        return false;
    }
    // SAFETY: both addresses lie on this stack between this function's frame and its grandparent's.
    let (first, second) = unsafe { (*(black_box(mine) as *const usize), *(black_box(middle) as *const usize)) };
    first == middle && second == outer
}
