//! The last walk of a thread, kept so that unchanged frames are compared instead of walked again.
//!
//! A walk waits for each frame, because the frame tells where the next one is. Here, a walk goes
//! outward only to the first frame that the last walk met in the same state. The places of all
//! outer frames are then known. The words that decided each step are compared by loads that do not
//! wait for each other. If no word changed, a full walk would take the same steps, so the sum of
//! the outer frames is known. If a word changed, the walk continues at that frame.
//!
//! Nothing is assumed that is not compared:
//! - Words are read only at or outside of the current frame, and only inside the stack for which
//!   they were kept. The one exception is the place of rbp: it is part of the frame's state, so the
//!   current walk found it too.
//! - The frame at which a walk ended is kept and compared like all others.
//! - In a stack deeper than [`MAX_FRAMES`], only the innermost [`MAX_FRAMES`] frames count, as in a
//!   full walk. The sum of the outer frames is subtracted, so only that sum must be known.
//! - A stack is walked in full if it does not fit, or if something outside of the stack decides a
//!   step.
//! - If the stack, the keys or the code change (a change of code changes the keys), the kept frames
//!   are discarded.

#[cfg(test)]
pub(super) mod tests;

use super::Sum;
use crate::sys::{PAGE, Stack, count_own};
use std::cell::{Cell, UnsafeCell};
use std::mem::offset_of;
use tracking_alloc_recording::MAX_FRAMES;

/// A frame, with the words that decided the step to its caller.
pub(super) trait Frame: Copy {
    /// Everything else that decides the step.
    type State: Copy;

    /// Returns the address of the frame. Addresses strictly rise outward.
    fn place(&self) -> usize;
    fn state(&self) -> Self::State;
    fn is_in(&self, state: Self::State) -> bool;
    /// Returns the return address that the step found, or 0 if the walk ended without one.
    fn address(&self) -> u64;
    /// Prepares the frame for comparisons together with the frames kept outside of it. `outer` is
    /// its caller's frame.
    #[inline(always)]
    fn keep_within(&mut self, _outer: Option<&Self>) {}
    /// Compares two words. Each result is 0 if its word is unchanged.
    ///
    /// # Safety
    /// The words must be readable: the frame's place lies in the current stack, at or outside of a
    /// frame in progress.
    unsafe fn changes(&self) -> [u64; 2];

    /// Returns `true` if any word of these frames changed.
    ///
    /// # Safety
    /// The requirements of [`changes`](Self::changes) hold for each frame.
    #[inline(always)]
    unsafe fn have_changed(frames: &[Kept<Self>]) -> bool {
        let mut changes = 0;
        for known in frames {
            // SAFETY: guaranteed by the caller.
            let [one, other] = unsafe { known.frame.changes() };
            changes |= one | other;
        }
        changes != 0
    }
}

/// A frame and its caller's state, or `None` if the walk ends.
pub(super) type Stepped<F> = (F, Option<<F as Frame>::State>);

/// The way to step from a frame to its caller.
pub(super) trait Step {
    type Frame: Frame;

    /// Returns the address of a frame in this state.
    fn place(state: <Self::Frame as Frame>::State) -> usize;
    /// Returns the step from a frame in this state. Returns `None` if words outside of the stack
    /// also decide it.
    fn step(&self, state: <Self::Frame as Frame>::State) -> Option<Stepped<Self::Frame>>;
}

/// The last walk. All-zero bytes mean no walk.
#[repr(C, align(4096))]
pub(crate) struct LastWalk<F> {
    /// The stack and the keys to which it belongs.
    stack: Cell<Stack>,
    seed: Cell<u64>,
    /// The seed to the power of [`MAX_FRAMES`].
    beyond: Cell<u64>,
    /// Frames kept, outermost first.
    len: Cell<usize>,
    /// Equal to `len` if the outermost frame is where a walk ends and the next walk need not be a
    /// full one. Otherwise 0.
    complete: Cell<usize>,
    /// `true` if the outermost frame is where a walk ends. Otherwise the stack continues outside
    /// of it.
    ends: Cell<bool>,
    /// Number of upcoming walks that will be full ones, because the last walk could not be kept.
    skips: Cell<u32>,
    /// Pages of this struct that were written, one bit for each.
    pages: Cell<u32>,
    /// Holds the register with which a walk begins, so that it can be compared like a word of the
    /// stack. It lies on the first page, which must be counted (`count_pages(0, 1)`) before this
    /// is written.
    pub(super) register: Cell<usize>,
    /// The kept frames, followed by room for new frames that a walk finds.
    frames: UnsafeCell<[Kept<F>; ROOM]>,
}

