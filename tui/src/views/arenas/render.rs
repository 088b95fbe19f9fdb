//! Draws the arenas: a table with bars, and the figures, advice, warnings and history of the
//! selected arena.

use heapglass_profiler::arenas::{
    ArenaInstance, Breakdown, Certainty, HOW_TO_NAME, Part, Whose, bar, each_instance, imbalance,
    last_full, measured_title,
};
use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Arena, ArenaValue, Measure, State};
use heapglass_profiler::table::Heading;
use heapglass_profiler::table::{ArenaDetail, By};
use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::cmp::Reverse;

use super::{Arenas, arena_of, chart};
use crate::model::Context;
use crate::text::{clean, fit, paragraph};
use crate::theme;
use crate::views::View;
use crate::widgets::{Lines, List, Table, below, columns, right_of, slice, some, split, write};

/// Minimum number of lines of the table, including its heading.
const TABLE: u16 = 5;

/// Number of lines of the history, if they fit.
const CHART: u16 = 6;

/// Returns the areas of breadcrumb, table and details.
pub(super) fn panes(cx: &Context<'_>, area: Rect, arenas: usize) -> [Rect; 3] {
    let breadcrumb = u16::from(area.height >= 4);
    let rest = area.height - breadcrumb;
    let wanted = u16::try_from(arenas).unwrap_or(u16::MAX).saturating_add(1);
    let table = match rest {
        _ if cx.is_zoomed => rest,
        ..12 => rest,
        _ => wanted.clamp(2, (rest / 3).max(TABLE)),
    };
    split(area, [breadcrumb, table, rest - table])
}

pub(super) fn render(view: &Arenas, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let arenas = cx.data.profile.arenas();
    if arenas.is_empty() {
        let mut lines = Lines::new(area, buffer);
        for (text, style) in HOW_TO_NAME.iter().zip([theme::dim(), theme::strong()]) {
            lines.line(text, style);
        }
        return;
    }
    let [breadcrumb, body, details] = panes(cx, area, arenas.len());
    if let Some(inside) = &view.inside {
        write(buffer, breadcrumb, &inside.breadcrumb(), theme::heading());
        return inside.render(cx, below(area, breadcrumb.height), buffer);
    }
    let text = match view.found(cx) {
        Some(found) => format!("arenas › {found}"),
        None => format!(
            "{} by {}; chunks are counted as blocks too",
            counted(arenas.len() as u64, "arena"),
            order(cx.measure)
        ),
    };
    write(buffer, breadcrumb, &text, theme::heading());
    table(view, cx, body, buffer);
    if let Some(selected) = view.selected(cx.data) {
        one(view, selected, cx, details, buffer);
    }
}

/// Returns the figure that arenas are sorted by: theirs of this measure, else the bytes used in
/// total.
fn order(measure: Measure) -> String {
    match measured_title(measure) {
        Some(title) => title.to_owned(),
        None => format!(
            "bytes used in total, because {} is not measured inside arenas",
            measure.name()
        ),
    }
}

