//! Draws the tree of fields, and the selected field in full: what it is, what was counted, what its marks mean.

use heapglass_profiler::diff::Identity;
use heapglass_profiler::fields::Field;
use heapglass_profiler::profile::ScopeKind;
use heapglass_profiler::report::By;
use heapglass_profiler::units::{Bytes, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::tree::{Row, Sort};
use super::{Context, FieldTree};
use crate::model::Data;
use crate::text::{clean, fit_end, type_cell, wrap};
use crate::theme;
use crate::widgets::{Table, all_figures, bytes, count, flow, rule, signed, slice, some, write};

/// Where things are. Empty panes are not drawn.
struct Panes {
    breadcrumb: Rect,
    table: Rect,
    details: Rect,
}

fn panes(area: Rect) -> Panes {
    let breadcrumb = u16::from(area.height >= 4);
    let details = match area.height {
        0..10 => 0,
        10..16 => 3,
        16..24 => 7,
        _ => 9,
    };
    let table = area.height - breadcrumb - details;
    Panes {
        breadcrumb: slice(area, 0, breadcrumb),
        table: slice(area, breadcrumb, table),
        details: slice(area, breadcrumb + table, details),
    }
}

/// Rows of the tree on the present screen, without its heading.
pub(super) fn rows(cx: &Context<'_>) -> usize {
    let area = Rect::from((ratatui::layout::Position::ORIGIN, cx.body));
    panes(area).table.height.saturating_sub(1) as usize
}

pub(super) fn render(view: &FieldTree, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    if cx.data.profile.fields().is_empty() {
        return absent(cx.data, area, buffer);
    }
    let panes = panes(area);
    let text = breadcrumb(view, cx);
    write(buffer, panes.breadcrumb, &text, theme::heading());
    if let Some((_, parts)) = &view.inside {
        let used = panes.breadcrumb.height;
        return parts.render(cx, slice(area, used, area.height - used), buffer);
    }
    tree(view, cx, panes.table, buffer);
    if let Some(field) = view.selected().and_then(|node| cx.data.field(node)) {
        details(view, field, cx, panes.details, buffer);
    }
}

/// How to get fields.
fn absent(data: &Data, area: Rect, buffer: &mut Buffer) {
    let lines = [
        "no fields were recorded: nothing was deserialized as Profiled<T> (tracking-alloc, feature \"serde\"):",
        "    let value = serde_json::from_slice::<tracking_alloc::Profiled<T>>(&bytes)?.0;",
    ];
    for (at, line) in (0..).zip(lines) {
        let style = if at == 0 {
            theme::plain()
        } else {
            theme::key()
        };
        write(buffer, slice(area, at, 1), line, style);
    }
    if data
        .profile
        .type_rows()
        .iter()
        .any(|row| row.type_id.is_some())
    {
        let line = "Types (3) are known from stacks all the same.";
        write(buffer, slice(area, 3, 1), line, theme::dim());
    }
}

fn breadcrumb(view: &FieldTree, cx: &Context<'_>) -> String {
    if let Some((_, parts)) = &view.inside {
        return format!(
            "fields › {} and inside › by type, Enter: its sites",
            parts.of
        );
    }
    if let Some(pattern) = &view.pattern {
        let position = view.found.position();
        let position = position.map(|at| format!("{at} of ")).unwrap_or_default();
        return format!(
            "fields › /{}/: {position}{} (n N), {} of all",
            clean(&pattern.text),
            counted(view.found.len() as u64, "field"),
            Share::of(view.found.value, cx.whole())
        );
    }
    let nodes = &cx.data.profile.fields().nodes;
    let roots = nodes.iter().skip(1).filter(|field| field.parent == 0);
    let value = roots
        .map(|field| cx.measure.of(&field.with_inner))
        .fold(0, u64::saturating_add);
    format!(
        "{}, {} of all is in them",
        counted(nodes.len() as u64 - 1, "field"),
        Share::of(value, cx.whole())
    )
}

fn tree(view: &FieldTree, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 100;
    let sorted = |sort: Sort, title: &str| {
        let mark = if view.sort == sort { "▼" } else { "" };
        format!("{title}{mark}")
    };
    type Line<'a> = (Row, &'a Field);
    let value = |line: &Line<'_>| cx.measure.of(&line.1.with_inner);
    let mut table = Table::new().right("share", 7, |line| {
        Share::of(value(line), cx.whole()).to_string()
    });
    if wide {
        table = table.bars(12, |line| (value(line), cx.whole()));
    }
    table = table
        .right(sorted(Sort::WithInner, "with inner"), 11, |line| {
            cx.measure.amount(value(line))
        })
        .right(sorted(Sort::Own, "own"), 10, |line| {
            some(cx.measure.of(&line.1.own), |own| cx.measure.amount(own))
        })
        .change(cx, By::Field, "own change", |line: &Line<'_>| {
            Some(Identity::named(&line.1.path))
        })
        .right_if(
            area.width >= 60,
            sorted(Sort::Values, "values"),
            9,
            |line| some(line.1.values, count),
        )
        .right_if(wide, "retained", 10, |line| {
            retained(line.1).unwrap_or_default()
        })
        .left(sorted(Sort::Recorded, "field"), 0, |(row, field), cells| {
            (
                label(view, field, *row, cells),
                step_style(view, field, row.node),
            )
        });
    if area.width >= 70 {
        table = table.left("type", 0, |(_, field), cells| {
            let style = theme::kind(cx.data.type_kind(field.value_type));
            let name = field.value_type.map(|id| cx.data.type_label(Some(id)));
            (type_cell(&name.unwrap_or_default(), cells), style)
        });
    }
    let rows = view.rows.iter();
    let rows = rows.filter_map(|row| Some((*row, cx.data.field(row.node)?)));
    let rows: Vec<Line<'_>> = rows.collect();
    let selection = (view.cursor, theme::selected());
    table.render(area, buffer, rows.into_iter(), selection, "");
}

