//! Turns rows of lanes into figures of sites, and finds the moment of the peak.
//!
//! Nets of single lanes may be negative, because another lane allocated what this one freed; only
//! sums over lanes are facts. A negative sum is shown as 0. In a program that still runs, it was
//! read while it was written (`lost.torn`); else the recording is damaged (`lost.damaged`). Sums
//! saturate: a file may claim any figures.

use super::distribution::SizeRecords;
use crate::parallel::on_parts;
use crate::profile::{
    Checkpoint, CheckpointKind, Checkpoints, FailedRequest, Figures, SampledSum, Samples, Site,
};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::iter::repeat_with;
use std::num::NonZero;
use tracking_alloc_recording::{
    CHECKPOINT_GROUP, CHECKPOINT_SLOTS, COUNTERS, CheckpointMomentValue, CheckpointsValue, Clock,
    FIRST_SITE, FailedRequestValue, HeaderValue, LaneColumns, MOST_ENTRIES_OF_A_MOMENT,
    MarkRowValue, MarkValue, Recording, RowValue, SITE_TABLE_FULL, SITE_UNATTRIBUTED, Sampled,
    SamplesValue, Sums, checkpoint_kind, for_each_counter, mode, scope_kind, state,
};

/// The error each live lane may add to the peak while several move at once, bytes.
pub(super) const LANE_DRIFT: u64 = 64 << 10;

/// The sites that anything was counted of: a lane's rows are those of all or of a few of them.
pub(super) struct CountedSites {
    /// Their numbers in the recording, rising.
    pub(super) numbers: Vec<u32>,
    /// Position in `numbers` by number of the site, from 1.
    positions: Vec<Option<NonZero<u32>>>,
}

impl CountedSites {
    pub(super) fn of(recording: &Recording, peak: &Peak) -> Self {
        let sites = recording.sites.len().max(FIRST_SITE as usize);
        let mut positions = vec![None; sites];
        let mut note = |site: u32| {
            if let Some(position) = positions.get_mut(site as usize) {
                *position = Some(NonZero::<u32>::MIN);
            }
        };
        for lane in &recording.lanes {
            let counted = rows(lane).filter(|(_, row, _)| !is_empty(row));
            counted.for_each(|(site, ..)| note(site));
        }
        marked_rows(recording, peak).for_each(|row| note(row.site));
        failed_requests(recording).for_each(|request| note(request.site));
        let mut numbers = Vec::new();
        for (number, position) in (0..).zip(&mut positions) {
            if position.is_some() {
                numbers.push(number);
                *position = NonZero::new(numbers.len() as u32);
            }
        }
        CountedSites { numbers, positions }
    }

    /// Returns the position of the site of that number.
    pub(super) fn position(&self, number: u32) -> Option<usize> {
        let position = (*self.positions.get(number as usize)?)?;
        Some(position.get() as usize - 1)
    }
}

/// The moment of the peak, and the way to read it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PeakAt {
    /// Rows saved for the header's epoch.
    Epoch,
    /// Now: nothing has fallen since live bytes reached or passed the last maximum.
    Now,
    /// The window that this mark ended.
    Mark(usize),
}

/// Bytes and blocks that are live, as far as a single lane tells.
pub(super) type Net = (i64, i64);

pub(super) fn net(row: &RowValue) -> Net {
    row.sums().net()
}

pub(super) fn plus(one: Net, other: Net) -> Net {
    (one.0.saturating_add(other.0), one.1.saturating_add(other.1))
}

/// A row's net at the last maximum of the present window.
pub(super) fn at_epoch(row: &RowValue, header: &HeaderValue) -> Net {
    if is_newer(row.clock, header) {
        (row.saved_bytes, row.saved_blocks)
    } else {
        net(row)
    }
}

/// Returns `true` if a row with that clock changed in the epoch of the header or later. One of a
/// newer epoch was read later than the header: what it saved was the state before that.
fn is_newer(clock: Clock, header: &HeaderValue) -> bool {
    clock.epoch() >= header.clock.epoch()
}