fn table(view: &Arenas, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 100;
    let bar_cells = if wide { 24 } else { 14 };
    type Line<'a> = (&'a Arena, &'a ArenaDetail);
    let list: List<Line<'_>> = view.list.filter_map(|row| arena_of(row, cx.data));
    Table::new(cx)
        .figure(Heading::MOST_CHUNKS, |(arena, _): &Line<'_>| {
            arena.figures.most_allocated_bytes
        })
        .figure(Heading::ALLOCATED_BYTES, |(arena, _)| {
            arena.figures.allocated_bytes
        })
        // The bars are drawn below.
        .left("", bar_cells, |_, _| Default::default())
        .figure(Heading::TOTAL_USED, |(arena, _)| {
            arena.figures.total_used_bytes
        })
        .change(By::Arena, Heading::CHANGE, |(arena, _)| {
            Some(Identity::named(&arena.name))
        })
        .figure(Heading::PIECES, |(arena, _)| {
            arena.figures.total_used_blocks
        })
        .only_if(wide)
        .right(Heading::INSTANCES, |(arena, _)| {
            let live = arena.figures.made.saturating_sub(arena.figures.dropped);
            format!("{}/{}", Count(live), Count(arena.figures.made))
        })
        .only_if(wide || cx.data.base.is_none())
        .left("arena", 0, |(arena, detail), _| {
            let mut leaks = detail.leaks.iter();
            let is_leaking = leaks.any(|leak| leak.certainty == Certainty::Leaked);
            let mark = if is_leaking { "! " } else { "" };
            (format!("{mark}{}", arena.name), theme::plain())
        })
        .render(area, buffer, &list, &view.search.empty(""));
    // After the first two columns, each with its gap.
    let before = Heading::MOST_CHUNKS.width() + Heading::ALLOCATED_BYTES.width() + 2;
    let bars = right_of(below(area, 1), before as u16);
    let shown = list.rows.iter().skip(list.cursor.top);
    for ((arena, _), row) in shown.zip(columns(bars, 0, bar_cells as u16).rows()) {
        let mut rest = row;
        let shown = Breakdown::shown(arena);
        let cells = shown.map(|(_, breakdown)| bar(&breakdown, row.width as usize));
        for (part, cells) in cells.into_iter().flatten() {
            let (symbol, style) = symbol(part);
            let place = columns(rest, 0, cells as u16);
            write(buffer, place, &symbol.repeat(cells), style);
            rest = right_of(rest, cells as u16);
        }
    }
}

/// Returns the character and style of a part of a bar.
fn symbol(part: Part) -> (&'static str, Style) {
    match part {
        Part::Used => ("█", theme::bar()),
        Part::Padding => ("▒", theme::warning()),
        Part::Abandoned => ("×", theme::error()),
        Part::Bypassed => ("▸", theme::resident()),
        Part::UnusedTail => ("·", theme::dim()),
        _ => ("?", theme::dim()),
    }
}

/// Draws the selected arena: its parts, figures, warnings, advice and history.
fn one(
    view: &Arenas,
    (arena, detail): (&Arena, &ArenaDetail),
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let title = format!(
        "{} · {} · {}",
        view.list.place("arena"),
        clean(&arena.krate),
        instances(&arena.figures, cx.data.profile.process().state)
    );
    let brief = area.height < 20;
    let mut lines = Lines::new(area, buffer);
    lines.rule(&title);
    let shown = Breakdown::shown(arena);
    if let Some((whose, breakdown)) = &shown {
        let parts = parts(*whose, breakdown, brief);
        let spans = parts.iter().map(|part| part.each_ref());
        lines.spans(spans.map(|part| part.map(|(text, style)| (text.as_str(), *style))));
    }
    if arena.figures.allocated_bytes == 0 {
        lines.line(&last_text(arena), theme::plain());
    }
    lines.flow(&figures(&arena.figures, brief), theme::dim());
    let history = cx
        .data
        .histories()
        .get(detail.arena)
        .map_or(&[][..], |points| points);
    let chart_height = match area.height {
        0..12 => 0,
        _ if history.is_empty() => 0,
        12..20 => 4,
        _ => CHART,
    };
    let leaks = detail.leaks.iter().map(|leak| leak.text.clone());
    let warnings = imbalance(arena)
        .into_iter()
        .chain(leaks)
        .map(|text| (format!("! {text}"), theme::warning()));
    let advice = detail
        .advice
        .iter()
        .map(|advice| (format!("→ {}", advice.text), theme::strong()));
    let texts: Vec<(String, Style)> = warnings.chain(advice).collect();
    for (at, (text, style)) in texts.iter().enumerate() {
        let left = lines.rest.height.saturating_sub(chart_height);
        let more = texts.len() - at;
        if left == 0 {
            break;
        }
        if left == 1 && more > 1 {
            let text = format!("{more} more, see report --by arena");
            lines.line(&text, theme::dim());
            break;
        }
        // Each of the following texts gets at least one line.
        let room = (left as usize).saturating_sub(more - 1).clamp(1, 3);
        for line in words(text, area.width as usize, room) {
            lines.line(&line, *style);
        }
    }
    let end = cx.data.profile.process().duration_ns;
    let rest = lines.rest;
    // The instances take the lines that they need, and the history all others.
    let instances = u16::try_from(each_instance(arena).len()).unwrap_or(u16::MAX);
    let wanted = match instances {
        0 => 0,
        instances => instances.saturating_add(2),
    };
    let free = rest.height.saturating_sub(chart_height).min(wanted);
    let chart_height = if chart_height == 0 {
        0
    } else {
        rest.height - free
    };
    list_instances(arena, slice(rest, 0, free), buffer);
    let place = slice(rest, free, chart_height);
    chart::render(arena, history, end, place, buffer);
}

