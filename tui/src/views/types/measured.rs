//! Draws the values that were measured: as a table, and the places inside one of them.

use heapglass_profiler::profile::{Measured, Place};
use heapglass_profiler::units::{Bytes, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::footprints::{Footprints, estimate_bytes, is_exact};
use super::render::FOOTPRINT_DETAILS;
use crate::model::{Context, Data};
use crate::text::clean;
use crate::theme;
use crate::widgets::{Cursor, Table, bytes, count, flow, rule, signed, slice, some, write};

/// Values that were measured, from `first` on; `selected` is the one of the cursor.
pub(super) fn values_table(
    view: &Footprints,
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
    let found = |value: &&Measured, spell: &dyn Fn(&Measured) -> String, none: &str| match is_exact(
        value,
    ) {
        true => spell(value),
        false => none.to_owned(),
    };
    let table = Table::new()
        .right("exact", 10, move |value| {
            found(value, &|value| bytes(value.bytes), "-")
        })
        .right("estimate", 10, |value: &&Measured| {
            estimate_bytes(value).map_or(String::new(), bytes)
        })
        .right("off by", 19, |value| {
            let off = value.estimate.map(|estimate| {
                let by = estimate.difference_bytes;
                let share = Share::of(by.unsigned_abs(), value.bytes);
                format!("{} ({share})", signed(by.into()))
            });
            off.unwrap_or_default()
        })
        .right("at", 9, |value| Nanos(value.footprint.time_ns).to_string())
        .right_if(wide, "blocks", 10, move |value| {
            found(value, &|value| count(value.blocks), "")
        })
        .right_if(wide, "slack", 10, move |value| {
            found(value, &|value| bytes(value.slack_bytes), "")
        })
        .right_if(wide, "grown by", 11, |value| {
            let grown = value.change_bytes.filter(|_| is_exact(value));
            grown.map_or(String::new(), |by| signed(by.into()))
        })
        .left(format!("footprint{more}"), 0, |value, _| {
            let name = data.type_label(value.footprint.value_type);
            (
                format!("{}: {name}", clean(&value.footprint.label)),
                theme::plain(),
            )
        });
    let cursor = Cursor {
        top: first,
        // Nothing is selected where the keys move elsewhere.
        selected: selected.unwrap_or(usize::MAX),
    };
    let rows = (0..view.values.len()).filter_map(|row| view.value(row, data));
    let rows: Vec<&Measured> = rows.collect();
    table.render(
        area,
        buffer,
        rows.into_iter(),
        (cursor, theme::selected()),
        "",
    );
}

/// The list of measured values, or the places inside one.
pub(super) fn footprints(view: &Footprints, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let details = FOOTPRINT_DETAILS.min(area.height.saturating_sub(2));
    let table = slice(area, 0, area.height - details);
    let notes = slice(area, area.height - details, details);
    if let Some((at, ..)) = &view.inside {
        places(view, cx.data, table, notes, buffer);
        let found = view.value(*at, cx.data).filter(|value| is_exact(value));
        let text = found.and_then(|found| lower_bound(found).or_else(|| folded(found)));
        if let Some(text) = text {
            write(buffer, slice(notes, 3, 1), &text, theme::warning());
        }
        return;
    }
    let selected = view.cursor.selected;
    values_table(
        view,
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
    let found = view.value(selected, cx.data);
    let found = found.filter(|value| is_exact(value));
    if let Some(text) = found.and_then(lower_bound) {
        write(buffer, slice(notes, 3, 1), &text, theme::warning());
    }
}

/// That there is more than was found.
fn lower_bound(found: &Measured) -> Option<String> {
    (found.footprint.hidden_values > 0).then(|| {
        format!(
            "{} could not be looked into: the figures are a lower bound",
            counted(found.footprint.hidden_values, "value")
        )
    })
}

fn folded(found: &Measured) -> Option<String> {
    (found.footprint.folded > 0).then(|| {
        format!(
            "{} found no room of their own and were counted around them",
            counted(found.footprint.folded, "place")
        )
    })
}

fn places(view: &Footprints, data: &Data, table: Rect, notes: Rect, buffer: &mut Buffer) {
    let Some((at, order, cursor)) = &view.inside else {
        return;
    };
    let Some(value) = view.value(*at, data) else {
        return;
    };
    let rows = order.iter();
    let rows = rows.filter_map(|(at, depth)| Some((value.places.get(*at)?, *depth)));
    let places: Vec<(&Place, usize)> = rows.collect();
    let wide = table.width >= 110;
    let mut columns = Table::new()
        .right("with inner", 10, |(place, _): &(&Place, usize)| {
            bytes(place.with_inner_bytes)
        })
        .right("own", 10, |(place, _)| some(place.node.block_bytes, bytes))
        .right("blocks", 9, |(place, _)| some(place.node.blocks, count))
        .right("slack", 10, |(place, _)| some(place.slack_bytes, bytes))
        .right_if(wide, "values", 10, |(place, _)| count(place.node.count))
        .right_if(wide, "shared", 10, |(place, _)| {
            some(place.node.shared_bytes, bytes)
        })
        .left("inside", 0, |(place, depth), _| {
            let indent = "  ".repeat(*depth.min(&40));
            (format!("{indent}{}", clean(&place.step)), theme::plain())
        });
    if wide {
        columns = columns.left("type", 0, |(place, _), _| {
            (
                data.type_label(place.node.value_type).into_owned(),
                theme::plain(),
            )
        });
    }
    columns.render(
        table,
        buffer,
        places.iter().copied(),
        (*cursor, theme::selected()),
        "",
    );
    let Some((place, _)) = places.get(cursor.selected) else {
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
            "met again, counted elsewhere: {} in {}",
            Bytes(node.shared_bytes),
            counted(node.shared_blocks, "block")
        ));
    }
    let rest = slice(notes, 2, 2);
    flow(buffer, rest, &items, theme::plain());
}
