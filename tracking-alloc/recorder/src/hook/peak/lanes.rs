//! The state of each lane in checks: its sums, the bound on their error, and whether it is idle.
//!
//! A lane that did not change for many checks is *parked*: its tag is marked, so that its owner's
//! next event first takes the peak lock, and its sums are kept in one aggregate. Checks read only
//! the other lanes, so idle threads cost nothing.
//!
//! Parking needs no store by the owner. The parking thread marks the tag, then runs a memory
//! barrier on every thread (membarrier). After that, either the owner was seen busy, or it reads
//! the mark when it next enters the hook.

use crate::hook::lane::Lane;
use crate::session::net_blocks;
use crate::sys::{self, Bump, WrittenPages};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MAX_LANES, Row};

/// Number of checks between two searches for idle lanes.
const SWEEP_EVERY: u32 = 512;

/// Sums over all lanes.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) bytes: i64,
    pub(super) blocks: i64,
    pub(super) total_bytes: u64,
    pub(super) lanes: u32,
}

/// The bounds of changes in lanes around a check.
pub(super) struct Movement {
    /// `V` of the previous check.
    pub(super) bound: i64,
    /// `E` of the previous check.
    pub(super) behind: i64,
}

/// The results of the last check in a lane.
#[derive(Clone, Copy)]
#[repr(C)]
struct Watched {
    lane: &'static Lane,
    row: &'static Row,
    /// Net bytes, and bytes allocated so far, at the last check.
    net: i64,
    total: u64,
    /// `u` of the interval before the last check.
    upper: i64,
    /// The upper limit of its net until its own next check.
    ceiling: i64,
    /// Bytes allocated so far, and net bytes, at the last sweep.
    swept: (u64, i64),
}

/// The last changes of lanes, in numbers of checks that saw any change.
#[derive(Clone, Copy)]
struct Movers {
    moves: u64,
    /// The lane that changed last, if it was only one.
    last: *const Lane,
    last_at: u64,
    /// The time of the last change in another lane.
    other_at: u64,
}

/// The state of all lanes, accessed under the peak lock.
pub(super) struct Lanes {
    /// The lanes that each check reads, followed by the parked lanes.
    watched: *mut Watched,
    active: u32,
    len: u32,
    parked: Sums,
    movers: Movers,
    /// The lane that made the last check.
    checker: *const Lane,
    sweep_in: u32,
    parks: bool,
    written: WrittenPages,
}

// SAFETY: the memory behind the pointers stays mapped while the recording is current, and it is
// reached under the peak lock.
unsafe impl Send for Lanes {}

/// Returns the bytes that a row's lane has allocated so far, and its net, both at the same moment.
#[inline]
fn settled(row: &Row) -> (u64, i64) {
    let mut total = row.total_bytes.load(Acquire);
    for _ in 0..8 {
        let freed = row.freed_bytes.load(Acquire);
        let again = row.total_bytes.load(Acquire);
        if again == total {
            return (total, total.wrapping_sub(freed) as i64);
        }
        total = again;
    }
    // The owner is changing the values: the result is too small by the bytes freed between the two
    // reads.
    (
        total,
        total.wrapping_sub(row.freed_bytes.load(Acquire)) as i64,
    )
}

impl Lanes {
    pub(super) const fn new() -> Self {
        Lanes {
            watched: null_mut(),
            active: 0,
            len: 0,
            parked: Sums {
                bytes: 0,
                blocks: 0,
                total_bytes: 0,
                lanes: 0,
            },
            movers: Movers {
                moves: 0,
                last: null_mut(),
                last_at: 0,
                other_at: 0,
            },
            checker: null_mut(),
            sweep_in: SWEEP_EVERY,
            parks: false,
            written: WrittenPages::from(0),
        }
    }

    /// Makes room for every lane. Returns `false` if memory ran out.
    pub(super) fn begin(&mut self, parks: bool) -> bool {
        self.parks = parks;
        let place = Bump::new().take_sparse::<Watched>(MAX_LANES);
        self.watched = place.map_or(null_mut(), |place| place.as_ptr());
        self.written = WrittenPages::from(self.watched.addr());
        !self.watched.is_null()
    }

