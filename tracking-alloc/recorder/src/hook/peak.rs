//! The peak, exact in O(1) per event, and the error bound of the reported peak.
//!
//! Live bytes are at a maximum only directly before a fall. So nothing is compared while bytes
//! rise. An event that would fall from a new maximum first makes a *check*. A check sums the net
//! bytes of all lanes under one lock. If the sum reaches the maximum, the check stores it and
//! advances the clock. Of equal maxima the latest counts, as in dhat-rs. After the clock advances,
//! each row saves its net value before its next change.
//!
//! A lane also makes a check before its net leaves `checked - step .. checked + step`, where
//! `checked` is its net at its own last check. The event that would leave that range is applied
//! under the lock. So the holder of the lock knows each lane's net to within the lane's step,
//! however large events are. The step is 32 KiB. It is smaller if several lanes change close to the
//! maximum, as long as checks stay rare (see [`PeakChecks::step`]).
//!
//! While only one lane changes, every turning point is checked, and the peak is exact to the byte.
//! While several lanes change, up to 63 consecutive turning points are skipped, and the live bytes
//! between checks are bounded.
//!
//! # The bound
//!
//! Let check k read lane i at a moment `t(i,k)`. It reads the lane's net `a(i,k)` and its bytes
//! allocated so far, `T(i,k)`, neither of which needs the lane's help. Between `t(i,k)` and
//! `t(i,k+1)` the lane's net is at most
//!
//! ```text
//! u(i,k) = max(min(a(i,k) + T(i,k+1) - T(i,k), checked + step), a(i,k+1))
//! ```
//!
//! because it rises only by what the lane allocates, and because of the range described above. A
//! moment during check k lies after the reading of some lanes and before that of others. Therefore,
//! live bytes between the readings of checks k-1 and k+1 are at most `V(k) = sum over i of
//! max(u(i,k-1), u(i,k))`. A lane that did not change has `u = a`, so it adds nothing.
//!
//! Suppose only one lane changed since its own last check, and it skipped no turning point. Then
//! all its turning points were checked against a limit that still holds, so live bytes did not
//! exceed the maximum. Its `u` is limited accordingly.
//!
//! The reported peak is the sum of the values that rows saved at the clock that check k set. Each
//! lane notices the clock between two of its events, and the event in flight is still counted. So
//! the sum is at most the live bytes at that moment plus one event in flight per lane. These events
//! are part of `E(k) = sum over i of u(i,k) - a(i,k)`, which leaves out the lane that checked.
//! Therefore `bound` is the largest of all `V(k)`, and of `V(k) + E(k)` for the check that set the
//! maximum. `bound - reported` bounds the error in both directions.
//!
//! The reasons for its choices are in `docs/src/decisions/peak.md`.

mod changes;
mod lanes;
pub(super) mod pauses;
mod window;

use super::lane::{Lane, MOST_SKIPS, STEP, lane_at};
use super::snapshots::{self, Moment};
use super::{PEAK_CHECKS, resident};
use crate::samples::Counted;
use crate::session::{self, CLOCK, Moments, Timeline, net_bytes};
use crate::sys;
use lanes::Sums;
use std::sync::atomic::{Ordering::*, fence};
use tracking_alloc_recording::{
    Header, MOST_ENTRIES_OF_A_MOMENT, Point, Row, checkpoint_kind, mode,
};

pub(crate) use changes::sample;
pub(crate) use pauses::{end_last_pause, set_paused, start_paused};
pub(crate) use window::mark_window;

/// The smallest step, bytes.
const LEAST_STEP: i64 = 1 << 10;
/// The state shared by checks.
pub(crate) struct PeakChecks {
    /// The maximum of live bytes in the current window.
    peak: i64,
    peak_blocks: i64,
    peak_ns: u64,
    bound: i64,
    /// `true` if the last check set the maximum.
    is_fresh: bool,
    /// The largest maximum of earlier windows, bytes and blocks.
    before: (i64, i64),
    lanes: lanes::Lanes,
    /// Bytes that were allocated before the first sample.
    exact_bytes: u64,
    /// The exact counts since then, as of the last look at all lanes.
    counted: Counted,
    pub(crate) timeline: Timeline,
}

/// Returns `true` if an event that increases the lane's net needs a check. `all` is the lane's row
/// of all events.
#[inline(always)]
pub(super) fn checks_rise(lane: &'static Lane, all: &Row, bytes: i64) -> bool {
    net_bytes(all) + bytes >= lane.ceiling.get()
}

/// Returns `true` if an event that decreases the lane's net needs a check: the change is large, or
/// falls from a new maximum. `row` is the only row that changes, besides that of all events.
#[inline(always)]
pub(super) fn checks_fall(lane: &'static Lane, row: &'static Row, all: &Row, bytes: i64) -> bool {
    let net = net_bytes(all);
    goes_far(lane, net - bytes)
        || net >= lane.limit.load(Relaxed) && !turns_again(lane, Some(row), net)
}

