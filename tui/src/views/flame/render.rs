//! Draws the flamegraph: breadcrumb, frames and details, with the number of frames that are too
//! narrow to draw.

use heapglass_profiler::calltree::{CallTree, Levels, NodeId};
use heapglass_profiler::profile::{Frames, Function, Label, Origin};
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::{Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::largest::figures;
use super::layout::{Cell, Layout, Rest};
use super::{Flame, Highlight, nothing};
use crate::model::Context;
use crate::text::{clean, fit, fit_end, fit_path, pad, width, wrap};
use crate::theme;
use crate::widgets::{Lines, List, Table, columns, last_columns, slice, split, write};

/// Returns the areas of breadcrumb, frames and details.
fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 3] {
    let breadcrumb = u16::from(area.height >= 4);
    let details = match area.height {
        0..3 => 0,
        _ if cx.is_zoomed => 1,
        3..8 => 1,
        8..14 => 2,
        14..24 => 4,
        _ => 5,
    };
    let frames = area.height - breadcrumb - details;
    split(area, [breadcrumb, frames, details])
}

/// Returns the number of rows of frames on the current screen.
pub(super) fn frame_rows(cx: &Context<'_>) -> u16 {
    let [_, frames, _] = panes(cx, cx.area());
    frames.height
}

/// Returns the areas of the rows of frames, of the table below them, and of the legend. Only what
/// the rows leave is for the others.
fn parts(frames: Rect, rows: usize, has_legend: bool) -> [Rect; 3] {
    let rows = u16::try_from(rows).unwrap_or(u16::MAX).min(frames.height);
    let left = frames.height - rows;
    let legend = u16::from(has_legend && left > 0);
    // A blank line, the heading, and at least two rows.
    let table = match left - legend {
        0..4 => 0,
        table => table,
    };
    let [_, table, _] = split(
        frames,
        [rows + u16::from(table > 0), table.saturating_sub(1), legend],
    );
    [
        slice(frames, 0, rows),
        table,
        slice(frames, frames.height - legend, legend),
    ]
}

/// Returns the frame at a position in the view. The flag is `true` for a row of the table, whose
/// frame may not be drawn.
pub(super) fn frame_at(
    view: &Flame,
    tree: &CallTree,
    cx: &Context<'_>,
    at: Position,
) -> Option<(NodeId, bool)> {
    let [_, frames, _] = panes(cx, cx.area());
    let row = at.y.checked_sub(frames.y).filter(|_| frames.contains(at))?;
    let layout = view.icicle(tree, cx).layout(view.top, frames.height);
    let [_, table, _] = parts(frames, layout.rows.len(), cx.has_colour);
    if table.contains(at) {
        let row = at.y.checked_sub(table.y + 1)?;
        return Some((*view.largest.frames.get(usize::from(row))?, true));
    }
    let mut cells = layout.rows.get(usize::from(row))?.cells.iter();
    let cell = cells.find(|cell| (cell.x..cell.x + cell.width).contains(&at.x))?;
    Some((cell.node, false))
}

pub(super) fn render(
    view: &Flame,
    tree: &CallTree,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let [top, frames, bottom] = panes(cx, area);
    breadcrumb(view, tree, cx, top, buffer);
    if cx.measure.of(tree.total(view.zoom())) == 0 {
        let text = if tree.is_empty() {
            "no sites were recorded".to_owned()
        } else {
            nothing(cx.measure)
        };
        return write(buffer, frames, &text, theme::dim());
    }
    let layout = view.icicle(tree, cx).layout(view.top, frames.height);
    let drawn = Scene { view, tree, cx };
    for (row, place) in layout.rows.iter().zip(frames.rows()) {
        for rest in &row.rests {
            draw_rest(*rest, place, buffer);
        }
        for cell in &row.cells {
            drawn.frame(*cell, place, buffer);
        }
    }
    let [_, table, last] = parts(frames, layout.rows.len(), cx.has_colour);
    if !table.is_empty() {
        drawn.table(table, buffer);
    }
    legend(view, tree, last, buffer);
    drawn.details(&layout, bottom, buffer);
}

/// Draws as much of the colour legend as fits.
fn legend(view: &Flame, tree: &CallTree, area: Rect, buffer: &mut Buffer) {
    let entries = if view.before.most > 0 {
        theme::change_legend()
    } else if tree.levels() == Levels::Stack {
        theme::code_legend()
    } else {
        [theme::kind_legend(), theme::code_legend()].concat()
    };
    let mut column = 0;
    for (name, style) in entries {
        let cells = width(name) as u16 + 2;
        if column + cells > area.width {
            break;
        }
        write(
            buffer,
            columns(area, column, cells),
            &format!(" {name} "),
            style,
        );
        column += cells + 1;
    }
}