    /// Returns the lanes that each check reads.
    pub(super) fn active(&self) -> u32 {
        self.active.max(1)
    }

    fn all(&mut self) -> &mut [Watched] {
        if self.watched.is_null() {
            return &mut [];
        }
        // SAFETY: `len` entries are initialized, and reached under the peak lock.
        unsafe { std::slice::from_raw_parts_mut(self.watched, self.len as usize) }
    }

    fn swap(&mut self, one: u32, other: u32) {
        let all = self.all();
        all.swap(one as usize, other as usize);
        for place in [one, other] {
            if let Some(watched) = all.get(place as usize) {
                watched.lane.turning.place.set(place);
            }
        }
    }

    pub(super) fn watch(&mut self, lane: &'static Lane) {
        if self.watched.is_null() || self.len as usize >= MAX_LANES {
            return;
        }
        let row = lane.all();
        let (total, net) = settled(row);
        // SAFETY: there is room for every lane.
        unsafe {
            self.watched.add(self.len as usize).write(Watched {
                lane,
                row,
                net,
                total,
                upper: net,
                ceiling: net + crate::hook::lane::STEP,
                swept: (total, net),
            });
        }
        lane.checked(net);
        self.len += 1;
        // SAFETY: one past the last entry is at most the end of the room.
        let end = unsafe { self.watched.add(self.len as usize) };
        self.written.up_to(end.addr());
        self.active += 1;
        self.swap(self.active - 1, self.len - 1);
    }

    /// Reads all lanes. `peak` is the maximum so far. `checker` is the lane whose owner makes the
    /// check.
    pub(super) fn read(&mut self, peak: i64, checker: Option<&'static Lane>) -> (Sums, Movement) {
        let mut sums = Sums {
            lanes: self.len,
            ..self.parked
        };
        let (mut bound, mut behind) = (sums.bytes, 0);
        // The bound if only one lane changed, and it did not rise above its values at the two
        // checks.
        let mut bound_alone = sums.bytes;
        let (mut moved, mut mover) = (0u32, None);
        let (active, last_looker) = (self.active as usize, self.checker);
        for watched in self.all().get_mut(..active).unwrap_or_default() {
            let (total, net) = settled(watched.row);
            let before = watched.upper;
            let mut upper = net;
            if (total, net) != (watched.total, watched.net) {
                let rise = total.wrapping_sub(watched.total) as i64;
                let risen = watched.net.saturating_add(rise);
                upper = risen.min(watched.ceiling).max(net);
                if !std::ptr::eq(watched.lane, last_looker) {
                    behind += upper - watched.net;
                }
                moved += 1;
                mover = Some((watched.lane, net));
                (watched.total, watched.net) = (total, net);
            }
            bound += before.max(upper);
            bound_alone += before.max(net);
            watched.upper = upper;
            sums.bytes += net;
            sums.blocks += net_blocks(watched.row);
            sums.total_bytes = sums.total_bytes.wrapping_add(total);
        }
        if let (1, Some((lane, net))) = (moved, mover) {
            let turning = &lane.turning;
            if !turning.passed.load(Relaxed) && !self.others_moved(lane, turning.moves.get()) {
                // It changed alone. The other lanes are as they were, so live bytes did not exceed
                // the maximum.
                let most = peak.saturating_sub(sums.bytes - net).max(net);
                (bound, behind) = (bound_alone, 0);
                if let Some(watched) = self.all().get_mut(turning.place.get() as usize) {
                    watched.upper = watched.upper.min(most);
                }
            }
        }
        self.movers.note(moved, mover.map(|(lane, ..)| lane));
        self.checker = checker.map_or(null_mut(), std::ptr::from_ref);
        (sums, Movement { bound, behind })
    }

