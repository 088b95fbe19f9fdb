//! The events of a recording that samples: what the inlined code does not pass on.
//!
//! A sample changes the same rows as an event of an exact recording, by its weight: the rows, the
//! peak, checkpoints and threads are estimates then. Blocks that were recorded before the first
//! sample are in the shadow map, and are followed as before.

use super::here::site_here;
use super::lane::{self, Lane, Slot, add_allocated, add_freed, touch_samples};
use super::{looks, peak};
use crate::accounting::{self, Event, Realloc};
use crate::samples::{self, Sample, Weight};
use crate::session::{self, clock, owned};
use crate::shadow::{self, Owner};
use crate::stack::Start;
use crate::{state, thread};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Clock, Row, SITE_TABLE_FULL, SITE_UNATTRIBUTED, Samples};

/// The place in a lane where the figures of a site are counted.
#[derive(Clone, Copy)]
struct Counted {
    site: u32,
    row: &'static Row,
    /// `None` at "(table full)".
    samples: Option<&'static Samples>,
}

impl Counted {
    /// Returns the place of a site with these data in a lane.
    fn of(lane: &'static Lane, site: u32, slot: &Slot, row: &'static Row) -> Counted {
        match lane.samples_of(site, slot) {
            Some(samples) => Counted {
                site,
                row,
                samples: Some(samples),
            },
            // Without the record, the row would claim to be exact.
            None => Counted {
                site: SITE_TABLE_FULL,
                row: lane.row_of(SITE_TABLE_FULL),
                samples: None,
            },
        }
    }

    /// Returns the place of the calling stack.
    fn here(lane: &'static Lane, start: Start, weight: Weight) -> Counted {
        let (site, slot, row) = site_here(lane, start, None);
        let counted = Counted::of(lane, site, slot, row);
        if counted.samples.is_some() {
            lane.count_sizes(slot, weight.size, weight.amount.blocks);
        }
        counted
    }

    /// Returns the place of a site whose block is freed.
    fn known(lane: &'static Lane, site: u32) -> Counted {
        let row = lane.row_of(site);
        match lane.slot(site).filter(|_| !lane.is_full(row)) {
            Some(slot) => Counted::of(lane, site, slot, row),
            None => Counted {
                site,
                row,
                samples: None,
            },
        }
    }

    /// Saves what the peak and checkpoints need, before the figures change.
    fn touch(self, lane: &'static Lane, now: Clock) {
        if let Some(samples) = self.samples {
            touch_samples(samples, now);
        }
        lane.touch_both(self.site, self.row, now);
    }

    fn allocate(self, lane: &'static Lane, weight: Weight) {
        if let Some(samples) = self.samples {
            add_allocated(samples, weight);
        }
        accounting::all_allocated(owned(self.row), weight.amount);
        accounting::all_allocated(owned(lane.all()), weight.amount);
    }

    fn free(self, lane: &'static Lane, weight: Weight) {
        if let Some(samples) = self.samples {
            add_freed(samples, weight);
        }
        accounting::all_freed(owned(self.row), weight.amount);
        accounting::all_freed(owned(lane.all()), weight.amount);
    }
}

/// The block that a realloc takes out of the recording.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TakenBlock {
    /// The owner of a block in the shadow map.
    pub(crate) owner: Option<Owner>,
    /// The size of the block, if it is known.
    pub(crate) bytes: usize,
    /// The block as a sample.
    pub(crate) sample: Option<Sample>,
}

/// Returns the size of a block that the recording knows, or 0.
pub(super) fn known_bytes(block: usize) -> usize {
    match shadow::known(block) {
        Some(known) => known.bytes(),
        None => shadow::bytes_elsewhere(block),
    }
}

/// Takes a block out of the recording before its realloc is forwarded. `bytes` is its size, if the
/// caller knows it.
#[cold]
#[inline(never)]
pub(super) fn reallocating(block: usize, bytes: Option<usize>) -> TakenBlock {
    take_block(block, bytes, session::usable_bytes())
}

/// Does the same for a block of a pool, of which the allocator knows nothing.
pub(super) fn reallocating_in_pool(block: usize) -> TakenBlock {
    take_block(block, None, None)
}

fn take_block(
    block: usize,
    bytes: Option<usize>,
    usable_bytes: Option<fn(usize) -> usize>,
) -> TakenBlock {
    let sample = take_sample(block);
    let bytes = bytes.unwrap_or_else(|| match sample {
        Some(sample) => sample.weight.size as usize,
        None => match (known_bytes(block), usable_bytes) {
            // Not the requested size, but near enough to tell growth and an upper bound of copies.
            (0, Some(usable)) => usable(block),
            (known, _) => known,
        },
    });
    TakenBlock {
        owner: sample.is_none().then(|| shadow::take(block)).flatten(),
        bytes,
        sample,
    }
}

/// Takes the sample at an address out of the set.
fn take_sample(block: usize) -> Option<Sample> {
    if !samples::maybe_sampled(block) {
        None
    } else if super::writers::is_here() {
        samples::try_take(block)
    } else {
        samples::take(block)
    }
}

