//! The frames of a page: call trees as columns, with the largest frames that fit.
//!
//! Frames are in the order in which they are drawn: each before those below it. A frame that is
//! left out stays in the figures of those around it, and is counted. A page must never show a
//! figure that the tree does not have.

use std::collections::BTreeMap;

use serde::Serialize;

use super::texts::Texts;
use super::{fallback, is_drawn};
use crate::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
use crate::diff::{HeldSide, MatchedPaths, MergedTree, of_difference};
use crate::flamegraph::{
    Caption, HolderTree, MAX_DEPTH, Names, Widths, is_of_arenas, names, palette,
};
use crate::profile::{FIGURES, Figure, Figures, Frames, Measure, Profile};
use crate::table::{By, HolderRow, SnapshotAt, holders};
use crate::units::{Bytes, Share, printable};
use heapglass_profile::internal::Interned;

/// The figures of a frame, in the order of the keys of its tree.
type Row = Vec<u64>;

/// A tree whose frames can be shown. Parents come before children.
pub(super) trait Tree {
    /// The keys of the figures of a frame.
    fn keys(&self) -> Vec<String>;
    fn len(&self) -> usize;
    /// The frames right below, in the order in which they are drawn at first.
    fn children(&self, id: NodeId) -> &[NodeId];
    /// The figures of a frame with all below it.
    fn figures(&self, id: NodeId) -> Row;
    /// The figures of the frame itself; `None` if nobody asks for them.
    fn own(&self, id: NodeId) -> Option<Row>;
    /// The largest part that the frame is of the whole by any measure: never less than that of a
    /// frame below it.
    fn weight(&self, id: NodeId) -> f64;
    fn names(&self, id: NodeId) -> Names;
    /// Red, green, blue; the number of source frames that it stands for, and how often its function
    /// is on the stack.
    fn look(&self, id: NodeId) -> ((u8, u8, u8), u32, u32);
}

/// The part of a tree that fits into a page.
#[derive(Serialize)]
pub(super) struct TreeJson {
    /// `stack`, `field`, `type`, `arena` or `holder`.
    by: &'static str,
    /// The frames of stacks: `folded`, `own`, `trimmed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<&'static str>,
    inverted: bool,
    /// The measures that the tree has, by key.
    measures: Vec<&'static str>,
    /// Distance of each frame from the root, which is the first.
    depth: Vec<u32>,
    /// Index into the labels of the page.
    label: Vec<u32>,
    /// A column for each figure that is not always 0.
    figures: BTreeMap<String, Vec<u64>>,
    /// Frames with something below them that have figures of their own: the index of the frame,
    /// and its own figures.
    own: Vec<(u32, BTreeMap<String, u64>)>,
    /// Frames with something below them that is left out.
    open: Vec<u32>,
    left_out: LeftOut,
}

/// The frames that a page leaves out for lack of space.
#[derive(Default, Serialize)]
struct LeftOut {
    frames: usize,
    /// The largest part of the whole, by any measure, that one of them is.
    share: f64,
    /// Frames that are too deep to be drawn.
    deep: usize,
}

/// The label of a frame: the numbers of its short name, its name, its place and its colour, the
/// number of source frames that it stands for, and how often its function is on the stack.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Label(u32, u32, Option<u32>, u32, u32, u32);

/// The labels and colours of all trees of a page.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) labels: Interned<Label>,
    colors: Interned<(u8, u8, u8)>,
}

impl Labels {
    fn number(&mut self, tree: &impl Tree, id: NodeId, texts: &mut Texts) -> u32 {
        let Names { label, name, place } = tree.names(id);
        let (color, frames, recursion) = tree.look(id);
        let (label, name) = (texts.number(&label), texts.number(&name));
        let place = place.map(|place| texts.number(&place));
        let color = self.colors.number(color);
        let label = Label(label, name, place, color, frames, recursion);
        self.labels.number(label)
    }

    /// Returns the colours, in the order of their numbers.
    pub(super) fn colors(&self) -> Vec<String> {
        self.colors
            .values
            .iter()
            .copied()
            .map(palette::hex)
            .collect()
    }
}

/// The kind of a tree.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) by: &'static str,
    pub(super) frames: Option<Frames>,
    pub(super) inverted: bool,
}