    /// Sums all lanes, without a check.
    pub(super) fn sums(&mut self) -> Sums {
        let mut sums = Sums {
            lanes: self.len,
            ..self.parked
        };
        let active = self.active as usize;
        for watched in self.all().get(..active).unwrap_or_default() {
            let (total, net) = settled(watched.row);
            sums.bytes += net;
            sums.blocks += net_blocks(watched.row);
            sums.total_bytes = sums.total_bytes.wrapping_add(total);
        }
        sums
    }

    /// Returns the number of checks that saw any lane change.
    pub(super) fn moves(&self) -> u64 {
        self.movers.moves
    }

    /// Returns `true` if a lane other than this one has changed since the given number of checks
    /// had seen a change.
    pub(super) fn others_moved(&self, lane: &Lane, since: u64) -> bool {
        let movers = &self.movers;
        let others = if std::ptr::eq(movers.last, lane) {
            movers.other_at
        } else {
            movers.last_at
        };
        others > since
    }

    /// Updates a lane after its own check.
    pub(super) fn checked(&mut self, lane: &Lane, net: i64) {
        let place = lane.turning.place.get();
        if let Some(watched) = self.all().get_mut(place as usize) {
            (watched.net, watched.ceiling) = (net, lane.ceiling.get());
        }
    }

    /// Includes a parked lane in checks again.
    pub(super) fn wake(&mut self, lane: &Lane) {
        let place = lane.turning.place.get();
        let is_parked = place >= self.active;
        if let Some(watched) = self.all().get(place as usize).copied()
            && is_parked
            && std::ptr::eq(watched.lane, lane)
        {
            self.parked.bytes -= watched.net;
            self.parked.blocks -= net_blocks(watched.row);
            self.parked.total_bytes = self.parked.total_bytes.wrapping_sub(watched.total);
            self.swap(place, self.active);
            self.active += 1;
        }
        lane.unpark();
    }

    /// From time to time, parks the lanes that did not change since the last time, except
    /// `checker`.
    pub(super) fn sweep(&mut self, checker: &Lane) {
        if self.active < 2 || !self.parks {
            return;
        }
        self.sweep_in = self.sweep_in.saturating_sub(1);
        if self.sweep_in > 0 {
            return;
        }
        self.sweep_in = SWEEP_EVERY;
        let active = self.active as usize;
        let mut marked = false;
        for watched in self.all().get_mut(..active).unwrap_or_default() {
            let now = (watched.total, watched.net);
            if watched.swept == now
                && watched.upper == watched.net
                && !watched.lane.is_shared()
                && !std::ptr::eq(watched.lane, checker)
            {
                watched.lane.park();
                marked = true;
            }
            watched.swept = now;
        }
        if marked {
            self.parks = sys::fence_all_threads();
            self.park_marked();
        }
    }

    /// Parks the marked lanes whose owners were not inside the hook when all threads passed the
    /// barrier.
    fn park_marked(&mut self) {
        for place in (0..self.active).rev() {
            let Some(watched) = self.all().get(place as usize).copied() else {
                continue;
            };
            if !watched.lane.is_parked() {
                continue;
            }
            let is_still = self.parks
                && !watched.lane.busy.load(Acquire)
                && settled(watched.row) == (watched.total, watched.net);
            if !is_still {
                watched.lane.unpark();
                continue;
            }
            self.parked.bytes += watched.net;
            self.parked.blocks += net_blocks(watched.row);
            self.parked.total_bytes = self.parked.total_bytes.wrapping_add(watched.total);
            self.active -= 1;
            self.swap(place, self.active);
        }
    }
}

impl Movers {
    /// Notes how many lanes changed in a check, and which lane if it was only one.
    fn note(&mut self, moved: u32, mover: Option<&'static Lane>) {
        let Some(mover) = mover else {
            return;
        };
        self.moves += 1;
        if moved > 1 {
            self.last = null_mut();
            self.other_at = self.moves;
        } else if !std::ptr::eq(self.last, mover) {
            self.last = mover;
            self.other_at = self.last_at;
        }
        self.last_at = self.moves;
    }
}
