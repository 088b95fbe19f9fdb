//! From rows of lanes to figures of sites, and when the peak was.
//!
//! Nets of single lanes may be negative (another lane allocated what this one freed); only sums over lanes are facts.
//! A sum that is negative all the same is shown as 0: of a program that still runs it was read while it was written
//! (`lost.torn`), else the recording is damaged (`lost.damaged`). Sums saturate: a file may claim any figures.

use super::distribution::SizeRecords;
use crate::parallel::on_parts;
use crate::profile::{Figures, Site, Snapshot};
use std::iter::repeat_with;
use std::num::NonZero;
use tracking_alloc_recording::{
    CLOCK_SNAPSHOT_BITS, FIRST_SITE, HeaderValue, LaneColumns, MarkValue, Recording, RowValue,
    SITE_TABLE_FULL, SITE_UNATTRIBUTED, Sums, state,
};

/// The error each live lane may add to the peak while several move at once, bytes.
pub(super) const LANE_DRIFT: u64 = 64 << 10;

/// Sites with what was counted of them, without their stacks.
#[derive(Clone)]
pub(super) struct Counted {
    /// Their numbers in the recording, rising.
    pub(super) numbers: Vec<u32>,
    pub(super) sites: Vec<Site>,
}

impl Counted {
    /// Where the site of that number is.
    pub(super) fn place(&self, number: u32) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }
}

/// The sites that anything was counted of: a lane's rows are those of all or of a few of them.
pub(super) struct Places {
    /// Their numbers, rising.
    numbers: Vec<u32>,
    /// By number of the site: its place in `numbers`, if it has one.
    places: Vec<Option<NonZero<u32>>>,
}

impl Places {
    pub(super) fn of(recording: &Recording, peak: &Peak) -> Places {
        let sites = recording.sites.len().max(FIRST_SITE as usize);
        let mut places = vec![None; sites];
        let mut note = |site: u32| {
            if let Some(place) = places.get_mut(site as usize) {
                *place = Some(NonZero::<u32>::MIN);
            }
        };
        for lane in &recording.lanes {
            let counted = rows(lane).filter(|(_, row, _)| !is_empty(row));
            counted.for_each(|(site, ..)| note(site));
        }
        marked_rows(recording, peak).for_each(|row| note(row.site));
        let mut numbers = Vec::new();
        for (number, place) in (0..).zip(&mut places) {
            if place.is_some() {
                numbers.push(number);
                *place = NonZero::new(numbers.len() as u32);
            }
        }
        Places { numbers, places }
    }

    fn of_site(&self, number: u32) -> Option<usize> {
        let place = (*self.places.get(number as usize)?)?;
        Some(place.get() as usize - 1)
    }
}

/// Which moment the peak was, and how to read it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PeakAt {
    /// Rows saved for the header's epoch.
    Epoch,
    /// Now: nothing has fallen since live bytes reached or passed the last maximum.
    Now,
    /// The window that this mark ended.
    Mark(usize),
}

pub(super) fn net(row: &RowValue) -> (i64, i64) {
    (
        row.total_bytes.wrapping_sub(row.freed_bytes) as i64,
        row.total_blocks.wrapping_sub(row.freed_blocks) as i64,
    )
}

/// A row's net at the last maximum of the present window.
pub(super) fn at_epoch(row: &RowValue, header: &HeaderValue) -> (i64, i64) {
    // A row of a newer epoch was read later than the header: what it saved was the state before that.
    if row.clock >> CLOCK_SNAPSHOT_BITS >= header.clock >> CLOCK_SNAPSHOT_BITS {
        (row.saved_bytes, row.saved_blocks)
    } else {
        net(row)
    }
}

