//! Sites: a table to sort and filter, with the whole stack and the source of the selected site.
//! Sites can also be grouped by owner, function, crate and loaded image. Order, filter and source
//! are computed when something changes, never while drawing.

mod filter;
mod groups;
mod listing;
mod render;
mod request;
mod source;

use std::sync::Arc;

use heapglass_profiler::profile::{FrameId, Frames, Label};
use heapglass_profiler::table::{By, stack_numbers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, bindings, char};
use crate::model::{Command, Context, Data, Jump, Later, Outcome, Pattern, SourceLine, ViewId};
use crate::views::View;
use crate::widgets::{Cursor, List, Sort, rows_in};
use filter::{Named, Restriction};
use groups::Groups;
use listing::Listed;
use request::{Listing, Request};
use source::{Excerpt, Sources};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "in", "go into stack, then source";
    BACK => Back, "out", "go out, end the filters";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "reverse the order";
    [char('/')] => Search, "filter", "filter sites by regex";
    [char('b')] => Grouping, "by", "group by owner, crate, ..";
    [char('#')] => SameSymbol, "same", "filter by this symbol";
    [char('o')] => Follow, "flamegraph", "show in flamegraph";
    [char('w')] => WhoHolds, "holder", "show who holds it";
    [char(']')] => NextStack, "stack", "show the next stack";
    [char('[')] => PreviousStack, "stack", "show the previous stack";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
    [char('f')] => NextFrames, "", "choose the frames";
    [char('a')] => AllFrames, "", "show all frames, or fold";
};

/// The list, its order and filters, and the stack of the selected site.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    list: List<Listed>,
    /// The request that the list answers; `None` before the first list. Another request may wait
    /// for its list. Until then, keys act on this list, and everything on the screen is of its
    /// data and in its measure.
    shown: Option<Request>,
    /// The last request.
    asked: Option<Request>,
    listing: Later<Listing>,
    /// The site to select in the next list, with its data, if another view asked for it.
    goal: Option<(Arc<Data>, u32)>,
    /// The index of the site whose stack is shown among the sites of the selected row.
    stack_index: usize,
    /// The numbers of the stacks of the selected row. Sites whose stacks read the same share one.
    stacks: Stacks,
    sort: Sort,
    pattern: Option<Pattern>,
    restriction: Option<Restriction>,
    /// Description of the shown restriction, with its number of rows and share; `None` if all rows
    /// are listed.
    found: Option<String>,
    /// The grouped sites, shown instead of the list while a grouping is chosen and none of its
    /// rows is open.
    groups: Groups,
    /// `true` if the list has the sites of one group. Going out leads back to the groups.
    in_group: bool,
    /// `true` if another view asked for this list. Going out leads back to that view.
    visited: bool,
    /// The pane in which the keys move.
    pane: Pane,
    /// The frames of the selected site, innermost first.
    stack: List<FrameId>,
    sources: Sources,
    excerpt: Excerpt,
    /// Number of lines that the source is scrolled down from the line of the frame.
    scrolled: i64,
}

/// The different stacks of a row.
#[derive(Debug, Default)]
struct Stacks {
    /// The row and the frames that the stacks are of; `None` for a new list.
    of: Option<(usize, Frames)>,
    /// The number of the stack of each site. Empty until it is necessary.
    numbers: Vec<usize>,
    count: usize,
}

/// A pane that can receive keys. Enter goes from each to the next one, and Esc back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pane {
    #[default]
    List,
    Stack,
    Source,
}

impl Sites {
    /// Returns the site whose stack is shown.
    fn selected(&self) -> Option<u32> {
        let row = self.list.selected()?;
        row.sites.get(self.stack_index).copied()
    }

    /// Returns the row of a site, and the index of its stack in the row.
    fn find(&self, site: u32) -> Option<(usize, usize)> {
        let mut rows = self.list.rows.iter().enumerate();
        rows.find_map(|(row, listed)| {
            let stack = listed.sites.iter().position(|index| *index == site)?;
            Some((row, stack))
        })
    }

    /// Returns the number of the selected site in the current data.
    fn selected_now(&self, cx: &Context<'_>) -> Option<u32> {
        let shown = self.shown.as_ref()?;
        shown.data.same_site(self.selected()?, cx.data)
    }

    /// Asks for the list again, because something that decides its rows has changed.
    fn list(&mut self, cx: &Context<'_>) {
        self.asked = Some(Request {
            data: Arc::clone(cx.data),
            measure: cx.measure,
            frames: cx.frames,
            sort: self.sort,
            pattern: self.pattern.clone(),
            restriction: self.restriction.clone(),
        });
        self.listing.want();
        self.take(cx);
    }

