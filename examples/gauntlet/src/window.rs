//! The window in which a variant does its work. Prints its measurements as one line of JSON.

use super::{Variant, allocator, code};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The purpose of a variant's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// One run, counted by an instrument.
    Count,
    /// Repeated runs, timed without an instrument.
    Time,
    /// One run, to find the share of time spent in the allocator.
    Share,
    /// One counted run. Another process takes a snapshot while it holds its result.
    Hold,
}

/// Approximate duration of the repetitions in one pass. Many short passes, interleaved with those
/// of other variants, are disturbed less than a few long ones.
const TIMED_FOR: Duration = Duration::from_millis(150);
/// Maximum number of repetitions. Work of 50 microseconds still fills the duration, so a
/// disturbance does not affect all of them.
const MOST_TIMES: usize = 10_000;

/// The measurements that a process prints about its variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shown {
    /// The time of each repetition, nanoseconds.
    pub times_ns: Vec<u64>,
    /// Input bytes of one repetition; 0 for none.
    pub input_bytes: u64,
    /// Records of one repetition; 0 for none.
    pub records: u64,
    /// Resident set when the window opened, bytes.
    pub before_rss_bytes: u64,
    /// The largest resident set, bytes.
    pub peak_rss_bytes: u64,
    /// Nanoseconds in the allocator, from one event in 1,024 (share pass); `None` if too few
    /// events were timed.
    pub allocator_ns: Option<u64>,
    /// Nanoseconds that the measurement itself took (share pass).
    pub overhead_ns: u64,
    /// Machine code reachable from the variant, bytes (share pass).
    pub code_bytes: Option<u64>,
    /// Largest sum of usable sizes of live blocks, bytes (share pass).
    pub usable_bytes: Option<i64>,
    /// Figures counted by dhat-rs or stats_alloc, by the names of the report's JSON.
    pub counted: BTreeMap<String, u64>,
    /// The case's own notes, by name.
    pub notes: BTreeMap<String, f64>,
}

/// The window in which a variant does its work.
pub struct Window {
    pass: Pass,
    with: String,
    /// The divisor of the work, so that tests and quick runs stay short.
    divisor: usize,
    shown: Shown,
    opened: bool,
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("pass", &self.pass)
            .finish_non_exhaustive()
    }
}

impl Window {
    /// Returns a size of the work: the source's size, or less in a quick run.
    pub fn scaled(&self, size: usize) -> usize {
        (size / self.divisor).max(1)
    }

    /// Sets the input of one repetition.
    pub fn input(&mut self, bytes: usize, records: usize) {
        self.shown.input_bytes = bytes as u64;
        self.shown.records = records as u64;
    }

    /// Adds a further result of the case.
    pub fn note(&mut self, name: &str, value: f64) {
        self.shown.notes.insert(name.to_owned(), value);
    }

    /// Returns `true` if the work is counted now, so notes may cost time.
    pub fn is_counting(&self) -> bool {
        self.pass == Pass::Count
    }

    /// Returns `true` if the work is timed now, without an instrument, so notes may be times.
    pub fn is_timing(&self) -> bool {
        self.pass == Pass::Time
    }

    /// Does the work. A counted run does it once, and keeps the result past the end of the window.
    /// A timed run repeats it.
    ///
    /// # Panics
    /// If it is called twice.
    pub fn work<T>(&mut self, mut work: impl FnMut() -> T) {
        assert!(
            !std::mem::replace(&mut self.opened, true),
            "a variant has one window"
        );
        self.shown.before_rss_bytes = rss_bytes();
        if self.pass != Pass::Time {
            self.shown.times_ns.reserve_exact(1);
            if self.pass == Pass::Hold {
                wait_for_reader();
            }
            let kept = self.counted(&mut work);
            if self.pass == Pass::Hold {
                take_snapshot();
            }
            self.shown.peak_rss_bytes = peak_rss_bytes();
            drop(kept);
            return;
        }
        let begun = Instant::now();
        // The first repetition warms caches and is not reported.
        drop(black_box(work()));
        let mut times = Vec::with_capacity(MOST_TIMES);
        while times.is_empty() || begun.elapsed() < TIMED_FOR && times.len() < MOST_TIMES {
            let start = Instant::now();
            let result = black_box(work());
            times.push(start.elapsed().as_nanos() as u64);
            drop(result);
        }
        self.shown.times_ns = times;
        self.shown.peak_rss_bytes = peak_rss_bytes();
    }

