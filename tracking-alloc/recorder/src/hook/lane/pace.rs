//! The pace of a lane's looks.

use crate::session;
use std::cell::Cell;

/// After this time without a look, in units of 5 us, each allocation looks. In less than one unit,
/// looks become rarer.
const LONG: u64 = 10;

/// The pace of a lane's [looks](crate::hook::looks). All-zero bytes are a lane that has not looked
/// yet.
pub(in crate::hook) struct Pace {
    /// The distance to the next look, in allocations or in bytes; 0 = 1.
    distance: Cell<u32>,
    /// The time of the last look, in ticks.
    looked: Cell<u64>,
}

impl Pace {
    /// Returns the distance to the next look.
    pub(in crate::hook) fn distance(&self) -> u32 {
        self.distance.get().max(1)
    }

    /// Notes a look at this time, in ticks. The distance to the next one is at most `most`.
    pub(in crate::hook) fn note(&self, now: u64, most: u32) {
        let passed = now.saturating_sub(self.looked.replace(now));
        let distance = self.distance().min(most);
        // The rate of the ticks is unknown in the first milliseconds of a recording.
        let short = session::ticks_in_5_us().unwrap_or(u64::MAX / LONG);
        let next = if passed < short {
            (2 * distance).min(most)
        } else if passed >= LONG * short {
            1
        } else {
            distance
        };
        self.distance.set(next);
    }
}