/// Enters a block again whose realloc failed.
pub(super) fn put_back(taken: TakenBlock, block: usize) {
    if let Some(sample) = taken.sample {
        samples::put(block, sample);
    } else if let Some(owner) = taken.owner {
        shadow::put(block, taken.bytes, owner);
    }
}

/// Returns `true` if a realloc to `bytes` need not be recorded. Then it was counted.
///
/// PERF: the address shares its counter with a sample, or there is no sample.
pub(super) fn realloc_passes(word: u32, taken: TakenBlock, bytes: usize) -> bool {
    let passes =
        taken.sample.is_none() && taken.owner.is_none() && samples::allocation_passes(word, bytes);
    if passes {
        samples::freed_here(word, taken.bytes);
    }
    passes
}

/// Returns `true` if an allocation need not be recorded. Then it was counted.
pub(super) fn allocation_passes(bytes: usize) -> bool {
    let word = state::get();
    // While the thread has a countdown, it has a lane of its own.
    word & state::ALLOCS_PASS != 0
        && samples::countdown_here().is_some()
        && lane::own()
            .is_some_and(|lane| looks::passes_among_samples(lane, bytes, word & state::COUNTS != 0))
}

/// Returns `true` if a free need not be recorded. Then it was counted.
///
/// PERF: the address shares its counter with a sample, or there is no sample.
pub(super) fn free_passes(word: u32, block: usize, bytes: usize) -> bool {
    word & state::FREES_PASS != 0 && is_unknown(block) && samples::freed_here(word, bytes)
}

/// Returns `true` if a recording that samples does not know a block.
fn is_unknown(block: usize) -> bool {
    !samples::maybe_sampled(block)
        && shadow::known(block).is_none()
        && shadow::bytes_elsewhere(block) == 0
}

