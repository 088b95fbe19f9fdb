//! The report as JSON, for scripts: keys are never renamed or dropped within one [`FORMAT`].
//!
//! Names are given as recorded, but characters a terminal might act on are written as JSON escapes. Must stream: a
//! recording may have tens of thousands of rows.

use std::io::{self, Write};

mod arena;
mod footprint;
mod place;
mod row;
mod stacks;

use serde::Serialize;

use super::escape;
use super::header::{command, threads};
use super::notes::notes;
use super::{By, Options, Row, rows};
use crate::profile::{
    Figures, LinearMemory, Lost, Measure, Profile, Snapshot, State, SymbolSource, TimelinePoint,
};
use arena::InsideJson;
use footprint::{FootprintJson, footprint};
use row::Rows;
use stacks::{FrameJson, Stacks};

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 2;

/// Writes the report as one JSON object.
///
/// `stack` of a site row is an index into `stacks`, whose elements are indexes into `frames`, outermost first (`main`
/// before its callees); `stacks` of the row are all that read the same, that with most of the measure first. `what`,
/// `where`, `owner` and `source` are what the text shows; `function`, `file` and `line` are those of the frame the site
/// is charged to, in full; `phase` and `field` where it happened,
/// `type` what its blocks hold (null = nothing tells). Figures of a field row are of the field alone, so that rows add
/// up; `with_inner` has the places inside it too. `per_input_byte` and `per_record` of a phase are of the phase with
/// the phases inside it. `footprints` has every value the program had measured, whatever the rows are; `bytes` are of
/// heap blocks. `sizes` of a site row are blocks allocated by size (reallocs count with their new one), as far as
/// `sized_blocks` of `total_blocks`. Its `lifetime` (null = known of no block) is in allocations of the thread: `mean`
/// over `blocks` that their own thread freed, from allocation to free; a realloc ends no lifetime. `freed_elsewhere`
/// blocks were freed by another thread, the `freed_elsewhere_share` of both. Neither is known of blocks up to 16 bytes:
/// `known_share` says of what part of `freed_blocks` it is, which count reallocated ones too. Snapshots are moments with
/// the live bytes of everything, and in each site row, in the same order, of that row. `linear_memory` is of WebAssembly modules, whose times are all 0. `exact` says that every event was
/// counted (no sampling) and nothing made totals or live wrong; how exact the peak is, `peak_error_bytes` says.
///
/// # Errors
/// What `out` returned.
pub fn write_json(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let rows = rows(profile, options.by, options.measure, options.frames);
    let shown = options.top.unwrap_or(usize::MAX).min(rows.len());
    let elided = rows
        .iter()
        .skip(shown)
        .fold(Figures::default(), |mut sum, row| {
            sum.add(&row.figures);
            sum
        });
    let stacks = Stacks::of(profile, &rows[..shown], options.frames);
    let at = profile.resident();
    let (process, capture) = (&profile.process, &profile.capture);
    let json = Json {
        format: FORMAT,
        exact: exact(profile),
        mode: &capture.mode,
        unwinder: &capture.unwinder,
        own_crates: &capture.own_crates,
        architecture: &capture.architecture,
        linear_memory: capture.linear_memory.map(linear_memory),
        finished: process.state == State::Finished,
        state: state(process.state),
        command: command(&process.command),
        arguments: &process.command,
        program: &process.program,
        executable: &process.executable,
        pid: process.pid,
        started_unix_ns: process.started_unix_ns,
        duration_ns: process.duration_ns,
        recording: options.recording,
        recording_bytes: capture.recording_bytes,
        threads: threads(profile),
        peak_error_bytes: capture.peak_error_bytes,
        peak_discrepancy_bytes: capture.peak_discrepancy_bytes,
        peak_time_ns: capture.peak_time_ns,
        rss_bytes: capture.rss_bytes,
        peak_rss_bytes: capture.peak_rss_bytes,
        own_bytes: capture.own_bytes,
        not_seen_bytes: at.and_then(|at| at.not_seen_bytes()),
        lost: LostJson::new(&profile.lost),
        losses: profile.losses(),
        totals: profile.totals,
        by: options.by.name(),
        measure: options.measure,
        measure_key: options.measure.key(),
        rows_total: rows.len(),
        rows_sum_to_totals: rows_sum_to_totals(profile, &rows),
        elided: Elided {
            rows: rows.len() - shown,
            figures: if options.by == By::Arena {
                ElidedFigures::Inside(InsideJson::new(&elided))
            } else {
                ElidedFigures::Counted(elided)
            },
        },
        notes: notes(profile, options.by, &rows),
        rows: Rows {
            profile,
            rows: &rows[..shown],
            stacks: &stacks,
            measure: options.measure,
        },
        frames: &stacks.frames,
        stacks: &stacks.stacks,
        footprints: profile
            .measured()
            .iter()
            .map(|measured| footprint(profile, measured))
            .collect(),
        snapshots: profile.snapshots.iter().map(snapshot).collect(),
        marks: profile
            .marks
            .iter()
            .map(|m| MarkJson {
                name: &m.name,
                time_ns: m.time_ns,
                figures: m.figures,
            })
            .collect(),
        modules: profile
            .modules
            .iter()
            .map(|module| module_json(module))
            .collect(),
        timeline: &profile.timeline.iter().map(point).collect::<Vec<_>>(),
    };
    escape::write_json(&json, out)
}

