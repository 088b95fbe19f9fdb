//! The `heapglass` binary. It uses its own allocator, so that `heapglass demo` can record it. While
//! nothing records, the allocator costs one extra load per call.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() -> ExitCode {
    heapglass_cli::heapglass()
}
