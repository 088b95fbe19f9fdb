//! Paused copies of a process: what the copied program notices (nothing), when a copy ends, when
//! none is made, and what a reader finds in its memory.
//!
//! The programs are part of this binary, which is run again with the name of one.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod harm;
mod memory;
mod program;
mod reader;
mod refused;
mod steady;
mod stress;
mod triggers;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc<program::Waiting> =
    tracking_alloc::TrackingAlloc::new(program::Waiting);