    /// Shows the list that was asked for, if it is there. Keeps the selection if its site is still
    /// listed.
    fn take(&mut self, cx: &Context<'_>) {
        let Some(request) = self.asked.clone() else {
            return;
        };
        let make = move || request.clone().list();
        let Some(listing) = self.listing.take(cx.data, make) else {
            return;
        };
        let has_moved = self.list.cursor.selected > 0 || self.pane != Pane::List;
        let goal = self.goal.take();
        let is_goal = goal.is_some();
        let kept = match goal {
            Some((data, site)) => data.same_site(site, cx.data),
            None => self.selected_now(cx).filter(|_| has_moved),
        };
        self.list.rows = listing.rows;
        self.found = listing.found;
        self.restriction.clone_from(&listing.request.restriction);
        self.in_group &= self.restriction.is_some();
        self.shown = Some(listing.request);
        self.stacks = Stacks::default();
        let at = kept.and_then(|kept| self.find(kept));
        (self.list.cursor.selected, self.stack_index) = at.unwrap_or_default();
        if at.is_none() {
            self.pane = Pane::List;
        }
        self.settle(cx, is_goal || at.is_none());
    }

    /// Loads the stack of the selected site. Keeps both windows around their selections, and the
    /// excerpt at the selected frame.
    fn settle(&mut self, cx: &Context<'_>, new_site: bool) {
        let Some(shown) = self.shown.clone() else {
            return;
        };
        let cx = &shown.context(cx);
        let [list, _, stack, _] = render::panes(self.pane, cx, cx.area());
        // A pane that is not shown keeps its window for later.
        let height = if list.is_empty() {
            self.list.height
        } else {
            rows_in(list)
        };
        self.list.resize(height);
        self.count_stacks(cx);
        let site = self.selected().and_then(|index| cx.data.site(index));
        let frames = site.map(|site| cx.data.profile.frames_of(site, cx.frames));
        self.stack.rows = frames.unwrap_or_default();
        self.stack.rows.reverse();
        if new_site {
            let owner = site.and_then(|site| site.owner);
            let mut frames = self.stack.rows.iter();
            let at = frames.position(|frame| Some(*frame) == owner);
            self.stack.cursor = Cursor::default();
            self.stack.cursor.selected = at.unwrap_or(0);
        }
        let height = if stack.is_empty() {
            self.stack.height
        } else {
            rows_in(stack)
        };
        self.stack.resize(height);
        let frame = self.stack.selected();
        let excerpt = frame
            .map(|frame| self.sources.excerpt(cx, *frame))
            .unwrap_or_default();
        if !excerpt.is_same_place(&self.excerpt) {
            self.scrolled = 0;
        }
        self.excerpt = excerpt;
    }

    /// Returns the grouping that is shown instead of the list; `None` if the list is shown.
    fn shown_groups(&self) -> Option<By> {
        self.groups.by.filter(|_| !self.in_group)
    }

    fn act_on_groups(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some(outcome) = self.groups.command(command, cx) {
            return outcome;
        }
        match command {
            Command::Enter => match self.groups.key() {
                Some((by, key)) => {
                    self.in_group = true;
                    return self.restrict(Some(Restriction::Group(by, key)), cx);
                }
                None => return Outcome::notice("nothing is selected"),
            },
            Command::Follow | Command::SameSymbol => {
                let jump = self.groups.charged(cx).map(Jump::Function);
                let otherwise = "this row has no frame of its own; press Enter to list its sites";
                return Outcome::goto(ViewId::Flamegraph, jump, otherwise);
            }
            Command::Back if self.groups.search.pattern().is_some() => self.groups.search(None, cx),
            Command::Back => self.groups.by = None,
            _ => {}
        }
        Outcome::Done
    }

    fn next_grouping(&mut self, cx: &Context<'_>) {
        if std::mem::take(&mut self.in_group) {
            self.restriction = None;
            self.list(cx);
        }
        self.pane = Pane::List;
        self.groups.next(cx);
    }

    /// Moves in the pane that receives keys. Returns `false` for other commands.
    fn moved(&mut self, command: Command, cx: &Context<'_>) -> bool {
        let is_new_site = self.pane == Pane::List;
        let moved = match self.pane {
            Pane::List => self.list.command(command),
            Pane::Stack => self.stack.command(command),
            Pane::Source => return self.scroll(command, cx),
        };
        if moved && is_new_site {
            self.stack_index = 0;
        }
        if moved {
            self.settle(cx, is_new_site);
        }
        moved
    }

    /// Scrolls the source, which never leaves its file.
    fn scroll(&mut self, command: Command, cx: &Context<'_>) -> bool {
        let [.., source] = render::panes(self.pane, cx, cx.area());
        let page = i64::from(source.height).max(2) - 1;
        let lines = self.excerpt.lines();
        self.scrolled = match command {
            Command::Up => self.scrolled - 1,
            Command::Down => self.scrolled + 1,
            Command::PageUp => self.scrolled - page,
            Command::PageDown => self.scrolled + page,
            Command::First => lines.start,
            Command::Last => lines.end,
            _ => return false,
        }
        .clamp(lines.start, lines.end);
        true
    }

