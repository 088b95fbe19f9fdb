//! A program without tracking-alloc, whose allocations are the same in every run.
//!
//! Used by the tests.

use std::collections::BTreeMap;

fn main() {
    let mut names = BTreeMap::new();
    for number in 0..5000u64 {
        let name = format!("name {}", number.wrapping_mul(2_654_435_761) % 1000);
        names.entry(name).or_insert_with(Vec::new).push(number);
    }
    let caught = std::panic::catch_unwind(|| drop(std::hint::black_box(vec![1u8; 1000])));
    println!("{} {}", names.len(), caught.is_ok());
}
