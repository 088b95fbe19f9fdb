//! The timeline: points in time, taken at checks when they are due, and thinned out to a fixed
//! size. Some are also checkpoints.

use super::checkpoints::{Checkpoints, Moments, RETRY_NS, Reason, defer_checks_after_phases};
use super::lanes::tables_of_lanes;
use crate::sys;
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{
    CheckpointMomentValue, Header, Lane, Point, PointValue, Record, Row, Segment, TIMELINE_POINTS,
    checkpoint_kind,
};

/// The time at which the time in the recording was last stored, in ticks.
pub(crate) static STORED_AT: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds per tick, as 32.32 fixed point; 0 until enough time has passed to measure it.
static TICK_NS: AtomicU64 = AtomicU64::new(0);

/// The ticks in 5 us, for looks; 0 until the rate is known.
static TICKS_IN_5_US: AtomicU64 = AtomicU64::new(0);

/// Returns the ticks in 5 us, once their rate is known.
// PERF: without the division.
pub(crate) fn ticks_in_5_us() -> Option<u64> {
    let ticks = TICKS_IN_5_US.load(Relaxed);
    (ticks != 0).then_some(ticks)
}

/// Returns the ticks in some nanoseconds; 0 until their rate is known, which takes 10 ms.
fn ticks_in(ns: u64) -> u64 {
    let tick_ns = TICK_NS.load(Relaxed);
    let ticks = (u128::from(ns) << 32).checked_div(tick_ns.into());
    ticks.unwrap_or(0) as u64
}

/// The longest time between two readings of the resident set while there are checks.
const LONGEST_UNREAD_NS: u64 = 500_000_000;
/// The smallest step between two points, in nanoseconds.
const FINEST_NS: u64 = 10_000_000;

/// The results of a visit to the timeline.
#[derive(Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) took_point: bool,
    pub(crate) took_checkpoint: bool,
}

/// The state of the timeline, accessed under the peak lock.
pub(crate) struct Timeline {
    /// Both halves in the mapping, or null before the start.
    points: *const Point,
    start_ns: u64,
    start_ticks: u64,
    due_ticks: u64,
    counts_due_ticks: u64,
    step_ns: u64,
    last_ns: u64,
    /// The time at which the resident set was last read.
    resident_ns: u64,
    /// The time of the current check, in ticks and in nanoseconds after the start.
    ticks: u64,
    elapsed_ns: u64,
    checkpoints: Checkpoints,
    /// The checkpoint that the next visit takes.
    wanted: Option<Reason>,
    /// A point was taken without its checkpoint, which the next visit takes.
    owes_checkpoint: bool,
    /// `true` if files may be read (not in a sandbox).
    reads_files: bool,
}

// SAFETY: `points` is mapped while the recording is current and is reached under the peak lock.
unsafe impl Send for Timeline {}

impl Timeline {
    pub(crate) const fn new() -> Self {
        Timeline {
            points: null(),
            start_ns: 0,
            start_ticks: 0,
            due_ticks: 0,
            counts_due_ticks: 0,
            step_ns: FINEST_NS,
            last_ns: 0,
            resident_ns: 0,
            ticks: 0,
            elapsed_ns: 0,
            checkpoints: Checkpoints::new(5 * FINEST_NS),
            wanted: None,
            owes_checkpoint: false,
            reads_files: true,
        }
    }

    /// Begins at this moment, with the mapped halves of the table and the mapped checkpoints.
    pub(crate) fn start(
        &mut self,
        points: *const Point,
        moments: *const Moments,
        reads_files: bool,
    ) {
        *self = Timeline {
            points,
            start_ns: sys::now_ns(),
            start_ticks: sys::ticks(),
            reads_files,
            ..Timeline::new()
        };
        TICK_NS.store(0, Relaxed);
        TICKS_IN_5_US.store(0, Relaxed);
        self.checkpoints.start(moments);
    }

