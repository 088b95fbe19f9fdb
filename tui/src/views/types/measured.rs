//! Draws the values that were measured: as a table, and the places inside one of them.

use heapglass_profiler::profile::{Measure, Measured, Place};
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::{Bytes, Nanos, counted, signed_percent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::footprints::{Footprints, estimate_bytes, is_exact, panes};
use crate::model::{Context, Data};
use crate::text::clean;
use crate::theme;
use crate::widgets::{Cursor, Lines, Table, bytes, signed};

/// The values that were measured.
pub(super) fn values_table(
    view: &Footprints,
    title: &str,
    cursor: Cursor,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let wide = area.width >= 100;
    let all = cx.data.profile.measured();
    let values = view.values.rows.iter();
    let values: Vec<&Measured> = values.filter_map(|at| all.get(*at)).collect();
    let exact = |value: &&Measured, figure| is_exact(value).then_some(figure);
    Table::new(cx)
        .right(Heading::Exact, move |value| {
            exact(value, value.bytes).map_or("-".to_owned(), bytes)
        })
        .known(Heading::Estimate, |value| estimate_bytes(value))
        .right(Heading::Difference, |value: &&Measured| {
            let difference = value.estimate.and_then(|estimate| estimate.difference);
            difference.map_or_else(String::new, signed_percent)
        })
        .right(Heading::Time, |value| {
            Nanos(value.footprint.time_ns).to_string()
        })
        .known(Heading::Blocks, move |value| exact(value, value.blocks))
        .only_if(wide)
        .known(Heading::Slack, move |value| exact(value, value.slack_bytes))
        .only_if(wide)
        .right(Heading::Growth, |value| {
            let grown = value.change_bytes.filter(|_| is_exact(value));
            grown.map_or(String::new(), signed)
        })
        .only_if(wide)
        .left(title, 0, |value, _| {
            let name = cx.data.type_label(value.footprint.value_type);
            let label = &value.footprint.label;
            (format!("{label}: {name}"), theme::plain())
        })
        .render(area, buffer, &values, cursor, "");
}

/// The list of measured values, or the places inside one.
pub(super) fn footprints(view: &Footprints, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let [table, notes] = panes(area);
    let mut lines = if view.inside.is_some() {
        places(view, cx, table, buffer);
        place_details(view, cx.data, notes, buffer)
    } else {
        values_table(view, "footprint", view.values.cursor, cx, table, buffer);
        let mut lines = Lines::new(notes, buffer);
        lines.rule(&view.values.place("value"));
        for text in [
            "exact: blocks found from the value, each once; slack: bytes no value was seen in.",
            "estimate: what the crate deepsize says of the same value. Enter: what is inside.",
        ] {
            lines.line(text, theme::dim());
        }
        lines
    };
    let found = view.selected(cx.data).filter(|value| is_exact(value));
    let folded = |found| folded(found).filter(|_| view.inside.is_some());
    if let Some(text) = found.and_then(|found| lower_bound(found).or_else(|| folded(found))) {
        lines.line(&text, theme::warning());
    }
}

/// That there is more than was found.
fn lower_bound(found: &Measured) -> Option<String> {
    let hidden = counted(found.footprint.hidden_values, "value");
    (found.footprint.hidden_values > 0)
        .then(|| format!("{hidden} could not be looked into: the figures are a lower bound"))
}

fn folded(found: &Measured) -> Option<String> {
    let folded = counted(found.footprint.folded, "place");
    (found.footprint.folded > 0)
        .then(|| format!("{folded} did not fit into the recording and were counted one level out"))
}

fn places(view: &Footprints, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let (Some(list), Some(value)) = (&view.inside, view.entered(cx.data)) else {
        return;
    };
    type Line<'a> = (&'a Place, usize);
    let rows = list.rows.iter();
    let rows = rows.filter_map(|(at, depth)| Some((value.places.get(*at)?, *depth)));
    let places: Vec<Line<'_>> = rows.collect();
    let wide = area.width >= 110;
    Table::new(cx)
        .figure(Heading::Exact, |(place, _): &Line<'_>| {
            place.with_inner_bytes
        })
        .some(Heading::Own(Measure::Live), |(place, _)| {
            place.node.block_bytes
        })
        .some(Heading::Blocks, |(place, _)| place.node.blocks)
        .some(Heading::Slack, |(place, _)| place.slack_bytes)
        .figure(Heading::Values, |(place, _)| place.node.count)
        .only_if(wide)
        .some(Heading::Shared, |(place, _)| place.node.shared_bytes)
        .only_if(wide)
        .left("inside", 0, |(place, depth), _| {
            let indent = "  ".repeat(*depth.min(&40));
            (format!("{indent}{}", place.step), theme::plain())
        })
        .left("type", 0, |(place, _), _| {
            let name = cx.data.type_label(place.node.value_type);
            (name.into_owned(), theme::plain())
        })
        .only_if(wide)
        .render(area, buffer, &places, list.cursor, "");
}

/// The selected place: its path and type, what was found in it.
fn place_details<'a>(
    view: &Footprints,
    data: &Data,
    area: Rect,
    buffer: &'a mut Buffer,
) -> Lines<'a> {
    let mut lines = Lines::new(area, buffer);
    let (Some(list), Some(value)) = (&view.inside, view.entered(data)) else {
        return lines;
    };
    let place = list.selected().and_then(|(at, _)| value.places.get(*at));
    let Some(place) = place else {
        return lines;
    };
    let node = &place.node;
    lines.rule(&list.place("place"));
    let mut full = clean(&place.path).into_owned();
    if let Some(name) = data.type_name(node.value_type) {
        full.push_str(&format!(": {}", clean(&name.full)));
    }
    lines.line(&full, theme::strong());
    let (values, inline) = (counted(node.count, "value"), Bytes(node.inline_bytes));
    let mut items = vec![format!("{values}, {inline} inline")];
    if node.usable_bytes > 0 {
        items.push(format!("{} usable", Bytes(node.usable_bytes)));
    }
    if node.shared_blocks > 0 {
        let (bytes, blocks) = (
            Bytes(node.shared_bytes),
            counted(node.shared_blocks, "block"),
        );
        items.push(format!("met again, counted elsewhere: {bytes} in {blocks}"));
    }
    lines.flow(&items, theme::plain());
    lines
}