/// Every row of a lane that belongs to a site, with its position among the lane's rows.
pub(super) fn rows(lane: &LaneColumns) -> impl Iterator<Item = (u32, &RowValue, Option<usize>)> {
    let fixed = [
        (SITE_TABLE_FULL, &lane.table_full, None),
        (SITE_UNATTRIBUTED, &lane.unattributed, None),
    ];
    let own = lane
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| (row.site, row, Some(index)));
    fixed.into_iter().chain(own)
}

/// The peak: the sum of its rows, the running maximum they are compared with, and the bound that
/// applies.
pub(super) struct Peak {
    pub(super) at: PeakAt,
    pub(super) bytes: i64,
    pub(super) register: i64,
    pub(super) bound: i64,
    pub(super) time_ns: u64,
}

pub(super) fn find_peak(recording: &Recording) -> Peak {
    let header = &recording.header;
    let (mut now, mut epoch, mut moved, mut checked) = (0i64, 0i64, 0u32, 0i64);
    for lane in &recording.lanes {
        for (_, row, _) in rows(lane) {
            now = now.saturating_add(net(row).0);
            epoch = epoch.saturating_add(at_epoch(row, header).0);
        }
        checked = checked.saturating_add(lane.lane.checked_bytes);
        let still = net(&lane.all).0 == lane.lane.checked_bytes
            && lane.all.total_blocks == lane.lane.checked_blocks;
        if !still {
            moved += 1;
            checked = checked.saturating_add(most_rise(lane));
        }
    }
    let mut bound = header.peak_bound_bytes;
    // NOTE: finishing a recording checks the peak of all lanes after the last writer left, and
    // seals it after that: what lanes did since their own last peak check is in the header's bound.
    let is_sealed = header.state == state::FINISHED && header.checksum != 0;
    if moved > 1 && !is_sealed {
        bound = bound.max(checked);
    }
    let mut peak = Peak {
        at: PeakAt::Epoch,
        bytes: epoch,
        register: header.peak_bytes,
        bound,
        time_ns: header.peak_ns,
    };
    // The sums of what rows held at their own peaks are saved.
    if now >= epoch && header.state != state::MERGED {
        (peak.at, peak.bytes, peak.register) = (PeakAt::Now, now, now);
        peak.time_ns = header.elapsed_ns.max(header.peak_ns);
    }
    for (index, mark) in recording.marks.iter().enumerate().rev() {
        let bytes = mark_rows(recording, mark)
            .iter()
            .map(|row| row.peak_bytes)
            .fold(0, i64::saturating_add);
        if mark.has_rows == 1 && bytes > peak.bytes {
            peak = Peak {
                at: PeakAt::Mark(index),
                bytes,
                register: mark.peak_bytes,
                bound: mark.peak_bound_bytes,
                time_ns: mark.peak_ns,
            };
        } else {
            peak.bound = peak.bound.max(mark.peak_bound_bytes);
        }
    }
    peak
}

/// Returns the most that a lane's net can have exceeded its last peak check since then.
fn most_rise(lane: &LaneColumns) -> i64 {
    let (record, total) = (&lane.lane, lane.all.total_bytes);
    let allocated = total.wrapping_sub(record.checked_total_bytes);
    allocated.min(LANE_DRIFT) as i64
}

/// The rows that a mark kept.
pub(super) fn mark_rows<'a>(recording: &'a Recording, mark: &MarkValue) -> &'a [MarkRowValue] {
    let first = usize::try_from(mark.first_row).ok();
    let end = usize::try_from(mark.first_row.saturating_add(mark.rows)).ok();
    let rows = first.zip(end);
    rows.and_then(|(first, end)| recording.mark_rows.get(first..end))
        .unwrap_or_default()
}

/// Returns the refused requests of sites that exist.
fn failed_requests(recording: &Recording) -> impl Iterator<Item = &FailedRequestValue> {
    let all = recording.failed_requests.iter();
    all.filter(|request| request.site >= SITE_TABLE_FULL)
}

