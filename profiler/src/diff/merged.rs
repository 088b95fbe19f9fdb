//! The call trees of two recordings as one: nodes of the same path are one node with a figure of each side.

use std::collections::HashMap;
use std::rc::Rc;

use super::identity::stable;
use crate::calltree::{CallTree, NodeId};
use crate::flamegraph::Widths;
use crate::interned::Interned;
use crate::profile::{Measure, Profile};

/// A node of either tree or of both.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// The whole name, without addresses: an index into the texts.
    name: u32,
    /// The name for narrow cells.
    short: u32,
    parent: usize,
    /// With all below it, of the two sides.
    pub(super) totals: [u64; 2],
    /// The larger side of each path's own figure, summed up: what was added and what was removed are both as wide as they
    /// are.
    width: u64,
    children: Vec<NodeId>,
}

/// Two trees as one; node 0 is the root.
pub(super) struct MergedTree {
    nodes: Vec<Node>,
    /// The node of each node of the second side, in its order.
    pub(super) places: Vec<NodeId>,
    /// Each text once: many nodes may share a long name.
    texts: Interned<Rc<str>>,
}

impl MergedTree {
    /// Merges the trees of the two sides.
    pub(super) fn new(sides: [(&CallTree, &Profile); 2], measure: Measure) -> MergedTree {
        let mut texts: Interned<Rc<str>> = Interned::new();
        let all = texts.number("all".into());
        let mut nodes = vec![Node {
            name: all,
            short: all,
            ..Node::default()
        }];
        let mut known: HashMap<(usize, u32), usize> = HashMap::new();
        let mut places = Vec::new();
        for (side, (tree, profile)) in sides.into_iter().enumerate() {
            // Where each node of this tree is: parents come before children.
            let mut at: Vec<usize> = Vec::with_capacity(tree.len());
            for id in tree.ids() {
                let merged = match tree.node(id).parent {
                    None => 0,
                    Some(parent) => {
                        let parent = at[parent.0 as usize];
                        let name = texts.number(stable(&tree.name(id, profile)).into());
                        let next = nodes.len();
                        let merged = *known.entry((parent, name)).or_insert(next);
                        if merged == next {
                            nodes.push(Node {
                                name,
                                short: texts.number(stable(&tree.short_name(id, profile)).into()),
                                parent,
                                ..Node::default()
                            });
                        }
                        merged
                    }
                };
                at.push(merged);
                let figure = measure.of(tree.own(id));
                let own = &mut nodes[merged].totals[side];
                *own = own.saturating_add(figure);
            }
            places = at.into_iter().map(|at| NodeId(at as u32)).collect();
        }
        let mut merged = MergedTree {
            nodes,
            places,
            texts,
        };
        merged.sum();
        merged
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
    pub(super) fn name(&self, id: NodeId) -> &str {
        &self.texts.values[self.node(id).name as usize]
    }

    /// Its name for narrow cells.
    pub(super) fn short(&self, id: NodeId) -> &str {
        &self.texts.values[self.node(id).short as usize]
    }

    /// The node of an id.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

impl Node {
    /// The second side minus the first.
    pub(super) fn difference(&self) -> i128 {
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
