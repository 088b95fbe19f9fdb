//! Rows by field as a tree: each place below the one around it, the largest first.
//!
//! Must never leave out a row without counting it: a place stands only below all places around it, which hold at
//! least as much.

use std::io::{self, Write};

use super::{Page, write_rest};
use crate::profile::{Measure, Profile, ScopeKind};
use crate::report::{DEFAULT_TOP, Detail, FieldDetail, Options, Row, Style};
use crate::table::{NAME_WIDTH, SHARE_WIDTH, of_measure, preorder, weighty};
use crate::units::{Count, Share, printable, signed_bytes};

/// Columns of figures with the places inside, in the order they are left out from the end.
const OTHERS: [Measure; 4] = [
    Measure::Live,
    Measure::Temporary,
    Measure::Total,
    Measure::Peak,
];

const VALUES_WIDTH: usize = 9;

pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    options: &Options<'_>,
    rows: &[Row],
) -> io::Result<()> {
    let measure = options.measure;
    let fields = profile.fields();
    let whole = measure.of(&profile.totals);
    let mut by_node: Vec<Option<&Row>> = vec![None; fields.nodes.len()];
    for row in rows {
        if let Detail::Field(detail) = &row.detail
            && let Some(slot) = by_node.get_mut(detail.node as usize)
        {
            *slot = Some(row);
        }
    }
    let parents: Vec<Option<usize>> = fields
        .nodes
        .iter()
        // Roots are not inside "(no field)".
        .map(|field| (field.parent != 0).then_some(field.parent as usize))
        .collect();
    let weights: Vec<u64> = fields
        .nodes
        .iter()
        .map(|field| measure.of(&field.with_inner))
        .collect();
    let top = options.top.unwrap_or(DEFAULT_TOP).min(weighty(&weights));
    let places = preorder(&parents, &weights, top);
    let others = others(measure, page.width);
    let own = of_measure(measure);
    let mut head = format!(
        "{:>SHARE_WIDTH$} {:>own_width$} {:>own_width$}",
        "share",
        own.title,
        "own",
        own_width = own.width
    );
    for &other in &others {
        let column = of_measure(other);
        head.push_str(&format!(" {:>1$}", column.title, column.width));
    }
    if values_fit(measure, page.width) {
        head.push_str(&format!(" {:>VALUES_WIDTH$}", "values"));
    }
    page.line(Style::Heading, &format!("{head}  field"))?;
    let mut shown = vec![false; fields.nodes.len()];
    for (node, depth) in &places {
        shown[*node] = true;
        if let Some(row) = by_node[*node] {
            write_place(page, row, *depth, (measure, whole), &others, fields)?;
        }
    }
    let rest: Vec<Row> = rows
        .iter()
        .filter(|row| match &row.detail {
            Detail::Field(detail) => !shown.get(detail.node as usize).is_some_and(|&shown| shown),
            _ => false,
        })
        .cloned()
        .collect();
    write_rest(page, options, whole, &rest, places.len())
}

/// Whether there is room for the number of values.
fn values_fit(measure: Measure, width: usize) -> bool {
    let own = of_measure(measure).width + 1;
    SHARE_WIDTH + 2 * own + VALUES_WIDTH + 1 + 2 + NAME_WIDTH <= width
}

/// The measures that fit beside the measure with and without the places inside.
fn others(measure: Measure, width: usize) -> Vec<Measure> {
    let own = of_measure(measure).width + 1;
    let mut used = SHARE_WIDTH + 2 * own + VALUES_WIDTH + 1 + 2 + NAME_WIDTH;
    OTHERS
        .into_iter()
        .filter(|&other| other != measure)
        .take_while(|&other| {
            used += of_measure(other).width + 1;
            used <= width
        })
        .collect()
}

fn write_place<W: Write>(
    page: &mut Page<'_, W>,
    row: &Row,
    depth: usize,
    (measure, whole): (Measure, u64),
    others: &[Measure],
    fields: &crate::profile::fields::Fields,
) -> io::Result<()> {
    let Detail::Field(detail) = &row.detail else {
        return Ok(());
    };
    let value = measure.of(&detail.with_inner);
    let share = Share::of(value, whole).to_string();
    page.part(Style::Faint, &format!("{share:>SHARE_WIDTH$}"))?;
    let own = of_measure(measure);
    let inner_cell = format!(" {:>1$}", measure.amount(value), own.width);
    let own_cell = format!(
        " {:>1$}",
        measure.amount(measure.of(&row.figures)),
        own.width
    );
    page.part(Style::Strong, &inner_cell)?;
    let mut rest = own_cell;
    for &other in others {
        let figure = other.amount(other.of(&detail.with_inner));
        rest.push_str(&format!(" {figure:>0$}", of_measure(other).width));
    }
    if values_fit(measure, page.width) {
        let values = match detail.values {
            0 => "-".to_owned(),
            values => Count(values).to_string(),
        };
        rest.push_str(&format!(" {values:>VALUES_WIDTH$}"));
    }
    rest.push_str("  ");
    page.part(Style::Faint, &rest)?;
    let used = SHARE_WIDTH + inner_cell.len() + rest.len();
    // Deep places keep room for their name.
    let indent = (2 * depth).min(page.width.saturating_sub(used) / 2);
    let step = fields
        .nodes
        .get(detail.node as usize)
        .map_or("", |field| field.step.as_str());
    let name = format!("{}{}", " ".repeat(indent), name(step, detail));
    page.end(&name, used)?;
    match detail.retained_bytes {
        Some(bytes) => {
            let retained = format!("retained {} when it was built", signed_bytes(bytes));
            page.wrap(Style::Faint, &" ".repeat(SHARE_WIDTH + 1), &retained)
        }
        None => Ok(()),
    }
}

/// `.boss  Option<Box<Sailor>> [recursive]`
fn name(step: &str, detail: &FieldDetail) -> String {
    let mut name = printable(step).into_owned();
    if let Some((key, _)) = &detail.value_type
        && detail.kind != ScopeKind::Root
    {
        name.push_str("  ");
        name.push_str(&printable(key));
    }
    for (set, mark) in [
        (detail.recursive, "[recursive]"),
        (detail.folded, "[folded]"),
    ] {
        if set {
            name.push(' ');
            name.push_str(mark);
        }
    }
    name
}
