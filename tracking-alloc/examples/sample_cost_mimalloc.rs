//! The cost of mode `sample` over an executable that does not record, with mimalloc:
//! `cargo run --release -p tracking-alloc --example sample_cost_mimalloc`

mod sample_cost;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc<mimalloc::MiMalloc> =
    tracking_alloc::TrackingAlloc::new(mimalloc::MiMalloc);

fn main() {
    sample_cost::main();
}