/// Draws the position of the zoom and the options of the tree.
fn breadcrumb(view: &Flame, tree: &CallTree, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let mut flags = String::new();
    match view.options.levels {
        Levels::Field => flags.push_str("by field "),
        Levels::Type => flags.push_str("by type "),
        _ => {}
    }
    if view.options.inverted {
        flags.push_str("inverted ");
    }
    if view.options.scopes {
        flags.push_str("phases ");
    }
    flags.push_str(match view.options.frames {
        Frames::Folded => "",
        Frames::Own => "own frames ",
        Frames::All => "all frames ",
        Frames::Trimmed => "trimmed frames ",
        _ => "other frames ",
    });
    if view.top > 0 {
        flags.push_str(&format!("▲ {} above ", counted(view.top as u64, "row")));
    }
    let path = [NodeId::ROOT].into_iter().chain(tree.path(view.zoom()));
    let names: Vec<String> = path
        .map(|id| clean(&tree.short_name(id, &cx.data.profile)).into_owned())
        .collect();
    let room = (area.width as usize).saturating_sub(width(&flags) + 1);
    let path = fit_end(&names.join(" › "), room).into_owned();
    write(buffer, area, &path, theme::heading());
    let right = last_columns(area, width(&flags) as u16);
    write(buffer, right, &flags, theme::dim());
}

/// The data to draw.
struct Scene<'a> {
    view: &'a Flame,
    tree: &'a CallTree,
    cx: &'a Context<'a>,
}

