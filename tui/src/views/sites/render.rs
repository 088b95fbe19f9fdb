//! Draws the sites: the list at the top, the stack of the selected site and the source of the
//! selected frame below.

use std::cmp::Reverse;

use heapglass_profiler::profile::{Figures, Measure, ScopeId, Site};
use heapglass_profiler::table::By;
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::{Bytes, Count, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::listing::Listed;
use super::{Pane, Sites};
use crate::model::Context;
use crate::text::{clean, fit_end, fit_owner, fit_path, fit_place, fit_types, width, wrap};
use crate::theme;
use crate::views::name_widths::{LOCATION, NameWidths};
use crate::widgets::{
    Lines, Sort, Table, all_figures, bar, below, columns, draw_row, right_of, slice, split, write,
};

/// Returns the areas of list, figures, stack and source. Empty areas are not drawn. On a zoomed
/// screen, only the pane that receives keys has an area.
pub(super) fn panes(pane: Pane, cx: &Context<'_>, area: Rect) -> [Rect; 4] {
    if cx.is_zoomed {
        let of = |wanted| {
            if pane == wanted {
                area
            } else {
                slice(area, 0, 0)
            }
        };
        let [list, stack, source] = [Pane::List, Pane::Stack, Pane::Source].map(of);
        return [list, slice(area, 0, 0), stack, source];
    }
    let list = match area.height {
        ..8 => area.height,
        height => (height * 2 / 5).max(4),
    };
    let figures = match area.height {
        ..16 => 1,
        // The details after the common figures are about the blocks of this site: sizes and
        // lifetimes.
        _ if area.width >= 130 => 4,
        // Estimates have an interval too.
        _ => 5 + u16::from(cx.data.profile.capture().sampling.is_some()),
    };
    let [list, figures, rest] = split(area, [list, figures, area.height]);
    let (stack, source) = if area.width >= 110 {
        let left = area.width / 2;
        (columns(rest, 0, left), right_of(rest, left + 1))
    } else {
        let stack = rest.height.div_ceil(2);
        (slice(rest, 0, stack), below(rest, stack))
    };
    [list, figures, stack, source]
}

pub(super) fn render(view: &Sites, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let [above, middle, left, right] = panes(view.pane, cx, area);
    if !above.is_empty() {
        list(view, cx, above, buffer);
    }
    let (Some(row), Some(index)) = (view.list.selected(), view.selected()) else {
        return;
    };
    let Some(site) = cx.data.site(index) else {
        return;
    };
    for (pane, area) in [
        (Pane::List, middle),
        (Pane::Stack, left),
        (Pane::Source, right),
    ] {
        match pane {
            _ if area.is_empty() => {}
            Pane::List => figures(view, cx, (row, site), area, buffer),
            Pane::Stack => stack(view, cx, site, area, buffer),
            Pane::Source => source(view, cx, area, buffer),
        }
    }
}

/// Returns the table of sites. `shown` decides the widths of names.
pub(super) fn table<'a>(sort: Sort, cx: &'a Context<'_>, shown: &[Listed]) -> Table<'a, Listed> {
    let profile = &cx.data.profile;
    let site = |row: &Listed| cx.data.site(*row.sites.first()?);
    let value = |row: &Listed| cx.measure.shown(&row.figures);
    let measure = cx.measure;
    let mean = move |figures: &Figures| measure.mean_block_bytes(figures).unwrap_or(0);
    let table = Table::sorted(cx, sort)
        .share(Heading::SHARE, value, cx.whole())
        .measure(value)
        .change(By::Site, Heading::CHANGE, Listed::identity)
        // Names need this width more than a count that is also in the figures below.
        .blocks(|row| &row.figures)
        .only_if_sorted_or(cx.body.width >= 100)
        .figure(Heading::of(Measure::Live), |row| row.figures.live_bytes)
        .only_if_sorted_or(false)
        .some(Heading::MEAN_BLOCK, move |row| mean(&row.figures))
        .only_if_sorted_or(false)
        .trend(|row: &Listed| row.sites.iter().map(|&site| site as usize).collect())
        .only_if(cx.body.width >= 150);
    let free = usize::from(cx.body.width).saturating_sub(table.taken());
    let labels: Vec<_> = shown.iter().map(|row| (row.label(), value(row))).collect();
    let widths = NameWidths::of(&labels, free);
    let fits = widths.location > 0;
    let location = if fits { widths.location } else { LOCATION };
    let table = table
        .left("allocated as", widths.what, move |row: &Listed, _| {
            let id = site(row).and_then(|site| profile.type_id_of(site));
            let style = theme::kind(cx.data.type_kind(id));
            (row.label().what.clone(), style)
        })
        .shortened_together(fit_types)
        .by_name(|row| row.label().what.clone())
        .left("where", location, |row: &Listed, cells| {
            let label = row.label();
            let place = fit_place(&label.location, label.place(), cells);
            (place, theme::plain())
        })
        .by_name(|row| row.label().location.clone())
        .only_if_sorted_or(fits);
    // A place that is shown only for its order takes its width from the owner.
    let is_extra = !fits && table.is_sorted_by_last();
    let owner = if is_extra { 0 } else { widths.owner };
    table
        .left("owner", owner, move |row: &Listed, _| {
            let charged = site(row).and_then(|site| profile.charged_to(site));
            let style = theme::charged(profile, charged);
            (row.label().owner_and_source(), style)
        })
        .shortened(fit_owner)
        .by_name(|row| row.label().owner_and_source())
}

/// Returns the rows that `area` has room for.
pub(super) fn visible(view: &Sites, area: Rect) -> &[Listed] {
    let rows = &view.list.rows;
    let shown = rows.get(view.list.cursor.top..).unwrap_or_default();
    shown.get(..usize::from(area.height)).unwrap_or(shown)
}

fn list(view: &Sites, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let shown = visible(view, area);
    let empty = match &view.found {
        None if view.shown.is_none() => "listing the sites".to_owned(),
        None => "no sites were recorded".to_owned(),
        Some(text) => format!("{text}; press Esc to show all"),
    };
    let style = if view.pane == Pane::List {
        theme::selected()
    } else {
        theme::strong()
    };
    let sort = view.shown.as_ref().map_or(view.sort, |shown| shown.sort);
    let table = table(sort, cx, shown).selected(style);
    table.render(area, buffer, &view.list, &empty);
}

/// Draws the rule between list and details, with the row and the restriction, and every figure
/// below it.
fn figures(
    view: &Sites,
    cx: &Context<'_>,
    (row, site): (&Listed, &Site),
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut parts = vec![view.list.place("row")];
    parts.extend(view.found.clone());
    let phase = phase(cx, site.scope);
    if !phase.is_empty() {
        parts.push(format!("phase {phase}"));
    }
    let label = row.label();
    let owner = label.owner_and_source();
    let names = [&label.what, &label.location, &owner]
        .into_iter()
        .filter(|name| !name.is_empty());
    parts.extend(names.map(|name| clean(name).into_owned()));
    let marks = [
        (site.marks.cut, "stack truncated"),
        (site.marks.foreign, "foreign stack"),
        (site.marks.deep, "frames missing"),
        (site.marks.folded, "repeated frames folded"),
    ];
    let set = marks.iter().filter(|(is_set, _)| *is_set);
    parts.extend(set.map(|(_, name)| (*name).to_owned()));
    let mut lines = Lines::new(area, buffer);
    lines.rule(&parts.join(" · "));
    let mut items = all_figures(cx.measure, &row.figures);
    let sites: Vec<usize> = row.sites.iter().map(|&index| index as usize).collect();
    items.extend(cx.data.profile.block_details(&sites, &row.figures));
    lines.flow(&items, theme::plain());
}

/// Returns the phases around a site, outermost first.
fn phase(cx: &Context<'_>, scope: ScopeId) -> String {
    let profile = &cx.data.profile;
    let phases = profile.phases().around(scope).into_iter();
    let scopes = phases.filter_map(|phase| profile.scopes().get(phase.0 as usize));
    let names: Vec<_> = scopes.map(|scope| clean(&scope.name)).collect();
    names.join(" › ")
}

fn stack(view: &Sites, cx: &Context<'_>, site: &Site, area: Rect, buffer: &mut Buffer) {
    let lines = below(area, 1);
    let frames = &view.stack.rows;
    let unseen = frames.len().saturating_sub(lines.height as usize);
    let hidden = cx
        .data
        .profile
        .innermost_first(site)
        .count()
        .saturating_sub(frames.len());
    let unseen = (unseen > 0).then(|| format!("{unseen} not shown"));
    let hidden = (hidden > 0).then(|| format!("a: {hidden} more"));
    let notes: Vec<String> = unseen.into_iter().chain(hidden).collect();
    let mut title = match view.stacks.count {
        0 | 1 => String::new(),
        stacks => {
            let (at, stacks) = (view.stack_number() + 1, Count(stacks as u64));
            format!("stack {at} of {stacks} ([ ]), ")
        }
    };
    title.push_str(&counted(frames.len() as u64, "frame"));
    title.push_str(", innermost first");
    if !notes.is_empty() {
        title.push_str(&format!(" ({})", notes.join(", ")));
    }
    write(buffer, area, &title, theme::heading());
    let owner = site.owner;
    let shown = frames.iter().enumerate().skip(view.stack.cursor.top);
    for ((at, frame), line) in shown.zip(lines.rows()) {
        let function = cx.data.function_of(*frame);
        let place = cx.data.short_place(*frame).unwrap_or_default();
        // The place gets up to two fifths, and the name gets the rest, in full if it fits.
        let right = width(&place).min(area.width as usize * 2 / 5);
        let left = (area.width as usize).saturating_sub(right + 3);
        let name = function.map_or("[unnamed]".into(), |f| {
            let full = clean(&f.name);
            if width(&full) > left && !f.short.is_empty() {
                clean(&f.short)
            } else {
                full
            }
        });
        let mark = if Some(*frame) == owner { "▸" } else { " " };
        let is_selected = at == view.stack.cursor.selected;
        let style = if is_selected && view.pane == Pane::Stack {
            theme::selected()
        } else if is_selected {
            theme::strong()
        } else {
            theme::plain()
        };
        let name_style = function.map_or(theme::dim(), theme::origin);
        let cells = [
            (1, false, mark.into(), theme::key()),
            (left, false, fit_path(&name, left), name_style),
            (right, false, fit_end(&place, right), theme::dim()),
        ];
        draw_row(buffer, line, cells, style);
    }
    let below_frames = below(lines, frames.len() as u16 + 1);
    if let Some(row) = view.list.selected() {
        sizes(cx, row, below_frames, buffer);
    }
}

/// Draws how many blocks of each size the sites of a row allocated, if there is room: the recording
/// has the mean of their lifetimes, and no more.
fn sizes(cx: &Context<'_>, row: &Listed, area: Rect, buffer: &mut Buffer) {
    /// Lines of a heading and two classes.
    const LEAST: u16 = 3;
    const RANGE: usize = 22;
    const BLOCKS: usize = 12;
    let sites: Vec<usize> = row.sites.iter().map(|&site| site as usize).collect();
    let distribution = cx.data.profile.distribution(&sites);
    let mut classes: Vec<_> = distribution.classes().collect();
    if area.height < LEAST || classes.len() < 2 {
        return;
    }
    let room = usize::from(area.height) - 1;
    let all = classes.len();
    if all > room {
        // The most frequent ones, in the order of sizes.
        classes.sort_by_key(|(_, blocks)| Reverse(*blocks));
        classes.truncate(room);
        classes.sort_by_key(|(sizes, _)| *sizes.start());
    }
    let mut lines = Lines::new(area, buffer);
    let left_out = match all - classes.len() {
        0 => String::new(),
        rest => format!(", {} left out", counted(rest as u64, "size")),
    };
    lines.line(
        &format!("blocks by size when allocated{left_out}"),
        theme::heading(),
    );
    let most = classes.iter().map(|(_, blocks)| *blocks).max().unwrap_or(0);
    let cells = usize::from(area.width)
        .saturating_sub(RANGE + BLOCKS + 2)
        .min(60);
    for (sizes, blocks) in classes {
        let (low, high) = (Bytes(*sizes.start()), Bytes(*sizes.end()));
        let range = if low == high {
            low.to_string()
        } else {
            format!("{low} to {high}")
        };
        let blocks_text = Count(blocks).to_string();
        let text = format!(
            "{range:>RANGE$} {blocks_text:>BLOCKS$} {}",
            bar(blocks, most, cells)
        );
        lines.line(&text, theme::plain());
    }
}

/// Draws the selected frame: its full name, the path that was read, and the lines around it.
fn source(view: &Sites, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let mut lines = Lines::new(area, buffer);
    // Only if the area is high enough. The stack list may have shortened the name.
    if area.height >= 8 {
        let frame = view.stack.selected();
        let function = frame.and_then(|frame| cx.data.function_of(*frame));
        let (name, style) = function.map_or(("[unnamed]".into(), theme::dim()), |f| {
            (clean(&f.name), theme::origin(f))
        });
        for line in wrap(&name, area.width as usize, 2) {
            lines.line(&line, style);
        }
    }
    let area = lines.rest;
    let excerpt = &view.excerpt;
    let note = excerpt
        .note
        .as_ref()
        .map(|note| format!(" ({note})"))
        .unwrap_or_default();
    let title = match excerpt.title.as_str() {
        "" => "source",
        title => title,
    };
    let room = (area.width as usize).saturating_sub(width(&note));
    let title = fit_end(title, room);
    let style = if view.pane == Pane::Source {
        theme::selected()
    } else {
        theme::heading()
    };
    write(buffer, area, &title, style);
    let rest = right_of(area, width(&title) as u16);
    write(buffer, rest, &note, theme::warning());
    let rows = below(area, 1);
    let shown: Vec<(u32, &str)> = excerpt
        .around(view.scrolled, rows.height as usize)
        .collect();
    // Remove the indentation that all lines share.
    let blank = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let filled = shown.iter().filter(|(_, line)| !line.trim().is_empty());
    let indent = filled.map(|(_, line)| blank(line)).min().unwrap_or(0);
    for ((number, line), row) in shown.into_iter().zip(rows.rows()) {
        let (mark, style) = if excerpt.line == Some(number) {
            ('▸', theme::strong())
        } else {
            (' ', theme::plain())
        };
        let line = line.get(indent..).unwrap_or_default();
        write(buffer, row, &format!("{mark}{number:>5} │ {line}"), style);
    }
}
