//! Makes a snapshot of an analysis.

use super::super::{Analysis, Holder, Reach, RootKind, SiteFigures, TextsOfSite};
use super::holders::{Held, HolderName, HolderNode, sums_of};
use super::usable::Usable;
use super::{Basis, InputFigures, Moment, Slicer, Snapshot, TextsRead, neighbours, not_reached};
use crate::allocator::Allocator;
use crate::snapshot::{Heap, Layouts};
use crate::units::{Bytes, Share, counted};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Nodes that are kept, those with most bytes.
const MOST_NODES: usize = 20_000;
/// Holders that are named of blocks with several.
const MOST_HELD_BY: usize = 1000;
/// Identities of blocks that nothing reached which are kept.
const MOST_NOT_REACHED: usize = 1 << 20;

/// What holds blocks from outside the heap, by the number of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outside {
    /// The name of the thread or segment. Roots of one kind and name are one holder.
    pub name: String,
}

impl Outside {
    /// Returns a holder with that name.
    pub fn new(name: impl Into<String>) -> Outside {
        Outside { name: name.into() }
    }
}

impl Snapshot {
    /// Returns what is kept of an analysis. `outside` names the roots of its heap, in their order.
    /// Sites are numbered as in the heap.
    pub fn of(
        analysis: &Analysis,
        layouts: &dyn Layouts,
        outside: &[Outside],
        moment: Moment,
        basis: Basis,
    ) -> Snapshot {
        let heap = analysis.heap();
        let bytes = (0..heap.len()).fold(0_u64, |sum, block| sum.saturating_add(heap.size(block)));
        let (not_reached, not_reached_is_cut) = not_reached::of(analysis, MOST_NOT_REACHED);
        let tree = Tree::of(analysis, layouts, outside);
        let (inputs, texts_read) = inputs(analysis);
        Snapshot {
            moment,
            basis,
            blocks: heap.len() as u64,
            bytes,
            unknown_length_bytes: analysis.losses().unknown_length_bytes,
            holders: pruned(tree.nodes, MOST_NODES),
            sites: sites(analysis),
            inputs,
            texts_read,
            slicers: slicers(analysis),
            futures: layouts.futures(),
            large_locals: layouts.large_locals(heap),
            large_variants: layouts.large_variants(heap),
            usable: None,
            notes: notes(analysis, bytes),
            not_reached,
            not_reached_is_cut,
        }
    }

    /// Counts what an allocator adds to the blocks of each site and size class. The heap is that of
    /// the analysis.
    pub fn count_rounding(&mut self, heap: &Heap, allocator: Allocator) {
        self.usable = Some(Usable::of(heap, allocator));
        let mut sums: FxHashMap<u32, u64> = FxHashMap::default();
        for block in 0..heap.len() {
            let bytes = heap.size(block);
            let usable = allocator.usable_bytes(bytes).unwrap_or(bytes);
            let sum = sums.entry(heap.site(block)).or_default();
            *sum = sum.saturating_add(usable.saturating_sub(bytes));
        }
        for (site, figures) in &mut self.sites {
            let sum = site.and_then(|site| sums.get(&site).copied());
            figures.rounding_bytes = sum.unwrap_or(0);
        }
    }
}

fn sites(analysis: &Analysis) -> Vec<(Option<u32>, SiteFigures)> {
    let sites = analysis.by_site().into_iter();
    sites.map(|(site, figures)| (Some(site), figures)).collect()
}

/// Returns the large texts from which others were read, and these others. A large text that nothing
/// reaches is none: what holds it could not be told, or it is lost.
fn inputs(analysis: &Analysis) -> (Vec<InputFigures>, Vec<TextsRead>) {
    let heap = analysis.heap();
    let read: Vec<&TextsOfSite> = analysis
        .texts_in_inputs()
        .iter()
        .filter(|texts| texts.is_read && analysis.reach(texts.input) != Reach::NotReached)
        .collect();
    let mut inputs: BTreeMap<u32, InputFigures> = BTreeMap::new();
    let mut by_sites: BTreeMap<(u32, u32), TextsRead> = BTreeMap::new();
    let is_referenced = referenced(analysis, &read);
    for of_input in read.chunk_by(|one, other| one.input == other.input) {
        let input = of_input[0].input;
        let (site, bytes) = (heap.site(input), heap.size(input));
        let sum = inputs.entry(site).or_default();
        sum.site = Some(site);
        sum.blocks += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        if !is_referenced.contains(&input) {
            sum.unreferenced_bytes = sum.unreferenced_bytes.saturating_add(bytes);
        }
        for texts in of_input {
            sum.texts = sum.texts.saturating_add(texts.texts);
            sum.text_bytes = sum.text_bytes.saturating_add(texts.text_bytes);
            let part = by_sites.entry((site, texts.site)).or_default();
            part.input = Some(site);
            part.site = Some(texts.site);
            part.texts = part.texts.saturating_add(texts.texts);
            part.text_bytes = part.text_bytes.saturating_add(texts.text_bytes);
        }
    }
    (
        inputs.into_values().collect(),
        by_sites.into_values().collect(),
    )
}

