//! The tables of a page: rows of the report as columns, with the largest rows that fit.
//!
//! Each cell is a value of the row's JSON. Rows that are left out are counted with their figures.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::texts::Texts;
use super::trees::share_of;
use crate::diff::{Change, HeldChange, HeldDiff, HeldSide, Identity, Matched, Recording, Verdict};
use crate::export::rows::{details, row_values};
use crate::profile::{FIGURES, Figures, FrameId, Frames, Measure, Profile};
use crate::report::{ReportOptions, holder_rows_json, notes};
use crate::table::{By, Detail, HeldFigures, HolderRow, Row, SnapshotAt, by_key, held_by, rows};
use crate::units::counted;

/// Maximum number of rows of a table.
const MOST_ROWS: usize = 2_000;

/// Explains why holders do not add up.
const OVERLAP: &str =
    "A holder retains what the holders below it retain, too, so retained bytes do not add up.";

/// A column: the key of its figure in JSON, its title, and the unit of its cells.
#[derive(Clone, Serialize)]
struct Column {
    key: String,
    title: String,
    /// `text` (cells are numbers of texts), `bytes`, `count`, `ns`, `number`, or `measure` (that
    /// of the measure that is shown).
    unit: &'static str,
    /// Shown at first.
    main: bool,
}

/// Rows of one grouping.
#[derive(Serialize)]
pub(super) struct TableJson {
    by: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
    /// The wholes of shares by the key of the figure, as the report has them; absent if rows are
    /// no part of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<Value>,
    left_out: LeftOut,
    notes: Vec<String>,
    /// The frames that own the blocks of the rows, where rows have one.
    #[serde(skip)]
    pub(super) owners: Vec<FrameId>,
}

/// Rows that a page leaves out for lack of space.
#[derive(Default, Serialize)]
struct LeftOut {
    rows: usize,
    /// Their sums; absent if rows overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<Value>,
}

impl TableJson {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Returns the columns of names that are shown at first.
fn main_columns(by: By) -> &'static str {
    match by {
        By::Site => "what where owner source",
        By::Owner => "function source",
        By::Function => "key crate inclusive/peak_bytes inclusive/total_bytes",
        By::Crate | By::Module => "key sites",
        By::Type => "key values inline_bytes retained_bytes",
        By::Field => "key type values with_inner/peak_bytes with_inner/total_bytes",
        By::Thread => "key threads freed_bytes",
        By::Phase => "key entered elapsed_ns input_bytes records",
        // See `holders_table`.
        By::Holder => "",
        By::Arena => {
            "key largest/allocated_bytes largest/used_bytes largest/padding_bytes \
             largest/abandoned_bytes largest/unused_tail_bytes made live_instances"
        }
    }
}

/// Further columns, after those of the table as CSV.
fn more_columns(by: By) -> &'static str {
    match by {
        By::Site => "source lifetime/mean freed_elsewhere",
        By::Owner => "source",
        By::Arena => {
            "crate made dropped live_instances resets allocated_bytes chunks used_bytes \
             padding_bytes abandoned_bytes bypassed_bytes unused_tail_bytes \
             largest/allocated_bytes largest/used_bytes largest/padding_bytes \
             largest/abandoned_bytes largest/bypassed_bytes largest/unused_tail_bytes \
             at_drop/allocated_bytes at_drop/used_bytes at_drop/padding_bytes \
             at_drop/abandoned_bytes at_drop/bypassed_bytes at_drop/unused_tail_bytes \
             most_allocated_bytes \
             total_chunks total_allocated_bytes total_used_bytes"
        }
        _ => "",
    }
}

/// Columns that would show where the user keeps sources. A page has `source`, the place without the
/// folder of the program.
const PRIVATE: [&str; 2] = ["file", "line"];

