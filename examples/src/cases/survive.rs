//! Ways in which a program ends while it records, and programs that may exceed a limit.

use super::{Block, Tally};
use crate::data::Random;
use std::process::ExitCode;
use tracking_alloc::phase;

static TALLY: Tally = Tally::new();

fn some_work() -> Vec<Block> {
    let random = &mut Random::new(5);
    let mut kept = Vec::with_capacity(1_000);
    let _work = phase("work");
    for _ in 0..20_000 {
        if kept.len() == 1_000 {
            kept.swap_remove(random.below(1_000));
        }
        kept.push(Block::new(&TALLY, 1 + random.below(300), 8));
    }
    kept
}

/// Works, prints what it did, and ends as requested.
pub(super) fn die(how: &str) -> ExitCode {
    let kept = some_work();
    TALLY.print();
    match how {
        "kill" => {
            // SAFETY: the argument is a plain number.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        "abort" => std::process::abort(),
        "exit" => std::process::exit(7),
        "exit-now" => {
            // SAFETY: never returns.
            unsafe { libc::_exit(7) }
        }
        "panic-abort" => {
            // A panic that may not unwind ends the program like panic=abort.
            extern "C" fn no_unwinding() {
                panic!("on purpose");
            }
            no_unwinding();
        }
        "panic" => panic!("on purpose"),
        "stack-overflow" => {
            println!("{}", overflow(0));
        }
        "segfault" => {
            // SAFETY: none. The program is meant to be killed here.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(8).write_volatile(1) };
        }
        "return" => {
            drop(kept);
            TALLY.print();
            return ExitCode::from(7);
        }
        other => panic!("no end is called {other:?}"),
    }
    ExitCode::SUCCESS
}

#[expect(
    unconditional_recursion,
    reason = "the case is about running out of stack"
)]
#[inline(never)]
fn overflow(depth: u64) -> u64 {
    let page = std::hint::black_box([depth; 512]);
    overflow(depth + 1) + std::hint::black_box(page)[7]
}

/// Runs two threads that create blocks and sites until the process is killed.
pub(super) fn forever() {
    println!("begun");
    let work = |seed: u64| {
        let random = &mut Random::new(seed);
        let mut kept: Vec<Block> = Vec::new();
        for number in 0u64.. {
            let _phase = phase(&format!("phase {}", (number / 50) % 3_000));
            kept.push(Block::new(&TALLY, 1 + random.below(2_000), 8));
            if kept.len() > random.below(2_000) {
                kept.clear();
            }
            if number % 1_000 == seed {
                tracking_alloc::mark("moment");
            }
        }
    };
    std::thread::spawn(move || work(1));
    work(2);
}

/// Allocates blocks at `sites` sites, possibly more than a limit allows. With `remove`, it first
/// removes the recording's folder.
pub(super) fn many_sites(sites: usize, remove: Option<&str>) -> ExitCode {
    if let Some(folder) = remove {
        std::fs::remove_dir_all(folder).expect("the folder can be removed");
    }
    let mut kept = Vec::with_capacity(sites);
    for site in 0..sites {
        let _phase = phase(&format!("phase {site}"));
        kept.push(Block::new(&TALLY, 10 + site % 100, 8));
    }
    kept.truncate(sites / 2);
    TALLY.print();
    println!("live_bytes={}", TALLY.live_bytes());
    std::mem::forget(kept);
    ExitCode::from(7)
}
