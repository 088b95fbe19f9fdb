//! One page for any browser: flamegraph, tables, timeline, snapshot and advice, in one HTML file
//! that needs no other file and no network. With two sides, the page compares them.
//!
//! The script shows what the page contains, and computes no figure that the report has. A page must
//! never let a recorded name become markup or code: names are data in JSON, in which `<` is
//! escaped, and the script sets them as text alone. The page's own policy allows no code but the
//! page's own. A page counts what it leaves out for lack of space.

mod fallback;
mod sources;
mod tables;
mod texts;
mod trees;

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::notes;
use crate::advice::{self, advise};
use crate::calltree::{CallTreeOptions, Levels, NodeId};
use crate::diff::{
    Comparison, Diff, DiffOptions, HeldDiff, HeldSide, LESS, MORE, MergedTree, Recording,
    file_name, median_recording, naming_state, of_difference, write_text as write_diff_text,
};
use crate::flamegraph::{Caption, Widths, escape, is_of_arenas, legend_entries, palette};
use crate::invalid::invalid;
use crate::profile::{Frames, Measure, Profile, State};
use crate::question;
use crate::report::{ReportOptions, report_json, write_text};
use crate::table::{
    By, HolderRowName, SnapshotAt, all_snapshots, holders, preorder, program_name, snapshot_at,
    weighty,
};
use crate::units::{Bytes, Count, Share, printable};
use sources::Excerpts;
use tables::{TableJson, changes, held_changes, holders_table, table};
use texts::Texts;
use trees::{CountedTree, HeldTree, Kind, Labels, Tree, TreeJson, TwoTrees, largest};

/// The version of a page's data.
const FORMAT: u32 = 1;

/// The space for all frames, bytes of JSON.
const BYTES_OF_FRAMES: usize = 2_600_000;

/// The space for all rows, bytes of JSON.
const BYTES_OF_ROWS: usize = 1_300_000;

