//! The benchmark's work under `TrackingAlloc`: never started, or recording when `HEAPGLASS_OUT` is set.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    heapglass_examples::cost::main();
}
