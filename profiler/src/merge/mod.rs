//! The sum of several recordings of one build and mode, as a recording that everything else reads.
//!
//! Figures are added site by site: `load` counts each recording as for its report, and the counted
//! figures are added. So the report of the sum has the sums of the reports. The peaks of recordings
//! are of different times; their sum is called a sum of peaks wherever it is shown.
//!
//! Recordings are read one after another, and the sum is bounded by the limits of one recording. It
//! depends neither on the order of the recordings nor on whether some of them were merged before.
//!
//! ```
//! use heapglass_profiler::OpenOptions;
//! use heapglass_profiler::merge::Merge;
//!
//! # let files = ["shop"].map(heapglass_fixture::recording);
//! # let paths = files.each_ref().map(AsRef::as_ref);
//! let mut merge = Merge::new();
//! for path in paths {
//!     merge.add(path)?;
//! }
//! let sum = merge.finish()?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("sum.hg");
//! std::fs::write(&path, &sum.bytes)?;
//! let profile = heapglass_profiler::open(&path, &OpenOptions::default(), &|_| ())?;
//! assert_eq!(profile.process().merged.as_ref().map(|merged| merged.recordings), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arenas;
mod build;
mod sites;
mod tables;
#[cfg(test)]
mod tests;

use crate::Error;
use crate::units::{counted, printable};
use arenas::Arenas;
use build::{Build, Same};
use heapglass_profile::internal::{Counted, PackedSum, thread_sums};
use sites::Sites;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use tables::{Tables, UNKNOWN, positions};
use tracking_alloc_recording::{
    Clock, Encoder, HeaderValue, LaneValue, MAX_MERGED, MAX_NAMED, MergedPartValue, Record, Sums,
    ThreadNameValue, VisitsValue, lane_kind, sample_counts, state, table,
};

/// The epoch of rows in the sum: what they saved is what they held at the peaks.
const PEAK: Clock = Clock::new(1, 0);

/// The sum of the recordings so far.
#[derive(Debug, Default)]
pub struct Merge {
    /// The first recording, with which the others must agree.
    first: Option<(PathBuf, Build)>,
    header: HeaderValue,
    /// The first path in the order of bytes.
    executable: Option<Vec<u8>>,
    own_crates: Same,
    command: Same,
    allocator: Same,
    parts: Vec<MergedPartValue>,
    /// The file of each process that is in the sum.
    known: HashMap<Process, PathBuf>,
    tables: Tables,
    sites: Sites,
    arenas: Arenas,
    /// The threads of each name; `None` are those without a lane of their own.
    threads: BTreeMap<Option<[u64; 2]>, (u64, Sums)>,
    unknown_frees: u64,
    /// The number of times that each field was entered.
    visits: Vec<u64>,
    symbols: PackedSum,
    /// Number of recordings that carry symbols.
    with_symbols: usize,
    /// Recordings with names of generated code that symbols do not have.
    with_names: usize,
    files: usize,
}

/// Boot of the machine, namespace, number and start of a process, and start of its recording.
type Process = ([u64; 2], u64, u32, u64, u64);

/// A merged recording.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergedRecording {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Number of recordings, with those inside merged ones.
    pub recordings: usize,
    /// The facts that somebody who merges must know, in sentences.
    pub notes: Vec<String>,
}

impl Merge {
    /// Creates a sum of nothing.
    pub fn new() -> Merge {
        Merge::default()
    }

    /// Adds the recording at `path`. The sum must not be used if this fails.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be read, if its figures cannot be trusted, if it is
    /// of another build, mode or way to walk stacks than the first one, if it is in the sum
    /// already, or if the sum would exceed a limit of the format.
    pub fn add(&mut self, path: &Path) -> Result<(), Error> {
        let counted = Counted::open(path)?;
        let unmergeable = |why| Error::unmergeable(path, why);
        self.check(&counted, path).map_err(unmergeable)?;
        self.add_header(&counted);
        let frames = self.add_figures(&counted).map_err(unmergeable)?;
        self.files += 1;
        let recording = &counted.recording;
        if recording.generated_names.is_some() && recording.symbols.is_none() {
            self.with_names += 1;
        }
        if let Some(symbols) = &counted.recording.symbols {
            self.with_symbols += 1;
            let number =
                |index: usize| frames.get(index).copied().filter(|frame| *frame != UNKNOWN);
            self.symbols.add(symbols, path, number)?;
        }
        Ok(())
    }