/// Maximum number of findings.
const MOST_FINDINGS: usize = 100;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The data of a page.
#[derive(Serialize)]
struct Data {
    format: u32,
    heapglass: &'static str,
    /// `profile`, or `comparison` of two sides.
    kind: &'static str,
    title: String,
    measures: Vec<MeasureJson>,
    /// The measure, the frames, and the kinds of tree and table that are shown first.
    measure: &'static str,
    frames: &'static str,
    by: &'static str,
    table: &'static str,
    /// The keys of the report that do not depend on rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<Value>,
    /// The recordings of a comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sides: Vec<Value>,
    /// Sentences that a reader must know before trusting the figures.
    notes: Vec<String>,
    /// Sentences that say what is not in the page.
    cut: Vec<String>,
    /// The snapshot whose holders are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<Value>,
    /// The largest holders of each snapshot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held: Vec<Value>,
    advice: Vec<advice::Texts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice_notes: Vec<String>,
    trees: Vec<TreeJson>,
    labels: Vec<trees::Label>,
    colors: Vec<String>,
    /// The kinds of types with their colours.
    kinds: Vec<(&'static str, String)>,
    /// The colours of a comparison: less, equal, more.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_colors: Option<[String; 3]>,
    tables: Vec<TableJson>,
    changes: Vec<tables::ChangesJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Value>,
    texts: Vec<String>,
}

impl Data {
    /// Creates data with the parts that every page has.
    fn new(
        kind: &'static str,
        title: String,
        state: State,
        (measure, are_estimates): (Measure, bool),
        trees: Vec<TreeJson>,
        labels: Labels,
        texts: Texts,
    ) -> Data {
        let kinds = legend_entries().map(|(kind, rgb)| (kind, palette::hex(rgb)));
        Data {
            format: FORMAT,
            heapglass: env!("CARGO_PKG_VERSION"),
            kind,
            title,
            measures: measures(state, are_estimates),
            measure: measure.key(),
            frames: Frames::Folded.name(),
            by: Levels::Stack.name(),
            table: By::Site.name(),
            recording: None,
            sides: Vec::new(),
            notes: Vec::new(),
            cut: Vec::new(),
            snapshot: None,
            held: Vec::new(),
            advice: Vec::new(),
            advice_notes: Vec::new(),
            trees,
            colors: labels.colors(),
            labels: labels.labels.values,
            kinds: kinds.to_vec(),
            difference_colors: None,
            tables: Vec::new(),
            changes: Vec::new(),
            sources: None,
            texts: texts.into_values(),
        }
    }
}

/// A measure, as the page offers it.
#[derive(Serialize)]
struct MeasureJson {
    key: &'static str,
    name: &'static str,
    title: &'static str,
    /// `bytes` or `count`.
    unit: &'static str,
    /// The key of the blocks that go with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<&'static str>,
}

/// Returns `true` if a page can draw a measure. Numbers of blocks and of other events of samples
/// are lower bounds, which do not add up.
pub(super) fn is_drawn(measure: Measure, are_estimates: bool) -> bool {
    measure.is_bytes() || !are_estimates
}

/// Returns the measures that a page draws, for a recording in that state.
fn measures(state: State, are_estimates: bool) -> Vec<MeasureJson> {
    let drawn = Measure::COUNTED
        .into_iter()
        .filter(|measure| is_drawn(*measure, are_estimates));
    let counted = drawn.map(|measure| MeasureJson {
        key: measure.key(),
        name: measure.name(),
        title: measure.title_in(state),
        unit: if measure.is_bytes() { "bytes" } else { "count" },
        blocks: match measure {
            Measure::Peak => Some("peak_blocks"),
            Measure::Live => Some("live_blocks"),
            Measure::Total => Some("total_blocks"),
            Measure::Temporary => Some("temporary_blocks"),
            _ => None,
        },
    });
    let held = Measure::OF_SNAPSHOTS.map(|measure| MeasureJson {
        key: measure.key(),
        name: measure.name(),
        title: measure.title(),
        unit: "bytes",
        blocks: None,
    });
    counted.chain(held).collect()
}

/// The keys of the report that a page contains. Apart from `command`, none contains a path of the
/// machine.
const KEYS: [&str; 33] = [
    "exact",
    "mode",
    "sample_bytes",
    "unwinder",
    "allocator",
    "architecture",
    "linear_memory",
    "state",
    "command",
    "program",
    "pid",
    "started_unix_ns",
    "duration_ns",
    "paused_ns",
    "pause_count",
    "pauses",
    "recording_bytes",
    "threads",
    "peak_error_bytes",
    "peak_time_ns",
    "rss_bytes",
    "peak_rss_bytes",
    "own_bytes",
    "not_seen_bytes",
    "most_resident",
    "last_resident",
    "failed_request_count",
    "totals",
    "snapshots",
    "footprints",
    "checkpoints",
    "marks",
    "timeline",
];

/// Writes the page of a profile. [`ReportOptions::measure`] and [`ReportOptions::frames`] are shown
/// first, and [`ReportOptions::snapshot`] is the one whose holders are shown (without one, that
/// with most live bytes). With a measure of snapshots these holders are shown first. With
/// `sources`, the page contains lines of the program's own files that lie in these folders.
///
/// # Errors
/// Returns the errors of `out` (a broken pipe keeps its kind); `InvalidInput` if a snapshot is to
/// be shown first and there is none.
pub fn write_page(
    profile: &Profile,
    options: &ReportOptions<'_>,
    sources: Option<&[PathBuf]>,
    mut out: impl Write,
) -> io::Result<()> {
    let snapshot = options
        .snapshot
        .map_or_else(|| snapshot_at(profile, None), Ok);
    let are_estimates = profile.capture().sampling.is_some();
    // What is shown first, if it is of the snapshot.
    let of_snapshot = match question::Kind::of(options.by, options.measure) {
        question::Kind::Snapshot => {
            let at = snapshot.clone().map_err(invalid)?;
            Some((at, options.measure))
        }
        _ => None,
    };
    let snapshot = snapshot.ok();
    let measure = Some(options.measure)
        .filter(|measure| !measure.is_of_snapshots() && is_drawn(*measure, are_estimates));
    let options = &ReportOptions {
        snapshot,
        by: By::default(),
        measure: measure.unwrap_or_default(),
        ..*options
    };
    let total = profile.total_of(options.measure);
    let program = printable(&program_name(profile)).into_owned();
    let title = match of_snapshot {
        Some((at, measure)) => format!(
            "{program}: {}, {}; snapshot {}, {}",
            measure.title(),
            Bytes(at.whole(measure)),
            printable(&at.name()),
            at.moment(profile)
        ),
        None => format!(
            "{program}: {}, {}",
            options.measure.title_in(profile.process().state),
            options.measure.amount(total)
        ),
    };
    let mut texts = Texts::default();
    let mut labels = Labels::default();
    let mut trees = Vec::new();
    let mut picture = String::new();
    for (tree_options, part) in tree_options(&[profile], options.measure) {
        let tree = CountedTree::new(profile, &tree_options);
        let kind = Kind {
            by: tree_options.levels.name(),
            frames: (tree_options.levels == Levels::Stack).then_some(tree_options.frames),
            inverted: tree_options.inverted,
        };
        if picture.is_empty() && kind.frames == Some(options.frames) {
            picture = counted_picture(&tree, options.measure);
        }
        let space = BYTES_OF_FRAMES / 100 * part;
        trees.push(largest(&tree, kind, space, (&mut labels, &mut texts)));
    }
    let held_measure = of_snapshot.map_or(Measure::Retained, |(_, measure)| measure);
    let held = snapshot.map(|at| (at, HeldTree::new(profile, at, held_measure)));
    if let Some((_, tree)) = &held {
        let kind = Kind {
            by: "holder",
            frames: None,
            inverted: false,
        };
        if of_snapshot.is_some() {
            picture = tree.picture();
        }
        let space = BYTES_OF_FRAMES / 100 * 8;
        trees.push(largest(tree, kind, space, (&mut labels, &mut texts)));
    }
    trees.retain(|tree| !tree.is_empty());
    let mut tables = tables(profile, options, &mut texts)?;
    if let Some((at, tree)) = &held {
        let space = BYTES_OF_ROWS / 8;
        tables.push(holders_table(tree.rows(), *at, space, &mut texts)?);
    }
    tables.retain(|table| !table.is_empty());
    let findings = advise(profile, false);
    let mut cut = Vec::new();
    if findings.len() > MOST_FINDINGS {
        let more = Count((findings.len() - MOST_FINDINGS) as u64);
        cut.push(format!("{more} more findings: see `heapglass advise`."));
    }
    let sources = match sources {
        None => None,
        Some(folders) => {
            let owners: Vec<_> = tables
                .iter()
                .flat_map(|table| table.owners.iter().copied())
                .collect();
            let excerpts = Excerpts::read(profile, &owners, folders);
            if excerpts.missing > 0 {
                cut.push(format!(
                    "Source lines of {} places are not in the page: the file is not a regular file below the current folder or --source-dir, or is too large.",
                    Count(excerpts.missing as u64)
                ));
            }
            Some(serde_json::to_value(excerpts.found)?)
        }
    };
    let mut advice_notes = Vec::new();
    if !findings.is_empty() {
        advice_notes.push(advice::OVERLAP.to_owned());
        advice_notes.extend(advice::moments(profile, &findings));
    }
    let shown = findings.iter().take(MOST_FINDINGS);
    let said = shown
        .map(|finding| advice::Texts::of(profile, finding))
        .collect();
    let mut page_notes = notes(profile);
    // The notes say so of samples.
    if !profile.capture().is_exact() && profile.capture().sampling.is_none() {
        let mode = printable(&profile.capture().mode);
        page_notes.insert(0, format!("Mode {mode}: figures are estimates."));
    }
    if texts.cut > 0 {
        let texts = Count(texts.cut as u64);
        cut.push(format!("{texts} names were longer than 2,000 characters."));
    }
    let state = profile.process().state;
    let (by, table, first_measure) = match of_snapshot {
        Some((_, measure)) => (By::Holder.name(), By::Holder.name(), measure.key()),
        None => (Levels::Stack.name(), By::Site.name(), options.measure.key()),
    };
    let data = Data {
        by,
        table,
        measure: first_measure,
        frames: options.frames.name(),
        recording: Some(recording(profile)?),
        notes: page_notes,
        cut,
        snapshot: snapshot.map(|at| snapshot_json(profile, at)),
        held: held_json(profile),
        advice: said,
        advice_notes,
        tables,
        sources,
        ..Data::new(
            "profile",
            title,
            state,
            (options.measure, are_estimates),
            trees,
            labels,
            texts,
        )
    };
    let mut report = Vec::new();
    let (by, measure) = match of_snapshot {
        Some((_, measure)) => (By::Holder, measure),
        None => (options.by, options.measure),
    };
    let plain = ReportOptions {
        by,
        measure,
        snapshot: of_snapshot.map(|(at, _)| at),
        // The page must not say where the recording is.
        recording: options.recording.map(file_name),
        details: true,
        ..*options
    };
    write_text(profile, &plain, &mut report)?;
    write_parts(&picture, &report, &data, &mut out)
}

/// Writes the page of a comparison: of several recordings on a side, that with the median total is
/// the side's picture. [`ReportOptions::measure`] is shown first.
///
/// If both sides have snapshots, the page also compares the holders of two of them: `snapshots`, or
/// else those with most live bytes. With a measure of snapshots, these are shown first.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` if a side has no recording, or no snapshot to show
/// first.
pub fn write_comparison_page(
    base: &[Recording<'_>],
    new: &[Recording<'_>],
    options: &ReportOptions<'_>,
    snapshots: Option<[SnapshotAt<'_>; 2]>,
    mut out: impl Write,
) -> io::Result<()> {
    let are_estimates = base
        .iter()
        .chain(new)
        .any(|one| one.profile.capture().sampling.is_some());
    let measure = Some(options.measure)
        .filter(|measure| !measure.is_of_snapshots() && is_drawn(*measure, are_estimates))
        .unwrap_or_default();
    let none = || invalid("a side without recordings");
    let one = [base, new].map(|side| median_recording(side, measure));
    let [base_one, new_one] = [one[0].ok_or_else(none)?, one[1].ok_or_else(none)?];
    let profiles = [base_one.profile, new_one.profile];
    let names = [base_one.name, new_one.name].map(|name| printable(file_name(name)));
    let most_live = || {
        let of = |profile| snapshot_at(profile, None);
        Ok([of(profiles[0])?, of(profiles[1])?])
    };
    let snapshots: Result<[SnapshotAt<'_>; 2], String> = snapshots.map_or_else(most_live, Ok);
    let held = if options.measure.is_of_snapshots() {
        let snapshots = snapshots.clone().map_err(invalid)?;
        Some((snapshots, options.measure))
    } else {
        None
    };
    let snapshots = snapshots.ok();
    let held_sides = snapshots.map(|[base, new]| {
        [(base_one, base), (new_one, new)].map(|(one, at)| HeldSide {
            name: file_name(one.name),
            profile: one.profile,
            at,
        })
    });
    let held_measure = held.map_or(Measure::Retained, |(_, measure)| measure);
    let held_diff = held_sides.map(|sides| HeldDiff::new(sides, By::Holder, held_measure));
    let title = match (&held_diff, held) {
        (Some(diff), Some((at, measure))) => format!(
            "{} {} -> {} {}: {}, {} -> {}",
            names[0],
            printable(&at[0].name()),
            names[1],
            printable(&at[1].name()),
            measure.title(),
            Bytes(diff.whole.base.median.value),
            Bytes(diff.whole.new.median.value),
        ),
        _ => format!(
            "{} -> {}: {}, {} -> {}",
            names[0],
            names[1],
            measure.title_in(naming_state(base, new)),
            measure.amount(profiles[0].total_of(measure)),
            measure.amount(profiles[1].total_of(measure)),
        ),
    };
    let mut texts = Texts::default();
    let mut labels = Labels::default();
    let mut trees = Vec::new();
    let mut picture = String::new();
    let held_tree = held_sides.and_then(|sides| TwoTrees::of_holders(sides, held_measure));
    if let Some(tree) = held_tree.as_ref().filter(|_| held.is_some()) {
        let (_, tree) = tree.first();
        picture = two_sided_picture(tree, Measure::Live);
    }
    for (tree_options, part) in tree_options(&profiles, measure) {
        if tree_options.frames == Frames::Trimmed {
            continue;
        }
        let is_arena = tree_options.levels == Levels::Arena;
        let wanted: Vec<Measure> = Measure::COUNTED
            .into_iter()
            .filter(|measure| is_drawn(*measure, are_estimates))
            .filter(|measure| !is_arena || is_of_arenas(*measure))
            .collect();
        let Some(tree) = TwoTrees::new(profiles, &tree_options, &wanted) else {
            continue;
        };
        let kind = Kind {
            by: tree_options.levels.name(),
            frames: (tree_options.levels == Levels::Stack).then_some(tree_options.frames),
            inverted: tree_options.inverted,
        };
        if picture.is_empty() {
            let (key, tree) = tree.first();
            let shown = Measure::COUNTED
                .into_iter()
                .find(|measure| measure.key() == key);
            picture = two_sided_picture(tree, shown.unwrap_or(measure));
        }
        let space = BYTES_OF_FRAMES / 100 * part;
        trees.push(largest(&tree, kind, space, (&mut labels, &mut texts)));
    }
    if let Some(tree) = held_tree {
        let kind = Kind {
            by: By::Holder.name(),
            frames: None,
            inverted: false,
        };
        let space = BYTES_OF_FRAMES / 100 * 8;
        trees.push(largest(&tree, kind, space, (&mut labels, &mut texts)));
    }
    trees.retain(|tree| !tree.is_empty());
    let used: Vec<Measure> = Measure::COUNTED
        .into_iter()
        .filter(|measure| is_drawn(*measure, are_estimates))
        .filter(|measure| {
            profiles
                .iter()
                .any(|profile| measure.of(profile.totals()) > 0)
        })
        .collect();
    // The page must not say where the recordings are.
    let named = [base, new].map(|side| -> Vec<Recording<'_>> {
        let one = side.iter().map(|one| Recording {
            name: file_name(one.name),
            profile: one.profile,
        });
        one.collect()
    });
    let diff = Diff::new(
        &named[0],
        &named[1],
        DiffOptions {
            by: By::Site,
            measure,
            per: None,
        },
    );
    let mut by = vec![
        By::Owner,
        By::Type,
        By::Field,
        By::Crate,
        By::Phase,
        By::Arena,
    ];
    // Sites cannot be matched if only one side has phases or fields.
    if diff.options.by == By::Site {
        by.insert(0, By::Site);
    }
    let space = BYTES_OF_ROWS / (by.len() + 1);
    let mut changed: Vec<_> = by
        .into_iter()
        .map(|by| changes([base, new], by, &used, space, &mut texts))
        .collect();
    changed.extend(held_sides.map(|sides| held_changes(sides, space, &mut texts)));
    changed.retain(|changes| !changes.is_empty());
    let mut sides = Vec::new();
    for side in &named {
        let one = side.iter().map(|one| {
            let totals = Measure::COUNTED.map(|measure| {
                let total = one.profile.total_of(measure);
                (measure.key().to_owned(), Value::from(total))
            });
            serde_json::json!({
                "name": one.name,
                "totals": Value::Object(totals.into_iter().collect()),
            })
        });
        sides.push(Value::Array(one.collect()));
    }
    let mut cut = Vec::new();
    if base.len() > 1 || new.len() > 1 {
        cut.push(
            "The picture shows, of each side, the recording with the median total.".to_owned(),
        );
    }
    let mut page_notes = diff.warnings.clone();
    if let Some(held_diff) = &held_diff {
        let [base, new] = held_diff.sides.map(|side| {
            let moment = side.at.moment(side.profile);
            format!("snapshot {}, {moment}", side.at.name())
        });
        page_notes.push(format!(
            "Holders are those of two moments. Base: {base}. New: {new}."
        ));
        let said = &held_diff.warnings;
        page_notes.extend(
            said.iter()
                .filter(|said| !diff.warnings.contains(said))
                .cloned(),
        );
    }
    let state = naming_state(base, new);
    let (first_by, first_table, first_measure) = match held {
        Some((_, measure)) => (By::Holder.name(), By::Holder.name(), measure.key()),
        None => (Levels::Stack.name(), By::Site.name(), measure.key()),
    };
    let data = Data {
        by: first_by,
        table: first_table,
        measure: first_measure,
        sides,
        notes: page_notes,
        cut,
        difference_colors: Some([LESS, of_difference(0, 1), MORE].map(palette::hex)),
        changes: changed,
        ..Data::new(
            "comparison",
            title,
            state,
            (measure, are_estimates),
            trees,
            labels,
            texts,
        )
    };
    let mut report = Vec::new();
    let compared: Comparison<'_> = match held_diff.filter(|_| held.is_some()) {
        Some(held_diff) => held_diff.into(),
        None => diff.into(),
    };
    write_diff_text(&compared, &ReportOptions::default(), &mut report)?;
    write_parts(&picture, &report, &data, &mut out)
}

/// The trees of a page, the most important first, each with its part of the space, in percent.
/// There are trees of fields and arenas if any of the profiles has some.
fn tree_options(profiles: &[&Profile], measure: Measure) -> Vec<(CallTreeOptions, usize)> {
    let options = |levels, frames, inverted| CallTreeOptions {
        levels,
        measure,
        inverted,
        frames,
        ..CallTreeOptions::default()
    };
    let mut all = vec![
        (options(Levels::Stack, Frames::Folded, false), 24),
        (options(Levels::Stack, Frames::Folded, true), 10),
        (options(Levels::Stack, Frames::Trimmed, false), 12),
        (options(Levels::Stack, Frames::Trimmed, true), 6),
        (options(Levels::Stack, Frames::Own, false), 8),
        (options(Levels::Stack, Frames::Own, true), 4),
    ];
    if profiles.iter().any(|one| !one.fields().is_empty()) {
        all.push((options(Levels::Field, Frames::Folded, false), 8));
        all.push((options(Levels::Field, Frames::Folded, true), 4));
    }
    all.push((options(Levels::Type, Frames::Folded, false), 8));
    all.push((options(Levels::Type, Frames::Folded, true), 4));
    if profiles.iter().any(|one| !one.arenas().is_empty()) {
        let measure = if is_of_arenas(measure) {
            measure
        } else {
            Measure::Total
        };
        let arenas = options(Levels::Arena, Frames::Folded, false);
        all.push((CallTreeOptions { measure, ..arenas }, 4));
    }
    all
}

/// The tables of a page, in the order in which they are offered.
fn tables(
    profile: &Profile,
    options: &ReportOptions<'_>,
    texts: &mut Texts,
) -> io::Result<Vec<TableJson>> {
    let mut tables = Vec::new();
    for by in By::COUNTED {
        let has_rows = match by {
            // Paths of the machine; rows by crate have native code by file name.
            By::Module => false,
            By::Field => !profile.fields().is_empty(),
            By::Arena => !profile.arenas().is_empty(),
            _ => true,
        };
        if !has_rows {
            continue;
        }
        let part = match by {
            By::Site => 30,
            By::Owner | By::Type | By::Field | By::Function => 12,
            _ => 4,
        };
        tables.push(table(
            profile,
            by,
            options,
            BYTES_OF_ROWS / 100 * part,
            texts,
        )?);
    }
    Ok(tables)
}

/// Returns the keys of the report that do not depend on rows.
fn recording(profile: &Profile) -> io::Result<Value> {
    let mut report = report_json(profile)?;
    if let Value::Object(report) = &mut report {
        report.retain(|key, _| KEYS.contains(&key.as_str()));
    }
    Ok(report)
}

/// The snapshot that is shown: its moment, and what a reader must know.
fn snapshot_json(profile: &Profile, at: SnapshotAt<'_>) -> Value {
    serde_json::json!({
        "name": at.name(),
        "moment": at.moment(profile),
        "basis": at.basis(),
        "notes": at.notes(),
        "retained_is_lower_bound": at.is_cut(),
    })
}

/// Snapshots whose holders are listed.
const MOST_SNAPSHOTS: usize = 8;

/// Holders of each of them.
const MOST_HOLDERS: usize = 60;

/// The largest holders of the snapshots, in texts: depth, name, share, retained bytes, own bytes
/// and unused capacity. Of many snapshots, those with most live bytes and the last one.
fn held_json(profile: &Profile) -> Vec<Value> {
    let mut all: Vec<SnapshotAt<'_>> = all_snapshots(profile).collect();
    if all.len() > MOST_SNAPSHOTS {
        let last = all.pop();
        all.sort_by_key(|at| Reverse(at.snapshot.moment().live_bytes));
        all.truncate(MOST_SNAPSHOTS - 1);
        all.extend(last);
        all.sort_by_key(|at| at.number);
    }
    let json = |at: SnapshotAt<'_>| {
        let rows = holders(profile, at.snapshot);
        let parents: Vec<Option<usize>> = rows.iter().map(|row| row.parent).collect();
        let retained: Vec<u64> = rows.iter().map(|row| row.held.retained_bytes).collect();
        let weighty = weighty(&retained);
        let top = preorder(&parents, &retained, weighty.min(MOST_HOLDERS));
        let whole = at.whole(Measure::Retained);
        let lines = top.iter().map(|&(number, depth)| {
            let row = &rows[number];
            let above = row.parent.map(|parent| &rows[parent].name);
            let mut name = row.name.below(above).trim().to_owned();
            if let HolderRowName::Site(label) = &row.name
                && !label.what.is_empty()
            {
                name.push_str(&format!("  {}", label.owner_and_source()));
            }
            let share = Share::of(row.held.retained_bytes, whole);
            serde_json::json!([
                depth,
                name,
                share.to_string(),
                row.held.retained_text(),
                Bytes(row.held.own.bytes).to_string(),
                row.held.unused_text().unwrap_or_default(),
            ])
        });
        let mut json = snapshot_json(profile, at);
        json["number"] = at.number.into();
        json["rows"] = lines.collect();
        json["left_out"] = (weighty - top.len()).into();
        json
    };
    all.into_iter().map(json).collect()
}

fn counted_picture(tree: &CountedTree<'_>, measure: Measure) -> String {
    let whole = measure.of(tree.tree.total(NodeId::ROOT));
    let caption = |id: NodeId| {
        let value = measure.of(tree.tree.total(id));
        let label = format!("{} {}", tree.names(id).label, measure.amount(value));
        let share = Share::of(value, whole);
        Caption {
            title: format!("{label}, {share}"),
            label,
        }
    };
    let color = |id: NodeId| palette::of_node(&tree.tree, id, tree.profile);
    fallback::picture(&(&tree.tree, measure), color, caption)
}

fn two_sided_picture(tree: &MergedTree, measure: Measure) -> String {
    let ids = || (0..tree.len() as u32).map(NodeId);
    let most = ids()
        .skip(1)
        .map(|id| tree.node(id).difference().unsigned_abs())
        .max();
    let caption = |id: NodeId| {
        let node = tree.node(id);
        let name = printable(tree.short(id).trim());
        let label = format!("{name} {}", measure.difference(node.difference()));
        let [base, new] = node.totals.map(|figure| measure.amount(figure));
        Caption {
            title: format!("{label}: {base} -> {new}"),
            label,
        }
    };
    let color = |id: NodeId| of_difference(tree.node(id).difference(), most.unwrap_or(0));
    fallback::picture(tree, color, caption)
}

/// Writes the page around its data.
fn write_parts(picture: &str, report: &[u8], data: &Data, out: &mut impl Write) -> io::Result<()> {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let mut json = serde_json::to_value(data)?;
    make_printable(&mut json);
    // The page is split before anything is put in, so that no recorded text is taken for a place.
    let mut parts = PAGE.split("{{");
    out.write_all(parts.next().unwrap_or_default().as_bytes())?;
    for part in parts {
        let (place, rest) = part.split_once("}}").unwrap_or((part, ""));
        match place {
            "title" => out.write_all(escape(&printable(&data.title)).as_bytes())?,
            "policy" => out.write_all(policy.as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            "picture" => out.write_all(picture.as_bytes())?,
            "report" => out.write_all(escape(&String::from_utf8_lossy(report)).as_bytes())?,
            "data" => serde_json::to_writer(Escaping(&mut *out), &json)?,
            other => return Err(io::Error::other(format!("no such place: {other}"))),
        }
        out.write_all(rest.as_bytes())?;
    }
    out.flush()
}

/// The hash of a part of the page, as its policy has it.
fn hash(part: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(part)))
}

/// Spells out what must not reach a page, in all texts.
fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(printable) = printable(text) {
                *text = printable;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_printable),
        Value::Object(values) => values.values_mut().for_each(make_printable),
        _ => {}
    }
}

/// JSON inside an element of HTML: `<` is written as an escape of JSON, so that no text ends the
/// element or begins a comment.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (at, part) in bytes.split(|byte| *byte == b'<').enumerate() {
            if at > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
