//! The word that every allocator call reads first. `state/off.rs` is the same for platforms on
//! which nothing is recorded into a file.
//!
//! ```text
//!            start()                      pause()
//!   off ───────────────▶ RECORD | gen ◀──────────────▶ RECORD | PAUSED | gen
//!    ▲                        │          resume()
//!    └────────────────────────┘ finish(), or fork() in the child
//! ```
//! A recording that samples has `SAMPLE` too. Then `ALLOCS_PASS` and `FREES_PASS` say which events
//! the inlined code may pass on without reporting them; see [`samples`](crate::samples).
//!
//! While nothing records, `COUNT` means that `stats()` counts. The upper half of the word is the
//! number of calls of `measure()` in progress. So the word has one single value, [`OFF`], in a
//! program that neither records, counts nor measures. The word lies on pages that the kernel wipes
//! in a forked child, so the child starts at zero without any handler. The process itself also
//! starts at zero. Zero means that this process has not examined the environment yet.

use crate::sys;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// A recording is being written.
pub(crate) const RECORD: u32 = 1;
/// New blocks are not recorded; known blocks are still followed.
pub(crate) const PAUSED: u32 = 2;
/// Process-wide counting. If recordings are files, it is not set while one is written, because the
/// rows hold the figures then.
pub(crate) const COUNT: u32 = 4;
/// The recording takes samples.
pub(crate) const SAMPLE: u32 = 16;
/// Blocks and frees are counted while samples are taken.
pub(crate) const COUNTS: u32 = 32;
/// An allocation needs no report unless the countdown of its thread runs out. Follows from the
/// other bits.
pub(crate) const ALLOCS_PASS: u32 = 64;
/// A free needs no report unless there may be a sample at its address. Follows from the other bits.
pub(crate) const FREES_PASS: u32 = 128;
/// The bits that may change while one recording is written.
pub(crate) const CHANGING: u32 = PAUSED | SAMPLE | COUNTS | ALLOCS_PASS | FREES_PASS;
/// One generation. A forked child that records again increments it, so that it does not use lanes
/// of its parent.
pub(crate) const GENERATION: u32 = 256;

/// Nothing records, and the environment, if it can start a recording, was examined. Never set while
/// a recording is written.
const EXAMINED: u32 = 1 << 30;
/// The whole word while no event is counted or recorded.
const OFF: u64 = EXAMINED as u64;

/// One call of `measure()` in progress.
const MEASURE: u64 = 1 << 32;

/// Padding after the words, up to 64 KiB, the largest page size of Linux, so that `madvise` on
/// these pages affects nothing else.
const REST: usize = 65516;

/// Number of counters of live samples.
pub(crate) const FILTER: usize = 1 << 16;

#[repr(C, align(65536))]
struct Page {
    word: AtomicU64,
    counting: AtomicU32,
    joined: AtomicU32,
    /// The state of this process's own recording; see [`life`](crate::life).
    life: AtomicU32,
    _rest: [u8; REST],
    /// Live samples by the page of their address: see [`samples`](crate::samples).
    ///
    /// PERF: it is in this static because the inlined code of another crate needs one more load
    /// for the address of each static.
    filter: [AtomicU8; FILTER],
}

static PAGE: Page = Page {
    word: AtomicU64::new(0),
    counting: AtomicU32::new(NOT_COUNTING),
    joined: AtomicU32::new(0),
    life: AtomicU32::new(0),
    _rest: [0; REST],
    filter: [const { AtomicU8::new(0) }; FILTER],
};

/// Returns the current state, without the calls of `measure()`.
#[inline(always)]
pub(crate) fn get() -> u32 {
    PAGE.word.load(Relaxed) as u32
}

/// Returns the current state, or `None` if no event is counted or recorded.
#[inline(always)]
pub(crate) fn unless_off() -> Option<u32> {
    let word = PAGE.word.load(Relaxed);
    (word != OFF).then_some(word as u32)
}

/// Returns the counter of live samples for an address.
#[inline(always)]
pub(crate) fn filter(address: usize) -> &'static AtomicU8 {
    &PAGE.filter[address >> 12 & (FILTER - 1)]
}

/// Returns all counters of live samples.
pub(crate) fn whole_filter() -> &'static [AtomicU8; FILTER] {
    &PAGE.filter
}

/// Returns `true` if a recording is being written and takes samples.
#[inline(always)]
pub(crate) fn samples() -> bool {
    get() & SAMPLE != 0
}

/// Returns `true` if a recording is being written.
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    get() & RECORD != 0
}

/// Returns `true` if no event is counted or recorded.
#[cfg(test)]
fn is_off() -> bool {
    PAGE.word.load(Relaxed) == OFF
}

/// Returns `true` if the environment may not have been examined yet.
#[inline(always)]
pub(crate) fn is_unexamined() -> bool {
    PAGE.word.load(Relaxed) == 0
}

/// Returns `true` if a recording is being written and is paused.
#[inline(always)]
pub(crate) fn is_paused() -> bool {
    get() & PAUSED != 0
}

/// Notes that the environment was examined, by this process or its parent.
pub(crate) fn examined() {
    update(|word| (word == 0).then_some(OFF));
}

/// Changes the word. Returns `false` if `change` refuses.
fn update(mut change: impl FnMut(u64) -> Option<u64>) -> bool {
    let change = |word| change(word).map(with_passes);
    PAGE.word.fetch_update(AcqRel, Relaxed, change).is_ok()
}