/// Every row of a lane that belongs to a site, with its position among the lane's rows.
fn rows(lane: &LaneColumns) -> impl Iterator<Item = (u32, &RowValue, Option<usize>)> {
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

/// When the peak was: the sum of its rows, the running maximum they are compared with, and the bound that applies.
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
    // NOTE: whoever finishes a recording looks at all lanes when nobody writes any more, and only then seals it: what
    // lanes did since their own last look is in the header's bound.
    let is_sealed = header.state == state::FINISHED && header.checksum != 0;
    if moved > 1 && !is_sealed {
        bound = bound.max(checked);
    }
    let mut peak = if now >= epoch {
        Peak {
            at: PeakAt::Now,
            bytes: now,
            register: now,
            bound,
            time_ns: header.elapsed_ns.max(header.peak_ns),
        }
    } else {
        Peak {
            at: PeakAt::Epoch,
            bytes: epoch,
            register: header.peak_bytes,
            bound,
            time_ns: header.peak_ns,
        }
    };
    for (index, mark) in recording.marks.iter().enumerate().rev() {
        let bytes: i64 = mark_rows(recording, mark)
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

/// How far a lane's net can have been above that of its last look since.
fn most_rise(lane: &LaneColumns) -> i64 {
    let (record, total) = (&lane.lane, lane.all.total_bytes);
    // Older recordings do not tell how much had been allocated by then.
    let is_told = record.checked_total_bytes != 0 || record.checked_blocks == 0;
    let allocated = total.wrapping_sub(record.checked_total_bytes);
    if is_told {
        allocated.min(LANE_DRIFT) as i64
    } else {
        LANE_DRIFT as i64
    }
}

pub(super) fn mark_rows<'a>(
    recording: &'a Recording,
    mark: &MarkValue,
) -> &'a [tracking_alloc_recording::MarkRowValue] {
    let range = usize::try_from(mark.first_row).ok().and_then(|first| {
        let rows = usize::try_from(mark.rows).ok()?;
        recording.mark_rows.get(first..first.checked_add(rows)?)
    });
    range.unwrap_or_default()
}

/// Whether a row never counted anything.
fn is_empty(row: &RowValue) -> bool {
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
) -> impl Iterator<Item = &'a tracking_alloc_recording::MarkRowValue> {
    let mark = match peak.at {
        PeakAt::Mark(index) => recording.marks.get(index),
        PeakAt::Epoch | PeakAt::Now => None,
    };
    let rows = mark.map(|mark| mark_rows(recording, mark));
    rows.unwrap_or_default().iter()
}

/// Sums over lanes that are facts only when all are added: they are signed until then.
#[derive(Clone, Default)]
struct Nets {
    live_bytes: i64,
    live_blocks: i64,
    peak_bytes: i64,
    peak_blocks: i64,
    impossible: bool,
}

/// Adds up the rows of every site; and how many sites have figures that cannot be, as they stand.
pub(super) fn count(recording: &Recording, peak: &Peak, places: Places) -> (Counted, u64) {
    let header = &recording.header;
    // What threads may have been apart at the peak.
    let drift = i64::from(header.most_lanes.max(header.lanes)).saturating_mul(LANE_DRIFT as i64);
    let length = places.numbers.len();
    let mut sites: Vec<Site> = repeat_with(Site::default).take(length).collect();
    let records: Vec<SizeRecords<'_>> = recording.lanes.iter().map(SizeRecords::of).collect();
    let impossible = on_parts(&mut sites, |start, sites| {
        // Each thread reads all rows, and counts those of its sites.
        let length = sites.len();
        let here = |site: u32| {
            let place = places.of_site(site)?.checked_sub(start)?;
            (place < length).then_some(place)
        };
        let mut nets: Vec<Nets> = repeat_with(Nets::default).take(length).collect();
        for (lane, records) in recording.lanes.iter().zip(&records) {
            for (site, row, index) in rows(lane) {
                let Some(place) = here(site).filter(|_| !is_empty(row)) else {
                    continue;
                };
                let (site, net_of_site) = (&mut sites[place], &mut nets[place]);
                site.figures.add(&from_sums(&row.sums()));
                let (live_bytes, live_blocks) = net(row);
                match records.distribution(row, index, header) {
                    Some(distribution) => site.distribution.add(&distribution),
                    None => net_of_site.impossible = true,
                }
                net_of_site.impossible |= is_impossible(row, header);
                let (bytes, blocks) = match peak.at {
                    PeakAt::Epoch => at_epoch(row, header),
                    PeakAt::Now => (live_bytes, live_blocks),
                    PeakAt::Mark(_) => (0, 0),
                };
                net_of_site.add((live_bytes, live_blocks), (bytes, blocks));
            }
        }
        for row in marked_rows(recording, peak) {
            if let Some(place) = here(row.site) {
                nets[place].add((0, 0), (row.peak_bytes, row.peak_blocks));
            }
        }
        let mut impossible = 0;
        for (site, net) in sites.iter_mut().zip(nets) {
            let freed_too_much = net.live_bytes < 0 || net.live_blocks < 0;
            let off_at_peak = net.peak_bytes < -drift || net.peak_blocks < -drift;
            impossible += u64::from(net.impossible || freed_too_much || off_at_peak);
            let figures = &mut site.figures;
            figures.live_bytes = net.live_bytes.max(0) as u64;
            figures.live_blocks = net.live_blocks.max(0) as u64;
            figures.peak_bytes = net.peak_bytes.max(0) as u64;
            figures.peak_blocks = net.peak_blocks.max(0) as u64;
        }
        impossible
    });
    let impossible = impossible.into_iter().sum();
    let numbers = places.numbers;
    (Counted { numbers, sites }, impossible)
}

