//! Sites: where blocks came from, as a table to sort and filter, with the whole stack and the source of the selected one.
//! Sites can be added up by owner, function, crate and loaded image instead. Order, filter and source are made when
//! something changes, never while drawing.

mod groups;
mod order;
mod render;
mod source;

use std::sync::Arc;

use heapglass_profiler::profile::{Charged, FrameId, Frames};
use heapglass_profiler::report::By;
use heapglass_profiler::units::{Count, Share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{BACK, Binding, ENTER, bindings, char};
use crate::model::{Command, Context, Data, Jump, Outcome, Pattern, ViewId};
use crate::text::clean;
use crate::views::View;
use crate::widgets::Cursor;
use groups::Groups;
use order::{Listed, Listing, Named, Only, Sort};
use source::{Excerpt, Sources};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "stack", "into the stack";
    BACK => Back, "out", "out, then end the filters";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "the other way round";
    [char('/')] => Search, "filter", "by type, field, function";
    [char('b')] => Grouping, "by", "by owner .. by module";
    [char('#')] => SameSymbol, "same", "sites through the symbol";
    [char('o')] => Follow, "flamegraph", "in the flamegraph";
    [char('n')] => NextStack, "", "the next of several stacks";
    [char('N')] => PreviousStack, "", "the stack before";
    [char('f')] => NextFrames, "", "frames folded, own, all";
    [char('a')] => AllFrames, "", "all frames, or folded";
};

/// The list, its order and filters, and the stack of the selected site.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    listing: Listing,
    /// The data the listing was made of.
    made_of: Option<Arc<Data>>,
    cursor: Cursor,
    /// Which of the selected row's stacks is shown.
    stack_index: usize,
    sort: Sort,
    reversed: bool,
    filter: Option<Pattern>,
    only: Option<Only>,
    /// Sites added up: in front of the list while they are open and nothing of them was opened.
    groups: Groups,
    /// The list has the sites of one of the groups: the way out leads back to them.
    in_group: bool,
    /// Another view asked for what is listed: the way out leads back to it.
    visited: bool,
    /// Whether the keys move in the stack instead of the list.
    in_stack: bool,
    /// Frame of the stack, innermost first.
    frame: Cursor,
    sources: Sources,
    excerpt: Excerpt,
}

impl Sites {
    fn row(&self) -> Option<&Listed> {
        self.listing.rows.get(self.cursor.selected)
    }

    /// The site whose stack is shown.
    fn selected(&self) -> Option<u32> {
        self.row()?.sites.get(self.stack_index).copied()
    }

    /// The frames of the selected site, innermost first.
    fn stack(&self, data: &Data, frames: Frames) -> Vec<FrameId> {
        let site = self.selected().and_then(|index| data.site(index));
        let mut stack = site
            .map(|site| data.profile.frames_of(site, frames))
            .unwrap_or_default();
        stack.reverse();
        stack
    }

    /// Makes the listing again; the same site stays selected where it still is in the list.
    fn list(&mut self, cx: &Context<'_>) {
        let kept = self
            .selected()
            .filter(|_| self.cursor.selected > 0 || self.in_stack);
        // A recording only grows: a site keeps its place in the profile as long as its stack is the same.
        let kept = kept.and_then(|index| {
            let old = self.made_of.as_ref()?.site(index)?;
            let is_it = |i: u32| order::same_site(self.made_of.as_deref(), old, cx.data, i);
            if is_it(index) {
                Some(index)
            } else {
                (0..cx.data.profile.sites.len() as u32).find(|i| is_it(*i))
            }
        });
        self.listing = Listing::new(
            cx,
            self.sort,
            self.reversed,
            self.filter.as_ref(),
            self.only.as_ref(),
        );
        self.made_of = Some(Arc::clone(cx.data));
        let at = kept.and_then(|kept| {
            let rows = self.listing.rows.iter().enumerate();
            let mut found = rows.filter_map(|(row, listed)| {
                let stack = listed.sites.iter().position(|index| *index == kept)?;
                Some((row, stack))
            });
            found.next()
        });
        match at {
            Some((row, stack)) => (self.cursor.selected, self.stack_index) = (row, stack),
            None => {
                (self.cursor.selected, self.stack_index) = (0, 0);
                self.in_stack = false;
            }
        }
        self.settle(cx, at.is_none());
    }