    /// Takes the times that another program measured, nanoseconds, if it can run. The work is
    /// neither counted nor timed event by event.
    ///
    /// # Panics
    /// If there is a window already.
    pub fn work_elsewhere(&mut self, run: impl FnOnce() -> Option<Vec<u64>>) {
        if self.pass != Pass::Time {
            return self.work(|| ());
        }
        assert!(
            !std::mem::replace(&mut self.opened, true),
            "a variant has one window"
        );
        self.shown.times_ns = run().unwrap_or_default();
    }

    fn counted<T>(&mut self, work: &mut impl FnMut() -> T) -> T {
        match self.with.as_str() {
            "dhat" => {
                let profiler = dhat::Profiler::builder().testing().build();
                let kept = self.once(work);
                let stats = dhat::HeapStats::get();
                drop(profiler);
                self.count("total_bytes", stats.total_bytes);
                self.count("total_blocks", stats.total_blocks);
                self.count("live_bytes", stats.curr_bytes as u64);
                self.count("live_blocks", stats.curr_blocks as u64);
                self.count("peak_bytes", stats.max_bytes as u64);
                self.count("peak_blocks", stats.max_blocks as u64);
                kept
            }
            "stats_alloc" => {
                let region = stats_alloc::Region::new(&allocator::STATS);
                let kept = self.once(work);
                let stats = region.change();
                let live = stats.bytes_allocated as u64;
                let live = live.saturating_sub(stats.bytes_deallocated as u64);
                // stats_alloc adds only the difference of a realloc to its bytes; the others add
                // the whole new size. So it gives no `total_bytes`.
                let blocks = stats.allocations + stats.reallocations;
                self.count("total_blocks", blocks as u64);
                self.count("live_bytes", live);
                kept
            }
            _ => {
                allocator::reset();
                tracking_alloc::mark("begin");
                let kept = self.once(work);
                tracking_alloc::mark("end");
                if self.pass == Pass::Share {
                    let share = allocator::share();
                    self.shown.allocator_ns = share.allocator_ns;
                    self.shown.overhead_ns = share.overhead_ns;
                    self.shown.usable_bytes = share.usable_bytes;
                }
                kept
            }
        }
    }

    /// Does the work once and measures its time. Allocates nothing between the marks: the vector of
    /// times has room.
    fn once<T>(&mut self, work: &mut impl FnMut() -> T) -> T {
        let _phase = tracking_alloc::phase("work");
        let start = Instant::now();
        let kept = black_box(work());
        let elapsed = start.elapsed();
        self.shown.times_ns.push(elapsed.as_nanos() as u64);
        kept
    }

    fn count(&mut self, name: &str, count: u64) {
        self.shown.counted.insert(name.to_owned(), count);
    }
}

/// Runs a variant in this process and prints its measurements.
///
/// # Panics
/// If the variant did no work.
pub fn run_child(variant: &Variant, pass: Pass, with: &str, divisor: usize) {
    let mut window = Window {
        pass,
        with: with.to_owned(),
        divisor: divisor.max(1),
        shown: Shown::default(),
        opened: false,
    };
    (variant.run)(&mut window);
    assert!(window.opened, "a variant does its work in its window");
    if pass == Pass::Share {
        window.shown.code_bytes = code::reached_from(variant.run as *const ());
    }
    let line = serde_json::to_string(&window.shown).expect("figures are JSON");
    println!("{line}");
}

/// Prints that the work can begin, and waits until the reader of the snapshot is attached.
///
/// # Panics
/// If there is no reader.
fn wait_for_reader() {
    println!("ready");
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    assert!(read.is_ok_and(|length| length > 0), "no reader attached");
}

/// Takes a snapshot of what is live now.
///
/// # Panics
/// If none can be taken: the runner shows this as the variant's failure.
fn take_snapshot() {
    if let Err(why) = tracking_alloc::snapshot("work") {
        panic!("no snapshot: {why}");
    }
}

fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| {
        rest.trim_start_matches(':')
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}

fn rss_bytes() -> u64 {
    status("VmRSS")
}

fn peak_rss_bytes() -> u64 {
    status("VmHWM")
}
