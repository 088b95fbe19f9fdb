//! The inner allocator of the gauntlet, chosen by `GAUNTLET_ALLOC` at the first allocation: `glibc`
//! (the default), `jemalloc`, `mimalloc`, `dlmalloc`, `talc`, `tcmalloc` with the feature of that
//! name, or one of the instruments `dhat` and `stats_alloc` over glibc.
//!
//! With `GAUNTLET_PASS=share`, it also times one event in 1,024 and adds up the usable sizes of the
//! blocks.

use super::pages::{Dlmalloc, Talc};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::*};

/// The allocator below `TrackingAlloc`.
#[derive(Debug, Default)]
pub struct Gauntlet;

const GLIBC: u8 = 1;
const JEMALLOC: u8 = 2;
const MIMALLOC: u8 = 3;
const DHAT: u8 = 4;
const STATS_ALLOC: u8 = 5;
const DLMALLOC: u8 = 6;
const TALC: u8 = 7;
#[cfg(feature = "tcmalloc")]
const TCMALLOC: u8 = 8;
/// A flag added to the others: time events and add up usable sizes.
const SHARE: u8 = 16;

/// One event in this many is timed.
const SAMPLED: u32 = 1024;
/// Minimum number of timed events for a share.
const LEAST_SAMPLES: u32 = 256;

static CHOSEN: AtomicU8 = AtomicU8::new(0);
static EVENTS: AtomicU32 = AtomicU32::new(0);
static SAMPLE_NS: AtomicU64 = AtomicU64::new(0);
static OVERHEAD_NS: AtomicU64 = AtomicU64::new(0);
static CLOCK_NS: AtomicU64 = AtomicU64::new(0);
static USABLE: AtomicI64 = AtomicI64::new(0);
static MOST_USABLE: AtomicI64 = AtomicI64::new(0);

/// The instrument stats_alloc, which counts if it is chosen.
pub(super) static STATS: stats_alloc::StatsAlloc<System> = stats_alloc::StatsAlloc::system();

static DLMALLOC_HEAP: Dlmalloc = Dlmalloc::new();
static TALC_HEAP: Talc = Talc::new();

/// The result of the share pass since the last [`reset`].
pub(super) struct Share {
    /// Nanoseconds in the allocator, from one event in 1,024; `None` if too few events were timed.
    pub(super) allocator_ns: Option<u64>,
    /// Nanoseconds that the measurement itself took, from the same events.
    pub(super) overhead_ns: u64,
    /// Largest sum of usable sizes of live blocks, bytes; `None` if the allocator does not report
    /// them.
    pub(super) usable_bytes: Option<i64>,
}

/// Starts a new measurement.
pub(super) fn reset() {
    SAMPLE_NS.store(0, Relaxed);
    OVERHEAD_NS.store(0, Relaxed);
    // Every timed event includes the cost of reading the clock.
    let times = 4096;
    let clock = (0..times).map(|_| {
        let start = now_ns();
        now_ns() - start
    });
    CLOCK_NS.store(clock.sum::<u64>() / times, Relaxed);
    EVENTS.store(0, Relaxed);
    USABLE.store(0, Relaxed);
    MOST_USABLE.store(0, Relaxed);
}

/// Returns the result so far.
pub(super) fn share() -> Share {
    Share {
        allocator_ns: (EVENTS.load(Relaxed) / SAMPLED >= LEAST_SAMPLES)
            .then(|| SAMPLE_NS.load(Relaxed) * u64::from(SAMPLED)),
        overhead_ns: OVERHEAD_NS.load(Relaxed) * u64::from(SAMPLED),
        usable_bytes: tells(chosen()).then(|| MOST_USABLE.load(Relaxed)),
    }
}

/// Returns the value of an environment variable without allocating.
fn variable(name: &std::ffi::CStr) -> &'static [u8] {
    // SAFETY: getenv neither allocates nor locks; nothing changes the environment before `main`.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        if value.is_null() {
            b""
        } else {
            std::ffi::CStr::from_ptr(value).to_bytes()
        }
    }
}

#[cold]
fn choose() -> u8 {
    let chosen = match variable(c"GAUNTLET_ALLOC") {
        b"jemalloc" => JEMALLOC,
        b"mimalloc" => MIMALLOC,
        b"dhat" => DHAT,
        b"stats_alloc" => STATS_ALLOC,
        b"dlmalloc" => DLMALLOC,
        b"talc" => TALC,
        #[cfg(feature = "tcmalloc")]
        b"tcmalloc" => TCMALLOC,
        _ => GLIBC,
    };
    let share = variable(c"GAUNTLET_PASS") == b"share";
    let chosen = chosen | if share { SHARE } else { 0 };
    CHOSEN.store(chosen, Relaxed);
    chosen
}

