//! Two snapshots compared: of two recordings, or of one. Rows are holders by the names of their
//! paths, or rows of a grouping with what they hold.
//!
//! Each side must always stand beside its own moment. Where the unused capacity of some blocks of a
//! row is not known, its difference is not known to the byte, and that is said.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::identity::stable;
use super::text::{figures, heading, write_identity};
use super::{Amount, Change, FORMAT, Identity, RowKind, Series, Verdict};
use crate::profile::{Frames, Measure, Profile};
use crate::report::page::Page;
use crate::report::{ReportOptions, SnapshotJson, Style};
use crate::table::{By, HeldFigures, SnapshotAt, held_by_groups, holders, program_name, rows};
use crate::units::{capital, counted, printable};

/// One side: a snapshot of a recording.
#[derive(Clone, Copy, Debug)]
pub struct HeldSide<'a> {
    /// The name of the recording: the path.
    pub name: &'a str,
    /// Its contents.
    pub profile: &'a Profile,
    /// The snapshot.
    pub at: SnapshotAt<'a>,
}

/// Two snapshots compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldDiff<'a> {
    /// The grouping.
    pub by: By,
    /// The measure that orders rows.
    pub measure: Measure,
    /// The first side and the second one.
    pub sides: [HeldSide<'a>; 2],
    /// Live bytes at the two moments, as the recorders counted them.
    pub live: Change,
    /// The whole of the measure.
    pub whole: Change,
    /// Rows that differ by the measure, largest difference first.
    pub rows: Vec<HeldChange>,
    /// Number of rows that are equal by the measure.
    pub equal_rows: usize,
    /// Number of rows whose figure is not known on a side.
    pub rows_without_figure: usize,
    /// Warnings that a reader must know before comparing the two sides.
    pub warnings: Vec<String>,
}

/// A row of either side or of both.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldChange {
    /// The identity of the row.
    pub identity: Identity,
    /// The sides that have the row.
    pub kind: RowKind,
    /// The measure.
    pub change: Change,
    /// Its figures on each side.
    pub sides: [Option<HeldFigures>; 2],
}

impl HeldChange {
    /// Returns `true` if the unused capacity of some of its blocks is not known, on either side.
    pub(crate) fn is_partly_known(&self) -> bool {
        let mut sides = self.sides.iter().flatten();
        sides.any(|held| held.filled.known_bytes < held.filled.bytes)
    }
}

