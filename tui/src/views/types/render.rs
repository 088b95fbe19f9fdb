//! Draws the types: breadcrumb, table, the selected type in full, and the last values that were measured.

use heapglass_profiler::profile::TypeKind;
use heapglass_profiler::types::TypeRow;
use heapglass_profiler::units::{Bytes, Count, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Types;
use super::footprints::{Footprints, Measured};
use super::order::Sort;
use crate::app::Data;
use crate::text::{clean, figure, type_cell, wrap};
use crate::theme;
use crate::views::Context;
use crate::views::parts::{
    Column, all_figures, bar, blocks, bytes, count, flow, headings, measure_heading, row_style,
    rule, signed, slice, stretch, table_row, write,
};

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
    values_table(values, first, None, cx.data, panes.footprints, buffer);
}

/// Where the reader is, and how much the table names.
fn breadcrumb(view: &Types, cx: &Context<'_>) -> String {
    if view.footprints.is_open() {
        let mut text = "types › footprints".to_owned();
        let inside = view.footprints.inside.as_ref();
        if let Some(value) = inside.and_then(|(at, ..)| view.footprints.values.get(*at)) {
            text.push_str(&format!(" › {}", clean(&value.label)));
        }
        return text;
    }
    if let Some((_, parts)) = &view.inside {
        return format!("types › {} › by field, Enter: its sites", parts.of);
    }
    let of = |wanted: &dyn Fn(&TypeRow) -> bool| {
        let rows = cx.data.types.iter().filter(|row| wanted(row));
        let values = rows.map(|row| cx.measure.of(&row.figures));
        values.fold(0, u64::saturating_add)
    };
    if let Some(filter) = &view.filter {
        let rows = view.order.iter().filter_map(|at| cx.data.types.get(*at));
        let value = rows
            .map(|row| cx.measure.of(&row.figures))
            .fold(0, u64::saturating_add);
        return format!(
            "types › /{}/: {} of {}, {} of all",
            clean(&filter.text),
            view.order.len(),
            cx.data.types.len(),
            Share::of(value, cx.whole())
        );
    }
    let named = cx.data.types.iter().filter(|row| row.type_id.is_some());
    format!(
        "{}; {} of all is typed",
        counted(named.count() as u64, "type"),
        Share::of(of(&|row| row.type_id.is_some()), cx.whole())
    )
}

/// Which columns there is room and data for.
fn columns(view: &Types, cx: &Context<'_>, width: u16) -> Vec<(Sort, Column)> {
    let sorted = |sort: Sort, title: &str| {
        let mark = if view.reversed { "▲" } else { "▼" };
        if view.sort == sort {
            format!("{title}{mark}")
        } else {
            title.to_owned()
        }
    };
    let has_values = cx.data.types.iter().any(|row| row.values > 0);
    let (_, unit) = blocks(cx.measure, &Default::default());
    let heading = sorted(Sort::Measure, &measure_heading(cx.measure));
    let mut columns = vec![(Sort::Measure, Column::right(heading, 10))];
    if has_values && width >= 70 {
        columns.push((
            Sort::Values,
            Column::right(sorted(Sort::Values, "values"), 10),
        ));
    }
    if has_values && width >= 100 {
        columns.push((
            Sort::Inline,
            Column::right(sorted(Sort::Inline, "inline"), 10),
        ));
    }
    if width >= 50 {
        columns.push((Sort::Blocks, Column::right(sorted(Sort::Blocks, unit), 10)));
    }
    if width >= 70 {
        columns.push((Sort::Mean, Column::right(sorted(Sort::Mean, "mean"), 9)));
    }
    columns.push((Sort::Name, Column::left(sorted(Sort::Name, "type"), 0)));
    columns
}

