//! Draws the types: breadcrumb, table, details of the selected type, and the last measured values.

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::TypeKind;
use heapglass_profiler::profile::TypeRow;
use heapglass_profiler::table::By;
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::{Bytes, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Types;
use super::footprints::Footprints;
use super::measured::{footprints, values_table};
use crate::model::Context;
use crate::text::{clean, fit_types};
use crate::theme;
use crate::views::View;
use crate::widgets::{
    Lines, List, Table, all_figures, below, rows_in, split, values_inline, write,
};

/// Returns the areas of breadcrumb, table, details and measured values. Empty areas are not drawn.
pub(super) fn panes(cx: &Context<'_>, area: Rect, footprints: &Footprints) -> [Rect; 4] {
    let breadcrumb = u16::from(area.height >= 4);
    let (details, most) = match area.height {
        _ if cx.is_zoomed => (0, 0),
        0..10 => (0, 0),
        10..16 => (3, 0),
        16..30 => (6, 3),
        _ => (7, 6),
    };
    let values = (footprints.values.rows.len() as u16).min(most);
    // The rows and their heading.
    let measured = values + u16::from(values > 0);
    let table = area.height - breadcrumb - details - measured;
    split(area, [breadcrumb, table, details, measured])
}

pub(super) fn render(view: &Types, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let [top, body, details_area, measured] = panes(cx, area, &view.footprints);
    write(buffer, top, &breadcrumb(view, cx), theme::heading());
    let rest = below(area, top.height);
    if view.footprints.is_open {
        return footprints(&view.footprints, cx, rest, buffer);
    }
    if let Some(parts) = &view.inside {
        return parts.render(cx, rest, buffer);
    }
    let list = shown(view, cx);
    let empty = view.search.empty("no sites were recorded");
    table(view, cx).render(body, buffer, &list, &empty);
    if let Some(row) = view.selected(cx.data) {
        details(view, row, cx, details_area, buffer);
    }
    let values = view.footprints.values.rows.clone();
    let top = values.len().saturating_sub(rows_in(measured));
    let values = List::unselected(values, top);
    values_table(&values, "footprint (f)", cx, measured, buffer);
}

/// Returns the rows of the table.
pub(super) fn shown<'a>(view: &Types, cx: &'a Context<'_>) -> List<(usize, &'a TypeRow)> {
    let all = cx.data.profile.type_rows();
    view.list.filter_map(|(at, _)| Some((*at, all.get(*at)?)))
}

/// Returns the breadcrumb, with the share of the figures that have a type.
fn breadcrumb(view: &Types, cx: &Context<'_>) -> String {
    if view.footprints.is_open {
        return match view.footprints.entered(cx.data) {
            Some(value) => format!("types › footprints › {}", clean(&value.footprint.label)),
            None => "types › footprints".to_owned(),
        };
    }
    if let Some(parts) = &view.inside {
        return format!("types › {} › by field, Enter: sites", parts.of);
    }
    let all = cx.data.profile.type_rows();
    if let Some(found) = view.found(cx) {
        return format!("types › {found}");
    }
    let typed = all.iter().filter(|row| row.type_id.is_some());
    format!(
        "{}, covering {} of all",
        counted(typed.clone().count() as u64, "type"),
        cx.share(cx.sum(typed.map(|row| &row.figures)))
    )
}