/// Lists the instances that the history knows, the largest first.
fn list_instances(arena: &Arena, area: Rect, buffer: &mut Buffer) {
    let mut all = each_instance(arena);
    // A heading and one row.
    if all.is_empty() || area.height < 2 {
        return;
    }
    all.sort_by_key(|one| (Reverse(one.allocated_bytes), one.instance));
    let mut lines = Lines::new(area, buffer);
    let title = |heading: Heading| format!(" {:>1$}", heading.title(), heading.width());
    let titles = [
        Heading::INSTANCE,
        Heading::ALLOCATED_BYTES,
        Heading::OCCUPIED,
        Heading::CHUNKS,
        Heading::FROM,
        Heading::UNTIL,
    ];
    lines.line(&titles.map(title).concat(), theme::heading());
    let made = arena.figures.made;
    let mut rows = all.iter();
    while let Some(one) = rows.as_slice().first() {
        // The last line counts those for which there is no line.
        let left = made.saturating_sub((all.len() - rows.len()) as u64);
        if lines.rest.height == 0 {
            break;
        }
        if lines.rest.height == 1 && left > 1 {
            lines.line(&format!(" {} more", Count(left)), theme::dim());
            break;
        }
        let cells = [
            (Heading::INSTANCE, format!("#{}", one.instance)),
            (
                Heading::ALLOCATED_BYTES,
                Bytes(one.allocated_bytes).to_string(),
            ),
            (Heading::OCCUPIED, occupied(arena, one)),
            (Heading::CHUNKS, Count(one.chunks).to_string()),
            (Heading::FROM, Nanos(one.first_ns).to_string()),
            (
                Heading::UNTIL,
                one.dropped_ns
                    .map_or_else(String::new, |ns| Nanos(ns).to_string()),
            ),
        ];
        let cells = cells.map(|(heading, text)| format!(" {text:>0$}", heading.width()));
        lines.line(&cells.concat(), theme::plain());
        rows.next();
    }
    let beyond = made.saturating_sub(all.len() as u64);
    if rows.len() == 0 && beyond > 0 {
        let text = format!(" {} more, without a history", Count(beyond));
        lines.line(&text, theme::dim());
    }
}

/// Returns the most bytes that an instance occupied; `-` if it is not known.
fn occupied(arena: &Arena, one: &ArenaInstance) -> String {
    // The maximum of all instances is that of the only one.
    let most = Some(arena.figures.most_occupied_bytes).filter(|_| arena.figures.made == 1);
    let known = one.occupied_bytes.max(most);
    known.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).to_string())
}

fn instances(arena: &ArenaValue, state: State) -> String {
    let live = arena.made.saturating_sub(arena.dropped);
    let when = match state {
        State::Running => "live now",
        _ => "live at exit",
    };
    let made = counted(arena.made, "instance");
    let resets = some(arena.resets, |resets| {
        format!(", {}", counted(resets, "reset"))
    });
    format!("{made} made, {} {when}{resets}", Count(live))
}

