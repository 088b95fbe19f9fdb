//! The workloads of the comparison. Every program runs this code under its allocator and prints
//! only the time of the work: creating the input and starting the process do not count.

// heapglass's own tests read the same data.
#[path = "../../../src/data.rs"]
pub mod data;
mod decode;
mod loops;

pub use decode::Readers;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Duration;

/// The variable that names the GeoJSON file.
pub const INPUT: &str = "PEERS_INPUT";
/// The variable that names the output file of a profiler inside the program.
pub const OUTPUT: &str = "PEERS_OUTPUT";
/// The beginning of the line that a program prints after its work.
pub const LINE: &str = "peers:";
/// Megabytes of GeoJSON: by default, and with `--quick`.
pub const GEOJSON_MEGABYTES: [u64; 2] = [190, 10];
/// MiB that [`HEAP`] keeps alive: by default, and with `--quick`.
pub const HEAP_MIB: [u64; 2] = [4096, 256];
/// The workload with the largest heap.
pub const HEAP: &str = "heap";

/// The table of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Reads data in a format.
    Decode,
    /// The same blocks on an increasing number of threads.
    Threads,
    /// The same blocks under increasingly deep stacks.
    Depth,
    /// Work that is hard for profilers.
    Hard,
}

/// A piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The argument with which a program runs it.
    pub name: &'static str,
    /// The title for tables.
    pub title: &'static str,
    /// Its table.
    pub group: Group,
    /// Number of threads that work at the same time.
    pub threads: usize,
}

const fn workload(
    name: &'static str,
    title: &'static str,
    group: Group,
    threads: usize,
) -> Workload {
    Workload {
        name,
        title,
        group,
        threads,
    }
}

/// All workloads; the one with the largest heap is the last.
pub const WORKLOADS: [Workload; 16] = [
    workload("json", "serde_json, 30 MB, owned", Group::Decode, 1),
    workload("postcard", "postcard, owned", Group::Decode, 1),
    workload("rmp", "rmp-serde, owned", Group::Decode, 1),
    workload("geojson", "`Value` of 190 MB GeoJSON", Group::Decode, 1),
    workload("churn-1", "1 thread", Group::Threads, 1),
    workload("churn-2", "2 threads", Group::Threads, 2),
    workload("churn-4", "4 threads", Group::Threads, 4),
    workload("churn-8", "8 threads", Group::Threads, 8),
    workload("depth-10", "10 frames", Group::Depth, 1),
    workload("depth-30", "30 frames", Group::Depth, 1),
    workload("depth-100", "100 frames", Group::Depth, 1),
    workload("depth-300", "300 frames", Group::Depth, 1),
    workload("stacks", "50,000 stacks", Group::Hard, 1),
    workload("cross", "freed by another thread", Group::Hard, 2),
    workload("realloc", "large reallocs", Group::Hard, 1),
    workload(HEAP, "4 GiB live", Group::Hard, 1),
];

/// Work that has its input.
pub struct Work {
    once: Box<dyn FnMut() -> Duration>,
    times: u32,
}

/// Creates the input of the workload that the program's first argument names; with `--quick`, a
/// small one. A number as the second argument is how often the work is done, usually once. A third
/// number is the size of the work: rounds of loops, vessels of a fleet.
///
/// # Panics
/// If no workload has that name, or its input cannot be created.
pub fn prepare(readers: Readers) -> Work {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().map_or("", String::as_str);
    let quick = words.iter().any(|word| word == "--quick");
    let times = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let size: Option<usize> = words.get(2).and_then(|word| word.parse().ok());
    let few = move |usually: usize| {
        let smaller = if quick { usually / 10 } else { usually };
        size.unwrap_or(smaller)
    };
    let numbered = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
    let once: Box<dyn FnMut() -> Duration> = if let Some(threads) = numbered("churn-") {
        Box::new(move || loops::churn_on(threads, few(loops::CHURN_ROUNDS)))
    } else if let Some(depth) = numbered("depth-") {
        Box::new(move || loops::churn_under(depth, few(loops::DEPTH_ROUNDS)))
    } else {
        match name {
            "json" | "postcard" | "rmp" => decode::fleet(name, readers, few(decode::VESSELS)),
            "geojson" => decode::value(readers),
            "stacks" => Box::new(move || loops::stacks(few(loops::STACK_PASSES))),
            "cross" => Box::new(move || loops::cross(few(loops::CROSS_BATCHES))),
            "realloc" => Box::new(move || loops::reallocs(few(loops::REALLOC_ROUNDS))),
            HEAP => Box::new(move || loops::heap(HEAP_MIB[usize::from(quick)] << 20)),
            _ => {
                let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
                panic!("no workload is called {name:?}: {}", names.join(", "));
            }
        }
    };
    Work { once, times }
}

impl Work {
    /// Does the work.
    pub fn run(mut self) -> Outcome {
        let elapsed: Duration = (0..self.times).map(|_| (self.once)()).sum();
        Outcome {
            ns: elapsed.as_nanos() as u64,
            ended_ns: monotonic_ns(),
            peak_rss_kib: peak_rss_kib(),
        }
    }
}

/// A program's measurements of its work.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Nanoseconds of the work only.
    pub ns: u64,
    /// The time at which it ended: [`monotonic_ns`].
    pub ended_ns: u64,
    /// Peak resident set until then, KiB.
    pub peak_rss_kib: u64,
}

impl Outcome {
    /// Prints the outcome.
    pub fn print(&self) {
        println!("{}", self.line());
    }

    /// Prints the outcome, with the number of allocations and of all events: allocations,
    /// reallocations and frees.
    pub fn print_with_counts(&self, allocations: u64, events: u64) {
        let mut line = self.line();
        write!(line, " allocations={allocations} events={events}").expect("a string grows");
        println!("{line}");
    }

    fn line(&self) -> String {
        format!(
            "{LINE} ns={} ended_ns={} peak_rss_kib={}",
            self.ns, self.ended_ns, self.peak_rss_kib
        )
    }
}

/// Returns the output path of a profiler inside the program.
///
/// # Panics
/// If [`OUTPUT`] is not set.
pub fn output() -> OsString {
    std::env::var_os(OUTPUT).unwrap_or_else(|| panic!("{OUTPUT} names no file"))
}

/// Returns the nanoseconds of the clock that all processes share.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid to write into.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    assert_eq!(read, 0, "this system has no monotonic clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the peak resident set of this process so far, KiB; 0 if the kernel does not report it.
pub fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0)
}
