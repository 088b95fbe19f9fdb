//! The values that a program had measured: one table for each label, with exact figures, estimates,
//! and the places of the newest value.

use super::Page;
use crate::profile::{Measure, Measured, Place, Profile};
use crate::report::Style;
use crate::table::{Column, Heading, cells, fitting, preorder, weighty};
use crate::units::{Bytes, Nanos, counted, printable, signed_percent};
use heapglass_profile::internal::Interned;

/// Footprints of one label that are shown; the newest ones.
const MOMENTS: usize = 10;

pub(super) fn write(page: &mut Page<'_>, profile: &Profile) {
    let mut labels: Interned<&str> = Interned::new();
    let mut of_labels: Vec<Vec<&Measured>> = Vec::new();
    for measured in profile.measured() {
        let of_label = labels.entry(&mut of_labels, &measured.footprint.label);
        of_label.push(measured);
    }
    if of_labels.is_empty() {
        return;
    }
    let top = page.top();
    for (label, of_label) in labels.values.iter().zip(&of_labels).take(top) {
        let (estimates, exact): (Vec<&Measured>, Vec<&Measured>) = of_label
            .iter()
            .partition(|measured| measured.footprint.estimate);
        page.blank();
        let newest = exact.last().or(estimates.last());
        let name = newest.and_then(|newest| profile.named_type(newest.footprint.value_type));
        let name = name.map_or_else(String::new, |name| format!(": {}", printable(&name.short)));
        let heading = format!("Footprint {}{name}", printable(label));
        page.line(Style::Heading, &heading);
        match exact.last() {
            Some(newest) => {
                write_moments(page, &exact);
                write_facts(page, newest);
                write_places(page, profile, newest);
            }
            None => write_estimates(page, &estimates),
        }
    }
    page.blank();
    write_more(page, of_labels.len().saturating_sub(top), "more label");
    page.wrap(
        Style::Faint,
        "  ",
        "exact: heap bytes of the blocks found at the addresses of the value's parts, each block once; slack: bytes of \
         them that no value was in (spare capacity, and what containers keep); estimate: what the crate deepsize says.",
    )
}

/// Writes the number of rows that are not shown.
fn write_more(page: &mut Page<'_>, count: usize, noun: &str) {
    if count == 0 {
        return;
    }
    let more = counted(count as u64, noun);
    page.line(Style::Faint, &format!("  ... {more} (report --json)"));
}

fn moment_columns(exact: &[&Measured]) -> Vec<Column<Measured>> {
    let figure = |heading, of: fn(&Measured) -> Option<u64>| Column::figure(heading, of);
    let text = |heading, of: fn(&Measured) -> Option<String>| Column::new(heading, of);
    let mut columns = vec![
        text(Heading::TIME, |one| {
            Some(Nanos(one.footprint.time_ns).to_string())
        }),
        figure(Heading::EXACT, |one| Some(one.bytes)),
    ];
    if exact.iter().any(|measured| measured.estimate.is_some()) {
        columns.push(figure(Heading::ESTIMATE, |one| Some(one.estimate?.bytes)));
        columns.push(text(Heading::DIFFERENCE, |one| {
            Some(signed_percent(one.estimate?.difference?))
        }));
    }
    columns.push(figure(Heading::BLOCKS, |one| Some(one.blocks)));
    columns.push(figure(Heading::SLACK, |one| Some(one.slack_bytes)));
    if exact.len() > 1 {
        columns.push(text(Heading::GROWTH, |one| {
            Some(Measure::Total.difference(one.change_bytes?.into()))
        }));
    }
    columns
}

fn write_moments(page: &mut Page<'_>, exact: &[&Measured]) {
    let columns = fitting(moment_columns(exact), 0, page.width);
    page.head(&columns, "");
    let older = exact.len().saturating_sub(MOMENTS);
    for measured in exact.iter().skip(older) {
        page.plain(&cells(&columns, measured).concat());
    }
    write_more(page, older, "older one");
}

/// Writes the further facts about a value.
fn write_facts(page: &mut Page<'_>, newest: &Measured) {
    let mut facts = vec![format!(
        "{} the value's own size",
        Bytes(newest.inline_bytes)
    )];
    if let Some(usable) = newest.usable_bytes {
        facts.push(format!("{} usable in its blocks", Bytes(usable)));
    }
    if newest.shared_blocks > 0 {
        let (times, bytes) = (
            counted(newest.shared_blocks, "time"),
            Bytes(newest.shared_bytes),
        );
        // Each time counts the whole block: one of 2 KiB that is met 100,000 times has 195 MiB.
        facts.push(format!(
            "shared blocks met again {times}, and counted once: copies would be {bytes}"
        ));
    }
    let live = Bytes(newest.footprint.live_bytes);
    facts.push(format!("{live} live in the process then"));
    if newest.footprint.folded > 0 {
        let places = counted(newest.footprint.folded, "place");
        facts.push(format!("{places} counted at the place around it"));
    }
    page.wrap(Style::Faint, "  newest: ", &facts.join("; "));
    let hidden = newest.footprint.hidden_values;
    if hidden == 0 {
        return;
    }
    let values = counted(hidden, "value");
    let bound = format!("{values} could not be looked into: the figures are a lower bound");
    page.wrap(Style::Warning, "  newest: ", &bound);
}

/// Estimates without an exact figure of their label.
fn write_estimates(page: &mut Page<'_>, estimates: &[&Measured]) {
    let older = estimates.len().saturating_sub(MOMENTS);
    for measured in estimates.iter().skip(older) {
        page.plain(&format!(
            " {:>10} {:>10} estimated; footprint(\"{}\", &value) measures it exactly",
            Nanos(measured.footprint.time_ns).to_string(),
            Bytes(measured.bytes).to_string(),
            printable(&measured.footprint.label)
        ));
    }
}

fn place_columns(width: usize) -> Vec<Column<Place>> {
    let column = |heading, figure: fn(&Place) -> u64| {
        Column::figure(heading, move |place: &Place| Some(figure(place)))
    };
    let mut columns = vec![
        column(Heading::EXACT, |place| place.with_inner_bytes),
        column(Heading::own(Measure::Live), |place| {
            place.node.figures.block_bytes
        }),
        column(Heading::SLACK, |place| place.node.slack_bytes()),
    ];
    if width >= 80 {
        columns.push(column(Heading::BLOCKS, |place| place.node.figures.blocks));
        columns.push(column(Heading::VALUES, |place| place.node.figures.count));
    }
    columns
}

fn write_places(page: &mut Page<'_>, profile: &Profile, measured: &Measured) {
    let all = &measured.places;
    let parents: Vec<Option<usize>> = all.iter().map(|place| place.parent).collect();
    let weights: Vec<u64> = all.iter().map(|place| place.with_inner_bytes).collect();
    let top = page.top().min(weighty(&weights));
    let places = preorder(&parents, &weights, top);
    if places.is_empty() {
        return;
    }
    let columns = place_columns(page.width);
    page.head(&columns, "place");
    for (index, depth) in &places {
        let place = &all[*index];
        let figures = cells(&columns, place).concat();
        page.part(Style::Faint, &figures);
        let mut name = printable(&place.step).into_owned();
        if *index > 0
            && let Some(of_type) = profile.named_type(place.node.value_type)
        {
            name.push_str("  ");
            name.push_str(&printable(&of_type.short));
        }
        page.place(figures.len(), *depth, &name);
    }
    write_more(page, all.len() - places.len(), "more place");
}