/// Returns the table of types. A row is a [`TypeRow`] with its index.
pub(super) fn table<'a>(view: &'a Types, cx: &'a Context<'_>) -> Table<'a, (usize, &'a TypeRow)> {
    let width = cx.body.width;
    let has_values = cx.data.profile.type_rows().iter().any(|row| row.values > 0);
    let is_measured = width >= 110 && !view.footprints.values.rows.is_empty();
    type Line<'a> = (usize, &'a TypeRow);
    let value = |(_, row): &Line<'a>| cx.measure.shown(&row.figures);
    let found = |(_, row): &Line<'a>| view.footprints.of_type(row.type_id?);
    let name = |row: &TypeRow| cx.data.type_label(row.type_id).into_owned();
    let some_bytes = |bytes: u64| (bytes > 0).then_some(bytes);
    let measure = cx.measure;
    Table::sorted(cx, view.sort)
        .share(Heading::SHARE, value, cx.whole())
        .bars(if width >= 100 { 12 } else { 6 }, value, cx.whole())
        .measure(value)
        .change(By::Type, Heading::CHANGE, |(_, row)| {
            Some(Identity::of_type(&cx.data.profile, row.type_id))
        })
        .some(Heading::VALUES, |(_, row)| row.values)
        .only_if(has_values && width >= 70)
        .some(Heading::INLINE, |(_, row)| row.inline_bytes)
        .only_if(has_values && width >= 100)
        .blocks(|(_, row)| &row.figures)
        .only_if(width >= 50)
        .some(Heading::MEAN_BLOCK, move |(_, row)| {
            measure.mean_block_bytes(&row.figures).unwrap_or(0)
        })
        .only_if(width >= 70)
        .known(Heading::MEASURED, move |row| {
            some_bytes(found(row)?.of_bytes)
        })
        .only_if(is_measured)
        .known(Heading::SLACK, move |row| some_bytes(found(row)?.bytes))
        .only_if(is_measured)
        .left("allocated as", 0, move |(_, row), _| {
            (name(row), theme::kind(cx.data.type_kind(row.type_id)))
        })
        .shortened_together(fit_types)
        .by_name(move |(_, row)| name(row))
}

/// Draws the selected type: its full name, its figures, and facts about its values.
fn details(view: &Types, row: &TypeRow, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let mut title = view.list.place("row");
    if let Some(kind) = cx.data.type_kind(row.type_id) {
        title.push_str(&format!(" · {}", kind_name(kind)));
    }
    let fields = row.fields.iter().filter(|(node, _)| *node != 0).count();
    if fields > 0 {
        title.push_str(&format!(" · in {}", counted(fields as u64, "field")));
    }
    let full = cx
        .data
        .full_type_name(row.type_id)
        .unwrap_or_else(|| cx.data.unnamed());
    let most = match (row.type_id, area.height) {
        (None, _) => 3,
        (_, 0..7) => 1,
        _ => 2,
    };
    let mut lines = Lines::details(area, buffer, &title, (&full, most, theme::strong()));
    lines.flow(&all_figures(cx.measure, &row.figures), theme::plain());
    lines.flow(&known(view, row, cx), theme::dim());
}

/// Returns the facts about the values of a type in addition to its blocks.
fn known(view: &Types, row: &TypeRow, cx: &Context<'_>) -> Vec<String> {
    let mut items = Vec::new();
    if row.values > 0 {
        items.push(values_inline(row.values, row.inline_bytes));
    }
    let (all, fields) = (row.figures.total_bytes, row.from_fields.total_bytes);
    if row.type_id.is_some() && fields > 0 {
        let share = Share::of(fields, all);
        items.push(format!("type known from the field, not the stack: {share}"));
    }
    let found = row.type_id.and_then(|id| view.footprints.of_type(id));
    if let Some(found) = found {
        items.push(format!(
            "measured: {} in {}, {} slack",
            Bytes(found.of_bytes),
            counted(found.of_blocks, "block"),
            Bytes(found.bytes)
        ));
    }
    let estimated = row.type_id.and_then(|id| cx.data.profile.estimated(id));
    items.extend(estimated.map(|estimated| clean(&estimated.text()).into_owned()));
    items
}

fn kind_name(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Text => "text",
        TypeKind::Sequence => "sequence",
        TypeKind::Map => "map",
        TypeKind::Pointer => "pointer",
        TypeKind::Shared => "shared",
        TypeKind::Dynamic => "dynamic",
        _ => "value",
    }
}