/// Records an event in a lane. Returns `false` if it is not recorded. `counting` is the state word,
/// or 0 if frees are not counted. `free_exact` records the free of a block from before the first
/// sample.
///
/// The inlined code passes on what needs no report.
#[cold]
#[inline(never)]
pub(super) fn record(
    (lane, start): (&'static Lane, Start),
    event: Event,
    taken: TakenBlock,
    (is_paused, counting): (bool, u32),
    free_exact: fn(&'static Lane, usize, usize),
) -> bool {
    match event {
        Event::Alloc(..) if is_paused => return false,
        Event::Alloc(block, bytes) => allocated(lane, start, block, bytes),
        Event::Free(block, bytes) => {
            lane.countdown.freed(counting, bytes);
            // The thread may have allocated since without a report.
            match samples::take(block) {
                Some(sample) => freed(lane, block, sample),
                None if is_unknown(block) => return false,
                None => {
                    thread::set_last_block(0);
                    free_exact(lane, block, bytes);
                }
            }
        }
        Event::Realloc(moved) => {
            lane.countdown.freed(counting, moved.old_bytes);
            let old = match (taken.sample, taken.owner) {
                (Some(sample), _) => Old::Sampled(sample),
                (None, Some(owner)) => Old::Exact(owner),
                (None, None) => Old::Unknown,
            };
            reallocated(lane, start, old, moved, is_paused);
        }
    }
    true
}

/// Counts an allocation, and records it if the countdown runs out.
#[inline(never)]
fn allocated(lane: &'static Lane, start: Start, block: usize, bytes: usize) {
    if let Some(weight) = count(lane, bytes) {
        let counted = Counted::here(lane, start, weight);
        peak::around(lane, Some(counted.row), bytes_of(weight), || {
            counted.touch(lane, clock());
            counted.allocate(lane, weight);
        });
        thread::set_last_block(block);
        tell_allocated(block, weight);
        follow(
            lane,
            block,
            counted.site,
            weight,
            lane.countdown.total_bytes(),
        );
    }
}

/// The probe `otel_memory:alloc`, for tracers (USDT): address, size, and the bytes and blocks that
/// the sample stands for. The names and arguments are those of a draft of OpenTelemetry, which is
/// not final.
fn tell_allocated(block: usize, weight: Weight) {
    let Weight { size, amount, .. } = weight;
    probe::probe!(otel_memory, alloc, block, size, amount.bytes, amount.blocks);
}

/// The probe `otel_memory:free` of a sampled block, with the same arguments.
fn tell_freed(block: usize, weight: Weight) {
    let Weight { size, amount, .. } = weight;
    probe::probe!(otel_memory, free, block, size, amount.bytes, amount.blocks);
}

/// Counts a block. Returns its weight if it is a sample.
fn count(lane: &'static Lane, bytes: usize) -> Option<Weight> {
    let counts = state::get() & state::COUNTS != 0;
    let share = lane.pace.distance().into();
    lane.countdown
        .count(bytes as u64, counts, lane.number, share)
}

fn bytes_of(weight: Weight) -> i64 {
    weight.amount.bytes as i64
}

/// Enters a sample into the set of live ones.
fn follow(lane: &'static Lane, block: usize, site: u32, weight: Weight, birth: u64) {
    let sample = Sample {
        site,
        lane: lane.number,
        weight,
        birth,
    };
    shadow::note(block);
    let (is_followed, missed) = samples::put(block, sample);
    if !is_followed && let Some(header) = session::header() {
        header
            .untracked_blocks
            .fetch_add(weight.amount.blocks, Relaxed);
    }
    if let Some(missed) = missed {
        // A signal handler freed the block while the recorder held the lock.
        free(lane, None, missed);
    }
}

/// The birth of a block that is never temporary.
const NEVER_TEMPORARY: u64 = u64::MAX;

/// Records the free of a sampled block.
#[inline(never)]
fn freed(lane: &'static Lane, block: usize, sample: Sample) {
    tell_freed(block, sample.weight);
    free(lane, Some(block), sample);
}

fn free(lane: &'static Lane, block: Option<usize>, sample: Sample) {
    let counted = Counted::known(lane, sample.site);
    let weight = sample.weight;
    peak::around(lane, Some(counted.row), -bytes_of(weight), || {
        counted.touch(lane, clock());
        counted.free(lane, weight);
    });
    let is_last = block.is_some_and(thread::take_last_block);
    if is_last && sample.lane == lane.number && sample.birth == lane.countdown.total_bytes() {
        accounting::all_were_temporary(owned(counted.row), weight.amount);
        accounting::all_were_temporary(owned(lane.all()), weight.amount);
    }
}

/// The block that a realloc takes away, as far as the recording knows it.
#[derive(Clone, Copy)]
enum Old {
    Unknown,
    Sampled(Sample),
    /// Recorded before the first sample.
    Exact(Owner),
}

/// Records a realloc as one event: a free of the old block, and a new block with a draw of its own.
/// While recording is paused, nothing is drawn, and a sampled block stays one.
// NOTE: never inlined, like the other two, because its frame is large.
#[inline(never)]
fn reallocated(lane: &'static Lane, start: Start, old: Old, realloc: Realloc, is_paused: bool) {
    let weight = match old {
        Old::Sampled(sample) if is_paused => Some(sample.weight.resized(realloc.bytes as u64)),
        _ if is_paused => None,
        _ => count(lane, realloc.bytes),
    };
    let new = weight.map(|weight| (Counted::here(lane, start, weight), weight));
    count_realloc(lane, old, new, realloc);
}

/// Counts a realloc; `new` is the new block if it is a sample.
// NOTE: never inlined, so that its frame is not there while the stack is walked.
#[inline(never)]
fn count_realloc(lane: &'static Lane, old: Old, new: Option<(Counted, Weight)>, realloc: Realloc) {
    let old_sample = match old {
        Old::Sampled(sample) => Some((Counted::known(lane, sample.site), sample.weight)),
        _ => None,
    };
    let old_row = match old {
        Old::Exact(owner) if owner.site() != SITE_UNATTRIBUTED => {
            Some((owner.site(), lane.row_of(owner.site())))
        }
        _ => None,
    };
    let old_bytes = match old {
        Old::Sampled(sample) => bytes_of(sample.weight),
        Old::Exact(_) => realloc.old_bytes as i64,
        Old::Unknown => 0,
    };
    let difference = new.map_or(0, |(_, weight)| bytes_of(weight)) - old_bytes;
    if new.is_some() || old_bytes != 0 {
        peak::around(lane, None, difference, || {
            let now = clock();
            let both = [old_sample, new].into_iter().flatten();
            both.for_each(|(counted, _)| counted.touch(lane, now));
            if let Some((site, row)) = old_row {
                lane.touch_both(site, row, now);
            }
            if let Some((counted, weight)) = new {
                counted.allocate(lane, weight);
                resize(lane, counted, weight, realloc);
            }
            if let Some((counted, weight)) = old_sample {
                counted.free(lane, weight);
            }
            match (old, old_row) {
                (Old::Exact(_), Some((_, row))) => {
                    accounting::freed(owned(row), realloc.old_bytes as u64);
                    accounting::freed(owned(lane.all()), realloc.old_bytes as u64);
                }
                (Old::Exact(_), None) => {
                    let row = session::Shared(lane.unattributed());
                    accounting::freed(row, realloc.old_bytes as u64);
                }
                _ => {}
            }
        });
    }
    thread::set_last_block(0);
    if let Old::Sampled(sample) = old {
        tell_freed(realloc.old, sample.weight);
    }
    if let Some((counted, weight)) = new {
        tell_allocated(realloc.new, weight);
        follow(lane, realloc.new, counted.site, weight, NEVER_TEMPORARY);
    }
}

/// Counts the growth that a sampled block is the result of.
fn resize(lane: &'static Lane, counted: Counted, weight: Weight, realloc: Realloc) {
    let (old, new) = (realloc.old_bytes as u64, realloc.bytes as u64);
    let mut copied = weight.share(old.min(new));
    if realloc.old == realloc.new {
        copied.bytes = 0;
    }
    accounting::all_resized(owned(counted.row), new >= old, copied);
    accounting::all_resized(owned(lane.all()), new >= old, copied);
}
