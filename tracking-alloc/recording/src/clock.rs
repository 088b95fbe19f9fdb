//! The clock of a recording: it tells which values of a row belong to the last peak and to which
//! checkpoints.

use crate::words::Word;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of the word that hold the number of the last checkpoint.
const CHECKPOINT_BITS: u32 = 16;

/// The epoch of the last maximum, in the upper bits of a word, and the number of the last
/// checkpoint, in the lower ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock(u64);

impl Clock {
    /// The largest number of a checkpoint.
    pub const LAST_CHECKPOINT: u64 = (1 << CHECKPOINT_BITS) - 1;

    /// Returns the clock in an epoch, before its first checkpoint if `checkpoint` is 0. A
    /// checkpoint above [`LAST_CHECKPOINT`](Self::LAST_CHECKPOINT) counts as that one.
    pub const fn new(epoch: u64, checkpoint: u64) -> Clock {
        Clock(epoch << CHECKPOINT_BITS).at_checkpoint(checkpoint)
    }

    /// Returns the epoch of the last maximum.
    #[inline(always)]
    pub const fn epoch(self) -> u64 {
        self.0 >> CHECKPOINT_BITS
    }

    /// Returns the number of the last checkpoint, or 0 before the first.
    #[inline(always)]
    pub const fn checkpoint(self) -> u64 {
        self.0 & Clock::LAST_CHECKPOINT
    }

    /// Returns the clock in the next epoch.
    #[inline(always)]
    pub const fn next_epoch(self) -> Clock {
        Clock(self.0 + (1 << CHECKPOINT_BITS))
    }

    /// Returns the clock in the same epoch after a checkpoint with this number.
    pub const fn at_checkpoint(self, checkpoint: u64) -> Clock {
        let number = if checkpoint < Clock::LAST_CHECKPOINT {
            checkpoint
        } else {
            Clock::LAST_CHECKPOINT
        };
        Clock(self.0 & !Clock::LAST_CHECKPOINT | number)
    }
}

/// A [`Clock`] in mapped memory.
#[derive(Debug)]
#[repr(transparent)]
pub struct ClockCell(AtomicU64);

impl ClockCell {
    /// Returns the cell of a clock before the first maximum.
    pub const fn new() -> ClockCell {
        ClockCell(AtomicU64::new(0))
    }

    /// Loads the clock.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> Clock {
        Clock(self.0.load(order))
    }

    /// Stores a clock.
    #[inline(always)]
    pub fn store(&self, clock: Clock, order: Ordering) {
        self.0.store(clock.0, order);
    }
}

impl Default for ClockCell {
    fn default() -> ClockCell {
        ClockCell::new()
    }
}

impl Word for Clock {
    type Cell = ClockCell;

    fn parse(bytes: &[u8]) -> Clock {
        Clock(u64::parse(bytes))
    }

    fn write(self, out: &mut [u8]) {
        self.0.write(out);
    }

    fn load(cell: &ClockCell) -> Clock {
        cell.load(Ordering::Relaxed)
    }

    #[inline]
    fn store(self, cell: &ClockCell) {
        cell.store(self, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn an_epoch_and_a_checkpoint_do_not_change_each_other() {
        for epoch in [0, 1, 70_000, (1 << 48) - 2] {
            for checkpoint in [0, 1, 255, Clock::LAST_CHECKPOINT] {
                let clock = Clock::new(epoch, checkpoint);
                assert_eq!((clock.epoch(), clock.checkpoint()), (epoch, checkpoint));
                let next = clock.next_epoch();
                assert_eq!((next.epoch(), next.checkpoint()), (epoch + 1, checkpoint));
                let later = clock.at_checkpoint(3);
                assert_eq!((later.epoch(), later.checkpoint()), (epoch, 3));
                assert!(next > clock && next > Clock::new(epoch, Clock::LAST_CHECKPOINT));
            }
        }
        let most = Clock::new(4, u64::MAX);
        assert_eq!(
            (most.epoch(), most.checkpoint()),
            (4, Clock::LAST_CHECKPOINT)
        );
    }
}