impl<'a> HeldDiff<'a> {
    /// Compares two snapshots.
    pub fn new(sides: [HeldSide<'a>; 2], by: By, measure: Measure) -> HeldDiff<'a> {
        let mut diff = HeldDiff {
            by,
            measure,
            sides,
            live: change(sides.map(|side| side.at.snapshot.moment().live_bytes)),
            whole: change(sides.map(|side| side.at.whole(measure))),
            rows: Vec::new(),
            equal_rows: 0,
            rows_without_figure: 0,
            warnings: warnings(sides),
        };
        let mut matched: Vec<(Identity, [Option<HeldFigures>; 2])> = Vec::new();
        let mut known: HashMap<Identity, usize> = HashMap::new();
        for (number, side) in sides.into_iter().enumerate() {
            for (identity, held) in of_side(side, by) {
                let at = *known.entry(identity.clone()).or_insert(matched.len());
                if at == matched.len() {
                    matched.push((identity.clone(), [None, None]));
                }
                let (first, figures) = &mut matched[at];
                // Where it lies in the newer build is where to look.
                if identity.source.is_some() {
                    first.source = identity.source;
                }
                figures[number] = Some(held);
            }
        }
        for (identity, sides) in matched {
            let values = sides.each_ref().map(|held| match held {
                Some(held) => held.of(measure),
                None => Some(0),
            });
            let [Some(base), Some(new)] = values else {
                diff.rows_without_figure += 1;
                continue;
            };
            let change = change([base, new]);
            if change.verdict == Verdict::Equal && base == new {
                diff.equal_rows += 1;
                continue;
            }
            let kind = match &sides {
                [None, _] => RowKind::Added,
                [_, None] => RowKind::Removed,
                _ => RowKind::Changed,
            };
            diff.rows.push(HeldChange {
                identity,
                kind,
                change,
                sides,
            });
        }
        diff.rows.sort_by(|a, b| {
            let size = |row: &HeldChange| row.change.difference().abs();
            let by_size = size(b).total_cmp(&size(a));
            by_size.then_with(|| a.identity.parts().cmp(&b.identity.parts()))
        });
        diff
    }
}

fn change(values: [u64; 2]) -> Change {
    let [base, new] = values.map(|value| Series::new(vec![Amount::new(value, 1)]));
    Change::new(base, new, [0.0, 0.0])
}

/// The rows of a side, those of one identity as one.
fn of_side(side: HeldSide<'_>, by: By) -> Vec<(Identity, HeldFigures)> {
    let (profile, snapshot) = (side.profile, side.at.snapshot);
    let mut identities: Vec<Identity> = Vec::new();
    let mut known: HashMap<Identity, usize> = HashMap::new();
    let mut number = |identity: Identity| {
        *known.entry(identity.clone()).or_insert_with(|| {
            identities.push(identity);
            identities.len() - 1
        })
    };
    let held = match by {
        By::Holder => {
            let rows = holders(profile, snapshot);
            let mut held: Vec<HeldFigures> = Vec::new();
            for row in &rows {
                let at = number(Identity::named(&stable(&row.key(&rows))));
                if at == held.len() {
                    held.push(HeldFigures::default());
                }
                // Two rows of one path differ in lines alone. Neither holds the other: the path of
                // what it holds is longer.
                let sum = &mut held[at];
                sum.own.add(&row.held.own);
                sum.filled.add(&row.held.filled);
                sum.retained_bytes = sum.filled.bytes;
            }
            held
        }
        by => {
            let rows = rows(profile, by, Measure::Live, Frames::Folded);
            let groups: Vec<usize> = rows
                .iter()
                .map(|row| number(Identity::of(profile, row)))
                .collect();
            held_by_groups(profile, snapshot, by, &rows, &groups, Frames::Folded)
        }
    };
    let all = identities.into_iter().zip(held);
    all.filter(|(_, held)| held.filled.blocks > 0).collect()
}

fn warnings(sides: [HeldSide<'_>; 2]) -> Vec<String> {
    let mut said = Vec::new();
    let [base, new] = sides;
    let programs = [base, new].map(|side| program_name(side.profile));
    if programs[0] != programs[1] {
        let names = programs.join(", ");
        said.push(format!(
            "The snapshots are of different programs ({names}): rows with the same name may be different code."
        ));
    }
    let basis = [base, new].map(|side| side.at.basis());
    if basis[0] != basis[1] {
        said.push(format!(
            "The snapshots do not know the same of their blocks ({}; {}): rows and unused bytes may differ although the program does not.",
            basis[0], basis[1]
        ));
    }
    for (name, side) in [("base", base), ("new", new)] {
        let notes = side.at.notes();
        said.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
        if side.at.is_cut() {
            said.push(format!(
                "{name}: small holders were summed up, so retained bytes of rows are lower bounds."
            ));
        }
    }
    said
}

pub(super) fn write(
    diff: &HeldDiff<'_>,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    /// Any measure of bytes: how figures are spelled.
    const BYTES: Measure = Measure::Live;
    let mut page = Page::new(options);
    for (name, side) in ["base", "new"].into_iter().zip(diff.sides) {
        let moment = side.at.moment(side.profile);
        let text = format!(
            "{}: snapshot {}, {moment}",
            printable(side.name),
            side.at.name()
        );
        page.entry(Style::Strong, name, &text);
    }
    for warning in &diff.warnings {
        page.warning(warning);
    }
    page.blank();
    heading(&mut page, "total");
    let used = figures(&mut page, BYTES, &diff.live, [true, true]);
    page.end("live", used);
    if diff.measure == Measure::Unused {
        let used = figures(&mut page, BYTES, &diff.whole, [true, true]);
        page.end("unused", used);
    }
    page.blank();
    let kinds = [RowKind::Changed, RowKind::Added, RowKind::Removed];
    let [changed, added, removed] =
        kinds.map(|kind| diff.rows.iter().filter(|row| row.kind == kind).count());
    let title = format!(
        "{}s by difference in {}: {changed} changed, {added} added, {removed} removed, {} equal",
        capital(diff.by.name()),
        diff.measure.title(),
        diff.equal_rows
    );
    page.wrap(Style::Heading, "", &title);
    if diff.measure == Measure::Retained {
        let overlap =
            "Retained bytes of rows do not add up: a row may retain blocks of other rows.";
        page.wrap(Style::Faint, "  ", overlap);
    }
    if diff.rows.is_empty() {
        page.plain("  (no differences)");
    } else {
        heading(&mut page, diff.by.name());
    }
    let top = page.top();
    for row in diff.rows.iter().take(top) {
        let sides = [row.kind != RowKind::Added, row.kind != RowKind::Removed];
        let used = figures(&mut page, BYTES, &row.change, sides);
        write_identity(&mut page, &row.identity, Some(row.kind), used);
        if diff.measure == Measure::Unused && row.is_partly_known() {
            page.wrap(
                Style::Faint,
                &" ".repeat(used),
                "lower bounds: the fill of some blocks is not known",
            );
        }
    }
    if diff.rows.len() > top {
        let rest = (diff.rows.len() - top) as u64;
        let rest = counted(rest, &format!("more {}", diff.by.name()));
        page.line(Style::Faint, &format!("  ... {rest} (--top {top})"));
    }
    if diff.rows_without_figure > 0 {
        let rows = counted(diff.rows_without_figure as u64, diff.by.name());
        let text = format!("  {rows} left out: the fill of their blocks is not known.");
        page.line(Style::Faint, &text);
    }
    page.finish(out)
}

pub(super) struct HeldDiffJson<'a> {
    pub(super) diff: &'a HeldDiff<'a>,
    /// Maximum number of rows.
    pub(super) top: Option<usize>,
}

impl Serialize for HeldDiffJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let diff = self.diff;
        let shown = self.top.unwrap_or(usize::MAX).min(diff.rows.len());
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("format", &FORMAT)?;
        let is_equal = diff.rows.is_empty() && diff.live.verdict == Verdict::Equal;
        json.serialize_entry("equal", &is_equal)?;
        json.serialize_entry("by", diff.by.name())?;
        json.serialize_entry("measure", diff.measure.name())?;
        json.serialize_entry("measure_key", diff.measure.key())?;
        json.serialize_entry("warnings", &diff.warnings)?;
        json.serialize_entry("base", &SideJson(diff.sides[0]))?;
        json.serialize_entry("new", &SideJson(diff.sides[1]))?;
        json.serialize_entry("live_bytes", &diff.live)?;
        json.serialize_entry("whole", &diff.whole)?;
        json.serialize_entry("equal_rows", &diff.equal_rows)?;
        json.serialize_entry("rows_without_figure", &diff.rows_without_figure)?;
        json.serialize_entry("elided_rows", &(diff.rows.len() - shown))?;
        let rows = diff.rows[..shown].iter().map(|row| RowJson {
            identity: &row.identity,
            kind: row.kind,
            change: &row.change,
            base_figures: row.sides[0].as_ref(),
            new_figures: row.sides[1].as_ref(),
        });
        json.serialize_entry("rows", &rows.collect::<Vec<_>>())?;
        json.end()
    }
}

#[derive(Serialize)]
struct RowJson<'a> {
    #[serde(flatten)]
    identity: &'a Identity,
    kind: RowKind,
    #[serde(flatten)]
    change: &'a Change,
    base_figures: Option<&'a HeldFigures>,
    new_figures: Option<&'a HeldFigures>,
}

struct SideJson<'a>(HeldSide<'a>);

impl Serialize for SideJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let HeldSide { name, profile, at } = self.0;
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("recording", name)?;
        json.serialize_entry("program", &profile.process().program)?;
        json.serialize_entry("snapshot", &SnapshotJson { profile, at })?;
        json.end()
    }
}
