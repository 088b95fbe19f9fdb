//! A program that records itself, for the tests.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    let numbers: Vec<Box<u64>> = (0..1000).map(Box::new).collect();
    assert_eq!(numbers.iter().map(|number| **number).sum::<u64>(), 499_500);
}
