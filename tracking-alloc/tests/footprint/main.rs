//! Footprints of live values, against arithmetic and against what was allocated while the value was made.
#![cfg(all(target_os = "linux", target_env = "gnu", feature = "serde"))]

mod certain;
mod containers;
mod hidden;
mod plain;
mod shared;
mod sound;
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
    assert_eq!(found.hidden_values, 0, "{found:?}");
    found
}

/// The footprint of a value, and how many blocks and bytes dropping it gives back.
fn and_dropped<T: Serialize>(make: impl FnOnce() -> T) -> (Footprint, (i64, i64)) {
    let value = made(make);
    let found = footprint("value", &value).expect("something records");
    let ((), delta) = measure(move || drop(value));
    (found, (-delta.live_blocks, -delta.live_bytes))
}

/// The footprint of a value that retains exactly what dropping it gives back.
#[track_caller]
fn dropped<T: Serialize>(make: impl FnOnce() -> T) -> Footprint {
    let (found, given_back) = and_dropped(make);
    assert_eq!(
        (found.blocks as i64, found.block_bytes as i64),
        given_back,
        "{found:?} of {}",
        std::any::type_name::<T>()
    );
    assert!(found.used_bytes <= found.block_bytes, "{found:?}");
    assert!(found.usable_bytes >= found.block_bytes, "{found:?}");
    assert_eq!(found.inline_bytes, size_of::<T>() as u64);
    assert_eq!(found.hidden_values, 0, "{found:?}");
    found
}

/// The footprint of a value that retains more than can be proved, and says so.
#[track_caller]
fn lower_bound<T: Serialize>(make: impl FnOnce() -> T) -> Footprint {
    let (found, (blocks, bytes)) = and_dropped(make);
    assert!((found.blocks as i64) < blocks, "{found:?} of {blocks}");
    assert!((found.block_bytes as i64) < bytes, "{found:?} of {bytes}");
    assert!(found.hidden_values > 0, "{found:?}");
    found
}

/// The footprint of a value of which so many blocks can be proved, while so many values lead to others: a lower bound.
#[track_caller]
fn bounded<T: Serialize>(blocks: u64, hidden_values: u64, make: impl FnOnce() -> T) -> Footprint {
    let found = lower_bound(make);
    assert_eq!(
        (found.blocks, found.hidden_values),
        (blocks, hidden_values),
        "{found:?} of {}",
        std::any::type_name::<T>()
    );
    found
}

fn text(length: usize) -> String {
    "x".repeat(length)
}