/// Returns `true` if a fall to this net leaves the lane's step.
#[inline(always)]
fn goes_far(lane: &'static Lane, net: i64) -> bool {
    net <= lane.floor.get()
}

/// Applies an event that increases the lane's net, with the check that it needs.
fn around_rise<R>(lane: &'static Lane, bytes: i64, apply: impl FnOnce() -> R) -> R {
    let checks = checks_rise(lane, lane.all(), bytes).then(|| PEAK_CHECKS.lock());
    let applied = apply();
    if let Some(mut checks) = checks {
        checks.check(lane);
        drop(checks);
        after_check(lane);
    }
    applied
}

/// Applies an event that decreases the lane's net. `row` is the row that changes, if there is only
/// one.
fn around_fall<R>(
    lane: &'static Lane,
    row: Option<&'static Row>,
    bytes: i64,
    apply: impl FnOnce() -> R,
) -> R {
    let net = net_bytes(lane.all());
    if net >= lane.limit.load(Relaxed) {
        if !goes_far(lane, net - bytes) {
            turn(lane, row, net);
        } else if snapshots::waits_for_peak() {
            // The check below is made under the lock, where no copy can be made.
            PEAK_CHECKS.lock().check(lane);
            snapshots::look_at_peak(lane, Moment::Peak);
        }
    }
    // The check of a turning point may have reduced the step.
    let checks = goes_far(lane, net - bytes).then(|| {
        let mut checks = PEAK_CHECKS.lock();
        checks.check(lane);
        checks
    });
    let applied = apply();
    if let Some(mut checks) = checks {
        checks.checked(lane, net_bytes(lane.all()));
        drop(checks);
        after_check(lane);
    }
    applied
}

/// Applies an event that changes the lane's net by a difference, with the check that it needs.
/// `row` is the row that changes, if there is only one.
#[inline(always)]
pub(super) fn around<R>(
    lane: &'static Lane,
    row: Option<&'static Row>,
    difference: i64,
    apply: impl FnOnce() -> R,
) -> R {
    if difference < 0 {
        around_fall(lane, row, -difference, apply)
    } else {
        around_rise(lane, difference, apply)
    }
}

/// Does what may follow a check, after the peak lock was released.
// NOTE: never inlined, because `cargo instructions` leaves this function out.
#[inline(never)]
fn after_check(lane: &'static Lane) {
    resident::read_if_due();
    pauses::look();
    snapshots::look(lane);
    snapshots::look_at_peak(lane, Moment::AfterPeak);
}

/// Stores the time, and does what else may follow a check, at a [look](super::looks). It is no
/// check: the peak depends on live bytes alone and not on the time. The caller is inside the hook,
/// between two events of the lane, and holds no lock other than a lane's.
#[cold]
#[inline(never)]
pub(super) fn note_time_and_serve(lane: &'static Lane) {
    let mut checks = PEAK_CHECKS.lock();
    checks.note_time();
    lane.read_name();
    drop(checks);
    resident::read_if_due();
    pauses::look();
    snapshots::look(lane);
}

/// Handles a fall from a possible new maximum.
fn turn(lane: &'static Lane, row: Option<&'static Row>, net: i64) {
    let turning = &lane.turning;
    if turns_again(lane, row, net) {
        return;
    }
    if turning.skip.get() > 0 {
        turning.skip.set(turning.skip.get() - 1);
        turning.passed.store(true, Relaxed);
        // A reader that sees the fall also sees the flag.
        fence(Release);
    } else {
        PEAK_CHECKS.lock().check(lane);
        after_check(lane);
        snapshots::look_at_peak(lane, Moment::Peak);
        turning.fell(row, events_of(lane.all()));
    }
}

/// Returns `true` if a fall comes from the same maximum as the last one, so that no check is
/// needed.
#[inline(always)]
fn turns_again(lane: &'static Lane, row: Option<&'static Row>, net: i64) -> bool {
    let (turning, events) = (&lane.turning, events_of(lane.all()));
    let again = net == lane.limit.load(Relaxed) && turning.is_same_maximum(events);
    if again {
        turning.equal.set(turning.equal.get() + 1);
        turning.fell(row, events);
    }
    again
}

/// Returns the number of allocations and frees of a row.
fn events_of(row: &Row) -> u64 {
    row.total_blocks
        .load(Relaxed)
        .wrapping_add(row.freed_blocks.load(Relaxed))
}