#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Kept<F> {
    pub(super) frame: F,
    /// The sum of this frame and all frames kept outside of it.
    hash: u64,
}

/// The number of frames that can be kept.
const ROOM: usize = 4 * MAX_FRAMES;
/// The number of frames walked beyond those that count. If the stack gets shallower, the next walks
/// find them.
const SPARE: usize = MAX_FRAMES;

// Memory for a lane begins on a page boundary.
const _: () = assert!(PAGE == align_of::<LastWalk<()>>());

/// Number of frames whose words are compared before the result is checked.
const CHUNK: usize = 8;
/// If a walk skips at most this many kept frames, they stay for the next walk, even though they lie
/// further inside than the current frame.
const MOST_PASSED: usize = 16;
/// After this many changes in one stack, a walk stops looking for kept frames.
const MOST_CHANGES: u32 = 3;
/// If a walk cannot be kept, this many following walks do not try.
const SKIPS: u32 = 255;

impl<F: Frame> LastWalk<F> {
    #[cfg(test)]
    pub(super) fn none() -> Box<Self> {
        // SAFETY: all-zero bytes are a valid `LastWalk` without a walk.
        unsafe { Box::new_zeroed().assume_init() }
    }

    /// Continues a walk of `stack` from `state`, by both of the methods below.
    #[cfg(test)]
    pub(super) fn go_on<S: Step<Frame = F>>(
        &self,
        way: &S,
        stack: Stack,
        state: F::State,
        sum: Sum,
    ) -> Option<u64> {
        if let Some(hash) = self.unchanged(stack, S::place(state), state, sum) {
            return Some(hash);
        }
        self.go_on_anew(way, stack, state, sum)
    }

    /// Returns the sum of a walk of `stack` that has come to `state`. This is the common case: the
    /// current frame is kept, and nothing outside of it changed.
    ///
    /// Call this only while the thread that owns the lane runs inside the hook, so that no signal
    /// handler interferes.
    #[inline(always)]
    pub(super) fn unchanged(
        &self,
        stack: Stack,
        place: usize,
        state: F::State,
        sum: Sum,
    ) -> Option<u64> {
        if self.seed.get() != sum.seed || self.stack.get() != stack {
            return None;
        }
        // SAFETY: only the lane's owner reaches this, and the hook does not run twice in one
        // thread.
        let kept = unsafe { &*self.frames.get() }.get(..self.complete.get())?;
        let innermost = kept
            .iter()
            .rposition(|known| known.frame.place() >= place)?;
        let (outer, known) = (&kept[..=innermost], &kept[innermost]);
        if !known.frame.is_in(state) {
            return None;
        }
        let counts = kept.len() - outer.len() <= MOST_PASSED
            && sum.frames + outer.len() <= MAX_FRAMES
            // SAFETY: the current frame is the innermost of these frames. All others lie outside of
            // it, in the stack for which they were kept.
            && !unsafe { F::have_changed(outer) };
        counts.then(|| sum.with_outer(known.hash))
    }

    /// Handles all cases that [`unchanged`](Self::unchanged) does not. Returns `None` if a full
    /// walk is needed.
    #[inline(never)]
    pub(super) fn go_on_anew<S: Step<Frame = F>>(
        &self,
        way: &S,
        stack: Stack,
        state: F::State,
        sum: Sum,
    ) -> Option<u64> {
        let hash = self.follow_on(way, stack, state, sum);
        let complete = self.skips.get() == 0 && self.ends.get();
        self.complete.set(if complete { self.len.get() } else { 0 });
        hash
    }

