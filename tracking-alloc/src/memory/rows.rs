//! Counters of each scope, and the peak: the rows of a recording with a single lane.
//!
//! The peak is looked for before a fall, and a row that changes after one first saves what it held
//! then: exactly the rules of the mapped recording, so the reader needs to know nothing.

use crate::counters::{Counter, Counters};
use tracking_alloc_recording::{CLOCK_CHECKPOINT_BITS, FIRST_SITE, RowValue};

/// The row of "(table full)"; those of scopes follow.
pub(super) const FULL: u32 = 0;

/// All rows.
#[derive(Default)]
pub(super) struct Rows {
    /// All events.
    pub(super) all: RowValue,
    /// "(table full)".
    pub(super) full: RowValue,
    /// One for each scope that allocated, in the order they first did.
    pub(super) own: Vec<RowValue>,
    /// The scope of each row.
    pub(super) scopes: Vec<u32>,
    /// The row of each scope, [`FULL`] = none yet.
    of_scope: Vec<u32>,
    /// Maxima so far.
    pub(super) epoch: u64,
    /// The last one: bytes and blocks.
    pub(super) peak: (i64, i64),
}

/// Live bytes and blocks of a row.
pub(super) fn net(row: &RowValue) -> (i64, i64) {
    (
        row.total_bytes.wrapping_sub(row.freed_bytes) as i64,
        row.total_blocks.wrapping_sub(row.freed_blocks) as i64,
    )
}

impl Rows {
    /// The row of a scope; made when there is none.
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

    /// Before live bytes change: a fall from the last maximum or above makes this moment the
    /// maximum.
    pub(super) fn before(&mut self, change: i64) {
        let (bytes, blocks) = net(&self.all);
        if change < 0 && bytes >= self.peak.0 {
            self.peak = (bytes, blocks);
            self.epoch += 1;
        }
    }

    /// Changes a row and the one of all events alike.
    pub(super) fn change(&mut self, row: u32, change: impl Fn(&mut RowValue)) {
        let clock = self.epoch << CLOCK_CHECKPOINT_BITS;
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

    /// The most there was: bytes and blocks; equal maxima: the latest.
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
