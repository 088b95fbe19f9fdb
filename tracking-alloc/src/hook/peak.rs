//! The peak: exact in O(1) an event.
//!
//! A maximum of live bytes is a moment just before a fall. So nothing is compared while bytes rise; the event that
//! would fall from a new maximum *looks* first. A lane also looks whenever its net has moved by 32 KiB, up or down,
//! since its last look, and events of that size change their rows under the look lock. A look sums the nets of all
//! lanes under one lock and, if they reach the maximum (equal maxima: the latest, as dhat-rs), stores it and moves the
//! clock on; rows then save their net before they next change.
//!
//! While only one lane moves, every turning point is seen: the peak is exact to the byte. Lanes that move at once can
//! each be 32 KiB plus one small event ahead of what a look sums: the error is at most live lanes x 64 KiB. Then
//! turning points are passed over, up to 63 in a row, until the others are found still.

use super::lane::{Lane, rows_of};
use super::row::{at_peak, lane_row, net_blocks, net_bytes};
use super::{CLOCK, LOOKS, lanes_in_use};
use crate::session;
use crate::timeline::Timeline;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{CLOCK_SNAPSHOT_BITS, MarkRow};

/// A lane looks when its net has moved this far, bytes.
pub(super) const STEP: i64 = 32 << 10;
/// The bound on the error a lane adds while several move, bytes.
const DRIFT: i64 = 64 << 10;
/// Turning points passed over in a row, at most, while other lanes move too.
const MOST_SKIPS: u32 = 63;

/// What looks share.
pub(crate) struct Looks {
    /// The maximum of live bytes in the present window.
    peak: i64,
    peak_blocks: i64,
    peak_ns: u64,
    doubt: i64,
    pub(crate) timeline: Timeline,
}

/// Sums over all lanes.
#[derive(Clone, Copy, Default)]
struct Sums {
    bytes: i64,
    blocks: i64,
    events: u64,
    total_bytes: u64,
    lanes: i64,
}

/// Applies an event that moves the lane's net by `difference`, with the looks it needs around it.
#[inline(always)]
pub(super) fn around(lane: &'static Lane, difference: i64, apply: impl FnOnce()) {
    if difference >= STEP || difference <= -STEP {
        return around_large(lane, apply);
    }
    let net = net_bytes(lane.all());
    if difference < 0 {
        if net >= lane.limit.load(Relaxed) {
            turn(lane);
        }
        if lane.looked.get() - (net + difference) >= STEP {
            look(lane);
        }
        apply();
    } else {
        apply();
        if net + difference - lane.looked.get() >= STEP {
            look(lane);
        }
    }
}

/// A large event: while its rows change no other lane can look, and the moments before and after it are both seen.
#[cold]
#[inline(never)]
fn around_large(lane: &'static Lane, apply: impl FnOnce()) {
    let mut looks = LOOKS.hold();
    look_locked(&mut looks, lane);
    apply();
    look_locked(&mut looks, lane);
}

#[cold]
#[inline(never)]
fn look(lane: &'static Lane) {
    look_locked(&mut LOOKS.hold(), lane);
}

/// A fall from what may be a new maximum.
#[inline(never)]
fn turn(lane: &'static Lane) {
    let skip = lane.skip.get();
    if skip > 0 {
        lane.skip.set(skip - 1);
        return;
    }
    look_locked(&mut LOOKS.hold(), lane);
}

fn sums() -> Sums {
    let mut sums = Sums::default();
    for row in lanes_in_use().filter_map(lane_row) {
        sums.bytes += net_bytes(row);
        sums.blocks += net_blocks(row);
        sums.events = sums
            .events
            .wrapping_add(row.total_blocks.load(Relaxed))
            .wrapping_add(row.freed_blocks.load(Relaxed));
        sums.total_bytes = sums.total_bytes.wrapping_add(row.total_bytes.load(Relaxed));
        sums.lanes += 1;
    }
    sums
}

fn look_locked(looks: &mut Looks, lane: &'static Lane) {
    let sums = sums();
    looks.note_peak(&sums);
    let (net, all) = (net_bytes(lane.all()), lane.all());
    let events = all
        .total_blocks
        .load(Relaxed)
        .wrapping_add(all.freed_blocks.load(Relaxed));
    let others = (sums.bytes - net, sums.events.wrapping_sub(events));
    if others == lane.others.get() {
        lane.backoff.set(0);
    } else {
        // Others moved since this lane last looked, perhaps between two of its own events.
        looks.doubt = looks
            .doubt
            .max(sums.bytes.max(lane.seen.get()) + sums.lanes * DRIFT);
        lane.backoff
            .set((lane.backoff.get() * 2 + 1).min(MOST_SKIPS));
    }
    lane.skip.set(lane.backoff.get());
    lane.others.set(others);
    lane.seen.set(sums.bytes);
    lane.looked.set(net);
    lane.limit.store(looks.peak - others.0, Relaxed);
    lane.read_name();
    let record = lane.record();
    record.looked_bytes.store(net, Relaxed);
    record
        .looked_blocks
        .store(all.total_blocks.load(Relaxed), Relaxed);
    looks.publish(&sums);
}

