//! The counters of each scope, and the peak: the rows of a recording with a single lane.
//!
//! The peak is looked for before each fall. A row that changes after a peak first saves its values.
//! These are exactly the rules of the mapped recording, so the reader treats both alike.

use crate::accounting::{Counter, Counters};
use tracking_alloc_recording::{Clock, FIRST_SITE, RowValue};

/// The row "(table full)". The rows of scopes follow.
pub(super) const FULL: u32 = 0;

/// All rows.
#[derive(Default)]
pub(super) struct Rows {
    /// The row of all events.
    pub(super) all: RowValue,
    /// The row "(table full)".
    pub(super) full: RowValue,
    /// One row for each scope that allocated, in the order of their first allocations.
    pub(super) own: Vec<RowValue>,
    /// The scope of each row.
    pub(super) scopes: Vec<u32>,
    /// The row of each scope. [`FULL`] means none yet.
    of_scope: Vec<u32>,
    /// The clock, whose epoch is the number of maxima so far.
    pub(super) clock: Clock,
    /// The last maximum: bytes and blocks.
    pub(super) peak: (i64, i64),
}

/// Returns the live bytes and blocks of a row.
pub(super) fn net(row: &RowValue) -> (i64, i64) {
    (
        row.total_bytes.wrapping_sub(row.freed_bytes) as i64,
        row.total_blocks.wrapping_sub(row.freed_blocks) as i64,
    )
}

impl Rows {
    /// Returns the row of a scope, creating it if there is none.
    pub(super) fn of(&mut self, scope: u32) -> u32 {
        match self.of_scope.get(scope as usize) {
            Some(row) if *row != FULL => *row,
            _ => self.make(scope).unwrap_or(FULL),
        }
    }

    #[cold]
    fn make(&mut self, scope: u32) -> Option<u32> {
        let index = u32::try_from(self.own.len()).ok()?;
        let missing = (scope as usize + 1).saturating_sub(self.of_scope.len());
        self.of_scope.try_reserve(missing).ok()?;
        self.own.try_reserve(1).ok()?;
        self.scopes.try_reserve(1).ok()?;
        if missing > 0 {
            self.of_scope.resize(scope as usize + 1, FULL);
        }
        self.own.push(RowValue {
            site: FIRST_SITE + index,
            ..RowValue::default()
        });
        self.scopes.push(scope);
        *self.of_scope.get_mut(scope as usize)? = index + 1;
        Some(index + 1)
    }

    /// Runs before live bytes change. A fall from the last maximum or above makes this moment the
    /// new maximum.
    pub(super) fn before(&mut self, change: i64) {
        let (bytes, blocks) = net(&self.all);
        if change < 0 && bytes >= self.peak.0 {
            self.peak = (bytes, blocks);
            self.clock = self.clock.next_epoch();
        }
    }

    /// Changes a row, and the row of all events in the same way.
    pub(super) fn change(&mut self, row: u32, change: impl Fn(&mut RowValue)) {
        let clock = self.clock;
        let own = match row {
            FULL => Some(&mut self.full),
            row => self.own.get_mut(row as usize - 1),
        };
        for row in own.into_iter().chain([&mut self.all]) {
            if row.clock < clock {
                (row.saved_bytes, row.saved_blocks) = net(row);
                row.clock = clock;
            }
            change(row);
        }
    }

    /// Returns the bytes and blocks at the maximum so far. Of equal maxima, the latest counts.
    pub(super) fn peak_now(&self) -> (i64, i64) {
        let now = net(&self.all);
        if now.0 >= self.peak.0 { now } else { self.peak }
    }
}

impl Counters for &mut RowValue {
    fn add(&mut self, counter: Counter, more: u64) {
        *self.counter_mut(counter) += more;
    }
}
