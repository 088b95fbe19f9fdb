//! The cost of mode `sample` over an executable that does not record, with the system's allocator:
//! `cargo run --release -p tracking-alloc --example sample_cost_system`

mod sample_cost;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    sample_cost::main();
}