    /// Keeps both windows around their selections and the excerpt at the selected frame.
    fn settle(&mut self, cx: &Context<'_>, new_site: bool) {
        let panes = render::panes(Rect::from((ratatui::layout::Position::ORIGIN, cx.body)));
        self.cursor
            .clamp(self.listing.rows.len(), panes.list_rows());
        let stack = self.stack(cx.data, cx.frames);
        if new_site {
            let owner = self
                .selected()
                .and_then(|i| cx.data.site(i))
                .and_then(|site| site.owner);
            let at = stack
                .iter()
                .position(|frame| Some(*frame) == owner)
                .unwrap_or(0);
            self.frame = Cursor {
                selected: at,
                top: 0,
            };
        }
        self.frame.clamp(stack.len(), panes.stack_rows());
        let frame = stack.get(self.frame.selected);
        self.excerpt = frame
            .map(|frame| self.sources.excerpt(cx, *frame))
            .unwrap_or_default();
    }

    /// Whether groups are in front of the list.
    fn shows_groups(&self) -> bool {
        self.groups.is_open() && !self.in_group
    }

    fn act_on_groups(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some(said) = self.groups.command(command, cx) {
            return match said.is_empty() {
                true => Outcome::Done,
                false => Outcome::Notice(said),
            };
        }
        match command {
            Command::Enter => match self.groups.key() {
                Some((by, key)) => {
                    self.in_group = true;
                    self.only(Only::group(by, key, cx), cx)
                }
                None => Outcome::Notice("nothing is selected".to_owned()),
            },
            Command::Follow | Command::SameSymbol => match self.groups.charged(cx) {
                Some(charged) => Outcome::Goto(ViewId::Flamegraph, Jump::Function(charged)),
                None => {
                    Outcome::Notice("it has no frame of its own: Enter lists its sites".to_owned())
                }
            },
            Command::Back if self.groups.filter.is_some() => {
                self.groups.search(None, cx);
                Outcome::Done
            }
            Command::Back => {
                self.groups.close();
                Outcome::Done
            }
            _ => Outcome::Done,
        }
    }

    fn next_grouping(&mut self, cx: &Context<'_>) -> Outcome {
        if std::mem::take(&mut self.in_group) {
            self.only = None;
            self.list(cx);
        }
        self.in_stack = false;
        self.groups.next(cx);
        Outcome::Done
    }

    fn act(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Grouping {
            return self.next_grouping(cx);
        }
        if self.shows_groups() {
            return self.act_on_groups(command, cx);
        }
        let panes = render::panes(Rect::from((ratatui::layout::Position::ORIGIN, cx.body)));
        if self.in_stack {
            let frames = self.stack(cx.data, cx.frames).len();
            if self.frame.command(command, frames, panes.stack_rows()) {
                self.settle(cx, false);
                return Outcome::Done;
            }
        } else if self
            .cursor
            .command(command, self.listing.rows.len(), panes.list_rows())
        {
            self.stack_index = 0;
            self.settle(cx, true);
            return Outcome::Done;
        }
        match command {
            Command::NextStack => return self.step_stack(1, cx),
            Command::PreviousStack => return self.step_stack(usize::MAX, cx),
            Command::Enter => self.enter(),
            Command::Back => return self.back(cx),
            Command::Sort => {
                self.sort = self.sort.next(cx.data.base.is_some());
                self.reversed = false;
                self.list(cx);
                return Outcome::Notice(format!("sorted by {}", self.sort.name(cx.measure)));
            }
            Command::ReverseSort => {
                self.reversed = !self.reversed;
                self.list(cx);
            }
            Command::SameSymbol => match self.symbol(cx) {
                Some(charged) => {
                    self.visited = false;
                    return self.only(Named::new(charged, cx).map(Only::Through), cx);
                }
                None => return Outcome::Notice("no function is selected".to_owned()),
            },
            Command::Follow => {
                return match self.selected() {
                    Some(site) => Outcome::Goto(ViewId::Flamegraph, Jump::Site(site)),
                    None => Outcome::Notice("no site is selected".to_owned()),
                };
            }
            _ => {}
        }
        Outcome::Done
    }

    fn enter(&mut self) {
        self.in_stack = !self.listing.rows.is_empty();
    }

    /// Shows another of the stacks of the selected row: the next, or, by `usize::MAX`, the one before.
    fn step_stack(&mut self, by: usize, cx: &Context<'_>) -> Outcome {
        let stacks = self.row().map_or(0, |row| row.sites.len());
        if stacks < 2 {
            return Outcome::Notice("this row has one stack".to_owned());
        }
        self.stack_index = match by {
            usize::MAX => (self.stack_index + stacks - 1) % stacks,
            by => (self.stack_index + by) % stacks,
        };
        self.settle(cx, true);
        Outcome::Done
    }

