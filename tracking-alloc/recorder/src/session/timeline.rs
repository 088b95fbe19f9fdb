//! The timeline: points in time, taken at checks when they are due, and thinned out to a fixed
//! size. Some are also checkpoints.

use super::checkpoints::{Checkpoints, Moments, Reason};
use super::lanes::tables_of_lanes;
use crate::sys;
use std::ptr::null;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{
    CheckpointMomentValue, Header, Lane, Point, PointValue, Record, Row, Segment, TIMELINE_POINTS,
    checkpoint_kind,
};

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
    /// Nanoseconds per tick, as 32.32 fixed point; 0 until enough time has passed to measure it.
    tick_ns: u64,
    due_ticks: u64,
    counts_due_ticks: u64,
    step_ns: u64,
    last_ns: u64,
    /// The time of the current check, in ticks and in nanoseconds after the start.
    ticks: u64,
    elapsed_ns: u64,
    checkpoints: Checkpoints,
    /// The checkpoint that the next visit takes.
    wanted: Option<Reason>,
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
            checkpoints: Checkpoints::new(5 * FINEST_NS),
            wanted: None,
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
        self.checkpoints.start(moments);
    }

    /// Returns the nanoseconds after the start, from the cheap counter once its rate is known.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed_at(sys::ticks())
    }

    /// Not before the last check: the rate of the counter is measured again at each point, and a
    /// lower rate would let the time go back.
    fn elapsed_at(&self, ticks: u64) -> u64 {
        let elapsed_ns = if self.tick_ns == 0 {
            sys::now_ns().saturating_sub(self.start_ns)
        } else {
            let ticks = ticks.wrapping_sub(self.start_ticks);
            ((u128::from(ticks) * u128::from(self.tick_ns)) >> 32) as u64
        };
        elapsed_ns.max(self.elapsed_ns)
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
            let wait = (u128::from(FINEST_NS) << 32).checked_div(self.tick_ns.into());
            self.counts_due_ticks = self.ticks.saturating_add(wait.unwrap_or(0) as u64);
        }
        is_due
    }

    /// Makes the next visit take a checkpoint, if there is not one already or it costs too much.
    pub(crate) fn want_checkpoint(&mut self, kind: u32, name: u32) {
        self.wanted = Some(Reason { kind, name });
    }

    /// Takes the point and the checkpoint that are due or wanted at this check. `moment` is live
    /// bytes, live blocks, total bytes.
    pub(crate) fn visit(&mut self, header: &Header, moment: (u64, u64, u64)) -> Visit {
        header.elapsed_ns.store(self.elapsed_ns, Relaxed);
        let point_ns = self.take_point_if_due(header, moment);
        let mut took_checkpoint = false;
        if point_ns.is_some() || self.wanted.is_some() {
            took_checkpoint = self.take_checkpoint(point_ns, moment);
        }
        Visit {
            took_point: point_ns.is_some(),
            took_checkpoint,
        }
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
            self.tick_ns = ((u128::from(now) << 32) / u128::from(passed)) as u64;
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
        let tick_ns = self.tick_ns;
        let ticks_of = |ns| ticks_of(ns, tick_ns);
        self.checkpoints
            .take(reason, moment, (self.ticks, ticks_of))
    }

    fn schedule(&mut self, ticks: u64, wait_ns: u64) {
        self.due_ticks = ticks.saturating_add(ticks_of(wait_ns, self.tick_ns));
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
}

/// Returns the ticks in some nanoseconds; 0 before the rate is known, which takes 10 ms, so that
/// every check reads the clock.
fn ticks_of(ns: u64, tick_ns: u64) -> u64 {
    let ticks = (u128::from(ns) << 32).checked_div(tick_ns.into());
    ticks.unwrap_or(0) as u64
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
