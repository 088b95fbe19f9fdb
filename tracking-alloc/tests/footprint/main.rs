//! Footprints of live values, against arithmetic and against what was allocated while the value was made.
#![cfg(all(target_os = "linux", target_env = "gnu", feature = "serde"))]

mod containers;
mod plain;
mod shared;
mod whole;

use serde::Serialize;
use std::sync::OnceLock;
use tracking_alloc::{Footprint, Recorder, footprint, measure};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// What only lives while something records, as all of these tests need.
fn record() {
    static RECORDER: OnceLock<Recorder> = OnceLock::new();
    RECORDER.get_or_init(|| Recorder::start_in_memory().expect("a recording in memory"));
}

/// A value made while something records.
fn made<T>(make: impl FnOnce() -> T) -> T {
    record();
    make()
}

/// The footprint of a value that retains exactly the blocks that were allocated while it was made.
#[track_caller]
fn exact<T: Serialize>(make: impl FnOnce() -> T) -> Footprint {
    record();
    let (value, delta) = measure(make);
    let found = footprint("value", &value).expect("something records");
    assert_eq!(
        (found.blocks as i64, found.block_bytes as i64),
        (delta.live_blocks, delta.live_bytes),
        "{found:?}"
    );
    assert!(found.used_bytes <= found.block_bytes, "{found:?}");
    assert!(found.usable_bytes >= found.block_bytes, "{found:?}");
    assert_eq!(found.inline_bytes, size_of::<T>() as u64);
    found
}

fn text(length: usize) -> String {
    "x".repeat(length)
}