    /// Walks the part of the stack that changed.
    #[inline(always)]
    fn follow_on<S: Step<Frame = F>>(
        &self,
        way: &S,
        stack: Stack,
        state: F::State,
        sum: Sum,
    ) -> Option<u64> {
        let skips = self.skips.get();
        if skips > 0 {
            self.skips.set(skips - 1);
            return None;
        }
        if self.seed.get() != sum.seed || self.stack.get() != stack {
            self.begin(stack, sum.seed);
        }
        // SAFETY: only the lane's owner reaches this, and the hook does not run twice in one
        // thread.
        let frames = unsafe { &mut *self.frames.get() };
        let kept = self.len.get().min(ROOM);
        let wanted = MAX_FRAMES.saturating_sub(sum.frames);
        let len = outside(&frames[..kept], S::place(state));
        let first = len.saturating_sub(wanted);
        // The same check as in `unchanged`, for stacks that continue outside of the kept frames, or
        // if many kept frames were skipped.
        if let Some(known) = frames[..len].last()
            && known.frame.is_in(state)
            && (first > 0 || self.ends.get())
            // SAFETY: the current frame is the innermost of these frames. All others lie outside of
            // it, in the stack for which they were kept.
            && !unsafe { F::have_changed(&frames[first..len]) }
        {
            if kept - len > MOST_PASSED {
                self.len.set(len);
            }
            return Some(self.finished(&frames[..len], sum));
        }
        let Some(len) = self.follow(frames, way, state, len, wanted) else {
            self.len.set(0);
            self.skips.set(SKIPS);
            return None;
        };
        Some(self.finished(&frames[..len], sum))
    }

    /// Adds the outer frames to a sum, without those beyond [`MAX_FRAMES`].
    #[inline(always)]
    fn finished(&self, outer: &[Kept<F>], sum: Sum) -> u64 {
        let hash = |kept: Option<&Kept<F>>| kept.map_or(0, |known| known.hash);
        let beyond = sum.frames + outer.len();
        let beyond = outer
            .get(..beyond.saturating_sub(MAX_FRAMES))
            .and_then(<[_]>::last);
        sum.with_outer(hash(outer.last()))
            .wrapping_sub(self.beyond.get().wrapping_mul(hash(beyond)))
    }

    #[cold]
    #[inline(never)]
    fn begin(&self, stack: Stack, seed: u64) {
        self.stack.set(stack);
        self.seed.set(seed);
        self.beyond.set(seed.wrapping_pow(MAX_FRAMES as u32));
        self.len.set(0);
        self.count_pages(0, 1);
    }

