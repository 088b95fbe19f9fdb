//! Draws the overview: totals at the top, the timeline in the middle, owners at the bottom. All
//! shrink on small screens.

use std::cmp::Reverse;
use std::sync::Arc;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::growth::Rate;
use heapglass_profiler::profile::{LinearMemory, Measure, State};
use heapglass_profiler::table::Heading;
use heapglass_profiler::table::{By, Detail, Row};
use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Overview;
use crate::model::{Context, Data};
use crate::text::{fit_path, width};
use crate::theme;
use crate::views::{View, timeline};
use crate::widgets::{Table, change, columns, right_of, slice, split, write};

/// Number of lines of the totals, including their heading.
const TOTALS: u16 = 5;
/// The minimum width for facts next to the totals.
const TWO_COLUMNS: u16 = 72;
/// Widths of the totals, of their labels, and of the labels of the facts.
const LEFT: u16 = 37;
const LABEL: u16 = 11;
const FACT: u16 = 9;

/// Returns the areas of totals, timeline and owners. The timeline has what the owners leave.
pub(super) fn panes(cx: &Context<'_>, area: Rect, owners: usize) -> [Rect; 3] {
    if cx.is_zoomed {
        return split(area, [0, 0, area.height]);
    }
    let totals = match area.height {
        0..4 => area.height,
        4..8 => 2,
        8..11 => 3,
        _ if area.width >= TWO_COLUMNS || area.height < 24 => TOTALS,
        _ => 2 * TOTALS,
    };
    let rest = area.height - totals;
    // Separate the parts by a blank line if the screen is high enough.
    let gap = u16::from(area.height >= 16);
    let wanted = u16::try_from(owners).unwrap_or(u16::MAX).saturating_add(1);
    let owners = match rest {
        0..6 => rest,
        6..14 => rest / 2,
        _ => wanted.clamp(4, rest * 2 / 5),
    };
    let chart = rest - owners;
    [
        slice(area, 0, totals),
        slice(area, totals + gap, chart.saturating_sub(2 * gap)),
        slice(area, totals + chart, owners),
    ]
}

pub(super) fn render(view: &Overview, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let [above, middle, below] = panes(cx, area, view.owners.rows.len());
    if !above.is_empty() {
        totals(cx.data, above, buffer);
    }
    let overlay = timeline::Overlay {
        moment: view.moment,
        ..timeline::Overlay::default()
    };
    timeline::render(cx.data, overlay, middle, buffer);
    owners(view, cx, below, buffer);
}

fn totals(data: &Data, area: Rect, buffer: &mut Buffer) {
    let figures = data.profile.totals();
    let is_detached = data.profile.capture().is_detached();
    let live = match data.profile.process().state {
        State::Finished if is_detached => "at detach",
        State::Running => "live now",
        State::NotRecorded => "found",
        _ => "at exit",
    };
    let rows = [
        ("peak", Measure::Peak),
        (live, Measure::Live),
        ("total", Measure::Total),
        ("temporary", Measure::Temporary),
    ];
    let change_width = Heading::CHANGE.width();
    let mut line = |at: u16, label: &str, figures: String, style, (changed, changed_style)| {
        let row = slice(area, at, 1);
        write(buffer, row, label, theme::heading());
        let row = right_of(row, LABEL);
        write(buffer, row, &figures, style);
        let row = right_of(row, width(&figures) as u16 + 1);
        let place = columns(row, 0, change_width as u16);
        let changed: String = changed;
        write(
            buffer,
            place,
            &format!("{changed:>change_width$}"),
            changed_style,
        );
    };
    let heading = format!("{:>10} {:>12}", "bytes", "blocks");
    let changed = data.base.as_ref().map_or("", |_| Heading::CHANGE.title());
    let style = theme::heading();
    line(0, "", heading, style, (changed.to_owned(), style));
    for (at, (label, measure)) in (1..).zip(rows) {
        let bytes = measure.amount(data.profile.total_of(measure));
        let bytes = format!("{}{bytes}", data.mark(measure));
        let blocks = match measure {
            Measure::Total => data.profile.number("total_blocks"),
            _ => measure.blocks(figures).0,
        };
        let blocks = blocks.to_string();
        let changed = data
            .change(measure)
            .map_or_else(Default::default, |changed| change(&changed, measure));
        let text = format!("{bytes:>10} {blocks:>12}");
        line(at, label, text, theme::plain(), changed);
    }
    // If the facts do not fit next to the totals, they go below.
    let facts_area = if area.width < TWO_COLUMNS {
        slice(area, TOTALS, area.height)
    } else if data.base.is_some() {
        right_of(area, LEFT + Heading::CHANGE.width() as u16 + 1)
    } else {
        right_of(area, LEFT)
    };
    for ((label, texts), row) in facts(data).iter().zip(facts_area.rows()) {
        write(buffer, row, label, theme::heading());
        let row = right_of(row, FACT);
        let mut fitting = texts
            .iter()
            .filter(|text| width(text) <= row.width as usize);
        let text = fitting.next().or(texts.last());
        write(buffer, row, text.map_or("", String::as_str), theme::plain());
    }
}

