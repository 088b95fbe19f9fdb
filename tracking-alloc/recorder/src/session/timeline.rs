//! The timeline and the checkpoints: points in time, taken at checks when they are due, and thinned
//! out to a fixed size.

use super::lanes::tables_of_lanes;
use crate::sys;
use std::ptr::null;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{
    CHECKPOINT_SLOTS, Header, Lane, Point, PointValue, Record, Row, Segment, TIMELINE_POINTS,
};

/// The smallest step between two points, in nanoseconds.
const FINEST_NS: u64 = 10_000_000;
/// The number of the last checkpoint uses 16 bits of the clock.
const MOST_CHECKPOINTS: u64 = 0xffff;

/// The result of a visit to the timeline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    Nothing,
    Point,
    /// A point and a checkpoint.
    Checkpoint,
}

/// The state of the timeline, accessed under the peak lock.
pub(crate) struct Timeline {
    /// Both halves in the mapping, or null before the start.
    points: *const Point,
    start_ns: u64,
    start_ticks: u64,
    /// Nanoseconds per tick, as 32.32 fixed point; 0 until enough time has passed to measure it.
    tick_ns: u64,
    due_ticks: u64,
    counts_due_ticks: u64,
    step_ns: u64,
    last_ns: u64,
    /// The time of the current check, in ticks and in nanoseconds after the start.
    ticks: u64,
    elapsed_ns: u64,
    checkpoint_step_ns: u64,
    checkpoint_due_ns: u64,
    checkpoints: u64,
    /// `true` if files may be read (not in a sandbox).
    reads_files: bool,
}

// SAFETY: `points` is mapped until the process ends and is reached under the peak lock.
unsafe impl Send for Timeline {}

impl Timeline {
    pub(crate) const fn new() -> Self {
        Timeline {
            points: null(),
            start_ns: 0,
            start_ticks: 0,
            tick_ns: 0,
            due_ticks: 0,
            counts_due_ticks: 0,
            step_ns: FINEST_NS,
            last_ns: 0,
            ticks: 0,
            elapsed_ns: 0,
            checkpoint_step_ns: 5 * FINEST_NS,
            checkpoint_due_ns: 5 * FINEST_NS,
            checkpoints: 0,
            reads_files: true,
        }
    }

    /// Begins at this moment, with the mapped halves of the table.
    pub(crate) fn start(&mut self, points: *const Point, reads_files: bool) {
        *self = Timeline {
            points,
            start_ns: sys::now_ns(),
            start_ticks: sys::ticks(),
            reads_files,
            ..Timeline::new()
        };
    }

