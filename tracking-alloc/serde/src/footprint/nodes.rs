//! The tree of places in a measured value. It is bounded. Places are found by parent, kind, name
//! and type.

use super::mapped::{Index, MappedVec};
use heapglass_recorder::footprints::Type;
use heapglass_recorder::hash::fnv1a;
use tracking_alloc_recording::{FootprintNodeValue, scope_kind};

/// Maximum depth. Deeper places are counted at the enclosing place.
const MOST_DEPTH: u32 = 64;
/// Maximum number of places directly inside one place.
const MOST_CHILDREN: u32 = 4096;
/// Maximum number of places in total.
const MOST_NODES: usize = 65_536;
/// Maximum length of a name. Longer names are truncated.
const MOST_NAME: usize = 256;

/// A place: all values at one path.
#[derive(Clone, Copy, Default)]
pub(super) struct Node {
    /// The figures as in the recording. The recording also sets the strings.
    pub(super) figures: FootprintNodeValue,
    name: (u32, u32),
    /// The index of the type, or [`NO_TYPE`].
    pub(super) type_index: u32,
    depth: u32,
    children: u32,
    /// Number of values whose size was not known when they were shown.
    pub(super) unsized_count: u64,
    /// The smallest distance between two values in one block.
    pub(super) step: usize,
    /// The largest offset reached by anything inside the values.
    pub(super) extent: usize,
    /// The node of the values of these keys, or of the keys of these values. [`NO_NODE`] if they
    /// are neither.
    pair: u32,
    /// The smallest distance of a value from its key.
    pub(super) key_offset: isize,
}

const NO_NODE: u32 = u32::MAX;
/// The type index of places whose values have no type of their own.
pub(super) const NO_TYPE: u32 = u32::MAX;

/// The size of a type whose name also belongs to a type of another size.
const AMBIGUOUS: usize = usize::MAX;

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

    pub(super) fn variant(name: &'static str) -> Step<'static> {
        Step {
            kind: scope_kind::VARIANT,
            name: name.as_bytes(),
        }
    }

    const fn plain(kind: u32) -> Step<'static> {
        Step { kind, name: b"" }
    }
}

#[derive(Default)]
pub(super) struct Nodes {
    pub(super) all: MappedVec<Node>,
    pub(super) types: MappedVec<Type>,
    /// Index by parent, kind and name, regardless of the type.
    by_path: Index,
    by_type_name: Index,
    names: MappedVec<u8>,
    /// Number of values counted at the enclosing place.
    pub(super) folded: u64,
}

impl Nodes {
    /// Creates the place of the value itself.
    pub(super) fn new(type_name: &'static str, bytes: Option<usize>) -> Option<Self> {
        let mut nodes = Nodes::default();
        let type_index = nodes.type_of(type_name)?;
        nodes.learn_bytes(type_index, bytes);
        let root = Step::plain(scope_kind::ROOT);
        nodes.add(0, root, type_index, 0)?;
        Some(nodes)
    }

    pub(super) fn get(&self, index: u32) -> Option<&Node> {
        self.all.get(index as usize)
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        self.all.get_mut(index as usize)
    }