    /// Checks that a recording can be added, and enters it.
    fn check(&mut self, counted: &Counted, path: &Path) -> Result<(), String> {
        let (recording, profile) = (&counted.recording, &counted.profile);
        if profile.lost().damaged > 0 {
            return Err(
                "its figures cannot be trusted, because it has records that no recorder writes; \
                 leave it out, or record again"
                    .to_owned(),
            );
        }
        let build = Build::of(recording);
        match &self.first {
            None => self.first = Some((path.to_owned(), build)),
            Some((first, expected)) => {
                let first = first.display().to_string();
                if let Some(why) = expected.differs(&build, &printable(&first)) {
                    return Err(why);
                }
            }
        }
        let parts = match profile.process().merged {
            Some(_) => recording.merged.clone(),
            None => vec![part(counted)],
        };
        for part in &parts {
            let process = (
                part.boot_id,
                part.pid_namespace,
                part.pid,
                part.start_ticks,
                part.started_unix_ns,
            );
            // A WebAssembly module has no process and no clock.
            if process == Process::default() {
                continue;
            }
            if let Some(other) = self.known.insert(process, path.to_owned()) {
                let other = other.display().to_string();
                return Err(format!(
                    "the recording of process {} is in {} too, so it would count twice; leave one \
                     of them out",
                    part.pid,
                    printable(&other)
                ));
            }
        }
        self.parts.extend(parts);
        if self.parts.len() > MAX_MERGED {
            return Err(format!(
                "with it, the sum would have more than {MAX_MERGED} recordings; merge fewer"
            ));
        }
        Ok(())
    }

    /// Adds the figures of the whole process.
    fn add_header(&mut self, counted: &Counted) {
        let (recording, process) = (&counted.recording, counted.profile.process());
        let (header, sum) = (&recording.header, &mut self.header);
        (sum.mode, sum.arch, sum.unwinder) = (header.mode, header.arch, header.unwinder);
        sum.sample_counts = if self.files == 0 {
            header.sample_counts
        } else {
            exact_counts(sum.sample_counts, header.sample_counts)
        };
        // 0 = not known.
        let starts = [sum.started_unix_ns, process.started_unix_ns];
        let known = starts.into_iter().filter(|start| *start > 0);
        sum.started_unix_ns = known.min().unwrap_or(0);
        sum.growth_ended = sum.growth_ended.max(header.growth_ended);
        sum.growth_errno = sum.growth_errno.max(header.growth_errno);
        sum.sample_bytes = sum.sample_bytes.max(header.sample_bytes);
        sum.most_sample_bytes = sum.most_sample_bytes.max(header.most_sample_bytes);
        sum.elapsed_ns = sum.elapsed_ns.saturating_add(process.duration_ns);
        sum.paused_ns = sum.paused_ns.saturating_add(process.pauses.paused_ns);
        macro_rules! sums {
            ($($field:ident),* $(,)?) => {
                $(sum.$field = sum.$field.saturating_add(header.$field);)*
            };
        }
        sums!(
            pauses,
            untracked_blocks,
            lost_threads,
            lost_scopes,
            lost_records,
            failed_requests,
            walk_disagreements,
            unwinder_disagreements,
            memory_pages,
            first_pages,
            own_pages,
            memory_grows,
            sample_changes,
            sampled_total_bytes,
            sampled_total_blocks,
            sampled_freed_bytes,
            sampled_freed_blocks,
            exact_total_bytes,
            exact_total_blocks,
            exact_freed_bytes,
            exact_freed_blocks,
        );
        let text = |reference: u32| recording.string_bytes(reference).unwrap_or_default();
        let executable = text(header.executable);
        if self
            .executable
            .as_deref()
            .is_none_or(|known| executable < known)
        {
            self.executable = Some(executable.to_owned());
        }
        self.own_crates.add(text(header.own_crates));
        self.command.add(text(header.command));
        self.allocator.add(text(header.allocator));
    }

