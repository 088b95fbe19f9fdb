//! The one word every allocator call reads first.
//!
//! ```text
//!            start()                      pause()
//!   off ───────────────▶ RECORD | gen ◀──────────────▶ RECORD | PAUSED | gen
//!    ▲                        │          resume()
//!    └────────────────────────┘ finish(), or fork() in the child
//! ```
//! `COUNT` (process-wide counting for `stats()`) and `MEASURE` (some thread is inside `measure()`) may be added to any
//! of them. The word lies on pages the kernel wipes in a forked child, so a child finds itself "off" without any handler.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// Nothing to do.
pub(crate) const OFF: u32 = 0;
/// A recording is being written.
#[cfg_attr(
    not(any(recording, in_memory)),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(crate) const RECORD: u32 = 1;
/// New blocks are not recorded; known ones are still followed.
#[cfg_attr(
    not(recording),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(crate) const PAUSED: u32 = 2;
/// Process-wide counting without a recording.
pub(crate) const COUNT: u32 = 4;
/// At least one thread measures itself.
pub(crate) const MEASURE: u32 = 8;
/// One generation: a forked child that records again counts up, so lanes of its parent are not taken for its own.
#[cfg_attr(
    not(recording),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(crate) const GENERATION: u32 = 16;

/// What follows the word on its page: 64 KiB, the largest page of any Linux, so that advice about these pages is about
/// nothing else. Where no advice is given, nothing.
const REST: usize = if cfg!(recording) { 65532 } else { 0 };

#[cfg_attr(recording, repr(C, align(65536)))]
struct Page {
    word: AtomicU32,
    _rest: [u8; REST],
}

static PAGE: Page = Page {
    word: AtomicU32::new(OFF),
    _rest: [0; REST],
};

/// The present state.
#[inline(always)]
pub(crate) fn get() -> u32 {
    PAGE.word.load(Relaxed)
}

/// Adds and removes bits.
pub(crate) fn change(add: u32, remove: u32) {
    let _ = PAGE
        .word
        .fetch_update(AcqRel, Relaxed, |word| Some(word & !remove | add));
}

/// Asks the kernel to wipe the word in forked children. False when it will not: then nothing may be recorded.
#[cfg(recording)]
pub(crate) fn wipe_on_fork() -> bool {
    // SAFETY: the page is a whole, aligned static of anonymous memory (zero-initialised, so in .bss); advice changes no contents.
    unsafe {
        libc::madvise(
            (&raw const PAGE).cast_mut().cast(),
            size_of::<Page>(),
            libc::MADV_WIPEONFORK,
        ) == 0
    }
}