/// Returns the inputs of texts to which a pointer of a block leads that does not own them.
fn referenced(analysis: &Analysis, read: &[&TextsOfSite]) -> FxHashSet<usize> {
    let inputs: FxHashSet<usize> = read.iter().map(|texts| texts.input).collect();
    if inputs.is_empty() {
        return inputs;
    }
    let blocks = 0..analysis.heap().len();
    let pointers = blocks.flat_map(|block| analysis.pointers(block));
    let references = pointers.filter(|(_, owns)| !owns);
    references
        .map(|(target, _)| target)
        .filter(|target| inputs.contains(target))
        .collect()
}

fn slicers(analysis: &Analysis) -> Vec<Slicer> {
    let heap = analysis.heap();
    let mut is_sliced = FxHashSet::default();
    let sliced = analysis.sliced().iter();
    is_sliced.extend(
        sliced
            .filter(|sliced| !sliced.has_list)
            .map(|sliced| sliced.block),
    );
    let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    if !is_sliced.is_empty() {
        for block in 0..heap.len() {
            for (target, owns) in analysis.pointers(block) {
                if !owns && is_sliced.contains(&target) {
                    *sums
                        .entry((heap.site(target), heap.site(block)))
                        .or_default() += 1;
                }
            }
        }
    }
    let slicers = sums.into_iter().map(|((site, by), pointers)| Slicer {
        site: Some(site),
        by: Some(by),
        pointers,
    });
    slicers.collect()
}

fn notes(analysis: &Analysis, bytes: u64) -> Vec<String> {
    let losses = analysis.losses();
    let unknown = losses.unknown_length_bytes;
    let of_bytes = format!(
        " with {}, {} of the bytes; all words inside count as pointers",
        Bytes(unknown),
        Share::of(unknown, bytes)
    );
    // What was lost, of what, and what follows from it.
    let lost = [
        (
            "left out",
            analysis.heap().rejected(),
            "block",
            " that had no size or overlapped another one",
        ),
        (
            "not read as a whole",
            losses.unreadable,
            "memory area",
            "; what nothing else holds is missing",
        ),
        (
            "no length known",
            losses.unknown_lengths,
            "container",
            &of_bytes,
        ),
        (
            "not kept",
            losses.pointers,
            "pointer",
            " beyond the first four billion",
        ),
    ];
    let lost = lost.iter().filter(|(_, count, ..)| *count > 0);
    lost.map(|(lost, count, one, so)| format!("{lost}: {}{so}", counted(*count, one)))
        .collect()
}

/// A node's key below its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Outside(u32),
    Several,
    NotKnown,
    Nothing,
    Site(u32, u32),
}

struct Tree {
    nodes: Vec<HolderNode>,
    keys: Vec<Key>,
    /// The node, and the place among its own figures, by parent and key.
    places: FxHashMap<(u32, Key), (u32, u32)>,
}