    /// Adds the figures of sites, scopes, arenas and threads. Returns the number of each address in
    /// the sum.
    fn add_figures(&mut self, counted: &Counted) -> Result<Vec<u32>, String> {
        let (recording, profile) = (&counted.recording, &counted.profile);
        let tables = &mut self.tables;
        let mut numbers = tables.read(recording)?;
        let of_recording = |position: usize| {
            let number = profile.site_numbers().get(position);
            number.copied().unwrap_or_default()
        };
        for (position, site) in profile.sites().iter().enumerate() {
            let number = tables.site(&mut numbers, of_recording(position))?;
            let samples = counted.samples.get(position).copied();
            self.sites.add(number, site, samples.unwrap_or_default());
        }
        for request in profile.failed_requests() {
            let number = tables.site(&mut numbers, of_recording(request.site))?;
            let (count, largest_bytes) = (request.count, request.largest_bytes);
            self.sites.add_failed(number, count, largest_bytes);
        }
        self.visits.resize(tables.scopes.len(), 0);
        for visits in recording.lanes.iter().flat_map(|lane| &lane.visits) {
            let scope = numbers.scopes.get(visits.scope as usize).copied();
            if let Some(sum) = self.visits.get_mut(scope.unwrap_or(0) as usize) {
                *sum = sum.saturating_add(visits.count);
            }
        }
        self.arenas.add(recording, tables, &mut numbers)?;
        for lane in &recording.lanes {
            self.unknown_frees = self.unknown_frees.saturating_add(lane.lane.unknown_frees);
        }
        for (name, count, sums) in thread_sums(recording) {
            let (all, sum) = self.threads.entry(name).or_default();
            *all = all.saturating_add(count);
            *sum = sum.zip(sums, u64::saturating_add);
        }
        let named = self.threads.keys().flatten().count();
        tables::check("thread names", named, MAX_NAMED)?;
        Ok(numbers.frames)
    }

