//! The call trees of two recordings, or the holders of two snapshots, as one: nodes of the same
//! path are one node with a figure for each side, and so are the nodes of a renamed call.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::held::HeldSide;
use super::identity::stable;
use crate::calltree::{CallTree, NodeId};
use crate::flamegraph::Widths;
use crate::profile::{Label, Measure, Profile};
use crate::question::{Of, Question, Tree, tree};
use crate::table::By;
use heapglass_profile::internal::Interned;

/// A node of either tree or of both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// The whole name, without addresses: an index into the texts.
    name: u32,
    /// The name for narrow cells.
    short: u32,
    parent: usize,
    /// With all below it, of the two sides.
    pub(crate) totals: [u64; 2],
    /// The larger side of each path's own figure, summed up: what was added and what was removed
    /// are both as wide as they are.
    width: u64,
    children: Vec<NodeId>,
}

/// Two trees as one; node 0 is the root.
pub(crate) struct MergedTree {
    nodes: Vec<Node>,
    /// The node of each node of the second side, in its order; empty for snapshots.
    pub(super) places: Vec<NodeId>,
    /// Each text once: many nodes may share a long name.
    texts: Rc<Interned<Rc<str>>>,
}

/// The paths of the call trees of two sides, matched once: the tree by a measure is a view of them.
pub(crate) struct MatchedPaths<'a> {
    trees: [&'a CallTree; 2],
    /// Nodes without figures.
    nodes: Vec<Node>,
    /// By node: the nodes of either side that it stands for.
    members: Vec<[Vec<NodeId>; 2]>,
    places: Vec<NodeId>,
    texts: Rc<Interned<Rc<str>>>,
}

