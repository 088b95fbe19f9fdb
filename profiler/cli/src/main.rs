//! The `heapglass` binary. Its allocator is the one it offers to others, so that `heapglass demo` can record itself;
//! while nothing records, that costs one extra load per call.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() -> ExitCode {
    heapglass_cli::heapglass()
}
