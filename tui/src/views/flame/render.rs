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
use crate::widgets::{slice, write};

struct Parts {
    breadcrumb: Rect,
    frames: Rect,
    details: Rect,
}

fn parts(area: Rect) -> Parts {
    let breadcrumb = u16::from(area.height >= 4);
    let details = match area.height {
        0..3 => 0,
        3..8 => 1,
        8..14 => 2,
        14..24 => 4,
        _ => 5,
    };
    let frames = area.height - breadcrumb - details;
    Parts {
        breadcrumb: slice(area, 0, breadcrumb),
        frames: slice(area, breadcrumb, frames),
        details: slice(area, breadcrumb + frames, details),
    }
}

/// Rows of frames on the present screen.
pub(super) fn frame_rows(cx: &Context<'_>) -> u16 {
    parts(Rect::from((ratatui::layout::Position::ORIGIN, cx.body)))
        .frames
        .height
}

pub(super) fn render(
    view: &Flame,
    tree: &CallTree,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let parts = parts(area);
    breadcrumb(view, tree, cx, parts.breadcrumb, buffer);
    if cx.measure.of(tree.total(view.zoom())) == 0 {
        let text = if tree.is_empty() {
            "no sites were recorded".to_owned()
        } else {
            nothing(cx.measure)
        };
        write(buffer, parts.frames, &text, theme::dim());
        return;
    }
    let layout = Layout::new(
        tree,
        cx.measure,
        view.zoom(),
        area.width,
        view.top,
        parts.frames.height,
    );
    for (row, place) in layout.rows.iter().zip(parts.frames.rows()) {
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
    details(view, tree, cx, &layout, parts.details, buffer);
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
    let right = (width(&flags) as u16).min(area.width);
    write(
        buffer,
        Rect {
            x: area.x + area.width - right,
            width: right,
            ..area
        },
        &flags,
        theme::dim(),
    );
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
    let area = Rect {
        x: row.x + cell.x,
        width: cell.width,
        ..row
    };
    if view.matches.as_ref().is_some_and(|m| m.contains(cell.node)) {
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
    let area = Rect {
        x: row.x + rest.x,
        width: rest.width,
        ..row
    };
    let text = format!("·{} more", rest.frames);
    let text = if width(&text) < area.width as usize {
        text
    } else {
        String::new()
    };
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
    if area.is_empty() {
        return;
    }
    let cells = area.width as usize;
    let selected = view.selected();
    let figures = figures(view, tree, cx, selected);
    let note = notes(view, cx, layout);
    let place = place(tree, cx, selected);
    let full = tree.name(selected, &cx.data.profile);
    let name = clean(&full).into_owned();
    let style = theme::strong();
    match area.height {
        // Too little room for anything but the figures and the name together.
        1 => write(buffer, area, &format!("{name}  {figures}"), style),
        2 => {
            write(buffer, area, &name, style);
            let text = if note.is_empty() {
                figures
            } else {
                format!("{figures}  {note}")
            };
            write(buffer, slice(area, 1, 1), &text, theme::plain());
        }
        height => {
            // A long name takes up to two lines, never the ones of the figures.
            let lines = wrap(&name, cells, (height - 2).min(2) as usize);
            let mut at = 0;
            for line in &lines {
                write(buffer, slice(area, at, 1), line, style);
                at += 1;
            }
            if lines.len() < 2 && height >= 4 {
                write(buffer, slice(area, at, 1), &place, theme::dim());
                at += 1;
            }
            write(buffer, slice(area, at, 1), &figures, theme::plain());
            write(buffer, slice(area, at + 1, 1), &note, theme::heading());
            if lines.len() == 2 && height >= 5 {
                write(buffer, slice(area, at + 2, 1), &place, theme::dim());
            }
        }
    }
}

fn figures(view: &Flame, tree: &CallTree, cx: &Context<'_>, id: NodeId) -> String {
    let total = tree.total(id);
    let value = cx.measure.of(total);
    let (blocks, unit) = cx.measure.blocks(total);
    let mut text = format!(
        "{}, {} of all",
        cx.measure.amount(value),
        Share::of(value, cx.whole())
    );
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
        text.push_str(&format!(
            ", stands for {}",
            counted(node.frames.into(), "frame")
        ));
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
    let source = node
        .frame
        .and_then(|frame| cx.data.short_place(frame))
        .unwrap_or_default();
    let several = if node.several_places {
        " and other lines"
    } else {
        ""
    };
    let source = if source.is_empty() {
        source
    } else {
        format!(", {source}{several}")
    };
    format!("{} ({whose}){}", clean(&function.krate), clean(&source))
}

/// What was found, and what is not drawn.
fn notes(view: &Flame, cx: &Context<'_>, layout: &Layout) -> String {
    let mut parts = Vec::new();
    if let (Some(matches), Some(highlight)) = (&view.matches, &view.highlight) {
        let what = match highlight {
            Highlight::Pattern(pattern) => format!("/{}/", clean(&pattern.text)),
            Highlight::Symbol(_) => "same symbol".to_owned(),
        };
        let position = matches
            .position()
            .map(|at| format!("{at} of "))
            .unwrap_or_default();
        let share = Share::of(matches.value, cx.whole());
        let frames = if matches.len() == 1 {
            "frame"
        } else {
            "frames"
        };
        parts.push(format!(
            "{what}: {position}{} {frames} (n N), {share} of all",
            Count(matches.len() as u64)
        ));
    }
    let (frames, value) = layout.elided();
    if frames > 0 {
        let word = if frames == 1 { "frame" } else { "frames" };
        parts.push(format!(
            "{} {word} too narrow to draw ({})",
            Count(frames),
            cx.measure.amount(value)
        ));
    }
    if layout.deeper {
        parts.push("▼ deeper rows below".to_owned());
    }
    parts.join(" · ")
}