fn table(view: &Types, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let sorts = columns(view, cx, area.width);
    let bar_cells = if area.width >= 100 { 12 } else { 6 };
    let measured = area.width >= 110 && !view.footprints.values.is_empty();
    let mut columns = vec![Column::right("share", 7), Column::left("", bar_cells)];
    columns.extend(sorts.iter().map(|(_, column)| column.clone()));
    if measured {
        let last = columns.len() - 1;
        let extra = [Column::right("measured", 10), Column::right("slack", 10)];
        columns.splice(last..last, extra);
    }
    stretch(&mut columns, area.width as usize);
    headings(buffer, area, &columns);
    if view.order.is_empty() {
        let text = if cx.data.types.is_empty() {
            "no sites were recorded"
        } else {
            "nothing is called so; Esc shows all"
        };
        write(buffer, slice(area, 1, 1), text, theme::dim());
        return;
    }
    let room = columns.last().map_or(0, |column| column.width);
    let shown = view.order.iter().enumerate().skip(view.cursor.top);
    for (at, index) in shown.take(area.height.saturating_sub(1) as usize) {
        let Some(row) = cx.data.types.get(*index) else {
            continue;
        };
        let value = cx.measure.of(&row.figures);
        let mut cells = vec![
            (Share::of(value, cx.whole()).to_string(), theme::plain()),
            (bar(value, cx.whole(), bar_cells), theme::bar()),
        ];
        for (sort, _) in &sorts {
            cells.push(match sort {
                Sort::Measure => (figure(cx.measure, value), theme::plain()),
                Sort::Values => (some(row.values, count), theme::plain()),
                Sort::Inline => (some(row.inline_bytes, bytes), theme::plain()),
                Sort::Blocks => (count(blocks(cx.measure, &row.figures).0), theme::plain()),
                Sort::Mean => (bytes(row.mean_block_bytes()), theme::plain()),
                Sort::Name => (
                    type_cell(&cx.data.type_label(row.type_id), room),
                    theme::kind(cx.data.type_kind(row.type_id)),
                ),
            });
        }
        if measured {
            let found = row.type_id.and_then(|id| view.footprints.of_type(id));
            let last = cells.len() - 1;
            let texts = [
                found.map_or(String::new(), |found| some(found.bytes, bytes)),
                found.map_or(String::new(), |found| some(found.slack_bytes, bytes)),
            ];
            cells.splice(last..last, texts.map(|text| (text, theme::plain())));
        }
        let line = slice(area, 1 + (at - view.cursor.top) as u16, 1);
        let cells = cells.into_iter().map(|(text, style)| (text.into(), style));
        table_row(buffer, line, &columns, cells, row_style(at, &view.cursor));
    }
}

/// Nothing for 0: an empty cell is easier to pass over.
fn some(value: u64, spell: fn(u64) -> String) -> String {
    if value == 0 {
        String::new()
    } else {
        spell(value)
    }
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
        None => cx.data.unnamed().to_owned(),
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
    flow(buffer, below(at), &known(view, row), theme::dim());
}

