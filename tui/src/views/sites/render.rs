//! Draws the sites: the list above, below it the stack of the selected one and the source of the selected frame.

use std::collections::HashSet;

use heapglass_profiler::profile::{Figures, ScopeId, Site};
use heapglass_profiler::report::By;
use heapglass_profiler::units::{Count, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Sites;
use super::order::{Listed, Sort, mean};
use crate::model::Context;
use crate::text::{clean, fit_end, fit_middle, width, wrap};
use crate::theme;
use crate::widgets::{
    CHANGE, Table, all_figures, bytes, count, draw_row, flow, rule, slice, write,
};

/// Where things are. Empty panes are not drawn.
pub(super) struct Panes {
    list: Rect,
    figures: Rect,
    stack: Rect,
    source: Rect,
}

impl Panes {
    /// Rows of the list, without its heading.
    pub(super) fn list_rows(&self) -> usize {
        self.list.height.saturating_sub(1) as usize
    }

    /// Rows of the stack, without its heading.
    pub(super) fn stack_rows(&self) -> usize {
        self.stack.height.saturating_sub(1) as usize
    }
}

pub(super) fn panes(area: Rect) -> Panes {
    let nothing = slice(area, area.height, 0);
    if area.height < 8 {
        return Panes {
            list: area,
            figures: nothing,
            stack: nothing,
            source: nothing,
        };
    }
    let list = (area.height * 2 / 5).max(4);
    let figures = match area.height {
        ..16 => 1,
        // What is behind the figures of all rows is of this site's blocks: sizes, lifetimes.
        _ if area.width >= 130 => 4,
        _ => 5,
    };
    let rest = slice(area, list + figures, area.height - list - figures);
    let (stack, source) = if area.width >= 110 {
        let left = area.width / 2;
        let right = Rect {
            x: rest.x + left + 1,
            width: area.width - left - 1,
            ..rest
        };
        (
            Rect {
                width: left,
                ..rest
            },
            right,
        )
    } else {
        let stack = rest.height.div_ceil(2);
        (
            slice(rest, 0, stack),
            slice(rest, stack, rest.height - stack),
        )
    };
    Panes {
        list: slice(area, 0, list),
        figures: slice(area, list, figures),
        stack,
        source,
    }
}

pub(super) fn render(view: &Sites, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let panes = panes(area);
    list(view, cx, panes.list, buffer);
    let (Some(row), Some(index)) = (view.row(), view.selected()) else {
        return;
    };
    let Some(site) = cx.data.site(index) else {
        return;
    };
    figures(view, cx, (row, site), panes.figures, buffer);
    stack(view, cx, site, panes.stack, buffer);
    source(view, cx, panes.source, buffer);
}

/// A column of places that is narrower says nothing.
const LOCATION: usize = 8;

/// How wide the columns of names are.
struct Widths {
    what: usize,
    /// 0 = there is no room for it.
    location: usize,
    owner: usize,
}

impl Widths {
    /// What and owner stay whole as long as they can. Where gets what they leave, and a quarter of the room when rows would
    /// read the same without it.
    fn of(rows: &[&Listed], room: usize) -> Widths {
        let (mut what, mut location, mut owner) = (4, 5, 5);
        let mut known = HashSet::new();
        let mut kept = 0;
        for Listed { label, .. } in rows {
            let named = label.owner_and_source();
            what = what.max(width(&clean(&label.what)));
            location = location.max(width(&clean(&label.location)));
            owner = owner.max(width(&clean(&named)));
            if !known.insert((&label.what, named)) {
                kept = room / 4;
            }
        }
        let kept = kept.min(location);
        let names = room.saturating_sub(kept + 2);
        // A very long name of a type leaves the owner more than half of the room.
        let what = what.min((names * 2 / 5).max(names.saturating_sub(owner)));
        let owner = owner.min(names.saturating_sub(what));
        let left = room.saturating_sub(what + owner + 2);
        let location = match location.min(left) {
            too_little if too_little < location.min(LOCATION) => 0,
            enough => enough,
        };
        let between = if location > 0 { 2 } else { 1 };
        Widths {
            what,
            location,
            owner: room.saturating_sub(what + location + between),
        }
    }
}

fn list(view: &Sites, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 100;
    // Names need the room more than a count that is in the figures below; a column that is sorted by stays.
    let blocks = wide || view.sort == Sort::Blocks;
    let sorted = |sort: Sort, title: &str| {
        let mark = if view.reversed { "▲" } else { "▼" };
        if view.sort == sort {
            format!("{title}{mark}")
        } else {
            title.to_owned()
        }
    };
    let profile = &cx.data.profile;
    let (_, unit) = cx.measure.blocks(&Figures::default());
    let value = |row: &&Listed| cx.measure.of(&row.figures);
    let extra = match view.sort {
        Sort::Live => 11,
        Sort::Mean => 10,
        _ => 0,
    };
    let change = match cx.data.base {
        Some(_) => CHANGE + 1,
        None => 0,
    };
    let figures = if blocks { 31 } else { 20 } + extra + change;
    let shown = view.listing.rows.iter().skip(view.cursor.top);
    let shown: Vec<&Listed> = shown.take(usize::from(area.height)).collect();
    let widths = Widths::of(&shown, usize::from(area.width).saturating_sub(figures));
    let mut table = Table::new()
        .right("share", 7, |row| {
            Share::of(value(row), cx.whole()).to_string()
        })
        .right(sorted(Sort::Measure, cx.measure.name()), 11, |row| {
            cx.measure.amount(value(row))
        })
        .change(
            cx,
            By::Site,
            sorted(Sort::Change, "change"),
            |row: &&Listed| row.identity(),
        )
        .right_if(blocks, sorted(Sort::Blocks, unit), 10, |row| {
            count(cx.measure.blocks(&row.figures).0)
        })
        .right_if(
            view.sort == Sort::Live,
            sorted(Sort::Live, "live"),
            10,
            |row| bytes(row.figures.live_bytes),
        )
        .right_if(
            view.sort == Sort::Mean,
            sorted(Sort::Mean, "mean"),
            9,
            |row| bytes(mean(&row.figures)),
        )
        .left(
            sorted(Sort::What, "what"),
            widths.what,
            |row: &&Listed, cells| {
                let site = row.sites.first().and_then(|index| cx.data.site(*index));
                let kind = site.and_then(|site| profile.type_id_of(site));
                let text = fit_middle(&clean(&row.label.what), cells).into_owned();
                (text, theme::kind(cx.data.type_kind(kind)))
            },
        );
    if widths.location > 0 {
        table = table.left(
            sorted(Sort::Location, "where"),
            widths.location,
            |row: &&Listed, cells| {
                let text = fit_middle(&clean(&row.label.location), cells).into_owned();
                (text, theme::plain())
            },
        );
    }
    table = table.left(
        sorted(Sort::Owner, "owner"),
        widths.owner,
        |row: &&Listed, cells| {
            let site = row.sites.first().and_then(|index| cx.data.site(*index));
            let charged = site.and_then(|site| profile.charged_to(site));
            let text = fit_end(&clean(&row.label.owner_and_source()), cells).into_owned();
            (text, theme::charged(profile, charged))
        },
    );
    let rows: Vec<&Listed> = view.listing.rows.iter().collect();
    let empty = match view.restriction(cx) {
        none if none.is_empty() => "no sites were recorded".to_owned(),
        some => format!("{some}; Esc shows all"),
    };
    let style = match view.in_stack {
        true => theme::strong(),
        false => theme::selected(),
    };
    table.render(area, buffer, rows.into_iter(), (view.cursor, style), &empty);
}

/// The rule between list and details: which site, what the list is cut down to; below it every figure.
fn figures(
    view: &Sites,
    cx: &Context<'_>,
    (row, site): (&Listed, &Site),
    area: Rect,
    buffer: &mut Buffer,
) {
    let place = format!(
        "site {} of {}",
        Count(view.cursor.selected as u64 + 1),
        Count(view.listing.rows.len() as u64)
    );
    let mut parts = vec![place];
    let restriction = view.restriction(cx);
    if !restriction.is_empty() {
        parts.push(restriction);
    }
    let phase = phase(cx, site.scope);
    if !phase.is_empty() {
        parts.push(format!("phase {phase}"));
    }
    let label = &row.label;
    let owner = label.owner_and_source();
    let names = [&label.what, &label.location, &owner].into_iter();
    parts.extend(
        names
            .filter(|name| !name.is_empty())
            .map(|name| clean(name).into_owned()),
    );
    let marks = [
        (site.marks.cut, "stack cut"),
        (site.marks.foreign, "foreign stack"),
        (site.marks.deep, "outermost frames missing"),
        (site.marks.folded, "repeated frames folded"),
    ];
    parts.extend(
        marks
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, name)| (*name).to_owned()),
    );
    rule(buffer, area, &parts.join(" · "));
    let rest = slice(area, 1, area.height.saturating_sub(1));
    let mut items = all_figures(&row.figures);
    let sites: Vec<usize> = row.sites.iter().map(|&index| index as usize).collect();
    items.extend(cx.data.profile.distribution(&sites).details(&row.figures));
    flow(buffer, rest, &items, theme::plain());
}