    /// Counts the pages that contain these bytes, unless they were counted before.
    #[inline(always)]
    pub(super) fn count_pages(&self, from: usize, to: usize) {
        let written = (2u32 << ((to - 1) / PAGE)) - (1 << (from / PAGE));
        if written & !self.pages.get() != 0 {
            self.count_new_pages(written);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_new_pages(&self, written: u32) {
        let new = written & !self.pages.get();
        self.pages.set(self.pages.get() | new);
        count_own(new.count_ones() as usize * PAGE);
    }

    /// Walks outward to the first frame from which all frames that count are unchanged, at most
    /// `wanted` frames, and keeps the new frames. Returns the number of frames then kept.
    #[inline(always)]
    fn follow<S: Step<Frame = F>>(
        &self,
        frames: &mut [Kept<F>; ROOM],
        way: &S,
        mut state: F::State,
        mut len: usize,
        wanted: usize,
    ) -> Option<usize> {
        // Kept frames lie below `len`, new ones from `fresh` on. Both are sorted from the outside
        // in.
        let mut fresh = ROOM;
        let mut ends = self.ends.get();
        let mut changes = 0;
        loop {
            len = outside(&frames[..len], S::place(state));
            let outer = &frames[..len];
            if let Some(known) = outer.last()
                && known.frame.is_in(state)
            {
                let first = len.saturating_sub(wanted.saturating_sub(ROOM - fresh));
                // SAFETY: as in `follow_on`.
                match unsafe { innermost_change(&outer[first..]) } {
                    None if first > 0 || ends => break,
                    // The stack continues outside of the kept frames, and more of it counts.
                    None => len = 0,
                    // Frames inside of the change are still valid. The changed frame is walked
                    // again.
                    Some(changed) => {
                        let changed = first + changed;
                        let same = len - (changed + 1);
                        state = outer[changed].frame.state();
                        // The frames just met never overlap the kept frames.
                        let room = fresh - same;
                        frames.copy_within(changed + 1..len, room);
                        changes += 1;
                        // After this many changes it is a different stack. Walking it is faster
                        // than comparing it.
                        len = if changes < MOST_CHANGES { changed } else { 0 };
                        fresh = room;
                    }
                }
            }
            if fresh == len {
                // The innermost half holds more frames than can count, or there is no room for
                // those that do.
                let half = len / 2;
                frames.copy_within(len - half..len, 0);
                (len, ends) = (half, false);
            }
            let met = ROOM - fresh;
            let stepped = if met < wanted + SPARE {
                way.step(state)
            } else {
                None
            };
            let Some((frame, caller)) = stepped else {
                if met < wanted {
                    return None;
                }
                // The stack continues, but only the frames already met count.
                (len, ends) = (0, false);
                break;
            };
            fresh -= 1;
            frames[fresh] = Kept { frame, hash: 0 };
            match caller {
                Some(caller) => state = caller,
                None => {
                    (len, ends) = (0, true);
                    break;
                }
            }
        }
        self.ends.set(ends);
        self.keep(frames, len, fresh);
        Some(self.len.get())
    }

    /// Moves the new frames, which begin at `fresh`, behind the first `len` frames.
    #[inline(always)]
    fn keep(&self, frames: &mut [Kept<F>; ROOM], len: usize, fresh: usize) {
        let mut outer = frames[..len].last().map_or(0, |known| known.hash);
        let place = |index: usize| offset_of!(Self, frames) + index * size_of::<Kept<F>>();
        if fresh < ROOM {
            self.count_pages(place(fresh), place(ROOM));
            self.count_pages(place(len), place(len + ROOM - fresh));
        }
        let end = len + ROOM - fresh;
        frames.copy_within(fresh.., len);
        for index in len..end {
            let (callers, known) = frames.split_at_mut(index);
            let (caller, known) = (callers.last(), &mut known[0]);
            known.frame.keep_within(caller.map(|caller| &caller.frame));
            outer = Sum::outward(known.frame.address(), outer, self.seed.get());
            known.hash = outer;
        }
        self.len.set(end);
    }
}

/// Returns the number of kept frames at or outside of a place.
#[inline(always)]
fn outside<F: Frame>(kept: &[Kept<F>], place: usize) -> usize {
    let innermost = kept.iter().rposition(|known| known.frame.place() >= place);
    innermost.map_or(0, |index| index + 1)
}

/// Returns the index of the innermost kept frame whose words changed.
///
/// # Safety
/// The requirements of [`Frame::changes`] hold for each frame.
#[inline(always)]
unsafe fn innermost_change<F: Frame>(kept: &[Kept<F>]) -> Option<usize> {
    let (outermost, chunks) = kept.as_rchunks::<CHUNK>();
    for (index, chunk) in chunks.iter().enumerate().rev() {
        // SAFETY: guaranteed by the caller.
        if unsafe { F::have_changed(chunk) } {
            let end = outermost.len() + (index + 1) * CHUNK;
            // SAFETY: as above.
            return unsafe { last_change(&kept[..end]) };
        }
    }
    // SAFETY: as above.
    unsafe { F::have_changed(outermost).then(|| last_change(outermost)) }.flatten()
}

/// Returns the index of the last frame whose words changed.
///
/// # Safety
/// The requirements of [`Frame::changes`] hold for each frame.
#[cold]
#[inline(never)]
unsafe fn last_change<F: Frame>(kept: &[Kept<F>]) -> Option<usize> {
    // SAFETY: guaranteed by the caller.
    kept.iter()
        .rposition(|known| unsafe { known.frame.changes() } != [0; 2])
}
