//! Measures how long a thread stands still while it makes a snapshot, beside a plain `fork()` of
//! the same process, in turns: `heapglass run --snapshot=signal -- target/release/examples/pause
//! 1024`.
//!
//! The argument is the number of MiB that are live, in blocks of 1 KiB.

use std::time::{Duration, Instant};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

const ROUNDS: usize = 7;

fn forked() -> Duration {
    let begun = Instant::now();
    // SAFETY: the child only ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends at once.
        unsafe { libc::_exit(0) };
    }
    let took = begun.elapsed();
    // SAFETY: waits for the child without a place for its status.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    took
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let mebibytes: usize = match std::env::args().nth(1).map(|text| text.parse()) {
        Some(Ok(mebibytes)) => mebibytes,
        _ => 256,
    };
    let blocks: Vec<Vec<u8>> = (0..1024 * mebibytes).map(|_| vec![1; 1024]).collect();
    let (mut forks, mut snapshots) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        forks.push(forked());
        let begun = Instant::now();
        match tracking_alloc::snapshot(&format!("round {round}")) {
            Ok(()) => snapshots.push(begun.elapsed()),
            Err(why) => {
                eprintln!("{why}; start this program with heapglass run --snapshot=signal");
                std::process::exit(1);
            }
        }
        // The reader reads the copy, and the next call must not wait for that.
        std::thread::sleep(Duration::from_secs(mebibytes as u64 / 128 + 1));
    }
    std::hint::black_box(&blocks);
    let (fork, snapshot) = (median(&mut forks), median(&mut snapshots));
    println!(
        "{mebibytes} MiB: fork {fork:.1?}, snapshot {snapshot:.1?}, ratio {:.2}",
        snapshot.as_secs_f64() / fork.as_secs_f64()
    );
}