/// The requests that the allocator refused, the last one first.
pub(super) fn refused(recording: &Recording, counted: &CountedSites) -> Vec<FailedRequest> {
    let mut all: Vec<_> = failed_requests(recording).collect();
    all.sort_by_key(|request| Reverse(request.last));
    let refused = all.into_iter().filter_map(|request| {
        Some(FailedRequest {
            site: counted.position(request.site)?,
            count: request.count,
            largest_bytes: request.largest_bytes,
        })
    });
    refused.collect()
}

/// Returns `true` if a row never counted anything.
pub(super) fn is_empty(row: &RowValue) -> bool {
    *row == RowValue {
        site: row.site,
        clock: row.clock,
        ..RowValue::default()
    }
}

/// The rows at the peak, where a mark kept them.
fn marked_rows<'a>(
    recording: &'a Recording,
    peak: &Peak,
) -> impl Iterator<Item = &'a MarkRowValue> {
    let mark = match peak.at {
        PeakAt::Mark(index) => recording.marks.get(index),
        PeakAt::Epoch | PeakAt::Now => None,
    };
    let rows = mark.map(|mark| mark_rows(recording, mark));
    rows.unwrap_or_default().iter()
}

/// Nets of a site are facts only when those of all lanes are added: they are signed until then.
#[derive(Clone, Default)]
struct Nets {
    live: Net,
    at_peak: Net,
    is_impossible: bool,
}

/// Samples of a site, added up over lanes like nets.
#[derive(Clone, Default)]
struct SampleNets {
    allocated: Sampled,
    live: Sampled,
    at_peak: Sampled,
    least_bytes: u64,
    /// Figures without records of their samples: rows at "(table full)", and rows that a mark
    /// kept.
    others: [u64; 3],
}

impl SampleNets {
    fn add(&mut self, record: &SamplesValue, peak: &Peak, header: &HeaderValue) {
        let live = record.allocated.minus(record.freed);
        self.allocated = self.allocated.plus(record.allocated);
        self.live = self.live.plus(live);
        let at_peak = match peak.at {
            PeakAt::Epoch if is_newer(record.clock, header) => record.saved,
            PeakAt::Epoch | PeakAt::Now => live,
            PeakAt::Mark(_) => Sampled::default(),
        };
        self.at_peak = self.at_peak.plus(at_peak);
        if record.least_bytes > 0
            && (self.least_bytes == 0 || record.least_bytes < self.least_bytes)
        {
            self.least_bytes = record.least_bytes;
        }
    }

    /// Returns the samples of allocated blocks, of live ones, and of those live at the peak.
    fn sums(&self) -> [Sampled; 3] {
        [self.allocated, self.live, self.at_peak].map(|of| {
            // A sum that wrapped is one of lanes that were read at different moments. Without
            // samples, what is left of the variance is rounding.
            let shown = |sum: u64| (sum as i64).max(0) as u64;
            if shown(of.hits) == 0 {
                return Sampled::default();
            }
            Sampled {
                hits: of.hits,
                blocks: shown(of.blocks),
                bytes: shown(of.bytes),
                seen_bytes: shown(of.seen_bytes),
                variance: of.variance.max(0.0),
            }
        })
    }

    fn finish(&self, mean: u64) -> Samples {
        let [total, live, peak] = self.sums().map(|of| SampledSum {
            estimate: of.bytes,
            variance: (of.variance / mean as f64).round() as u64,
            seen: of.seen_bytes,
            blocks: of.blocks,
            hits: of.hits,
        });
        let mut samples = Samples {
            mean,
            least_bytes: self.least_bytes,
            most_bytes: 0,
            total,
            live,
            peak,
        };
        samples.add(&Samples::at_most(mean, self.others));
        samples
    }
}