impl Tree {
    fn of(analysis: &Analysis, layouts: &dyn Layouts, outside: &[Outside]) -> Tree {
        let mut tree = Tree {
            nodes: vec![HolderNode::whole()],
            keys: vec![Key::Several],
            places: FxHashMap::default(),
        };
        let roots = tree.roots(analysis, outside);
        let heap = analysis.heap();
        // The node of each block, from 1, and its place there; node 0 = not looked at.
        let mut group_of = vec![(0, 0); heap.len()];
        let mut open = Vec::new();
        for block in 0..heap.len() {
            let mut at = block;
            let mut node = loop {
                let (known, _) = group_of[at];
                if known != 0 {
                    break known;
                }
                open.push(at);
                match analysis.holder(at) {
                    Holder::Block(holder) => at = holder,
                    Holder::Root(root) => {
                        break roots.get(root).copied().unwrap_or_default();
                    }
                    Holder::Several => break tree.node(0, Key::Several, HolderName::Several).0,
                    Holder::NotKnown => break tree.node(0, Key::NotKnown, HolderName::NotKnown).0,
                    Holder::Nothing => break tree.node(0, Key::Nothing, HolderName::Nothing).0,
                }
            };
            while let Some(at) = open.pop() {
                let site = heap.site(at);
                let label = layouts.label(at);
                let (own, place) = tree.place(node, site, label, layouts);
                node = own;
                group_of[at] = (node, place);
                let unused = analysis.unused_bytes(at);
                let bytes = heap.size(at);
                tree.nodes[node as usize].own[place as usize].add(&Held {
                    site: None,
                    blocks: 1,
                    bytes,
                    known_bytes: unused.map_or(0, |_| bytes),
                    unused_bytes: unused.unwrap_or(0),
                    ..Held::default()
                });
            }
        }
        for ((node, place), found) in neighbours::by_group(analysis, &group_of) {
            tree.nodes[node as usize].own[place as usize].neighbours = found;
        }
        tree.name_several(analysis, &roots, &group_of);
        tree.count_unseen(analysis, &group_of);
        tree
    }

    /// Names the holders of blocks with several. `group_of` has the node of each block.
    fn name_several(&mut self, analysis: &Analysis, roots: &[u32], group_of: &[(u32, u32)]) {
        let heap = analysis.heap();
        let is_shared: Vec<bool> = (0..heap.len())
            .map(|block| analysis.holder(block) == Holder::Several)
            .collect();
        if !is_shared.contains(&true) {
            return;
        }
        let mut pointers: FxHashMap<(u32, u32), u64> = FxHashMap::default();
        let mut add = |from: u32, to: usize| {
            *pointers.entry((group_of[to].0, from)).or_default() += 1;
        };
        for (block, &(node, _)) in group_of.iter().enumerate() {
            for (to, owns) in analysis.pointers(block) {
                // A block that nothing reaches holds none that is reached.
                let counts = owns && to != block && analysis.reach(block) == analysis.reach(to);
                if counts && is_shared[to] {
                    add(node, to);
                }
            }
        }
        for (root, &node) in roots.iter().enumerate() {
            let is_stale = heap.roots()[root].kind == RootKind::DeadStack;
            for (to, owns) in analysis.pointers_of_root(root) {
                let counts = match analysis.reach(to) {
                    Reach::Owned => owns,
                    Reach::Referred => !is_stale,
                    Reach::NotReached => false,
                };
                if counts && is_shared[to] {
                    add(node, to);
                }
            }
        }
        let mut pointers: Vec<((u32, u32), u64)> = pointers.into_iter().collect();
        pointers.sort_unstable_by_key(|&((to, from), count)| (to, Reverse(count), from));
        for of_one in pointers.chunk_by(|one, other| one.0.0 == other.0.0) {
            let some = of_one.iter().take(MOST_HELD_BY);
            let some = some.map(|&((_, from), count)| (from, count));
            self.nodes[of_one[0].0.0 as usize].held_by = some.collect();
        }
    }

    /// Counts the bytes that blocks may hold in a way that was not seen: those of blocks without an
    /// owner to which they point.
    fn count_unseen(&mut self, analysis: &Analysis, group_of: &[(u32, u32)]) {
        let is_unseen = |block: usize| {
            let holder = analysis.holder(block);
            analysis.reach(block) == Reach::Referred && !matches!(holder, Holder::Block(_))
        };
        let mut seen: FxHashSet<((u32, u32), usize)> = FxHashSet::default();
        for (block, &(node, place)) in group_of.iter().enumerate() {
            for (to, owns) in analysis.pointers(block) {
                if !owns && to != block && is_unseen(to) && seen.insert(((node, place), to)) {
                    let held = &mut self.nodes[node as usize].own[place as usize];
                    let bytes = analysis.retained_bytes(to);
                    held.unseen_bytes = held.unseen_bytes.saturating_add(bytes);
                }
            }
        }
    }