impl Looks {
    pub(super) const fn new() -> Self {
        Looks {
            peak: 0,
            peak_blocks: 0,
            peak_ns: 0,
            doubt: 0,
            timeline: Timeline::new(),
        }
    }

    /// The maximum so far in the present window, bytes and blocks.
    pub(super) fn peak(&self) -> (i64, i64) {
        (self.peak, self.peak_blocks)
    }

    /// If the sums reach the maximum, this moment is the peak: the clock goes on, and rows will save their nets.
    fn note_peak(&mut self, sums: &Sums) {
        if sums.bytes < self.peak {
            return;
        }
        self.peak = sums.bytes;
        self.peak_blocks = sums.blocks;
        self.peak_ns = self.timeline.elapsed_ns();
        CLOCK.store(CLOCK.load(Relaxed) + (1 << CLOCK_SNAPSHOT_BITS), Release);
    }

    /// Lets readers of the recording see what this look found, and takes the points that are due.
    fn publish(&mut self, sums: &Sums) {
        let Some(header) = super::header() else {
            return;
        };
        header.peak_bytes.store(self.peak, Relaxed);
        header.peak_ns.store(self.peak_ns, Relaxed);
        header.doubt_bytes.store(self.doubt, Relaxed);
        let lanes = sums.lanes as u32;
        if lanes > header.most_lanes.load(Relaxed) {
            header.most_lanes.store(lanes, Relaxed);
        }
        let moment = (
            sums.bytes.max(0) as u64,
            sums.blocks.max(0) as u64,
            sums.total_bytes,
        );
        if self.timeline.visit(header, moment) {
            // A snapshot was taken: its number is the lower part of the clock.
            let clock = CLOCK.load(Relaxed);
            CLOCK.store(clock & !0xffff | self.timeline.snapshots(), Release);
        }
        header.clock.store(CLOCK.load(Relaxed), Release);
    }
}

/// A look without a lane: at the start, at marks and at the end.
pub(crate) fn look_now(looks: &mut Looks, force_point: bool) {
    let sums = sums();
    looks.note_peak(&sums);
    if force_point {
        looks.timeline.make_due();
    }
    looks.publish(&sums);
}

/// What a mark keeps of the window that ends with it.
pub(crate) struct Window {
    pub(crate) peak_bytes: i64,
    pub(crate) peak_blocks: i64,
    pub(crate) peak_ns: u64,
    pub(crate) doubt_bytes: i64,
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
}

/// Ends the present window of the peak: writes down every row as it was at the window's peak, and begins the next.
/// When the rows find no room the window goes on, and `None` comes back.
pub(crate) fn mark_window(looks: &mut Looks) -> Option<Window> {
    look_now(looks, true);
    let epoch = CLOCK.load(Relaxed) >> CLOCK_SNAPSHOT_BITS;
    let mut writer = session::current()?.write.hold();
    let first_row = writer.mark_rows.len();
    let mut whole = true;
    for lane in lanes_in_use() {
        let mut keep = |row: &'static tracking_alloc_recording::Row| {
            let (bytes, blocks) = at_peak(row, epoch);
            if !whole || (bytes, blocks) == (0, 0) {
                return;
            }
            let writer = &mut *writer;
            match writer.mark_rows.push::<MarkRow>(&mut writer.store) {
                Some((_, place)) => {
                    // SAFETY: a zeroed record just handed out, mapped until the process ends.
                    let kept = unsafe { place.as_ref() };
                    kept.site.store(row.site.load(Relaxed), Relaxed);
                    kept.lane.store(lane, Relaxed);
                    kept.peak_bytes.store(bytes, Relaxed);
                    kept.peak_blocks.store(blocks, Relaxed);
                }
                None => whole = false,
            }
        };
        rows_of(lane, &mut keep);
        (1..3)
            .filter_map(|which| super::row::fixed_row(lane, which))
            .for_each(&mut keep);
    }
    let rows = writer.mark_rows.len() - first_row;
    if let Some(header) = super::header() {
        header.mark_rows_len.store(writer.mark_rows.len(), Release);
    }
    drop(writer);
    if !whole {
        return None;
    }
    let window = Window {
        peak_bytes: looks.peak,
        peak_blocks: looks.peak_blocks,
        peak_ns: looks.peak_ns,
        doubt_bytes: looks.doubt,
        first_row,
        rows,
    };
    looks.peak = i64::MIN;
    looks.doubt = 0;
    look_now(looks, false);
    super::lane::reset_limits();
    Some(window)
}
