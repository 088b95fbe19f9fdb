//! The situations of the benchmark of cliffs, each in a process of its own. Prints nanoseconds of
//! processor time per event.
//!
//! Every situation runs the same loop of allocations and frees on one thread, while recording in
//! memory.

use std::hint::black_box;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tracking_alloc::Recorder;

/// Number of events of one loop.
const EVENTS: u32 = 1_000_000;

/// Runs the situation named by the first argument, and prints its nanoseconds per event.
///
/// # Panics
/// If there is no such situation, or the process cannot be recorded.
pub fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let situation = words.first().map_or("", String::as_str);
    let threads: usize = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    if situation == "stats" {
        black_box(tracking_alloc::stats());
    }
    let recorder = Recorder::start_in_memory().expect("it records");
    let idle: Vec<Idle> = (0..threads).map(|_| Idle::start(false)).collect();
    let ns = match situation {
        "small" | "stats" => {
            below_the_peak();
            small()
        }
        "steady" => small(),
        "elsewhere" => {
            let measuring = Idle::start(true);
            below_the_peak();
            let ns = small();
            measuring.end();
            ns
        }
        // The last of that many live threads.
        "last" => std::thread::spawn(|| {
            below_the_peak();
            small()
        })
        .join()
        .expect("it ends"),
        "large" => large(),
        other => panic!("no situation is called {other:?}"),
    };
    idle.into_iter().for_each(Idle::end);
    drop(recorder);
    println!("{ns:.3}");
}

/// A live thread that has allocated and does nothing.
struct Idle {
    go: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Idle {
    fn start(measuring: bool) -> Idle {
        let (go, wait) = mpsc::channel::<()>();
        let (ready, is_ready) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || {
                let work = || {
                    let kept = black_box(vec![1u8; 100]);
                    ready.send(()).expect("somebody waits");
                    let _ = wait.recv();
                    drop(kept);
                };
                if measuring {
                    tracking_alloc::measure(work);
                } else {
                    work();
                }
            })
            .expect("a thread");
        is_ready.recv().expect("it runs");
        Idle { go, thread }
    }

    fn end(self) {
        let _ = self.go.send(());
        self.thread.join().expect("it ends");
    }
}

/// Makes a maximum, so that all that follows stays below it.
fn below_the_peak() {
    drop(black_box(vec![1u8; 8 << 20]));
}

/// Allocates one small block at a time, always of the same size.
fn small() -> f64 {
    timed(64)
}

/// Allocates one block at a time, large enough that each needs a check.
fn large() -> f64 {
    timed(40 << 10)
}

#[inline(never)]
fn timed(bytes: usize) -> f64 {
    let round = |events: u32| {
        for _ in 0..events / 2 {
            drop(black_box(Vec::<u8>::with_capacity(black_box(bytes))));
        }
    };
    round(EVENTS / 10);
    let begin = cpu_time_ns();
    round(EVENTS);
    (cpu_time_ns() - begin) as f64 / f64::from(EVENTS)
}

/// Returns the nanoseconds for which the calling thread ran. Other processes do not affect it.
fn cpu_time_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid to write into.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(read, 0, "this system has no clock of a thread");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
