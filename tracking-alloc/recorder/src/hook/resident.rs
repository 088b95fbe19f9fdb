//! The breakdown of the resident set. Now and then, /proc/self/smaps is read to find the resident
//! bytes in mappings that hold blocks. The part beyond live bytes is kept by the allocator.
//!
//! The kernel walks page tables for each reading. So readings take at most 1/128 of the time, 1/512
//! while samples are taken, and none takes much longer than [`LONGEST_NS`]. Both are processor time
//! of the thread that reads: on a busy machine, a reading waits for a core, which costs the program
//! nothing. A reading that ends early is kept, with the bytes that it did not reach. If the
//! resident set has grown much since the largest reading, the next one does not wait as long, so
//! that the largest resident set is divided too. No reading happens under a lock for which another
//! thread waits.

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
/// The maximum processor time of a reading. A longer one ends early.
const LONGEST_NS: u64 = 20_000_000;
/// A resident set that is larger than the largest reading by one part in this number is read after
/// the minimum wait. The sizes of such readings grow geometrically, so there are few of them.
const MUCH_LARGER: u64 = 8;
/// The least growth that counts as much.
const LEAST_GROWTH_BYTES: u64 = 4 << 20;
/// The largest resident set that is read. Beyond it, a single mapping may take longer than the
/// maximum duration.
const MOST_RESIDENT_BYTES: u64 = 16 << 30;

/// `true` if a point of the timeline was taken and the wait after the last reading is over.
static IS_DUE: AtomicBool = AtomicBool::new(false);
/// The earliest time of the next reading, in nanoseconds of the monotonic clock.
static NEXT_NS: AtomicU64 = AtomicU64::new(0);
/// The same if the resident set is above [`MUCH_BYTES`].
static NEXT_IF_MUCH_NS: AtomicU64 = AtomicU64::new(0);
/// A resident set above this size is much larger than the largest reading.
static MUCH_BYTES: AtomicU64 = AtomicU64::new(0);
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
    for word in [&NEXT_NS, &NEXT_IF_MUCH_NS, &MUCH_BYTES] {
        word.store(0, Relaxed);
    }
    IS_DUE.store(false, Relaxed);
}

/// Notes that a point of the timeline was taken. May be called under any lock.
pub(super) fn point_taken() {
    if sys::now_ns() >= NEXT_NS.load(Relaxed) {
        IS_DUE.store(true, Relaxed);
    }
}

/// Notes the resident set that the timeline read last. May be called under any lock.
#[inline]
pub(super) fn note_size(header: &Header) {
    if header.rss_bytes.load(Relaxed) > MUCH_BYTES.load(Relaxed)
        && sys::now_ns() >= NEXT_IF_MUCH_NS.load(Relaxed)
    {
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
    let started_cpu = sys::thread_cpu_ns();
    // A point of the timeline, which reads files only where that is allowed, has just read it.
    let resident = header.rss_bytes.load(Relaxed);
    if resident > 0 && resident <= MOST_RESIDENT_BYTES {
        let moment = header.elapsed_ns.load(Relaxed).max(1);
        let (live_bytes, _) = session::sums_of_lanes().net();
        let deadline = started_cpu.saturating_add(LONGEST_NS);
        let is_late = || sys::thread_cpu_ns() > deadline;
        if let Some(sizes) = read_mappings(&mut buffer, is_late) {
            let sizes = sizes.completed(resident);
            store(header, moment, live_bytes as u64, &sizes);
        }
    }
    let took = sys::thread_cpu_ns().saturating_sub(started_cpu);
    let rareness = if state::samples() {
        RARENESS_OF_SAMPLES
    } else {
        RARENESS
    };
    let wait = (took * rareness).max(LEAST_WAIT_NS);
    let most = header.most_resident[1].load(Relaxed).max(resident);
    let growth = (most / MUCH_LARGER).max(LEAST_GROWTH_BYTES);
    MUCH_BYTES.store(most.saturating_add(growth), Relaxed);
    NEXT_IF_MUCH_NS.store(started + LEAST_WAIT_NS, Relaxed);
    NEXT_NS.store(started + wait, Relaxed);
}

/// Sums over the mappings of the process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sizes {
    resident: u64,
    /// The resident bytes in mappings that hold or held blocks.
    heap: u64,
    /// The part of the resident bytes in mappings that the reading did not reach.
    unread: u64,
    /// `true` if the reading ended before the last mapping.
    is_partial: bool,
}

