//! Reads recordings for tests: only sums over the rows of a recording.

use std::collections::BTreeMap;
use std::path::Path;
use tracking_alloc_recording::{Recording, RowValue};

/// Sums over the rows of the whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Bytes allocated.
    pub total_bytes: u64,
    /// Blocks allocated.
    pub total_blocks: u64,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// Blocks freed.
    pub freed_blocks: u64,
    /// Bytes live at the peak.
    pub peak_bytes: i64,
    /// Blocks live at the peak.
    pub peak_blocks: i64,
}

impl Sums {
    fn add(&mut self, row: &RowValue, epoch: u64) {
        self.total_bytes = self.total_bytes.wrapping_add(row.total_bytes);
        self.total_blocks = self.total_blocks.wrapping_add(row.total_blocks);
        self.freed_bytes = self.freed_bytes.wrapping_add(row.freed_bytes);
        self.freed_blocks = self.freed_blocks.wrapping_add(row.freed_blocks);
        let saved = row.clock.epoch() >= epoch;
        self.peak_bytes += if saved {
            row.saved_bytes
        } else {
            net(row.total_bytes, row.freed_bytes)
        };
        self.peak_blocks += if saved {
            row.saved_blocks
        } else {
            net(row.total_blocks, row.freed_blocks)
        };
    }

    /// Returns the bytes live at exit.
    pub fn live_bytes(&self) -> i64 {
        net(self.total_bytes, self.freed_bytes)
    }

    /// Returns the blocks live at exit.
    pub fn live_blocks(&self) -> i64 {
        net(self.total_blocks, self.freed_blocks)
    }
}

impl std::ops::AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.total_bytes = self.total_bytes.wrapping_add(other.total_bytes);
        self.total_blocks = self.total_blocks.wrapping_add(other.total_blocks);
        self.freed_bytes = self.freed_bytes.wrapping_add(other.freed_bytes);
        self.freed_blocks = self.freed_blocks.wrapping_add(other.freed_blocks);
        self.peak_bytes += other.peak_bytes;
        self.peak_blocks += other.peak_blocks;
    }
}

fn net(total: u64, freed: u64) -> i64 {
    total.wrapping_sub(freed) as i64
}

/// Opens a recording.
///
/// # Panics
/// If it cannot be read.
pub fn open(path: &Path) -> Recording {
    Recording::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the sum over all rows: sites, "(table full)", "(unattributed)".
pub fn sums(recording: &Recording) -> Sums {
    let epoch = recording.header.clock.epoch();
    let mut sums = Sums::default();
    for column in &recording.lanes {
        column
            .rows
            .iter()
            .chain([&column.table_full, &column.unattributed])
            .for_each(|row| sums.add(row, epoch));
    }
    sums
}

/// Returns the sum over the rows of all events of each lane, which must equal [`sums`].
pub fn sums_of_lanes(recording: &Recording) -> Sums {
    let epoch = recording.header.clock.epoch();
    let mut sums = Sums::default();
    for column in &recording.lanes {
        sums.add(&column.all, epoch);
        sums.add(&column.unattributed, epoch);
    }
    sums
}

/// Returns the sums per scope, in the order of [`Recording::scopes`], each without the scopes
/// inside it.
pub fn sums_by_scope(recording: &Recording) -> Vec<Sums> {
    let epoch = recording.header.clock.epoch();
    let mut sums = vec![Sums::default(); recording.scopes.len()];
    for row in recording.lanes.iter().flat_map(|column| &column.rows) {
        let site = recording.sites.get(row.site as usize);
        let scope = site.map_or(0, |site| site.scope as usize);
        if let Some(sums) = sums.get_mut(scope) {
            sums.add(row, epoch);
        }
    }
    sums
}

/// Returns the sums per phase: the scopes of that name, for every site in them.
pub fn sums_in_scope(recording: &Recording, name: &str) -> Sums {
    let mut found = Sums::default();
    for (scope, sums) in recording.scopes.iter().zip(sums_by_scope(recording)) {
        if recording.string(scope.name).as_deref() == Some(name) {
            found += sums;
        }
    }
    found
}

/// Returns the figures between the marks "begin" and "end", by their names in the report's JSON.
/// `peak_error_bytes` is present if several threads allocated around the peak. It is the error
/// bound of the peak.
///
/// # Errors
/// If the recording cannot be read or has no such marks.
pub fn window(path: &Path) -> Result<BTreeMap<String, u64>, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let recording = Recording::open(path).map_err(|error| told(&error))?;
    let find = |name: &str| {
        let named = |id| recording.string(id).as_deref() == Some(name);
        let mark = recording.marks.iter().find(|mark| named(mark.name));
        mark.ok_or_else(|| {
            told(&format!(
                "no mark is called {name:?}: was it recorded to the end?"
            ))
        })
    };
    let (begin, end) = (find("begin")?, find("end")?);
    let between = end.sums.zip(begin.sums, u64::wrapping_sub);
    let (live_bytes, live_blocks) = between.net();
    // The mark's peak is that of the window; what lived before it is not the window's.
    let (bytes_before, blocks_before) = begin.sums.net();
    let positive = |net: i64| net.max(0) as u64;
    let mut figures = BTreeMap::from(
        [
            ("total_bytes", between.total_bytes),
            ("total_blocks", between.total_blocks),
            ("live_bytes", positive(live_bytes)),
            ("live_blocks", positive(live_blocks)),
            (
                "peak_bytes",
                positive(end.peak_bytes.saturating_sub(bytes_before)),
            ),
            (
                "peak_blocks",
                positive(end.peak_blocks.saturating_sub(blocks_before)),
            ),
            ("grows", between.grows),
            ("shrinks", between.shrinks),
            ("copied_bytes", between.copied_bytes),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let doubt = end.peak_bound_bytes.saturating_sub(end.peak_bytes);
    if doubt > 0 {
        figures.insert("peak_error_bytes".to_owned(), doubt as u64);
    }
    Ok(figures)
}