    /// Goes from the list into the stack, and from there into the source.
    fn enter(&mut self, cx: &Context<'_>) -> Outcome {
        self.pane = match self.pane {
            _ if self.list.rows.is_empty() => return Outcome::notice("nothing is selected"),
            Pane::List => Pane::Stack,
            Pane::Stack if self.excerpt.is_empty() => {
                return Outcome::notice("there is no source to go into");
            }
            Pane::Stack | Pane::Source => Pane::Source,
        };
        self.settle(cx, false);
        Outcome::Done
    }

    /// Selects the next or previous row that the regex matches.
    fn step_match(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.pattern.is_none() {
            return Outcome::no_search();
        }
        self.pane = Pane::List;
        self.list.step(command == Command::Next);
        self.stack_index = 0;
        self.settle(cx, true);
        Outcome::Done
    }

    /// Counts the different stacks of the selected row.
    fn count_stacks(&mut self, cx: &Context<'_>) {
        let of = (self.list.cursor.selected, cx.frames);
        if self.stacks.of != Some(of) {
            let is_folded = cx.frames == Frames::Folded;
            let known = self
                .list
                .selected()
                .filter(|_| is_folded)
                .and_then(Listed::stacks);
            self.stacks = Stacks {
                of: Some(of),
                numbers: Vec::new(),
                count: known.map_or(0, |count| count as usize),
            };
        }
        // The first stack needs only its count, and reading all stacks of a large row takes long.
        if self.stacks.count == 0 || self.stack_index > 0 {
            self.number_stacks(cx);
        }
    }

    fn number_stacks(&mut self, cx: &Context<'_>) {
        let Some(row) = self.list.selected() else {
            return;
        };
        if self.stacks.numbers.is_empty() {
            let sites = row.sites.iter().map(|site| *site as usize);
            self.stacks.numbers = stack_numbers(&cx.data.profile, sites, cx.frames);
            self.stacks.count = self.stacks.numbers.iter().max().map_or(0, |last| last + 1);
        }
    }

    /// Returns the number of the shown stack among those of the selected row, counted from 0.
    fn stack_number(&self) -> usize {
        let number = self.stacks.numbers.get(self.stack_index);
        number.copied().unwrap_or(0)
    }

    /// Shows the next or previous stack of the selected row.
    fn step_stack(&mut self, forward: bool, cx: &Context<'_>) -> Outcome {
        let Some(shown) = self.shown.clone() else {
            return Outcome::Done;
        };
        let count = self.stacks.count;
        if count < 2 {
            return Outcome::notice("this row has only one stack");
        }
        self.number_stacks(&shown.context(cx));
        let by = if forward { 1 } else { count - 1 };
        let wanted = (self.stack_number() + by) % count;
        let mut numbers = self.stacks.numbers.iter();
        self.stack_index = numbers.position(|number| *number == wanted).unwrap_or(0);
        self.settle(cx, true);
        Outcome::Done
    }

    /// Leaves the stack, then removes the filters, the last one first.
    fn back(&mut self, cx: &Context<'_>) -> Outcome {
        match self.pane {
            Pane::List => {}
            Pane::Stack => {
                self.pane = Pane::List;
                return Outcome::Done;
            }
            Pane::Source => {
                (self.pane, self.scrolled) = (Pane::Stack, 0);
                return Outcome::Done;
            }
        }
        if self.pattern.take().is_some() {
            self.list(cx);
            return Outcome::Done;
        }
        let is_restricted = self.restriction.take().is_some();
        if is_restricted {
            self.list(cx);
        }
        if std::mem::take(&mut self.in_group) {
            self.groups.refresh(cx, false);
            return Outcome::Done;
        }
        if is_restricted && !std::mem::take(&mut self.visited) {
            return Outcome::Done;
        }
        Outcome::Out
    }

    /// Returns the function for `#`: that of the selected frame, or the owner if the list has the
    /// focus, or the place of a site without a stack.
    fn symbol(&self, cx: &Context<'_>) -> Option<Named> {
        let cx = &self.shown.as_ref()?.context(cx);
        let frame = self
            .stack
            .selected()
            .and_then(|frame| cx.data.frame(*frame));
        let function = frame.map(|frame| Label::Function(frame.function));
        let place = || cx.data.profile.place_of(cx.data.site(self.selected()?)?);
        Named::new(function.or_else(place)?, cx)
    }

    fn restrict(&mut self, to: Option<Restriction>, cx: &Context<'_>) -> Outcome {
        self.restriction = to;
        self.pattern = None;
        self.list(cx);
        Outcome::Done
    }
}

