//! Reading: bytes to plain values. Treats every recording as hostile or half written.
//!
//! What cannot be read at all is an [`Error`]; what a killed writer may have left half done (a zero record, a
//! reference past the end) is kept as the empty value and counted in [`Recording::damage`].

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
use error::Kind;
use header::{read_header, verify};
use segments::Directory;
use std::path::Path;

/// Bytes of the longest name that is kept whole: paths have no more.
const LONGEST_NAME: usize = 4096;

/// A recording, parsed: plain values in the order of the file.
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
    /// What arenas allocated, by scope.
    pub arena_rows: Vec<ArenaRowValue>,
    /// The history of arenas, oldest first.
    pub arena_chunks: Vec<ArenaChunkValue>,
    /// Values put into arenas whose drop never runs, and the blocks they pointed to.
    pub arena_values: Vec<ArenaValuesValue>,
    /// Symbols added by `pack`.
    pub symbols: Option<Vec<u8>>,
    /// References that led nowhere, records that were never written: what a kill left, or worse.
    pub damage: u64,
    /// Bytes that were read as the recording: of a finished one those that its header names, else the whole file.
    pub file_bytes: u64,
    strings: Vec<u8>,
}

/// One lane's columns.
#[derive(Clone, Debug, Default)]
pub struct LaneColumns {
    /// Its number.
    pub number: u32,
    /// Its record.
    pub lane: LaneValue,
    /// All its events.
    pub all: RowValue,
    /// Its events at "(table full)".
    pub table_full: RowValue,
    /// Its events at "(unattributed)".
    pub unattributed: RowValue,
    /// Its rows, one a site.
    pub rows: Vec<RowValue>,
    /// Size records, referring to rows.
    pub sizes: Vec<SizesValue>,
    /// Snapshot records, referring to rows.
    pub snaps: Vec<SnapsValue>,
    /// How often its threads entered fields.
    pub visits: Vec<VisitsValue>,
}

impl Recording {
    /// Reads the recording at `path`, finished or not.
    ///
    /// # Errors
    /// When the file cannot be read, is not a recording, or is truncated, altered or of another version.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        Recording::read(&source::open_regular(path)?)
    }

    /// Reads a recording from any bytes.
    ///
    /// # Errors
    /// As [`open`](Recording::open).
    pub fn read<S: ReadAt + ?Sized>(source: &S) -> Result<Recording, Error> {
        let (first, file_bytes) = read_header(source)?;
        if first.checksum != 0 {
            verify(source, &first)?;
        }
        // NOTE: a live writer goes on meanwhile. The clock is read first, then rows, then the tables that rows refer
        // to: those only ever grow, and were published before the rows.
        let mut recording = Recording {
            header: first,
            file_bytes,
            ..Recording::default()
        };
        if first.state != state::ELSEWHERE {
            let directory = Directory::read(source, file_bytes, first.directory_len)?;
            recording.lanes = read_lanes(source, &directory)?;
        }
        let (header, file_bytes) = read_header(source)?;
        let directory = Directory::read(source, file_bytes, header.directory_len)?;
        recording.strings = directory.bytes(source, table::STRINGS, header.strings_len)?;
        if header.state == state::ELSEWHERE {
            let path = recording.string(header.live_path).unwrap_or_default();
            return Err(Error(Kind::Elsewhere(path)));
        }
        recording.modules =
            directory.records(source, table::MODULES, 0, header.modules_len.into())?;
        recording.frames = directory.records(source, table::FRAMES, 0, header.frames_len.into())?;
        recording.stacks = directory.records(source, table::STACKS, 0, header.stacks_len.into())?;
        recording.scopes = directory.records(source, table::SCOPES, 0, header.scopes_len.into())?;
        recording.sites = directory.records(source, table::SITES, 0, header.sites_len.into())?;
        recording.threads =
            directory.records(source, table::THREADS, 0, header.threads_len.into())?;
        recording.marks = directory.records(source, table::MARKS, 0, header.marks_len.into())?;
        recording.mark_rows =
            directory.records(source, table::MARK_ROWS, 0, header.mark_rows_len)?;
        recording.footprints =
            directory.records(source, table::FOOTPRINTS, 0, header.footprints_len.into())?;
        recording.footprint_nodes = directory.records(
            source,
            table::FOOTPRINT_NODES,
            0,
            header.footprint_nodes_len,
        )?;
        recording.arenas = directory.records(source, table::ARENAS, 0, header.arenas_len.into())?;
        recording.arena_rows =
            directory.records(source, table::ARENA_ROWS, 0, header.arena_rows_len)?;
        recording.arena_chunks =
            directory.records(source, table::ARENA_CHUNKS, 0, header.arena_chunks_len)?;
        recording.arena_values =
            directory.records(source, table::ARENA_VALUES, 0, header.arena_values_len)?;
        recording.timeline = read_timeline(source, &directory, &header)?;
        recording.symbols = directory.whole(source, table::SYMBOLS)?;
        recording.mend();
        Ok(recording)
    }

    /// The string at a reference; `None` when there is none (0, or it points nowhere). Invalid UTF-8 is replaced, and
    /// what is longer than any name is cut: one long string may be named by every record of a small file.
    pub fn string(&self, reference: u32) -> Option<String> {
        let bytes = self.string_bytes(reference)?;
        let kept = bytes.get(..LONGEST_NAME).unwrap_or(bytes);
        Some(String::from_utf8_lossy(kept).into_owned())
    }

    /// The bytes of the string at a reference.
    pub fn string_bytes(&self, reference: u32) -> Option<&[u8]> {
        let start = reference as usize;
        if start == 0 {
            return None;
        }
        let length = u32::from_le_bytes(
            self.strings
                .get(start..start.checked_add(4)?)?
                .try_into()
                .ok()?,
        );
        self.strings
            .get(start + 4..(start + 4).checked_add(length as usize)?)
    }
}