/// Returns the rows of a grouping; `space` is about the number of bytes of JSON.
pub(super) fn table(
    profile: &Profile,
    by: By,
    options: &ReportOptions<'_>,
    space: usize,
    texts: &mut Texts,
) -> io::Result<TableJson> {
    let all = rows(profile, by, options.measure, Frames::Folded);
    let order = largest(&all, by);
    let held = options
        .snapshot
        .filter(|_| matches!(by, By::Site | By::Type | By::Owner));
    let kept = order.iter().take(MOST_ROWS);
    let kept: Vec<Row> = kept.map(|at| all[*at].clone()).collect();
    let held = held.map(|at| held_by(profile, at.snapshot, by, &kept, Frames::Folded));
    let mut values = Vec::with_capacity(kept.len());
    for (at, row) in kept.iter().enumerate() {
        let of_row = held.as_ref().and_then(|held| held.get(at));
        let mut value = row_values(profile, (by, options.measure), row, of_row)?;
        if let Detail::Owner { owner, .. } = &row.detail {
            let source = owner.and_then(|owner| profile.source_of(owner));
            value["source"] = source.into();
        }
        values.push(value);
    }
    let held_keys = HeldFigures::default().by_key();
    let held_keys = held_keys.iter().filter(|_| held.is_some());
    let keys = std::iter::once("key")
        .chain(main_columns(by).split_whitespace())
        .chain(FIGURES.into_iter().map(|(key, _)| key))
        .chain(held_keys.map(|(key, _)| *key))
        .chain(details(by).split_whitespace())
        .chain(more_columns(by).split_whitespace())
        .filter(|key| !PRIVATE.contains(key));
    let columns = columns(keys, main_columns(by), &values);
    let rows = cells(&columns, &values, space, texts);
    let left = &order[rows.len()..];
    let mut left_figures = Figures::default();
    for at in left {
        left_figures.add(&all[*at].figures);
    }
    let owners = kept[..rows.len()]
        .iter()
        .filter_map(|row| match &row.detail {
            Detail::Site(detail) => detail.owner,
            _ => None,
        });
    // Arenas lie inside blocks that the totals count.
    let whole = (by != By::Arena).then(|| figures_json(profile.totals(), by));
    Ok(TableJson {
        by: by.name(),
        columns,
        rows,
        whole,
        left_out: LeftOut {
            rows: left.len(),
            figures: Some(figures_json(&left_figures, by)),
        },
        notes: notes(profile, by, &all),
        owners: owners.collect(),
    })
}

/// Returns the figures that rows of this kind have, by key.
fn figures_json(figures: &Figures, by: By) -> Value {
    let figures = by_key(figures, by).map(|(key, figure)| (key.to_owned(), figure.into()));
    Value::Object(figures.collect())
}

/// Returns the order of the rows: those first that are the largest by any measure.
fn largest(all: &[Row], by: By) -> Vec<usize> {
    let mut whole = Figures::default();
    for row in all {
        whole.add(&row.figures);
    }
    let measures: Vec<Measure> = Measure::COUNTED
        .into_iter()
        .filter(|measure| by.measure(*measure) == *measure)
        .collect();
    let mut order: Vec<(f64, usize)> = all
        .iter()
        .enumerate()
        .map(|(at, row)| (share_of(&row.figures, &whole, &measures), at))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, at)| at).collect()
}

/// Returns a column for each key that any of the rows has, once.
fn columns<'k>(keys: impl Iterator<Item = &'k str>, main: &str, values: &[Value]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut add = |key: &str, main: bool| {
        let known = columns.iter().any(|column| column.key == key);
        let place = format!("/{key}");
        let mut found = values.iter().filter_map(|value| value.pointer(&place));
        let first = found.find(|value| !value.is_null());
        let unit = match first {
            _ if known => return,
            Some(Value::String(_)) => "text",
            Some(Value::Number(_)) if key.ends_with("_bytes") || key.contains("_bytes_") => "bytes",
            Some(Value::Number(_)) if key.ends_with("_ns") => "ns",
            Some(Value::Number(figure)) if figure.is_f64() => "number",
            Some(Value::Number(_)) => "count",
            _ => return,
        };
        columns.push(Column {
            key: key.to_owned(),
            title: title(key, unit),
            unit,
            main,
        });
    };
    for key in keys {
        add(key, main.split_whitespace().any(|main| main == key));
        // The interval of an estimate.
        for end in ["_low", "_high"] {
            add(&format!("{key}{end}"), false);
        }
    }
    columns
}

/// Returns the title of a column: `peak blocks`, `inclusive peak`.
fn title(key: &str, unit: &str) -> String {
    if key == "key" {
        return "name".to_owned();
    }
    let words = key.replace(['/', '_'], " ");
    match unit {
        "bytes" => words.replace(" bytes", ""),
        "ns" => words.replace(" ns", ""),
        _ => words,
    }
}

