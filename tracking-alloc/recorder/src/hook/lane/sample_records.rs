//! The records of a lane with the samples behind its rows.

use super::{Lane, Slot};
use crate::samples::Weight;
use crate::session::at_other_peak;
use crate::sys::{CHUNK, Errno};
use std::cell::Cell;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Clock, Sampled, Samples, Word};

/// The record of a lane for a site.
#[repr(transparent)]
pub(super) struct SamplesOfSite(Cell<*const Samples>);

impl Lane {
    /// Returns the samples of a site, whose row is in `slot`. Creates the record if there is none.
    /// Returns `None` if there is no room for it.
    pub(in crate::hook) fn samples_of(&self, site: u32, slot: &Slot) -> Option<&'static Samples> {
        // SAFETY: only the lane's owner reaches this. It is null or a record, which stays mapped
        // while the recording is current.
        let known = |place: &SamplesOfSite| unsafe { place.0.get().as_ref() };
        if let Some(known) = self.samples.get(site).and_then(known) {
            return Some(known);
        }
        let row = slot.row_index.get();
        if row == u32::MAX {
            return None;
        }
        let _errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is the caller.
        let bump = unsafe { &mut (*self.tables.get()).bump };
        let place = self.samples.get_or_make(site, || bump.take(CHUNK))?;
        let fill = |samples: &Samples| samples.row.store(row, Relaxed);
        let (_, samples) =
            self.add_record(|tables| &mut tables.samples, |lane| &lane.samples_len, fill)?;
        place.0.set(samples);
        Some(samples)
    }
}

/// Saves the samples that are live, if there was a peak since they last changed. `now` is the
/// clock.
pub(in crate::hook) fn touch_samples(samples: &Samples, now: Clock) {
    if at_other_peak(samples.clock.load(Relaxed), now) {
        let [allocated, freed] = [&samples.allocated, &samples.freed].map(Sampled::load);
        allocated.minus(freed).store(&samples.saved);
    }
    samples.clock.store(now, Release);
}

/// Adds the sample of an allocated block.
pub(in crate::hook) fn add_allocated(samples: &Samples, weight: Weight) {
    let allocated = Sampled::load(&samples.allocated);
    let least = samples.least_bytes.load(Relaxed);
    if least == 0 || weight.size < least {
        samples.least_bytes.store(weight.size, Relaxed);
    }
    allocated.plus(weight.sampled()).store(&samples.allocated);
}

/// Adds the sample of a freed block.
pub(in crate::hook) fn add_freed(samples: &Samples, weight: Weight) {
    let freed = Sampled::load(&samples.freed);
    freed.plus(weight.sampled()).store(&samples.freed);
}
