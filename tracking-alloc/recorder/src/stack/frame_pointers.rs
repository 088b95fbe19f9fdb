//! Walking by frame pointers: two loads a frame.

use super::last_walk::{Frame, LastWalk, Step, Stepped};
use super::{End, Limits, Powers, Stack, Sum};
use crate::sys;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::MAX_FRAMES;

/// Return addresses may carry a signature above the address bits (pointer authentication).
#[inline(always)]
fn strip(address: u64) -> u64 {
    if cfg!(target_arch = "aarch64") {
        address & 0xffff_ffff_ffff
    } else {
        address
    }
}

/// Bytes of what a frame pointer points at: the caller's frame pointer and the return address.
pub(super) const LINK: usize = 2 * size_of::<u64>();

/// Both words. A frame pointer that is data may be unaligned.
///
/// # Safety
/// They must be readable.
#[inline(always)]
unsafe fn link(frame: usize) -> [u64; 2] {
    // SAFETY: the caller's promise.
    [frame, frame + 8].map(|at| unsafe { sys::word_at(at) } as u64)
}

/// Visits return addresses from the innermost outward.
///
/// `frame` must be the frame pointer of a function in progress that keeps one. Everything read lies
/// between it and the top of the stack it is on, which is mapped: frames are followed strictly
/// upward and never past the top.
#[inline(always)]
pub(super) fn walk(mut frame: usize, limits: &Limits, mut visit: impl FnMut(u64)) -> End {
    let stop = limits.cut_after.in_use();
    let Some(stack) = limits.stack_of(frame) else {
        if limits.stack().high != 0 && frame & 7 == 0 && frame != 0 {
            // SAFETY: the function whose frame this is keeps a frame pointer (self-test), so its
            // own link is there.
            visit(strip(unsafe { sys::word_at(frame + 8) } as u64));
        }
        return End::Foreign;
    };
    let last = stack.high - LINK;
    if frame > last {
        return End::Outermost;
    }
    for _ in 0..MAX_FRAMES {
        // SAFETY: `frame .. frame + LINK` lies between the first frame and the top of its stack.
        let [next, address] = unsafe { link(frame) };
        let (next, address) = (next as usize, strip(address));
        if address == 0 {
            return End::Outermost;
        }
        visit(address);
        if next <= frame || next > last {
            // What lies before a stack that is not the thread's own may be another one.
            let is_end = next == 0 || stack == limits.stack();
            return if is_end { End::Outermost } else { End::Foreign };
        }
        if stop.is_some_and(|stop| stop.contains(address)) {
            return End::Stopped;
        }
        frame = next;
    }
    End::TooDeep
}

/// Frames that are walked without asking what the last walk met: the innermost ones differ from one
/// event to the next, and a shallow stack is walked faster than looked up.
pub(super) const NEAR: usize = 6;

/// The sum of the return addresses that [`walk`] visits. `None`: the walk must be made [in
/// full](hash_in_full).
#[inline(always)]
pub(super) fn hash(
    frame: usize,
    limits: &Limits,
    last_walk: &LastWalk<Linked>,
    powers: &Powers,
    scope: u32,
) -> Option<u64> {
    let (low, span) = (limits.low.get(), limits.span.get());
    if frame.wrapping_sub(low) > span {
        return None;
    }
    let last = low + span;
    let mut value = powers.begin(scope).value;
    let mut state = frame;
    // PERF: each question a branch of its own, unlike in `Links::step`; and a product that no other
    // one waits for.
    for power in &powers.0[..NEAR] {
        // SAFETY: between the first frame and the top of the thread's stack, as in `walk`.
        let [next, address] = unsafe { link(state) };
        let (next, address) = (next as usize, strip(address));
        if address == 0 {
            return Some(value);
        }
        value = value.wrapping_add(address.wrapping_mul(power.load(Relaxed)));
        if next <= state || next > last {
            return Some(value);
        }
        state = next;
    }
    far(limits, last_walk, state, powers, value)
}

