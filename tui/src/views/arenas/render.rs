//! Draws the arenas: the table with its bars, and of the selected one every figure, advice, warnings and history.

use heapglass_profiler::arenas::{HOW_TO_NAME, Part, bar, last_full, measured_title};
use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Arena, Measure, State};
use heapglass_profiler::report::By;
use heapglass_profiler::units::{Bytes, Count, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::facts::Facts;
use super::{Arenas, chart};
use crate::model::Context;
use crate::text::{clean, fit, width};
use crate::theme;
use crate::widgets::{Table, bytes, count, flow, rule, slice, write};

/// Lines of the table at least, its heading included.
const TABLE: u16 = 5;

/// The history is drawn this high where there is room.
const CHART: u16 = 6;

/// Where things are: breadcrumb, table, details.
fn panes(area: Rect, arenas: usize) -> [Rect; 3] {
    let breadcrumb = u16::from(area.height >= 4);
    let rest = area.height - breadcrumb;
    let wanted = u16::try_from(arenas).unwrap_or(u16::MAX).saturating_add(1);
    let table = if rest < 12 {
        rest
    } else {
        wanted.clamp(2, (rest / 3).max(TABLE))
    };
    [
        slice(area, 0, breadcrumb),
        slice(area, breadcrumb, table),
        slice(area, breadcrumb + table, rest - table),
    ]
}

/// Rows of the table on the present screen, without its heading.
pub(super) fn list_rows(cx: &Context<'_>) -> usize {
    let area = Rect::from((ratatui::layout::Position::ORIGIN, cx.body));
    let [_, table, _] = panes(area, cx.data.profile.arenas.len());
    table.height.saturating_sub(1) as usize
}

pub(super) fn render(view: &Arenas, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let arenas = &cx.data.profile.arenas;
    if arenas.is_empty() {
        for (at, line) in (0..).zip(HOW_TO_NAME) {
            let style = if at == 0 {
                theme::dim()
            } else {
                theme::strong()
            };
            write(buffer, slice(area, at, 1), line, style);
        }
        return;
    }
    let [breadcrumb, body, details] = panes(area, arenas.len());
    if let Some(inside) = &view.inside {
        write(buffer, breadcrumb, &inside.breadcrumb(), theme::heading());
        let used = breadcrumb.height;
        return inside.render(cx, slice(area, used, area.height - used), buffer);
    }
    let text = format!(
        "{} by {}; inside blocks that are counted already",
        counted(arenas.len() as u64, "arena"),
        order(cx.measure)
    );
    write(buffer, breadcrumb, &text, theme::heading());
    table(view, cx, body, buffer);
    if let Some((index, arena)) = view.selected(cx.data) {
        let facts = view.facts.get(index);
        one(view, arena, facts, cx, details, buffer);
    }
}

/// What bumpalo calls the usable bytes of an arena's chunks; the JSON has it as a key.
pub(super) const ALLOCATED: &str = "allocated_bytes";

/// What arenas are ordered by: the figure they have of the measure, else what was handed out.
fn order(measure: Measure) -> String {
    match measured_title(measure) {
        Some(title) => title.to_owned(),
        None => format!("bytes handed out, nothing inside is {}", measure.name()),
    }
}

fn table(view: &Arenas, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 100;
    let bar_cells = if wide { 24 } else { 14 };
    let table = Table::new()
        .right("at most", 10, |(_, arena): &(usize, &Arena)| {
            bytes(arena.most_chunk_bytes)
        })
        .right(ALLOCATED, ALLOCATED.len(), |(_, arena)| {
            bytes(arena.chunk_bytes)
        })
        // The bars of parts are drawn below.
        .left("", bar_cells, |_, _| (String::new(), theme::plain()))
        .right("handed out", 10, |(_, arena)| {
            bytes(arena.total_handed_bytes)
        })
        .change(cx, By::Arena, "change", |(_, arena): &(usize, &Arena)| {
            Some(Identity::named(&arena.name))
        })
        .right_if(wide, "pieces", 12, |(_, arena)| {
            count(arena.total_handed_blocks)
        })
        .right_if(
            wide || cx.data.base.is_none(),
            "live/made",
            11,
            |(_, arena)| {
                let live = arena.made.saturating_sub(arena.dropped);
                format!("{}/{}", Count(live), Count(arena.made))
            },
        )
        .left("arena", 0, |(index, arena), _| {
            let facts = view.facts.get(*index);
            let mark = match facts.is_some_and(|facts| facts.leaked) {
                true => "! ",
                false => "",
            };
            (format!("{mark}{}", clean(&arena.name)), theme::plain())
        });
    let all = &cx.data.profile.arenas;
    let rows = view.order.iter();
    let rows: Vec<(usize, &Arena)> = rows
        .filter_map(|index| Some((*index, all.get(*index)?)))
        .collect();
    let selection = (view.cursor, theme::selected());
    table.render(area, buffer, rows.clone().into_iter(), selection, "");
    let lines = slice(area, 1, area.height.saturating_sub(1));
    for ((_, arena), row) in rows.into_iter().skip(view.cursor.top).zip(lines.rows()) {
        // The columns "at most" and allocated_bytes, each with its gap.
        let before = (10 + 1 + ALLOCATED.len() as u16 + 1).min(row.width);
        let place = Rect {
            x: row.x + before,
            width: (bar_cells as u16).min(row.width - before),
            ..row
        };
        parts_bar(arena, place, buffer);
    }
}

/// The character and colour of a part of a bar.
fn look(part: Part) -> (char, Style) {
    match part {
        Part::Handed => ('█', theme::bar()),
        Part::Padding => ('▒', theme::warning()),
        Part::Abandoned => ('×', theme::error()),
        Part::Past => ('▸', theme::resident()),
        Part::Tail => ('·', theme::dim()),
    }
}

fn parts_bar(arena: &Arena, area: Rect, buffer: &mut Buffer) {
    let mut x = area.x;
    for (part, cells) in bar(arena, area.width as usize) {
        let (symbol, style) = look(part);
        for _ in 0..cells {
            buffer.set_string(x, area.y, symbol.to_string(), style);
            x += 1;
        }
    }
}

/// The selected arena: its parts, its figures, what is said of it, its history.
fn one(
    view: &Arenas,
    arena: &Arena,
    facts: Option<&Facts>,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let text = format!(
        "arena {} of {} · {} · {}",
        view.cursor.selected + 1,
        view.order.len(),
        clean(&arena.krate),
        instances(arena, cx.data.profile.process.state)
    );
    rule(buffer, area, &text);
    let mut at = 1;
    let below = |at: u16| slice(area, at, area.height.saturating_sub(at));
    let brief = area.height < 20;
    at += parts(arena, brief, below(at), buffer);
    at += flow(buffer, below(at), &ever(arena, brief), theme::dim());
    let Some(facts) = facts else { return };
    let chart_height = match area.height {
        0..12 => 0,
        _ if facts.points.is_empty() => 0,
        12..20 => 4,
        _ => CHART,
    };
    let stop = area.height.saturating_sub(chart_height);
    let lines: Vec<(String, Style)> = facts
        .warnings
        .iter()
        .map(|text| (format!("! {text}"), theme::warning()))
        .chain(
            facts
                .advice
                .iter()
                .map(|text| (format!("→ {text}"), theme::strong())),
        )
        .collect();
    for (said, (text, style)) in lines.iter().enumerate() {
        let left = stop.saturating_sub(at);
        let more = lines.len() - said;
        if left == 0 {
            break;
        }
        if left == 1 && more > 1 {
            let text = format!("{} more, see report --by arena", more);
            write(buffer, slice(area, at, 1), &text, theme::dim());
            at += 1;
            break;
        }
        // What comes after gets a line each.
        let room = (left as usize).saturating_sub(more - 1).clamp(1, 3);
        for line in words(text, area.width as usize, room) {
            write(buffer, slice(area, at, 1), &line, *style);
            at += 1;
        }
    }
    let end = cx.data.profile.process.duration_ns;
    let chart = slice(area, stop.max(at), chart_height);
    chart::render(arena, &facts.points, end, chart, buffer);
}

fn instances(arena: &Arena, state: State) -> String {
    let live = arena.made.saturating_sub(arena.dropped);
    let when = if state == State::Running {
        "live now"
    } else {
        "live at the end"
    };
    let resets = if arena.resets > 0 {
        format!(", {}", counted(arena.resets, "reset"))
    } else {
        String::new()
    };
    format!(
        "{} made, {} {when}{resets}",
        counted(arena.made, "instance"),
        Count(live)
    )
}

/// The parts of the chunks, each with its sign; of an arena without chunks what there was.
fn parts(arena: &Arena, brief: bool, area: Rect, buffer: &mut Buffer) -> u16 {
    if arena.chunk_bytes == 0 {
        let text = match last_full(arena) {
            Some(last) => format!(
                "{ALLOCATED} 0 now; the last instance used {} of {} ({})",
                Bytes(last.used_bytes),
                Bytes(last.chunk_bytes),
                Share::of(last.used_bytes, last.chunk_bytes)
            ),
            None => format!("{ALLOCATED} 0 now"),
        };
        write(buffer, area, &text, theme::plain());
        return 1;
    }
    let items: Vec<(Part, String)> = Part::ALL
        .into_iter()
        .filter(|part| part.of(arena) > 0)
        .map(|part| {
            let bytes = part.of(arena);
            let share = Share::of(bytes, arena.chunk_bytes);
            let share = if brief {
                String::new()
            } else {
                format!(" ({share})")
            };
            (part, format!(" {} {}{share}", part.name(), Bytes(bytes)))
        })
        .collect();
    let (mut row, mut x) = (0, 0_u16);
    for (part, text) in &items {
        let wide = width(text) as u16 + 1;
        if x > 0 && x + wide > area.width {
            row += 1;
            x = 0;
        }
        let (symbol, style) = look(*part);
        let line = slice(area, row, 1);
        let place = Rect {
            x: line.x + x,
            width: line.width.saturating_sub(x),
            ..line
        };
        write(buffer, place, &symbol.to_string(), style);
        let place = Rect {
            x: place.x + 1,
            width: place.width.saturating_sub(1),
            ..place
        };
        write(buffer, place, text, theme::plain());
        x += wide + 2;
    }
    row + 1
}

/// What it came to in all; less of it where there is little room.
fn ever(arena: &Arena, brief: bool) -> Vec<String> {
    let mut items = Vec::new();
    if arena.chunk_bytes > 0 {
        items.push(format!(
            "{ALLOCATED} {} in {}, {} with metadata",
            Bytes(arena.chunk_bytes),
            counted(arena.chunks, "chunk"),
            Bytes(arena.chunk_bytes_with_metadata)
        ));
    }
    items.push(format!("most used {}", Bytes(arena.most_used_bytes)));
    if !brief {
        items.push(format!(
            "largest instance {}",
            Bytes(arena.most_instance_bytes)
        ));
        items.push(format!(
            "in all {} of {}",
            counted(arena.total_chunks, "chunk"),
            Bytes(arena.total_chunk_bytes)
        ));
    }
    items.push(format!(
        "handed out {} in {}",
        Bytes(arena.total_handed_bytes),
        counted(arena.total_handed_blocks, "piece")
    ));
    if arena.grows > 0 {
        items.push(format!(
            "{}, {} in place",
            counted(arena.grows, "grow"),
            Count(arena.grows_in_place)
        ));
    }
    if arena.grows > 0 && !brief {
        items.push(format!("copied {}", Bytes(arena.copied_bytes)));
    }
    if arena.limit_reached > 0 {
        items.push(format!(
            "limit reached {}",
            counted(arena.limit_reached, "time")
        ));
    }
    items
}

/// Text broken at blanks into at most `lines` lines of `cells`; what is left over is cut from the last.
fn words(text: &str, cells: usize, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let last = out.len() + 1 >= lines;
        if !line.is_empty() && !last && width(&line) + 1 + width(word) > cells {
            out.push(std::mem::take(&mut line));
            line.push_str("  ");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if words.peek().is_none() {
            out.push(fit(&line, cells).into_owned());
        }
    }
    out
}