/// Returns the largest frames that fit into about `space` bytes of JSON.
pub(super) fn largest(
    tree: &impl Tree,
    kind: Kind,
    space: usize,
    (labels, texts): (&mut Labels, &mut Texts),
) -> TreeJson {
    let keys = tree.keys();
    let ids = || (0..tree.len() as u32).map(NodeId);
    let mut depths = vec![0_u32; tree.len()];
    for id in ids() {
        for child in tree.children(id) {
            depths[child.0 as usize] = depths[id.0 as usize] + 1;
        }
    }
    let mut order: Vec<(f64, NodeId)> = ids()
        .map(|id| (tree.weight(id), id))
        .filter(|(weight, id)| *weight > 0.0 || *id == NodeId::ROOT)
        .collect();
    let all = order.len();
    order.retain(|(_, id)| depths[id.0 as usize] as usize <= MAX_DEPTH);
    let deep = all - order.len();
    // A frame is at least as large as those below it, and stands before them: so if it does not
    // fit, they have none.
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut label_of: Vec<Option<u32>> = vec![None; tree.len()];
    let mut used = 0;
    let mut kept = 0;
    for (_, id) in &order {
        if used > space {
            break;
        }
        let texts_before = texts.bytes();
        let labels_before = labels.labels.values.len();
        label_of[id.0 as usize] = Some(labels.number(tree, *id, texts));
        let digits = |figure: u64| figure.checked_ilog10().map_or(2, |log| log as usize + 2);
        let figures: usize = tree.figures(*id).into_iter().map(digits).sum();
        let new_label = if labels.labels.values.len() > labels_before {
            24
        } else {
            0
        };
        used += figures + 9 + new_label + texts.bytes() - texts_before;
        kept += 1;
    }
    let left_out = LeftOut {
        frames: order.len() - kept,
        share: order.get(kept).map_or(0.0, |(weight, _)| *weight),
        deep,
    };
    let mut made = TreeJson {
        by: kind.by,
        frames: kind.frames.map(Frames::name),
        inverted: kind.inverted,
        measures: Vec::new(),
        depth: Vec::with_capacity(kept),
        label: Vec::with_capacity(kept),
        figures: BTreeMap::new(),
        own: Vec::new(),
        open: Vec::new(),
        left_out,
    };
    let mut columns: Vec<Vec<u64>> = vec![Vec::with_capacity(kept); keys.len()];
    let mut todo = vec![NodeId::ROOT];
    while let Some(id) = todo.pop() {
        let Some(label) = label_of[id.0 as usize] else {
            continue;
        };
        let index = made.depth.len() as u32;
        made.depth.push(depths[id.0 as usize]);
        made.label.push(label);
        for (column, figure) in columns.iter_mut().zip(tree.figures(id)) {
            column.push(figure);
        }
        let children = tree.children(id);
        let is_open = children
            .iter()
            .any(|child| label_of[child.0 as usize].is_none() && tree.weight(*child) > 0.0);
        if is_open {
            made.open.push(index);
        }
        let own = tree.own(id).filter(|_| !children.is_empty());
        let own: BTreeMap<String, u64> = keys
            .iter()
            .cloned()
            .zip(own.into_iter().flatten())
            .filter(|(_, figure)| *figure > 0)
            .collect();
        if !own.is_empty() {
            made.own.push((index, own));
        }
        todo.extend(children.iter().rev());
    }
    let is_used = |column: &Vec<u64>| column.first().is_some_and(|whole| *whole > 0);
    made.figures = keys
        .into_iter()
        .zip(columns)
        .filter(|(_, column)| is_used(column))
        .collect();
    made.measures = Measure::COUNTED
        .map(Measure::key)
        .into_iter()
        .chain(Measure::OF_SNAPSHOTS.map(Measure::key))
        .filter(|key| made.figures.contains_key(*key))
        .collect();
    made
}

impl TreeJson {
    /// Returns `true` if there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }
}

/// Returns the largest part that figures are of others by any of some measures.
pub(super) fn share_of(part: &Figures, whole: &Figures, measures: &[Measure]) -> f64 {
    let shares = measures.iter().map(|measure| {
        let whole = measure.of(whole);
        measure.of(part) as f64 / whole.max(1) as f64
    });
    shares.fold(0.0, f64::max)
}

/// A call tree of a recording.
pub(super) struct CountedTree<'a> {
    pub(super) tree: CallTree,
    pub(super) profile: &'a Profile,
    measures: Vec<Measure>,
    /// The figures of a frame: every measure, and its blocks.
    figures: Vec<Figure>,
}

