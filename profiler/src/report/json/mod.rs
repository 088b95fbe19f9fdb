//! The report as JSON, for scripts: keys are never renamed or dropped within one [`FORMAT`].
//!
//! Names are given as recorded, but characters that a terminal might act on are written as JSON
//! escapes. This module must stream: a recording may have tens of thousands of rows.

use std::borrow::Cow;
use std::io::{self, Write};

mod arena;
mod footprint;
mod function;
mod row;
mod snapshot;
mod stacks;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use super::ReportOptions;
use super::escape;
use super::header::{command, threads};
use super::notes::notes;
use crate::profile::{
    Attached, FIGURES, Figures, Measure, Module, NotLive, Process, Profile, Samples, State,
    SymbolSource, TypeId, serialize_figure,
};
use crate::question::Answer;
use crate::table::SnapshotAt;
use crate::table::{
    By, HeldFigures, HolderRow, Row, all_snapshots, by_key, failed_requests, held_by,
};
use footprint::FootprintJson;
use row::{HeldJson, Rows};
use snapshot::HoldersJson;
pub(crate) use snapshot::SnapshotJson;
use stacks::Stacks;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 2;

/// Writes the report as one JSON object.
///
/// `stack` of a site row is an index into `stacks`, whose elements are indexes into `frames`,
/// outermost first (`main` before its callees); `stacks` of the row are all that read the same,
/// that with most of the measure first. `what`, `where`, `owner` and `source` are what the text
/// shows; `function`, `file` and `line` are those of the frame the site is charged to, in full;
/// `phase` and `field` where it happened, `type` what its blocks hold (null = nothing tells).
/// Figures of a field row are of the field alone, so that rows add up; `with_inner` has the places
/// inside it too. `per_input_byte` and `per_record` of a phase are of the phase with the phases
/// inside it. `footprints` has every value the program had measured, whatever the rows are; `bytes`
/// are of heap blocks. `live_*` and `peak_*` of rows by thread are null, since any thread may free
/// a block; their `members` are the names that the row stands for. `sizes` of a site row are blocks
/// allocated by size (reallocs count with their new one), as far as `sized_blocks` of
/// `total_blocks`. Its `lifetime` (null = known of no block) is in allocations of the thread:
/// `mean` over `blocks` that their own thread freed, from allocation to free; a realloc ends no
/// lifetime. `freed_elsewhere` blocks were freed by another thread, the `freed_elsewhere_share` of
/// both. Neither is known of blocks up to 16 bytes: `known_share` says of what part of
/// `freed_blocks` it is, which count reallocated ones too. `checkpoints` are up to 64 moments with
/// the live bytes of the process, each with its `kind` (`time`, `phase`, `mark`) and name;
/// `checkpoint_live_bytes` of a site row has the row's live bytes at the same moments.
/// `mostly_not_live` says what most of a resident set is that is much larger than the live bytes:
/// `kept` or `free` by the allocator, `pinned` by few blocks, in `arenas` of Python, `own` or
/// `other`. `linear_memory` is of WebAssembly modules, whose times are all 0. `most_resident` and
/// `last_resident` are resident sets that were taken apart (null = none was), with their moments.
/// `failed_requests` are what the allocator refused (it returned null), the last first: they are in
/// no figure; `failed_request_count` counts those of sites beyond the first 256, too. `exact` says
/// that every event was counted (no sampling) and nothing made totals or live wrong; how exact the
/// peak is, `peak_error_bytes` says. `snapshots` are those of the recording; `snapshot` is the one
/// whose figures rows have, if any: what rows retain overlaps, so it does not add up. By holder,
/// `parent` of a row is an index into `rows`, in which each holder stands below the one that holds
/// it.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` if the question of the options [has no
/// answer](crate::question::RULES).
pub fn write_json(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let options = &ReportOptions {
        measure: options.by.measure(options.measure),
        ..*options
    };
    let top = options.top.unwrap_or(usize::MAX);
    let (rows, held) = match options.rows(profile)? {
        Answer::Holders(_, rows) => {
            let report = Report {
                profile,
                options,
                table: Table::Holders(&rows),
            };
            return escape::write_json(&report, out);
        }
        Answer::Held(_, rows) => rows.into_iter().map(|row| (row.row, row.held)).unzip(),
        Answer::Counted(rows) => {
            let held = options
                .snapshot
                .map(|at| held_by(profile, at.snapshot, options.by, &rows, options.frames));
            (rows, held.unwrap_or_default())
        }
    };
    let report = Report {
        profile,
        options,
        table: Table::Rows {
            shown: top.min(rows.len()),
            rows: &rows,
            held: &held,
        },
    };
    escape::write_json(&report, out)
}

