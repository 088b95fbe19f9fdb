//! The call tree: sites merged along their stacks, their fields or their types, or the contents of
//! arenas, with own and total figures at every node. Flamegraphs, folded stacks and the terminal UI
//! walk it.
//!
//! The tree is one list of nodes: nodes name each other by [`NodeId`], parents come before
//! children, and node 0 is the root. Its total equals the sum of the sites in the tree. This module
//! must never recurse, because stacks may be tens of thousands of frames deep, and must never drop
//! a byte: a site without frames still has a node.
//!
//! ```
//! use heapglass_profile::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
//! use heapglass_profile::profile::Measure;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let options = CallTreeOptions {
//!     levels: Levels::Field,
//!     measure: Measure::Peak,
//!     ..CallTreeOptions::default()
//! };
//! let tree = CallTree::sorted(&profile, &options);
//! assert_eq!(tree.total(NodeId::ROOT), profile.totals());
//! let root = tree.children(NodeId::ROOT)[0];
//! assert_eq!(tree.short_name(root, &profile), "Catalog");
//! for &field in tree.children(root) {
//!     let name = tree.short_name(field, &profile);
//!     println!("{name}: {} bytes", tree.total(field).peak_bytes);
//! }
//! ```

mod arenas;
mod build;
mod folded;

use std::borrow::Cow;

use crate::profile::{Figures, FrameId, Frames, Label, Measure, Profile, ScopeId};

pub use build::stack_of;
pub use folded::{push_name, write_folded};

/// Index of a node of a [`CallTree`]; 0 is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The root: everything.
    pub const ROOT: NodeId = NodeId(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The meaning of the levels of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Levels {
    /// Functions along the stack.
    #[default]
    Stack,
    /// Fields of the data from the root inward, then the type of the blocks.
    Field,
    /// Types, then the field (outside all data, the type being built), then the function.
    Type,
    /// Arenas, then the fields and types inside. Figures are bytes inside blocks that other trees
    /// count already.
    Arena,
}

impl Levels {
    /// Every kind, in the order frontends offer them.
    pub const ALL: [Levels; 4] = [Levels::Stack, Levels::Field, Levels::Type, Levels::Arena];

    /// Returns the word of the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Options of a [`CallTree`]: which sites it contains and how it grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTreeOptions {
    /// The meaning of its levels.
    pub levels: Levels,
    /// With [`Levels::Arena`], show only this arena, an index into [`Profile::arenas`].
    pub arena: Option<usize>,
    /// The measure of the tree. [`Levels::Arena`] supports only bytes allocated (`Total`) and live
    /// bytes (`Live`).
    pub measure: Measure,
    /// Grow from the allocation outward (callers below callees) instead of from `main` inward.
    pub inverted: bool,
    /// The frames of a stack that become nodes.
    pub frames: Frames,
    /// Show phases as the outermost frames: `[load]`.
    pub scopes: bool,
    /// Only sites of this phase or field and of what lies inside it.
    pub within: Option<ScopeId>,
}

/// A node: a label under one path.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The meaning of the node.
    pub label: Label,
    /// The node around it; the root has none.
    pub parent: Option<NodeId>,
    /// Distance from the root.
    pub depth: u32,
    /// A source frame of a function: the first one met.
    pub frame: Option<FrameId>,
    /// `true` if frames at other lines were merged into this node, so that [`Node::frame`] is only
    /// one of several.
    pub several_places: bool,
    /// Maximum number of frames that it stands for.
    pub frames: u32,
    /// Maximum number of times that its function is on the stack; 1 = no recursion.
    pub recursion: u32,
    /// Position among its siblings by name: breaks ties.
    rank: u32,
    /// Index of its own figures in those of the tree; 0 = none.
    own: u32,
    /// Index of its total in the figures of the tree.
    total: u32,
    /// Its part of the tree's list of children.
    children: (u32, u32),
}

