//! The tree of holders: who holds how much, by site and label.
//!
//! A node stands for the blocks of one site (and label) that blocks of the parent's site hold
//! alone: without those, they would be freed. Where sites alternate, as maps in maps do, a block
//! whose site is on the path already belongs to the node where the path ends. So a path has no site
//! twice, and the bytes below all topmost nodes of a set of sites are exactly those that the set
//! retains.

use super::{Neighbours, RootKind, Snapshot};
use serde::{Deserialize, Serialize};

/// The holder of some blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HolderName {
    /// The whole heap.
    #[default]
    Whole,
    /// Memory outside the heap: its kind, and the name of the thread or segment.
    Outside(RootKind, String),
    /// Several holders without a common one.
    Several,
    /// Pointers that own nothing: the owner was not seen.
    NotKnown,
    /// Nothing reached the blocks at this moment.
    Nothing,
    /// The blocks of a site, if it is in the profile, and their place in their holder by type and
    /// field; empty if it is not known.
    Site(Option<u32>, String),
    /// Small holders that are not kept apart. What they hold counts as held by them alone, so
    /// retained bytes of sites that have blocks here are a lower bound.
    Others,
}

/// The blocks of one site at a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Held {
    /// The site, if it is in the profile.
    pub site: Option<u32>,
    /// Blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the blocks whose unused capacity is known.
    pub known_bytes: u64,
    /// Unused capacity of these.
    pub unused_bytes: u64,
    /// Bytes of blocks whose owner was not seen and to which these blocks point: they may retain
    /// them too. A block to which several groups point counts in each.
    #[serde(skip_serializing_if = "is_zero")]
    pub unseen_bytes: u64,
    /// The distances to the blocks that a reader visits before these.
    #[serde(skip_serializing_if = "Neighbours::is_empty")]
    pub neighbours: Neighbours,
}

impl Held {
    /// Adds the figures of other blocks; the site stays. Saturates: a file may claim any figures.
    pub fn add(&mut self, other: &Held) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.blocks, other.blocks);
        add(&mut self.bytes, other.bytes);
        add(&mut self.known_bytes, other.known_bytes);
        add(&mut self.unused_bytes, other.unused_bytes);
        add(&mut self.unseen_bytes, other.unseen_bytes);
        self.neighbours.add(&other.neighbours);
    }
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// A node in the tree of holders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct HolderNode {
    /// The node that holds this one; 0 for the whole heap itself.
    pub parent: u32,
    /// The name of the holder.
    pub name: HolderName,
    /// Its own blocks, by site.
    pub own: Vec<Held>,
    /// If several holders keep the blocks alive, these: nodes of the tree with the number of their
    /// pointers to the blocks, those with most pointers first; at most 1000. Empty for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<(u32, u64)>,
}

impl HolderNode {
    pub(super) fn whole() -> HolderNode {
        HolderNode::default()
    }

    /// Returns the site of the node's blocks.
    pub fn site(&self) -> Option<u32> {
        match self.name {
            HolderName::Site(site, _) => site,
            _ => None,
        }
    }

    pub(super) fn renumber(&mut self, new: &impl Fn(u32) -> Option<u32>) {
        if let HolderName::Site(site, _) = &mut self.name {
            *site = site.and_then(new);
        }
        for held in &mut self.own {
            held.site = held.site.and_then(new);
        }
    }
}

/// Returns for each node of a tree its own figures and those of all nodes below it, summed.
pub(super) fn sums_of(nodes: &[HolderNode]) -> Vec<Held> {
    let own = |node: &HolderNode| {
        let mut sum = Held::default();
        node.own.iter().for_each(|held| sum.add(held));
        sum
    };
    let mut sums: Vec<Held> = nodes.iter().map(own).collect();
    for (number, node) in nodes.iter().enumerate().skip(1).rev() {
        let sum = sums[number].clone();
        sums[node.parent as usize].add(&sum);
    }
    sums
}

impl Snapshot {
    /// Returns the tree of holders. The first node is the whole heap; parents come before their
    /// children.
    pub fn holders(&self) -> &[HolderNode] {
        &self.holders
    }

    /// Returns for each node of the tree its own figures and those of all nodes below it, summed.
    pub fn held(&self) -> Vec<Held> {
        sums_of(&self.holders)
    }

    /// Returns the figures of all blocks of each site, for sites up to `sites`.
    pub fn by_site(&self, sites: usize) -> Vec<Held> {
        let mut all = vec![Held::default(); sites];
        for held in self.holders.iter().flat_map(|node| &node.own) {
            if let Some(sum) = held.site.and_then(|site| all.get_mut(site as usize)) {
                sum.add(held);
            }
        }
        for (number, held) in (0..).zip(&mut all) {
            held.site = Some(number);
        }
        all
    }

    /// Returns the bytes that groups of sites retain, as [`Snapshot::retained`] sums them.
    pub fn retained_bytes(&self, groups: usize, group: impl Fn(u32) -> Option<usize>) -> Vec<u64> {
        let retained = self.retained(groups, group);
        retained.into_iter().map(|held| held.bytes).collect()
    }

    /// Returns the figures of what groups of sites retain: those of their blocks, and of all blocks
    /// that would be freed with all of these. `group` gives the group of a site, below `groups`.
    pub fn retained(&self, groups: usize, group: impl Fn(u32) -> Option<usize>) -> Vec<Held> {
        let sums = self.held();
        let mut retained = vec![Held::default(); groups];
        let add = |retained: &mut Vec<Held>, group: usize, held: &Held| {
            if let Some(sum) = retained.get_mut(group) {
                sum.add(held);
            }
        };
        // Groups of the nodes from the whole heap down to each node, as a list shared by branches:
        // the group of the node itself, and the nearest node above it that has one.
        let mut own: Vec<(Option<usize>, u32)> = Vec::with_capacity(self.holders.len());
        for (number, node) in self.holders.iter().enumerate() {
            let above = node.parent as usize;
            let mine = node.site().and_then(&group);
            let is_below = |wanted: usize| {
                let mut at = if number == 0 { 0 } else { above };
                loop {
                    let (found, next) = own.get(at).copied().unwrap_or((None, 0));
                    if found == Some(wanted) {
                        return true;
                    }
                    if at == 0 {
                        return false;
                    }
                    at = next as usize;
                }
            };
            let mine = mine.filter(|&mine| !is_below(mine));
            if let Some(mine) = mine {
                add(&mut retained, mine, &sums[number]);
            }
            // Blocks at a node of another name are held by nothing of their group.
            for held in &node.own {
                let other = held.site.and_then(&group);
                let other = other.filter(|&other| mine != Some(other) && !is_below(other));
                if let Some(other) = other {
                    add(&mut retained, other, held);
                }
            }
            let parent = own.get(above).copied().unwrap_or((None, 0));
            let nearest = if parent.0.is_some() || above == 0 {
                above as u32
            } else {
                parent.1
            };
            own.push((mine, nearest));
        }
        retained
    }
}
