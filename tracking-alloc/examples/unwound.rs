//! Allocates from many kinds of places, always the same ones in the same order. Builds with and
//! without frame pointers must record the same stacks (`tests/built/unwinders.rs`).

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    black_box(recursion(40));
    black_box(collections(300));
    black_box(text(50));
    black_box(callbacks(20));
    black_box(large_frame(1));
    let threads: Vec<_> = (0..3)
        .map(|n| std::thread::spawn(move || black_box(recursion(n)).len()))
        .collect();
    println!(
        "{}",
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0))
            .sum::<usize>()
    );
}

/// One of two functions that call each other and keep a value across the calls.
#[inline(never)]
fn recursion(depth: usize) -> Vec<usize> {
    let mut kept = vec![depth; 3];
    if depth > 0 {
        kept.extend(if depth.is_multiple_of(3) {
            sideways(depth - 1, [depth as u64; 16])
        } else {
            recursion(depth - 1)
        });
    }
    kept
}

#[inline(never)]
fn sideways(depth: usize, ballast: [u64; 16]) -> Vec<usize> {
    let mut kept = black_box(recursion(depth));
    kept.push(black_box(ballast).iter().sum::<u64>() as usize);
    kept
}

#[inline(never)]
fn collections(count: usize) -> usize {
    let map: BTreeMap<usize, String> = (0..count)
        .map(|n| (n * 7919 % count, n.to_string()))
        .collect();
    // The hasher has no random seed: the order of the table's elements decides which ones are
    // compared below.
    let mut table: HashMap<&str, Box<[u8]>, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    table.extend(
        map.values()
            .map(|text| (text.as_str(), Box::from(text.as_bytes()))),
    );
    let mut sorted: Vec<(&str, Vec<u8>)> = table
        .iter()
        .map(|(key, value)| (*key, value.to_vec()))
        .collect();
    sorted.sort_by_key(|(key, _)| (*key).to_owned());
    sorted.len()
}

#[inline(never)]
fn text(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let _ = write!(
            text,
            "{n:>8} {:?}",
            Named {
                name: format!("name {n}"),
                weight: n as f64 / 3.0
            }
        );
    }
    text
}

#[derive(Debug)]
#[expect(dead_code, reason = "read by Debug")]
struct Named {
    name: String,
    weight: f64,
}

#[inline(never)]
fn callbacks(count: usize) -> usize {
    let steps: Vec<Box<dyn Fn(usize) -> Vec<u8>>> = vec![
        Box::new(|n| vec![1; n + 1]),
        Box::new(|n| format!("{n}").into_bytes()),
        Box::new(move |n| {
            recursion(n % 5 + count % 2)
                .iter()
                .map(|value| *value as u8)
                .collect()
        }),
    ];
    (0..count).map(|n| steps[n % steps.len()](n).len()).sum()
}

/// Has a frame larger than most.
#[inline(never)]
fn large_frame(value: u8) -> Box<u8> {
    let mut ballast = [value; 1 << 20];
    black_box(&mut ballast);
    Box::new(ballast[black_box(77)])
}