    /// Returns the nanoseconds after the start, from the cheap counter once its rate is known.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed_at(sys::ticks())
    }

    fn elapsed_at(&self, ticks: u64) -> u64 {
        if self.tick_ns == 0 {
            return sys::now_ns().saturating_sub(self.start_ns);
        }
        let ticks = ticks.wrapping_sub(self.start_ticks);
        ((u128::from(ticks) * u128::from(self.tick_ns)) >> 32) as u64
    }

    /// Begins a check. Returns the nanoseconds after the start.
    // PERF: the counter is read once per check.
    pub(crate) fn tick(&mut self) -> u64 {
        self.ticks = sys::ticks();
        self.elapsed_ns = self.elapsed_at(self.ticks);
        self.elapsed_ns
    }

    /// Returns the number of the last checkpoint.
    pub(crate) fn checkpoints(&self) -> u64 {
        self.checkpoints
    }

    /// Makes the next visit take a point.
    pub(crate) fn make_due(&mut self) {
        self.due_ticks = 0;
        self.last_ns = 0;
    }

    /// Returns `true` if exact counts are to be summed over all lanes at this check: for each point,
    /// and every few milliseconds.
    pub(crate) fn counts_are_due(&mut self) -> bool {
        let is_due = self.ticks >= self.due_ticks.min(self.counts_due_ticks);
        if is_due {
            let wait = (u128::from(FINEST_NS) << 32).checked_div(self.tick_ns.into());
            self.counts_due_ticks = self.ticks.saturating_add(wait.unwrap_or(0) as u64);
        }
        is_due
    }

    /// Takes the point and the checkpoint that are due at this check. `moment` is live bytes, live
    /// blocks, total bytes.
    pub(crate) fn visit(&mut self, header: &Header, moment: (u64, u64, u64)) -> Visit {
        let ticks = self.ticks;
        header.elapsed_ns.store(self.elapsed_ns, Relaxed);
        if ticks < self.due_ticks || self.points.is_null() {
            return Visit::Nothing;
        }
        let now = sys::now_ns().saturating_sub(self.start_ns);
        let passed = ticks.wrapping_sub(self.start_ticks);
        if passed > 0 && now > FINEST_NS {
            self.tick_ns = ((u128::from(now) << 32) / u128::from(passed)) as u64;
        }
        if self.last_ns != 0 && now < self.last_ns + self.step_ns {
            self.schedule(ticks, self.last_ns + self.step_ns - now);
            return Visit::Nothing;
        }
        self.last_ns = now.max(1);
        self.schedule(ticks, self.step_ns);
        let _errno = sys::Errno::keep();
        self.point(header, now, moment);
        if now >= self.checkpoint_due_ns && self.checkpoint(header, now) {
            Visit::Checkpoint
        } else {
            Visit::Point
        }
    }

    fn schedule(&mut self, ticks: u64, wait_ns: u64) {
        // Before the rate is known, which takes 10 ms, every check reads the clock.
        let wait = (u128::from(wait_ns) << 32).checked_div(self.tick_ns.into());
        self.due_ticks = ticks.saturating_add(wait.unwrap_or(0) as u64);
    }

    fn point(&mut self, header: &Header, now: u64, moment: (u64, u64, u64)) {
        let rss = if self.reads_files {
            sys::resident_set()
        } else {
            0
        };
        header.rss_bytes.store(rss, Relaxed);
        header.peak_rss_bytes.fetch_max(rss, Relaxed);
        store_own_bytes(header);
        let mut length = header.timeline_len.load(Relaxed) as usize;
        if length >= TIMELINE_POINTS {
            length = self.thin(header);
        }
        // SAFETY: two halves of TIMELINE_POINTS points are mapped, and `length` is below that.
        let place = unsafe { &*self.half(header).add(length) };
        let (live_bytes, live_blocks, total_bytes) = moment;
        let point = PointValue {
            time_ns: now,
            live_bytes,
            live_blocks,
            total_bytes,
            rss_bytes: rss,
            own_bytes: header.own_bytes.load(Relaxed),
        };
        point.store(place);
        header.timeline_len.store(length as u32 + 1, Release);
    }

    fn half(&self, header: &Header) -> *const Point {
        // SAFETY: two halves are mapped.
        unsafe { self.points.add(half_start(header)) }
    }

    /// Copies every second point into the other half and makes that the current one. Readers see
    /// one half or the other.
    fn thin(&mut self, header: &Header) -> usize {
        let from = self.half(header);
        let other = 1 - header.timeline_half.load(Relaxed).min(1);
        // SAFETY: two halves are mapped, and all indices are below TIMELINE_POINTS.
        unsafe {
            let to = self.points.add(other as usize * TIMELINE_POINTS);
            for index in 0..TIMELINE_POINTS / 2 {
                PointValue::load(&*from.add(2 * index)).store(&*to.add(index));
            }
        }
        self.step_ns *= 2;
        header
            .timeline_len
            .store(TIMELINE_POINTS as u32 / 2, Relaxed);
        header.timeline_half.store(other, Release);
        TIMELINE_POINTS / 2
    }

    /// Gives the next checkpoint a slot. Thins the older ones if all slots are taken.
    fn checkpoint(&mut self, header: &Header, now: u64) -> bool {
        if self.checkpoints >= MOST_CHECKPOINTS {
            return false;
        }
        let mut slots = header.checkpoint_seq.iter();
        let free = slots.position(|sequence| sequence.load(Relaxed) == 0);
        let slot = free.unwrap_or_else(|| self.thin_checkpoints(header));
        self.checkpoints += 1;
        self.checkpoint_due_ns = now + self.checkpoint_step_ns;
        let (Some(sequence), Some(time)) = (
            header.checkpoint_seq.get(slot),
            header.checkpoint_ns.get(slot),
        ) else {
            return false;
        };
        time.store(now, Relaxed);
        sequence.store(self.checkpoints, Release);
        true
    }

    /// Drops every second checkpoint by age and doubles the step; returns a free slot.
    fn thin_checkpoints(&mut self, header: &Header) -> usize {
        let mut by_age: [(u64, usize); CHECKPOINT_SLOTS] = [(0, 0); CHECKPOINT_SLOTS];
        for (slot, (entry, sequence)) in by_age.iter_mut().zip(&header.checkpoint_seq).enumerate() {
            *entry = (sequence.load(Relaxed), slot);
        }
        by_age.sort_unstable();
        let mut free = 0;
        for (_, slot) in by_age.iter().skip(1).step_by(2) {
            if let Some(sequence) = header.checkpoint_seq.get(*slot) {
                sequence.store(0, Relaxed);
                free = *slot;
            }
        }
        self.checkpoint_step_ns *= 2;
        free
    }
}

/// Returns the start of the current half of the timeline.
fn half_start(header: &Header) -> usize {
    match header.timeline_half.load(Relaxed) {
        0 => 0,
        _ => TIMELINE_POINTS,
    }
}

/// Stores the resident bytes of heapglass itself: tables, shadow map and the mapped recording.
/// Pages are counted when they are first written. The figure never exceeds the resident set of the
/// same moment, if that is known.
pub(crate) fn store_own_bytes(header: &Header) {
    let pages = |records: usize, bytes: usize| (records * bytes).next_multiple_of(sys::PAGE);
    let points = half_start(header) + header.timeline_len.load(Relaxed) as usize;
    let segments = header.directory_len.load(Relaxed) as usize;
    let lanes = |lanes| pages(lanes, size_of::<Lane>()) + pages(3 * lanes, size_of::<Row>());
    let written = sys::PAGE
        + pages(segments, size_of::<Segment>())
        + pages(points, size_of::<Point>())
        + tables_of_lanes().map(lanes).sum::<usize>();
    let own = sys::own_bytes() + written as u64;
    let own = match header.rss_bytes.load(Relaxed) {
        0 => own,
        rss => own.min(rss),
    };
    header.own_bytes.store(own, Relaxed);
}
