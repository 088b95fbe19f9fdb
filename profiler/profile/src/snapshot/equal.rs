//! Equal values: blocks with the same contents, where a pointer counts as what it points to.

use super::graph::OwnedEdges;
use super::hash::Hash;
use super::heap::Heap;
use super::read::Contents;
use super::scc::components;
use crate::parallel::in_parts;
use std::cmp::Reverse;

/// Groups that are kept, those with the most bytes.
const MOST_GROUPS: usize = 1000;
/// Hashes that one thread sorts at once.
const SORTED: usize = 1 << 20;

/// Blocks with equal values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EqualBlocks {
    /// The first of them.
    pub first: usize,
    /// Their number.
    pub blocks: u64,
    /// Their bytes without those of the first, which one shared value would save.
    pub repeated_bytes: u64,
}

/// Equal values in a heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EqualValues {
    /// Blocks that equal another one before them.
    pub repeated_blocks: u64,
    /// The bytes of these blocks.
    pub repeated_bytes: u64,
    /// The groups that repeat most bytes, up to 1,000.
    pub groups: Vec<EqualBlocks>,
    /// One bit a block.
    repeated: Vec<u64>,
}

impl EqualValues {
    /// Returns `true` if a block equals one before it.
    pub fn is_repeated(&self, block: usize) -> bool {
        self.repeated
            .get(block / 64)
            .is_some_and(|bits| bits >> (block % 64) & 1 == 1)
    }
}

/// Replaces the hashes of contents by those of whole values. A block in a cycle equals nothing.
pub(super) fn whole_hashes(
    contents: &Contents,
    mut hashes: Vec<u64>,
    progress: &mut dyn FnMut(u64),
) -> Vec<u64> {
    let blocks = hashes.len();
    let mut done = 0;
    let edges = OwnedEdges { contents };
    components(blocks, (0..).take(blocks), &edges, |members, is_cycle| {
        for &member in members {
            let member = member as usize;
            let mut hash = Hash::new(hashes[member]);
            if is_cycle {
                hash.word(member as u64);
            } else {
                for (target, owns) in contents.edges(member) {
                    // A reference equals another one to the same block only.
                    hash.word(u64::from(owns));
                    hash.word(if owns {
                        hashes[target as usize]
                    } else {
                        u64::from(target)
                    });
                }
            }
            hashes[member] = hash.value();
        }
        done += members.len() as u64;
        progress(done);
    });
    hashes
}

/// Finds blocks whose hashes are equal. Each thread takes its own part of all hashes.
pub(super) fn equal_values(heap: &Heap, hashes: &[u64]) -> EqualValues {
    let parts = in_parts(heap.len(), |range| {
        let mut groups = Groups::default();
        let turns = range.len().div_ceil(SORTED).max(1);
        let mut some = Vec::new();
        for turn in 0..turns {
            let bound = |turn: usize| {
                let at = range.start as u128 + (range.len() * turn / turns) as u128;
                (at << 64).div_ceil(heap.len().max(1) as u128)
            };
            let own = bound(turn)..bound(turn + 1);
            some.clear();
            let all = hashes.iter().zip(0..).map(|(&hash, index)| (hash, index));
            some.extend(all.filter(|(hash, _)| own.contains(&u128::from(*hash))));
            some.sort_unstable();
            for equal in some.chunk_by(|(one, _), (other, _)| one == other) {
                groups.add(heap, equal);
            }
        }
        groups
    });
    let mut values = EqualValues {
        repeated: vec![0; heap.len().div_ceil(64)],
        ..EqualValues::default()
    };
    for part in parts {
        for block in part.repeated {
            values.repeated[block as usize / 64] |= 1 << (block % 64);
        }
        values.repeated_blocks += part.blocks;
        values.repeated_bytes += part.bytes;
        values.groups.extend(part.groups);
    }
    cut(&mut values.groups);
    values
}

#[derive(Default)]
struct Groups {
    blocks: u64,
    bytes: u64,
    repeated: Vec<u32>,
    groups: Vec<EqualBlocks>,
}

impl Groups {
    fn add(&mut self, heap: &Heap, equal: &[(u64, u32)]) {
        if equal.len() < 2 {
            return;
        }
        let others = &equal[1..];
        let bytes: u64 = others
            .iter()
            .map(|&(_, block)| heap.size(block as usize))
            .sum();
        self.blocks += others.len() as u64;
        self.bytes += bytes;
        self.repeated.extend(others.iter().map(|&(_, block)| block));
        self.groups.push(EqualBlocks {
            first: equal[0].1 as usize,
            blocks: equal.len() as u64,
            repeated_bytes: bytes,
        });
        if self.groups.len() >= 64 * MOST_GROUPS {
            cut(&mut self.groups);
        }
    }
}

fn cut(groups: &mut Vec<EqualBlocks>) {
    groups.sort_unstable_by_key(|group| (Reverse(group.repeated_bytes), group.first));
    groups.truncate(MOST_GROUPS);
}