impl<'a> CountedTree<'a> {
    pub(super) fn new(profile: &'a Profile, options: &CallTreeOptions) -> CountedTree<'a> {
        let are_estimates = profile.capture().sampling.is_some();
        let measures: Vec<Measure> = Measure::COUNTED
            .into_iter()
            .filter(|measure| is_drawn(*measure, are_estimates))
            .filter(|measure| options.levels != Levels::Arena || is_of_arenas(*measure))
            .collect();
        let blocks = ["peak_blocks", "live_blocks", "temporary_blocks"];
        let of_tree = |key: &str| {
            let is_measure = measures.iter().any(|measure| measure.key() == key);
            let has_blocks = options.levels != Levels::Arena && !are_estimates;
            is_measure || (has_blocks && blocks.contains(&key))
        };
        CountedTree {
            figures: FIGURES
                .into_iter()
                .filter(|(key, _)| of_tree(key))
                .collect(),
            tree: CallTree::sorted(profile, options),
            profile,
            measures,
        }
    }

    fn row(&self, of: &Figures) -> Row {
        self.figures.iter().map(|(_, figure)| figure(of)).collect()
    }
}

impl Tree for CountedTree<'_> {
    fn keys(&self) -> Vec<String> {
        self.figures
            .iter()
            .map(|(key, _)| (*key).to_owned())
            .collect()
    }
    fn len(&self) -> usize {
        self.tree.len()
    }
    fn children(&self, id: NodeId) -> &[NodeId] {
        self.tree.children(id)
    }
    fn figures(&self, id: NodeId) -> Row {
        self.row(self.tree.total(id))
    }
    fn own(&self, id: NodeId) -> Option<Row> {
        Some(self.row(self.tree.own(id)))
    }
    fn weight(&self, id: NodeId) -> f64 {
        let whole = self.tree.total(NodeId::ROOT);
        share_of(self.tree.total(id), whole, &self.measures)
    }
    fn names(&self, id: NodeId) -> Names {
        names(&self.tree, id, self.profile)
    }
    fn look(&self, id: NodeId) -> ((u8, u8, u8), u32, u32) {
        let node = self.tree.node(id);
        let color = palette::of_node(&self.tree, id, self.profile);
        (color, node.frames, node.recursion)
    }
}

/// The holders of a snapshot.
pub(super) struct HeldTree<'a> {
    tree: HolderTree,
    profile: &'a Profile,
    /// The figures of the root, which are sums over the outermost holders.
    whole: [u64; Measure::OF_SNAPSHOTS.len()],
}

impl<'a> HeldTree<'a> {
    /// Creates the tree; the measure is that of its picture.
    pub(super) fn new(profile: &'a Profile, at: SnapshotAt<'_>, measure: Measure) -> HeldTree<'a> {
        let rows = holders(profile, at.snapshot);
        let tree = HolderTree::new(rows, measure);
        HeldTree {
            whole: Measure::OF_SNAPSHOTS.map(|measure| tree.figure(NodeId::ROOT, measure)),
            tree,
            profile,
        }
    }

    /// Returns the picture for readers without scripts.
    pub(super) fn picture(&self) -> String {
        let whole = self.tree.width(NodeId::ROOT);
        let caption = |id: NodeId| {
            let value = self.tree.width(id);
            let label = format!("{} {}", self.tree.names(id).label, Bytes(value));
            let share = Share::of(value, whole);
            Caption {
                title: format!("{label}, {share}"),
                label,
            }
        };
        let color = |id: NodeId| self.tree.color(id, self.profile);
        fallback::picture(&self.tree, color, caption)
    }

    /// Returns the holders.
    pub(super) fn rows(&self) -> &[HolderRow] {
        self.tree.rows()
    }
}

impl Tree for HeldTree<'_> {
    fn keys(&self) -> Vec<String> {
        Measure::OF_SNAPSHOTS
            .map(|measure| measure.key().to_owned())
            .to_vec()
    }
    fn len(&self) -> usize {
        Widths::len(&self.tree)
    }
    fn children(&self, id: NodeId) -> &[NodeId] {
        Widths::children(&self.tree, id)
    }
    fn figures(&self, id: NodeId) -> Row {
        let figure = |measure| self.tree.figure(id, measure);
        Measure::OF_SNAPSHOTS.map(figure).to_vec()
    }
    fn own(&self, id: NodeId) -> Option<Row> {
        let own = &self.tree.row(id)?.held.own;
        Some(vec![own.bytes, own.unused_bytes])
    }
    fn weight(&self, id: NodeId) -> f64 {
        let figures = self.figures(id).into_iter().zip(self.whole);
        figures
            .map(|(figure, whole)| figure as f64 / whole.max(1) as f64)
            .fold(0.0, f64::max)
    }
    fn names(&self, id: NodeId) -> Names {
        self.tree.names(id)
    }
    fn look(&self, id: NodeId) -> ((u8, u8, u8), u32, u32) {
        (self.tree.color(id, self.profile), 1, 1)
    }
}

