//! Blocks that nothing reached, with what is needed to say whose they are.

use super::super::{Analysis, Holder, Identity};
use super::Snapshot;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// A block that nothing reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
#[non_exhaustive]
pub struct NotReached {
    /// The block.
    pub identity: Identity,
    /// Its size.
    pub bytes: u64,
    /// Its site, if it is in the profile.
    pub site: Option<u32>,
    /// The site of the outermost block that holds it alone: its own, if no other block does.
    pub outermost: Option<u32>,
    /// `true` if that outermost block is part of a cycle.
    pub is_of_cycle: bool,
}

/// A block in JSON, in the order of the fields: there may be a million.
type Row = (u64, u64, u64, Option<u32>, Option<u32>, bool);

impl From<NotReached> for Row {
    fn from(block: NotReached) -> Row {
        let Identity { address, birth } = block.identity;
        let NotReached {
            bytes,
            site,
            outermost,
            is_of_cycle,
            ..
        } = block;
        (address, birth, bytes, site, outermost, is_of_cycle)
    }
}

impl From<Row> for NotReached {
    fn from((address, birth, bytes, site, outermost, is_of_cycle): Row) -> NotReached {
        NotReached {
            identity: Identity { address, birth },
            bytes,
            site,
            outermost,
            is_of_cycle,
        }
    }
}

/// Returns the blocks that nothing reached in a snapshot, nor in one of the others. One snapshot
/// alone may catch a block in the middle of a move.
pub fn confirmed<'a>(
    snapshot: &'a Snapshot,
    others: impl Iterator<Item = &'a Snapshot>,
) -> Vec<&'a NotReached> {
    let identities = others.flat_map(|other| other.not_reached());
    let known: FxHashSet<Identity> = identities.map(|block| block.identity).collect();
    let blocks = snapshot.not_reached().iter();
    blocks
        .filter(|block| known.contains(&block.identity))
        .collect()
}

/// Returns the blocks that nothing reached, in the order of their addresses, up to `most`, and
/// whether there are more.
pub(super) fn of(analysis: &Analysis, most: usize) -> (Vec<NotReached>, bool) {
    let heap = analysis.heap();
    let mut outermost = Outermost {
        analysis,
        known: FxHashMap::default(),
    };
    let mut blocks: Vec<NotReached> = Vec::new();
    for (block, identity) in analysis.not_reached_blocks() {
        if blocks.len() == most {
            return (blocks, true);
        }
        let top = outermost.of(block);
        blocks.push(NotReached {
            identity,
            bytes: heap.size(block),
            site: Some(heap.site(block)),
            outermost: Some(heap.site(top)),
            is_of_cycle: analysis.cycles().has(top),
        });
    }
    (blocks, false)
}

struct Outermost<'a> {
    analysis: &'a Analysis,
    /// By block, so that a long chain is walked once.
    known: FxHashMap<usize, usize>,
}

impl Outermost<'_> {
    fn of(&mut self, block: usize) -> usize {
        let (mut at, mut open) = (block, Vec::new());
        let top = loop {
            if let Some(&top) = self.known.get(&at) {
                break top;
            }
            open.push(at);
            match self.analysis.holder(at) {
                Holder::Block(holder) => at = holder,
                _ => break at,
            }
        };
        self.known
            .extend(open.into_iter().map(|block| (block, top)));
        top
    }
}
