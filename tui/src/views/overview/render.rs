//! Draws the overview: totals above, the timeline in the middle, owners below; each gives way on small screens.

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{LinearMemory, Measure, State};
use heapglass_profiler::report::{By, Detail, Row};
use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Overview, chart};
use crate::model::{Context, Data};
use crate::text::{clean, pad, width};
use crate::theme;
use crate::widgets::{CHANGE, Table, bar, change, count, slice, write};

/// Where the three parts are.
struct Parts {
    totals: Rect,
    chart: Rect,
    owners: Rect,
}

const TOTALS: u16 = 5;
/// From this width on the facts stand beside the totals.
const TWO_COLUMNS: u16 = 72;
/// Cells of the totals, of their labels, and of the labels of the facts.
const LEFT: u16 = 37;
const LABEL: u16 = 11;
const FACT: u16 = 9;

fn parts(area: Rect) -> Parts {
    let totals = match area.height {
        0..4 => area.height,
        4..8 => 2,
        8..11 => 3,
        _ if area.width >= TWO_COLUMNS || area.height < 24 => TOTALS,
        _ => 2 * TOTALS,
    };
    let rest = area.height - totals;
    // A blank line between the parts where there is room for it.
    let gap = u16::from(area.height >= 16);
    let owners = match rest {
        0..6 => rest,
        6..14 => rest / 2,
        _ => rest * 2 / 5,
    };
    let chart = rest - owners;
    Parts {
        totals: slice(area, 0, totals),
        chart: slice(area, totals + gap, chart.saturating_sub(2 * gap)),
        owners: slice(area, totals + chart, owners),
    }
}

/// Rows of owners on the present screen, without their heading.
pub(super) fn owner_rows(cx: &Context<'_>) -> usize {
    parts(Rect::from((ratatui::layout::Position::ORIGIN, cx.body)))
        .owners
        .height
        .saturating_sub(1) as usize
}

pub(super) fn render(view: &Overview, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let parts = parts(area);
    totals(cx.data, parts.totals, buffer);
    chart::render(cx.data, parts.chart, buffer);
    owners(view, cx, parts.owners, buffer);
}

fn totals(data: &Data, area: Rect, buffer: &mut Buffer) {
    let figures = &data.profile.totals;
    let running = data.profile.process.state == State::Running;
    let left = [
        ("peak", Measure::Peak),
        (
            if running { "live now" } else { "live at end" },
            Measure::Live,
        ),
        ("total", Measure::Total),
        ("temporary", Measure::Temporary),
    ];
    let left = left.map(|(label, measure)| {
        let bytes = measure.amount(measure.of(figures));
        let blocks = count(measure.blocks(figures).0);
        let changed = data.change(measure);
        let changed = changed.map(|changed| change(&changed, measure));
        (label, format!("{bytes:>10} {blocks:>12}"), changed)
    });
    let heading = format!("{:>10} {:>12}", "bytes", "blocks");
    let changed = data.base.as_ref();
    let changed = changed.map(|_| ("change".to_owned(), theme::heading()));
    let left: Vec<_> = [("", heading, changed)].into_iter().chain(left).collect();
    let two = area.width >= TWO_COLUMNS;
    for (at, (label, figures, changed)) in left.iter().enumerate() {
        let row = slice(area, at as u16, 1);
        let style = if at == 0 {
            theme::heading()
        } else {
            theme::plain()
        };
        write(buffer, row, label, theme::heading());
        let indent = LABEL.min(row.width);
        let rest = Rect {
            x: row.x + indent,
            width: row.width - indent,
            ..row
        };
        write(buffer, rest, figures, style);
        if let Some((text, style)) = changed {
            let before = (width(figures) as u16).min(rest.width);
            let rest = Rect {
                x: rest.x + before,
                width: rest.width - before,
                ..rest
            };
            let cells = CHANGE + 1;
            write(buffer, rest, &format!("{text:>cells$}"), *style);
        }
    }
    let beside = match data.base {
        Some(_) => LEFT + CHANGE as u16 + 1,
        None => LEFT,
    };
    // What does not fit beside goes below.
    let place = |at: usize| {
        if two {
            let row = slice(area, at as u16, 1);
            Rect {
                x: row.x + beside,
                width: row.width - beside,
                ..row
            }
        } else {
            slice(area, (left.len() + at) as u16, 1)
        }
    };
    for (at, (label, texts)) in facts(data).iter().enumerate() {
        let row = place(at);
        write(buffer, row, label, theme::heading());
        let indent = FACT.min(row.width);
        let rest = Rect {
            x: row.x + indent,
            width: row.width - indent,
            ..row
        };
        let text = texts
            .iter()
            .find(|text| width(text) <= rest.width as usize)
            .or(texts.last());
        write(
            buffer,
            rest,
            text.map_or("", String::as_str),
            theme::plain(),
        );
    }
}

