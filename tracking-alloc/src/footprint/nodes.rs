//! The tree of places in a measured value: bounded, found by parent, kind, name and type.

use super::names::{is_unsized, well_known_bytes};
use super::room::{Index, Room};
use crate::hash::fnv1a;
use crate::tables::Type;
use tracking_alloc_recording::scope_kind;

/// Deeper places are counted at the one around them.
const MOST_DEPTH: u32 = 64;
/// Places directly inside one.
const MOST_CHILDREN: u32 = 4096;
/// Places in all.
const MOST_NODES: usize = 65_536;
/// Longer names are cut.
const MOST_NAME: usize = 256;

/// A place: all values at one path.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) parent: u32,
    pub(super) kind: u32,
    name: (u32, u32),
    /// Index of its type; [`NO_TYPE`] = none.
    pub(super) type_index: u32,
    depth: u32,
    children: u32,
    pub(super) count: u64,
    pub(super) inline_bytes: u64,
    /// Values whose size was not known when they were seen.
    pub(super) unsized_count: u64,
    /// Least distance of two such values that lay in one block.
    pub(super) step: usize,
    /// Farthest that something inside them reached.
    pub(super) extent: usize,
    pub(super) blocks: u64,
    pub(super) block_bytes: u64,
    pub(super) usable_bytes: u64,
    pub(super) used_bytes: u64,
    pub(super) shared_blocks: u64,
    pub(super) shared_bytes: u64,
}

/// Places whose values have no type of their own.
pub(super) const NO_TYPE: u32 = u32::MAX;

/// One step of a path.
#[derive(Clone, Copy)]
pub(super) struct Step<'n> {
    pub(super) kind: u32,
    pub(super) name: &'n [u8],
}

impl Step<'_> {
    pub(super) const ELEMENT: Step<'static> = Step::plain(scope_kind::ELEMENT);
    pub(super) const KEY: Step<'static> = Step::plain(scope_kind::KEY);
    pub(super) const VALUE: Step<'static> = Step::plain(scope_kind::VALUE);

    const fn plain(kind: u32) -> Step<'static> {
        Step { kind, name: b"" }
    }
}

pub(super) struct Nodes {
    pub(super) all: Room<Node>,
    pub(super) types: Room<Type>,
    /// By the address of the type's name: quick.
    by_path: Index,
    /// By its content: the same type may have its name at several addresses.
    by_content: Index,
    by_type_name: Index,
    names: Room<u8>,
    /// Values counted at the place around them.
    pub(super) folded: u64,
}

impl Nodes {
    /// The place of the value itself.
    pub(super) fn new(type_name: &'static str, bytes: usize) -> Option<Self> {
        let mut nodes = Nodes {
            all: Room::new(),
            types: Room::new(),
            by_path: Index::new(),
            by_content: Index::new(),
            by_type_name: Index::new(),
            names: Room::new(),
            folded: 0,
        };
        let type_index = nodes.type_of(type_name, Some(bytes))?;
        let root = Step::plain(scope_kind::ROOT);
        nodes.add(0, root, type_index, 0)?;
        Some(nodes)
    }

    /// The place one step inside `parent`, for values of a type: the nearest around it of the same type, if there is
    /// one. `None` = there is no room: counted at the parent.
    pub(super) fn child(
        &mut self,
        parent: u32,
        step: Step<'_>,
        type_name: &'static str,
        bytes: Option<usize>,
    ) -> Option<u32> {
        let name = &step.name[..step.name.len().min(MOST_NAME)];
        let step = Step { name, ..step };
        let of_path = fnv1a(
            u64::from(parent) << 8 | u64::from(step.kind),
            name.iter().copied(),
        );
        let is_it = |nodes: &Nodes, index: u32| {
            nodes
                .all
                .get(index as usize)
                .is_some_and(|node| nodes.is(node, parent, step, type_name))
                || nodes.folds_to(index, parent, type_name)
        };
        let quick = of_path ^ type_name.as_ptr() as u64;
        let known = self.by_path.find(quick, |index| is_it(self, index));
        if known.is_some() {
            return known;
        }
        let type_index = self.type_of(type_name, bytes)?;
        let content = of_path ^ u64::from(type_index) << 32;
        let found = self
            .by_content
            .find(content, |index| is_it(self, index))
            .or_else(|| {
                let made = self.make(parent, step, type_index)?;
                self.by_content.add(content, made)?;
                Some(made)
            });
        match found {
            Some(index) => self.by_path.add(quick, index)?,
            None => self.folded += 1,
        }
        found
    }

    fn make(&mut self, parent: u32, step: Step<'_>, type_index: u32) -> Option<u32> {
        if let Some(around) = self.same_type_around(parent, type_index) {
            return Some(around);
        }
        let around = self.all.get_mut(parent as usize)?;
        if around.depth >= MOST_DEPTH || around.children >= MOST_CHILDREN {
            return None;
        }
        around.children += 1;
        let depth = around.depth + 1;
        self.add(parent, step, type_index, depth)
    }

