//! Draws the tree of fields, and the details of the selected field with the meaning of its marks.

use heapglass_profiler::diff::Identity;
use heapglass_profiler::fields::Field;
use heapglass_profiler::profile::{Number, ScopeKind};
use heapglass_profiler::table::{By, Heading, InPlace};
use heapglass_profiler::units::{Bytes, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Context, FieldTree};
use crate::model::Data;
use crate::text::{fit_branch, fit_types};
use crate::theme;
use crate::views::View;
use crate::widgets::{
    Lines, List, Matches, Sort, Table, TreeRow, all_figures, amount, below, bytes, signed, split,
    values_inline, write,
};

/// Returns the areas of breadcrumb, tree and details. Empty areas are not drawn.
pub(super) fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 3] {
    let breadcrumb = u16::from(area.height >= 4);
    let details = match area.height {
        _ if cx.is_zoomed => 0,
        0..10 => 0,
        10..16 => 3,
        16..24 => 7,
        _ => 9,
    };
    let tree = area.height - breadcrumb - details;
    split(area, [breadcrumb, tree, details])
}

pub(super) fn render(view: &FieldTree, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    if cx.data.profile.fields().is_empty() {
        return absent(cx.data, area, buffer);
    }
    let [top, body, details_area] = panes(cx, area);
    write(buffer, top, &breadcrumb(view, cx), theme::heading());
    if let Some(parts) = &view.inside {
        return parts.render(cx, below(area, top.height), buffer);
    }
    let list = shown(view, cx);
    let table = table(view.sort, cx, Some(&view.search.matches));
    table.render(body, buffer, &list, "");
    if let Some(field) = view.tree.selected().and_then(|node| cx.data.field(node)) {
        details(view, field, cx, details_area, buffer);
    }
}

/// Draws instructions for recording fields.
fn absent(data: &Data, area: Rect, buffer: &mut Buffer) {
    let mut lines = Lines::new(area, buffer);
    let text =
        "no fields were recorded; deserialize as Profiled<T> (tracking-alloc, feature \"serde\"):";
    lines.line(text, theme::plain());
    let text = "    let value = serde_json::from_slice::<tracking_alloc::Profiled<T>>(&bytes)?.0;";
    lines.line(text, theme::key());
    let mut rows = data.profile.type_rows().iter();
    if rows.any(|row| row.type_id.is_some()) {
        lines.line("", theme::plain());
        lines.line(
            "Types are known from stacks; press 3 to show them.",
            theme::dim(),
        );
    }
}

fn breadcrumb(view: &FieldTree, cx: &Context<'_>) -> String {
    if let Some(parts) = &view.inside {
        return format!(
            "fields › {} and inner fields › by type, Enter: sites",
            parts.of
        );
    }
    if let Some(found) = view.found(cx) {
        return format!("fields › {found}");
    }
    let nodes = cx.data.profile.fields().nodes();
    let roots = nodes
        .iter()
        .skip(1)
        .filter(|field| field.parent == 0 && field.chunks_of.is_none());
    format!(
        "{}, covering {} of all",
        counted(cx.data.profile.fields().places() as u64, "field"),
        cx.share(cx.sum(roots.map(|field| &field.with_inner)))
    )
}

/// A visible field.
pub(super) type Line<'a> = (TreeRow, &'a Field);

/// Returns the rows of the table.
pub(super) fn shown<'a>(view: &FieldTree, cx: &'a Context<'_>) -> List<Line<'a>> {
    let tree = &view.tree.list;
    tree.filter_map(|row| Some((*row, cx.data.field(row.node)?)))
}

/// Returns the table of fields, with matches marked.
pub(super) fn table<'a>(
    sort: Sort,
    cx: &'a Context<'_>,
    found: Option<&'a Matches>,
) -> Table<'a, Line<'a>> {
    let (width, measure) = (cx.body.width, cx.measure);
    let value = |(_, field): &Line<'a>| cx.measure.shown(&field.with_inner);
    let own = |(_, field): &Line<'a>| cx.measure.shown(&field.own);
    let has_arenas = !cx.data.profile.arenas().is_empty();
    let is_found = move |row: &TreeRow| found.is_some_and(|found| found.contains(row.node));
    Table::sorted(cx, sort)
        .share(Heading::SHARE, value, cx.whole())
        .bars(12, value, cx.whole())
        .only_if(width >= 100)
        .figure(Heading::inclusive(measure), value)
        .some(Heading::own(measure), own)
        .some(Heading::IN_ARENAS, |(_, field)| field.bytes_in_arenas())
        .only_if(width >= 70 && has_arenas)
        .change(By::Field, Heading::OWN_CHANGE, |(_, field)| {
            Some(Identity::named(&field.path))
        })
        .some(Heading::VALUES, |(_, field)| field.values)
        .only_if(width >= 60)
        .right(Heading::STAYED, |(_, field)| {
            stayed(field).unwrap_or_default()
        })
        .only_if(width >= 100)
        .left("field", 0, move |(row, field), cells| {
            let style = if is_found(row) {
                theme::key()
            } else {
                step_style(field)
            };
            (label(field, *row, is_found(row), cells), style)
        })
        .shortened(fit_branch)
        .in_given_order("order of the recording")
        .left("type", 0, |(_, field), _| {
            let style = theme::kind(cx.data.type_kind(field.value_type));
            let name = field.value_type.map(|id| cx.data.type_label(Some(id)));
            (name.unwrap_or_default().into_owned(), style)
        })
        .shortened_together(fit_types)
        .only_if(width >= 70)
}