/// One row, as the report has it, without its stacks.
pub(crate) fn row_json(
    profile: &Profile,
    (by, measure): (By, Measure),
    row: &Row,
) -> serde_json::Result<Value> {
    let rows = Rows {
        profile,
        rows: std::slice::from_ref(row),
        stacks: &Stacks::default(),
        by,
        measure,
        held: HeldJson::default(),
    };
    let mut rows = serde_json::to_value(&rows)?;
    Ok(rows.get_mut(0).map(Value::take).unwrap_or_default())
}

/// Returns the holders of a snapshot, as the report has them, and the number of those beyond `top`.
pub(crate) fn holder_rows_json(
    holders: &[HolderRow],
    at: SnapshotAt<'_>,
    top: usize,
) -> serde_json::Result<(Vec<Value>, usize)> {
    let measure = Measure::Retained;
    let rows = HoldersJson {
        holders,
        measure,
        whole: at.whole(measure),
        top: top.min(holders.len()),
    };
    match serde_json::to_value(&rows)? {
        Value::Array(rows) => Ok((rows, holders.len().saturating_sub(top))),
        _ => Ok((Vec::new(), 0)),
    }
}

/// Returns the report without rows.
pub(crate) fn report_json(profile: &Profile) -> serde_json::Result<Value> {
    serde_json::to_value(Report {
        profile,
        options: &ReportOptions::default(),
        table: Table::Rows {
            rows: &[],
            held: &[],
            shown: 0,
        },
    })
}

/// Returns `true` if the rows add up to the totals in each figure that they have.
fn rows_sum_to_totals(profile: &Profile, by: By, rows: &[Row]) -> bool {
    // Arenas are no part of the totals.
    by != By::Arena
        && profile.capture().is_exact()
        && by_key(&sum(rows), by).eq(by_key(profile.totals(), by))
}

fn sum(rows: &[Row]) -> Figures {
    let mut sum = Figures::default();
    rows.iter().for_each(|row| sum.add(&row.figures));
    sum
}

fn exact(profile: &Profile) -> bool {
    let lost = profile.lost();
    let clean = lost.untracked_blocks == 0 && lost.torn == 0 && lost.damaged == 0;
    profile.capture().is_exact() && profile.process().state.is_recorded() && clean
}

/// The name of a type in full; null when nothing tells.
fn full_name(profile: &Profile, id: Option<TypeId>) -> Option<&str> {
    profile.named_type(id).map(|name| name.full.as_str())
}

struct Report<'a> {
    profile: &'a Profile,
    options: &'a ReportOptions<'a>,
    table: Table<'a>,
}

enum Table<'a> {
    /// Rows with counters, and what they hold in the snapshot that is shown, if one is.
    Rows {
        rows: &'a [Row],
        held: &'a [HeldFigures],
        /// Number of rows that `--top` leaves.
        shown: usize,
    },
    /// Holders in the snapshot that is shown.
    Holders(&'a [HolderRow]),
}