/// What else is known, each in a long and a short spelling.
fn facts(data: &Data) -> [(&'static str, Vec<String>); 5] {
    let figures = &data.profile.totals;
    let capture = &data.profile.capture;
    let exactness = match capture.peak_error_bytes {
        0 => vec!["exact to the byte".to_owned()],
        bound => {
            let (bound, off) = (Bytes(bound), Bytes(capture.peak_discrepancy_bytes));
            vec![
                format!("exact within {bound}; rows off by {off}"),
                format!("within {bound}, off by {off}"),
            ]
        }
    };
    let grows = counted(figures.grows, "grow");
    let shrinks = counted(figures.shrinks, "shrink");
    let copied = Bytes(figures.copied_bytes);
    let unread = || vec!["not read".to_owned()];
    let resident = if capture.rss_bytes == 0 {
        unread()
    } else {
        let (now, most) = (Bytes(capture.rss_bytes), Bytes(capture.peak_rss_bytes));
        vec![format!("{now}, at most {most}")]
    };
    let unseen = data.profile.resident().map_or_else(unread, |resident| {
        let own = Bytes(resident.own_bytes);
        match resident.not_seen_bytes().map(Bytes) {
            Some(unseen) => vec![
                format!(
                    "{unseen} not seen by Rust's allocator at the RSS peak, {own} of it heapglass"
                ),
                format!("{unseen} at RSS peak, own {own}"),
                format!("{unseen} at RSS peak"),
            ],
            None => vec![
                "live is larger: part of it was never touched".to_owned(),
                "below 0: never touched".to_owned(),
            ],
        }
    });
    let temporary = Share::of(figures.temporary_bytes, figures.total_bytes);
    let when = match capture.linear_memory {
        Some(_) => "an unknown time (no clock)".to_owned(),
        None => Nanos(capture.peak_time_ns).to_string(),
    };
    let [resident, unseen] = match capture.linear_memory {
        Some(memory) => linear(memory),
        None => [("resident", resident), ("RSS-live", unseen)],
    };
    [
        (
            "peak at",
            vec![
                format!("{when}; temporary bytes are {temporary} of the total"),
                when,
            ],
        ),
        ("peak is", exactness),
        (
            "reallocs",
            vec![
                format!("{grows}, {shrinks}, {copied} copied"),
                format!("{grows}, {copied} copied"),
            ],
        ),
        resident,
        unseen,
    ]
}

/// Linear memory of a WebAssembly module.
fn linear(memory: LinearMemory) -> [(&'static str, Vec<String>); 2] {
    let (bytes, pages) = (Bytes(memory.bytes()), Count(memory.pages));
    let (first, own) = (Count(memory.first_pages), Bytes(memory.own_bytes()));
    let grows = counted(memory.grows, "time");
    [
        (
            "linear",
            vec![
                format!("{bytes}: {pages} pages, {first} at first; own {own} beside it"),
                format!("{bytes}: {pages} pages"),
            ],
        ),
        (
            "grown",
            vec![format!("{grows}, by a page of 64 KiB or more each"), grows],
        ),
    ]
}

fn owners(view: &Overview, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let bars = if area.width >= 60 {
        (area.width / 6).min(24) as usize
    } else {
        0
    };
    let value = |owner: &&Row| cx.measure.of(&owner.figures);
    let largest = view.owners.all().first().map_or(0, |owner| value(&owner));
    let mut table = Table::new()
        .right("share", 7, |owner| {
            Share::of(value(owner), cx.whole()).to_string()
        })
        .right(cx.measure.name(), 11, |owner| {
            cx.measure.amount(value(owner))
        });
    table = table.change(cx, By::Owner, "change", |owner| {
        Some(Identity::of(&cx.data.profile, owner))
    });
    if bars > 0 {
        table = table
            .left("", bars, |owner, cells| {
                (pad(&bar(value(owner), largest, cells), cells), theme::bar())
            })
            .right("sites", 6, |owner| match &owner.detail {
                Detail::Owner { sites, .. } => count(sites.len() as u64),
                _ => String::new(),
            });
    }
    table
        .left(
            "owner: innermost function of your own code",
            0,
            |owner, _| {
                let style = theme::charged(&cx.data.profile, cx.data.charged(owner));
                (clean(&owner.key).into_owned(), style)
            },
        )
        .render(
            area,
            buffer,
            view.owners.all().iter(),
            (view.cursor, theme::selected()),
            "",
        );
}
