//! Draws the values that were measured: as a table, and the places inside one of them.

use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::footprints::{Footprints, Found, Measured, Place};
use super::render::FOOTPRINT_DETAILS;
use crate::model::{Context, Data};
use crate::text::clean;
use crate::theme;
use crate::widgets::{Cursor, Table, bytes, count, flow, rule, signed, slice, some, write};

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
    let found = |value: &&Measured, spell: &dyn Fn(Found) -> String, none: &str| {
        value.found.map_or(none.to_owned(), spell)
    };
    let table = Table::new()
        .right("exact", 10, move |value| {
            found(value, &|found| bytes(found.bytes), "-")
        })
        .right("estimate", 10, |value: &&Measured| {
            value.estimate_bytes.map_or(String::new(), bytes)
        })
        .right("off by", 19, |value| {
            let off = value.found.zip(value.difference_bytes).map(|(found, by)| {
                let share = Share::of(by.unsigned_abs(), found.bytes);
                format!("{} ({share})", signed(by.into()))
            });
            off.unwrap_or_default()
        })
        .right("at", 9, |value| Nanos(value.time_ns).to_string())
        .right_if(wide, "blocks", 10, move |value| {
            found(value, &|found| count(found.blocks), "")
        })
        .right_if(wide, "slack", 10, move |value| {
            found(value, &|found| bytes(found.slack_bytes), "")
        })
        .right_if(wide, "grown by", 11, |value| {
            let grown = value.found.and_then(|found| found.change_bytes);
            grown.map_or(String::new(), |by| signed(by.into()))
        })
        .left(format!("footprint{more}"), 0, |value, _| {
            let name = data.type_label(value.value_type);
            (format!("{}: {name}", clean(&value.label)), theme::plain())
        });
    let cursor = Cursor {
        top: first,
        // Nothing is selected where the keys move elsewhere.
        selected: selected.unwrap_or(usize::MAX),
    };
    table.render(area, buffer, values.iter(), (cursor, theme::selected()), "");
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
    let mut columns = Table::new()
        .right("with inner", 10, |place: &&Place| bytes(place.with_inner))
        .right("own", 10, |place| some(place.node.block_bytes, bytes))
        .right("blocks", 9, |place| some(place.node.blocks, count))
        .right("slack", 10, |place| some(place.slack_bytes, bytes))
        .right_if(wide, "values", 10, |place| count(place.node.count))
        .right_if(wide, "shared", 10, |place| {
            some(place.node.shared_bytes, bytes)
        })
        .left("inside", 0, |place, _| {
            let indent = "  ".repeat(usize::from(place.depth.min(40)));
            (format!("{indent}{}", clean(&place.step)), theme::plain())
        });
    if wide {
        columns = columns.left("type", 0, |place, _| {
            (
                data.type_label(place.node.value_type).into_owned(),
                theme::plain(),
            )
        });
    }
    columns.render(
        table,
        buffer,
        places.iter(),
        (*cursor, theme::selected()),
        "",
    );
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
