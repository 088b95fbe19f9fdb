//! Draws the overview: totals above, the timeline in the middle, owners below; each gives way on small screens.

use heapglass_profiler::profile::State;
use heapglass_profiler::units::{Bytes, Count, Nanos, Share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Overview, chart};
use crate::app::Data;
use crate::text::{clean, figure, pad};
use crate::theme;
use crate::views::Context;
use crate::views::parts::{Column, bar, count, measure_heading, slice, stretch, table_row, write};

/// Where the three parts are.
struct Parts {
    totals: Rect,
    chart: Rect,
    owners: Rect,
}

const TOTALS: u16 = 4;

fn parts(area: Rect) -> Parts {
    let totals = match area.height {
        0..4 => area.height,
        4..8 => 2,
        _ if area.width >= 72 => TOTALS,
        _ => TOTALS.min(area.height / 2),
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
    let capture = &data.profile.capture;
    let exactness = match capture.peak_error_bytes {
        0 => "exact".to_owned(),
        bound => format!(
            "within {}, off by {}",
            Bytes(bound),
            Bytes(capture.peak_discrepancy_bytes)
        ),
    };
    let live = if data.profile.process.state == State::Running {
        "now"
    } else {
        "at the end"
    };
    let row = |bytes: u64, blocks: u64, note: String| {
        format!(
            "{:>10} {:>11} blocks  {note}",
            Bytes(bytes).to_string(),
            Count(blocks).to_string()
        )
    };
    let temporary = Share::of(figures.temporary_bytes, figures.total_bytes);
    let left = [
        (
            "peak",
            row(figures.peak_bytes, figures.peak_blocks, exactness),
        ),
        (
            "live",
            row(figures.live_bytes, figures.live_blocks, live.to_owned()),
        ),
        (
            "total",
            row(figures.total_bytes, figures.total_blocks, String::new()),
        ),
        (
            "temporary",
            row(
                figures.temporary_bytes,
                figures.temporary_blocks,
                format!("{temporary} of total"),
            ),
        ),
    ];
    let unseen = if capture.rss_bytes == 0 {
        "not read".to_owned()
    } else {
        let unseen = capture.rss_bytes.saturating_sub(figures.live_bytes);
        format!(
            "{} RSS less live, {} of it heapglass",
            Bytes(unseen),
            Bytes(capture.own_bytes)
        )
    };
    let resident = if capture.rss_bytes == 0 {
        "not read".to_owned()
    } else {
        format!(
            "{}, at most {}",
            Bytes(capture.rss_bytes),
            Bytes(capture.peak_rss_bytes)
        )
    };
    let right = [
        ("peak at", Nanos(capture.peak_time_ns).to_string()),
        ("reallocs", {
            let (grows, shrinks) = (Count(figures.grows), Count(figures.shrinks));
            format!(
                "{grows} grows, {shrinks} shrinks, {} copied",
                Bytes(figures.copied_bytes)
            )
        }),
        ("resident", resident),
        ("not seen", unseen),
    ];
    let two = area.width >= 72;
    let wide = if two {
        area.width * 11 / 20
    } else {
        area.width
    };
    for (at, (label, text)) in left.iter().enumerate() {
        let row = slice(area, at as u16, 1);
        labelled(label, text, 10, Rect { width: wide, ..row }, buffer);
        if two && let Some((label, text)) = right.get(at) {
            labelled(
                label,
                text,
                9,
                Rect {
                    x: row.x + wide,
                    width: area.width - wide,
                    ..row
                },
                buffer,
            );
        }
    }
}

fn labelled(label: &str, text: &str, label_cells: u16, area: Rect, buffer: &mut Buffer) {
    write(buffer, area, label, theme::heading());
    let indent = label_cells.min(area.width);
    let rest = Rect {
        x: area.x + indent,
        width: area.width - indent,
        ..area
    };
    write(buffer, rest, text, theme::plain());
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
    let mut columns = vec![
        Column::right("share", 7),
        Column::right(measure_heading(cx.measure), 11),
    ];
    if bars > 0 {
        columns.push(Column::left("", bars));
        columns.push(Column::right("sites", 6));
    }
    columns.push(Column::left(
        "owner: innermost function of your own code",
        0,
    ));
    stretch(&mut columns, area.width as usize);
    let titles = columns
        .iter()
        .map(|c| (c.title.clone().into(), theme::heading()));
    table_row(buffer, slice(area, 0, 1), &columns, titles, theme::plain());
    let largest = view.owners.first().map_or(0, |o| cx.measure.of(&o.figures));
    let rows = area.height.saturating_sub(1) as usize;
    let shown = view
        .owners
        .iter()
        .enumerate()
        .skip(view.cursor.top)
        .take(rows);
    for (at, owner) in shown {
        let value = cx.measure.of(&owner.figures);
        let function = owner.function.and_then(|f| cx.data.function(f));
        let style = if at == view.cursor.selected {
            theme::selected()
        } else {
            theme::plain()
        };
        let mut cells = vec![
            (Share::of(value, cx.whole()).to_string(), theme::plain()),
            (figure(cx.measure, value), theme::plain()),
        ];
        if bars > 0 {
            cells.push((pad(&bar(value, largest, bars), bars), theme::bar()));
            cells.push((count(owner.sites), theme::plain()));
        }
        let name = function.map_or("[no stack]".into(), |f| clean(&f.name).into_owned());
        cells.push((name, function.map_or(theme::dim(), theme::origin)));
        let row = slice(area, 1 + (at - view.cursor.top) as u16, 1);
        table_row(
            buffer,
            row,
            &columns,
            cells.into_iter().map(|(text, style)| (text.into(), style)),
            style,
        );
    }
}
