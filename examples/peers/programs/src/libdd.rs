//! The work under libdd's `SampledAllocator` with its default settings and live-heap tracking. No
//! profiler is attached to its probes.

use libdd_profiling_heap_allocator::SampledAllocator;
use std::alloc::System;

#[global_allocator]
static ALLOC: SampledAllocator<System> = SampledAllocator::<System>::DEFAULT;

fn main() {
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