impl Sizes {
    /// Adds what a reading that ended early did not reach. `resident` is the resident set of this
    /// moment, which the kernel counts cheaply.
    fn completed(mut self, resident: u64) -> Sizes {
        if self.is_partial {
            self.unread = resident.saturating_sub(self.resident);
            self.resident += self.unread;
        }
        self
    }
}

fn store(header: &Header, time_ns: u64, live_bytes: u64, sizes: &Sizes) {
    let own_bytes = header.own_bytes.load(Relaxed);
    let words = [sizes.resident, sizes.heap, live_bytes, own_bytes];
    let is_most = sizes.resident >= header.most_resident[1].load(Relaxed);
    let last = (&header.last_resident, &header.last_resident_unread);
    let most = (&header.most_resident, &header.most_resident_unread);
    for (record, unread) in [Some(last), is_most.then_some(most)].into_iter().flatten() {
        let [time, rest @ ..] = record;
        // Readers skip a record whose time is 0.
        time.store(0, Release);
        for (word, value) in rest.iter().zip(words) {
            word.store(value, Relaxed);
        }
        unread.store(sizes.unread, Relaxed);
        time.store(time_ns, Release);
    }
}

/// Sums up /proc/self/smaps until `is_late`, which is asked at each mapping. Returns `None` if
/// nothing was read.
fn read_mappings(buffer: &mut [u8; 4096], is_late: impl Fn() -> bool) -> Option<Sizes> {
    let file = File::open(c"/proc/self/smaps", libc::O_RDONLY, 0).ok()?;
    sum_up(buffer, |piece, offset| file.read_at(piece, offset), is_late)
}

fn sum_up(
    buffer: &mut [u8; 4096],
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, i32>,
    is_late: impl Fn() -> bool,
) -> Option<Sizes> {
    let (mut lines, mut sizes) = (Lines::default(), Sizes::default());
    let mut holds_blocks = false;
    loop {
        let line = match lines.next(buffer, &mut read) {
            Next::Line(line) => line,
            Next::End => break,
            Next::TooLong => {
                // A file with a path of the maximum length, which holds no blocks.
                holds_blocks = false;
                continue;
            }
            Next::Failed => {
                sizes.is_partial = true;
                break;
            }
        };
        if let Some((start, end)) = mapping_range(line) {
            if is_late() {
                sizes.is_partial = true;
                break;
            }
            holds_blocks = shadow::holds_blocks(start as usize, end as usize);
        } else if let Some(bytes) = line.strip_prefix(b"Rss:").and_then(kilobytes) {
            sizes.resident += bytes;
            sizes.heap += if holds_blocks { bytes } else { 0 };
        }
    }
    (sizes.resident > 0).then_some(sizes)
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
        let sizes = read_mappings(&mut [0; 4096], || false).expect("smaps");
        let resident = sys::resident_set();
        let difference = sizes.resident.abs_diff(resident);
        // Other threads of the test continue, and the kernel counts pages in batches.
        assert!(difference < resident / 4, "{} {resident}", sizes.resident);
    }

    #[test]
    fn a_reading_that_ends_early_keeps_what_it_has_read() {
        let text = "\
1000-2000 rw-p 00000000 00:00 0
Rss:                   4 kB
2000-9000 rw-p 00000000 00:00 0
Rss:                  28 kB
";
        let sizes_after = |mappings: u32| {
            let (mut rest, asked) = (text.as_bytes(), std::cell::Cell::new(0));
            let read = |buffer: &mut [u8], _| {
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                rest = &rest[length..];
                Ok(length)
            };
            let is_late = || asked.replace(asked.get() + 1) >= mappings;
            sum_up(&mut [0; 4096], read, is_late)
        };
        let whole = sizes_after(2).expect("two mappings").completed(40 << 10);
        assert_eq!((whole.resident, whole.unread), (32 << 10, 0));
        let part = sizes_after(1).expect("one mapping").completed(40 << 10);
        assert_eq!((part.resident, part.unread), (40 << 10, 36 << 10));
        assert_eq!(sizes_after(0), None);
    }
}