/// Returns the bytes that stayed of each value of a root: net bytes, known only for roots.
fn stayed(field: &Field) -> Option<String> {
    field.stayed_of_each().map(|value| match value {
        0.. => bytes(value.unsigned_abs()),
        _ => signed(value),
    })
}

/// Returns the step with its branch and marks: `▾ .crew ↻`.
fn label(field: &Field, row: TreeRow, is_found: bool, cells: usize) -> String {
    // In a narrow column, depth and marks take fewer cells.
    let is_narrow = cells < 30;
    let mut text = row.branch(is_narrow);
    text.push_str(&field.step);
    if field.recursive {
        text.push_str(if is_narrow { " ↻" } else { " (recursive)" });
    }
    if field.folded {
        text.push_str(" (folded)");
    }
    if is_found {
        text.push_str(" ◆");
    }
    text
}

fn step_style(field: &Field) -> Style {
    match field.kind {
        ScopeKind::Phase | ScopeKind::Other => theme::dim(),
        ScopeKind::Buffered | ScopeKind::FromBuffer => theme::warning(),
        ScopeKind::Root => theme::strong(),
        _ => theme::plain(),
    }
}

/// Draws the selected field: path, type, every figure as self and inclusive, and the meaning of its
/// marks.
fn details(view: &FieldTree, field: &Field, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let name = cx.data.typed_path(&field.path, field.value_type);
    let most = if area.height > 7 { 2 } else { 1 };
    let name = (name.as_str(), most, theme::strong());
    let title = view.tree.list.place("field");
    let mut lines = Lines::details(area, buffer, &title, name);
    // The roots are attached to "(no field)", but are not inside it.
    let is_leaf = field.children.is_empty() || field.kind == ScopeKind::Phase;
    let inclusive = ("inclusive", &field.with_inner);
    let both = [
        Some(inclusive).filter(|_| !is_leaf),
        Some(("self", &field.own)),
    ];
    for (what, figures) in both.into_iter().flatten() {
        let mut items = all_figures(cx.measure, figures);
        if let Some(first) = items.first_mut() {
            *first = format!("{what} {first}");
        }
        if !is_leaf {
            items.truncate(4);
        }
        lines.flow(&items, theme::plain());
    }
    lines.flow(&known(field), theme::dim());
    for note in notes(field) {
        lines.line(note, theme::warning());
    }
}

fn known(field: &Field) -> Vec<String> {
    let mut items = Vec::new();
    if field.values > 0 {
        items.push(values_inline(field.values, field.inline_bytes));
        let per = field.with_inner.total_bytes / field.values;
        items.push(format!("{} allocated per value", Bytes(per)));
    }
    if let Some(stayed) = stayed(field) {
        let each = if field.values > 1 { " of each" } else { "" };
        items.push(format!("{stayed} stayed{each}"));
    }
    items.extend(InPlace::of(field).and_then(|in_place| in_place.text()));
    let inside = field.in_arenas_with_inner;
    if inside.total_bytes > 0 {
        let blocks = Number::exact(inside.total_blocks);
        items.push(amount("in arenas", inside.total_bytes, blocks));
    }
    if inside.bypassed_bytes > 0 {
        let bypassed = Bytes(inside.bypassed_bytes);
        items.push(format!("{bypassed} in arenas bypassed their handles"));
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

/// Returns the meaning of a field's marks.
fn notes(field: &Field) -> Vec<&'static str> {
    let mut notes = Vec::new();
    match field.kind {
        ScopeKind::Buffered => {
            notes.push("serde buffers here: flatten, an untagged or an internally tagged enum");
        }
        ScopeKind::FromBuffer => {
            notes.push("built from the buffer, including failed variants; Enter shows the types");
        }
        ScopeKind::Other => notes.push("fields whose names did not fit into the recording"),
        _ => {}
    }
    if field.chunks_of.is_some() {
        notes
            .push("the blocks of arenas, which hold values of many fields; 7 shows what is inside");
    }
    if !field.mixed_with_chunks_of.is_empty() {
        notes.push("includes chunks of arenas, which hold other fields too");
    }
    if field.recursive {
        notes.push("recursive: values nested in such values are counted here too");
    }
    if field.folded {
        notes.push("folded: inner fields were too deep or did not fit; they are counted here");
    }
    notes
}
