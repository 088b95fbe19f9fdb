//! Every figure of a recording, by arithmetic. Small programs whose allocator calls are all known
//! run in processes of their own, and their recordings are checked.
//!
//! The programs are part of this binary, which is run again with the name of one. It runs before
//! `main`, where nothing else allocates, so the figures of whole recordings are known and not only
//! those of a phase. The binary needs only the recorder and the reader of its recordings, and
//! mutants of the hook are tested with it.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod beside;
mod child;
mod counted;
mod ends;
mod inner;
mod looks;
mod model;
mod one_thread;
mod own;
mod pauses;
mod peaks;
mod random;
mod read;
mod sampled;
mod two_threads;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc<inner::Inner> =
    tracking_alloc::TrackingAlloc::new(inner::Inner);
