//! The last walk of a thread, kept: what of it is still on the stack need not be walked again, only
//! compared.
//!
//! A walk waits for each frame to learn where the next one is. Here it goes outward only to the
//! first frame that the last walk met in the same state. From there on the places of all frames are
//! known, so the words that decided each step are compared by loads that do not wait for each
//! other. If all are as they were, a walk in full would take the same steps, and the sum of the
//! outer frames is known. If one differs, the walk goes on at that frame.
//!
//! Nothing is taken for granted that is not compared:
//! - Words are read only at or outside of the present frame, and inside the stack for which they
//!   were kept; or they are part of its state (where its rbp is), so that this walk found them,
//!   too.
//! - The frame where a walk ended is kept and compared as all others are.
//! - Of a stack deeper than [`MAX_FRAMES`] only the innermost so many count, for a walk in full
//!   too. The sum of the others is subtracted again, so that nothing needs to be known of them but
//!   that.
//! - A stack that does not fit, or a step that other things decide than words of the stack, is
//!   walked in full.
//! - Another stack, other keys or other code (which changes the keys) empty what is kept.

#[cfg(test)]
pub(super) mod tests;

use super::Sum;
use crate::sys::{PAGE, Stack, count_own};
use std::cell::{Cell, UnsafeCell};
use std::mem::offset_of;
use tracking_alloc_recording::MAX_FRAMES;

/// A frame, with the words that decided the step to its caller.
pub(super) trait Frame: Copy {
    /// All that decides the step beside those words.
    type State: Copy;

    /// The address of the frame, strictly rising outward.
    fn place(&self) -> usize;
    fn state(&self) -> Self::State;
    fn is_in(&self, state: Self::State) -> bool;
    /// The return address that the step found; 0 where the walk ended without one.
    fn address(&self) -> u64;
    /// Notes what a comparison may ask of the frame and those kept outside of it, of which `outer`
    /// is its caller's.
    #[inline(always)]
    fn keep_within(&mut self, _outer: Option<&Self>) {}
    /// 0 for each of two words that is as it was.
    ///
    /// # Safety
    /// They must be readable: the frame's place lies in the present stack, at or outside of a frame
    /// in progress.
    unsafe fn changes(&self) -> [u64; 2];

    /// Returns `true` if any of the words of any of these frames changed.
    ///
    /// # Safety
    /// As [`changes`](Self::changes), for each.
    #[inline(always)]
    unsafe fn have_changed(frames: &[Kept<Self>]) -> bool {
        let mut changes = 0;
        for known in frames {
            // SAFETY: the caller's promise.
            let [one, other] = unsafe { known.frame.changes() };
            changes |= one | other;
        }
        changes != 0
    }
}

/// A frame, and its caller's state unless the walk ends.
pub(super) type Stepped<F> = (F, Option<<F as Frame>::State>);

/// The way to step from a frame to its caller.
pub(super) trait Step {
    type Frame: Frame;

    /// Returns the address of a frame in this state.
    fn place(state: <Self::Frame as Frame>::State) -> usize;
    /// Returns the step from a frame in this state; `None` if words outside of the stack decide it
    /// too.
    fn step(&self, state: <Self::Frame as Frame>::State) -> Option<Stepped<Self::Frame>>;
}

/// All-zero bytes are no walk.
#[repr(C, align(4096))]
pub(crate) struct LastWalk<F> {
    /// The stack and the keys to which it belongs.
    stack: Cell<Stack>,
    seed: Cell<u64>,
    /// The seed to the power of [`MAX_FRAMES`].
    beyond: Cell<u64>,
    /// Frames kept, outermost first.
    len: Cell<usize>,
    /// The same if the outermost of them is where a walk ends, and the next walk need not be made
    /// in full; else 0.
    complete: Cell<usize>,
    /// The outermost of them is where a walk ends; else the stack goes on outside of it.
    ends: Cell<bool>,
    /// Walks that will be made in full, since the last could not be kept.
    skips: Cell<u32>,
    /// Pages of this that were written, a bit for each.
    pages: Cell<u32>,
    /// A word for a register that walks begin with, so that it can be compared as those of the
    /// stack are. It lies on the first page, which is to be counted (`count_pages(0, 1)`) before
    /// this is written.
    pub(super) register: Cell<usize>,
    /// The room behind those kept serves for frames that a walk finds anew.
    frames: UnsafeCell<[Kept<F>; ROOM]>,
}

#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Kept<F> {
    pub(super) frame: F,
    /// The sum of this frame and all that were kept outside of it.
    hash: u64,
}

/// Frames that can be kept.
const ROOM: usize = 4 * MAX_FRAMES;
/// So many frames are walked outside of those that count, so that the next walks find them when the
/// stack gets shallower.
const SPARE: usize = MAX_FRAMES;

// Memory for a lane begins on a page.
const _: () = assert!(PAGE == align_of::<LastWalk<()>>());