    fn add(&mut self, parent: u32, step: Step<'_>, type_index: u32, depth: u32) -> Option<u32> {
        if self.all.len() >= MOST_NODES {
            return None;
        }
        let start = u32::try_from(self.names.len()).ok()?;
        for byte in step.name {
            self.names.push(*byte)?;
        }
        let index = self.all.push(Node {
            parent,
            kind: step.kind,
            name: (start, step.name.len() as u32),
            type_index,
            depth,
            children: 0,
            count: 0,
            inline_bytes: 0,
            unsized_count: 0,
            step: 0,
            extent: 0,
            blocks: 0,
            block_bytes: 0,
            usable_bytes: 0,
            used_bytes: 0,
            shared_blocks: 0,
            shared_bytes: 0,
        })?;
        u32::try_from(index).ok()
    }

    /// A node's name.
    pub(super) fn name(&self, node: &Node) -> &[u8] {
        let start = node.name.0 as usize;
        self.names
            .get(start..start + node.name.1 as usize)
            .unwrap_or_default()
    }

    /// A node's type.
    pub(super) fn type_of_node(&self, node: &Node) -> Option<&Type> {
        self.types.get(node.type_index as usize)
    }

    fn is(&self, node: &Node, parent: u32, step: Step<'_>, type_name: &str) -> bool {
        node.parent == parent
            && node.kind == step.kind
            && self.name(node) == step.name
            && self.type_of_node(node).map_or("", |known| known.name) == type_name
            && node.depth > 0
    }

    /// Whether a place inside `parent` is counted at `index`, which is around it.
    fn folds_to(&self, index: u32, parent: u32, type_name: &str) -> bool {
        let same = self
            .all
            .get(index as usize)
            .and_then(|node| self.type_of_node(node))
            .is_some_and(|known| known.name == type_name);
        same && self.around(parent).any(|around| around == index)
    }

    /// `node` and the places around it, innermost first.
    fn around(&self, node: u32) -> impl Iterator<Item = u32> {
        let parent = |index: &u32| {
            let node = self.all.get(*index as usize)?;
            (node.depth > 0).then_some(node.parent)
        };
        std::iter::successors(Some(node), parent)
    }

    fn same_type_around(&self, parent: u32, type_index: u32) -> Option<u32> {
        if type_index == NO_TYPE {
            return None;
        }
        self.around(parent).find(|index| {
            self.all
                .get(*index as usize)
                .is_some_and(|node| node.type_index == type_index)
        })
    }

    /// The index of a type, learning its size.
    fn type_of(&mut self, name: &'static str, bytes: Option<usize>) -> Option<u32> {
        if name.is_empty() {
            return Some(NO_TYPE);
        }
        let index = match self.find_type(name) {
            Some(index) => index,
            None => {
                let bytes = well_known_bytes(name).unwrap_or(0);
                let index = self.types.push(Type {
                    name,
                    bytes,
                    string: 0,
                })?;
                self.by_type_name
                    .add(fnv1a(0, name.bytes()), index as u32)?;
                index as u32
            }
        };
        // Values without a size of their own (`str`) are each of another.
        if let (Some(bytes), Some(known)) = (bytes, self.types.get_mut(index as usize))
            && !is_unsized(name)
        {
            known.bytes = bytes;
        }
        Some(index)
    }

    fn find_type(&self, name: &str) -> Option<u32> {
        self.by_type_name.find(fnv1a(0, name.bytes()), |index| {
            self.types[index as usize].name == name
        })
    }

    /// The size of the values at a place whose size was not told, as well as it is known.
    pub(super) fn bytes_each(&self, index: u32) -> usize {
        let Some(node) = self.all.get(index as usize) else {
            return 0;
        };
        let of_type = self.type_of_node(node).map_or(0, |known| known.bytes);
        if of_type > 0 {
            return of_type;
        }
        let in_table = [scope_kind::KEY, scope_kind::VALUE].contains(&node.kind)
            && !self.type_of_parent(node).contains("BTreeMap<");
        if !in_table && node.step > 0 {
            return node.step;
        }
        if in_table && node.step > 0 {
            // Keys and values stand side by side in the table: what the one does not take the other has.
            let other = self.all.iter().find(|other| {
                other.parent == node.parent
                    && other.kind != node.kind
                    && [scope_kind::KEY, scope_kind::VALUE].contains(&other.kind)
            });
            let other = other.and_then(|other| self.type_of_node(other));
            let other = other.map_or(0, |known| known.bytes);
            if other > 0 && other < node.step {
                return node.step - other;
            }
        }
        if node.extent > 8 {
            node.extent.next_multiple_of(8)
        } else {
            node.extent
        }
    }

    fn type_of_parent(&self, node: &Node) -> &'static str {
        self.all
            .get(node.parent as usize)
            .and_then(|parent| self.type_of_node(parent))
            .map_or("", |known| known.name)
    }
}