impl<'a> MatchedPaths<'a> {
    pub(crate) fn new(sides: [(&'a CallTree, &Profile); 2]) -> MatchedPaths<'a> {
        let mut texts: Interned<Rc<str>> = Interned::new();
        let all = texts.number("all".into());
        let sides = sides.map(|(tree, profile)| Side::new(tree, profile, &mut texts));
        let mut places = vec![NodeId::ROOT; sides[1].tree.len()];
        let mut nodes = vec![Node {
            name: all,
            short: all,
            ..Node::default()
        }];
        let mut members = vec![[vec![NodeId::ROOT], vec![NodeId::ROOT]]];
        let mut at = 0;
        while at < nodes.len() {
            for id in &members[at][1] {
                places[id.0 as usize] = NodeId(at as u32);
            }
            for child in paired(&sides, &members[at]) {
                let (name, short) = child.names(&sides, &mut texts);
                nodes.push(Node {
                    name,
                    short,
                    parent: at,
                    ..Node::default()
                });
                members.push(child.members);
            }
            at += 1;
        }
        MatchedPaths {
            trees: [sides[0].tree, sides[1].tree],
            nodes,
            members,
            places,
            texts: Rc::new(texts),
        }
    }

    /// Returns the tree with the figures of a measure.
    pub(crate) fn by(&self, measure: Measure) -> MergedTree {
        let mut nodes = self.nodes.clone();
        for (node, members) in nodes.iter_mut().zip(&self.members) {
            let sides = members.iter().zip(self.trees).zip(&mut node.totals);
            for ((members, tree), own) in sides {
                for id in members {
                    *own = own.saturating_add(measure.of(tree.own(*id)));
                }
            }
        }
        let mut merged = MergedTree {
            nodes,
            places: self.places.clone(),
            texts: self.texts.clone(),
        };
        merged.sum();
        merged
    }
}

impl MergedTree {
    /// Merges the trees of two snapshots by a grouping. Blocks whose figure is not known count as
    /// 0.
    ///
    /// # Errors
    /// Returns the sentence that says why there is no such tree.
    pub(crate) fn of_holders(
        sides: [HeldSide<'_>; 2],
        by: By,
        measure: Measure,
    ) -> Result<MergedTree, String> {
        let mut texts: Interned<Rc<str>> = Interned::new();
        let all = texts.number("all".into());
        let mut nodes = vec![Node {
            name: all,
            short: all,
            ..Node::default()
        }];
        let mut known: HashMap<(usize, u32), usize> = HashMap::new();
        for (side, HeldSide { profile, at, .. }) in sides.into_iter().enumerate() {
            let question = Question {
                of: Of::Snapshot(at),
                by,
                measure,
                ..Question::default()
            };
            let Tree::Holders(_, rows) = tree(profile, &question)? else {
                continue;
            };
            let values: Vec<u64> = rows
                .iter()
                .map(|row| row.held.of(measure).unwrap_or(0))
                .collect();
            let mut places: Vec<usize> = Vec::with_capacity(rows.len());
            // Parents come before children.
            for (row, &value) in rows.iter().zip(&values) {
                let parent = row.parent.map_or(0, |parent| places[parent]);
                let above = row.parent.map(|parent| &rows[parent].name);
                let name = texts.number(stable(&row.name.step(above)).into());
                let short = texts.number(stable(&row.name.below(above)).into());
                let place = *known.entry((parent, name)).or_insert(nodes.len());
                if place == nodes.len() {
                    nodes.push(Node {
                        name,
                        short,
                        parent,
                        ..Node::default()
                    });
                }
                places.push(place);
                let of_node = &mut nodes[place].totals[side];
                *of_node = of_node.saturating_add(value);
            }
            // A row has what lies below it too.
            for (row, value) in rows.iter().zip(values) {
                if let Some(parent) = row.parent {
                    let of_parent = &mut nodes[places[parent]].totals[side];
                    *of_parent = of_parent.saturating_sub(value);
                }
            }
        }
        let mut merged = MergedTree {
            nodes,
            places: Vec::new(),
            texts: Rc::new(texts),
        };
        merged.sum();
        Ok(merged)
    }

    /// Adds what lies below each node to its own figures.
    fn sum(&mut self) {
        for node in &mut self.nodes {
            node.width = node.totals[0].max(node.totals[1]);
        }
        for at in (1..self.nodes.len()).rev() {
            let &Node {
                totals,
                width,
                parent,
                ..
            } = &self.nodes[at];
            let parent = &mut self.nodes[parent];
            for (sum, of_child) in parent.totals.iter_mut().zip(totals) {
                *sum = sum.saturating_add(of_child);
            }
            parent.width = parent.width.saturating_add(width);
            parent.children.push(NodeId(at as u32));
        }
        let widths: Vec<u64> = self.nodes.iter().map(|node| node.width).collect();
        for node in &mut self.nodes {
            let width = |id: &NodeId| (std::cmp::Reverse(widths[id.0 as usize]), id.0);
            node.children.sort_by_key(width);
        }
    }

    /// The whole name of a node, as recorded but without addresses.
    pub(crate) fn name(&self, id: NodeId) -> &str {
        &self.texts.values[self.node(id).name as usize]
    }

    /// Its name for narrow cells.
    pub(crate) fn short(&self, id: NodeId) -> &str {
        &self.texts.values[self.node(id).short as usize]
    }

    /// The node of an id.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

/// The tree of a side, with what its nodes are matched by.
struct Side<'a> {
    tree: &'a CallTree,
    /// The whole name and the name for narrow cells of each node, as texts.
    names: Vec<(u32, u32)>,
    children: Vec<Vec<NodeId>>,
    /// For each node, a hash of all names below it, and `true` if one of them is a call.
    below: Vec<(u64, bool)>,
}

impl<'a> Side<'a> {
    fn new(tree: &'a CallTree, profile: &Profile, texts: &mut Interned<Rc<str>>) -> Self {
        let mut names = Vec::with_capacity(tree.len());
        let mut children = vec![Vec::new(); tree.len()];
        for id in tree.ids() {
            let name = texts.number(stable(&tree.name(id, profile)).into());
            let short = texts.number(stable(&tree.short_name(id, profile)).into());
            names.push((name, short));
            if let Some(parent) = tree.node(id).parent {
                children[parent.0 as usize].push(id);
            }
        }
        let mut below = vec![(0, false); tree.len()];
        // Parents come before children.
        for at in (0..tree.len()).rev() {
            let mut parts: Vec<(u32, u64)> = Vec::new();
            let mut has_call = false;
            for NodeId(child) in &children[at] {
                let is_call = matches!(
                    tree.node(NodeId(*child)).label,
                    Label::Function(_) | Label::Call(_)
                );
                let (hash, calls) = below[*child as usize];
                has_call |= is_call || calls;
                parts.push((names[*child as usize].0, hash));
            }
            parts.sort_unstable();
            let mut hasher = DefaultHasher::new();
            parts.hash(&mut hasher);
            below[at] = (hasher.finish(), has_call);
        }
        Side {
            tree,
            names,
            children,
            below,
        }
    }

    fn name(&self, id: NodeId) -> (u32, u32) {
        self.names[id.0 as usize]
    }

    /// Returns the hashes of the nodes below merged nodes of one name; `None` if there is no call.
    fn below(&self, ids: &[NodeId]) -> Option<Vec<u64>> {
        let below = ids.iter().map(|id| self.below[id.0 as usize]);
        let mut hashes: Vec<u64> = below.clone().map(|(hash, _)| hash).collect();
        hashes.sort_unstable();
        below
            .into_iter()
            .any(|(_, has_call)| has_call)
            .then_some(hashes)
    }
}

/// A node below a merged one, by the nodes of either side.
struct Child {
    members: [Vec<NodeId>; 2],
}

impl Child {
    /// Its names: of one that was renamed, that of the second side with the one before.
    fn names(&self, sides: &[Side<'_>; 2], texts: &mut Interned<Rc<str>>) -> (u32, u32) {
        let [base, new] = [0, 1].map(|side| {
            let first = self.members[side].first();
            first.map(|id| sides[side].name(*id))
        });
        match (base, new) {
            (Some(base), Some(new)) if base.0 != new.0 => {
                let mut was = |new: u32, base: u32| {
                    let (new, base) = (&texts.values[new as usize], &texts.values[base as usize]);
                    texts.number(format!("{new} (was {base})").into())
                };
                (was(new.0, base.0), was(new.1, base.1))
            }
            (base, new) => new.or(base).unwrap_or_default(),
        }
    }
}

/// The children of nodes that are merged: those of one name are one, and so are two of different
/// names, each on one side alone, with the same calls below them: a call that was renamed.
fn paired(sides: &[Side<'_>; 2], members: &[Vec<NodeId>; 2]) -> Vec<Child> {
    let mut children: Vec<Child> = Vec::new();
    let mut known: HashMap<u32, usize> = HashMap::new();
    for (side, members) in members.iter().enumerate() {
        let of = |id: &NodeId| &sides[side].children[id.0 as usize];
        for id in members.iter().flat_map(of) {
            let (name, _) = sides[side].name(*id);
            let at = *known.entry(name).or_insert(children.len());
            if at == children.len() {
                children.push(Child {
                    members: Default::default(),
                });
            }
            children[at].members[side].push(*id);
        }
    }
    // What only one side has, by what lies below it.
    let mut alone: HashMap<Vec<u64>, [Vec<usize>; 2]> = HashMap::new();
    for (at, child) in children.iter().enumerate() {
        let side = match &child.members {
            [_, new] if new.is_empty() => 0,
            [base, _] if base.is_empty() => 1,
            _ => continue,
        };
        if let Some(below) = sides[side].below(&child.members[side]) {
            alone.entry(below).or_default()[side].push(at);
        }
    }
    let mut renamed: Vec<usize> = Vec::new();
    for [base, new] in alone.into_values() {
        // If several look the same, nothing tells which is which.
        if let ([base], [new]) = (base.as_slice(), new.as_slice()) {
            children[*new].members[0] = std::mem::take(&mut children[*base].members[0]);
            renamed.push(*base);
        }
    }
    renamed.sort_unstable();
    for at in renamed.into_iter().rev() {
        children.remove(at);
    }
    children
}

impl Node {
    /// The second side minus the first.
    pub(crate) fn difference(&self) -> i128 {
        i128::from(self.totals[1]) - i128::from(self.totals[0])
    }
}

impl Widths for MergedTree {
    fn len(&self) -> usize {
        self.nodes.len()
    }
    fn width(&self, id: NodeId) -> u64 {
        self.node(id).width
    }
    fn children(&self, id: NodeId) -> &[NodeId] {
        &self.node(id).children
    }
}