/// The rest of a walk.
#[inline(never)]
fn far(
    limits: &Limits,
    last_walk: &LastWalk<Linked>,
    state: usize,
    powers: &Powers,
    near: u64,
) -> Option<u64> {
    let hash = last_walk.unchanged(limits.stack(), state, state, powers.sum::<NEAR>(near));
    // PERF: a call at the end, so that the common way needs no frame.
    match hash {
        Some(hash) => Some(hash),
        None => far_anew(limits, last_walk, state, powers, near),
    }
}

#[cold]
#[inline(never)]
fn far_anew(
    limits: &Limits,
    last_walk: &LastWalk<Linked>,
    state: usize,
    powers: &Powers,
    near: u64,
) -> Option<u64> {
    let stack = limits.stack();
    last_walk.go_on_anew(&Links::of(stack), stack, state, powers.sum::<NEAR>(near))
}

/// The sum of a walk in full, whatever the last walk met.
#[inline(never)]
pub(super) fn hash_in_full(frame: usize, limits: &Limits, seed: u64, scope: u32) -> u64 {
    let mut sum = Sum::new(seed, scope);
    walk(frame, limits, |address| sum.add(address));
    sum.value
}

/// A frame with its link.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Linked {
    /// The words read there: the caller's frame pointer and the return address.
    link: [u64; 2],
    at: usize,
}

impl Frame for Linked {
    type State = usize;

    #[inline(always)]
    fn place(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn state(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn is_in(&self, at: usize) -> bool {
        self.at == at
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        strip(self.link[1])
    }

    #[inline(always)]
    unsafe fn changes(&self) -> [u64; 2] {
        // SAFETY: the caller's promise.
        let [next, address] = unsafe { link(self.at) };
        [next ^ self.link[0], address ^ self.link[1]]
    }

    /// PERF: both words of a frame at once, and no branch for each, nor for each few.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    unsafe fn have_changed(frames: &[super::last_walk::Kept<Self>]) -> bool {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128,
            _mm_xor_si128,
        };
        // SAFETY: every x86-64 has SSE2; the links are readable (caller).
        unsafe {
            let change = |known: &super::last_walk::Kept<Self>| {
                let now = sys::pair_at(known.frame.at);
                let then = _mm_loadu_si128((&raw const known.frame.link).cast());
                _mm_xor_si128(now, then)
            };
            let of_four = |[one, two, three, four]: &[_; 4]| {
                let (inner, outer) = (
                    _mm_or_si128(change(one), change(two)),
                    _mm_or_si128(change(three), change(four)),
                );
                _mm_or_si128(inner, outer)
            };
            let mut changes = _mm_setzero_si128();
            match frames.last_chunk::<4>() {
                // PERF: the innermost four, then all by four from the outermost on: some are
                // compared twice.
                Some(innermost) => {
                    changes = of_four(innermost);
                    for four in frames.as_chunks::<4>().0 {
                        changes = _mm_or_si128(changes, of_four(four));
                    }
                }
                None => {
                    for known in frames {
                        changes = _mm_or_si128(changes, change(known));
                    }
                }
            }
            _mm_movemask_epi8(_mm_cmpeq_epi8(changes, _mm_setzero_si128())) != 0xffff
        }
    }
}

/// Links that are not followed beyond `last`.
pub(super) struct Links {
    last: usize,
}

impl Links {
    /// Returns the links inside a stack.
    #[inline(always)]
    pub(super) fn of(stack: Stack) -> Links {
        Links {
            last: stack.high.wrapping_sub(LINK),
        }
    }
}

impl Step for Links {
    type Frame = Linked;

    #[inline(always)]
    fn place(at: usize) -> usize {
        at
    }

    #[inline(always)]
    fn step(&self, at: usize) -> Option<Stepped<Linked>> {
        // SAFETY: between the first frame and the top of the thread's stack, as in `walk`.
        let link = unsafe { link(at) };
        let (linked, next) = (Linked { link, at }, link[0] as usize);
        let goes_on = linked.address() != 0 && next > at && next <= self.last;
        Some((linked, goes_on.then_some(next)))
    }
}
