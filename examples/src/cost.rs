//! What the benchmark of cost runs, in a process of its own for each configuration: it prints the nanoseconds of the
//! work alone, so that generating the input and starting the process do not count.

use crate::data::Fleet;
use std::time::{Duration, Instant};
use tracking_alloc::Profiled;

/// Runs `work` on the calling thread (or two) and prints `NANOSECONDS PEAK_RSS_KIB`.
///
/// # Panics
/// When the work is not one of `json`, `postcard`, `rmp` (each also `-fields`: as `Profiled<T>`), `churn`, `churn2`, `deep`,
/// or its input cannot be made.
pub fn main() {
    let work = std::env::args().nth(1).unwrap_or_default();
    let elapsed = match work.as_str() {
        "json" => json(false),
        "json-fields" => json(true),
        "postcard" => postcard(false),
        "postcard-fields" => postcard(true),
        "rmp" => rmp(false),
        "rmp-fields" => rmp(true),
        "churn" => {
            let begin = Instant::now();
            churn(ROUNDS);
            begin.elapsed()
        }
        "churn2" => {
            let begin = Instant::now();
            std::thread::scope(|scope| {
                scope.spawn(|| churn(ROUNDS));
                scope.spawn(|| churn(ROUNDS));
            });
            begin.elapsed()
        }
        "deep" => {
            let begin = Instant::now();
            deep(90);
            begin.elapsed()
        }
        other => panic!("no work is called {other:?}: json, postcard, rmp, churn, churn2, deep"),
    };
    println!("{} {}", elapsed.as_nanos(), peak_rss_kib());
}

/// Vessels that make about 30 MB of JSON.
const VESSELS: usize = 38_000;
const ROUNDS: usize = 3_000;
const CHUNKS: usize = 1_600;

fn json(profiled: bool) -> Duration {
    let input = serde_json::to_vec(&Fleet::generate(VESSELS, 1)).expect("a fleet is JSON");
    timed(|| {
        if profiled {
            serde_json::from_slice::<Profiled<Fleet>>(&input).map(|read| read.0)
        } else {
            serde_json::from_slice(&input)
        }
    })
}

fn postcard(profiled: bool) -> Duration {
    let input = postcard::to_allocvec(&Fleet::generate(VESSELS, 1)).expect("a fleet is postcard");
    timed(|| {
        if profiled {
            postcard::from_bytes::<Profiled<Fleet>>(&input).map(|read| read.0)
        } else {
            postcard::from_bytes(&input)
        }
    })
}

fn rmp(profiled: bool) -> Duration {
    let input = rmp_serde::to_vec(&Fleet::generate(VESSELS, 1)).expect("a fleet is MessagePack");
    timed(|| {
        if profiled {
            rmp_serde::from_slice::<Profiled<Fleet>>(&input).map(|read| read.0)
        } else {
            rmp_serde::from_slice(&input)
        }
    })
}

/// How long reading and dropping takes.
fn timed<E: std::fmt::Debug>(read: impl FnOnce() -> Result<Fleet, E>) -> Duration {
    let begin = Instant::now();
    let fleet = read().expect("what was written");
    assert_eq!(fleet.vessels.len(), VESSELS);
    drop(fleet);
    begin.elapsed()
}

/// So many rounds of 1,600 blocks of 16, 64 and 256 bytes; the first half is freed oldest first, the rest newest first.
fn churn(rounds: usize) {
    let mut blocks: Vec<Vec<u8>> = Vec::with_capacity(CHUNKS);
    for _ in 0..rounds {
        for index in 0..CHUNKS {
            let bytes = [16, 64, 256][index % 3];
            blocks.push(std::hint::black_box(Vec::with_capacity(bytes)));
        }
        blocks.drain(..CHUNKS / 2).for_each(drop);
        while let Some(block) = blocks.pop() {
            drop(block);
        }
    }
}

#[inline(never)]
fn deep(depth: usize) {
    if depth == 0 {
        churn(ROUNDS / 5);
    } else {
        deep(depth - 1);
        std::hint::black_box(depth);
    }
}

/// The largest resident set of this process so far, KiB; 0 when the kernel does not say.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0)
}