/// The phases around a site, outermost first.
fn phase(cx: &Context<'_>, scope: ScopeId) -> String {
    let scopes = &cx.data.profile.scopes;
    let mut names = Vec::new();
    let mut at = scope.0;
    // Parents come before children, so the walk ends even where a file says otherwise.
    while at > 0
        && let Some(scope) = scopes.get(at as usize)
    {
        if !scope.kind.is_field() {
            names.push(clean(&scope.name).into_owned());
        }
        if scope.parent >= at {
            break;
        }
        at = scope.parent;
    }
    names.reverse();
    names.join(" › ")
}

fn stack(view: &Sites, cx: &Context<'_>, site: &Site, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let frames = view.stack(cx.data, cx.frames);
    let all = cx.data.profile.innermost_first(site).count();
    let hidden = all.saturating_sub(frames.len());
    let unseen = frames.len().saturating_sub(view_rows(area));
    let mut notes = Vec::new();
    if unseen > 0 {
        notes.push(format!("{unseen} out of sight"));
    }
    if hidden > 0 {
        notes.push(format!("a: {hidden} more"));
    }
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    let stacks = view.row().map_or(0, |row| row.sites.len());
    let which = match stacks {
        0 | 1 => String::new(),
        _ => format!(
            "stack {} of {} (n: next), ",
            view.stack_index + 1,
            Count(stacks as u64)
        ),
    };
    let title = format!(
        "{which}{}, innermost first{notes}",
        counted(frames.len() as u64, "frame")
    );
    write(buffer, slice(area, 0, 1), &title, theme::heading());
    let owner = site.owner;
    let shown = frames
        .iter()
        .enumerate()
        .skip(view.frame.top)
        .take(view_rows(area));
    for (at, frame) in shown {
        let function = cx.data.function_of(*frame);
        let place = cx.data.short_place(*frame).unwrap_or_default();
        // The place gets what it needs up to two fifths; the name the rest, in full where that fits.
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
        let style = if at == view.frame.selected {
            if view.in_stack {
                theme::selected()
            } else {
                theme::strong()
            }
        } else {
            theme::plain()
        };
        let row = slice(area, 1 + (at - view.frame.top) as u16, 1);
        let name_style = function.map_or(theme::dim(), theme::origin);
        let place = fit_end(&place, right).into_owned();
        let cells = [
            (1, false, mark.into(), theme::key()),
            (left, false, name, name_style),
            (right, false, place.into(), theme::dim()),
        ];
        draw_row(buffer, row, cells, style);
    }
}

