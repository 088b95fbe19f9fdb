//! Debug information to source frames: functions, inlined ones included, with file and line.
//!
//! Own walk over `gimli` rather than `addr2line`, for three reasons: addr2line shows the linkage
//! name *or* `DW_AT_name`, we need both (only the second has the generics of functions inlined
//! under legacy mangling); it recurses as deep as a file asks; and one pass for all addresses of a
//! unit, units spread over the cores, is what keeps a 100 MB binary at a second or two. The tests
//! hold it to addr2line's answers.
//!
//! Nothing here opens a file: [`split`] reads the files `locate` found.

mod abbreviations;
mod functions;
mod lines;
mod split;
mod units;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::mpsc;

use gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};

use super::SourceFrame;
use super::image;
use super::table::Table;
use crate::parallel::is_alone;

pub(super) use split::SplitFiles;

/// All readers borrow from buffers that outlive the walk.
pub type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// Units of work (entries, line rows, range entries) one file may cost; a file that asks for more
/// is built to keep us busy.
const MAX_WORK: usize = 4_000_000_000;
/// The limit for each byte of debug information (real files need about half a unit), for each
/// address, and for any file.
const WORK_OF_A_BYTE: usize = 8;
const WORK_OF_AN_ADDRESS: usize = 256;
const LITTLE_WORK: usize = 1_000_000;
/// No more threads than this, however many cores there are: memory traffic is the limit.
const MAX_THREADS: usize = 8;

/// The work left, shared by all threads of a file.
struct Budget(AtomicI64);

impl Budget {
    fn new(bytes: usize, addresses: usize) -> Budget {
        let work = bytes
            .saturating_mul(WORK_OF_A_BYTE)
            .saturating_add(addresses.saturating_mul(WORK_OF_AN_ADDRESS))
            .saturating_add(LITTLE_WORK);
        Budget(AtomicI64::new(work.min(MAX_WORK) as i64))
    }

    /// Allows what `bytes` more of debug information may cost.
    fn add(&self, bytes: usize) {
        let work = bytes.saturating_mul(WORK_OF_A_BYTE).min(MAX_WORK);
        self.0.fetch_add(work as i64, Ordering::Relaxed);
    }

    /// Takes `work` away; false when there is none left and the caller has to stop.
    fn take(&self, work: usize) -> bool {
        self.0
            .fetch_sub(work.min(MAX_WORK) as i64, Ordering::Relaxed)
            > 0
    }
}

/// The results for the addresses of one file.
#[derive(Default)]
pub(super) struct FileFrames {
    /// In the order of the addresses; innermost first; empty where no debug information covers the
    /// address.
    pub(super) chains: Vec<Vec<SourceFrame>>,
    /// Split debug information that was referred to and not found: file names, at most a few.
    pub(super) missing_split: Vec<String>,
    /// The file asked for unreasonable work and was given up half-way, or a reader failed.
    pub(super) gave_up: bool,
}

/// Locations, macros, indexes of names, type units and whatever else gimli may ask for are never
/// read.
fn is_read(id: SectionId) -> bool {
    matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    )
}

/// Calls `read` with the debug information of a file, and with its size in bytes.
///
/// # Errors
/// Returns a sentence if the sections cannot be read at all.
pub(super) fn with_sections<R>(
    mut reader: image::Sections<'_, '_>,
    read: impl FnOnce(&gimli::Dwarf<Slice<'_>>, usize) -> R,
) -> Result<R, String> {
    let sections = load(&mut reader)?;
    let endian = reader.endian();
    let mut dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    prepare(&mut dwarf)?;
    Ok(read(&dwarf, reader.bytes))
}

fn load<'a>(reader: &mut image::Sections<'_, 'a>) -> Result<DwarfSections<Cow<'a, [u8]>>, String> {
    DwarfSections::load(|id| {
        if is_read(id) {
            reader.read(id.name())
        } else {
            Ok(Cow::default())
        }
    })
}

fn prepare(dwarf: &mut gimli::Dwarf<Slice<'_>>) -> Result<(), String> {
    if abbreviations::overlap(dwarf) {
        return Err("its abbreviations overlap".to_owned());
    }
    // Units that name the same table share it.
    dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::All);
    Ok(())
}

/// Resolves sorted, distinct addresses against the debug information of a file.
///
/// `table` gives linkage names where the debug information has none (line-tables-only). `progress`
/// is called on this thread with the units done and the units there are.
///
/// # Errors
/// Returns a sentence if the sections cannot be read at all.
pub(super) fn resolve(
    mut reader: image::Sections<'_, '_>,
    table: &Table<'_>,
    split: &SplitFiles,
    addresses: &[u64],
    progress: &dyn Fn(usize, usize),
) -> Result<FileFrames, String> {
    let sections = load(&mut reader)?;
    let endian = reader.endian();
    let mut dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    prepare(&mut dwarf)?;
    let budget = Budget::new(reader.bytes, addresses.len());
    let mut index = units::Index::build(&dwarf, reader.bytes, &budget);
    let wanted = index.units_of(addresses, &budget);
    let split_units = index.split_units(&wanted);
    let halves = split::Halves::load(split, &index, &split_units, &budget);
    let missing_split = halves.attach(&mut index, &split_units);

    let mut found = FileFrames {
        chains: vec![Vec::new(); addresses.len()],
        missing_split,
        gave_up: index.gave_up,
    };
    // The unit each address was answered by: an address in two units (identical code folded) goes
    // to the first.
    let mut answered_by = vec![usize::MAX; addresses.len()];
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.clamp(1, MAX_THREADS).min(wanted.len().max(1));
    let read_units = |sender: mpsc::Sender<_>| {
        while let Some((unit, positions)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let inside: Vec<u64> = positions.iter().map(|&at| addresses[at]).collect();
            let chains = functions::resolve_unit(&index, *unit, &inside, table, &budget);
            if sender.send((*unit, positions, chains)).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = if is_alone() {
            read_units(sender.clone());
            0
        } else {
            threads
        };
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let sender = sender.clone();
                let read_units = &read_units;
                scope.spawn(move || read_units(sender))
            })
            .collect();
        drop(sender);
        for (done, (unit, positions, chains)) in results.into_iter().enumerate() {
            for (&position, chain) in positions.iter().zip(chains) {
                if !chain.is_empty() && unit < answered_by[position] {
                    answered_by[position] = unit;
                    found.chains[position] = chain;
                }
            }
            progress(done + 1, wanted.len());
        }
        // A panic in a reader costs the names that thread was to find, not the report.
        found.gave_up |= workers.into_iter().any(|worker| worker.join().is_err());
    });
    found.gave_up |= !budget.take(0);
    Ok(found)
}

/// A string that many frames share.
type Shared = Arc<str>;