/// Whether the rows add up to the totals, figure by figure.
pub(super) fn rows_sum_to_totals(profile: &Profile, rows: &[Row]) -> bool {
    let sum = rows.iter().fold(Figures::default(), |mut sum, row| {
        sum.add(&row.figures);
        sum
    });
    sum == profile.totals
}

fn exact(profile: &Profile) -> bool {
    let lost = &profile.lost;
    let clean = lost.untracked_blocks == 0 && lost.torn == 0 && lost.damaged == 0;
    profile.capture.is_exact() && clean
}

#[derive(Serialize)]
struct Json<'a> {
    format: u32,
    exact: bool,
    mode: &'a str,
    unwinder: &'a str,
    /// Where someone named them.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    own_crates: &'a [String],
    /// Empty when it is not known.
    architecture: &'a str,
    /// null but for WebAssembly.
    linear_memory: Option<LinearMemoryJson>,
    finished: bool,
    state: &'static str,
    command: String,
    arguments: &'a [String],
    program: &'a str,
    executable: &'a str,
    pid: u32,
    started_unix_ns: u64,
    duration_ns: u64,
    recording: Option<&'a str>,
    recording_bytes: u64,
    threads: u64,
    peak_error_bytes: u64,
    peak_discrepancy_bytes: u64,
    peak_time_ns: u64,
    rss_bytes: u64,
    peak_rss_bytes: u64,
    own_bytes: u64,
    /// Of the largest resident set size; null when it was never read or live was larger.
    not_seen_bytes: Option<u64>,
    lost: LostJson<'a>,
    losses: &'a [String],
    totals: Figures,
    by: &'static str,
    measure: Measure,
    measure_key: &'static str,
    rows_total: usize,
    rows_sum_to_totals: bool,
    elided: Elided,
    notes: Vec<String>,
    rows: Rows<'a>,
    frames: &'a [FrameJson<'a>],
    stacks: &'a [Vec<usize>],
    footprints: Vec<FootprintJson>,
    snapshots: Vec<SnapshotJson>,
    marks: Vec<MarkJson<'a>>,
    modules: Vec<ModuleJson<'a>>,
    timeline: &'a [PointJson],
}

/// In pages of 64 KiB; `pages` and `bytes` are without `own_pages`.
#[derive(Serialize)]
struct LinearMemoryJson {
    pages: u64,
    bytes: u64,
    first_pages: u64,
    grows: u64,
    own_pages: u64,
}

fn linear_memory(memory: LinearMemory) -> LinearMemoryJson {
    LinearMemoryJson {
        pages: memory.pages,
        bytes: memory.bytes(),
        first_pages: memory.first_pages,
        grows: memory.grows,
        own_pages: memory.own_pages,
    }
}