    /// Adds a node for each kind and name of root.
    fn roots(&mut self, analysis: &Analysis, outside: &[Outside]) -> Vec<u32> {
        let mut numbers: FxHashMap<(RootKind, &str), u32> = FxHashMap::default();
        let roots = analysis.heap().roots().iter().enumerate();
        let nodes = roots.map(|(index, root)| {
            let name = outside.get(index).map_or("", |outside| &outside.name);
            // Both parts of a stack are one holder. Other memory, which is no stack, has no name.
            let kind = match root.kind {
                RootKind::DeadStack if !name.is_empty() => RootKind::Stack,
                kind => kind,
            };
            let next = numbers.len() as u32;
            let number = *numbers.entry((kind, name)).or_insert(next);
            let key = Key::Outside(number);
            self.node(0, key, HolderName::Outside(kind, name.to_owned()))
                .0
        });
        nodes.collect()
    }

    fn node(&mut self, parent: u32, key: Key, name: HolderName) -> (u32, u32) {
        *self.places.entry((parent, key)).or_insert_with(|| {
            let number = self.nodes.len() as u32;
            self.nodes.push(HolderNode {
                parent,
                name,
                ..HolderNode::default()
            });
            self.keys.push(key);
            (number, 0)
        })
    }

    /// Returns the node of a block that a node holds, and the place of its figures there.
    fn place(&mut self, parent: u32, site: u32, label: u32, layouts: &dyn Layouts) -> (u32, u32) {
        let key = Key::Site(site, label);
        if let Some(&place) = self.places.get(&(parent, key)) {
            return place;
        }
        let held = Held {
            site: Some(site),
            ..Held::default()
        };
        let mut at = parent;
        let is_on_path = loop {
            match self.keys[at as usize] {
                found if found == key => break true,
                Key::Site(..) => at = self.nodes[at as usize].parent,
                _ => break false,
            }
        };
        let place = if is_on_path {
            let own = &mut self.nodes[parent as usize].own;
            let place = own.iter().position(|held| held.site == Some(site));
            let place = place.unwrap_or_else(|| {
                own.push(held);
                own.len() - 1
            });
            (parent, place as u32)
        } else {
            let name = HolderName::Site(Some(site), layouts.label_text(label));
            let (node, place) = self.node(parent, key, name);
            self.nodes[node as usize].own.push(held);
            (node, place)
        };
        self.places.insert((parent, key), place);
        place
    }
}

/// Keeps the nodes with most bytes, and sums the others up as one node below their parent.
pub(super) fn pruned(nodes: Vec<HolderNode>, most: usize) -> Vec<HolderNode> {
    if nodes.len() <= most {
        return nodes;
    }
    let sums = sums_of(&nodes);
    // A node never has more bytes than its parent, so the largest ones form a tree.
    let mut order: Vec<usize> = (1..nodes.len()).collect();
    order.sort_by_key(|&node| (Reverse(sums[node].bytes), node));
    let mut is_kept = vec![false; nodes.len()];
    is_kept[0] = true;
    for &node in order.iter().take(most / 2) {
        is_kept[node] = true;
    }
    let mut kept: Vec<HolderNode> = Vec::new();
    let mut new = vec![0_u32; nodes.len()];
    let mut others: FxHashMap<u32, u32> = FxHashMap::default();
    for (number, node) in nodes.into_iter().enumerate() {
        let parent = new[node.parent as usize];
        if is_kept[number] {
            new[number] = kept.len() as u32;
            kept.push(HolderNode { parent, ..node });
            continue;
        }
        let is_below = kept[parent as usize].name == HolderName::Others;
        let rest = if is_below {
            parent
        } else {
            *others.entry(parent).or_insert_with(|| {
                kept.push(HolderNode {
                    parent,
                    name: HolderName::Others,
                    ..HolderNode::default()
                });
                kept.len() as u32 - 1
            })
        };
        new[number] = rest;
        let sums = &mut kept[rest as usize].own;
        for held in node.own {
            match sums.iter_mut().find(|sum| sum.site == held.site) {
                Some(sum) => sum.add(&held),
                None => sums.push(held),
            }
        }
    }
    for node in &mut kept {
        for (by, _) in &mut node.held_by {
            *by = new[*by as usize];
        }
    }
    kept
}
