//! Reading: bytes to plain values. Treats every recording as hostile or half written.
//!
//! What cannot be read at all is an [`Error`]; what a killed writer may have left half done (a zero record, a
//! reference past the end) is kept as the empty value and counted in [`Recording::damage`].

mod error;
mod segments;
mod source;

pub use error::Error;
pub use source::ReadAt;

use crate::checksum::Checksum;
use crate::layout::*;
use crate::words::Record;
use error::Kind;
use segments::Directory;
use std::fs::File;
use std::path::Path;

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
    /// What arenas handed out, by scope.
    pub arena_rows: Vec<ArenaRowValue>,
    /// The history of arenas, oldest first.
    pub arena_chunks: Vec<ArenaChunkValue>,
    /// Values put into arenas whose drop never runs, and the blocks they pointed to.
    pub arena_values: Vec<ArenaValuesValue>,
    /// Symbols added by `pack`.
    pub symbols: Option<Vec<u8>>,
    /// References that led nowhere, records that were never written: what a kill left, or worse.
    pub damage: u64,
    /// Size of the file, bytes.
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
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(Error(Kind::Foreign));
        }
        Recording::read(&File::open(path)?)
    }

    /// Reads a recording from any bytes.
    ///
    /// # Errors
    /// As [`open`](Recording::open).
    pub fn read<S: ReadAt + ?Sized>(source: &S) -> Result<Recording, Error> {
        let (first, file_bytes) = read_header(source)?;
        if first.checksum != 0 {
            verify(source, file_bytes, &first)?;
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
        recording.strings = directory.bytes(source, table::STRINGS, 0, header.strings_len)?;
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

    /// The string at a reference; `None` when there is none (0, or it points nowhere). Invalid UTF-8 is replaced.
    pub fn string(&self, reference: u32) -> Option<String> {
        self.string_bytes(reference)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
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

    /// Makes references safe to follow: a child's parent is smaller, every index exists. Counts what it had to change.
    fn mend(&mut self) {
        let mut damage = 0;
        let mut bound = |index: &mut u32, limit: usize| {
            if *index != 0 && *index as usize >= limit {
                *index = 0;
                damage += 1;
            }
        };
        let (frames, stacks, scopes, modules) = (
            self.frames.len(),
            self.stacks.len(),
            self.scopes.len(),
            self.modules.len(),
        );
        self.frames
            .iter_mut()
            .for_each(|frame| bound(&mut frame.module, modules));
        for (index, stack) in self.stacks.iter_mut().enumerate() {
            bound(&mut stack.parent, index.max(1));
            bound(&mut stack.frame, frames);
        }
        for (index, scope) in self.scopes.iter_mut().enumerate() {
            bound(&mut scope.parent, index.max(1));
        }
        for site in &mut self.sites {
            bound(&mut site.stack, stacks);
            bound(&mut site.scope, scopes);
        }
        let sites = self.sites.len();
        for column in &mut self.lanes {
            let rows = column.rows.len();
            column
                .rows
                .iter_mut()
                .for_each(|row| bound(&mut row.site, sites));
            column
                .sizes
                .iter_mut()
                .for_each(|sizes| bound(&mut sizes.row, rows));
            column
                .snaps
                .iter_mut()
                .for_each(|snaps| bound(&mut snaps.row, rows));
            column
                .visits
                .iter_mut()
                .for_each(|visits| bound(&mut visits.scope, scopes));
        }
        let arenas = self.arenas.len();
        for row in &mut self.arena_rows {
            bound(&mut row.arena, arenas);
            bound(&mut row.scope, scopes);
        }
        for chunk in &mut self.arena_chunks {
            bound(&mut chunk.arena, arenas);
            bound(&mut chunk.site, sites);
        }
        for values in &mut self.arena_values {
            bound(&mut values.arena, arenas);
            bound(&mut values.scope, scopes);
            if values.site != 0 && values.site as usize >= sites {
                // Blocks of nowhere are not values: nothing is counted.
                (values.count, values.bytes) = (0, 0);
            }
            bound(&mut values.site, sites);
        }
        self.mark_rows
            .iter_mut()
            .for_each(|row| bound(&mut row.site, sites));
        self.damage += damage;
        self.mend_footprints();
    }

    /// The same for the trees of footprints, each of which counts its nodes from its own first.
    fn mend_footprints(&mut self) {
        let nodes = self.footprint_nodes.len() as u64;
        for footprint in &mut self.footprints {
            let end = footprint.first_node.checked_add(footprint.nodes);
            let Some(end) = end.filter(|end| *end <= nodes) else {
                (footprint.first_node, footprint.nodes) = (0, 0);
                self.damage += 1;
                continue;
            };
            let own = footprint.first_node as usize..end as usize;
            let own = self.footprint_nodes.get_mut(own).unwrap_or_default();
            for (index, node) in own.iter_mut().enumerate() {
                if node.parent as usize >= index.max(1) {
                    node.parent = 0;
                    self.damage += 1;
                }
            }
        }
    }
}

/// Reads and checks the header; with it the length of the file.
fn read_header<S: ReadAt + ?Sized>(source: &S) -> Result<(HeaderValue, u64), Error> {
    if source.byte_len()? == 0 {
        return Err(Error(Kind::Empty));
    }
    let mut bytes = vec![0; HEADER_BYTES as usize];
    let found = source.fill_at(&mut bytes, 0)? as u64;
    let header = HeaderValue::parse(&bytes);
    if header.magic != MAGIC {
        return Err(Error(Kind::Foreign));
    }
    // Magic, version and the header's size are where they are in every version.
    if found < 16 {
        return Err(Error(Kind::Truncated {
            needed: HEADER_BYTES,
            found,
        }));
    }
    if !(OLDEST_VERSION..=VERSION).contains(&header.version) {
        return Err(Error(Kind::Version {
            found: header.version,
        }));
    }
    // NOTE: asked after the header was read, since a live file grows before its header says so.
    let file_bytes = source.byte_len()?;
    if found < HEADER_BYTES || header.file_bytes > file_bytes {
        return Err(Error(Kind::Truncated {
            needed: header.file_bytes.max(HEADER_BYTES),
            found: file_bytes,
        }));
    }
    if u64::from(header.header_bytes) != HEADER_BYTES {
        return Err(Error::damaged(format!(
            "its header claims {} bytes",
            header.header_bytes
        )));
    }
    if ![state::RUNNING, state::FINISHED, state::ELSEWHERE].contains(&header.state) {
        return Err(Error::damaged(format!(
            "its state is {}, which means nothing",
            header.state
        )));
    }
    Ok((header, file_bytes))
}

/// Compares a finished recording with its checksum.
fn verify<S: ReadAt + ?Sized>(
    source: &S,
    file_bytes: u64,
    header: &HeaderValue,
) -> Result<(), Error> {
    if header.file_bytes != file_bytes {
        return Err(Error::damaged(format!(
            "{file_bytes} bytes where it was finished with {}",
            header.file_bytes
        )));
    }
    let found = file_checksum(source, file_bytes)?;
    if found != header.checksum {
        return Err(Error::damaged("its checksum does not match its contents"));
    }
    Ok(())
}

/// The checksum of a whole recording, its checksum word taken as zero.
///
/// # Errors
/// When the source cannot be read.
pub fn file_checksum<S: ReadAt + ?Sized>(source: &S, file_bytes: u64) -> Result<u64, Error> {
    const PIECE: usize = 1 << 20;
    let mut checksum = Checksum::default();
    let mut buffer = vec![0; PIECE];
    let mut offset = 0;
    while offset < file_bytes {
        let length = (file_bytes - offset).min(PIECE as u64) as usize;
        let found = source.fill_at(&mut buffer[..length], offset)?;
        if found < length {
            return Err(Error(Kind::Truncated {
                needed: file_bytes,
                found: offset + found as u64,
            }));
        }
        if offset == 0
            && let Some(bytes) = buffer.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8)
        {
            bytes.fill(0);
        }
        checksum.add_bytes(&buffer[..length]);
        offset += length as u64;
    }
    Ok(checksum.finish())
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
    let all = LANES as u64 + 1;
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

/// Where the checksum lies in the file.
pub const CHECKSUM_OFFSET: usize = std::mem::offset_of!(Header, checksum);
