//! Draws the flamegraph: breadcrumb, frames, details. Says how many frames were too narrow to draw.

use heapglass_profiler::calltree::{By, CallTree, Label, NodeId};
use heapglass_profiler::profile::{Frames, Function, Origin};
use heapglass_profiler::units::{Count, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::layout::{Cell, Layout, Rest};
use super::{Flame, Highlight, nothing};
use crate::model::Context;
use crate::text::{clean, fit, fit_end, pad, width, wrap};
use crate::theme;
use crate::widgets::{Lines, columns, last_columns, split, write};

/// Breadcrumb, frames, details.
fn panes(area: Rect) -> [Rect; 3] {
    let breadcrumb = u16::from(area.height >= 4);
    let details = match area.height {
        0..3 => 0,
        3..8 => 1,
        8..14 => 2,
        14..24 => 4,
        _ => 5,
    };
    let frames = area.height - breadcrumb - details;
    split(area, [breadcrumb, frames, details])
}

/// Rows of frames on the present screen.
pub(super) fn frame_rows(cx: &Context<'_>) -> u16 {
    let [_, frames, _] = panes(cx.area());
    frames.height
}

pub(super) fn render(
    view: &Flame,
    tree: &CallTree,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let [top, frames, bottom] = panes(area);
    breadcrumb(view, tree, cx, top, buffer);
    if cx.measure.of(tree.total(view.zoom())) == 0 {
        let text = match tree.is_empty() {
            true => "no sites were recorded".to_owned(),
            false => nothing(cx.measure),
        };
        return write(buffer, frames, &text, theme::dim());
    }
    let (zoom, top) = (view.zoom(), view.top);
    let layout = Layout::new(tree, cx.measure, zoom, area.width, top, frames.height);
    for (row, place) in layout.rows.iter().zip(frames.rows()) {
        for rest in &row.rests {
            draw_rest(*rest, place, buffer);
        }
        for cell in &row.cells {
            let style = match difference(view, tree, cx, cell.node) {
                Some(difference) => theme::change_frame(difference, view.before.most()),
                None => frame_style(tree, cx, cell.node),
            };
            draw_frame(view, tree, cx, (*cell, style), place, buffer);
        }
    }
    details(view, tree, cx, &layout, bottom, buffer);
}

/// Where the zoom is, and what kind of tree this is.
fn breadcrumb(view: &Flame, tree: &CallTree, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let mut flags = String::new();
    match view.spec.by {
        By::Stack | By::Arena => {}
        By::Field => flags.push_str("by field "),
        By::Type => flags.push_str("by type "),
    }
    if view.spec.inverted {
        flags.push_str("inverted ");
    }
    if view.spec.phases {
        flags.push_str("phases ");
    }
    flags.push_str(match view.spec.frames {
        Frames::Folded => "",
        Frames::Own => "own frames ",
        Frames::All => "all frames ",
        Frames::Trimmed => "trimmed frames ",
    });
    if view.top > 0 {
        flags.push_str(&format!("▲ {} above ", counted(view.top as u64, "row")));
    }
    let names: Vec<String> = std::iter::once(NodeId::ROOT)
        .chain(tree.path(view.zoom()))
        .map(|id| clean(&tree.short_name(id, &cx.data.profile)).into_owned())
        .collect();
    let room = (area.width as usize).saturating_sub(width(&flags) + 1);
    let path = fit_end(&names.join(" › "), room).into_owned();
    write(buffer, area, &path, theme::heading());
    let right = last_columns(area, width(&flags) as u16);
    write(buffer, right, &flags, theme::dim());
}

fn function<'a>(tree: &CallTree, cx: &Context<'a>, id: NodeId) -> Option<&'a Function> {
    match tree.node(id).label {
        Label::Function(function) => cx.data.function(function),
        Label::Call(_) => cx.data.function_of(tree.node(id).frame?),
        _ => None,
    }
}

/// What a frame has more than in the base; `None` without a base.
fn difference(view: &Flame, tree: &CallTree, cx: &Context<'_>, id: NodeId) -> Option<i128> {
    view.before.difference(tree, cx.measure, id)
}

/// The colour of a frame: of a function its crate, of a field or a type the kind of container.
fn frame_style(tree: &CallTree, cx: &Context<'_>, id: NodeId) -> Style {
    let label = tree.node(id).label;
    match label {
        Label::Root | Label::Scope(_) => theme::frame(None),
        Label::Mark(_) if tree.by() == By::Stack => theme::frame(None),
        Label::Function(_) | Label::Call(_) => theme::frame(function(tree, cx, id)),
        Label::Group(_) | Label::Place(_) => theme::place_frame(),
        _ => theme::kind_frame(cx.data.type_kind(label.type_id(&cx.data.profile))),
    }
}

fn draw_frame(
    view: &Flame,
    tree: &CallTree,
    cx: &Context<'_>,
    (cell, mut style): (Cell, Style),
    row: Rect,
    buffer: &mut Buffer,
) {
    let profile = &cx.data.profile;
    let area = columns(row, cell.x, cell.width);
    if view
        .matches
        .as_ref()
        .is_some_and(|m| m.contains(cell.node.0))
    {
        style = theme::matched();
    }
    if view.selected() == cell.node {
        style = Style::reset()
            .patch(theme::selected())
            .patch(theme::strong());
    }
    let room = area.width.saturating_sub(1) as usize;
    let short = tree.short_name(cell.node, profile);
    let name = clean(&short);
    let mut size = cx.measure.amount(cx.measure.of(tree.total(cell.node)));
    if let Some(difference) = difference(view, tree, cx, cell.node).filter(|d| *d != 0) {
        size = format!("{size} {}", cx.measure.difference(difference));
    }
    // Two letters say more than one and a mark that there were more.
    let mut text = if room < 3 {
        name.chars().take(room).collect()
    } else {
        fit(&name, room).into_owned()
    };
    if width(&name) + width(&size) + 3 <= room {
        text = format!("{name}  {size}");
    }
    write(buffer, area, &format!("▏{}", pad(&text, room)), style);
}

