//! `Profiled<T>` in whole programs. Each test runs itself again as a recorded process and reads its
//! recording.

#![cfg(all(
    feature = "serde",
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "profiled/budget.rs"]
mod budget;
#[path = "profiled/buffers.rs"]
mod buffers;
#[path = "profiled/errors.rs"]
mod errors;
#[path = "profiled/hostile.rs"]
mod hostile;
#[path = "profiled/paths.rs"]
mod paths;
#[path = "profiled/recorded.rs"]
mod recorded;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
