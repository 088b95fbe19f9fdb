//! The one word every allocator call reads first.
//!
//! ```text
//!            start()                      pause()
//!   off ───────────────▶ RECORD | gen ◀──────────────▶ RECORD | PAUSED | gen
//!    ▲                        │          resume()
//!    └────────────────────────┘ finish(), or fork() in the child
//! ```
//! While nothing records, `COUNT` says that `stats()` counts. The upper half of the word is the
//! number of calls of `measure()` in progress: with it a program that neither records, counts nor
//! measures reads one number, [`OFF`]. The word lies on pages the kernel wipes in a forked child,
//! so a child finds itself at zero without any handler. So does the process at its beginning: at
//! zero the environment is yet to be examined, or was by the parent.

#[cfg(recording)]
use crate::sys;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// A recording is being written.
#[cfg_attr(
    not(any(recording, in_memory)),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(crate) const RECORD: u32 = 1;
/// New blocks are not recorded; known ones are still followed.
#[cfg(recording)]
pub(crate) const PAUSED: u32 = 2;
/// Process-wide counting. Where recordings are files, it is not set while one is written: rows hold
/// the figures then.
pub(crate) const COUNT: u32 = 4;
/// One generation: a forked child that records again counts up, so lanes of its parent are not
/// taken for its own.
#[cfg(recording)]
pub(crate) const GENERATION: u32 = 16;

/// Nothing records, and the environment was examined where it can ask for a recording. Never set
/// while one is written.
const EXAMINED: u32 = if cfg!(recording) { 1 << 30 } else { 0 };
/// The whole word, when nobody wants to know of any event.
const OFF: u64 = EXAMINED as u64;

/// One call of `measure()` in progress.
const MEASURE: u64 = 1 << 32;

/// What follows the words on their page: 64 KiB, the largest page of any Linux, so that advice
/// about these pages is about nothing else. Where no advice is given, nothing.
const REST: usize = if cfg!(recording) { 65516 } else { 0 };

#[cfg_attr(recording, repr(C, align(65536)))]
struct Page {
    word: AtomicU64,
    counting: AtomicU32,
    #[cfg(recording)]
    joined: AtomicU32,
    /// How far this process is with its own recording: see [`life`](crate::life).
    #[cfg(recording)]
    life: AtomicU32,
    _rest: [u8; REST],
}

static PAGE: Page = Page {
    word: AtomicU64::new(0),
    counting: AtomicU32::new(NOT_COUNTING),
    #[cfg(recording)]
    joined: AtomicU32::new(0),
    #[cfg(recording)]
    life: AtomicU32::new(0),
    _rest: [0; REST],
};

/// The present state, without the calls of `measure()`.
#[inline(always)]
pub(crate) fn get() -> u32 {
    PAGE.word.load(Relaxed) as u32
}

/// Returns `true` if a recording is being written.
#[cfg(recording)]
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    get() & RECORD != 0
}

/// Returns `true` if nobody wants to know of any event.
#[inline(always)]
pub(crate) fn is_off() -> bool {
    PAGE.word.load(Relaxed) == OFF
}

/// Returns `true` if the environment may be yet to be examined.
#[cfg(recording)]
#[inline(always)]
pub(crate) fn is_unexamined() -> bool {
    PAGE.word.load(Relaxed) == 0
}

/// The environment was examined, by this process or the one that forked it.
#[cfg(recording)]
pub(crate) fn examined() {
    update(|word| (word == 0).then_some(OFF));
}

/// Changes the word, unless `change` will not. False then.
fn update(change: impl FnMut(u64) -> Option<u64>) -> bool {
    PAGE.word.fetch_update(AcqRel, Relaxed, change).is_ok()
}

/// Adds and removes bits.
pub(crate) fn change(add: u32, remove: u32) {
    update(|word| Some(word & !u64::from(remove) | u64::from(add)));
}

/// A call of `measure()` begins.
pub(crate) fn begin_measuring() {
    PAGE.word.fetch_add(MEASURE, AcqRel);
}

/// A call of `measure()` ends. In a forked child it may have begun in the parent: then it is not in
/// the word.
pub(crate) fn end_measuring() {
    update(|word| word.checked_sub(MEASURE));
}

/// `stats()` was not asked yet, or not in this process.
const NOT_COUNTING: u32 = 0;
/// It was: what no row of a recording counts is counted apart.
const COUNTING: u32 = 1;
/// It was asked while a recording was written: that counts until it is finished.
#[cfg(recording)]
const LATER: u32 = 2;

/// Returns `true` if events that no recording counts are counted.
#[inline]
pub(crate) fn is_counting() -> bool {
    PAGE.counting.load(Acquire) == COUNTING
}