/// The samples behind the figures of a site.
#[derive(Clone, Copy, Debug, Default)]
pub struct SiteSamples {
    /// Samples of allocated blocks.
    pub allocated: Sampled,
    /// Those of them that are live.
    pub live: Sampled,
    /// Those that were live at the peak.
    pub at_peak: Sampled,
    /// The size of the smallest sampled block; 0 = none.
    pub least_bytes: u64,
}

/// Returns the samples of each site, for the sum of several recordings. Empty if every event was
/// recorded.
pub(super) fn samples(
    recording: &Recording,
    peak: &Peak,
    counted: &CountedSites,
) -> Vec<SiteSamples> {
    let header = &recording.header;
    let mean = sample_mean(header);
    if mean == 0 {
        return Vec::new();
    }
    let mut nets = vec![SampleNets::default(); counted.numbers.len()];
    for lane in &recording.lanes {
        for record in &lane.samples {
            let row = lane.rows.get(record.row as usize);
            if let Some(position) = row.and_then(|row| counted.position(row.site)) {
                nets[position].add(record, peak, header);
            }
        }
    }
    let mut samples: Vec<SiteSamples> = nets
        .iter()
        .map(|nets| {
            let [allocated, live, at_peak] = nets.sums();
            SiteSamples {
                allocated,
                live,
                at_peak,
                least_bytes: nets.least_bytes,
            }
        })
        .collect();
    // Of rows that a mark kept, only the figures are known.
    for row in marked_rows(recording, peak) {
        if let Some(position) = counted.position(row.site) {
            let shown = |net: i64| net.max(0) as u64;
            let at_peak = &mut samples[position].at_peak;
            *at_peak = at_peak.plus(Sampled {
                hits: 1,
                blocks: shown(row.peak_blocks),
                bytes: shown(row.peak_bytes),
                seen_bytes: 0,
                variance: shown(row.peak_bytes) as f64 * mean as f64,
            });
        }
    }
    samples
}

/// Returns the largest mean of the samples of a recording; 0 = every event was recorded.
pub(super) fn sample_mean(header: &HeaderValue) -> u64 {
    if header.mode == mode::SAMPLE {
        header.most_sample_bytes.max(header.sample_bytes).max(1)
    } else {
        0
    }
}

