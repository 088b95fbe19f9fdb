//! Starting and finishing: racing threads, forked children, two copies of the recorder, kills.

mod copies;
mod ends;
mod forks;
mod kills;

use super::common;
use heapglass_examples::recorded;
use std::path::Path;
use tracking_alloc_recording::{Recording, scope_flags, state};

/// Opens a recording that was finished and sealed. Opening compares its contents with its checksum.
fn sealed(path: &Path) -> Recording {
    let recording = recorded::open(path);
    assert_eq!(recording.header.state, state::FINISHED, "{path:?}");
    assert_ne!(recording.header.checksum, 0, "{path:?} has no checksum");
    common::assert_consistent(&recording);
    recording
}

/// Returns the number of times that phases of a name were entered.
fn entered(recording: &Recording, name: &str) -> u64 {
    let scopes = recording.scopes.iter();
    scopes
        .filter(|scope| recording.string(scope.name).as_deref() == Some(name))
        .map(|scope| scope.entered)
        .sum()
}

/// Checks that every scope's retained bytes are known, because every thread had a lane of its own.
fn assert_retained_is_known(recording: &Recording) {
    for scope in &recording.scopes {
        assert_eq!(scope.flags & scope_flags::STAYED_UNKNOWN, 0, "{scope:?}");
    }
}