/// The current half of the timeline, up to its published length.
fn read_timeline<S: ReadAt + ?Sized>(
    source: &S,
    directory: &Directory,
    header: &HeaderValue,
) -> Result<Vec<PointValue>, Error> {
    let both: Vec<PointValue> =
        directory.records(source, table::TIMELINE, 0, 2 * TIMELINE_POINTS as u64)?;
    let start = if header.timeline_half == 0 {
        0
    } else {
        TIMELINE_POINTS
    };
    let length = (header.timeline_len as usize).min(TIMELINE_POINTS);
    let mut points: Vec<PointValue> = both.into_iter().skip(start).take(length).collect();
    // NOTE: a half that is being rewritten shows points out of order for a moment; keep those that go forward.
    let mut last = 0;
    points.retain(|point| {
        let forward = point.time_ns >= last;
        if forward {
            last = point.time_ns;
        }
        forward
    });
    Ok(points)
}

/// Every lane that was used, with its rows up to their published length.
fn read_lanes<S: ReadAt + ?Sized>(
    source: &S,
    directory: &Directory,
) -> Result<Vec<LaneColumns>, Error> {
    let all = MAX_LANES as u64;
    let lanes: Vec<LaneValue> = directory.records(source, table::LANES, 0, all)?;
    let fixed: Vec<RowValue> = directory.records(source, table::FIXED_ROWS, 0, 3 * all)?;
    let mut columns = Vec::new();
    for (number, lane) in (0u32..).zip(lanes) {
        if lane.kind == 0 {
            continue;
        }
        let fixed_row = |which: usize| {
            fixed
                .get(3 * number as usize + which)
                .copied()
                .unwrap_or_default()
        };
        columns.push(LaneColumns {
            number,
            lane,
            all: fixed_row(0),
            table_full: fixed_row(1),
            unattributed: fixed_row(2),
            rows: directory.records(source, table::ROWS, number, lane.rows_len.into())?,
            sizes: directory.records(source, table::SIZES, number, lane.sizes_len.into())?,
            snaps: directory.records(source, table::SNAPS, number, lane.snaps_len.into())?,
            visits: directory.records(source, table::VISITS, number, lane.visits_len.into())?,
        });
    }
    Ok(columns)
}
