//! Heap: who holds the heap at the moment of a snapshot, as a tree. The path above a holder says
//! what holds it, the branches below it what it holds. Two snapshots can be compared. Rows are
//! computed when something changes, never while drawing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use heapglass_profiler::diff::{HeldChange, HeldDiff, HeldSide};
use heapglass_profiler::profile::Measure;
use heapglass_profiler::table::{
    By, Heading, HolderRow, HolderRowName, SnapshotAt, all_snapshots, holders, holders_of,
    snapshot_at,
};
use heapglass_profiler::units::{Bytes, Count, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Jump, Later, Outcome, Pattern, SourceLine, ViewId};
use crate::text::{clean, fit_branch, fit_owner};
use crate::theme;
use crate::views::View;
use crate::widgets::{
    Lines, List, Matches, Search, SearchNode, Shape, Sort, Table, Tree, TreeRow, change, rows_in,
    split, write,
};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "site", "show the holder's site";
    RIGHT => Right, "open", "open: what does it hold";
    LEFT => Left, "close", "close: what holds it";
    BACK => Back, "out", "end comparing, go out";
    [char(']')] => NextMoment, "snapshot", "show the next snapshot";
    [char('[')] => PreviousMoment, "", "show previous snapshot";
    [char('v')] => Anchor, "compare", "compare snapshots, or end";
    [char('e')] => OpenAll, "all", "open or close everything";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "reverse the order";
    [char('o')] => Follow, "flamegraph", "show in flamegraph";
    [char('/')] => Search, "search", "search by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// Maximum number of holders of a tree that is open at first.
const SMALL: usize = 30;

/// The tree of a snapshot, and the comparison of two.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Index of the snapshot; `None` until one is known.
    at: Option<usize>,
    /// The snapshot that this one is compared with.
    anchor: Option<usize>,
    rows: Vec<HolderRow>,
    order: Order,
    tree: Tree,
    sort: Sort,
    search: Search,
    /// The rows that differ, if two snapshots are compared.
    changes: Option<List<HeldChange>>,
    /// The request that the rows answer. Until the rows that were asked for are there, everything
    /// on the screen is of this.
    shown: Option<Request>,
    asked: Option<Request>,
    filled: Later<Filled>,
    /// The site whose holder is to be selected in the next rows, with its data.
    goal: Option<(Arc<Data>, u32)>,
}

/// A snapshot, and the one that it is compared with.
#[derive(Clone, Debug)]
struct Request {
    data: Arc<Data>,
    at: usize,
    anchor: Option<usize>,
}

impl Request {
    fn is_same(&self, other: &Request) -> bool {
        Arc::ptr_eq(&self.data, &other.data) && (self.at, self.anchor) == (other.at, other.anchor)
    }

    /// Returns the two snapshots that are compared, the earlier one first.
    fn compared(&self) -> Option<[SnapshotAt<'_>; 2]> {
        let (at, anchor) = (self.at, self.anchor?);
        let snapshot = |at: usize| all_snapshots(&self.data.profile).nth(at);
        (at != anchor).then_some(())?;
        Some([snapshot(at.min(anchor))?, snapshot(at.max(anchor))?])
    }

    /// Computes the rows. Slow for a large snapshot.
    fn fill(&self) -> Filled {
        let profile = &self.data.profile;
        let snapshot = profile.snapshots().get(self.at);
        let rows = snapshot
            .map(|snapshot| holders(profile, snapshot))
            .unwrap_or_default();
        let mut numbers = HashMap::new();
        for (node, row) in (0..).zip(&rows) {
            numbers.entry(row.key(&rows)).or_insert(node);
        }
        let sides = self.compared().map(|sides| {
            sides.map(|at| HeldSide {
                name: "this recording",
                profile,
                at,
            })
        });
        let changes = sides.map(|sides| HeldDiff::new(sides, By::Holder, Measure::Retained).rows);
        Filled {
            request: self.clone(),
            rows,
            numbers,
            changes,
        }
    }
}

/// The rows that answer a request.
#[derive(Debug)]
struct Filled {
    request: Request,
    rows: Vec<HolderRow>,
    /// The first row with each path. Holders have other numbers in other snapshots.
    numbers: HashMap<String, u32>,
    changes: Option<Vec<HeldChange>>,
}

