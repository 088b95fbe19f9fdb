//! Measures the cost of a tracked arena: reads the same postcard bytes into a bare arena and into a
//! tracked one, interleaved.
//!
//! `cargo run --release -p tracking-alloc --features bumpalo --example arena_cost`. Set
//! `HEAPGLASS_OUT` to measure while recording.

use serde::Serialize;
use serde::de::DeserializeSeed;
use std::hint::black_box;
use std::mem::ManuallyDrop;
use std::time::Instant;
use tracking_alloc::arena::{ArenaDeserialize, ArenaSeed, Tracked};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

#[derive(Serialize)]
struct Owned {
    name: String,
    citizens: Vec<(String, i16, Vec<u8>, f64, f64)>,
}

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only read into the arena")]
struct City<'a> {
    name: bumpalo::collections::String<'a>,
    citizens: bumpalo::collections::Vec<'a, Citizen<'a>>,
}

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only read into the arena")]
struct Citizen<'a> {
    first_name: &'a str,
    age: i16,
    data: &'a [u8],
    x: f64,
    y: f64,
}

/// The same strings, all in one list.
fn strings(count: usize) -> Vec<u8> {
    let strings: Vec<String> = (0..count).map(|n| format!("string {n}")).collect();
    postcard::to_allocvec(&strings).expect("strings")
}

fn cities(citizens: usize) -> Vec<u8> {
    let city = Owned {
        name: "Ulm".to_owned(),
        citizens: (0..citizens)
            .map(|n| {
                (
                    format!("citizen {n}"),
                    n as i16,
                    vec![n as u8; n % 9],
                    1.5,
                    2.5,
                )
            })
            .collect(),
    };
    postcard::to_allocvec(&city).expect("a city")
}

fn nanoseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Reads into an arena. The value read is never dropped, because the arena would not drop it.
macro_rules! read {
    ($type:ty, $bytes:expr, $arena:expr) => {
        black_box(ManuallyDrop::new(
            ArenaSeed::<$type>::new($arena)
                .deserialize(&mut postcard::Deserializer::from_bytes($bytes))
                .expect("it was written by postcard"),
        ))
    };
}

macro_rules! compare {
    ($what:literal, $type:ty, $bytes:expr) => {{
        let bytes: &[u8] = &$bytes;
        let mut bump = bumpalo::Bump::with_capacity(bytes.len() * 6);
        let (mut ratios, mut bare, mut tracks) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..60 {
            let mut one = || {
                let time = nanoseconds(|| _ = read!($type, bytes, &bump));
                bump.reset();
                time
            };
            let first = one();
            let tracked = {
                let handle = Tracked::new("cost", &bump);
                let time = nanoseconds(|| _ = read!($type, bytes, &handle));
                drop(handle);
                bump.reset();
                time
            };
            let last = nanoseconds(|| _ = read!($type, bytes, &bump));
            bump.reset();
            if round >= 5 {
                ratios.push(2.0 * tracked / (first + last));
                bare.push(first.min(last));
                tracks.push(tracked);
            }
        }
        ratios.sort_by(f64::total_cmp);
        bare.sort_by(f64::total_cmp);
        tracks.sort_by(f64::total_cmp);
        println!(
            "{:10} {:.3} of a bare arena ({:.3} in the fastest rounds, {:.2} ms, for {} bytes)",
            $what,
            ratios[ratios.len() / 2],
            tracks[0] / bare[0],
            bare[0] / 1e6,
            bytes.len(),
        );
    }};
}

/// Runs one side only, for a profiler: `arena_cost bare` or `arena_cost tracked`.
fn alone(tracked: bool) {
    let bytes = cities(200_000);
    let mut bump = bumpalo::Bump::with_capacity(bytes.len() * 6);
    for _ in 0..40 {
        if tracked {
            let handle = Tracked::new("cost", &bump);
            let _read = read!(City, &bytes, &handle);
        } else {
            let _read = read!(City, &bytes, &bump);
        }
        bump.reset();
    }
}

fn main() {
    if let Some(side) = std::env::args().nth(1) {
        return alone(side == "tracked");
    }
    compare!("city", City, cities(200_000));
    compare!("strings", &[&str], strings(1_000_000));
}