fn draw_rest(rest: Rest, row: Rect, buffer: &mut Buffer) {
    let area = columns(row, rest.x, rest.width);
    let mut text = format!("·{} more", rest.frames);
    if width(&text) >= area.width as usize {
        text.clear();
    }
    let fill = "·".repeat((area.width as usize).saturating_sub(width(&text)));
    write(buffer, area, &format!("{text}{fill}"), theme::dim());
}

fn details(
    view: &Flame,
    tree: &CallTree,
    cx: &Context<'_>,
    layout: &Layout,
    area: Rect,
    buffer: &mut Buffer,
) {
    let selected = view.selected();
    let figures = figures(view, tree, cx, selected);
    let note = notes(view, cx, layout);
    let place = place(tree, cx, selected);
    let full = tree.name(selected, &cx.data.profile);
    let name = clean(&full).into_owned();
    let style = theme::strong();
    let mut lines = Lines::new(area, buffer);
    match area.height {
        // Too little room for anything but the figures and the name together.
        0 | 1 => lines.line(&format!("{name}  {figures}"), style),
        2 => {
            lines.line(&name, style);
            let gap = if note.is_empty() { "" } else { "  " };
            lines.line(&format!("{figures}{gap}{note}"), theme::plain());
        }
        height => {
            // A long name takes up to two lines, never the ones of the figures.
            let wrapped = wrap(&name, area.width as usize, (height - 2).min(2) as usize);
            for line in &wrapped {
                lines.line(line, style);
            }
            let is_short = wrapped.len() < 2;
            if is_short && height >= 4 {
                lines.line(&place, theme::dim());
            }
            lines.line(&figures, theme::plain());
            lines.line(&note, theme::heading());
            if !is_short && height >= 5 {
                lines.line(&place, theme::dim());
            }
        }
    }
}

fn figures(view: &Flame, tree: &CallTree, cx: &Context<'_>, id: NodeId) -> String {
    let total = tree.total(id);
    let value = cx.measure.of(total);
    let (blocks, unit) = cx.measure.blocks(total);
    let mut text = format!("{}, {} of all", cx.measure.amount(value), cx.share(value));
    if view.zoom() != NodeId::ROOT {
        let zoomed = cx.measure.of(tree.total(view.zoom()));
        text.push_str(&format!(", {} of zoom", Share::of(value, zoomed)));
    }
    if cx.measure.is_bytes() {
        text.push_str(&format!(", {} {unit}", Count(blocks)));
    }
    let own = cx.measure.of(tree.own(id));
    if own > 0 && own != value {
        text.push_str(&format!(", {} itself", cx.measure.amount(own)));
    }
    if let Some(before) = view.before.value(id) {
        let difference = difference(view, tree, cx, id).unwrap_or_default();
        text.push_str(&match (before, difference) {
            (0, _) => ", new against the base".to_owned(),
            (_, 0) => ", as in the base".to_owned(),
            (before, difference) => format!(
                ", base {}: {}",
                cx.measure.amount(before),
                cx.measure.difference(difference)
            ),
        });
    }
    let node = tree.node(id);
    if node.frames > 1 {
        let frames = counted(node.frames.into(), "frame");
        text.push_str(&format!(", stands for {frames}"));
    }
    if node.recursion > 1 {
        text.push_str(&format!(", recursion up to {} deep", node.recursion));
    }
    text
}

/// Crate and source of the selected frame.
fn place(tree: &CallTree, cx: &Context<'_>, id: NodeId) -> String {
    // Fields and types are of no crate.
    let Some(function) = function(tree, cx, id).filter(|function| !function.krate.is_empty())
    else {
        return String::new();
    };
    let whose = match function.origin {
        Origin::User => "yours",
        Origin::Dependency => "dependency",
        Origin::Std => "std",
        Origin::Native => "native",
        Origin::Unresolved => "unresolved",
    };
    let node = tree.node(id);
    let source = node.frame.and_then(|frame| cx.data.short_place(frame));
    let mut text = format!("{} ({whose})", clean(&function.krate));
    if let Some(source) = source.filter(|source| !source.is_empty()) {
        text.push_str(&format!(", {}", clean(&source)));
        if node.several_places {
            text.push_str(" and other lines");
        }
    }
    text
}

/// What was found, and what is not drawn.
fn notes(view: &Flame, cx: &Context<'_>, layout: &Layout) -> String {
    let mut parts = Vec::new();
    if let (Some(matches), Some(highlight)) = (&view.matches, &view.highlight) {
        let what = match highlight {
            Highlight::Pattern(pattern) => pattern.label(),
            Highlight::Symbol(_) => "same symbol".to_owned(),
        };
        parts.push(format!(
            "{what}: {}{} (n N), {} of all",
            matches.position(),
            counted(matches.len(), "frame"),
            cx.share(matches.value)
        ));
    }
    let (frames, value) = layout.elided();
    if frames > 0 {
        let (frames, value) = (counted(frames, "frame"), cx.measure.amount(value));
        parts.push(format!("{frames} too narrow to draw ({value})"));
    }
    if layout.deeper {
        parts.push("▼ deeper rows below".to_owned());
    }
    parts.join(" · ")
}