/// Describes the last instance of an arena that has no chunks.
fn last_text(arena: &Arena) -> String {
    let last = last_full(arena).map(|last| {
        let (occupied, chunks) = (Bytes(last.occupied_bytes), Bytes(last.allocated_bytes));
        let share = Share::of(last.occupied_bytes, last.allocated_bytes);
        format!("; the last instance occupied {occupied} of {chunks} ({share})")
    });
    let allocated = Heading::ALLOCATED_BYTES.title();
    format!("{allocated} 0 now{}", last.unwrap_or_default())
}

/// Returns the parts of the chunks, each with its symbol; for the largest instance, the name of it
/// in front.
fn parts(whose: Whose, breakdown: &Breakdown, brief: bool) -> Vec<[(String, Style); 2]> {
    let parts = Part::ALL.into_iter().filter(|part| part.of(breakdown) > 0);
    let part = |part: Part| {
        let (symbol, style) = symbol(part);
        let bytes = part.of(breakdown);
        let mut text = format!(" {} {}", part.name(), Bytes(bytes));
        if !brief {
            text.push_str(&format!(
                " ({})",
                Share::of(bytes, breakdown.allocated_bytes)
            ));
        }
        [(symbol.to_owned(), style), (text, theme::plain())]
    };
    let of = match whose {
        Whose::Live => None,
        _ => Some([
            ("largest instance".to_owned(), theme::dim()),
            (String::new(), theme::plain()),
        ]),
    };
    of.into_iter().chain(parts.map(part)).collect()
}

/// Returns the figures of an arena, fewer if `brief`.
fn figures(arena: &ArenaValue, brief: bool) -> Vec<String> {
    let (bytes, chunks) = (Bytes(arena.allocated_bytes), counted(arena.chunks, "chunk"));
    let with_metadata = Bytes(arena.allocated_bytes_including_metadata);
    let allocated = Heading::ALLOCATED_BYTES.title();
    let mut now = format!("{allocated} {bytes} in {chunks}");
    if !brief {
        now.push_str(&format!(", {with_metadata} with metadata"));
    }
    let largest = Bytes(arena.most_instance_bytes);
    let (all, all_bytes) = (
        counted(arena.total_chunks, "chunk"),
        Bytes(arena.total_allocated_bytes),
    );
    let used = Bytes(arena.total_used_bytes);
    let pieces = counted(arena.total_used_blocks, "piece");
    let (grows, in_place) = (counted(arena.grows, "grow"), Count(arena.grows_in_place));
    let times = counted(arena.limit_reached, "time");
    let items = [
        (arena.allocated_bytes > 0, now),
        (
            true,
            format!("most occupied {}", Bytes(arena.most_occupied_bytes)),
        ),
        (!brief, format!("largest instance {largest}")),
        (!brief, format!("in total {all} of {all_bytes}")),
        (true, format!("total used {used} in {pieces}")),
        (arena.grows > 0, format!("{grows}, {in_place} in place")),
        (
            arena.grows > 0 && !brief,
            format!("copied {}", Bytes(arena.copied_bytes)),
        ),
        (arena.limit_reached > 0, format!("limit reached {times}")),
    ];
    let shown = items.into_iter().filter(|(is_shown, _)| *is_shown);
    shown.map(|(_, text)| text).collect()
}

/// Breaks text at spaces into at most `lines` lines of `cells`, and truncates the last one.
fn words(text: &str, cells: usize, lines: usize) -> Vec<String> {
    let mut all = paragraph(text, cells, "  ");
    let rest = all.split_off(all.len().min(lines.saturating_sub(1)));
    if !rest.is_empty() {
        let indent = if all.is_empty() { "" } else { "  " };
        let words: Vec<&str> = rest.iter().map(|line| line.trim_start()).collect();
        let last = format!("{indent}{}", words.join(" "));
        all.push(fit(&last, cells).into_owned());
    }
    all
}