    /// Returns the place one step inside `parent`, for values of a type. If an enclosing place has
    /// the same type, that place is returned. Returns `None` if there is no room; the value is then
    /// counted at the parent.
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
        // Either the place itself, or an enclosing place at which it is counted.
        let matches = |index: u32| {
            self.get(index).is_some_and(|node| {
                self.type_name(node) == type_name
                    && (self.is(node, parent, step)
                        || !type_name.is_empty()
                            && self.around(parent).any(|around| around == index))
            })
        };
        if let Some(known) = self.by_path.find(of_path, matches) {
            let type_index = self.get(known)?.type_index;
            self.learn_bytes(type_index, bytes);
            return Some(known);
        }
        let type_index = self.type_of(type_name)?;
        self.learn_bytes(type_index, bytes);
        let Some(made) = self.make(parent, step, type_index) else {
            self.folded += 1;
            return None;
        };
        self.by_path.add(of_path, made)?;
        Some(made)
    }

    fn make(&mut self, parent: u32, step: Step<'_>, type_index: u32) -> Option<u32> {
        if let Some(around) = self.same_type_around(parent, type_index) {
            return Some(around);
        }
        let around = self.get_mut(parent)?;
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
            figures: FootprintNodeValue {
                parent,
                kind: step.kind,
                ..FootprintNodeValue::default()
            },
            name: (start, step.name.len() as u32),
            type_index,
            depth,
            pair: NO_NODE,
            ..Node::default()
        })?;
        u32::try_from(index).ok()
    }

    /// Returns a node's name.
    pub(super) fn name(&self, node: &Node) -> &[u8] {
        let start = node.name.0 as usize;
        self.names
            .get(start..start + node.name.1 as usize)
            .unwrap_or_default()
    }

    fn type_of_node(&self, node: &Node) -> Option<&Type> {
        self.types.get(node.type_index as usize)
    }

    /// Returns the name of a node's type, which is empty if it has none.
    pub(super) fn type_name(&self, node: &Node) -> &'static str {
        self.type_of_node(node).map_or("", |known| known.name)
    }

    fn is(&self, node: &Node, parent: u32, step: Step<'_>) -> bool {
        node.figures.parent == parent
            && node.figures.kind == step.kind
            && self.name(node) == step.name
            && node.depth > 0
    }

    /// Returns `node` and the enclosing places, innermost first.
    fn around(&self, node: u32) -> impl Iterator<Item = u32> {
        let parent = |index: &u32| {
            let node = self.get(*index)?;
            (node.depth > 0).then_some(node.figures.parent)
        };
        std::iter::successors(Some(node), parent)
    }

    fn same_type_around(&self, parent: u32, type_index: u32) -> Option<u32> {
        self.around(parent)
            .filter(|_| type_index != NO_TYPE)
            .find(|index| self.get(*index).map(|node| node.type_index) == Some(type_index))
    }

    /// Returns the index of a type.
    fn type_of(&mut self, name: &'static str) -> Option<u32> {
        if name.is_empty() {
            return Some(NO_TYPE);
        }
        let hash = fnv1a(0, name.bytes());
        let is_known = |index| self.types[index as usize].name == name;
        self.by_type_name.find(hash, is_known).or_else(|| {
            let index = self.types.push(Type {
                name,
                bytes: 0,
                string: 0,
            })? as u32;
            self.by_type_name.add(hash, index)?;
            Some(index)
        })
    }

    /// Notes the size of a type's values.
    fn learn_bytes(&mut self, type_index: u32, bytes: Option<usize>) {
        if let (Some(bytes), Some(known)) = (bytes, self.types.get_mut(type_index as usize)) {
            known.bytes = match known.bytes {
                0 => bytes,
                same if same == bytes => same,
                _ => AMBIGUOUS,
            };
        }
    }

    /// Notes the keys that belong to the values at a place.
    pub(super) fn link(&mut self, values: u32, key: Option<(usize, u32)>) {
        let Some((_, keys)) = key.filter(|(_, keys)| *keys != values) else {
            return;
        };
        for (one, other) in [(values, keys), (keys, values)] {
            if let Some(node) = self.get_mut(one) {
                node.pair = other;
            }
        }
    }

    /// Returns the size of the values at a place. If it is not known, returns the size of the shown
    /// part.
    pub(super) fn bytes_each(&self, index: u32) -> usize {
        let extent = self.get(index).map_or(0, |node| node.extent);
        self.known_bytes(index).unwrap_or(match extent {
            0..=8 => extent,
            _ => extent.checked_next_multiple_of(8).unwrap_or(extent),
        })
    }

    /// Returns the size of the values at a place, from their type or from their distances.
    pub(super) fn known_bytes(&self, index: u32) -> Option<usize> {
        let node = self.get(index)?;
        let of_type = self.type_of_node(node).map_or(0, |known| known.bytes);
        if of_type > 0 && of_type != AMBIGUOUS {
            return Some(of_type);
        }
        if let Some(pair) = self.get(node.pair) {
            let is_key = node.figures.kind == scope_kind::KEY;
            let (key, value) = if is_key { (node, pair) } else { (pair, node) };
            let offset = value.key_offset.unsigned_abs();
            // In a hash table, a key and its value are next to each other. In a B-tree, keys and
            // values have lists of their own.
            if offset < key.step {
                let is_first = is_key == (value.key_offset > 0);
                return Some(if is_first { offset } else { key.step - offset });
            }
        }
        (node.step > 0).then_some(node.step)
    }
}
