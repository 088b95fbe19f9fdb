//! The age of live blocks, as far as checkpoints bound it.

use super::{Figures, Profile};
use crate::units::Nanos;

/// Bounds of the median age of live blocks: of the time since a block was allocated, or reallocated
/// for the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Age {
    /// At least half of the blocks are at least this old, in nanoseconds. `None` if no checkpoint
    /// proves it.
    pub at_least_ns: Option<u64>,
    /// At least half of the blocks are at most this old, in nanoseconds. `None` if no block is
    /// live, if the recording has no clock, or if it is the sum of several recordings.
    pub at_most_ns: Option<u64>,
}

impl Age {
    /// Spells the bounds: `1.20 s to 4.50 s`, `at least 1.20 s`. `None` if nothing is known.
    pub fn text(&self) -> Option<String> {
        match (self.at_least_ns.map(Nanos), self.at_most_ns.map(Nanos)) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => None,
        }
    }
}

impl Profile {
    /// Returns the median age of the live blocks of some sites, by their indexes, at the end of the
    /// recording. `figures` are those of the same sites.
    ///
    /// A block that is live now, but is not among those that were live at a checkpoint, was
    /// allocated after it. Of those that were live then, no more can be gone than were ever freed.
    pub fn age(&self, sites: &[usize], figures: &Figures) -> Age {
        self.age_of(&self.live_at_checkpoints(sites), figures)
    }

    /// Returns the same, from what the sites held at each checkpoint.
    pub fn age_of(&self, held: &[(u64, u64)], figures: &Figures) -> Age {
        let live = figures.live_blocks;
        let end_ns = self.process.duration_ns;
        // Weights of samples are no blocks, and the duration of merged recordings is a sum.
        let has_clock = end_ns > 0 && self.process.merged.is_none();
        if live == 0 || !has_clock || figures.samples().is_some() {
            return Age::default();
        }
        let is_half = |blocks: u64| blocks >= live.div_ceil(2);
        let mut age = Age {
            at_least_ns: None,
            at_most_ns: Some(end_ns),
        };
        for (&(_, then), checkpoint) in held.iter().zip(self.checkpoints()) {
            // Only a damaged recording has a checkpoint after its end.
            let Some(ago_ns) = end_ns.checked_sub(checkpoint.time_ns) else {
                continue;
            };
            if is_half(live.saturating_sub(then)) {
                age.at_most_ns = age.at_most_ns.min(Some(ago_ns));
            }
            let still_live = then.saturating_sub(figures.freed_blocks);
            if is_half(still_live) {
                age.at_least_ns = age.at_least_ns.max(Some(ago_ns));
            }
        }
        age
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Checkpoint, Merged, Process};
    use super::*;

    fn age(freed_blocks: u64, held: [u64; 3]) -> Age {
        let mut profile = Profile {
            process: Process {
                duration_ns: 100,
                ..Process::default()
            },
            ..Profile::default()
        };
        for (time_ns, blocks) in [20, 50, 80].into_iter().zip(held) {
            let checkpoint = Checkpoint {
                time_ns,
                ..Checkpoint::default()
            };
            profile.add_checkpoint(checkpoint, &[(blocks * 8, blocks)]);
        }
        let figures = Figures {
            live_blocks: 10,
            freed_blocks,
            ..Figures::default()
        };
        profile.age(&[0], &figures)
    }

    #[test]
    fn checkpoints_bound_the_median_from_both_sides() {
        let bounds = |least, most| Age {
            at_least_ns: least,
            at_most_ns: most,
        };
        // Half of them came after 50, and nothing was freed.
        assert_eq!(age(0, [0, 4, 9]), bounds(Some(20), Some(50)));
        assert_eq!(age(0, [10, 10, 10]), bounds(Some(80), Some(100)));
        // Any of the nine may be gone.
        assert_eq!(age(9, [0, 4, 9]), bounds(None, Some(50)));
        assert_eq!(age(4, [9, 9, 9]), bounds(Some(80), Some(100)));
    }

    #[test]
    fn a_sum_of_recordings_has_no_age() {
        let profile = Profile {
            process: Process {
                duration_ns: 100,
                merged: Some(Merged::default()),
                ..Process::default()
            },
            ..Profile::default()
        };
        let figures = Figures {
            live_blocks: 10,
            ..Figures::default()
        };
        assert_eq!(profile.age(&[0], &figures), Age::default());
    }

    #[test]
    fn nothing_has_no_age() {
        assert_eq!(Age::default().text(), None);
        assert_eq!(
            Profile::default().age(&[], &Figures::default()),
            Age::default()
        );
    }
}
