//! Starting and finishing: threads that race, forked children, two copies of the recorder, kills.

mod copies;
mod ends;
mod forks;
mod kills;

use super::common;
use heapglass_examples::recorded;
use std::path::Path;
use tracking_alloc_recording::{Recording, scope_flags, state};

/// A recording that was finished and sealed: opening it compares its contents with its checksum.
fn sealed(path: &Path) -> Recording {
    let recording = recorded::open(path);
    assert_eq!(recording.header.state, state::FINISHED, "{path:?}");
    assert_ne!(recording.header.checksum, 0, "{path:?} has no checksum");
    common::assert_consistent(&recording);
    recording
}

/// How often phases of a name were entered.
fn entered(recording: &Recording, name: &str) -> u64 {
    let scopes = recording.scopes.iter();
    scopes
        .filter(|scope| recording.string(scope.name).as_deref() == Some(name))
        .map(|scope| scope.entered)
        .sum()
}

/// No scope says that what it retained is not known: every thread had a lane of its own.
fn assert_retained_is_known(recording: &Recording) {
    for scope in &recording.scopes {
        assert_eq!(scope.flags & scope_flags::RETAINED_UNKNOWN, 0, "{scope:?}");
    }
}