/// Returns the areas of title, tree and details.
fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 3] {
    let title = match area.height {
        0..4 => 0,
        4..12 => 1,
        _ => 2,
    };
    let details = cx.lines_below(if area.height >= 14 { 4 } else { 0 });
    split(area, [title, area.height - details - title, details])
}

/// Siblings in the order of a column.
#[derive(Debug, Default)]
struct Order {
    by_parent: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

/// The holders of a snapshot.
struct Holders<'a> {
    rows: &'a [HolderRow],
    order: &'a Order,
}

impl Order {
    fn new(rows: &[HolderRow], sort: Sort, cx: &Context<'_>) -> Self {
        let mut by_parent = vec![Vec::new(); rows.len()];
        let mut roots = Vec::new();
        let table = table(sort, cx, None, 0);
        let mut all: Vec<Line<'_>> = (0..)
            .zip(rows)
            .map(|(node, row)| {
                let tree = TreeRow {
                    node,
                    ..TreeRow::default()
                };
                Line {
                    tree,
                    row,
                    name: String::new(),
                }
            })
            .collect();
        all.sort_by_key(|line| Reverse(line.row.held.retained_bytes));
        table.sort(&mut all);
        for line in all {
            let siblings = match line.row.parent {
                Some(parent) => by_parent.get_mut(parent),
                None => Some(&mut roots),
            };
            if let Some(siblings) = siblings {
                siblings.push(line.tree.node);
            }
        }
        Order { by_parent, roots }
    }
}

impl Shape for Holders<'_> {
    fn roots(&self) -> Vec<u32> {
        self.order.roots.clone()
    }

    fn children(&self, node: u32) -> Vec<u32> {
        let children = self.order.by_parent.get(node as usize);
        children.cloned().unwrap_or_default()
    }

    fn parent(&self, node: u32) -> Option<u32> {
        let row = self.rows.get(node as usize)?;
        row.parent.and_then(|parent| u32::try_from(parent).ok())
    }

    /// The roots and the first level below them are open, and everything in a small tree.
    fn is_open_at_first(&self, node: u32) -> bool {
        let parent = self.parent(node);
        self.rows.len() <= SMALL || parent.is_none_or(|parent| self.parent(parent).is_none())
    }
}

/// A visible holder.
struct Line<'a> {
    tree: TreeRow,
    row: &'a HolderRow,
    /// The name without the part that repeats the holder's.
    name: String,
}

impl Heap {
    /// Asks for the rows of the snapshot and the comparison, unless they are there, and shows them
    /// when they are.
    fn fill(&mut self, cx: &Context<'_>) {
        let profile = &cx.data.profile;
        let count = profile.snapshots().len();
        let largest = snapshot_at(profile, None).ok().map(|at| at.number - 1);
        self.at = self.at.filter(|at| *at < count).or(largest);
        self.anchor = self.anchor.filter(|anchor| *anchor < count);
        let Some(at) = self.at else {
            *self = Heap::default();
            return;
        };
        let request = Request {
            data: Arc::clone(cx.data),
            at,
            anchor: self.anchor,
        };
        if !self
            .asked
            .as_ref()
            .is_some_and(|asked| asked.is_same(&request))
        {
            self.asked = Some(request.clone());
            self.filled.want();
        }
        match self.filled.take(cx.data, move || request.fill()) {
            Some(filled) => self.show(filled, cx),
            None => self.rebuild(self.tree.selected(), cx),
        }
        if let Some(changes) = &mut self.changes {
            let [_, body, _] = panes(cx, cx.area());
            changes.resize(rows_in(body));
        }
    }

    /// Shows rows. Keeps the selection and the open branches if the holders are still there.
    fn show(&mut self, filled: Filled, cx: &Context<'_>) {
        let kept = self
            .tree
            .selected()
            .filter(|_| self.tree.list.cursor.selected > 0);
        let before = std::mem::replace(&mut self.rows, filled.rows);
        let moved = |node: u32| {
            let row = before.get(node as usize)?;
            filled.numbers.get(&row.key(&before)).copied()
        };
        self.tree.renumber(moved);
        let goal = self
            .goal
            .take()
            .and_then(|(data, site)| data.same_site(site, &filled.request.data))
            .and_then(|site| holders_of(&self.rows, site).first().copied());
        self.shown = Some(filled.request);
        self.order = Order::new(&self.rows, self.sort, cx);
        self.rebuild(kept.and_then(moved), cx);
        if let Some(row) = goal {
            self.reveal(row as u32);
        }
        self.changes = filled.changes.map(|rows| {
            let [_, body, _] = panes(cx, cx.area());
            let mut list = self.changes.take().unwrap_or_default();
            let key = |row: &HeldChange| row.identity.clone();
            list.replace(rows, key, false, rows_in(body));
            list
        });
    }