fn view_rows(area: Rect) -> usize {
    area.height.saturating_sub(1) as usize
}

/// The selected frame: its name in full, the path read, the lines around it.
fn source(view: &Sites, cx: &Context<'_>, mut area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    // Where there is room; the stack beside may have had to shorten the name.
    if area.height >= 8 {
        let frames = view.stack(cx.data, cx.frames);
        let function = frames
            .get(view.frame.selected)
            .and_then(|frame| cx.data.function_of(*frame));
        let (name, style) = function.map_or(("[unnamed]".into(), theme::dim()), |f| {
            (clean(&f.name), theme::origin(f))
        });
        let lines = wrap(&name, area.width as usize, 2);
        for (at, line) in lines.iter().enumerate() {
            write(buffer, slice(area, at as u16, 1), line, style);
        }
        let used = lines.len() as u16;
        area = slice(area, used, area.height - used);
    }
    let excerpt = &view.excerpt;
    let note = excerpt
        .note
        .as_ref()
        .map(|note| format!(" ({note})"))
        .unwrap_or_default();
    let title = if excerpt.title.is_empty() {
        "source"
    } else {
        &excerpt.title
    };
    let room = (area.width as usize).saturating_sub(width(&note));
    write(
        buffer,
        slice(area, 0, 1),
        &fit_end(title, room),
        theme::heading(),
    );
    let used = width(&fit_end(title, room)) as u16;
    let rest = Rect {
        x: area.x + used.min(area.width),
        width: area.width - used.min(area.width),
        ..area
    };
    write(buffer, slice(rest, 0, 1), &note, theme::warning());
    let rows = slice(area, 1, area.height - 1);
    let shown: Vec<(u32, &str)> = excerpt.around(rows.height as usize).collect();
    // What all lines are indented by says nothing.
    let blank = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let filled = shown.iter().filter(|(_, line)| !line.trim().is_empty());
    let indent = filled.map(|(_, line)| blank(line)).min().unwrap_or(0);
    for ((number, line), row) in shown.into_iter().zip(rows.rows()) {
        let here = excerpt.line == Some(number);
        let style = if here {
            theme::strong()
        } else {
            theme::plain()
        };
        let mark = if here { '▸' } else { ' ' };
        let line = line.get(indent..).unwrap_or_default();
        write(buffer, row, &format!("{mark}{number:>5} │ {line}"), style);
    }
}
