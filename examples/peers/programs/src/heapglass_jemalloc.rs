//! The work under `TrackingAlloc` over jemalloc, not recorded, or recorded if `HEAPGLASS_OUT` is
//! set.

use tikv_jemallocator::Jemalloc;
use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc<Jemalloc> = TrackingAlloc::new(Jemalloc);

fn main() {
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