/// Sets the bits that follow from others.
fn with_passes(word: u64) -> u64 {
    let bits = word as u32;
    let samples = bits & (RECORD | SAMPLE) == RECORD | SAMPLE && word < MEASURE;
    let allocs = if samples && bits & PAUSED == 0 {
        ALLOCS_PASS
    } else {
        0
    };
    let frees = if samples { FREES_PASS } else { 0 };
    word & !u64::from(ALLOCS_PASS | FREES_PASS) | u64::from(allocs | frees)
}

/// Adds and removes bits.
pub(crate) fn change(add: u32, remove: u32) {
    update(|word| Some(word & !u64::from(remove) | u64::from(add)));
}

/// Notes the start of a call of `measure()`.
pub(crate) fn begin_measuring() {
    update(|word| Some(word.wrapping_add(MEASURE)));
}

/// Notes the end of a call of `measure()`. If the call began in the parent of this forked child,
/// the word does not count it.
pub(crate) fn end_measuring() {
    update(|word| word.checked_sub(MEASURE));
}

/// `stats()` has not been called in this process.
const NOT_COUNTING: u32 = 0;
/// `stats()` has been called: events that no row of a recording counts are counted separately.
const COUNTING: u32 = 1;
/// `stats()` was called while a recording was written, which counts until it is finished.
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

/// Begins counting unless it has begun. `reset` runs before the first event is counted.
pub(crate) fn begin_counting(reset: impl FnOnce()) {
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
            let is_recorded = word as u32 & RECORD != 0;
            (!is_recorded).then_some(word | u64::from(COUNT))
        });
    }
}

/// Notes that a recording begins. Its rows count from now on, and `stats()` adds them.
pub(crate) fn begin_recording(tag: u32) {
    PAGE.joined.store(1, Release);
    change(tag, COUNT | EXAMINED);
}

/// Notes that the recording ends. Later events are counted as before the recording.
pub(crate) fn end_recording() {
    advance_counting(LATER, COUNTING);
    let count = if is_counting() { COUNT } else { 0 };
    change(EXAMINED | count, !COUNT);
}

/// Returns `true` if the rows of a recording of this process belong to the figures of `stats()`.
pub(crate) fn rows_are_joined() -> bool {
    PAGE.joined.load(Acquire) != 0
}

/// Stops adding the rows of the finished recording. Returns `true` if their sums must be kept
/// because counting continues.
pub(crate) fn part_from_rows() -> bool {
    PAGE.joined.store(0, Release);
    is_counting()
}

/// Stops or resumes recording new blocks while something records. Known blocks are always followed.
pub(crate) fn pause(paused: bool) {
    let others = !u64::from(PAUSED);
    let bit = if paused { PAUSED } else { 0 };
    update(|word| (word as u32 & RECORD != 0).then_some(word & others | u64::from(bit)));
}

/// `true` once the program has called a function that needs every event.
static NEEDS_EVERY_EVENT: AtomicBool = AtomicBool::new(false);

/// Notes that the program has called a function that needs every event. Then no recording in
/// progress begins to take samples, because such functions would be refused from then on.
pub(crate) fn need_every_event() {
    NEEDS_EVERY_EVENT.store(true, Relaxed);
}

/// Returns `true` after [`need_every_event`].
pub(crate) fn needs_every_event() -> bool {
    NEEDS_EVERY_EVENT.load(Relaxed)
}

/// Begins to take samples, in a recording in progress. Every later event sees the change.
pub(crate) fn sample(counts: bool) {
    let bits = SAMPLE | if counts { COUNTS } else { 0 };
    update(|word| (word as u32 & RECORD != 0).then_some(word | u64::from(bits)));
}

/// Returns the word of [`life`](crate::life).
pub(crate) fn life() -> &'static AtomicU32 {
    &PAGE.life
}

/// The process that owns these words, if the kernel accepted the request to wipe them in forked
/// children but does not wipe them. Otherwise 0.
static UNWIPED_IN: AtomicU32 = AtomicU32::new(0);

/// Asks the kernel to wipe the words in forked children. Returns `false` if it refuses; then
/// nothing may be recorded.
pub(crate) fn wipe_on_fork() -> bool {
    // SAFETY: the page is a whole, aligned static of anonymous memory (zero-initialized, so in
    // .bss). The advice changes no contents.
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
    // SAFETY: a plain function. It covers children forked through libc. All others notice the fork
    // on their first slow path.
    if UNWIPED_IN.load(Relaxed) == 0 && unsafe { libc::pthread_atfork(None, None, Some(wipe)) } != 0
    {
        return false;
    }
    UNWIPED_IN.store(sys::process_id(), Relaxed);
    true
}

/// Resets the words in a forked child.
extern "C" fn wipe() {
    UNWIPED_IN.store(0, Relaxed);
    PAGE.word.store(0, Release);
    PAGE.counting.store(NOT_COUNTING, Release);
    PAGE.joined.store(0, Release);
    PAGE.life.store(0, Release);
}

/// Called on slow paths. Switches off a child whose words should have been wiped.
#[inline]
pub(crate) fn notice_fork() {
    let process = UNWIPED_IN.load(Relaxed);
    if process != 0 && process != sys::process_id() {
        wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_is_one_number_once_the_environment_was_examined() {
        // The test runs in a child, in which nothing was examined yet and the words belong to the
        // child alone.
        // SAFETY: the child only looks at its words and ends.
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
            // SAFETY: this runs no code of the parent.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}