/// Frames whose words are compared before any of them is looked at.
const CHUNK: usize = 8;
/// Frames further inside than the present one are kept for the next walk, if no more than this were
/// passed over.
const MOST_PASSED: usize = 16;
/// After so many changes in one stack no further frame is looked for among those kept.
const MOST_CHANGES: u32 = 3;
/// After a walk that could not be kept, so many do not try.
const SKIPS: u32 = 255;

impl<F: Frame> LastWalk<F> {
    #[cfg(test)]
    pub(super) fn none() -> Box<Self> {
        // SAFETY: all-zero bytes are no walk.
        unsafe { Box::new_zeroed().assume_init() }
    }

    /// Goes on with a walk of `stack` that has come to `state`, by both of the ways below.
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

    /// The sum of a walk of `stack` that has come to `state`, when the present frame is one of
    /// those kept and nothing outside of it changed: so it is mostly.
    ///
    /// Only while the hook is at work in the thread whose lane this is, so that no signal handler
    /// gets between.
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
        // SAFETY: reached by the lane's owner alone, who is at work in the hook once.
        let kept = unsafe { &*self.frames.get() }.get(..self.complete.get())?;
        let outer = &kept[..outside(kept, place)];
        let known = outer.last().filter(|known| known.frame.is_in(state))?;
        let counts = kept.len() - outer.len() <= MOST_PASSED
            && sum.frames + outer.len() <= MAX_FRAMES
            // SAFETY: the present frame is the innermost of these, all others lie outside of it, in
            // the stack for which they were kept.
            && !unsafe { F::have_changed(outer) };
        counts.then(|| sum.with_outer(known.hash))
    }

    /// The same in all other cases. `None`: it must be made in full.
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

    /// Follows the stack as far as it changed.
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
        // SAFETY: reached by the lane's owner alone, who is at work in the hook once.
        let frames = unsafe { &mut *self.frames.get() };
        let kept = self.len.get().min(ROOM);
        let wanted = MAX_FRAMES.saturating_sub(sum.frames);
        let len = outside(&frames[..kept], S::place(state));
        let first = len.saturating_sub(wanted);
        // As in `unchanged`, of stacks that go on outside of what is kept, or after many frames
        // were left.
        if let Some(known) = frames[..len].last()
            && known.frame.is_in(state)
            && (first > 0 || self.ends.get())
            // SAFETY: the present frame is the innermost of these, all others lie outside of it, in
            // the stack for which they were kept.
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

    /// A sum with the frames outside of those it has, as far as they count.
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

    /// Counts the pages with these bytes, those that were not written before.
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

    /// Walks outward to the first frame from which on those that count are as they were kept,
    /// `wanted` of them at most, and keeps those it met; says how many are kept then.
    #[inline(always)]
    fn follow<S: Step<Frame = F>>(
        &self,
        frames: &mut [Kept<F>; ROOM],
        way: &S,
        mut state: F::State,
        mut len: usize,
        wanted: usize,
    ) -> Option<usize> {
        // Kept frames are those below `len`, new ones those from `fresh` on, both outermost first.
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
                    // The stack goes on outside of what is kept, and more of it counts.
                    None => len = 0,
                    // What is inside of the change stays as it is; the changed frame is walked
                    // anew.
                    Some(changed) => {
                        let changed = first + changed;
                        let same = len - (changed + 1);
                        state = outer[changed].frame.state();
                        // What was met never overlaps what is kept.
                        let room = fresh - same;
                        frames.copy_within(changed + 1..len, room);
                        changes += 1;
                        // Another stack altogether: it is walked faster than compared.
                        len = if changes < MOST_CHANGES { changed } else { 0 };
                        fresh = room;
                    }
                }
            }
            if fresh == len {
                // The innermost half is more than can count, or there is no room for what does.
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
                // The stack goes on, but what was met is all that counts.
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

    /// Keeps the new frames, which begin at `fresh`, behind the first `len`.
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

/// Which of the kept frames, the innermost of those whose words changed.
///
/// # Safety
/// As [`Frame::changes`], for each.
#[inline(always)]
unsafe fn innermost_change<F: Frame>(kept: &[Kept<F>]) -> Option<usize> {
    let (outermost, chunks) = kept.as_rchunks::<CHUNK>();
    for (index, chunk) in chunks.iter().enumerate().rev() {
        // SAFETY: the caller's promise.
        if unsafe { F::have_changed(chunk) } {
            let end = outermost.len() + (index + 1) * CHUNK;
            // SAFETY: likewise.
            return unsafe { last_change(&kept[..end]) };
        }
    }
    // SAFETY: likewise.
    unsafe { F::have_changed(outermost).then(|| last_change(outermost)) }.flatten()
}

/// The last frame whose words changed.
///
/// # Safety
/// As [`Frame::changes`], for each.
#[cold]
#[inline(never)]
unsafe fn last_change<F: Frame>(kept: &[Kept<F>]) -> Option<usize> {
    // SAFETY: the caller's promise.
    kept.iter()
        .rposition(|known| unsafe { known.frame.changes() } != [0; 2])
}
