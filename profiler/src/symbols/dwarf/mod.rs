//! Debug information to source frames: functions, inlined ones included, with file and line.
//!
//! Own walk over `gimli` rather than `addr2line`, for three reasons: addr2line shows the linkage name *or*
//! `DW_AT_name`, we need both (only the second has the generics of functions inlined under legacy mangling); it
//! recurses as deep as a file asks; and one pass for all addresses of a unit, units spread over the cores, is what
//! keeps a 100 MB binary at a second or two. The tests hold it to addr2line's answers.
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

pub(super) use split::SplitFiles;

/// All readers borrow from buffers that outlive the walk.
type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Units of work (entries, line rows, range entries) one file may cost; a file that asks for more is built to keep us
/// busy.
const MAX_WORK: i64 = 4_000_000_000;
/// The same for each byte of debug information (real files need about half a unit), for each address, and for any file.
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
        let work = i64::try_from(work).unwrap_or(MAX_WORK);
        Budget(AtomicI64::new(work.min(MAX_WORK)))
    }

    /// Allows what `bytes` more of debug information may cost.
    fn add(&self, bytes: usize) {
        let work = bytes.saturating_mul(WORK_OF_A_BYTE);
        let work = i64::try_from(work).unwrap_or(MAX_WORK);
        self.0.fetch_add(work.min(MAX_WORK), Ordering::Relaxed);
    }

    /// Takes `work` away; false when there is none left and the caller has to stop.
    fn take(&self, work: usize) -> bool {
        let work = i64::try_from(work).unwrap_or(i64::MAX);
        self.0.fetch_sub(work.min(MAX_WORK), Ordering::Relaxed) > 0
    }
}

/// What was found for the addresses of one file.
#[derive(Default)]
pub(super) struct FileFrames {
    /// In the order of the addresses; innermost first; empty where no debug information covers the address.
    pub(super) chains: Vec<Vec<SourceFrame>>,
    /// Split debug information that was referred to and not found: file names, at most a few.
    pub(super) missing_split: Vec<String>,
    /// The file asked for unreasonable work and was given up half-way, or a reader failed.
    pub(super) gave_up: bool,
}

/// The sections of a file that the walk reads, decompressed.
struct Sections<'a> {
    dwarf: DwarfSections<Cow<'a, [u8]>>,
    endian: RunTimeEndian,
    /// Of all of them together.
    bytes: usize,
}

impl<'a> Sections<'a> {
    fn load(object: &object::File<'a>, file_bytes: usize) -> Result<Sections<'a>, String> {
        let mut allowance_bytes = image::most_decompressed_bytes(file_bytes);
        let mut bytes = 0;
        let dwarf = DwarfSections::load(|id| match is_read(id) {
            true => image::section(object, id.name(), &mut allowance_bytes)
                .inspect(|section| bytes += section.len()),
            false => Ok(Cow::Borrowed(&[][..])),
        })?;
        Ok(Sections {
            dwarf,
            endian: split::endian(object),
            bytes,
        })
    }

    fn borrow(&self) -> gimli::Dwarf<Slice<'_>> {
        self.dwarf
            .borrow(|bytes| EndianSlice::new(bytes, self.endian))
    }
}

impl Sections<'static> {
    /// The sections of a `.dwo` file.
    fn load_split(
        object: &object::File<'_>,
        file_bytes: usize,
    ) -> Result<Sections<'static>, String> {
        let mut allowance_bytes = image::most_decompressed_bytes(file_bytes);
        let mut bytes = 0;
        let dwarf = DwarfSections::load(|id| match id.dwo_name() {
            Some(name) if is_read(id) => image::section(object, name, &mut allowance_bytes)
                .inspect(|section| bytes += section.len())
                .map(|bytes| Cow::Owned(bytes.into_owned())),
            _ => Ok::<_, String>(Cow::Borrowed(&[][..])),
        })?;
        Ok(Sections {
            dwarf,
            endian: split::endian(object),
            bytes,
        })
    }
}

/// Locations, macros and type units are never read.
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

/// Resolves sorted, distinct addresses against the debug information of `object`, a file of `file_bytes` bytes.
///
/// `table` gives linkage names where the debug information has none (line-tables-only). `progress` is called on
/// this thread with the units done and the units there are.
///
/// # Errors
/// A sentence when the sections cannot be read at all.
pub(super) fn resolve(
    (object, file_bytes): (&object::File<'_>, usize),
    table: &Table<'_>,
    split: &SplitFiles,
    addresses: &[u64],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<FileFrames, String> {
    let sections = Sections::load(object, file_bytes)?;
    let mut dwarf = sections.borrow();
    if abbreviations::overlap(&dwarf) {
        return Err("its abbreviations overlap".to_owned());
    }
    // Units that name the same table share it.
    dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::All);
    let budget = Budget::new(sections.bytes, addresses.len());
    let mut index = units::Index::build(&dwarf, sections.bytes, &budget);
    let wanted = index.units_of(addresses, &budget);
    let split_data = split::Data::load(split, &index, wanted.iter().map(|(unit, _)| *unit));
    budget.add(split_data.bytes());
    let missing_split = split_data.attach(&mut index);

    let mut found = FileFrames {
        chains: vec![Vec::new(); addresses.len()],
        missing_split,
        gave_up: index.gave_up,
    };
    // The unit each address was answered by: an address in two units (identical code folded) goes to the first.
    let mut answered_by = vec![usize::MAX; addresses.len()];
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .clamp(1, MAX_THREADS)
        .min(wanted.len().max(1));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let sender = sender.clone();
                let (index, wanted, next, budget) = (&index, &wanted, &next, &budget);
                scope.spawn(move || {
                    while let Some((unit, positions)) =
                        wanted.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let chains = functions::resolve_unit(
                            index, *unit, addresses, positions, table, budget,
                        );
                        if sender.send((*unit, positions, chains)).is_err() {
                            break;
                        }
                    }
                })
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