/// Adds up the rows of every site; and how many sites have figures that cannot be, as they stand.
pub(super) fn count(
    recording: &Recording,
    peak: &Peak,
    counted: &CountedSites,
) -> (Vec<Site>, u64) {
    let header = &recording.header;
    // What threads may have been apart at the peak.
    let drift = i64::from(header.most_lanes.max(header.lanes)).saturating_mul(LANE_DRIFT as i64);
    let length = counted.numbers.len();
    let mut sites: Vec<Site> = repeat_with(Site::default).take(length).collect();
    let records: Vec<SizeRecords<'_>> = recording.lanes.iter().map(SizeRecords::of).collect();
    let mean = sample_mean(header);
    let impossible = on_parts(&mut sites, |start, sites| {
        // Each thread reads all rows, and counts those of its sites.
        let length = sites.len();
        let position = |site: u32| {
            let position = counted.position(site)?.checked_sub(start)?;
            (position < length).then_some(position)
        };
        let mut nets = vec![Nets::default(); length];
        let sampled_length = if mean > 0 { length } else { 0 };
        let mut sampled = vec![SampleNets::default(); sampled_length];
        for (lane, records) in recording.lanes.iter().zip(&records) {
            for (site, row, index) in rows(lane) {
                let Some(position) = position(site).filter(|_| !is_empty(row)) else {
                    continue;
                };
                let (site, nets) = (&mut sites[position], &mut nets[position]);
                site.figures.add(&figures(&row.sums(), (0, 0), (0, 0)));
                nets.is_impossible |= is_impossible(row, header);
                match records.distribution(row, index, header) {
                    Some(distribution) => site.distribution.add(&distribution),
                    None => nets.is_impossible = true,
                }
                nets.live = plus(nets.live, net(row));
                let at_peak = match peak.at {
                    PeakAt::Epoch => at_epoch(row, header),
                    PeakAt::Now => net(row),
                    PeakAt::Mark(_) => (0, 0),
                };
                nets.at_peak = plus(nets.at_peak, at_peak);
                if mean > 0 && index.is_none() {
                    let shown = |net: i64| net.max(0) as u64;
                    let others = [row.total_bytes, shown(net(row).0), shown(at_peak.0)];
                    let sums = sampled[position].others.iter_mut().zip(others);
                    sums.for_each(|(sum, more)| *sum = sum.saturating_add(more));
                }
            }
            for record in &lane.samples {
                let row = lane.rows.get(record.row as usize);
                let sums = row.and_then(|row| sampled.get_mut(position(row.site)?));
                if let Some(sums) = sums {
                    sums.add(record, peak, header);
                }
            }
        }
        for row in marked_rows(recording, peak) {
            if let Some(position) = position(row.site) {
                let at_peak = &mut nets[position].at_peak;
                *at_peak = plus(*at_peak, (row.peak_bytes, row.peak_blocks));
            }
        }
        if matches!(peak.at, PeakAt::Mark(_)) {
            for (sampled, nets) in sampled.iter_mut().zip(&nets) {
                sampled.others[2] = nets.at_peak.0.max(0) as u64;
            }
        }
        let mut impossible = 0;
        for (site, nets) in sites.iter_mut().zip(&nets) {
            let (live, at_peak) = (nets.live, nets.at_peak);
            let freed_too_much = live.0 < 0 || live.1 < 0;
            let off_at_peak = at_peak.0 < -drift || at_peak.1 < -drift;
            impossible += u64::from(nets.is_impossible || freed_too_much || off_at_peak);
            set_nets(&mut site.figures, live, at_peak);
        }
        for (site, sampled) in sites.iter_mut().zip(&sampled) {
            if site.figures != Figures::default() {
                site.figures.samples = Some(Box::new(sampled.finish(mean)));
            }
        }
        impossible
    });
    (sites, impossible.into_iter().sum())
}

/// No program allocates as much: the sums of what is below stay far from their limits.
const MOST_BYTES: u64 = 1 << 56;
/// The same for a sum of recordings.
const MOST_MERGED_BYTES: u64 = 1 << 60;

/// Returns `true` if a row of a lane is one that no writer leaves. An event that a kill cut short
/// may be half counted.
fn is_impossible(row: &RowValue, header: &HeaderValue) -> bool {
    let exceeds = |most| {
        let sums = <[u64; COUNTERS]>::from(row.sums());
        sums.iter().any(|sum| *sum > most)
    };
    let slack = match header.state {
        state::FINISHED => 0,
        // The rows of each recording were looked at when it was merged.
        state::MERGED => return exceeds(MOST_MERGED_BYTES),
        _ => 1,
    };
    exceeds(MOST_BYTES)
        || row.grows + row.shrinks > row.total_blocks + slack
        || row.temporary_blocks > row.freed_blocks + slack
        || slack == 0
            && (row.temporary_bytes > row.freed_bytes || row.copied_bytes > row.total_bytes)
}

