//! Fields: the places in the data that was deserialized as `Profiled<T>`, as a tree to open and close. Enter leads from
//! a field to its types and on to their sites. Rows are made when something changes, never while drawing.

mod render;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;

use heapglass_profiler::profile::{Figures, TypeId};
use heapglass_profiler::report::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{
    Command, Context, Data, FieldKey, Jump, Outcome, Pattern, ViewId, Within, inside,
};
use crate::text::clean;
use crate::theme;
use crate::views::View;
use crate::views::breakdown::{Breakdown, Part};
use crate::widgets::Cursor;
use tree::{Found, Row, Sort};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "types, sites", "its types, then sites";
    BACK => Back, "out", "out, then end the search";
    RIGHT => Right, "open", "open, then into it";
    LEFT => Left, "close", "close, then to its parent";
    [char('o')] => Follow, "flamegraph", "in the flamegraph by field";
    [char('e')] => OpenAll, "all", "open or close everything";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('/')] => Search, "search", "by field or type, regex";
    [char('n')] => NextMatch, "", "next match";
    [char('N')] => PreviousMatch, "", "previous match";
};

/// The tree's visible rows, which branches are open, and what is open inside a field.
#[derive(Debug, Default)]
pub(crate) struct FieldTree {
    rows: Vec<Row>,
    /// The data the rows were made of.
    made_of: Option<Arc<Data>>,
    cursor: Cursor,
    sort: Sort,
    /// Fields opened or closed by hand, and which of the two.
    turned: HashMap<u32, bool>,
    /// What `e` said of all others.
    all: Option<bool>,
    pattern: Option<Pattern>,
    found: Found,
    /// The types of one field.
    inside: Option<(FieldKey, Breakdown)>,
}

impl FieldTree {
    fn selected(&self) -> Option<u32> {
        self.rows.get(self.cursor.selected).map(|row| row.node)
    }

    fn is_open(&self, data: &Data, node: u32) -> bool {
        let turned = self.turned.get(&node).copied().or(self.all);
        turned.unwrap_or_else(|| tree::is_open(data, node))
    }

    /// Makes the rows again; the same field stays selected, or the nearest around it that still shows.
    fn list(&mut self, cx: &Context<'_>, select: Option<u32>) {
        let rows = tree::rows(cx, self.sort, &|node| self.is_open(cx.data, node));
        self.rows = rows;
        let mut wanted = select;
        let mut at = None;
        while at.is_none()
            && let Some(node) = wanted
        {
            at = self.rows.iter().position(|row| row.node == node);
            let parent = cx.data.field(node).map(|field| field.parent);
            wanted = parent.filter(|parent| *parent < node);
        }
        self.cursor.selected = at.unwrap_or(0);
        self.cursor.clamp(self.rows.len(), render::rows(cx));
    }

    fn turn(&mut self, cx: &Context<'_>, node: u32, open: bool) {
        self.turned.insert(node, open);
        self.list(cx, Some(node));
    }

    /// `l` and `h`: open, then go in; close, then go out.
    fn sideways(&mut self, cx: &Context<'_>, right: bool) {
        let Some(row) = self.rows.get(self.cursor.selected).copied() else {
            return;
        };
        match (row.open, right) {
            (Some(false), true) => self.turn(cx, row.node, true),
            (Some(true), false) => self.turn(cx, row.node, false),
            (Some(true), true) => self.cursor.selected += 1,
            (None, true) => {}
            (_, false) => {
                let around = self.rows.iter().take(self.cursor.selected);
                let parent = around.clone().rposition(|above| above.depth < row.depth);
                self.cursor.selected = parent.unwrap_or(self.cursor.selected);
            }
        }
        self.cursor.clamp(self.rows.len(), render::rows(cx));
    }

    /// Opens everything; closes everything when nothing is closed.
    fn turn_all(&mut self, cx: &Context<'_>) {
        let open = self.rows.iter().any(|row| row.open == Some(false));
        self.turned.clear();
        self.all = Some(open);
        self.list(cx, self.selected());
    }

    /// Goes to the next field found, opening what is around it.
    fn step_match(&mut self, forward: bool, cx: &Context<'_>) -> Outcome {
        if self.pattern.is_none() {
            return Outcome::Notice("nothing is searched for: / searches".to_owned());
        }
        let Some(node) = self.found.step(forward) else {
            return Outcome::Notice("nothing found".to_owned());
        };
        let mut at = node;
        while let Some(field) = cx.data.field(at)
            && field.parent < at
        {
            at = field.parent;
            if !self.is_open(cx.data, at) {
                self.turned.insert(at, true);
            }
        }
        self.list(cx, Some(node));
        Outcome::Done
    }