/// Runs before the owner's first event after the lane was parked.
pub(super) fn wake(lane: &'static Lane) {
    #[cold]
    #[inline(never)]
    fn unpark(lane: &'static Lane) {
        PEAK_CHECKS.lock().lanes.wake(lane);
    }
    if lane.is_parked() {
        unpark(lane);
    }
}

impl PeakChecks {
    pub(crate) const fn new() -> Self {
        PeakChecks {
            peak: 0,
            peak_blocks: 0,
            peak_ns: 0,
            bound: 0,
            is_fresh: false,
            before: (0, 0),
            lanes: lanes::Lanes::new(),
            exact_bytes: 0,
            counted: Counted::NOTHING,
            timeline: Timeline::new(),
        }
    }

    /// Begins with the mapped halves of the timeline and the mapped checkpoints. Returns `false` if
    /// memory ran out.
    pub(crate) fn begin(
        &mut self,
        points: *const Point,
        moments: *const Moments,
        reads_files: bool,
    ) -> bool {
        *self = PeakChecks::new();
        self.timeline.start(points, moments, reads_files);
        self.lanes.begin(reads_files)
    }

    /// Adds a lane to the watched lanes.
    pub(super) fn watch(&mut self, lane: &'static Lane) {
        self.lanes.watch(lane);
    }

    /// Returns the maximum up to now, in bytes and blocks.
    pub(super) fn highest(&self) -> (i64, i64) {
        self.before.max((self.peak, self.peak_blocks))
    }

    /// Ends the current window of the peak.
    fn begin_window(&mut self) {
        self.before = self.highest();
        (self.peak, self.bound, self.is_fresh) = (i64::MIN, 0, false);
    }

    /// Makes the check of a lane's owner.
    fn check(&mut self, lane: &'static Lane) {
        let sums = self.sum(Some(lane));
        let (all, turning) = (lane.all(), &lane.turning);
        let (net, events) = (net_bytes(all), events_of(all));
        if self.lanes.others_moved(lane, turning.moves.get()) {
            // They may have changed between two of this lane's own events.
            let backoff = turning.backoff.get();
            turning.backoff.set((backoff * 2 + 1).min(MOST_SKIPS));
        } else {
            turning.backoff.set(0);
        }
        turning.skip.set(turning.backoff.get());
        turning.passed.store(false, Relaxed);
        turning.equal.set(0);
        turning.moves.set(self.lanes.moves());
        lane.step
            .set(self.step(lane, &sums, events.wrapping_sub(turning.events.get())));
        turning.events.set(events);
        lane.limit.store(self.peak - (sums.bytes - net), Relaxed);
        self.checked(lane, net);
        lane.read_name();
        session::retry_growth();
        lane.ask_again();
        session::check_modules();
        self.publish(&sums);
        self.lanes.sweep(lane);
    }

    /// Updates a lane after its own check, or after a fall by its step or more, under the same
    /// lock.
    fn checked(&mut self, lane: &'static Lane, net: i64) {
        lane.checked(net);
        self.lanes.checked(lane, net);
        let (record, all) = (lane.record(), lane.all());
        record.checked_bytes.store(net, Relaxed);
        record
            .checked_blocks
            .store(all.total_blocks.load(Relaxed), Relaxed);
        record
            .checked_total_bytes
            .store(all.total_bytes.load(Relaxed), Relaxed);
    }

    /// Returns the change in a lane's net that is allowed before its next check. As long as each of
    /// n lanes stays within a (2n)th of the distance to the maximum, there is no new maximum. If
    /// checks follow each other quickly, the step is increased to make them rarer.
    fn step(&self, lane: &Lane, sums: &Sums, events: u64) -> i64 {
        if lane.turning.backoff.get() == 0 {
            return STEP;
        }
        let lanes = i64::from(self.lanes.active());
        let wanted = ((self.peak - sums.bytes) / (2 * lanes)).clamp(LEAST_STEP, STEP);
        let is_quick = events < 16 + 4 * lanes as u64;
        let step = lane.step.get();
        wanted
            .max(if is_quick { 2 * step } else { step / 2 })
            .min(STEP)
    }

    /// Sums all lanes, and notes the maximum and the bound. `checker` is the lane whose owner is
    /// calling.
    fn sum(&mut self, checker: Option<&'static Lane>) -> Sums {
        let (sums, moved) = self.lanes.read(self.peak, checker);
        self.bound = self.bound.max(moved.bound);
        if self.is_fresh {
            self.bound = self.bound.max(moved.bound + moved.behind);
        }
        self.is_fresh = sums.bytes >= self.peak;
        let ns = self.timeline.tick();
        if self.is_fresh {
            // This moment is the peak: rows will save their nets.
            self.peak = sums.bytes;
            self.peak_blocks = sums.blocks;
            self.peak_ns = ns;
            CLOCK.store(CLOCK.load(Relaxed).next_epoch(), Release);
        }
        crate::counting::note_rows(sums.bytes, sums.blocks);
        sums
    }