/// What stays of a root when deserializing ends: net bytes, known for roots alone.
fn retained(field: &Field) -> Option<String> {
    let known = field.retained_bytes;
    known
        .filter(|_| field.kind == ScopeKind::Root)
        .map(|value| match value {
            0.. => bytes(value.unsigned_abs()),
            _ => signed(i128::from(value)),
        })
}

/// The step with its branch and its marks: `▾ .crew ↻`, deep ones cut at the left.
fn label(view: &FieldTree, field: &Field, row: Row, cells: usize) -> String {
    let branch = match row.open {
        Some(true) => "▾ ",
        Some(false) => "▸ ",
        None => "  ",
    };
    // Where there is little room, depth and marks take less of it.
    let narrow = cells < 30;
    let mut text = if narrow { " " } else { "  " }.repeat(usize::from(row.depth));
    text.push_str(branch);
    text.push_str(&clean(&field.step));
    if field.recursive {
        text.push_str(if narrow { " ↻" } else { " (recursive)" });
    }
    if field.folded {
        text.push_str(" (folded)");
    }
    if view.found.contains(row.node) {
        text.push_str(" ◆");
    }
    fit_end(&text, cells).into_owned()
}

fn step_style(view: &FieldTree, field: &Field, node: u32) -> Style {
    if view.found.contains(node) {
        return theme::key();
    }
    match field.kind {
        ScopeKind::Phase | ScopeKind::Other => theme::dim(),
        ScopeKind::Buffered | ScopeKind::FromBuffer => theme::warning(),
        ScopeKind::Root => theme::strong(),
        _ => theme::plain(),
    }
}

/// The selected field: its whole path and type, every figure alone and with what is inside, what its marks mean.
fn details(view: &FieldTree, field: &Field, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let text = format!("field {} of {}", view.cursor.selected + 1, view.rows.len());
    rule(buffer, area, &text);
    let mut name = clean(&field.path).into_owned();
    if let Some(known) = cx.data.type_name(field.value_type) {
        name.push_str(&format!(": {}", clean(&known.full)));
    }
    let lines = wrap(
        &name,
        area.width as usize,
        if area.height > 7 { 2 } else { 1 },
    );
    for (at, line) in (1..).zip(&lines) {
        write(buffer, slice(area, at, 1), line, theme::strong());
    }
    let mut at = 1 + lines.len() as u16;
    let below = |at: u16| slice(area, at, area.height.saturating_sub(at));
    // The roots hang at "(no field)", but are not inside it.
    let leaf = field.children.is_empty() || field.kind == ScopeKind::Phase;
    let figures = |what: &str, figures: &_| {
        let mut items = all_figures(figures);
        if let Some(first) = items.first_mut() {
            *first = format!("{what}: {first}");
        }
        items
    };
    if !leaf {
        let items = figures("with inner", &field.with_inner);
        at += flow(
            buffer,
            below(at),
            items.get(..4).unwrap_or(&items),
            theme::plain(),
        );
    }
    let items = figures("own", &field.own);
    let items = if leaf {
        &items
    } else {
        items.get(..4).unwrap_or(&items)
    };
    at += flow(buffer, below(at), items, theme::plain());
    at += flow(buffer, below(at), &known(field), theme::dim());
    for note in notes(field) {
        write(buffer, below(at), note, theme::warning());
        at += 1;
    }
}

fn known(field: &Field) -> Vec<String> {
    let mut items = Vec::new();
    if field.values > 0 {
        items.push(format!(
            "{}, {} inline",
            counted(field.values, "value"),
            Bytes(field.inline_bytes)
        ));
        let per = field.with_inner.total_bytes / field.values;
        items.push(format!("{} allocated for each", Bytes(per)));
    }
    if let Some(retained) = retained(field) {
        items.push(format!("retained {retained}"));
    }
    let sites = field.sites.len() as u64;
    items.push(format!("{} of its own", counted(sites, "site")));
    if field.scopes.len() > 1 {
        items.push(format!(
            "under {}",
            counted(field.scopes.len() as u64, "phase")
        ));
    }
    items
}

/// What the marks of a field mean.
fn notes(field: &Field) -> Vec<&'static str> {
    let mut notes = Vec::new();
    match field.kind {
        ScopeKind::Buffered => {
            notes.push("serde buffers here: flatten, an untagged or an internally tagged enum");
        }
        ScopeKind::FromBuffer => {
            notes.push("built from the buffer, failed variants included; Enter tells the types");
        }
        ScopeKind::Other => notes.push("names that found no room of their own"),
        _ => {}
    }
    if field.recursive {
        notes.push("recursive: values inside values are counted here");
    }
    if field.folded {
        notes.push("folded: places inside lay too deep or found no room, and are counted here");
    }
    notes
}
