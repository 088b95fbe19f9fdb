//! Loads for a while, works, and ends: no leak.

use std::{thread::sleep, time::Duration};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    let mut rows = Vec::with_capacity(200);
    for i in 0..200 {
        rows.push(vec![i as u8; 100_000]);
        sleep(Duration::from_millis(10));
    }
    println!("{}", rows.iter().map(|r| r[0] as u64).sum::<u64>());
}
