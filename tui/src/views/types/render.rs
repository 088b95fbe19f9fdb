//! Draws the types: breadcrumb, table, the selected type in full, and the last values that were measured.

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::TypeKind;
use heapglass_profiler::profile::TypeRow;
use heapglass_profiler::report::By;
use heapglass_profiler::units::{Bytes, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Types;
use super::footprints::Footprints;
use super::measured::{footprints, values_table};
use super::order::Sort;
use crate::model::Context;
use crate::text::{clean, type_cell, wrap};
use crate::theme;
use crate::widgets::{Table, all_figures, bytes, count, flow, rule, slice, some, write};

/// Lines below the list of footprints, and below the places inside one.
pub(super) const FOOTPRINT_DETAILS: u16 = 4;

/// Where things are. Empty panes are not drawn.
struct Panes {
    breadcrumb: Rect,
    table: Rect,
    details: Rect,
    footprints: Rect,
}

fn panes(area: Rect, footprints: &Footprints) -> Panes {
    let breadcrumb = u16::from(area.height >= 4);
    let details = match area.height {
        0..10 => 0,
        10..16 => 3,
        16..30 => 6,
        _ => 7,
    };
    let most = match area.height {
        0..16 => 0,
        16..30 => 3,
        _ => 6,
    };
    let values = (footprints.values.len() as u16).min(most);
    // The rows, and their heading.
    let measured = values + u16::from(values > 0);
    let table = area.height - breadcrumb - details - measured;
    Panes {
        breadcrumb: slice(area, 0, breadcrumb),
        table: slice(area, breadcrumb, table),
        details: slice(area, breadcrumb + table, details),
        footprints: slice(area, breadcrumb + table + details, measured),
    }
}

/// Rows of the table on the present screen, without its heading.
pub(super) fn list_rows(cx: &Context<'_>, footprints: &Footprints) -> usize {
    let area = Rect::from((ratatui::layout::Position::ORIGIN, cx.body));
    panes(area, footprints).table.height.saturating_sub(1) as usize
}

pub(super) fn render(view: &Types, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let panes = panes(area, &view.footprints);
    write(
        buffer,
        panes.breadcrumb,
        &breadcrumb(view, cx),
        theme::heading(),
    );
    let used = panes.breadcrumb.height;
    let rest = slice(area, used, area.height - used);
    if view.footprints.is_open() {
        return footprints(&view.footprints, cx, rest, buffer);
    }
    if let Some((_, parts)) = &view.inside {
        return parts.render(cx, rest, buffer);
    }
    table(view, cx, panes.table, buffer);
    if let Some(row) = view.selected(cx.data) {
        details(view, row, cx, panes.details, buffer);
    }
    let values = &view.footprints.values;
    let shown = panes.footprints.height.saturating_sub(1) as usize;
    let first = values.len().saturating_sub(shown);
    values_table(
        &view.footprints,
        first,
        None,
        cx.data,
        panes.footprints,
        buffer,
    );
}

/// Where the reader is, and how much the table names.
fn breadcrumb(view: &Types, cx: &Context<'_>) -> String {
    if view.footprints.is_open() {
        let mut text = "types › footprints".to_owned();
        let inside = view.footprints.inside.as_ref();
        if let Some(value) = inside.and_then(|(at, ..)| view.footprints.value(*at, cx.data)) {
            text.push_str(&format!(" › {}", clean(&value.footprint.label)));
        }
        return text;
    }
    if let Some((_, parts)) = &view.inside {
        return format!("types › {} › by field, Enter: its sites", parts.of);
    }
    let of = |wanted: &dyn Fn(&TypeRow) -> bool| {
        let rows = cx.data.profile.type_rows().iter().filter(|row| wanted(row));
        let values = rows.map(|row| cx.measure.of(&row.figures));
        values.fold(0, u64::saturating_add)
    };
    if let Some(filter) = &view.filter {
        let rows = view
            .order
            .iter()
            .filter_map(|at| cx.data.profile.type_rows().get(*at));
        let value = rows
            .map(|row| cx.measure.of(&row.figures))
            .fold(0, u64::saturating_add);
        return format!(
            "types › /{}/: {} of {}, {} of all",
            clean(&filter.text),
            view.order.len(),
            cx.data.profile.type_rows().len(),
            Share::of(value, cx.whole())
        );
    }
    let named = cx
        .data
        .profile
        .type_rows()
        .iter()
        .filter(|row| row.type_id.is_some());
    format!(
        "{}; {} of all is typed",
        counted(named.count() as u64, "type"),
        Share::of(of(&|row| row.type_id.is_some()), cx.whole())
    )
}

fn table(view: &Types, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let sorted = |sort: Sort, title: &str| {
        let mark = if view.reversed { "▲" } else { "▼" };
        if view.sort == sort {
            format!("{title}{mark}")
        } else {
            title.to_owned()
        }
    };
    let (width, all) = (area.width, cx.data.profile.type_rows());
    let values = all.iter().any(|row| row.values > 0);
    let measured = width >= 110 && !view.footprints.values.is_empty();
    let (_, unit) = cx.measure.blocks(&Default::default());
    let value = |row: &&TypeRow| cx.measure.of(&row.figures);
    let found = |row: &&TypeRow| row.type_id.and_then(|id| view.footprints.of_type(id));
    let table = Table::new()
        .right("share", 7, |row| {
            Share::of(value(row), cx.whole()).to_string()
        })
        .bars(if width >= 100 { 12 } else { 6 }, |row| {
            (value(row), cx.whole())
        })
        .right(sorted(Sort::Measure, cx.measure.name()), 10, |row| {
            cx.measure.amount(value(row))
        })
        .change(cx, By::Type, "change", |row: &&TypeRow| {
            Some(Identity::of_type(&cx.data.profile, row.type_id))
        })
        .right_if(
            values && width >= 70,
            sorted(Sort::Values, "values"),
            10,
            |row| some(row.values, count),
        )
        .right_if(
            values && width >= 100,
            sorted(Sort::Inline, "inline"),
            10,
            |row| some(row.inline_bytes, bytes),
        )
        .right_if(width >= 50, sorted(Sort::Blocks, unit), 10, |row| {
            count(cx.measure.blocks(&row.figures).0)
        })
        .right_if(width >= 70, sorted(Sort::Mean, "mean"), 9, |row| {
            bytes(row.mean_block_bytes())
        })
        .right_if(measured, "measured", 10, |row| {
            found(row).map_or(String::new(), |found| some(found.bytes, bytes))
        })
        .right_if(measured, "slack", 10, |row| {
            found(row).map_or(String::new(), |found| some(found.slack_bytes, bytes))
        })
        .left(sorted(Sort::Name, "type"), 0, |row, cells| {
            let name = type_cell(&cx.data.type_label(row.type_id), cells);
            (name, theme::kind(cx.data.type_kind(row.type_id)))
        });
    let rows: Vec<&TypeRow> = view.order.iter().filter_map(|at| all.get(*at)).collect();
    let empty = match all {
        [] => "no sites were recorded",
        _ => "nothing is called so; Esc shows all",
    };
    let selection = (view.cursor, theme::selected());
    table.render(area, buffer, rows.into_iter(), selection, empty);
}

/// The selected type: its full name, every figure, what is known of its values.
fn details(view: &Types, row: &TypeRow, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let kind = cx.data.type_kind(row.type_id).map(kind_name);
    let mut text = format!("type {} of {}", view.cursor.selected + 1, view.order.len());
    if let Some(kind) = kind {
        text.push_str(&format!(" · {kind}"));
    }
    let fields = row.fields.iter().filter(|(node, _)| *node != 0).count() as u64;
    if fields > 0 {
        text.push_str(&format!(" · in {}", counted(fields, "field")));
    }
    rule(buffer, area, &text);
    let full = match cx.data.type_name(row.type_id) {
        Some(name) => clean(&name.full).into_owned(),
        None => cx.data.unnamed().into_owned(),
    };
    let most = match (row.type_id, area.height) {
        (None, _) => 3,
        (_, 0..7) => 1,
        _ => 2,
    };
    let lines = wrap(&full, area.width as usize, most);
    for (at, line) in (1..).zip(&lines) {
        write(buffer, slice(area, at, 1), line, theme::strong());
    }
    let mut at = 1 + lines.len() as u16;
    let below = |at: u16| slice(area, at, area.height.saturating_sub(at));
    at += flow(
        buffer,
        below(at),
        &all_figures(&row.figures),
        theme::plain(),
    );
    flow(buffer, below(at), &known(view, row, cx), theme::dim());
}

/// What is known of the values of a type besides its blocks.
fn known(view: &Types, row: &TypeRow, cx: &Context<'_>) -> Vec<String> {
    let mut items = Vec::new();
    if row.values > 0 {
        items.push(format!(
            "{}, {} inline",
            counted(row.values, "value"),
            Bytes(row.inline_bytes)
        ));
    }
    let (all, fields) = (row.figures.total_bytes, row.from_fields.total_bytes);
    if row.type_id.is_some() && fields > 0 {
        let share = Share::of(fields, all);
        items.push(format!("named by the field, not the stack: {share}"));
    }
    let found = row.type_id.and_then(|id| view.footprints.of_type(id));
    if let Some(found) = found.filter(|found| found.blocks > 0) {
        items.push(format!(
            "measured: {} in {}, {} slack",
            Bytes(found.bytes),
            counted(found.blocks, "block"),
            Bytes(found.slack_bytes)
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
        TypeKind::Other => "value",
    }
}
