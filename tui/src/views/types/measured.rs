//! Draws the values that were measured: as a table, and the places inside one of them.

use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::footprints::{Footprints, Found, Measured};
use super::render::{FOOTPRINT_DETAILS, some};
use crate::app::Data;
use crate::text::clean;
use crate::theme;
use crate::views::Context;
use crate::views::parts::{
    Column, bytes, count, flow, headings, row_style, rule, signed, slice, stretch, table_row, write,
};

/// Values that were measured, from `first` on; `selected` is the one of the cursor.
pub(super) fn values_table(
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
            Nanos(value.time_ns).to_string(),
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
pub(super) fn footprints(view: &Footprints, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let details = FOOTPRINT_DETAILS.min(area.height.saturating_sub(2));
    let table = slice(area, 0, area.height - details);
    let notes = slice(area, area.height - details, details);
    if let Some((at, ..)) = &view.inside {
        places(view, cx.data, table, notes, buffer);
        let found = view.values.get(*at).and_then(|value| value.found);
        let text = found.and_then(|found| lower_bound(found).or_else(|| folded(found)));
        if let Some(text) = text {
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
    let found = view.values.get(selected).and_then(|value| value.found);
    if let Some(text) = found.and_then(lower_bound) {
        write(buffer, slice(notes, 3, 1), &text, theme::warning());
    }
}

/// That there is more than was found.
fn lower_bound(found: Found) -> Option<String> {
    (found.hidden_values > 0).then(|| {
        format!(
            "{} could not be looked into: the figures are a lower bound",
            counted(found.hidden_values, "value")
        )
    })
}

fn folded(found: Found) -> Option<String> {
    (found.folded > 0).then(|| {
        format!(
            "{} found no room of their own and were counted around them",
            counted(found.folded, "place")
        )
    })
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
