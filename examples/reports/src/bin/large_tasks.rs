//! Runs the package `big_futures`, with its remedy if there is an argument.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    big_futures::run(std::env::args().len() > 1);
}
