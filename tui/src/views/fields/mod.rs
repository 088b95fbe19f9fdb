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
    Command, Context, Data, FieldKey, Jump, Outcome, Pattern, Selection, ViewId, inside,
};
use crate::text::clean;
use crate::theme;
use crate::views::View;
use crate::views::breakdown::{Breakdown, Part};
use crate::widgets::{Matches, Sort, Tree};
use tree::Fields;

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

/// The tree, a search in it, and what is open inside a field.
#[derive(Debug, Default)]
pub(crate) struct FieldTree {
    tree: Tree,
    /// The data the tree was made of.
    made_of: Option<Arc<Data>>,
    sort: Sort,
    pattern: Option<Pattern>,
    found: Matches,
    /// The types of one field.
    inside: Option<(FieldKey, Breakdown)>,
}

impl FieldTree {
    /// The selected field; `None` where there are no fields.
    fn selected(&self, cx: &Context<'_>) -> Option<u32> {
        let has_fields = !cx.data.profile.fields().is_empty();
        self.tree.selected().filter(|_| has_fields)
    }

    fn shape<'a>(&self, cx: &'a Context<'_>) -> Fields<'a> {
        Fields::new(cx, self.sort)
    }

    /// Goes to the next field found, opening what is around it.
    fn step_match(&mut self, forward: bool, cx: &Context<'_>) -> Outcome {
        if self.pattern.is_none() {
            return Outcome::notice("nothing is searched for: / searches");
        }
        let Some(node) = self.found.step(forward) else {
            return Outcome::notice("nothing found");
        };
        let shape = self.shape(cx);
        self.tree.reveal(&shape, node);
        Outcome::Done
    }

    /// Opens the types of a field; closes what is open when it is not there.
    fn open(&mut self, key: FieldKey, cx: &Context<'_>) {
        let before = self.inside.take().map(|(_, before)| before);
        if let Some(node) = key.find(cx.data) {
            let mut breakdown = before.unwrap_or_default();
            let path = cx.data.field(node).map_or("", |field| field.path.as_str());
            let of = (clean(path).into_owned(), "type");
            breakdown.refresh(of, types_of(cx.data, node), cx);
            self.inside = Some((key, breakdown));
        }
    }

    fn back(&mut self) -> Outcome {
        if self.inside.take().is_some() {
        } else if self.pattern.take().is_some() {
            self.found = Matches::default();
        } else {
            return Outcome::Out;
        }
        Outcome::Done
    }
}

/// The types of the blocks of a field and of all inside it.
fn types_of(data: &Data, node: u32) -> Vec<Part> {
    let mut types: HashMap<Option<TypeId>, (Figures, u64)> = HashMap::new();
    let fields = inside(data, node, true).into_iter();
    for field in fields.filter_map(|node| data.field(node)) {
        let sites = field.sites.iter();
        for site in sites.filter_map(|at| data.profile.sites.get(*at)) {
            let id = data.profile.type_id_of(site);
            let (figures, count) = types.entry(id).or_default();
            figures.add(&site.figures);
            *count += 1;
        }
    }
    let part = |(id, (figures, sites)): (Option<TypeId>, (Figures, u64))| {
        let name = data.type_label(id).into_owned();
        let full = data.type_name(id).map(|name| clean(&name.full));
        Part {
            full: full.map_or_else(|| name.clone(), |full| full.into_owned()),
            name,
            style: theme::kind(data.type_kind(id)),
            figures,
            sites,
            selection: Selection::new(data, Some(id), Some(node), true),
        }
    };
    types.into_iter().map(part).collect()
}

impl View for FieldTree {
    fn refresh(&mut self, cx: &Context<'_>) {
        let before = self.made_of.replace(Arc::clone(cx.data));
        let mut kept = self.tree.selected();
        // In other data a field may have another number.
        if let Some(before) = before.filter(|data| !Arc::ptr_eq(data, cx.data)) {
            let moved = |node| FieldKey::of(&before, node)?.find(cx.data);
            self.tree.renumber(moved);
            kept = kept.and_then(moved);
        }
        // Who never moved stays at the largest.
        let kept = kept.filter(|_| self.tree.list.cursor.selected > 0);
        let shape = self.shape(cx);
        self.tree.list.height = render::height(cx);
        self.tree.refresh(&shape, kept);
        let before = std::mem::take(&mut self.found);
        self.search(self.pattern.clone(), cx);
        self.found.stay_at(&before);
        if let Some((key, _)) = &self.inside {
            self.open(key.clone(), cx);
        }
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Back || (command == Command::Left && self.inside.is_some()) {
            return self.back();
        }
        if let Some((_, parts)) = &mut self.inside {
            let command = match command {
                Command::Right => Command::Enter,
                other => other,
            };
            return parts.command(command).unwrap_or(Outcome::Done);
        }
        if self.tree.command(command, &self.shape(cx)) {
            return Outcome::Done;
        }
        let table = render::table(self.sort, cx, None);
        if let Some(outcome) = table.command(command, &mut self.sort) {
            let (shape, selected) = (self.shape(cx), self.tree.selected());
            self.tree.refresh(&shape, selected);
            return outcome;
        }
        match command {
            Command::Enter => {
                let node = self.selected(cx);
                match node.and_then(|node| FieldKey::of(cx.data, node)) {
                    Some(key) => self.open(key, cx),
                    None => return Outcome::notice("no field is selected"),
                }
            }
            Command::Follow => {
                let selection = Selection::new(cx.data, None, self.selected(cx), true);
                let jump = selection.map(Jump::Selection);
                return Outcome::goto(ViewId::Flamegraph, jump, "no field is selected");
            }
            Command::NextMatch => return self.step_match(true, cx),
            Command::PreviousMatch => return self.step_match(false, cx),
            _ => {}
        }
        Outcome::Done
    }

    fn rows_by(&self) -> Option<By> {
        self.inside.is_none().then_some(By::Field)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let is_at_tree = self.inside.is_none();
        is_at_tree.then(|| ("search", self.pattern.clone()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        let found = pattern.as_ref().map(|pattern| tree::find(cx, pattern));
        self.found = found.unwrap_or_default();
        self.pattern = pattern;
    }
}
