//! Walks by frame pointers: two loads per frame.

use super::last_walk::{Frame, LastWalk, Step, Stepped};
use super::{End, Limits, Powers, Stack, Sum, address_bits, without_signature};
use crate::sys;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::MAX_FRAMES;

/// The size of a link, to which a frame pointer points: the caller's frame pointer and the return
/// address.
pub(super) const LINK: usize = 2 * size_of::<u64>();

/// Reads both words of a link. A frame pointer that is really data may be unaligned.
///
/// # Safety
/// Both words must be readable.
#[inline(always)]
unsafe fn link(frame: usize) -> [u64; 2] {
    // SAFETY: guaranteed by the caller.
    unsafe { sys::two_words_at(frame) }.map(|word| word as u64)
}

/// Visits return addresses, innermost first.
///
/// `frame` must be the frame pointer of a function in progress that keeps one. All reads lie
/// between it and the top of its stack, which is mapped. Frames are followed strictly upward and
/// never beyond the top.
#[inline(always)]
pub(super) fn walk(mut frame: usize, limits: &Limits, mut visit: impl FnMut(u64)) -> End {
    let stop = limits.cut_after.in_use();
    let Some(stack) = limits.stack_of(frame) else {
        if limits.stack().high != 0 && frame & 7 == 0 && frame != 0 {
            // SAFETY: the self-test showed that the function that owns this frame keeps a frame
            // pointer, so its own link exists.
            visit(without_signature(unsafe { sys::word_at(frame + 8) } as u64));
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
        let (next, address) = (next as usize, without_signature(address));
        if address == 0 {
            return End::Outermost;
        }
        visit(address);
        if next <= frame || next > last {
            // A stack that is not the thread's own may have been entered from another stack.
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

/// Number of frames walked before the last walk is consulted. The innermost frames change between
/// events, and walking a shallow stack is faster than looking it up.
pub(super) const NEAR: usize = 6;

/// Returns the sum of the return addresses that [`walk`] visits. Returns `None` if a [full
/// walk](hash_in_full) is needed.
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
    let bits = address_bits();
    // PERF: each check is a branch of its own, unlike in `Links::step`, and no product waits for
    // another one.
    for power in &powers.0[..NEAR] {
        // SAFETY: it lies between the first frame and the top of the thread's stack, as in `walk`.
        let [next, address] = unsafe { link(state) };
        let (next, address) = (next as usize, address & bits);
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

/// Walks the frames beyond the innermost ones.
#[inline(never)]
fn far(
    limits: &Limits,
    last_walk: &LastWalk<Linked>,
    state: usize,
    powers: &Powers,
    near: u64,
) -> Option<u64> {
    let hash = last_walk.unchanged(limits.stack(), state, state, powers.sum::<NEAR>(near));
    // PERF: this is a tail call, so the common path needs no stack frame.
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

/// Returns the sum of a full walk, which does not use the last walk.
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
    /// The two words of the link: the caller's frame pointer and the return address.
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
        without_signature(self.link[1])
    }

    #[inline(always)]
    unsafe fn changes(&self) -> [u64; 2] {
        // SAFETY: guaranteed by the caller.
        let [next, address] = unsafe { link(self.at) };
        [next ^ self.link[0], address ^ self.link[1]]
    }

    /// PERF: compares both words of a frame at once, without a branch for each frame or group of
    /// frames.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    unsafe fn have_changed(frames: &[super::last_walk::Kept<Self>]) -> bool {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128,
            _mm_xor_si128,
        };
        // SAFETY: every x86-64 has SSE2. The caller guarantees that the links are readable.
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
                // PERF: the innermost four first, then all frames but one in groups of eight and
                // four from the outermost on. Up to three frames are compared twice.
                Some(innermost) => {
                    changes = of_four(innermost);
                    let (eights, rest) = frames[..frames.len() - 1].as_chunks::<8>();
                    for eight in eights {
                        let [outer, inner] = eight.as_chunks::<4>().0 else {
                            continue;
                        };
                        let of_eight = _mm_or_si128(of_four(outer), of_four(inner));
                        changes = _mm_or_si128(changes, of_eight);
                    }
                    if let Some(four) = rest.first_chunk::<4>() {
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

/// A step by links, which does not go beyond `last`.
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
        // SAFETY: it lies between the first frame and the top of the thread's stack, as in `walk`.
        let link = unsafe { link(at) };
        let (linked, next) = (Linked { link, at }, link[0] as usize);
        let goes_on = linked.address() != 0 && next > at && next <= self.last;
        Some((linked, goes_on.then_some(next)))
    }
}
