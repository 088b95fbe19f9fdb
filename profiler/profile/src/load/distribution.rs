//! Turns a lane's rows and size records into sizes and lifetimes of blocks.

use crate::profile::Distribution;
use rustc_hash::FxHashMap;
use tracking_alloc_recording::{
    HeaderValue, LaneColumns, RowValue, SIZE_CLASSES, SIZE_COUNT_BITS, SizesValue, arch,
    class_bounds, growth, size_class, state,
};

/// The size records of one lane, by row.
pub(super) struct SizeRecords<'a>(FxHashMap<u32, Vec<&'a SizesValue>>);

impl<'a> SizeRecords<'a> {
    pub(super) fn of(lane: &'a LaneColumns) -> Self {
        let mut records: FxHashMap<u32, Vec<&SizesValue>> = FxHashMap::default();
        for record in &lane.sizes {
            records.entry(record.row).or_default().push(record);
        }
        SizeRecords(records)
    }

    /// Returns the sizes and lifetimes of a row's blocks, with the row's index in the lane. Returns
    /// `None` for a row that no writer leaves like this. If the program still runs, the counters
    /// that are read last may include more events.
    pub(super) fn distribution(
        &self,
        row: &RowValue,
        index: Option<usize>,
        header: &HeaderValue,
    ) -> Option<Distribution> {
        let is_finished = header.state == state::FINISHED;
        let mut found = Distribution::default();
        if let Some(index) = index {
            match self.0.get(&(index as u32)) {
                Some(records) => add_sizes(&mut found, records)?,
                None => {
                    if let Some((class, blocks)) = only_size(row, header) {
                        found.add_size(class, blocks);
                    }
                }
            }
            if is_finished && found.sized_blocks() > row.total_blocks {
                return None;
            }
        }
        found.lifetime = row.lifetime;
        found.lifetime_blocks = row.lifetime_blocks;
        found.freed_elsewhere = row.freed_elsewhere;
        if is_finished && found.known_blocks() > row.freed_blocks {
            return None;
        }
        Some(found)
    }
}

fn add_sizes(to: &mut Distribution, records: &[&SizesValue]) -> Option<()> {
    let pairs = records.iter().flat_map(|record| record.pairs);
    for pair in pairs.filter(|pair| *pair != 0) {
        let class = u16::try_from(pair >> SIZE_COUNT_BITS).ok()?;
        if usize::from(class) >= SIZE_CLASSES {
            return None;
        }
        to.add_size(class, pair & ((1 << SIZE_COUNT_BITS) - 1));
    }
    Some(())
}

/// The class of all blocks of a row without size records: a site has none until it leaves its first
/// class. Nothing where a record may be missing, or sizes are not recorded at all.
fn only_size(row: &RowValue, header: &HeaderValue) -> Option<(u16, u64)> {
    let grew = header.growth_ended == growth::OPEN && header.growth_errno == 0;
    if header.arch == arch::WASM32 || !grew || row.total_blocks == 0 {
        return None;
    }
    let class = size_class(row.total_bytes / row.total_blocks);
    let (low, high) = class_bounds(class);
    let bytes = |each: u64| u128::from(each) * u128::from(row.total_blocks);
    let is_one = (bytes(low)..=bytes(high)).contains(&u128::from(row.total_bytes));
    is_one.then_some((class, row.total_blocks))
}
