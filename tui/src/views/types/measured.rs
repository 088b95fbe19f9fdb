//! Draws the measured values as a table, and the places inside one of them.

use heapglass_profiler::profile::{Measure, Measured, Place};
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::{Bytes, Nanos, counted, signed_percent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::footprints::{Footprints, estimate_bytes, is_exact, panes};
use crate::model::{Context, Data};
use crate::text::fit_branch;
use crate::theme;
use crate::widgets::{Lines, List, Table, bytes, signed, values_inline};

/// Draws the table of measured values.
pub(super) fn values_table(
    values: &List<usize>,
    title: &str,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let wide = area.width >= 100;
    let all = cx.data.profile.measured();
    let values = values.filter_map(|at| all.get(*at));
    let exact = |value: &&Measured, figure| is_exact(value).then_some(figure);
    Table::new(cx)
        .right(Heading::EXACT, move |value| {
            exact(value, value.bytes).map_or("-".to_owned(), bytes)
        })
        .known(Heading::ESTIMATE, |value| estimate_bytes(value))
        .right(Heading::DIFFERENCE, |value: &&Measured| {
            let difference = value.estimate.and_then(|estimate| estimate.difference);
            difference.map_or_else(String::new, signed_percent)
        })
        .right(Heading::TIME, |value| {
            Nanos(value.footprint.time_ns).to_string()
        })
        .known(Heading::BLOCKS, move |value| exact(value, value.blocks))
        .only_if(wide)
        .known(Heading::SLACK, move |value| exact(value, value.slack_bytes))
        .only_if(wide)
        .right(Heading::GROWTH, |value| {
            let grown = value.change_bytes.filter(|_| is_exact(value));
            grown.map_or(String::new(), signed)
        })
        .only_if(wide)
        .left(title, 0, |value, _| {
            let name = cx.data.type_label(value.footprint.value_type);
            let label = &value.footprint.label;
            (format!("{label}: {name}"), theme::plain())
        })
        .render(area, buffer, &values, "");
}

/// Draws the list of measured values, or the places inside one.
pub(super) fn footprints(view: &Footprints, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let [table, notes] = panes(area);
    let selected = view.selected(cx.data);
    let mut lines = if let Some((list, value)) = view.inside.as_ref().zip(selected) {
        let places = list.filter_map(|(at, depth)| Some((value.places.get(*at)?, *depth)));
        places_table(&places, cx, table, buffer);
        place_details(&places, cx.data, notes, buffer)
    } else {
        values_table(&view.values, "footprint", cx, table, buffer);
        let mut lines = Lines::new(notes, buffer);
        lines.rule(&view.values.place("value"));
        for text in [
            "exact: blocks found from the value, counted once; slack: bytes without a value.",
            "estimate: the same value's size by the crate deepsize. Enter: show its parts.",
        ] {
            lines.line(text, theme::dim());
        }
        lines
    };
    let Some(found) = selected.filter(|value| is_exact(value)) else {
        return;
    };
    // The value has more bytes than were found, or some were counted at another place.
    let (hidden, folded) = (found.footprint.hidden_values, found.footprint.folded);
    if hidden > 0 {
        let hidden = counted(hidden, "value");
        let text = format!("{hidden} could not be inspected; the figures are a lower bound");
        lines.line(&text, theme::warning());
    } else if folded > 0 && view.inside.is_some() {
        let folded = counted(folded, "place");
        let text =
            format!("{folded} did not fit into the recording and were counted one level out");
        lines.line(&text, theme::warning());
    }
}

/// A place inside a value, with its depth.
type Line<'a> = (&'a Place, usize);

fn places_table(places: &List<Line<'_>>, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 110;
    Table::new(cx)
        .figure(Heading::EXACT, |(place, _): &Line<'_>| {
            place.with_inner_bytes
        })
        .some(Heading::own(Measure::Live), |(place, _)| {
            place.node.figures.block_bytes
        })
        .some(Heading::BLOCKS, |(place, _)| place.node.figures.blocks)
        .some(Heading::SLACK, |(place, _)| place.node.slack_bytes())
        .figure(Heading::VALUES, |(place, _)| place.node.figures.count)
        .only_if(wide)
        .some(Heading::SHARED, |(place, _)| {
            place.node.figures.shared_bytes
        })
        .only_if(wide)
        .left("inside", 0, |(place, depth), _| {
            let indent = "  ".repeat(*depth.min(&40));
            (format!("{indent}{}", place.step), theme::plain())
        })
        .shortened(fit_branch)
        .left("type", 0, |(place, _), _| {
            let name = cx.data.type_label(place.node.value_type);
            (name.into_owned(), theme::plain())
        })
        .only_if(wide)
        .render(area, buffer, places, "");
}

/// Draws the selected place: its path, its type, and its figures.
fn place_details<'a>(
    places: &List<Line<'_>>,
    data: &Data,
    area: Rect,
    buffer: &'a mut Buffer,
) -> Lines<'a> {
    let mut lines = Lines::new(area, buffer);
    let Some((place, _)) = places.selected() else {
        return lines;
    };
    let node = &place.node;
    lines.rule(&places.place("place"));
    let full = data.typed_path(&place.path, node.value_type);
    lines.line(&full, theme::strong());
    let mut items = vec![values_inline(node.figures.count, node.figures.inline_bytes)];
    if node.figures.usable_bytes > 0 {
        items.push(format!("{} usable", Bytes(node.figures.usable_bytes)));
    }
    if node.figures.shared_blocks > 0 {
        let (bytes, times) = (
            Bytes(node.figures.shared_bytes),
            counted(node.figures.shared_blocks, "time"),
        );
        items.push(format!(
            "shared blocks met again {times}, counted elsewhere: copies would be {bytes}"
        ));
    }
    lines.flow(&items, theme::plain());
    lines
}