macro_rules! of_counters {
    ($($(#[$doc:meta])* $offset:literal $counter:ident $field:ident,)*) => {
        /// Returns the figures of sums and nets.
        pub(super) fn figures(sums: &Sums, live: Net, at_peak: Net) -> Figures {
            let mut figures = Figures {
                $($field: sums.$field,)*
                ..Figures::default()
            };
            set_nets(&mut figures, live, at_peak);
            figures
        }

        /// Returns the sums of figures.
        pub(super) fn sums_of(figures: &Figures) -> Sums {
            Sums { $($field: figures.$field,)* }
        }
    };
}
for_each_counter!(of_counters);

fn set_nets(figures: &mut Figures, live: Net, at_peak: Net) {
    let shown = |net: i64| net.max(0) as u64;
    (figures.live_bytes, figures.live_blocks) = (shown(live.0), shown(live.1));
    (figures.peak_bytes, figures.peak_blocks) = (shown(at_peak.0), shown(at_peak.1));
}

/// Returns the checkpoints, with what each site held.
pub(super) fn checkpoints(recording: &Recording, counted: &CountedSites) -> Checkpoints {
    let moments = recording.checkpoint_moments.iter();
    let mut taken: Vec<(usize, &CheckpointMomentValue)> = moments.enumerate().collect();
    taken.retain(|(_, moment)| moment.sequence != 0);
    taken.sort_by_key(|(_, moment)| (moment.sequence, moment.time_ns));
    let frequent = frequent_phases(recording);
    let moments = taken.iter().map(|(_, moment)| {
        let is_frequent = moment.kind == checkpoint_kind::PHASE && frequent.contains(&moment.name);
        let (kind, name) = if is_frequent {
            // Taken before the phase was known to be entered often.
            (CheckpointKind::Time, String::new())
        } else {
            let name = recording.string(moment.name).unwrap_or_default();
            (kind_of(moment.kind), name)
        };
        Checkpoint {
            time_ns: moment.time_ns,
            kind,
            name,
            total_bytes: moment.total_bytes,
            ..Checkpoint::default()
        }
    });
    let mut checkpoints = Checkpoints::new(moments.collect());
    // The rows of each site, with their records by group of slots.
    let mut rows_of_sites: Vec<(u32, &RowValue, Option<Groups<'_>>)> = Vec::new();
    for lane in &recording.lanes {
        let mut saved: Vec<Groups<'_>> = vec![Groups::default(); lane.rows.len()];
        for record in &lane.checkpoints {
            let group = record.first_slot as usize / CHECKPOINT_GROUP;
            if let Some(groups) = saved.get_mut(record.row as usize)
                && let Some(place) = groups.get_mut(group)
            {
                *place = Some(record);
            }
        }
        for (site, row, index) in rows(lane) {
            if let Some(position) = counted.position(site) {
                let groups = index.map(|index| saved[index]);
                rows_of_sites.push((position as u32, row, groups));
            }
        }
    }
    rows_of_sites.sort_by_key(|(position, ..)| *position);
    let mut rest = rows_of_sites.as_slice();
    for position in 0..counted.numbers.len() {
        let of_site = rest.partition_point(|(at, ..)| *at as usize <= position);
        let (of_site, others) = rest.split_at(of_site);
        rest = others;
        checkpoints.add(taken.iter().map(|(slot, moment)| {
            let at = |(_, row, groups): &(u32, &RowValue, Option<Groups<'_>>)| match groups {
                Some(groups) if row.clock.checkpoint() >= moment.sequence => {
                    // A row without a record did not exist then.
                    groups[slot / CHECKPOINT_GROUP].map_or((0, 0), |record| record.at(*slot))
                }
                // Unchanged since then. Fixed rows have no records.
                _ => net(row),
            };
            let (bytes, blocks) = of_site.iter().map(at).fold((0, 0), plus);
            (bytes.max(0) as u64, blocks.max(0) as u64)
        }));
    }
    checkpoints
}

/// Returns the names (numbers of strings) of outermost phases that were entered so often that an
/// end of theirs is no moment of the run.
fn frequent_phases(recording: &Recording) -> HashSet<u32> {
    let scopes = recording.scopes.iter().skip(1);
    scopes
        .filter(|scope| scope.kind == scope_kind::PHASE && scope.parent == 0)
        .filter(|scope| scope.entered > MOST_ENTRIES_OF_A_MOMENT)
        .map(|scope| scope.name)
        .collect()
}

/// The checkpoint records of a row, by group of slots.
type Groups<'a> = [Option<&'a CheckpointsValue>; CHECKPOINT_SLOTS / CHECKPOINT_GROUP];

fn kind_of(kind: u32) -> CheckpointKind {
    match kind {
        checkpoint_kind::PHASE => CheckpointKind::Phase,
        checkpoint_kind::MARK => CheckpointKind::Mark,
        _ => CheckpointKind::Time,
    }
}