/// Returns the cells of the rows that fit.
fn cells(columns: &[Column], values: &[Value], space: usize, texts: &mut Texts) -> Vec<Vec<Value>> {
    let places: Vec<String> = columns
        .iter()
        .map(|column| format!("/{}", column.key))
        .collect();
    let mut rows = Vec::new();
    let mut used = 0;
    for value in values {
        if used > space {
            break;
        }
        let before = texts.bytes();
        let cells = columns.iter().zip(&places).map(|(column, place)| {
            match (value.pointer(place), column.unit) {
                (Some(Value::String(text)), "text") => texts.number(text).into(),
                (Some(Value::Number(figure)), _) => Value::Number(figure.clone()),
                _ => Value::Null,
            }
        });
        let cells: Vec<Value> = cells.collect();
        let digits = cells.iter().map(|cell| match cell {
            Value::Number(figure) => figure.to_string().len() + 1,
            _ => 5,
        });
        used += digits.sum::<usize>() + texts.bytes() - before;
        rows.push(cells);
    }
    rows
}

/// Returns the holders of a snapshot, as the report has them.
pub(super) fn holders_table(
    holders: &[HolderRow],
    at: SnapshotAt<'_>,
    space: usize,
    texts: &mut Texts,
) -> io::Result<TableJson> {
    let (values, elided) = holder_rows_json(holders, at, MOST_ROWS)?;
    let main = "key retained_bytes own_bytes unused_bytes own_blocks";
    let keys = "key retained_bytes own_bytes own_blocks unused_bytes known_bytes own_unused_bytes \
         own_known_bytes kind place type what where owner source sites depth";
    let columns = columns(keys.split_whitespace(), main, &values);
    let rows = cells(&columns, &values, space, texts);
    let whole =
        Measure::OF_SNAPSHOTS.map(|measure| (measure.key().to_owned(), at.whole(measure).into()));
    Ok(TableJson {
        by: "holder",
        columns,
        whole: Some(Value::Object(whole.into_iter().collect())),
        left_out: LeftOut {
            rows: values.len() - rows.len() + elided,
            figures: None,
        },
        rows,
        notes: vec![OVERLAP.to_owned()],
        owners: Vec::new(),
    })
}