#[inline]
fn chosen() -> u8 {
    match CHOSEN.load(Relaxed) {
        0 => choose(),
        chosen => chosen,
    }
}

fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists and `time` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns `true` if an allocator reports the usable sizes of blocks.
fn tells(chosen: u8) -> bool {
    match chosen & !SHARE {
        DLMALLOC | TALC => false,
        #[cfg(feature = "tcmalloc")]
        TCMALLOC => false,
        _ => true,
    }
}

/// Returns the usable size of a block; 0 if the allocator does not report it.
fn usable(chosen: u8, block: *mut u8) -> i64 {
    if block.is_null() || !tells(chosen) {
        return 0;
    }
    // SAFETY: the block is live and came from this allocator.
    unsafe {
        match chosen & !SHARE {
            JEMALLOC => tikv_jemallocator::usable_size(block.cast_const()) as i64,
            MIMALLOC => mimalloc::MiMalloc.usable_size(block.cast_const()) as i64,
            _ => libc::malloc_usable_size(block.cast()) as i64,
        }
    }
}

/// Adds to the sum of usable sizes of live blocks.
fn grew(bytes: i64) {
    let now = USABLE.fetch_add(bytes, Relaxed) + bytes;
    MOST_USABLE.fetch_max(now, Relaxed);
}

/// Runs an event. In the share pass, also reads the usable size `before` and `after` it, and times
/// one event in [`SAMPLED`].
fn event<R>(
    chosen: u8,
    before: impl FnOnce() -> i64,
    event: impl FnOnce() -> R,
    after: impl FnOnce(&R, i64) -> i64,
) -> R {
    if chosen & SHARE == 0 {
        return event();
    }
    let timed = EVENTS
        .fetch_add(1, Relaxed)
        .wrapping_add(1)
        .is_multiple_of(SAMPLED);
    let now = || if timed { now_ns() } else { 0 };
    let start = now();
    let size = before();
    let begun = now();
    let result = event();
    let done = now();
    grew(after(&result, size) - size);
    let end = now();
    if timed {
        let clock = CLOCK_NS.load(Relaxed);
        let looking = (begun - start) + (end - done);
        SAMPLE_NS.fetch_add((done - begun).saturating_sub(clock), Relaxed);
        OVERHEAD_NS.fetch_add(looking.saturating_sub(2 * clock), Relaxed);
    }
    result
}

macro_rules! forward {
    ($chosen:expr, $method:ident($($argument:expr),*)) => {
        match $chosen & !SHARE {
            JEMALLOC => tikv_jemallocator::Jemalloc.$method($($argument),*),
            MIMALLOC => mimalloc::MiMalloc.$method($($argument),*),
            DHAT => dhat::Alloc.$method($($argument),*),
            STATS_ALLOC => (&STATS).$method($($argument),*),
            DLMALLOC => DLMALLOC_HEAP.$method($($argument),*),
            TALC => TALC_HEAP.$method($($argument),*),
            #[cfg(feature = "tcmalloc")]
            TCMALLOC => tcmalloc_better::TCMalloc.$method($($argument),*),
            _ => System.$method($($argument),*),
        }
    };
}

// SAFETY: every call goes to the same allocator, chosen before the first block is handed out.
unsafe impl GlobalAlloc for Gauntlet {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let chosen = chosen();
        event(
            chosen,
            || 0,
            // SAFETY: the caller's promise is passed on.
            || unsafe { forward!(chosen, alloc(layout)) },
            |block, _| usable(chosen, *block),
        )
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let chosen = chosen();
        event(
            chosen,
            || 0,
            // SAFETY: the caller's promise is passed on.
            || unsafe { forward!(chosen, alloc_zeroed(layout)) },
            |block, _| usable(chosen, *block),
        )
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let chosen = chosen();
        event(
            chosen,
            || usable(chosen, block),
            // SAFETY: the caller's promise is passed on.
            || unsafe { forward!(chosen, dealloc(block, layout)) },
            |(), _| 0,
        );
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let chosen = chosen();
        event(
            chosen,
            || usable(chosen, block),
            // SAFETY: the caller's promise is passed on.
            || unsafe { forward!(chosen, realloc(block, layout, new_size)) },
            |moved, size| {
                if moved.is_null() {
                    size
                } else {
                    usable(chosen, *moved)
                }
            },
        )
    }
}
