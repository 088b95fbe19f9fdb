//! Footprints of live values, compared with arithmetic and with the allocations made for the value.
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

/// Starts the recording that all of these tests need.
fn record() {
    static RECORDER: OnceLock<Recorder> = OnceLock::new();
    RECORDER.get_or_init(|| Recorder::start_in_memory().expect("a recording in memory"));
}

/// Creates a value while something records.
fn made<T>(make: impl FnOnce() -> T) -> T {
    record();
    make()
}

/// Returns the footprint of a value that retains exactly the blocks that were allocated for it.
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

/// Returns the footprint of a value, with the blocks and bytes that dropping it frees.
fn and_dropped<T: Serialize>(make: impl FnOnce() -> T) -> (Footprint, (i64, i64)) {
    let value = made(make);
    let found = footprint("value", &value).expect("something records");
    let ((), delta) = measure(move || drop(value));
    (found, (-delta.live_blocks, -delta.live_bytes))
}

/// Returns the footprint of a value that retains exactly what dropping it frees.
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

/// Returns the footprint of a value that retains more than can be proved. The footprint must say
/// so.
#[track_caller]
fn lower_bound<T: Serialize>(make: impl FnOnce() -> T) -> Footprint {
    let (found, (blocks, bytes)) = and_dropped(make);
    assert!((found.blocks as i64) < blocks, "{found:?} of {blocks}");
    assert!((found.block_bytes as i64) < bytes, "{found:?} of {bytes}");
    assert!(found.hidden_values > 0, "{found:?}");
    found
}

/// Returns a footprint that is a lower bound: `blocks` blocks can be proved, and `hidden_values`
/// values lead to others.
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
