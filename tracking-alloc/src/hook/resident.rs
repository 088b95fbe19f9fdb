//! What the resident set is made of: now and then, /proc/self/smaps is asked which part of it lies
//! in mappings that hold blocks. What these hold beyond live bytes, the allocator keeps.
//!
//! The kernel walks page tables to answer. So readings are so rare that they take at most a 128th
//! of the time, none takes much longer than [`LONGEST_NS`], and none happens under a lock of ours
//! that anybody waits for.

use crate::sys::{self, File, Lock};
use crate::{shadow, tables};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use tracking_alloc_recording::Header;

/// After a reading, this many times as long as it took passes before the next one.
const RARENESS: u64 = 128;
/// At least this long.
const LEAST_WAIT_NS: u64 = 50_000_000;
/// A reading is given up after this long.
const LONGEST_NS: u64 = 20_000_000;
/// With more than this resident, a single mapping may take longer than that: nothing is read.
const MOST_RESIDENT_BYTES: u64 = 16 << 30;

/// A point of the timeline was taken, and the last reading is long enough ago.
static IS_DUE: AtomicBool = AtomicBool::new(false);
/// When the next reading may happen, nanoseconds of the monotonic clock.
static NEXT_NS: AtomicU64 = AtomicU64::new(0);
/// One reading at a time. The buffer is not on the stack: an event has little of it.
static BUFFER: Lock<[u8; 4096]> = Lock::new([0; 4096]);

/// Forgets the parent's readings: for a forked child that begins a recording of its own.
///
/// # Safety
/// Nobody else may reach the lock.
pub(crate) unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe { BUFFER.reset([0; 4096]) };
    NEXT_NS.store(0, Relaxed);
    IS_DUE.store(false, Relaxed);
}

/// After a point of the timeline was taken. May be called under any lock.
pub(super) fn point_taken() {
    if sys::now_ns() >= NEXT_NS.load(Relaxed) {
        IS_DUE.store(true, Relaxed);
    }
}

/// Reads if a point was taken since the last time. Under no lock but that of a lane.
#[inline]
pub(super) fn read_if_due() {
    if IS_DUE.load(Relaxed) {
        read();
    }
}

/// Reads now, unless somebody else does.
#[cold]
#[inline(never)]
pub(crate) fn read() {
    let Some(mut buffer) = BUFFER.try_lock(1) else {
        return;
    };
    IS_DUE.store(false, Relaxed);
    let Some(header) = tables::header() else {
        return;
    };
    let _errno = sys::Errno::keep();
    let started = sys::now_ns();
    // A point of the timeline, which only reads files where that is allowed, has just read it.
    let resident = header.rss_bytes.load(Relaxed);
    if resident > 0 && resident <= MOST_RESIDENT_BYTES {
        let moment = header.elapsed_ns.load(Relaxed).max(1);
        let figures = tables::sums_of_lanes();
        let live_bytes = figures[0].wrapping_sub(figures[2]);
        if let Some(sizes) = read_mappings(&mut buffer, started + LONGEST_NS) {
            store(header, moment, live_bytes, &sizes);
        }
    }
    let took = sys::now_ns().saturating_sub(started);
    let wait = (took * RARENESS).max(LEAST_WAIT_NS);
    NEXT_NS.store(started + wait, Relaxed);
}

/// Sums over the mappings of the process, bytes.
#[derive(Default)]
struct Sizes {
    resident: u64,
    /// Of these, in mappings that hold or held blocks.
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
        // A reader passes over a moment without a time.
        time.store(0, Release);
        for (word, value) in rest.iter().zip(words) {
            word.store(value, Relaxed);
        }
        time.store(time_ns, Release);
    }
}

/// Adds up /proc/self/smaps; `None` where it cannot be read, or takes too long.
fn read_mappings(buffer: &mut [u8; 4096], deadline_ns: u64) -> Option<Sizes> {
    let file = File::open(c"/proc/self/smaps", libc::O_RDONLY, 0).ok()?;
    let (mut sizes, mut holds_blocks) = (Sizes::default(), false);
    let (mut offset, mut kept) = (0, 0);
    loop {
        let read = file.read_at(buffer.get_mut(kept..)?, offset).ok()?;
        if read == 0 {
            return (sizes.resident > 0).then_some(sizes);
        }
        offset += read as u64;
        let text = buffer.get(..kept + read)?;
        let mut rest = text;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            if let Some((start, end)) = range(line) {
                holds_blocks = shadow::holds_blocks(start, end);
            } else if let Some(bytes) = line.strip_prefix(b"Rss:").and_then(kilobytes) {
                sizes.resident += bytes;
                sizes.heap += if holds_blocks { bytes } else { 0 };
            }
        }
        // The beginning of a line goes on in the next piece.
        let (total, left) = (text.len(), rest.len());
        if left == buffer.len() {
            // A path as long as a path can be.
            return None;
        }
        buffer.copy_within(total - left.., 0);
        kept = left;
        if sys::now_ns() > deadline_ns {
            return None;
        }
    }
}

/// The addresses at the beginning of a mapping's first line: `7f00-7f10 rw-p ..`.
fn range(line: &[u8]) -> Option<(usize, usize)> {
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let dash = line[..blank].iter().position(|byte| *byte == b'-')?;
    Some((hex(&line[..dash])?, hex(&line[dash + 1..blank])?))
}

fn hex(digits: &[u8]) -> Option<usize> {
    let digits = str::from_utf8(digits).ok()?;
    usize::from_str_radix(digits, 16).ok()
}

/// The bytes of `   12 kB`.
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
        assert_eq!(range(first), Some((0x55e0_a0b0_0000, 0x55e0_a0b2_1000)));
        assert_eq!(range(b"Rss:                 132 kB"), None);
        assert_eq!(range(b"VmFlags: rd wr mr mw me ac"), None);
        assert_eq!(kilobytes(b"                 132 kB"), Some(132 << 10));
        assert_eq!(kilobytes(b" x"), None);
    }

    #[test]
    fn the_sum_over_mappings_is_the_resident_set() {
        let sizes = read_mappings(&mut [0; 4096], u64::MAX).expect("smaps");
        let resident = sys::resident_set();
        let difference = sizes.resident.abs_diff(resident);
        // Other threads of the test go on, and the kernel counts pages in batches.
        assert!(difference < resident / 4, "{} {resident}", sizes.resident);
    }
}
