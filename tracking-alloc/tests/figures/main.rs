//! Every figure of a recording, by arithmetic: small programs of which each allocator call is known, each in a process
//! of its own, and what they recorded.
//!
//! The programs are in this very binary: it is run again with the name of one, and runs that before `main`, where
//! nothing else allocates. So the figures of whole recordings are known, and not only those of a phase. The binary
//! needs nothing but the recorder and the reader of its recordings: it is what mutants of the hook are run against.

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
mod peaks;
mod random;
mod read;
mod two_threads;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc<inner::Inner> =
    tracking_alloc::TrackingAlloc::new(inner::Inner);
