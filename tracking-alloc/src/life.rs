//! How far this process is with its recording: it records once.
//!
//! ```text
//!   NOTHING ──▶ STARTING ──▶ RECORDING ──▶ FINISHING | thread ──▶ ENDED
//!                  ▲ └──▶ REFUSED ─┐
//!                  └───────────────┘
//! ```
//! The word lies on the page the kernel wipes in a forked child: whatever its parent was doing, a
//! child begins at `NOTHING`, and what it inherits is nothing it may write into or wait for.

use crate::{state, sys};
use std::sync::atomic::{AtomicBool, Ordering::*};

const NOTHING: u32 = 0;
const STARTING: u32 = 1;
/// A start failed: another may be tried.
const REFUSED: u32 = 2;
const RECORDING: u32 = 3;
const ENDED: u32 = 4;
/// Added to the number of the thread that finishes.
const FINISHING: u32 = 1 << 31;

/// The tables, locks and lanes were made, by this process or by the one that forked it.
static MADE: AtomicBool = AtomicBool::new(false);

/// How long one waits for another thread to finish: some ten seconds.
const SLEEPS: u32 = 100_000;

fn advance(from: u32, to: u32) -> bool {
    let word = state::life();
    word.compare_exchange(from, to, AcqRel, Acquire).is_ok()
}

/// Begins to start. False when this process starts, records or recorded already. `forget_parent` is
/// called when what lies in memory is another process's: locks held by threads that do not exist,
/// tables of its recording.
pub(crate) fn start(forget_parent: impl FnOnce()) -> bool {
    if advance(REFUSED, STARTING) {
        return true;
    }
    let starts = advance(NOTHING, STARTING);
    if starts && MADE.swap(true, AcqRel) {
        forget_parent();
    }
    starts
}

/// The start ended: it records, or not.
pub(crate) fn started(records: bool) {
    let next = if records { RECORDING } else { REFUSED };
    state::life().store(next, Release);
}

/// Begins to finish. Of many that try, one is told true and must call [`ended`]; when the others
/// are told false the recording is finished.
pub(crate) fn finish() -> bool {
    let me = FINISHING | sys::thread_id();
    if advance(RECORDING, me) {
        return true;
    }
    // A signal handler in the thread that finishes would wait for itself; a thread that was killed,
    // for ever.
    sys::Patience::new(SLEEPS).wait_until(|| {
        let life = state::life().load(Acquire);
        life & FINISHING == 0 || life == me
    });
    false
}

/// The recording is finished.
pub(crate) fn ended() {
    state::life().store(ENDED, Release);
}

/// Returns `true` if this very process has a recording, in progress or finished.
pub(crate) fn has_recording() -> bool {
    state::life().load(Acquire) >= RECORDING
}
