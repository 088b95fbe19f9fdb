//! Reading: from bytes to plain values. Every recording is treated as hostile or half written.
//!
//! An unreadable recording is an [`Error`]. Parts that a killed writer may have left unfinished (a
//! zero record, a reference past the end) become the empty value and are counted in
//! [`Recording::damage`].

mod error;
mod header;
mod limits;
mod mend;
mod pieces;
mod segments;
mod source;

pub use error::Error;
pub use header::{file_checksum, read_bytes};
pub use source::ReadAt;

use crate::layout::*;
use header::{read_header, verify};
use segments::Directory;
use std::path::Path;

/// Maximum length of a name in bytes; longer names are truncated. No path is longer.
const LONGEST_NAME: usize = 4096;

/// A parsed recording: plain values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The header.
    pub header: HeaderValue,
    /// Loaded images.
    pub modules: Vec<ModuleValue>,
    /// Return addresses.
    pub frames: Vec<FrameValue>,
    /// Prefix tree of stacks; every parent is smaller than its child.
    pub stacks: Vec<StackValue>,
    /// Phases and fields; every parent is smaller than its child.
    pub scopes: Vec<ScopeValue>,
    /// Sites.
    pub sites: Vec<SiteValue>,
    /// Lanes that were used.
    pub lanes: Vec<LaneColumns>,
    /// Threads that ended, by name.
    pub threads: Vec<ThreadNameValue>,
    /// The timeline, oldest first.
    pub timeline: Vec<PointValue>,
    /// Marks, oldest first.
    pub marks: Vec<MarkValue>,
    /// Rows of marks.
    pub mark_rows: Vec<MarkRowValue>,
    /// Measured values, oldest first; their nodes exist.
    pub footprints: Vec<FootprintValue>,
    /// Nodes of footprints; within one, every parent is smaller than its child.
    pub footprint_nodes: Vec<FootprintNodeValue>,
    /// Arenas, by name.
    pub arenas: Vec<ArenaValue>,
    /// Allocations of arenas, by scope.
    pub arena_rows: Vec<ArenaRowValue>,
    /// The history of arenas, oldest first.
    pub arena_chunks: Vec<ArenaChunkValue>,
    /// Values in arenas whose drop never runs, and the blocks to which they pointed.
    pub arena_values: Vec<ArenaValuesValue>,
    /// The checkpoints, by slot.
    pub checkpoint_moments: Vec<CheckpointMomentValue>,
    /// Failed requests, by site.
    pub failed_requests: Vec<FailedRequestValue>,
    /// The recordings whose sum a merged recording is.
    pub merged: Vec<MergedPartValue>,
    /// Symbols added by `pack`.
    pub symbols: Option<Vec<u8>>,
    /// Snapshots of the heap added by an attached reader.
    pub snapshots: Option<Vec<u8>>,
    /// Names of generated code, as lines of a map of perf.
    pub generated_names: Option<Vec<u8>>,
    /// Number of dangling references and unwritten records, left by a killed writer or by damage.
    pub damage: u64,
    /// Length of the recording in bytes: from the header if it is finished, else the whole file.
    pub file_bytes: u64,
    strings: Vec<u8>,
}

/// The counters of one lane.
#[derive(Clone, Debug, Default)]
pub struct LaneColumns {
    /// The lane's number.
    pub number: u32,
    /// The lane's record.
    pub lane: LaneValue,
    /// All its events.
    pub all: RowValue,
    /// Its events at "(table full)".
    pub table_full: RowValue,
    /// Its events at "(unattributed)".
    pub unattributed: RowValue,
    /// Its rows, one per site.
    pub rows: Vec<RowValue>,
    /// Size records, referring to rows.
    pub sizes: Vec<SizesValue>,
    /// Checkpoint records, referring to rows.
    pub checkpoints: Vec<CheckpointsValue>,
    /// The samples behind its rows, referring to rows.
    pub samples: Vec<SamplesValue>,
    /// The number of times its threads entered fields.
    pub visits: Vec<VisitsValue>,
}

impl LaneColumns {
    /// Returns the net bytes and blocks of the row with an index at the checkpoint in a slot.
    pub fn at_checkpoint(&self, index: usize, slot: usize, sequence: u64) -> (i64, i64) {
        let Some(row) = self.rows.get(index) else {
            return (0, 0);
        };
        if row.clock.checkpoint() < sequence {
            // Unchanged since then.
            return row.sums().net();
        }
        let mut records = self.checkpoints.iter();
        let record = records.find(|record| {
            let first = record.first_slot as usize;
            record.row as usize == index && (first..first + CHECKPOINT_GROUP).contains(&slot)
        });
        // A row without a record did not exist then.
        record.map_or((0, 0), |record| record.at(slot))
    }
}

impl CheckpointsValue {
    /// Returns the net bytes and blocks at the checkpoint in a slot of this group.
    pub fn at(&self, slot: usize) -> (i64, i64) {
        let place = slot.wrapping_sub(self.first_slot as usize);
        match (self.live_bytes.get(place), self.live_blocks.get(place)) {
            (Some(bytes), Some(blocks)) => (*bytes, *blocks),
            _ => (0, 0),
        }
    }
}