    /// Returns the sum as a recording.
    ///
    /// # Errors
    /// Returns an error if nothing was added, or if the symbols cannot be written.
    pub fn finish(mut self) -> Result<MergedRecording, Error> {
        let path = self.first.take().map(|(path, _)| path).unwrap_or_default();
        let mut notes = Vec::new();
        let mut file = Encoder::default();
        let mut ordered = self.tables.in_order();
        let sites = positions(&ordered.old_sites);
        let rows = self.sites.rows(&ordered.old_sites);
        let failed = self.sites.failed(&ordered.old_sites);
        let (arenas, arena_rows, arena_values) = self.arenas.records(&mut ordered, &sites);
        let mut visits: Vec<VisitsValue> = self
            .visits
            .iter()
            .zip(&ordered.scopes_of)
            .filter(|(count, _)| **count > 0)
            .map(|(count, scope)| VisitsValue {
                scope: *scope,
                count: *count,
                ..VisitsValue::default()
            })
            .collect();
        visits.sort_by_key(|visits| visits.scope);
        let further = self.threads.remove(&None).unwrap_or_default();
        let threads: Vec<ThreadNameValue> = self
            .threads
            .iter()
            .filter_map(|(name, (count, sums))| {
                Some(ThreadNameValue {
                    name: (*name)?,
                    count: *count,
                    sums: *sums,
                    ..ThreadNameValue::default()
                })
            })
            .collect();
        self.parts.sort_by_key(|part| part.to_bytes());
        let strings = &mut ordered.strings;
        for (what, text) in [
            ("the program's own crates", &self.own_crates),
            ("the allocator", &self.allocator),
        ] {
            if text.is_different() {
                notes.push(format!(
                    "The recordings name {what} differently, so the sum names none."
                ));
            }
        }
        let peaks = self.parts.iter().map(|part| part.peak_bytes);
        let peak = peaks.fold(0, u64::saturating_add);
        let peak = i64::try_from(peak).unwrap_or(i64::MAX);
        let header = HeaderValue {
            state: state::MERGED,
            executable: strings.put(&self.executable.unwrap_or_default()),
            own_crates: strings.put(self.own_crates.text()),
            command: strings.put(self.command.text()),
            allocator: strings.put(self.allocator.text()),
            lanes: 1,
            most_lanes: 1,
            clock: PEAK,
            peak_bytes: peak,
            peak_bound_bytes: peak,
            modules_len: ordered.modules.len() as u32,
            frames_len: ordered.frames.len() as u32,
            stacks_len: ordered.stacks.len() as u32,
            scopes_len: ordered.scopes.len() as u32,
            sites_len: ordered.sites.len() as u32,
            threads_len: threads.len() as u32,
            failed_requests_len: failed.len() as u64,
            arenas_len: arenas.len() as u32,
            arena_rows_len: arena_rows.len() as u64,
            arena_values_len: arena_values.len() as u64,
            strings_len: strings.table().len() as u64,
            ..self.header
        };
        let (net_bytes, _) = rows.all.sums().net();
        // The lane has the threads without one of their own; the others are in their table.
        let since = rows.all.sums().zip(further.1, u64::saturating_sub);
        let lane = LaneValue {
            kind: lane_kind::SHARED,
            rows_len: rows.rows.len() as u32,
            sizes_len: rows.sizes.len() as u32,
            samples_len: rows.samples.len() as u32,
            visits_len: visits.len() as u32,
            tenancies: u32::try_from(further.0).unwrap_or(u32::MAX),
            since,
            unknown_frees: self.unknown_frees,
            checked_bytes: net_bytes,
            checked_blocks: rows.all.total_blocks,
            checked_total_bytes: rows.all.total_bytes,
            ..LaneValue::default()
        };
        file.bytes(table::STRINGS, ordered.strings.table());
        file.records(table::MODULES, &ordered.modules);
        file.records(table::FRAMES, &ordered.frames);
        file.records(table::STACKS, &ordered.stacks);
        file.records(table::SCOPES, &ordered.scopes);
        file.records(table::SITES, &ordered.sites);
        file.records(table::LANES, &[lane]);
        file.records(
            table::FIXED_ROWS,
            &[rows.all, rows.table_full, rows.unattributed],
        );
        file.records(table::ROWS, &rows.rows);
        file.records(table::SIZES, &rows.sizes);
        file.records(table::SAMPLES, &rows.samples);
        file.records(table::VISITS, &visits);
        file.records(table::THREADS, &threads);
        file.records(table::FAILED_REQUESTS, &failed);
        file.records(table::ARENAS, &arenas);
        file.records(table::ARENA_ROWS, &arena_rows);
        file.records(table::ARENA_VALUES, &arena_values);
        file.records(table::MERGED, &self.parts);
        if self.with_symbols == self.files && self.files > 0 {
            let symbols = self.symbols.table(&ordered.old_frames, &path)?;
            file.bytes(table::SYMBOLS, &symbols);
        } else if self.with_symbols > 0 {
            notes.push(format!(
                "{} of {} carry symbols, so the sum carries none; pack the others first, or pack the \
                 sum where the executable is.",
                self.with_symbols,
                counted(self.files as u64, "recording")
            ));
        }
        if self.with_names > 0 {
            notes.push(format!(
                "The names of generated code in {} are not in the sum; pack them first.",
                counted(self.with_names as u64, "recording")
            ));
        }
        Ok(MergedRecording {
            bytes: file.finish(header),
            recordings: self.parts.len(),
            notes,
        })
    }
}

/// Describes a recording that was not merged.
fn part(counted: &Counted) -> MergedPartValue {
    let (header, profile) = (&counted.recording.header, &counted.profile);
    let (process, capture) = (profile.process(), profile.capture());
    MergedPartValue {
        state: header.state,
        pid: header.pid,
        start_ticks: header.start_ticks,
        boot_id: header.boot_id,
        pid_namespace: header.pid_namespace,
        started_unix_ns: header.started_unix_ns,
        duration_ns: process.duration_ns,
        sample_bytes: header.most_sample_bytes.max(header.sample_bytes),
        peak_bytes: profile.totals().peak_bytes,
        peak_error_bytes: capture.peak_error_bytes,
        peak_discrepancy_bytes: capture.peak_discrepancy_bytes,
        torn: profile.lost().torn,
        marks: profile.marks().len() as u32,
        snapshots: profile.snapshots().len() as u32,
        footprints: counted.recording.footprints.len() as u32,
        ..MergedPartValue::default()
    }
}

/// Returns the counts that two sums of samples both have exactly.
fn exact_counts(one: u32, other: u32) -> u32 {
    use sample_counts::{BLOCKS, BLOCKS_AND_BYTES, NOTHING};
    match (one, other) {
        (BLOCKS_AND_BYTES, BLOCKS_AND_BYTES) => BLOCKS_AND_BYTES,
        (BLOCKS | BLOCKS_AND_BYTES, BLOCKS | BLOCKS_AND_BYTES) => BLOCKS,
        _ => NOTHING,
    }
}