/// What is known of the values of a type besides its blocks.
fn known(view: &Types, row: &TypeRow) -> Vec<String> {
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

/// Values that were measured, from `first` on; `selected` is the one of the cursor.
fn values_table(
    values: &[Measured],
    first: usize,
    selected: Option<usize>,
    data: &Data,
    area: Rect,
    buffer: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let wide = area.width >= 100;
    let more = if selected.is_none() { " (f)" } else { "" };
    let mut columns = vec![
        Column::right("exact", 10),
        Column::right("estimate", 10),
        Column::right("off by", 19),
        Column::right("at", 9),
    ];
    if wide {
        columns.extend([
            Column::right("blocks", 10),
            Column::right("slack", 10),
            Column::right("grown by", 11),
        ]);
    }
    columns.push(Column::left(format!("footprint{more}"), 0));
    stretch(&mut columns, area.width as usize);
    headings(buffer, area, &columns);
    let rows = area.height.saturating_sub(1) as usize;
    for (row, (at, value)) in values.iter().enumerate().skip(first).take(rows).enumerate() {
        let found = value.found;
        let off = found.zip(value.difference_bytes).map(|(found, by)| {
            let share = Share::of(by.unsigned_abs(), found.bytes);
            format!("{} ({share})", signed(by.into()))
        });
        let mut cells = vec![
            found.map_or("-".to_owned(), |found| bytes(found.bytes)),
            value.estimate_bytes.map_or(String::new(), bytes),
            off.unwrap_or_default(),
            heapglass_profiler::units::Nanos(value.time_ns).to_string(),
        ];
        if wide {
            let grown = found.and_then(|found| found.change_bytes);
            let grown = grown.map(|by| signed(by.into()));
            cells.push(found.map_or(String::new(), |found| count(found.blocks)));
            cells.push(found.map_or(String::new(), |found| bytes(found.slack_bytes)));
            cells.push(grown.unwrap_or_default());
        }
        cells.push(format!(
            "{}: {}",
            clean(&value.label),
            data.type_label(value.value_type)
        ));
        let style = if selected == Some(at) {
            theme::selected()
        } else {
            theme::plain()
        };
        let cells = cells.into_iter().map(|text| (text.into(), theme::plain()));
        table_row(
            buffer,
            slice(area, 1 + row as u16, 1),
            &columns,
            cells,
            style,
        );
    }
}

/// The list of measured values, or the places inside one.
fn footprints(view: &Footprints, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let details = FOOTPRINT_DETAILS.min(area.height.saturating_sub(2));
    let table = slice(area, 0, area.height - details);
    let notes = slice(area, area.height - details, details);
    if let Some((at, ..)) = &view.inside {
        places(view, cx.data, table, notes, buffer);
        let folded = view.values.get(*at).and_then(|value| value.found);
        if let Some(found) = folded.filter(|found| found.folded > 0) {
            let text = format!(
                "{} found no room of their own and were counted around them",
                counted(found.folded, "place")
            );
            write(buffer, slice(notes, 3, 1), &text, theme::warning());
        }
        return;
    }
    let selected = view.cursor.selected;
    values_table(
        &view.values,
        view.cursor.top,
        Some(selected),
        cx.data,
        table,
        buffer,
    );
    rule(
        buffer,
        notes,
        &format!("value {} of {}", selected + 1, view.values.len()),
    );
    let lines = [
        "exact: blocks found from the value, each once; slack: bytes no value was seen in.",
        "estimate: what the crate deepsize says of the same value. Enter: what is inside.",
    ];
    for (at, line) in (1..).zip(lines) {
        write(buffer, slice(notes, at, 1), line, theme::dim());
    }
}

fn places(view: &Footprints, data: &Data, table: Rect, notes: Rect, buffer: &mut Buffer) {
    let Some((_, places, cursor)) = &view.inside else {
        return;
    };
    let wide = table.width >= 110;
    let mut columns = vec![
        Column::right("with inner", 10),
        Column::right("own", 10),
        Column::right("blocks", 9),
        Column::right("slack", 10),
    ];
    if wide {
        columns.extend([Column::right("values", 10), Column::right("shared", 10)]);
    }
    columns.push(Column::left("inside", 0));
    if wide {
        columns.push(Column::left("type", 0));
    }
    stretch(&mut columns, table.width as usize);
    headings(buffer, table, &columns);
    let shown = places.iter().enumerate().skip(cursor.top);
    for (at, place) in shown.take(table.height.saturating_sub(1) as usize) {
        let node = &place.node;
        let name = data.type_label(node.value_type);
        let indent = "  ".repeat(usize::from(place.depth.min(40)));
        let mut cells = vec![
            bytes(place.with_inner),
            some(node.block_bytes, bytes),
            some(node.blocks, count),
            some(place.slack_bytes, bytes),
        ];
        if wide {
            cells.extend([count(node.count), some(node.shared_bytes, bytes)]);
        }
        cells.push(format!("{indent}{}", clean(&place.step)));
        cells.extend(wide.then(|| name.clone().into_owned()));
        let cells = cells.into_iter().map(|text| (text.into(), theme::plain()));
        let line = slice(table, 1 + (at - cursor.top) as u16, 1);
        table_row(buffer, line, &columns, cells, row_style(at, cursor));
    }
    let Some(place) = places.get(cursor.selected) else {
        return;
    };
    let node = &place.node;
    rule(
        buffer,
        notes,
        &format!("place {} of {}", cursor.selected + 1, places.len()),
    );
    let mut full = clean(&place.path).into_owned();
    if let Some(name) = data.type_name(node.value_type) {
        full.push_str(&format!(": {}", clean(&name.full)));
    }
    write(buffer, slice(notes, 1, 1), &full, theme::strong());
    let mut items = vec![format!(
        "{}, {} inline",
        counted(node.count, "value"),
        Bytes(node.inline_bytes)
    )];
    if node.usable_bytes > 0 {
        items.push(format!("{} usable", Bytes(node.usable_bytes)));
    }
    if node.shared_blocks > 0 {
        items.push(format!(
            "met again, counted elsewhere: {} in {} blocks",
            Bytes(node.shared_bytes),
            Count(node.shared_blocks)
        ));
    }
    let rest = slice(notes, 2, 2);
    flow(buffer, rest, &items, theme::plain());
}
