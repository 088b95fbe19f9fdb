//! Heap: who holds the heap at the moment of a snapshot, as a tree. The path above a holder says
//! what holds it, the branches below it what it holds. Two snapshots can be compared. Rows are
//! computed when something changes, never while drawing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use heapglass_profiler::diff::{HeldBy, HeldChange, HeldSide, compare_held};
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::table::{
    By, Heading, HeldMeasure, HolderRow, HolderRowName, SnapshotAt, all_snapshots, holders,
    holders_of, snapshot_at,
};
use heapglass_profiler::units::{Bytes, Count, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Jump, Outcome, Pattern, SourceLine, ViewId};
use crate::text::{clean, fit_branch, fit_owner};
use crate::theme;
use crate::views::View;
use crate::widgets::{
    Lines, List, Matches, Search, SearchNode, Shape, Sort, Table, Tree, TreeRow, change, rows_in,
    split,
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
    tree: Tree,
    sort: Sort,
    search: Search,
    /// The rows that differ, if two snapshots are compared.
    changes: Option<List<HeldChange>>,
    /// The data that the rows were computed from, with the snapshot.
    made_of: Option<(Arc<Data>, usize)>,
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

/// The holders of a snapshot, with siblings in the order of a column.
struct Holders<'a> {
    rows: &'a [HolderRow],
    by_parent: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

impl<'a> Holders<'a> {
    fn new(rows: &'a [HolderRow], sort: Sort, cx: &Context<'_>) -> Self {
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
        Holders {
            rows,
            by_parent,
            roots,
        }
    }
}

impl Shape for Holders<'_> {
    fn roots(&self) -> Vec<u32> {
        self.roots.clone()
    }

    fn children(&self, node: u32) -> Vec<u32> {
        let children = self.by_parent.get(node as usize);
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
    /// Recomputes the tree of the snapshot, and the comparison.
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
        let made_of = (Arc::clone(cx.data), at);
        let is_same = self
            .made_of
            .as_ref()
            .is_some_and(|(data, of)| Arc::ptr_eq(data, cx.data) && *of == at);
        if !is_same {
            let kept = self
                .tree
                .selected()
                .filter(|_| self.tree.list.cursor.selected > 0);
            let snapshot = profile.snapshots().get(at);
            let rows = snapshot.map(|snapshot| holders(profile, snapshot));
            let before = std::mem::replace(&mut self.rows, rows.unwrap_or_default());
            self.made_of = Some(made_of);
            // Holders have other numbers in other snapshots. The first of those with the same path
            // stands for it.
            let mut numbers: HashMap<String, u32> = HashMap::new();
            if !before.is_empty() {
                for (node, row) in (0..).zip(&self.rows) {
                    numbers.entry(row.key(&self.rows)).or_insert(node);
                }
            }
            let moved = |node: u32| {
                let row = before.get(node as usize)?;
                numbers.get(&row.key(&before)).copied()
            };
            self.tree.renumber(moved);
            self.rebuild(kept.and_then(moved), cx);
        } else {
            self.rebuild(self.tree.selected(), cx);
        }
        self.compare(cx);
    }

    fn rebuild(&mut self, kept: Option<u32>, cx: &Context<'_>) {
        let [_, tree, _] = panes(cx, cx.area());
        self.tree.list.height = rows_in(tree);
        let shape = Holders::new(&self.rows, self.sort, cx);
        self.tree.refresh(&shape, kept);
        self.find();
    }

    /// Computes the rows that differ between two snapshots.
    fn compare(&mut self, cx: &Context<'_>) {
        let profile = &cx.data.profile;
        let sides = self.compared(profile).map(|sides| {
            sides.map(|at| HeldSide {
                name: "this recording",
                profile,
                at,
            })
        });
        let changes = sides.map(|[base, new]| {
            let diff = compare_held(base, new, HeldBy::Holder, HeldMeasure::Retained);
            diff.rows
        });
        self.changes = changes.map(|rows| {
            let [_, body, _] = panes(cx, cx.area());
            let mut list = self.changes.take().unwrap_or_default();
            let key = |row: &HeldChange| row.identity.clone();
            list.replace(rows, key, false, rows_in(body));
            list
        });
    }

    /// Returns the two snapshots that are compared, the earlier one first.
    fn compared<'a>(&self, profile: &'a Profile) -> Option<[SnapshotAt<'a>; 2]> {
        let (at, anchor) = (self.at?, self.anchor?);
        let snapshot = |at: usize| all_snapshots(profile).nth(at);
        (at != anchor).then_some(())?;
        Some([snapshot(at.min(anchor))?, snapshot(at.max(anchor))?])
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

    fn reveal(&mut self, node: u32, cx: &Context<'_>) {
        let shape = Holders::new(&self.rows, self.sort, cx);
        self.tree.reveal(&shape, node);
    }

    fn selected(&self) -> Option<&HolderRow> {
        self.rows.get(self.tree.selected()? as usize)
    }

    fn site(&self) -> Option<Jump> {
        self.selected()?.sites.first().copied().map(Jump::Site)
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
                self.compare(cx);
                return if self.anchor.is_some() {
                    Outcome::notice("] shows the changes to the next snapshot")
                } else {
                    Outcome::Done
                };
            }
            Command::Back if self.anchor.take().is_some() => {
                self.compare(cx);
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
        let shape = Holders::new(&self.rows, self.sort, cx);
        if self.tree.command(command, &shape) {
            return Outcome::Done;
        }
        if let Some(outcome) = table(self.sort, cx, None, 0).command(command, &mut self.sort) {
            self.rebuild(self.tree.selected(), cx);
            return outcome;
        }
        let reveal = |node| self.tree.reveal(&shape, node);
        if let Some(outcome) = self.search.step_node(command, reveal) {
            return outcome;
        }
        const NO_SITE: &str = "this holder has no blocks of its own";
        match command {
            Command::Enter => Outcome::goto(ViewId::Sites, self.site(), NO_SITE),
            Command::Follow => Outcome::goto(ViewId::Flamegraph, self.site(), NO_SITE),
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

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        let site = *self.selected()?.sites.first()?;
        SourceLine::of(cx.data, cx.data.site(site)?.owner?)
    }

    fn found(&self, _: &Context<'_>) -> Option<String> {
        let whole = self.rows.iter().filter(|row| row.parent.is_none());
        let whole = whole.fold(0_u64, |sum, row| {
            sum.saturating_add(row.held.retained_bytes)
        });
        self.search.found_nodes("holder", whole, "the snapshot")
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let profile = &cx.data.profile;
        let at = self.at.and_then(|at| all_snapshots(profile).nth(at));
        let Some(at) = at else {
            return absent(cx.data, area, buffer);
        };
        let [title, body, details] = panes(cx, area);
        let mut lines = Lines::new(title, buffer);
        if let (Some(changes), Some(sides)) = (&self.changes, self.compared(profile)) {
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
        let list = self.tree.list.filter_map(|tree| {
            let row = self.rows.get(tree.node as usize)?;
            let holder = row.parent.and_then(|parent| self.rows.get(parent));
            let name = row.name.below(holder.map(|holder| &holder.name));
            Some(Line {
                tree: *tree,
                row,
                name,
            })
        });
        let whole = at.whole(HeldMeasure::Retained);
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
        self.compare(cx);
        match holders_of(&self.rows, *site).first() {
            Some(row) => {
                self.reveal(*row as u32, cx);
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
        .figure(Heading::HELD, retained)
        .figure(Heading::OWN, |line| line.row.held.own.bytes)
        .right(Heading::UNUSED, |line| {
            line.row.held.unused_text().unwrap_or_default()
        })
        .by_size(|line: &Line<'_>| line.row.held.of(HeldMeasure::Unused))
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
        .left("type", 0, |line, _| {
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
    /// Draws the selected holder: the path that holds it, and its figures.
    fn details(&self, row: &HolderRow, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let key = row.key(&self.rows);
        let key = clean(&key);
        let name = (&*key, 2, theme::strong());
        let place = self.tree.list.place("holder");
        let mut lines = Lines::details(area, buffer, &place, name);
        let held = &row.held;
        let mut items = vec![
            format!("retains {}", Bytes(held.retained_bytes)),
            format!(
                "own {} in {}",
                Bytes(held.own.bytes),
                counted(held.own.blocks, "block")
            ),
        ];
        let unused = held.unused_text();
        items.extend(unused.map(|unused| format!("unused capacity {unused}")));
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
