//! Programs whose live bytes grow, or only seem to. Each does a given number of steps, which take
//! at least 2 ms each, ends in order, and frees everything. Steps and not time decide what a
//! program holds: on a slow machine it takes longer, and does the same.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use crate::data::Random;

/// Bytes of the data that is loaded at the start and given up.
const LOADED: usize = 32 << 20;

pub(super) fn run(kind: &str, steps: usize) {
    let mut is_half_done = false;
    let mut random = Random::new(7);
    load();
    tracking_alloc::mark("warm");
    let mut kept: VecDeque<Vec<u8>> = VecDeque::new();
    for number in 0..steps {
        let request = (kind == "requests").then(|| tracking_alloc::phase("request"));
        churn();
        drop(request);
        let share = number as f64 / steps as f64;
        if share > 0.5 && !is_half_done {
            is_half_done = true;
            println!("half");
            std::io::stdout().flush().expect("standard output");
        }
        match kind {
            // One entry in a step, and none is removed.
            "leak" => kept.push_back(entry(2048)),
            // All is loaded in the first third.
            "plateau" if share < 0.33 => kept.push_back(entry(2048)),
            // A hundred entries of different sizes at most.
            "cache" => {
                kept.push_back(entry(512 + random.below(4096)));
                if kept.len() > 100 {
                    kept.pop_front();
                }
            }
            // A level that goes up and down around a mean.
            "waves" => {
                let wanted = 200.0 + 80.0 * (share * 40.0).sin();
                while kept.len() < wanted as usize {
                    kept.push_back(entry(1024));
                }
                kept.truncate(wanted as usize);
            }
            // A cache that fills ever more slowly.
            "slowing" if random.below(1000) < (1000.0 * (-6.0 * share).exp()) as usize => {
                kept.push_back(entry(4096));
            }
            // Nothing is kept.
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("steps={steps} kept={}", kept.len());
    tracking_alloc::mark("stopping");
    drop(kept);
}

/// Many marks, each after a phase, each with one more block.
pub(super) fn checkpoints(marks: usize) {
    let mut kept: Vec<Box<[u64; 3]>> = Vec::with_capacity(marks);
    for number in 0..marks {
        let phase = tracking_alloc::phase("request");
        churn();
        drop(phase);
        kept.push(Box::new([1; 3]));
        if number % 10 == 0 {
            tracking_alloc::mark(&(kept.len() - 1).to_string());
        }
    }
    black_box(&kept);
}

/// Passes over as many sites, each pass in an outermost phase, at whose end there may be a
/// checkpoint; `is_inside`: in a phase inside another one, at whose end there is none. The
/// difference is what checkpoints cost.
pub(super) fn checkpoint_cost(sites: usize, passes: usize, is_inside: bool) {
    let names: Vec<String> = (0..sites).map(|number| number.to_string()).collect();
    let outer = is_inside.then(|| tracking_alloc::phase("outer"));
    for pass in 0..passes {
        // The ends of a phase that is entered more often are no checkpoints.
        let _pass = tracking_alloc::phase(&format!("pass {}", pass / 8));
        for name in &names {
            let _phase = tracking_alloc::phase(name);
            black_box(Box::new([1_u64; 3]));
        }
    }
    drop(outer);
}

/// The start: much data for a short time.
#[inline(never)]
fn load() {
    let _phase = tracking_alloc::phase("load");
    let data: Vec<Vec<u8>> = (0..LOADED / 65_536).map(|_| vec![1; 65_536]).collect();
    black_box(&data);
}

#[inline(never)]
fn entry(bytes: usize) -> Vec<u8> {
    vec![7; bytes]
}

/// Work that leaves nothing.
#[inline(never)]
fn churn() {
    for size in 1..20 {
        black_box(vec![0_u8; size * 100]);
    }
}