    /// Out of the stack, then out of the filters, the last set first.
    fn back(&mut self, cx: &Context<'_>) -> Outcome {
        if self.in_stack {
            self.in_stack = false;
            return Outcome::Done;
        }
        if self.filter.take().is_some() {
            self.list(cx);
            return Outcome::Done;
        }
        let restricted = self.only.take().is_some();
        if restricted {
            self.list(cx);
        }
        if std::mem::take(&mut self.in_group) {
            self.groups.refresh(cx);
            return Outcome::Done;
        }
        if restricted && !std::mem::take(&mut self.visited) {
            return Outcome::Done;
        }
        Outcome::Out
    }

    /// The function `#` means: of the selected frame, which in the list is the owner; of a site without a stack its place.
    fn symbol(&self, cx: &Context<'_>) -> Option<Charged> {
        let stack = self.stack(cx.data, cx.frames);
        let frame = stack.get(self.frame.selected);
        let frame = frame.and_then(|frame| cx.data.frame(*frame));
        let function = frame.map(|frame| Charged::Function(frame.function));
        function.or_else(|| cx.data.profile.place_of(cx.data.site(self.selected()?)?))
    }

    fn only(&mut self, only: Option<Only>, cx: &Context<'_>) -> Outcome {
        self.only = only;
        self.filter = None;
        self.list(cx);
        Outcome::Done
    }

    /// What the list is cut down to, with its count and share; empty = it is whole.
    fn restriction(&self, cx: &Context<'_>) -> String {
        let mut text = Vec::new();
        text.extend(self.only.as_ref().map(|only| only.describe()));
        text.extend(
            self.filter
                .as_ref()
                .map(|filter| format!("/{}/", clean(&filter.text))),
        );
        if text.is_empty() {
            return String::new();
        }
        let (some, all) = (self.listing.rows.len() as u64, self.listing.all as u64);
        let share = Share::of(self.listing.value, cx.whole());
        format!(
            "{}: {} of {} sites, {share} of all",
            text.join(" and "),
            Count(some),
            Count(all)
        )
    }
}

impl View for Sites {
    fn refresh(&mut self, cx: &Context<'_>) {
        let first = self.made_of.is_none();
        self.only = self.only.take().and_then(|only| only.in_data(cx));
        if self.in_group && self.only.is_none() {
            self.in_group = false;
        }
        self.groups.refresh(cx);
        self.list(cx);
        if first {
            self.settle(cx, true);
        }
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        self.act(command, cx)
    }

    fn rows_by(&self) -> Option<By> {
        match self.shows_groups() {
            true => self.groups.by(),
            false => Some(By::Site),
        }
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        match self.shows_groups() {
            true => self.groups.render(cx, area, buffer),
            false => render::render(self, cx, area, buffer),
        }
    }

    fn search_label(&self) -> Option<&'static str> {
        Some("filter")
    }

    fn pattern(&self) -> Option<Pattern> {
        match self.shows_groups() {
            true => self.groups.filter.clone(),
            false => self.filter.clone(),
        }
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        if self.shows_groups() {
            return self.groups.search(pattern, cx);
        }
        self.filter = pattern;
        self.list(cx);
    }

    fn jump(&mut self, jump: &Jump, cx: &Context<'_>) -> Outcome {
        (self.in_stack, self.in_group) = (false, false);
        self.groups.close();
        self.visited = true;
        (self.cursor, self.stack_index) = (Cursor::default(), 0);
        match jump {
            Jump::Function(charged) => self.only(Named::new(*charged, cx).map(Only::Through), cx),
            Jump::Group(by, key) => self.only(Only::group(*by, key.clone(), cx), cx),
            Jump::Within(within) => self.only(Only::within(within.clone(), cx), cx),
            Jump::Site(site) => {
                self.only(None, cx);
                let rows = self.listing.rows.iter().enumerate();
                let mut found = rows.filter_map(|(row, listed)| {
                    let stack = listed.sites.iter().position(|index| index == site)?;
                    Some((row, stack))
                });
                (self.cursor.selected, self.stack_index) = found.next().unwrap_or_default();
                self.settle(cx, true);
                Outcome::Done
            }
        }
    }
}