/// Returns the other facts, each in a long and a short form.
fn facts(data: &Data) -> [(&'static str, Vec<String>); 5] {
    let figures = data.profile.totals();
    let capture = data.profile.capture();
    let grows = figures.number("grows").of("grow");
    let shrinks = figures.number("shrinks").of("shrink");
    // A grown block that stays where it is copies nothing.
    let copied = format!("at most {} copied", Bytes(figures.most_copied_bytes()));
    let reallocs = vec![
        format!("{grows}, {shrinks}, {copied}"),
        format!("{grows}, {copied}"),
        copied,
    ];
    let when = match capture.linear_memory {
        Some(_) => "unknown (no clock)".to_owned(),
        None => Nanos(capture.peak_time_ns).to_string(),
    };
    let mark = data.mark(Measure::Temporary);
    let bytes = data.profile.temporary_share();
    let mut long = format!("{when}; temporary: {mark}{bytes}");
    if capture.sampling.is_none() {
        let blocks = Share::of(figures.temporary_blocks, figures.total_blocks);
        long.push_str(&format!(", {blocks} of all blocks"));
    }
    let [resident, unseen] = match capture.linear_memory {
        Some(memory) => linear(memory),
        None => resident(data),
    };
    [
        ("peak at", vec![long, when]),
        ("peak is", data.peak_exactness()),
        ("reallocs", reallocs),
        resident,
        unseen,
    ]
}

/// Returns resident bytes, and the part of them that is not live blocks.
fn resident(data: &Data) -> [(&'static str, Vec<String>); 2] {
    let capture = data.profile.capture();
    let (now, most) = (Bytes(capture.rss_bytes), Bytes(capture.peak_rss_bytes));
    let unread = || vec!["not read".to_owned()];
    let resident = match capture.rss_bytes {
        0 => unread(),
        _ => vec![format!("{now}, at most {most}")],
    };
    if let Some(parts) = data.profile.resident_parts() {
        let when = Nanos(parts.time_ns);
        let mut parts = [
            (parts.kept_bytes(), data.profile.kept_text(), "kept"),
            (parts.own_bytes, "profiler overhead", "profiler overhead"),
            (parts.other_bytes(), "other", "other"),
        ];
        // The largest first: there may be room for one only.
        parts.sort_by_key(|(bytes, ..)| Reverse(*bytes));
        let some = parts.iter().filter(|(bytes, ..)| *bytes > 0);
        let long: Vec<String> = some
            .clone()
            .map(|(bytes, name, _)| format!("{} {name}", Bytes(*bytes)))
            .collect();
        let short: Vec<String> = some
            .map(|(bytes, _, name)| format!("{} {name}", Bytes(*bytes)))
            .collect();
        let texts = match long.as_slice() {
            [] => vec!["0 B".to_owned()],
            [largest, rest @ ..] => vec![
                format!("{} at {when}", long.join(", ")),
                long.join(", "),
                short.join(", "),
                format!("{largest}, {}", rest.first().map_or("", String::as_str)),
                largest.clone(),
            ],
        };
        return [("resident", resident), ("RSS-live", texts)];
    }
    let unseen = data.profile.resident().map_or_else(unread, |resident| {
        let own = Bytes(resident.own_bytes);
        match resident.not_seen_bytes().map(Bytes) {
            Some(unseen) => vec![
                format!(
                    "{unseen} more than was live at the RSS peak, including {own} profiler overhead"
                ),
                format!("{unseen} at RSS peak, {own} profiler overhead"),
                format!("{unseen} at RSS peak"),
            ],
            None => vec![
                "negative: some live bytes were never touched".to_owned(),
                "negative: never touched".to_owned(),
            ],
        }
    });
    [("resident", resident), ("RSS-live", unseen)]
}

/// Returns the linear memory of a WebAssembly module.
fn linear(memory: LinearMemory) -> [(&'static str, Vec<String>); 2] {
    let (bytes, pages) = (Bytes(memory.bytes), Count(memory.pages));
    let (first, own) = (Count(memory.first_pages), Bytes(memory.own_bytes()));
    let long = format!("{bytes}: {pages} pages, initially {first}; plus {own} profiler overhead");
    let linear = vec![long, format!("{bytes}: {pages} pages")];
    let grows = counted(memory.grows, "time");
    let grown = vec![format!("{grows}, each by at least a page of 64 KiB"), grows];
    [("linear", linear), ("grown", grown)]
}

fn owners(view: &Overview, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let value = |owner: &Arc<Row>| cx.measure.shown(&owner.figures);
    let largest = view.owners.rows.first().map_or(0, value);
    let is_wide = area.width >= 60;
    let has_rates = cx.data.has_rates();
    let title = match view.found(cx) {
        Some(found) => format!("owner {found}"),
        None => "owner: innermost function of your own code".to_owned(),
    };
    Table::new(cx)
        .share(Heading::SHARE, value, cx.whole())
        .measure(value)
        .change(By::Owner, Heading::CHANGE, |owner| {
            Some(Identity::of(&cx.data.profile, owner))
        })
        .bars((area.width / 6).min(24) as usize, value, largest)
        .only_if(is_wide && (!has_rates || area.width >= 100))
        .right(Heading::ALLOCATED_RATE, |owner| {
            let rate = cx.data.rate(&owner.key);
            rate.map_or_else(String::new, Rate::bytes_text)
        })
        .only_if(has_rates)
        .right(Heading::ALLOCATED_BLOCKS_RATE, |owner| {
            let rate = cx.data.rate(&owner.key);
            rate.map_or_else(String::new, Rate::blocks_text)
        })
        // Of samples the number of blocks is not known.
        .only_if(has_rates && is_wide && cx.data.profile.capture().sampling.is_none())
        .known(Heading::SITES, |owner| match &owner.detail {
            Detail::Owner { sites, .. } => Some(sites.len() as u64),
            _ => None,
        })
        .only_if(is_wide)
        .trend(|owner| match &owner.detail {
            Detail::Owner { sites, .. } => sites.clone(),
            _ => Vec::new(),
        })
        .only_if(area.width >= 120)
        .left(title, 0, |owner, _| {
            let style = theme::charged(&cx.data.profile, cx.data.charged(owner));
            (owner.key.clone(), style)
        })
        .shortened(fit_path)
        .render(
            area,
            buffer,
            &view.owners,
            &view.search.empty("no sites were recorded"),
        );
}