impl View for Sites {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.groups.refresh(cx, false);
        if self.asked.as_ref().is_some_and(|asked| asked.is_for(cx)) {
            // The size of the screen has changed, or the list or the rows of a grouping are there.
            self.take(cx);
            self.settle(cx, false);
        } else {
            self.list(cx);
        }
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Grouping {
            self.next_grouping(cx);
            return Outcome::Done;
        }
        if self.shown_groups().is_some() {
            return self.act_on_groups(command, cx);
        }
        if self.moved(command, cx) {
            return Outcome::Done;
        }
        let table = render::table(self.sort, cx, &[]);
        if let Some(outcome) = table.command(command, &mut self.sort) {
            self.list(cx);
            return outcome;
        }
        match command {
            Command::NextStack => return self.step_stack(true, cx),
            Command::PreviousStack => return self.step_stack(false, cx),
            Command::Next | Command::Previous => return self.step_match(command, cx),
            Command::Enter => return self.enter(cx),
            Command::Back => {
                let outcome = self.back(cx);
                self.settle(cx, false);
                return outcome;
            }
            Command::SameSymbol => match self.symbol(cx) {
                Some(named) => {
                    self.visited = false;
                    return self.restrict(Some(Restriction::Through(named)), cx);
                }
                None => return Outcome::notice("no function is selected"),
            },
            Command::Follow => {
                let jump = self.selected_now(cx).map(Jump::Site);
                return Outcome::goto(ViewId::Flamegraph, jump, "no site is selected");
            }
            Command::WhoHolds if cx.data.profile.snapshots().is_empty() => {
                return Outcome::notice(cx.data.no_snapshot());
            }
            Command::WhoHolds => {
                let jump = self.selected_now(cx).map(Jump::Site);
                return Outcome::goto(ViewId::Heap, jump, "no site is selected");
            }
            _ => {}
        }
        Outcome::Done
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        if self.shown_groups().is_some() {
            return self.groups.select_at(at, cx);
        }
        let [list, _, stack, source] = render::panes(self.pane, cx, cx.area());
        let pane = if stack.contains(at) {
            Pane::Stack
        } else if source.contains(at) && !self.excerpt.is_empty() {
            Pane::Source
        } else {
            Pane::List
        };
        let was_here = std::mem::replace(&mut self.pane, pane) == pane;
        let was_selected = match pane {
            Pane::List => self.list.select_at(at, list),
            Pane::Stack => self.stack.select_at(at, stack),
            Pane::Source => return None,
        };
        let is_new_site = pane == Pane::List && was_selected == Some(false);
        if is_new_site {
            self.stack_index = 0;
        }
        self.settle(cx, is_new_site);
        was_selected.map(|was_selected| was_selected && was_here)
    }

    fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        if self.shown_groups().is_some() {
            return self.groups.heading_at(at, cx);
        }
        let shown = self.shown.as_ref()?;
        let cx = &shown.context(cx);
        let [list, ..] = render::panes(self.pane, cx, cx.area());
        let table = render::table(shown.sort, cx, render::visible(self, list));
        table.heading_at(at, list, &self.list)
    }

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        if self.shown_groups().is_some() {
            return SourceLine::of(cx.data, self.groups.frame(cx)?);
        }
        SourceLine::of(&self.shown.as_ref()?.data, *self.stack.selected()?)
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        match self.shown_groups() {
            Some(_) => self.groups.found(cx),
            None => self.found.clone(),
        }
    }

    fn rows_by(&self) -> Option<By> {
        self.shown_groups().or(Some(By::Site))
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        match self.shown_groups() {
            Some(_) => self.groups.render(cx, area, buffer),
            None => {
                let cx = self.shown.as_ref().map_or(*cx, |shown| shown.context(cx));
                render::render(self, &cx, area, buffer);
            }
        }
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let pattern = match self.shown_groups() {
            Some(_) => self.groups.search.pattern(),
            None => self.pattern.as_ref(),
        };
        Some(("filter", pattern.cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        if self.shown_groups().is_some() {
            return self.groups.search(pattern, cx);
        }
        self.pattern = pattern;
        self.list(cx);
    }

    fn jump(&mut self, jump: &Jump, cx: &Context<'_>) -> Outcome {
        (self.pane, self.in_group) = (Pane::List, false);
        self.groups.by = None;
        self.visited = true;
        (self.list.cursor, self.stack_index) = Default::default();
        let restriction = match jump {
            Jump::Function(charged) => Named::new(*charged, cx).map(Restriction::Through),
            Jump::Group(by, key) => Some(Restriction::Group(*by, key.clone())),
            Jump::Selection(selection) => Some(Restriction::Selection(selection.clone())),
            Jump::Site(_) => None,
        };
        if let Jump::Site(site) = jump {
            self.goal = Some((Arc::clone(cx.data), *site));
        }
        self.restrict(restriction, cx)
    }
}