    /// Opens the types of a field; closes what is open when it is not there.
    fn open(&mut self, key: FieldKey, cx: &Context<'_>) {
        let before = self.inside.take().map(|(_, before)| before);
        if let Some(node) = key.find(cx.data) {
            let mut parts = types_of(cx.data, node);
            parts.settle(before.as_ref(), cx);
            self.inside = Some((key, parts));
        }
    }

    fn back(&mut self) -> Outcome {
        if self.inside.take().is_some() {
        } else if self.pattern.take().is_some() {
            self.found = Found::default();
        } else {
            return Outcome::Out;
        }
        Outcome::Done
    }

    fn act(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Back || (command == Command::Left && self.inside.is_some()) {
            return self.back();
        }
        if let Some((_, parts)) = &mut self.inside {
            let command = match command {
                Command::Right => Command::Enter,
                other => other,
            };
            return parts.command(command, cx).unwrap_or(Outcome::Done);
        }
        if self
            .cursor
            .command(command, self.rows.len(), render::rows(cx))
        {
            return Outcome::Done;
        }
        match command {
            Command::Enter => {
                let key = self.selected().and_then(|node| FieldKey::of(cx.data, node));
                match key.filter(|_| !cx.data.profile.fields().is_empty()) {
                    Some(key) => self.open(key, cx),
                    None => return Outcome::Notice("no field is selected".to_owned()),
                }
            }
            Command::Left => self.sideways(cx, false),
            Command::Right => self.sideways(cx, true),
            Command::OpenAll => self.turn_all(cx),
            Command::Sort => {
                self.sort = self.sort.next();
                self.list(cx, self.selected());
                return Outcome::Notice(format!("sorted by {}", self.sort.name(cx.measure)));
            }
            Command::Follow => {
                let node = self
                    .selected()
                    .filter(|_| !cx.data.profile.fields().is_empty());
                return match Within::new(cx.data, None, node, true) {
                    Some(within) => Outcome::Goto(ViewId::Flamegraph, Jump::Within(within)),
                    None => Outcome::Notice("no field is selected".to_owned()),
                };
            }
            Command::NextMatch => return self.step_match(true, cx),
            Command::PreviousMatch => return self.step_match(false, cx),
            _ => {}
        }
        Outcome::Done
    }
}

/// A field and all inside it by the types of their blocks.
fn types_of(data: &Data, node: u32) -> Breakdown {
    let mut types: HashMap<Option<TypeId>, (Figures, u64)> = HashMap::new();
    for field in inside(data, node, true) {
        let sites = data.field(field).map(|field| field.sites.as_slice());
        let sites = sites.unwrap_or_default().iter();
        for site in sites.filter_map(|at| data.profile.sites.get(*at)) {
            let id = data.profile.type_id_of(site);
            let (figures, count) = types.entry(id).or_default();
            figures.add(&site.figures);
            *count += 1;
        }
    }
    let part = |(id, (figures, sites)): (Option<TypeId>, (Figures, u64))| Part {
        name: data.type_label(id).into_owned(),
        full: match data.type_name(id) {
            Some(name) => clean(&name.full).into_owned(),
            None => data.type_label(id).into_owned(),
        },
        style: theme::kind(data.type_kind(id)),
        figures,
        sites,
        within: Within::new(data, Some(id), Some(node), true),
    };
    let path = data.field(node).map_or("", |field| field.path.as_str());
    Breakdown::new(
        clean(path).into_owned(),
        "type",
        types.into_iter().map(part).collect(),
    )
}

impl View for FieldTree {
    fn refresh(&mut self, cx: &Context<'_>) {
        let before = self.made_of.replace(Arc::clone(cx.data));
        let mut kept = self.selected();
        // In other data a field may have another number.
        if let Some(before) = before.filter(|data| !Arc::ptr_eq(data, cx.data)) {
            let moved = |node| FieldKey::of(&before, node)?.find(cx.data);
            let turned = std::mem::take(&mut self.turned).into_iter();
            self.turned = turned
                .filter_map(|(node, open)| Some((moved(node)?, open)))
                .collect();
            kept = kept.and_then(moved);
        }
        // Who never moved stays at the largest.
        let kept = kept.filter(|_| self.cursor.selected > 0);
        self.list(cx, kept);
        let before = std::mem::take(&mut self.found);
        self.search(self.pattern.clone(), cx);
        self.found.stay_at(&before);
        if let Some((key, _)) = &self.inside {
            self.open(key.clone(), cx);
        }
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        self.act(command, cx)
    }

    fn rows_by(&self) -> Option<By> {
        self.inside.is_none().then_some(By::Field)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }

    fn search_label(&self) -> Option<&'static str> {
        self.inside.is_none().then_some("search")
    }

    fn pattern(&self) -> Option<Pattern> {
        self.pattern.clone()
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.found = pattern
            .as_ref()
            .map(|pattern| Found::new(cx, pattern))
            .unwrap_or_default();
        self.pattern = pattern;
    }
}
