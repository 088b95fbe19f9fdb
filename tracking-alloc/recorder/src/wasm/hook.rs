//! The connection between events and the module's only recorder.
//!
//! The recorder is borrowed while it works. Its own allocations come back here, find it borrowed,
//! and are not counted.

use super::pages;
use crate::accounting::Event;
use crate::stats::Stats;
use crate::wasm::recorder::{Linear, Recorder};
use crate::{Error, current_scope, state};
use std::cell::RefCell;
use std::mem::ManuallyDrop;

thread_local! {
    /// Never dropped, because allocations may come until the very end.
    static RECORDER: RefCell<Option<ManuallyDrop<Recorder>>> = const { RefCell::new(None) };
}

/// Calls `f` with the recorder. Returns `None` if there is none, or if it is in use.
pub(super) fn with<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    let find = |cell: &RefCell<Option<ManuallyDrop<Recorder>>>| {
        let mut recorder = cell.try_borrow_mut().ok()?;
        Some(f(recorder.as_mut()?))
    };
    RECORDER.try_with(find).ok().flatten()
}

pub(super) fn start(program: &str) -> Result<(), Error> {
    if state::get() & state::RECORD != 0 {
        return Err(Error::new("this module is recorded already".to_owned()));
    }
    let recorder = Recorder::new(program, pages::take, pages::now())
        .ok_or_else(|| Error::new("there is no memory for the tables of a recording".to_owned()))?;
    RECORDER.with(|cell| cell.replace(Some(ManuallyDrop::new(recorder))));
    Ok(())
}

/// Counts a successful event. Returns `false` if the event is heapglass's own. Such an event is
/// neither recorded nor counted by `measure`.
#[cold]
#[inline(never)]
pub(crate) fn count(event: Event) -> bool {
    let scope = current_scope::current();
    let counted = with(|recorder| {
        recorder.note_pages(pages::now());
        recorder.count(event, scope)
    });
    counted.unwrap_or(false)
}

pub(super) fn recording() -> Option<Vec<u8>> {
    with(|recorder| {
        recorder.note_pages(pages::now());
        let bytes = recorder.encode();
        recorder.note_own_pages(pages::now());
        recorder.note_own_block(bytes.as_ptr().addr());
        bytes
    })
}

pub(super) fn linear() -> Option<Linear> {
    with(|recorder| {
        recorder.note_pages(pages::now());
        recorder.linear()
    })
}

/// Returns the module's figures while it is recorded.
pub(crate) fn recorded_stats() -> Option<Stats> {
    with(|recorder| recorder.figures())
}