impl<'a> Scene<'a> {
    fn function(&self, id: NodeId) -> Option<&'a Function> {
        match self.tree.node(id).label {
            Label::Function(function) => self.cx.data.function(function),
            Label::Call(_) => self.cx.data.function_of(self.tree.node(id).frame?),
            _ => None,
        }
    }

    /// Returns the difference of a frame from the base; `None` without a base.
    fn difference(&self, id: NodeId) -> Option<i128> {
        self.view.before.difference(self.tree, self.cx.measure, id)
    }

    /// Returns the style of a frame: by crate for a function, by kind of container for a field or
    /// type.
    fn style(&self, id: NodeId) -> Style {
        let label = self.tree.node(id).label;
        match label {
            Label::Root | Label::Scope(_) => theme::frame(None),
            Label::Mark(_) if self.tree.levels() == Levels::Stack => theme::frame(None),
            Label::Function(_) | Label::Call(_) => theme::frame(self.function(id)),
            Label::Group(_) | Label::Place(_) => theme::place_frame(),
            _ => theme::kind_frame(self.cx.data.type_kind(label.type_id(&self.cx.data.profile))),
        }
    }

    fn frame(&self, cell: Cell, row: Rect, buffer: &mut Buffer) {
        let (tree, cx, node) = (self.tree, self.cx, cell.node);
        let area = columns(row, cell.x, cell.width);
        let difference = self.difference(node);
        let style = if self.view.selected() == node {
            Style::reset()
                .patch(theme::selected())
                .patch(theme::strong())
        } else if self.view.matches.contains(node.0) {
            theme::matched()
        } else if let Some(difference) = difference {
            theme::change_frame(difference, self.view.before.most)
        } else {
            self.style(node)
        };
        let room = area.width.saturating_sub(1) as usize;
        let short = tree.short_name(node, &cx.data.profile);
        let name = clean(&short);
        let mut size = cx.measure.text(tree.total(node));
        if let Some(difference) = difference.filter(|difference| *difference != 0) {
            size = format!("{size} {}", cx.measure.difference(difference));
        }
        let text = match room {
            // Two letters say more than one letter and a mark for more.
            0..3 => name.chars().take(room).collect(),
            _ if width(&name) + width(&size) + 3 <= room => format!("{name}  {size}"),
            // The end of a name says more than a mark only if enough of it is left.
            3..12 => fit(&name, room).into_owned(),
            _ => fit_path(&name, room).into_owned(),
        };
        write(buffer, area, &format!("▏{}", pad(&text, room)), style);
    }

    /// Draws the frames inside the zoomed one that allocated most themselves.
    fn table(&self, area: Rect, buffer: &mut Buffer) {
        let (tree, cx) = (self.tree, self.cx);
        let profile = &cx.data.profile;
        let is_inverted = self.view.options.inverted;
        let of = move |id: &NodeId| figures(tree, *id, is_inverted);
        let value = |id: &NodeId| cx.measure.shown(of(id));
        let name = |id: NodeId| tree.short_name(id, profile).into_owned();
        let zoom = self.view.zoom();
        let title = match (zoom == NodeId::ROOT, is_inverted) {
            (true, _) => "largest frames".to_owned(),
            (false, false) => format!("largest frames in {}", clean(&name(zoom))),
            (false, true) => format!("callers of {}", clean(&name(zoom))),
        };
        let own = if is_inverted {
            Heading::of(cx.measure)
        } else {
            Heading::own(cx.measure)
        };
        let rows = self
            .view
            .largest
            .frames
            .iter()
            .copied()
            .take(area.height.into())
            .collect();
        let mut frames = List::unselected(rows, 0);
        let selected = self.view.selected();
        let at = frames.rows.iter().position(|id| *id == selected);
        frames.cursor.selected = at.unwrap_or(usize::MAX);
        Table::new(cx)
            .share(Heading::SHARE, value, cx.whole())
            .figure(own, value)
            .figure(Heading::blocks_of(cx.measure), |id: &NodeId| {
                cx.measure.blocks(of(id)).0.value
            })
            .only_if(area.width >= 100)
            .left(title, 0, |id, _| (name(*id), theme::plain()))
            .shortened(fit_path)
            .left("in", 0, |id, _| {
                let around = tree.node(*id).parent.filter(|_| *id != zoom);
                (around.map_or_else(String::new, name), theme::dim())
            })
            .shortened(fit_path)
            .only_if(!is_inverted)
            .render(area, buffer, &frames, "nothing");
    }

    fn details(&self, layout: &Layout, area: Rect, buffer: &mut Buffer) {
        let selected = self.view.selected();
        let figures = self.figures(selected);
        let note = self.notes(layout);
        let place = self.place(selected);
        let full = self.tree.name(selected, &self.cx.data.profile);
        let name = clean(&full).into_owned();
        let style = theme::strong();
        let mut lines = Lines::new(area, buffer);
        match area.height {
            // One line: name and figures together.
            0 | 1 => lines.line(&format!("{name}  {figures}"), style),
            2 => {
                lines.line(&name, style);
                let gap = if note.is_empty() { "" } else { "  " };
                lines.line(&format!("{figures}{gap}{note}"), theme::plain());
            }
            height => {
                // A long name takes up to two lines, but never those of the figures.
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

    /// Returns the figures of a frame and its comparison with the base.
    fn figures(&self, id: NodeId) -> String {
        let total = self.tree.total(id);
        let value = self.cx.measure.of(total);
        let (blocks, _) = self.cx.measure.blocks(total);
        let mut text = format!(
            "{}, {} of all",
            self.cx.measure.text(total),
            self.cx.share(value)
        );
        if self.view.zoom() != NodeId::ROOT {
            let zoomed = self.cx.whole_of(self.tree.total(self.view.zoom()));
            text.push_str(&format!(", {} of zoom", Share::of(value, zoomed)));
        }
        if self.cx.measure.is_bytes() {
            text.push_str(&format!(", {}", blocks.of("block")));
        }
        let own = self.cx.measure.of(self.tree.own(id));
        if own > 0 && own != value {
            let own = self.cx.measure.text(self.tree.own(id));
            text.push_str(&format!(", self {own}"));
        }
        if let Some(before) = self.view.before.value(id) {
            let difference = self.difference(id).unwrap_or_default();
            text.push_str(&match (before, difference) {
                (0, _) => ", not in the base".to_owned(),
                (_, 0) => ", same as in the base".to_owned(),
                (before, difference) => format!(
                    ", base {}: {}",
                    self.cx.measure.amount(before),
                    self.cx.measure.difference(difference)
                ),
            });
        }
        let node = self.tree.node(id);
        if node.frames > 1 {
            let frames = counted(node.frames.into(), "frame");
            text.push_str(&format!(", stands for {frames}"));
        }
        if node.recursion > 1 {
            text.push_str(&format!(", recursion up to {} deep", node.recursion));
        }
        text
    }

    /// Returns crate and source of the selected frame.
    fn place(&self, id: NodeId) -> String {
        // Fields and types have no crate.
        let Some(function) = self
            .function(id)
            .filter(|function| !function.krate.is_empty())
        else {
            return String::new();
        };
        let whose = match function.origin {
            Origin::User => "yours",
            Origin::Dependency => "dependency",
            Origin::Std => "std",
            Origin::Native => "native",
            _ => "unresolved",
        };
        let node = self.tree.node(id);
        let source = node.frame.and_then(|frame| self.cx.data.short_place(frame));
        let mut text = format!("{} ({whose})", clean(&function.krate));
        if let Some(source) = source.filter(|source| !source.is_empty()) {
            text.push_str(&format!(", {}", clean(&source)));
            if node.several_places {
                text.push_str(" and other lines");
            }
        }
        text
    }

    /// Returns notes about matches and about frames that are not drawn.
    fn notes(&self, layout: &Layout) -> String {
        let mut parts = Vec::new();
        if let Some(highlight) = &self.view.highlight {
            let what = match highlight {
                Highlight::Pattern(pattern) => pattern.label(),
                Highlight::Symbol(_) => "same symbol".to_owned(),
            };
            let found = if self.view.found.is_wanted() {
                "searching".to_owned()
            } else {
                self.view.matches.summary("frame", self.cx)
            };
            parts.push(format!("{what}: {found}"));
        }
        let (frames, value) = layout.elided();
        if frames > 0 {
            let (frames, value) = (counted(frames, "frame"), self.cx.measure.amount(value));
            parts.push(format!("{frames} too narrow to draw ({value})"));
        }
        if layout.deeper {
            parts.push("▼ more rows below".to_owned());
        }
        parts.join(" · ")
    }
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
