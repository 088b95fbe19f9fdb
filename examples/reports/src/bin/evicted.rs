//! A cache is filled with texts, cut down to a hundred and kept: its table is empty at the end.

use std::collections::HashMap;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    let mut cache: HashMap<u64, String> = HashMap::new();
    for i in 0..300_000u64 {
        cache.insert(i, format!("statement {i}"));
    }
    cache.retain(|i, _| *i < 100);
    std::thread::sleep(std::time::Duration::from_millis(300));
    println!("{} of {}", cache.len(), cache.capacity());
    std::process::exit(0);
}
