//! The breakdown of the resident set. Now and then, /proc/self/smaps is read to find the resident
//! bytes in mappings that hold blocks. The part beyond live bytes is kept by the allocator.
//!
//! The kernel walks page tables for each reading. So readings take at most 1/128 of the time, 1/512
//! while samples are taken, and none takes much longer than [`LONGEST_NS`]. No reading happens
//! under a lock for which another thread waits.

use crate::sys::{self, File, Lines, Lock, Next, mapping_range};
use crate::{session, shadow, state};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use tracking_alloc_recording::Header;

/// The wait after a reading, as a multiple of its duration.
const RARENESS: u64 = 128;
/// The same while samples are taken, which cost little themselves.
const RARENESS_OF_SAMPLES: u64 = 512;
/// The minimum wait.
const LEAST_WAIT_NS: u64 = 50_000_000;
/// The maximum duration of a reading. A longer one is abandoned.
const LONGEST_NS: u64 = 20_000_000;
/// The largest resident set that is read. Beyond it, a single mapping may take longer than the
/// maximum duration.
const MOST_RESIDENT_BYTES: u64 = 16 << 30;

/// `true` if a point of the timeline was taken and the wait after the last reading is over.
static IS_DUE: AtomicBool = AtomicBool::new(false);
/// The earliest time of the next reading, in nanoseconds of the monotonic clock.
static NEXT_NS: AtomicU64 = AtomicU64::new(0);
/// The buffer, whose lock allows one reading at a time. It is not on the stack, because events have
/// little stack.
static BUFFER: Lock<[u8; 4096]> = Lock::new([0; 4096]);

/// Forgets the parent's readings, for a forked child that starts its own recording.
///
/// # Safety
/// No other thread may reach the lock.
pub(crate) unsafe fn forget() {
    // SAFETY: guaranteed by the caller.
    unsafe { BUFFER.reset([0; 4096]) };
    NEXT_NS.store(0, Relaxed);
    IS_DUE.store(false, Relaxed);
}

/// Notes that a point of the timeline was taken. May be called under any lock.
pub(super) fn point_taken() {
    if sys::now_ns() >= NEXT_NS.load(Relaxed) {
        IS_DUE.store(true, Relaxed);
    }
}

/// Reads if a point was taken since the last time. Call without any lock other than a lane's.
#[inline]
pub(super) fn read_if_due() {
    if IS_DUE.load(Relaxed) {
        read();
    }
}

/// Reads now, unless another thread is reading.
#[cold]
#[inline(never)]
pub(crate) fn read() {
    let Some(mut buffer) = BUFFER.try_lock(1) else {
        return;
    };
    IS_DUE.store(false, Relaxed);
    let Some(header) = session::header() else {
        return;
    };
    let _errno = sys::Errno::keep();
    let started = sys::now_ns();
    // A point of the timeline, which reads files only where that is allowed, has just read it.
    let resident = header.rss_bytes.load(Relaxed);
    if resident > 0 && resident <= MOST_RESIDENT_BYTES {
        let moment = header.elapsed_ns.load(Relaxed).max(1);
        let (live_bytes, _) = session::sums_of_lanes().net();
        if let Some(sizes) = read_mappings(&mut buffer, started + LONGEST_NS) {
            store(header, moment, live_bytes as u64, &sizes);
        }
    }
    let took = sys::now_ns().saturating_sub(started);
    let rareness = if state::samples() {
        RARENESS_OF_SAMPLES
    } else {
        RARENESS
    };
    let wait = (took * rareness).max(LEAST_WAIT_NS);
    NEXT_NS.store(started + wait, Relaxed);
}

/// Sums over the mappings of the process, in bytes.
#[derive(Default)]
struct Sizes {
    resident: u64,
    /// The resident bytes in mappings that hold or held blocks.
    heap: u64,
}

fn store(header: &Header, time_ns: u64, live_bytes: u64, sizes: &Sizes) {
    let own_bytes = header.own_bytes.load(Relaxed);
    let words = [sizes.resident, sizes.heap, live_bytes, own_bytes];
    let is_most = sizes.resident >= header.most_resident[1].load(Relaxed);
    let records = [
        Some(&header.last_resident),
        is_most.then_some(&header.most_resident),
    ];
    for record in records.into_iter().flatten() {
        let [time, rest @ ..] = record;
        // Readers skip a record whose time is 0.
        time.store(0, Release);
        for (word, value) in rest.iter().zip(words) {
            word.store(value, Relaxed);
        }
        time.store(time_ns, Release);
    }
}

/// Sums up /proc/self/smaps. Returns `None` if that cannot be done before `deadline_ns` of the
/// monotonic clock.
fn read_mappings(buffer: &mut [u8; 4096], deadline_ns: u64) -> Option<Sizes> {
    let file = File::open(c"/proc/self/smaps", libc::O_RDONLY, 0).ok()?;
    let read = |piece: &mut [u8], offset| file.read_at(piece, offset);
    let (mut lines, mut sizes) = (Lines::default(), Sizes::default());
    let mut holds_blocks = false;
    loop {
        let line = match lines.next(buffer, read) {
            Next::Line(line) => line,
            Next::End => return (sizes.resident > 0).then_some(sizes),
            // The line does not fit: its path has the maximum length.
            Next::TooLong | Next::Failed => return None,
        };
        if let Some((start, end)) = mapping_range(line) {
            // The clock is read once for each mapping.
            if sys::now_ns() > deadline_ns {
                return None;
            }
            holds_blocks = shadow::holds_blocks(start as usize, end as usize);
        } else if let Some(bytes) = line.strip_prefix(b"Rss:").and_then(kilobytes) {
            sizes.resident += bytes;
            sizes.heap += if holds_blocks { bytes } else { 0 };
        }
    }
}

/// Parses ` 12 kB` into bytes.
fn kilobytes(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    let number: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_smaps_are_told_apart() {
        let first = b"55e0a0b00000-55e0a0b21000 rw-p 00000000 00:00 0    [heap]";
        assert_eq!(
            mapping_range(first),
            Some((0x55e0_a0b0_0000, 0x55e0_a0b2_1000))
        );
        assert_eq!(mapping_range(b"Rss:                 132 kB"), None);
        assert_eq!(mapping_range(b"VmFlags: rd wr mr mw me ac"), None);
        assert_eq!(kilobytes(b"                 132 kB"), Some(132 << 10));
        assert_eq!(kilobytes(b" x"), None);
    }

    #[test]
    fn the_sum_over_mappings_is_the_resident_set() {
        let sizes = read_mappings(&mut [0; 4096], u64::MAX).expect("smaps");
        let resident = sys::resident_set();
        let difference = sizes.resident.abs_diff(resident);
        // Other threads of the test continue, and the kernel counts pages in batches.
        assert!(difference < resident / 4, "{} {resident}", sizes.resident);
    }
}