/// Sites merged by what they have in common.
#[derive(Clone, Debug)]
pub struct CallTree {
    levels: Levels,
    nodes: Vec<Node>,
    /// The own figures of nodes, then the totals of nodes with everything below them; row 0 is all
    /// zero. Few nodes have figures of their own, and most nodes of deep stacks only pass on what
    /// their one child has, so several nodes share a row.
    figures: Vec<Figures>,
    children: Vec<NodeId>,
    leaves: Vec<Option<NodeId>>,
}

impl CallTree {
    /// Merges the sites of `profile`. Children are in the order of their names until
    /// [`CallTree::sort`].
    pub fn build(profile: &Profile, options: &CallTreeOptions) -> CallTree {
        build::build(profile, options)
    }

    /// Builds the tree as [`CallTree::build`] does, with children in the order of the measure of
    /// `options`, the largest first.
    pub fn sorted(profile: &Profile, options: &CallTreeOptions) -> CallTree {
        let mut tree = CallTree::build(profile, options);
        tree.sort(options.measure);
        tree
    }

    /// Returns the meaning of its levels.
    pub fn levels(&self) -> Levels {
        self.levels
    }

    /// Returns the number of nodes, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns `true` if there is nothing below the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// Returns every id, parents before children.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Every id, each node before those below it, siblings in the order of the last
    /// [`CallTree::sort`].
    pub fn preorder(&self) -> impl Iterator<Item = NodeId> + use<'_> {
        let mut todo = vec![NodeId::ROOT];
        std::iter::from_fn(move || {
            let id = todo.pop()?;
            todo.extend(self.children(id).iter().rev());
            Some(id)
        })
    }

    /// Returns the node of an id.
    ///
    /// # Panics
    /// Panics if the id belongs to another, larger tree.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the figures of the node and everything below it.
    ///
    /// # Panics
    /// Panics if the id belongs to another, larger tree.
    pub fn total(&self, id: NodeId) -> &Figures {
        &self.figures[self.node(id).total as usize]
    }

    /// Returns the figures of the sites that end at the node itself.
    ///
    /// # Panics
    /// Panics if the id belongs to another, larger tree.
    pub fn own(&self, id: NodeId) -> &Figures {
        &self.figures[self.node(id).own as usize]
    }

    /// Returns the nodes right below, in the order of the last [`CallTree::sort`].
    ///
    /// # Panics
    /// Panics if the id belongs to another, larger tree.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        let (start, end) = self.node(id).children;
        &self.children[start as usize..end as usize]
    }

    /// Orders all children by `measure`, largest first; ties by name, so the order is the same in
    /// every run.
    pub fn sort(&mut self, measure: Measure) {
        let mut children = std::mem::take(&mut self.children);
        for node in &self.nodes {
            let (start, end) = node.children;
            children[start as usize..end as usize].sort_unstable_by_key(|&id| {
                (
                    std::cmp::Reverse(measure.of(self.total(id))),
                    self.node(id).rank,
                )
            });
        }
        self.children = children;
    }

    /// From the root (left out) to the node.
    pub fn path(&self, id: NodeId) -> Vec<NodeId> {
        let around = std::iter::successors(Some(id), |&at| self.node(at).parent);
        let mut path: Vec<NodeId> = around.take_while(|&at| at != NodeId::ROOT).collect();
        path.reverse();
        path
    }

    /// The node at which a site of the profile ends, or `None` when the options left the site out.
    pub fn leaf(&self, site: usize) -> Option<NodeId> {
        self.leaves.get(site).copied().flatten()
    }

    /// The whole name as recorded: `alloc::vec::Vec<T,A>::push`, `[load]`, `all`. Not safe for a
    /// terminal before [`crate::units::printable`].
    pub fn name<'a>(&self, id: NodeId, profile: &'a Profile) -> Cow<'a, str> {
        self.node(id).label.name(profile)
    }

    /// The name for narrow cells: `Vec::push`. Not safe for a terminal before
    /// [`crate::units::printable`].
    pub fn short_name<'a>(&self, id: NodeId, profile: &'a Profile) -> Cow<'a, str> {
        self.node(id).label.short_name(profile)
    }
}
