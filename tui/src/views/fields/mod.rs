//! Fields: a tree of the fields in data that was deserialized as `Profiled<T>`. Enter leads from a
//! field to its types and then to their sites. Rows are computed when something changes, never
//! while drawing.

mod render;
mod tree;

use std::sync::Arc;

use heapglass_profiler::table::By;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, FieldKey, Jump, Outcome, Pattern, Selection, ViewId};
use crate::views::View;
use crate::views::breakdown::Breakdown;
use crate::widgets::{Search, Sort, Tree, rows_in};
use tree::Fields;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "types, sites", "show types, then sites";
    BACK => Back, "out", "go out, end the search";
    RIGHT => Right, "open", "open, then go into it";
    LEFT => Left, "close", "close, then go out";
    [char('o')] => Follow, "flamegraph", "show in flamegraph";
    [char('e')] => OpenAll, "all", "open or close everything";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('/')] => Search, "search", "search by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The tree, its search, and the field that is open.
#[derive(Debug, Default)]
pub(crate) struct FieldTree {
    tree: Tree,
    /// The data that the tree was built from.
    made_of: Option<Arc<Data>>,
    sort: Sort,
    search: Search,
    /// The types of one field.
    inside: Option<Breakdown>,
}

impl FieldTree {
    /// Selects the blocks of the selected field and its inner fields; `None` if there are no
    /// fields.
    fn selection(&self, data: &Data) -> Option<Selection> {
        let has_fields = !data.profile.fields().is_empty();
        let node = self.tree.selected().filter(|_| has_fields);
        Selection::new(data, None, node, true)
    }

    fn shape<'a>(&self, cx: &'a Context<'_>) -> Fields<'a> {
        Fields::new(cx, self.sort)
    }

    fn back(&mut self) -> Outcome {
        if self.inside.take().is_some() || self.search.end() {
            Outcome::Done
        } else {
            Outcome::Out
        }
    }
}

impl View for FieldTree {
    fn refresh(&mut self, cx: &Context<'_>) {
        let before = self.made_of.replace(Arc::clone(cx.data));
        let mut kept = self.tree.selected();
        // A field may have another number in other data.
        if let Some(before) = before.filter(|data| !Arc::ptr_eq(data, cx.data)) {
            let moved = |node| FieldKey::of(&before, node)?.find(cx.data);
            self.tree.renumber(moved);
            kept = kept.and_then(moved);
        }
        // Select the largest field until the user moves.
        let kept = kept.filter(|_| self.tree.list.cursor.selected > 0);
        let shape = self.shape(cx);
        let [_, tree, _] = render::panes(cx, cx.area());
        self.tree.list.height = rows_in(tree);
        self.tree.refresh(&shape, kept);
        self.search.mark(|pattern| tree::find(cx, pattern));
        self.inside.take_if(|inside| !inside.refresh(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Back || (command == Command::Left && self.inside.is_some()) {
            return self.back();
        }
        if let Some(parts) = &mut self.inside {
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
        let reveal = |node| self.tree.reveal(&Fields::new(cx, self.sort), node);
        if let Some(outcome) = self.search.step_node(command, reveal) {
            return outcome;
        }
        match command {
            Command::Enter => match self.selection(cx.data) {
                Some(selection) => self.inside = Breakdown::open(selection, cx),
                None => return Outcome::notice("no field is selected"),
            },
            Command::Follow => {
                let jump = self.selection(cx.data).map(Jump::Selection);
                return Outcome::goto(ViewId::Flamegraph, jump, "no field is selected");
            }
            _ => {}
        }
        Outcome::Done
    }

    fn rows_by(&self) -> Option<By> {
        self.inside.is_none().then_some(By::Field)
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        if let Some(parts) = &mut self.inside {
            return parts.select_at(at, cx);
        }
        let [_, tree, _] = render::panes(cx, cx.area());
        self.tree.list.select_at(at, tree)
    }

    fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        let [_, tree, _] = render::panes(cx, cx.area());
        let table = render::table(self.sort, cx, None);
        let column = table.heading_at(at, tree, &render::shown(self, cx));
        column.filter(|_| self.inside.is_none())
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        self.search.found_nodes("field", cx.whole(), "all")
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let is_at_tree = self.inside.is_none();
        is_at_tree.then(|| ("search", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.search.mark(|pattern| tree::find(cx, pattern));
    }
}
