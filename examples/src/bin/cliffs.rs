//! Prints the cost of an event in one situation; see `benches/cliffs.rs`.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    heapglass_examples::cliffs::main();
}