    fn rebuild(&mut self, kept: Option<u32>, cx: &Context<'_>) {
        let [_, tree, _] = panes(cx, cx.area());
        self.tree.list.height = rows_in(tree);
        let shape = Holders {
            rows: &self.rows,
            order: &self.order,
        };
        self.tree.refresh(&shape, kept);
        self.find();
    }

    fn find(&mut self) {
        self.search.mark(|pattern| {
            Matches::of(self.rows.iter().map(|row| SearchNode {
                parent: row.parent.and_then(|parent| u32::try_from(parent).ok()),
                is_match: pattern.is_match(&row.name.below(None)),
                value: row.held.retained_bytes,
            }))
        });
    }

    fn step(&mut self, forward: bool, cx: &Context<'_>) -> Outcome {
        let count = cx.data.profile.snapshots().len();
        if count < 2 {
            return Outcome::notice("the recording has only one snapshot");
        }
        let by = if forward { 1 } else { count - 1 };
        self.at = self.at.map(|at| (at + by) % count);
        self.fill(cx);
        Outcome::Done
    }

    fn reveal(&mut self, node: u32) {
        let shape = Holders {
            rows: &self.rows,
            order: &self.order,
        };
        self.tree.reveal(&shape, node);
    }

    fn selected(&self) -> Option<&HolderRow> {
        self.rows.get(self.tree.selected()? as usize)
    }

    /// Returns the first site of the selected holder in the current data.
    fn site(&self, cx: &Context<'_>) -> Option<Jump> {
        let site = *self.selected()?.sites.first()?;
        let shown = self.shown.as_ref()?;
        shown.data.same_site(site, cx.data).map(Jump::Site)
    }
}

impl View for Heap {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.fill(cx);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        match command {
            Command::NextMoment => return self.step(true, cx),
            Command::PreviousMoment => return self.step(false, cx),
            Command::Anchor if cx.data.profile.snapshots().len() < 2 => {
                return Outcome::notice("the recording has only one snapshot");
            }
            Command::Anchor => {
                self.anchor = match self.anchor {
                    Some(_) => None,
                    None => self.at,
                };
                self.fill(cx);
                return if self.anchor.is_some() {
                    Outcome::notice("] shows the changes to the next snapshot")
                } else {
                    Outcome::Done
                };
            }
            Command::Back if self.anchor.take().is_some() => {
                self.fill(cx);
                return Outcome::Done;
            }
            Command::Back if self.search.end() => return Outcome::Done,
            Command::Back => return Outcome::Out,
            _ => {}
        }
        if let Some(changes) = &mut self.changes {
            if !changes.command(command) && command == Command::Enter {
                return Outcome::notice("press Esc to end the comparison, then open the holder");
            }
            return Outcome::Done;
        }
        let shape = Holders {
            rows: &self.rows,
            order: &self.order,
        };
        if self.tree.command(command, &shape) {
            return Outcome::Done;
        }
        if let Some(outcome) = table(self.sort, cx, None, 0).command(command, &mut self.sort) {
            self.order = Order::new(&self.rows, self.sort, cx);
            self.rebuild(self.tree.selected(), cx);
            return outcome;
        }
        let reveal = |node| self.tree.reveal(&shape, node);
        if let Some(outcome) = self.search.step_node(command, reveal) {
            return outcome;
        }
        const NO_SITE: &str = "this holder has no blocks of its own";
        match command {
            Command::Enter => Outcome::goto(ViewId::Sites, self.site(cx), NO_SITE),
            Command::Follow => Outcome::goto(ViewId::Flamegraph, self.site(cx), NO_SITE),
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        None
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [_, body, _] = panes(cx, cx.area());
        match &mut self.changes {
            Some(changes) => changes.select_at(at, body),
            None => self.tree.list.select_at(at, body),
        }
    }

    fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        let [_, body, _] = panes(cx, cx.area());
        let lines = self.lines();
        let column = table(self.sort, cx, None, 0).heading_at(at, body, &lines);
        column.filter(|_| self.changes.is_none())
    }

    fn source_line(&self, _: &Context<'_>) -> Option<SourceLine> {
        let site = *self.selected()?.sites.first()?;
        let data = &self.shown.as_ref()?.data;
        SourceLine::of(data, data.site(site)?.owner?)
    }

    fn found(&self, _: &Context<'_>) -> Option<String> {
        let whole = self
            .rows
            .iter()
            .filter(|row| row.parent.is_none())
            .fold(0_u64, |sum, row| {
                sum.saturating_add(row.held.retained_bytes)
            });
        self.search.found_nodes("holder", whole, "the snapshot")
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let Some(shown) = &self.shown else {
            if self.filled.is_wanted() {
                return write(buffer, area, "computing who holds the heap", theme::dim());
            }
            return absent(cx.data, area, buffer);
        };
        let cx = &Context {
            data: &shown.data,
            ..*cx
        };
        let profile = &shown.data.profile;
        let Some(at) = all_snapshots(profile).nth(shown.at) else {
            return absent(cx.data, area, buffer);
        };
        let [title, body, details] = panes(cx, area);
        let mut lines = Lines::new(title, buffer);
        if let (Some(changes), Some(sides)) = (&self.changes, shown.compared()) {
            let sides = sides.map(|side| {
                let live = Bytes(side.snapshot.moment().live_bytes);
                format!("snapshot {}, {live} live", side.name())
            });
            let rows = counted(changes.rows.len() as u64, "holder");
            let text = format!("from {} to {}: {rows} differ", sides[0], sides[1]);
            lines.line(&clean(&text), theme::heading());
            let overlap = "Bytes of holders do not add up: a holder retains others.";
            lines.line(overlap, theme::dim());
            return render_changes(changes, cx, [body, details], buffer);
        }
        let name = format!(
            "snapshot {} of {} {}",
            at.name(),
            at.count,
            at.moment(profile)
        );
        lines.line(&clean(&name), theme::heading());
        let mut about = vec![at.basis().to_owned()];
        about = self.found(cx).map_or(about, |found| vec![found]);
        about.extend(at.notes());
        lines.line(&clean(&about.join(". ")), theme::dim());
        let list = self.lines();
        let whole = at.whole(Measure::Retained);
        table(self.sort, cx, Some(&self.search.matches), whole).render(
            body,
            buffer,
            &list,
            "no blocks",
        );
        if let Some(row) = self.selected() {
            self.details(row, cx, details, buffer);
        }
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let is_tree = self.changes.is_none() && !self.rows.is_empty();
        is_tree.then(|| ("search", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, _: &Context<'_>) {
        self.search.set(pattern);
        self.find();
    }

    fn jump(&mut self, jump: &Jump, cx: &Context<'_>) -> Outcome {
        let Jump::Site(site) = jump else {
            return Outcome::Done;
        };
        self.anchor = None;
        self.goal = Some((Arc::clone(cx.data), *site));
        self.fill(cx);
        if self.filled.is_wanted() {
            return Outcome::Done;
        }
        self.goal = None;
        match holders_of(&self.rows, *site).first() {
            Some(row) => {
                self.reveal(*row as u32);
                Outcome::Done
            }
            None => Outcome::notice("the snapshot has no blocks of this site"),
        }
    }
}

/// Draws instructions for taking a snapshot.
fn absent(data: &Data, area: Rect, buffer: &mut Buffer) {
    let mut lines = Lines::new(area, buffer);
    let text = format!(
        "{}. A snapshot says who holds each block, how full containers are, and what nothing reaches.",
        data.no_snapshot()
    );
    lines.paragraph(&text, theme::plain());
}

fn table<'a>(
    sort: Sort,
    cx: &'a Context<'_>,
    found: Option<&'a Matches>,
    whole: u64,
) -> Table<'a, Line<'a>> {
    let retained = |line: &Line<'a>| line.row.held.retained_bytes;
    let is_found = move |line: &Line<'_>| found.is_some_and(|found| found.contains(line.tree.node));
    Table::sorted(cx, sort)
        .share(Heading::SHARE, retained, whole)
        .right(Heading::HELD, |line| line.row.held.retained_text())
        .by_size(move |line: &Line<'_>| Some(retained(line)))
        .figure(Heading::OWN, |line| line.row.held.own.bytes)
        .right(Heading::UNUSED, |line| {
            line.row.held.unused_text().unwrap_or_default()
        })
        .by_size(|line: &Line<'_>| line.row.held.of(Measure::Unused))
        .figure(Heading::BLOCKS, |line| line.row.held.own.blocks)
        .only_if_sorted_or(cx.body.width >= 100)
        .left("holder", 0, move |line, cells| {
            let branch = line.tree.branch(cells < 40);
            let mark = if is_found(line) { " ◆" } else { "" };
            let style = match &line.row.name {
                _ if is_found(line) => theme::key(),
                HolderRowName::Root(_) => theme::strong(),
                _ => theme::plain(),
            };
            (format!("{branch}{}{mark}", line.name), style)
        })
        .shortened(fit_branch)
        // Of a holder that is a site, the name is the type.
        .left("type, or owner and line", 0, |line, _| {
            let text = match &line.row.name {
                HolderRowName::Place { type_key, .. } => type_key.clone().unwrap_or_default(),
                HolderRowName::Site(label) => label.owner_and_source(),
                _ => String::new(),
            };
            (text, theme::dim())
        })
        .shortened(fit_owner)
        .only_if(cx.body.width >= 100)
}

impl Heap {
    /// Returns the visible holders.
    fn lines(&self) -> List<Line<'_>> {
        self.tree.list.filter_map(|tree| {
            let row = self.rows.get(tree.node as usize)?;
            let holder = row.parent.and_then(|parent| self.rows.get(parent));
            let name = row.name.below(holder.map(|holder| &holder.name));
            Some(Line {
                tree: *tree,
                row,
                name,
            })
        })
    }

    /// Draws the selected holder: the path that holds it, and its figures.
    fn details(&self, row: &HolderRow, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let key = row.key(&self.rows);
        let key = clean(&key);
        let name = (&*key, 2, theme::strong());
        let place = self.tree.list.place("holder");
        let mut lines = Lines::details(area, buffer, &place, name);
        let held = &row.held;
        let mut items = vec![
            format!("retains {}", held.retained_text()),
            format!(
                "own {} in {}",
                Bytes(held.own.bytes),
                counted(held.own.blocks, "block")
            ),
        ];
        let unused = held.unused_text();
        items.extend(unused.map(|unused| format!("unused capacity {unused}")));
        let several = row.several(&self.rows, 3);
        items.extend(several.map(|by| format!("held by {}", clean(&by))));
        items.push(counted(row.sites.len() as u64, "site"));
        if let Some(site) = row.sites.first() {
            let site = cx.data.site(*site);
            let owner = site.and_then(|site| cx.data.profile.source_of(site.owner?));
            items.extend(owner.map(|owner| clean(&owner).into_owned()));
        }
        lines.flow(&items, theme::plain());
    }
}

/// Draws the rows that differ between two snapshots.
fn render_changes(
    changes: &List<HeldChange>,
    cx: &Context<'_>,
    [body, details]: [Rect; 2],
    buffer: &mut Buffer,
) {
    let retained = |row: &HeldChange, side: usize| {
        let held = row.sides.get(side).and_then(Option::as_ref);
        held.map_or(0, |held| held.retained_bytes)
    };
    Table::new(cx)
        .left(
            "change",
            Heading::CHANGE.width(),
            |row: &HeldChange, cells| {
                let (text, style) = change(&row.change, Measure::Live);
                (format!("{text:>cells$}"), style)
            },
        )
        .figure(Heading::THEN, move |row| retained(row, 0))
        .figure(Heading::NOW, move |row| retained(row, 1))
        .left("holder", 0, |row, _| {
            (row.identity.name.clone(), theme::plain())
        })
        .shortened(fit_branch)
        .render(body, buffer, changes, "no holder differs");
    if let Some(row) = changes.selected() {
        let name = clean(&row.identity.name);
        let name = (&*name, 2, theme::strong());
        let mut lines = Lines::details(details, buffer, &changes.place("holder"), name);
        let blocks = |side: usize| {
            let held = row.sides.get(side).and_then(Option::as_ref);
            Count(held.map_or(0, |held| held.own.blocks))
        };
        let text = format!("own blocks {} then, {} now", blocks(0), blocks(1));
        lines.line(&text, theme::plain());
    }
}