    /// Stores the time, and takes the points of the timeline that are due.
    fn note_time(&mut self) {
        let Some(header) = session::header() else {
            return;
        };
        self.timeline.tick();
        let sums = self.lanes.sums();
        let moment = self.moment(&sums, header);
        if self.timeline.note(header, moment).is_some() {
            resident::point_taken();
        }
        resident::note_size(header);
    }

    /// Returns live bytes, live blocks and total bytes, for the timeline.
    fn moment(&mut self, sums: &Sums, header: &Header) -> (u64, u64, u64) {
        (
            sums.bytes.max(0) as u64,
            sums.blocks.max(0) as u64,
            self.total_bytes(sums, header),
        )
    }

    /// Publishes the results of this check to readers of the recording, and takes the points of the
    /// timeline that are due.
    fn publish(&mut self, sums: &Sums) {
        let Some(header) = session::header() else {
            return;
        };
        header.peak_bytes.store(self.peak, Relaxed);
        header.peak_ns.store(self.peak_ns, Relaxed);
        header.peak_bound_bytes.store(self.bound, Relaxed);
        let most_lanes = header.most_lanes.load(Relaxed).max(sums.lanes);
        header.most_lanes.store(most_lanes, Relaxed);
        let moment = self.moment(sums, header);
        let visit = self.timeline.visit(header, moment);
        if visit.took_point {
            resident::point_taken();
        }
        resident::note_size(header);
        if visit.took_checkpoint {
            let number = self.timeline.checkpoints();
            CLOCK.store(CLOCK.load(Relaxed).at_checkpoint(number), Release);
        }
        header.clock.store(CLOCK.load(Relaxed), Release);
    }
}

impl PeakChecks {
    /// Returns the bytes allocated so far. While samples are taken, this is not the sum of rows but
    /// exact: published now and then, because it is a sum over all lanes.
    fn total_bytes(&mut self, sums: &Sums, header: &Header) -> u64 {
        if header.mode.load(Relaxed) != mode::SAMPLE {
            return sums.total_bytes;
        }
        if self.timeline.counts_are_due() {
            self.counted = counted_by_lanes();
            let Counted {
                total_bytes,
                total_blocks,
                freed_bytes,
                freed_blocks,
            } = self.counted;
            header.sampled_total_bytes.store(total_bytes, Relaxed);
            header.sampled_total_blocks.store(total_blocks, Relaxed);
            header.sampled_freed_bytes.store(freed_bytes, Relaxed);
            header.sampled_freed_blocks.store(freed_blocks, Relaxed);
        }
        self.exact_bytes.wrapping_add(self.counted.total_bytes)
    }

    /// Returns the bytes allocated so far in a recording that samples.
    pub(super) fn exact_total_bytes(&self) -> u64 {
        self.exact_bytes
            .wrapping_add(counted_by_lanes().total_bytes)
    }
}

/// Returns what all lanes counted exactly while samples were taken.
fn counted_by_lanes() -> Counted {
    let lanes = session::lanes_in_use().filter_map(lane_at);
    let counted = lanes.map(|lane| lane.countdown.counted());
    counted.fold(Counted::NOTHING, Counted::plus)
}

/// Makes a check without a lane, at the start, at marks and at the end.
pub(crate) fn check_peak_now(checks: &mut PeakChecks, force_point: bool) {
    let sums = checks.sum(None);
    if force_point {
        checks.timeline.make_due();
    }
    checks.publish(&sums);
}

/// Takes a checkpoint at the end of an outermost phase, unless there was one just before. The end
/// of a phase that is entered often is no moment, but a check: so the timeline goes on in a program
/// whose live bytes stay the same.
pub(crate) fn phase_ended(scope: u32) {
    if !session::may_follow_phase() && !session::may_check_after_phase() {
        return;
    }
    let Some(_inside) = super::Inside::enter() else {
        return;
    };
    let Some(record) = session::scope_record(scope) else {
        return;
    };
    let is_moment = record.entered.load(Relaxed) <= MOST_ENTRIES_OF_A_MOMENT;
    let may_check = if is_moment {
        session::may_follow_phase()
    } else {
        session::may_check_after_phase()
    };
    if !may_check {
        return;
    }
    let _errno = sys::Errno::keep();
    let mut checks = PEAK_CHECKS.lock();
    if is_moment {
        let name = record.name.load(Relaxed);
        checks
            .timeline
            .want_checkpoint(checkpoint_kind::PHASE, name);
    } else {
        checks.timeline.defer_checks_after_phases();
    }
    check_peak_now(&mut checks, false);
}