impl Nets {
    fn add(&mut self, live: (i64, i64), peak: (i64, i64)) {
        self.live_bytes = self.live_bytes.saturating_add(live.0);
        self.live_blocks = self.live_blocks.saturating_add(live.1);
        self.peak_bytes = self.peak_bytes.saturating_add(peak.0);
        self.peak_blocks = self.peak_blocks.saturating_add(peak.1);
    }
}

/// No program allocates as much: the sums of what is below stay far from their limits.
const MOST_BYTES: u64 = 1 << 56;

/// Whether a row of a lane is one that no writer leaves. An event that a kill cut short may be half counted.
fn is_impossible(row: &RowValue, header: &HeaderValue) -> bool {
    let slack = u64::from(header.state != state::FINISHED);
    row.sums().iter().any(|word| *word > MOST_BYTES)
        || row.grows + row.shrinks > row.total_blocks + slack
        || row.temporary_blocks > row.freed_blocks + slack
        || slack == 0
            && (row.temporary_bytes > row.freed_bytes || row.copied_bytes > row.total_bytes)
}

/// The figures that sums tell, without what is live or was at the peak.
pub(super) fn from_sums(sums: &Sums) -> Figures {
    let [
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
    ] = *sums;
    Figures {
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
        ..Figures::default()
    }
}

/// Live bytes of each of the sites at each snapshot, oldest first.
pub(super) fn snapshots(recording: &Recording, places: &Places) -> Vec<Snapshot> {
    const SEEN: u64 = (1 << CLOCK_SNAPSHOT_BITS) - 1;
    let header = &recording.header;
    let mut taken: Vec<(u64, usize)> = header
        .snapshot_seq
        .iter()
        .enumerate()
        .filter(|(_, sequence)| **sequence != 0)
        .map(|(slot, sequence)| (*sequence, slot))
        .collect();
    taken.sort_unstable();
    let mut moments: Vec<(u64, Vec<i64>)> = taken
        .iter()
        .map(|(_, slot)| (header.snapshot_ns[*slot], vec![0; places.numbers.len()]))
        .collect();
    for lane in &recording.lanes {
        let mut saved: Vec<Option<&[i64; 16]>> = vec![None; lane.rows.len()];
        for snaps in &lane.snaps {
            if let Some(saved) = saved.get_mut(snaps.row as usize) {
                *saved = Some(&snaps.live_bytes);
            }
        }
        for (site, row, index) in rows(lane) {
            let Some(place) = places.of_site(site) else {
                continue;
            };
            for ((sequence, slot), (_, moment)) in taken.iter().zip(&mut moments) {
                let live = if row.clock & SEEN >= *sequence && index.is_some() {
                    index
                        .and_then(|index| saved[index])
                        .map_or(0, |live| live[*slot])
                } else {
                    net(row).0
                };
                if let Some(sum) = moment.get_mut(place) {
                    *sum = sum.saturating_add(live);
                }
            }
        }
    }
    moments
        .into_iter()
        .map(|(time_ns, sites)| Snapshot {
            time_ns,
            live_bytes: sites.into_iter().map(|live| live.max(0) as u64).collect(),
        })
        .collect()
}