/// The call trees or the holders of two sides as one, by each measure.
pub(super) struct TwoTrees {
    /// The same frames in the same order, with the figures of each measure, by its key.
    by_measure: Vec<(&'static str, MergedTree)>,
    /// The index of the measure that was asked for.
    first: usize,
}

impl TwoTrees {
    /// Merges the trees of two profiles; `None` if neither has any of the measures.
    pub(super) fn new(
        profiles: [&Profile; 2],
        options: &CallTreeOptions,
        measures: &[Measure],
    ) -> Option<TwoTrees> {
        let trees = profiles.map(|profile| CallTree::build(profile, options));
        let sides = [(&trees[0], profiles[0]), (&trees[1], profiles[1])];
        let paths = MatchedPaths::new(sides);
        let by_measure: Vec<(&str, MergedTree)> = measures
            .iter()
            .filter(|measure| {
                trees
                    .iter()
                    .any(|tree| measure.of(tree.total(NodeId::ROOT)) > 0)
            })
            .map(|measure| (measure.key(), paths.by(*measure)))
            .collect();
        TwoTrees::with_first(by_measure, options.measure.key())
    }

    /// Merges the holders of two snapshots; `None` if neither has any.
    pub(super) fn of_holders(sides: [HeldSide<'_>; 2], first: Measure) -> Option<TwoTrees> {
        let by_measure = Measure::OF_SNAPSHOTS.map(|measure| {
            let tree = MergedTree::of_holders(sides, By::Holder, measure).ok();
            Some((measure.key(), tree?))
        });
        let by_measure = by_measure.into_iter().flatten();
        let is_used = |(_, tree): &(_, MergedTree)| tree.node(NodeId::ROOT).totals != [0, 0];
        TwoTrees::with_first(by_measure.filter(is_used).collect(), first.key())
    }

    fn with_first(by_measure: Vec<(&'static str, MergedTree)>, first: &str) -> Option<TwoTrees> {
        let first = by_measure.iter().position(|(key, _)| *key == first);
        (!by_measure.is_empty()).then_some(TwoTrees {
            by_measure,
            first: first.unwrap_or(0),
        })
    }

    /// Returns the key of the measure that was asked for, and the tree by it.
    pub(super) fn first(&self) -> (&'static str, &MergedTree) {
        let (key, tree) = &self.by_measure[self.first];
        (key, tree)
    }
}

impl Tree for TwoTrees {
    /// For each measure its width, and its figures on each side.
    fn keys(&self) -> Vec<String> {
        let keys = self.by_measure.iter().flat_map(|(key, _)| {
            let key = *key;
            [key.to_owned(), format!("base_{key}"), format!("new_{key}")]
        });
        keys.collect()
    }
    fn len(&self) -> usize {
        self.first().1.len()
    }
    fn children(&self, id: NodeId) -> &[NodeId] {
        self.first().1.children(id)
    }
    fn figures(&self, id: NodeId) -> Row {
        let figures = self.by_measure.iter().flat_map(|(_, tree)| {
            let [base, new] = tree.node(id).totals;
            [tree.width(id), base, new]
        });
        figures.collect()
    }
    fn own(&self, _: NodeId) -> Option<Row> {
        None
    }
    fn weight(&self, id: NodeId) -> f64 {
        let shares = self
            .by_measure
            .iter()
            .map(|(_, tree)| tree.width(id) as f64 / tree.width(NodeId::ROOT).max(1) as f64);
        shares.fold(0.0, f64::max)
    }
    fn names(&self, id: NodeId) -> Names {
        let (_, tree) = self.first();
        let (name, short) = (tree.name(id), tree.short(id));
        Names {
            label: printable(short.trim()).into_owned(),
            name: printable(name.trim()).into_owned(),
            place: None,
        }
    }
    fn look(&self, _: NodeId) -> ((u8, u8, u8), u32, u32) {
        // The page colours differences, by the measure that it shows.
        (of_difference(0, 1), 1, 1)
    }
}