impl Report<'_> {
    /// Writes the grouping, the measure and the rows.
    fn serialize_table<M: SerializeMap>(&self, json: &mut M) -> Result<(), M::Error> {
        let (profile, options) = (self.profile, self.options);
        // What the rows are of, if they are of a snapshot.
        let held = options
            .snapshot
            .filter(|_| options.measure.is_of_snapshots());
        json.serialize_entry("measure", options.measure.name())?;
        json.serialize_entry("measure_key", options.measure.key())?;
        if let Some(at) = options.snapshot {
            json.serialize_entry("snapshot", &SnapshotJson { profile, at })?;
        }
        let whole = held.map_or(0, |at| at.whole(options.measure));
        let (rows, figures, shown) = match self.table {
            Table::Rows { rows, held, shown } => (rows, held, shown),
            Table::Holders(holders) => {
                let top = options.top.unwrap_or(usize::MAX).min(holders.len());
                json.serialize_entry("rows_total", &holders.len())?;
                json.serialize_entry("rows_sum_to_totals", &false)?;
                json.serialize_entry("elided", &Entries([("rows", (holders.len() - top) as u64)]))?;
                json.serialize_entry("notes", &Vec::<String>::new())?;
                let rows = HoldersJson {
                    holders,
                    measure: options.measure,
                    whole,
                    top,
                };
                json.serialize_entry("rows", &rows)?;
                json.serialize_entry("frames", &[0_u64; 0])?;
                return json.serialize_entry("stacks", &[0_u64; 0]);
            }
        };
        let stacks = Stacks::of(profile, &rows[..shown], options.frames);
        json.serialize_entry("rows_total", &rows.len())?;
        // Retained bytes of rows overlap.
        let is_sum = held.is_none() && rows_sum_to_totals(profile, options.by, rows);
        json.serialize_entry("rows_sum_to_totals", &is_sum)?;
        json.serialize_entry("elided", &Elided(&rows[shown..], options.by))?;
        json.serialize_entry("notes", &notes(profile, options.by, rows))?;
        let rows = Rows {
            profile,
            rows: &rows[..shown],
            stacks: &stacks,
            by: options.by,
            measure: options.measure,
            held: HeldJson {
                figures,
                measure: held.map(|_| options.measure),
                whole,
            },
        };
        json.serialize_entry("rows", &rows)?;
        json.serialize_entry("frames", &stacks.frames)?;
        json.serialize_entry("stacks", &stacks.stacks)
    }
}

/// A program to which somebody attached.
#[derive(Serialize)]
struct AttachedJson {
    at_unix_ns: u64,
    /// Null if its allocator does not tell.
    in_use_bytes: Option<u64>,
    detached: bool,
}

impl AttachedJson {
    fn of(attached: &Attached, process: &Process) -> AttachedJson {
        AttachedJson {
            at_unix_ns: process.started_unix_ns,
            in_use_bytes: attached.in_use_bytes,
            detached: attached.is_detached,
        }
    }
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (profile, options) = (self.profile, self.options);
        let (process, capture) = (profile.process(), profile.capture());
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("format", &FORMAT)?;
        json.serialize_entry("exact", &exact(profile))?;
        json.serialize_entry("mode", &capture.mode)?;
        if let Some(sampling) = &capture.sampling {
            json.serialize_entry("sample_bytes", &sampling.sample_bytes)?;
            // Intervals are those of the largest mean.
            json.serialize_entry("most_sample_bytes", &sampling.most_sample_bytes)?;
            json.serialize_entry("sample_changes", &sampling.changes)?;
            json.serialize_entry("sampled_since_ns", &sampling.since_ns)?;
            json.serialize_entry(
                "samples",
                &profile.totals().samples().map_or(0, Samples::hits),
            )?;
            // Of each place that is no row.
            json.serialize_entry("unlisted_bytes_high", &sampling.most_unlisted_bytes())?;
        }
        json.serialize_entry("unwinder", &capture.unwinder)?;
        // Where someone named them.
        if !capture.own_crates.is_empty() {
            json.serialize_entry("own_crates", &capture.own_crates)?;
        }
        if !capture.allocator.is_empty() {
            json.serialize_entry("allocator", &capture.allocator)?;
        }
        json.serialize_entry("architecture", &capture.architecture)?;
        json.serialize_entry("linear_memory", &capture.linear_memory)?;
        json.serialize_entry("finished", &(process.state == State::Finished))?;
        json.serialize_entry("state", &process.state)?;
        if let Some(merged) = &process.merged {
            json.serialize_entry("peaks", "sums of peaks")?;
            json.serialize_entry("merged", merged)?;
        }
        json.serialize_entry("command", &command(&process.command))?;
        json.serialize_entry("arguments", &process.command)?;
        json.serialize_entry("program", &process.program)?;
        json.serialize_entry("executable", &process.executable)?;
        json.serialize_entry("pid", &process.pid)?;
        json.serialize_entry("started_unix_ns", &process.started_unix_ns)?;
        if let Some(attached) = &capture.attached {
            json.serialize_entry("attached", &AttachedJson::of(attached, process))?;
        }
        json.serialize_entry("duration_ns", &process.duration_ns)?;
        // Totals, peak and live are those of the rest of the duration.
        json.serialize_entry("paused_ns", &process.pauses.paused_ns)?;
        json.serialize_entry("pause_count", &process.pauses.count)?;
        json.serialize_entry("pauses", &process.pauses.first)?;
        json.serialize_entry("recording", &options.recording)?;
        json.serialize_entry("recording_bytes", &capture.recording_bytes)?;
        json.serialize_entry("threads", &threads(profile))?;
        json.serialize_entry("peak_error_bytes", &capture.peak_error_bytes)?;
        json.serialize_entry("peak_discrepancy_bytes", &capture.peak_discrepancy_bytes)?;
        json.serialize_entry("peak_time_ns", &capture.peak_time_ns)?;
        json.serialize_entry("rss_bytes", &capture.rss_bytes)?;
        json.serialize_entry("peak_rss_bytes", &capture.peak_rss_bytes)?;
        json.serialize_entry("own_bytes", &capture.own_bytes)?;
        // Of the largest resident set size; null when it was never read or live was larger.
        let not_seen_bytes = profile.resident().and_then(|at| at.not_seen_bytes());
        json.serialize_entry("not_seen_bytes", &not_seen_bytes)?;
        json.serialize_entry("most_resident", &capture.most_resident)?;
        json.serialize_entry("last_resident", &capture.last_resident)?;
        json.serialize_entry(
            "mostly_not_live",
            &profile.mostly_not_live().map(NotLive::name),
        )?;
        json.serialize_entry("lost", profile.lost())?;
        json.serialize_entry("losses", profile.losses())?;
        json.serialize_entry("failed_request_count", &profile.failed_request_count())?;
        json.serialize_entry("failed_requests", &failed_requests(profile))?;
        json.serialize_entry("totals", &TotalsJson(profile))?;
        let snapshots = all_snapshots(profile).map(|at| SnapshotJson { profile, at });
        json.serialize_entry("snapshots", &snapshots.collect::<Vec<_>>())?;
        let by = match self.table {
            Table::Rows { .. } => options.by.name(),
            Table::Holders(_) => "holder",
        };
        json.serialize_entry("by", by)?;
        self.serialize_table(&mut json)?;
        let footprints: Vec<_> = profile
            .measured()
            .iter()
            .map(|measured| FootprintJson { profile, measured })
            .collect();
        json.serialize_entry("footprints", &footprints)?;
        json.serialize_entry("checkpoints", profile.checkpoints())?;
        json.serialize_entry("marks", profile.marks())?;
        let modules: Vec<_> = profile.modules().iter().map(ModuleJson).collect();
        json.serialize_entry("modules", &modules)?;
        json.serialize_entry("timeline", profile.timeline())?;
        json.end()
    }
}