/// What `--top` left out.
#[derive(Serialize)]
struct Elided {
    rows: usize,
    #[serde(flatten)]
    figures: ElidedFigures,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ElidedFigures {
    Counted(Figures),
    Inside(InsideJson),
}

#[derive(Serialize)]
struct LostJson<'a> {
    table_full_blocks: u64,
    table_full_bytes: u64,
    untracked_blocks: u64,
    unattributed_blocks: u64,
    unknown_frees: u64,
    cut_stacks: u64,
    foreign_stacks: u64,
    deep_stacks: u64,
    folded_stacks: u64,
    marks: u64,
    torn: u64,
    damaged: u64,
    unresolved_frames: u64,
    scopes: u64,
    records: u64,
    notes: &'a [String],
}

impl<'a> LostJson<'a> {
    fn new(lost: &'a Lost) -> Self {
        // Taken apart whole, so that a new kind of loss cannot be forgotten here.
        let Lost {
            table_full_blocks,
            table_full_bytes,
            untracked_blocks,
            unattributed_blocks,
            unknown_frees,
            cut_stacks,
            foreign_stacks,
            deep_stacks,
            folded_stacks,
            marks,
            torn,
            damaged,
            unresolved_frames,
            scopes,
            records,
            ref notes,
        } = *lost;
        LostJson {
            table_full_blocks,
            table_full_bytes,
            untracked_blocks,
            unattributed_blocks,
            unknown_frees,
            cut_stacks,
            foreign_stacks,
            deep_stacks,
            folded_stacks,
            marks,
            torn,
            damaged,
            unresolved_frames,
            scopes,
            records,
            notes,
        }
    }
}

#[derive(Serialize)]
struct MarkJson<'a> {
    name: &'a str,
    time_ns: u64,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Serialize)]
struct SnapshotJson {
    time_ns: u64,
    live_bytes: u64,
}

fn snapshot(snapshot: &Snapshot) -> SnapshotJson {
    let of_sites = snapshot.live_bytes.iter().copied();
    SnapshotJson {
        time_ns: snapshot.time_ns,
        live_bytes: of_sites.fold(0, u64::saturating_add),
    }
}

#[derive(Serialize)]
struct ModuleJson<'a> {
    path: &'a str,
    build_id: &'a str,
    symbols: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a str>,
}

fn module_json(module: &crate::profile::Module) -> ModuleJson<'_> {
    let path = |path: &std::path::Path| Some(path.to_string_lossy().into_owned());
    let (symbols, symbols_from, missing) = match &module.symbols {
        SymbolSource::NotNeeded => ("not needed", None, None),
        SymbolSource::Debug(from) => ("debug", path(from), None),
        SymbolSource::Table(from) => ("table", path(from), None),
        SymbolSource::Packed => ("packed", None, None),
        SymbolSource::Missing(why) => ("missing", None, Some(why.as_str())),
    };
    ModuleJson {
        path: &module.path,
        build_id: &module.build_id,
        symbols,
        symbols_from,
        missing,
    }
}

#[derive(Serialize)]
struct PointJson {
    time_ns: u64,
    live_bytes: u64,
    live_blocks: u64,
    total_bytes: u64,
    /// null when it was not read.
    rss_bytes: Option<u64>,
    /// Of heapglass itself; null when it was not read.
    own_bytes: Option<u64>,
}

fn point(point: &TimelinePoint) -> PointJson {
    let TimelinePoint {
        time_ns,
        live_bytes,
        live_blocks,
        total_bytes,
        rss_bytes,
        own_bytes,
    } = *point;
    PointJson {
        time_ns,
        live_bytes,
        live_blocks,
        total_bytes,
        rss_bytes: (rss_bytes > 0).then_some(rss_bytes),
        own_bytes: (own_bytes > 0).then_some(own_bytes),
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Finished => "finished",
        State::Ended => "ended",
        State::Unknown => "unknown",
    }
}
