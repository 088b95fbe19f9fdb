//! Rows by field as a tree: each place below the one around it, the largest first.
//!
//! This module must never leave out a row without counting it. A place stands only below all places
//! around it, which hold at least as much.

use super::{Page, write_rest};
use crate::profile::fields::Field;
use crate::profile::{Profile, ScopeKind};
use crate::report::Style;
use crate::table::{Detail, FieldDetail, Row};
use crate::table::{SHARE_WIDTH, field_columns, preorder, weighty};
use crate::units::printable;

pub(super) fn write(page: &mut Page<'_>, profile: &Profile, rows: &[Row]) {
    let measure = page.options.measure;
    let whole = measure.of(profile.totals());
    let nodes = profile.fields().nodes();
    let mut by_node: Vec<Option<(&Row, &FieldDetail)>> = vec![None; nodes.len()];
    for row in rows {
        if let Detail::Field(detail) = &row.detail
            && let Some(slot) = by_node.get_mut(detail.node as usize)
        {
            *slot = Some((row, detail));
        }
    }
    // Roots are not inside "(no field)".
    let parents: Vec<Option<usize>> = nodes
        .iter()
        .map(|field| (field.parent != 0).then_some(field.parent as usize))
        .collect();
    let weights: Vec<u64> = nodes.iter().map(|field| field.weight(measure)).collect();
    let top = page.top().min(weighty(&weights));
    let places = preorder(&parents, &weights, top);
    let columns = field_columns((measure, profile.process().state), whole, page.width, rows);
    page.head(&columns, "field");
    for (node, depth) in &places {
        if let Some((row, detail)) = by_node[*node].take() {
            let used = page.figures(&columns, row);
            page.place(used, *depth, &name(&nodes[*node], detail));
            if let Some(text) = detail.stayed_text() {
                page.wrap(Style::Faint, &" ".repeat(SHARE_WIDTH + 1), &text);
            }
            if let Some(text) = detail.mixed_text() {
                page.wrap(Style::Faint, &" ".repeat(SHARE_WIDTH + 1), &text);
            }
            if let Some(text) = detail.in_place.and_then(|in_place| in_place.text()) {
                page.wrap(Style::Faint, &" ".repeat(SHARE_WIDTH + 1), &text);
            }
        }
    }
    let rest: Vec<&Row> = by_node.into_iter().flatten().map(|(row, _)| row).collect();
    write_rest(page, whole, rest.into_iter(), places.len());
}

/// `.boss  Option<Box<Sailor>> [recursive]`
fn name(field: &Field, detail: &FieldDetail) -> String {
    let mut name = printable(&field.step).into_owned();
    if let Some(key) = &detail.type_key
        && field.kind != ScopeKind::Root
    {
        name.push_str("  ");
        name.push_str(&printable(key));
    }
    if detail.recursive {
        name.push_str(" [recursive]");
    }
    if detail.folded {
        name.push_str(" [folded]");
    }
    name
}