/// The figures of the process: those that were counted exactly in place of their estimates.
struct TotalsJson<'a>(&'a Profile);

impl Serialize for TotalsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TotalsJson(profile) = self;
        let totals = profile.totals();
        let mut json = serializer.serialize_map(None)?;
        for (key, figure) in FIGURES {
            match profile.exact_total(key) {
                Some(exact) => json.serialize_entry(key, &exact)?,
                None => {
                    serialize_figure(&mut json, key, Some(figure(totals)), totals.interval(key))?;
                }
            }
        }
        json.end()
    }
}

/// Figures as an object.
struct Entries<const N: usize>([(&'static str, u64); N]);

impl<const N: usize> Serialize for Entries<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0)
    }
}

/// The rows that `--top` left out, and whether they are arenas.
struct Elided<'a>(&'a [Row], By);

impl Serialize for Elided<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Elided(rows, by) = *self;
        let count = ("rows", Some(rows.len() as u64));
        serializer.collect_map([count].into_iter().chain(by_key(&sum(rows), by)))
    }
}

struct ModuleJson<'a>(&'a Module);

impl Serialize for ModuleJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let module = self.0;
        let (symbols, more) = match &module.symbols {
            SymbolSource::NotNeeded => ("not needed", None),
            SymbolSource::Debug(path) => ("debug", Some(("symbols_from", path.to_string_lossy()))),
            SymbolSource::Table(path) => ("table", Some(("symbols_from", path.to_string_lossy()))),
            SymbolSource::Packed => ("packed", None),
            SymbolSource::Missing(why) => ("missing", Some(("missing", why.into()))),
        };
        let entries = [
            ("path", Cow::from(&module.path)),
            ("build_id", Cow::from(&module.build_id)),
            ("symbols", symbols.into()),
        ];
        serializer.collect_map(entries.into_iter().chain(more))
    }
}