impl Recording {
    /// Reads the recording at `path`, finished or not.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a recording, or is truncated, altered or
    /// of another version.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        Recording::read(&source::open_regular(path)?)
    }

    /// Reads a recording from any bytes.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](Recording::open).
    pub fn read<S: ReadAt + ?Sized>(source: &S) -> Result<Recording, Error> {
        let source: &dyn ReadAt = &source;
        let (first, file_bytes) = read_header(source)?;
        if first.checksum != 0 {
            verify(source, &first)?;
        }
        // NOTE: a live program writes at the same time. So read the clock first, then rows, then
        // the tables that rows refer to: these only grow, and were published before the rows.
        let directory = Directory::read(source, file_bytes, &first)?;
        let moments = read_moments(&directory)?;
        let lanes = read_lanes(&directory)?;
        // A slot that was reused meanwhile has the values of another checkpoint.
        let mut checkpoint_moments = read_moments(&directory)?;
        for (moment, then) in checkpoint_moments.iter_mut().zip(moments) {
            if *moment != then {
                *moment = CheckpointMomentValue::default();
            }
        }
        let (header, now_bytes) = read_header(source)?;
        let directory = Directory::read(source, now_bytes, &header)?;
        let mut recording = Recording {
            header: first,
            file_bytes,
            lanes,
            checkpoint_moments,
            strings: directory.bytes(table::STRINGS, header.strings_len)?,
            ..Recording::default()
        };
        recording.modules = directory.table(&header)?;
        recording.frames = directory.table(&header)?;
        recording.stacks = directory.table(&header)?;
        recording.scopes = directory.table(&header)?;
        recording.sites = directory.table(&header)?;
        recording.threads = directory.table(&header)?;
        recording.marks = directory.table(&header)?;
        recording.mark_rows = directory.table(&header)?;
        recording.footprints = directory.table(&header)?;
        recording.footprint_nodes = directory.table(&header)?;
        recording.arenas = directory.table(&header)?;
        recording.arena_rows = directory.table(&header)?;
        recording.arena_chunks = directory.table(&header)?;
        recording.arena_values = directory.table(&header)?;
        recording.failed_requests = directory.table(&header)?;
        recording.timeline = read_timeline(&directory, &header)?;
        recording.merged = directory.all(table::MERGED)?;
        recording.symbols = directory.whole(table::SYMBOLS)?;
        recording.snapshots = directory.whole(table::SNAPSHOTS)?;
        recording.generated_names = directory.whole(table::GENERATED_NAMES)?;
        recording.mend();
        Ok(recording)
    }

    /// Returns the string at a reference; `None` if there is none (0, or a dangling reference).
    /// Invalid UTF-8 is replaced, and text longer than any name is truncated, because every record
    /// of a small file may refer to the same long string.
    pub fn string(&self, reference: u32) -> Option<String> {
        let bytes = self.string_bytes(reference)?;
        let kept = bytes.get(..LONGEST_NAME).unwrap_or(bytes);
        Some(String::from_utf8_lossy(kept).into_owned())
    }

    /// Returns the bytes of the string at a reference.
    pub fn string_bytes(&self, reference: u32) -> Option<&[u8]> {
        let start = (reference != 0).then_some(reference as usize)?;
        let (length, rest) = self.strings.get(start..)?.split_first_chunk()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }
}

/// Returns the current half of the timeline, up to its published length.
fn read_timeline(
    directory: &Directory<'_>,
    header: &HeaderValue,
) -> Result<Vec<PointValue>, Error> {
    let both = directory.records((table::TIMELINE, 0), 2 * TIMELINE_POINTS as u64)?;
    let start = match header.timeline_half {
        0 => 0,
        _ => TIMELINE_POINTS,
    };
    let length = (header.timeline_len as usize).min(TIMELINE_POINTS);
    let mut points: Vec<PointValue> = both.into_iter().skip(start).take(length).collect();
    // NOTE: while a half is being rewritten, its points may be out of order; keep those that go
    // forward.
    let mut last = 0;
    points.retain(|point| {
        let is_forward = point.time_ns >= last;
        last = last.max(point.time_ns);
        is_forward
    });
    Ok(points)
}

/// Returns the checkpoints, by slot.
fn read_moments(directory: &Directory<'_>) -> Result<Vec<CheckpointMomentValue>, Error> {
    directory.records((table::CHECKPOINT_MOMENTS, 0), CHECKPOINT_SLOTS as u64)
}

/// Returns every lane that was used, with its rows up to their published length.
fn read_lanes(directory: &Directory<'_>) -> Result<Vec<LaneColumns>, Error> {
    let all = MAX_LANES as u64;
    let lanes: Vec<LaneValue> = directory.records((table::LANES, 0), all)?;
    let fixed: Vec<RowValue> = directory.records((table::FIXED_ROWS, 0), 3 * all)?;
    let mut columns = Vec::new();
    for (number, lane) in (0u32..).zip(lanes) {
        if lane.kind == 0 {
            continue;
        }
        let fixed_row = |which| {
            let row = fixed.get(3 * number as usize + which);
            row.copied().unwrap_or_default()
        };
        columns.push(LaneColumns {
            number,
            lane,
            all: fixed_row(0),
            table_full: fixed_row(1),
            unattributed: fixed_row(2),
            rows: directory.records((table::ROWS, number), lane.rows_len)?,
            sizes: directory.records((table::SIZES, number), lane.sizes_len)?,
            checkpoints: directory.records((table::CHECKPOINTS, number), lane.checkpoints_len)?,
            samples: directory.records((table::SAMPLES, number), lane.samples_len)?,
            visits: directory.records((table::VISITS, number), lane.visits_len)?,
        });
    }
    Ok(columns)
}