fn advance_counting(from: u32, to: u32) -> bool {
    PAGE.counting
        .compare_exchange(from, to, AcqRel, Relaxed)
        .is_ok()
}

/// Begins counting, if nobody did. `reset` runs before the first event is counted.
pub(crate) fn begin_counting(reset: impl FnOnce()) {
    #[cfg(recording)]
    if is_recording() {
        advance_counting(NOT_COUNTING, LATER);
        return;
    }
    if PAGE.counting.load(Acquire) != NOT_COUNTING {
        return;
    }
    reset();
    if advance_counting(NOT_COUNTING, COUNTING) {
        update(|word| {
            let is_recorded = cfg!(recording) && word as u32 & RECORD != 0;
            (!is_recorded).then_some(word | u64::from(COUNT))
        });
    }
}

/// A recording begins: its rows count from now on, and `stats()` adds them.
#[cfg(recording)]
pub(crate) fn begin_recording(tag: u32) {
    PAGE.joined.store(1, Release);
    change(tag, COUNT | EXAMINED);
}

/// The recording ends: what follows is counted as it was before.
#[cfg(recording)]
pub(crate) fn end_recording() {
    advance_counting(LATER, COUNTING);
    let count = if is_counting() { COUNT } else { 0 };
    change(EXAMINED | count, !COUNT);
}

/// Returns `true` if the rows of a recording of this process belong to the figures of `stats()`.
#[cfg(recording)]
pub(crate) fn rows_are_joined() -> bool {
    PAGE.joined.load(Acquire) != 0
}

/// The rows of the finished recording are no longer added. True when their sums are to be kept, for
/// counting goes on.
#[cfg(recording)]
pub(crate) fn part_from_rows() -> bool {
    PAGE.joined.store(0, Release);
    is_counting()
}

/// Stops recording new blocks, or begins again, while something records; known blocks are followed
/// all the time.
#[cfg(recording)]
pub(crate) fn pause(paused: bool) {
    let others = !u64::from(PAUSED);
    let bit = if paused { PAUSED } else { 0 };
    update(|word| (word as u32 & RECORD != 0).then_some(word & others | u64::from(bit)));
}

/// The word of [`life`](crate::life).
#[cfg(recording)]
pub(crate) fn life() -> &'static AtomicU32 {
    &PAGE.life
}

/// The process whose words these are, where the kernel does not wipe them in forked children as it
/// was asked to; else 0.
#[cfg(recording)]
static UNWIPED_IN: AtomicU32 = AtomicU32::new(0);

/// Asks the kernel to wipe the words in forked children. False when it will not: then nothing may
/// be recorded.
#[cfg(recording)]
pub(crate) fn wipe_on_fork() -> bool {
    // SAFETY: the page is a whole, aligned static of anonymous memory (zero-initialised, so in
    // .bss); advice changes no contents.
    let is_taken = unsafe {
        libc::madvise(
            (&raw const PAGE).cast_mut().cast(),
            size_of::<Page>(),
            libc::MADV_WIPEONFORK,
        ) == 0
    };
    let is_wiped = || sys::is_wiped_on_fork((&raw const PAGE).addr());
    if !is_taken || is_wiped() {
        return is_taken;
    }
    // SAFETY: a plain function, for whoever forks by libc; other children notice on their first
    // slow path.
    if UNWIPED_IN.load(Relaxed) == 0 && unsafe { libc::pthread_atfork(None, None, Some(wipe)) } != 0
    {
        return false;
    }
    UNWIPED_IN.store(sys::process_id(), Relaxed);
    true
}

/// In a forked child: makes the words what they are there.
#[cfg(recording)]
extern "C" fn wipe() {
    UNWIPED_IN.store(0, Relaxed);
    PAGE.word.store(0, Release);
    PAGE.counting.store(NOT_COUNTING, Release);
    PAGE.joined.store(0, Release);
    PAGE.life.store(0, Release);
}

/// On slow paths: a child whose words should have been wiped finds itself off.
#[cfg(recording)]
#[inline]
pub(crate) fn notice_fork() {
    let process = UNWIPED_IN.load(Relaxed);
    if process != 0 && process != sys::process_id() {
        wipe();
    }
}

#[cfg(all(test, recording))]
mod tests {
    use super::*;

    #[test]
    fn off_is_one_number_once_the_environment_was_examined() {
        // In a child, where nothing was examined in this process: the words are its own.
        // SAFETY: the child looks at its words and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            wipe();
            let before = (is_off(), is_unexamined());
            examined();
            let after = (is_off(), is_unexamined());
            begin_recording(RECORD | GENERATION);
            let recording = (is_off(), get() == RECORD | GENERATION);
            end_recording();
            let is_right = before == (false, true)
                && after == (true, false)
                && recording == (false, true)
                && is_off();
            // SAFETY: nothing of the parent's is run.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: a child of ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}