/// Rows of two sides, by each measure.
#[derive(Serialize)]
pub(super) struct ChangesJson {
    by: &'static str,
    columns: Vec<Column>,
    /// By the key of the measure.
    measures: Vec<(&'static str, ChangedRows)>,
    /// Sentences that belong to the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// The rows that differ by one measure, largest difference first.
#[derive(Serialize)]
struct ChangedRows {
    rows: Vec<Vec<Value>>,
    equal: usize,
    left_out: LeftOut,
}

impl ChangesJson {
    pub(super) fn is_empty(&self) -> bool {
        let mut measures = self.measures.iter();
        measures.all(|(_, changed)| changed.rows.is_empty() && changed.equal == 0)
    }
}

/// Compares the rows of two sides by each measure.
pub(super) fn changes(
    sides: [&[Recording<'_>]; 2],
    by: By,
    measures: &[Measure],
    space: usize,
    texts: &mut Texts,
) -> ChangesJson {
    let mut made = ChangesJson {
        by: by.name(),
        columns: columns_of_changes(by == By::Site),
        measures: Vec::new(),
        notes: Vec::new(),
    };
    let measures: Vec<Measure> = measures
        .iter()
        .copied()
        .filter(|measure| by.measure(*measure) == *measure)
        .collect();
    let matched = Matched::new(sides, by, Frames::Folded);
    for measure in &measures {
        let diff = matched.changed(*measure, None);
        let rows = diff.rows.iter().map(|row| {
            let said = verdict(row.change.verdict).to_owned();
            (&row.identity, &row.change, said)
        });
        let changed = changed_rows(rows, diff.equal_rows, space / measures.len(), texts);
        made.measures.push((measure.key(), changed));
    }
    made
}

/// Compares the holders of two snapshots by each measure.
pub(super) fn held_changes(
    sides: [HeldSide<'_>; 2],
    space: usize,
    texts: &mut Texts,
) -> ChangesJson {
    let mut made = ChangesJson {
        by: By::Holder.name(),
        columns: columns_of_changes(false),
        measures: Vec::new(),
        notes: vec![OVERLAP.to_owned()],
    };
    for measure in Measure::OF_SNAPSHOTS {
        let diff = HeldDiff::new(sides, By::Holder, measure);
        let is_bound = |row: &HeldChange| measure == Measure::Unused && row.is_partly_known();
        let rows = diff.rows.iter().map(|row| {
            let mut said = verdict(row.change.verdict).to_owned();
            if is_bound(row) {
                said.push_str("; lower bounds: the fill of some blocks is not known");
            }
            (&row.identity, &row.change, said)
        });
        let changed = changed_rows(
            rows,
            diff.equal_rows,
            space / Measure::OF_SNAPSHOTS.len(),
            texts,
        );
        made.measures.push((measure.key(), changed));
        if diff.rows_without_figure > 0 {
            made.notes.push(format!(
                "By {}, {} left out: the fill of their blocks is not known.",
                measure.title(),
                counted(diff.rows_without_figure as u64, "holder")
            ));
        }
    }
    made
}

/// Returns the columns of rows of two sides.
fn columns_of_changes(of_sites: bool) -> Vec<Column> {
    let text = |key: &str, main| Column {
        key: key.to_owned(),
        title: title(key, "text"),
        unit: "text",
        main,
    };
    let figure = |key: &str, main| Column {
        unit: "measure",
        ..text(key, main)
    };
    vec![
        text("key", true),
        text("where", of_sites),
        text("owner", of_sites),
        text("source", true),
        text("full_name", false),
        figure("base", true),
        figure("new", true),
        figure("difference", true),
        text("verdict", true),
    ]
}

/// Returns the rows that fit, each with its verdict in words.
fn changed_rows<'a>(
    changes: impl ExactSizeIterator<Item = (&'a Identity, &'a Change, String)>,
    equal: usize,
    space: usize,
    texts: &mut Texts,
) -> ChangedRows {
    let all = changes.len();
    let mut rows = Vec::new();
    let before = texts.bytes();
    for (identity, change, said) in changes.take(MOST_ROWS) {
        if texts.bytes() - before + rows.len() * 60 > space {
            break;
        }
        let mut text = |text: &str| match text {
            "" => Value::Null,
            text => Value::from(texts.number(text)),
        };
        let difference = match change.exact_difference().map(i64::try_from) {
            Some(Ok(exact)) => Value::from(exact),
            _ => Value::from(change.difference()),
        };
        rows.push(vec![
            text(&identity.name),
            text(&identity.location),
            text(&identity.owner),
            text(identity.source.as_deref().unwrap_or_default()),
            text(identity.full_name.as_deref().unwrap_or_default()),
            change.base.median.value.into(),
            change.new.median.value.into(),
            difference,
            text(&said),
        ]);
    }
    ChangedRows {
        equal,
        left_out: LeftOut {
            rows: all - rows.len(),
            figures: None,
        },
        rows,
    }
}

/// Returns a verdict in words.
fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Equal => "equal",
        Verdict::WithinBound => "within the error bound",
        Verdict::WithinSpread => "within the spread",
        Verdict::NotKnown => "not known",
        Verdict::More => "more",
        Verdict::Less => "less",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_an_estimate_follows_its_figure() {
        let row = serde_json::json!({
            "key": "a",
            "peak_bytes": 100,
            "peak_bytes_low": 90,
            "peak_bytes_high": 120,
            "total_blocks": 7,
            "live_bytes": null,
        });
        let keys = ["key", "peak_bytes", "total_blocks", "live_bytes", "key"];
        let columns = columns(keys.into_iter(), "key", std::slice::from_ref(&row));
        let shown: Vec<(&str, &str)> = columns
            .iter()
            .map(|column| (column.key.as_str(), column.unit))
            .collect();
        let expected = [
            ("key", "text"),
            ("peak_bytes", "bytes"),
            ("peak_bytes_low", "bytes"),
            ("peak_bytes_high", "bytes"),
            ("total_blocks", "count"),
        ];
        assert_eq!(shown, expected);
        let mut texts = Texts::default();
        let rows = cells(&columns, &[row], 1_000, &mut texts);
        assert_eq!((rows[0].len(), rows.len()), (5, 1));
        assert_eq!(rows[0][3], 120);
    }
}