    /// Returns the nanoseconds after the start, from the cheap counter once its rate is known.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed_at(sys::ticks())
    }

    /// Not before the last check: the rate of the counter is measured again at each point, and a
    /// lower rate would let the time go back.
    fn elapsed_at(&self, ticks: u64) -> u64 {
        let tick_ns = TICK_NS.load(Relaxed);
        let elapsed_ns = if tick_ns == 0 {
            sys::now_ns().saturating_sub(self.start_ns)
        } else {
            let ticks = ticks.wrapping_sub(self.start_ticks);
            ((u128::from(ticks) * u128::from(tick_ns)) >> 32) as u64
        };
        elapsed_ns.max(self.elapsed_ns)
    }

    /// Begins a check. Returns the nanoseconds after the start.
    // PERF: the counter is read once per check.
    pub(crate) fn tick(&mut self) -> u64 {
        self.ticks = sys::ticks();
        self.elapsed_ns = self.elapsed_at(self.ticks);
        STORED_AT.store(self.ticks, Relaxed);
        self.elapsed_ns
    }

    /// Returns the number of the last checkpoint.
    pub(crate) fn checkpoints(&self) -> u64 {
        self.checkpoints.taken()
    }

    /// Makes the next visit take a point.
    pub(crate) fn make_due(&mut self) {
        self.due_ticks = 0;
        self.last_ns = 0;
    }

    /// Returns `true` if exact counts are to be summed over all lanes at this check: for each
    /// point, and every few milliseconds.
    pub(crate) fn counts_are_due(&mut self) -> bool {
        let is_due = self.ticks >= self.due_ticks.min(self.counts_due_ticks);
        if is_due {
            self.counts_due_ticks = self.ticks.saturating_add(ticks_in(FINEST_NS));
        }
        is_due
    }

    /// Makes the next visit take a checkpoint, if there is not one already or it costs too much.
    pub(crate) fn want_checkpoint(&mut self, kind: u32, name: u32) {
        self.wanted = Some(Reason { kind, name });
    }

    /// Lets ends of phases that are entered often make no check for a while.
    pub(crate) fn defer_checks_after_phases(&self) {
        defer_checks_after_phases(sys::ticks().saturating_add(ticks_in(RETRY_NS)));
    }

    /// Takes the point and the checkpoint that are due or wanted at this check. `moment` is live
    /// bytes, live blocks, total bytes.
    pub(crate) fn visit(&mut self, header: &Header, moment: (u64, u64, u64)) -> Visit {
        let point_ns = self.note(header, moment);
        let mut took_checkpoint = false;
        if std::mem::take(&mut self.owes_checkpoint) || self.wanted.is_some() {
            took_checkpoint = self.take_checkpoint(point_ns, moment);
        }
        Visit {
            took_point: point_ns.is_some(),
            took_checkpoint,
        }
    }

    /// Stores the time and, now and then, the resident set, and takes the point that is due. Leaves
    /// its checkpoint, which advances the clock, to the next [`visit`](Timeline::visit). Returns
    /// the time of the point.
    pub(crate) fn note(&mut self, header: &Header, moment: (u64, u64, u64)) -> Option<u64> {
        header.elapsed_ns.store(self.elapsed_ns, Relaxed);
        let point_ns = self.take_point_if_due(header, moment);
        self.owes_checkpoint |= point_ns.is_some();
        if self.elapsed_ns > self.resident_ns + LONGEST_UNREAD_NS {
            let _errno = sys::Errno::keep();
            self.read_resident_set(header);
        }
        point_ns
    }

    /// Takes a point if one is due. Returns its time.
    fn take_point_if_due(&mut self, header: &Header, moment: (u64, u64, u64)) -> Option<u64> {
        let ticks = self.ticks;
        if ticks < self.due_ticks || self.points.is_null() {
            return None;
        }
        let now = sys::now_ns().saturating_sub(self.start_ns);
        // Read together with the clock: the thread may have waited since the check began.
        let passed = sys::ticks().wrapping_sub(self.start_ticks);
        if passed > 0 && now > FINEST_NS {
            TICK_NS.store(
                ((u128::from(now) << 32) / u128::from(passed)) as u64,
                Relaxed,
            );
            TICKS_IN_5_US.store(ticks_in(5_000), Relaxed);
        }
        if self.last_ns != 0 && now < self.last_ns + self.step_ns {
            self.schedule(ticks, self.last_ns + self.step_ns - now);
            return None;
        }
        self.last_ns = now.max(1);
        self.schedule(ticks, self.step_ns);
        let _errno = sys::Errno::keep();
        self.point(header, now, moment);
        Some(now)
    }

    /// Takes the wanted checkpoint, or one that is due at a point of the timeline.
    fn take_checkpoint(&mut self, point_ns: Option<u64>, moment: (u64, u64, u64)) -> bool {
        let wanted = self.wanted.take();
        let reason = wanted.unwrap_or(Reason {
            kind: checkpoint_kind::TIME,
            name: 0,
        });
        let (live_bytes, live_blocks, total_bytes) = moment;
        let moment = CheckpointMomentValue {
            time_ns: point_ns.unwrap_or(self.elapsed_ns),
            live_bytes,
            live_blocks,
            total_bytes,
            ..CheckpointMomentValue::default()
        };
        self.checkpoints
            .take(reason, moment, (self.ticks, ticks_in))
    }

    fn schedule(&mut self, ticks: u64, wait_ns: u64) {
        // Before the rate is known, every check reads the clock.
        self.due_ticks = ticks.saturating_add(ticks_in(wait_ns));
    }

    /// Stores the resident set of this moment and what heapglass itself has of it. Returns it.
    fn read_resident_set(&mut self, header: &Header) -> u64 {
        self.resident_ns = self.elapsed_ns;
        let rss = if self.reads_files {
            sys::resident_set()
        } else {
            0
        };
        header.rss_bytes.store(rss, Relaxed);
        header.peak_rss_bytes.fetch_max(rss, Relaxed);
        store_own_bytes(header);
        rss
    }

    fn point(&mut self, header: &Header, now: u64, moment: (u64, u64, u64)) {
        let rss = self.read_resident_set(header);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed};

    /// Returns zeroed memory that stays until the process ends.
    fn zeroed<T>() -> *const T {
        // SAFETY: no type here is empty.
        let place: *const T = unsafe { alloc_zeroed(Layout::new::<T>()) }.cast();
        assert!(!place.is_null());
        place
    }

    #[test]
    fn the_checkpoint_of_a_point_that_a_look_takes_comes_with_the_next_check() {
        // SAFETY: a header of zeros is one of an empty recording.
        let header = unsafe { &*zeroed::<Header>() };
        let mut timeline = Timeline::new();
        let points = zeroed::<[Point; 2 * TIMELINE_POINTS]>().cast();
        timeline.start(points, zeroed::<Moments>(), false);
        // The shortest time before the first checkpoint.
        std::thread::sleep(std::time::Duration::from_millis(60));
        timeline.tick();
        assert!(timeline.note(header, (1, 1, 1)).is_some(), "a look");
        assert_eq!(timeline.checkpoints(), 0);
        timeline.tick();
        let visit = timeline.visit(header, (2, 1, 2));
        assert!(visit.took_checkpoint, "a check");
        assert_eq!(timeline.checkpoints(), 1);
    }
}
