//! Choosing the frames worth drawing and spelling them as lines for inferno.
//!
//! A frame is named by its node's number, so no recorded name ever passes through inferno's line format. Must keep
//! the sum: what is left out stays in the width of the nearest frame that is drawn.

use std::fmt::Write as _;
use std::io;

use crate::calltree::{CallTree, NodeId};
use crate::profile::Measure;

/// Narrower than this part of the whole is not drawn: a tenth of a pixel of 1,200.
const MIN_PER_MILLION: u128 = 100;

/// The narrowest go first. PERF: a click on a frame takes a browser 1.1 s at 30,000 frames.
const MAX_FRAMES: usize = 10_000;

/// Deeper frames are not drawn: 8,000 pixels, and lines grow with the square of the depth.
pub(super) const MAX_DEPTH: u32 = 500;

/// A tree whose nodes have widths; ids are 0 (the root) up to `len`, parents before children.
pub(crate) trait Widths {
    /// How many nodes there are, the root included.
    fn len(&self) -> usize;
    /// The width of a node and all below it.
    fn width(&self, id: NodeId) -> u64;
    /// Distance from the root.
    fn depth(&self, id: NodeId) -> u32;
    /// The nodes right below, the widest first.
    fn children(&self, id: NodeId) -> &[NodeId];
}

impl Widths for (&CallTree, Measure) {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn width(&self, id: NodeId) -> u64 {
        self.1.of(self.0.total(id))
    }
    fn depth(&self, id: NodeId) -> u32 {
        self.0.node(id).depth
    }
    fn children(&self, id: NodeId) -> &[NodeId] {
        self.0.children(id)
    }
}

pub(crate) struct PrunedTree {
    /// Frames to draw, outermost first, the root left out.
    pub(crate) kept: Vec<NodeId>,
    /// One line a frame that has a width of its own, right to left.
    pub(crate) lines: Vec<String>,
    /// The narrowest width drawn, in units of the measure.
    pub(crate) min: u64,
    /// Frames narrower than that.
    pub(crate) narrow: usize,
    /// Frames wide enough but too deep.
    pub(crate) deep: usize,
}

impl PrunedTree {
    pub(crate) fn elided(&self) -> usize {
        self.narrow + self.deep
    }
}

/// # Errors
/// `InvalidData` when the widths add up to more than 64 bits.
pub(crate) fn prune(tree: &impl Widths) -> io::Result<PrunedTree> {
    let width = |id: NodeId| tree.width(id);
    let whole = width(NodeId::ROOT);
    let mut min = (u128::from(whole) * MIN_PER_MILLION)
        .div_ceil(1_000_000)
        .max(1) as u64;
    let below_root = || (1..tree.len() as u32).map(NodeId);
    let wide = below_root().map(width).filter(|&width| width >= min);
    let mut wide: Vec<u64> = wide.collect();
    if wide.len() > MAX_FRAMES {
        let (_, &mut narrowest, _) = wide.select_nth_unstable_by(MAX_FRAMES, |a, b| b.cmp(a));
        // One more than the widest that has to go, so that equals go together.
        min = narrowest.saturating_add(1);
    }
    let some = below_root().filter(|&id| width(id) > 0).count();
    let wide = below_root().filter(|&id| width(id) >= min);
    let (kept, deep): (Vec<NodeId>, Vec<NodeId>) =
        wide.partition(|&id| tree.depth(id) <= MAX_DEPTH);
    Ok(PrunedTree {
        min,
        narrow: some - kept.len() - deep.len(),
        deep: deep.len(),
        kept,
        lines: lines(tree, min)?,
    })
}

fn lines(tree: &impl Widths, min: u64) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut sum = 0_u64;
    let mut path = String::new();
    // Where the path ends at each depth.
    let mut ends: Vec<usize> = vec![0];
    let mut todo = vec![NodeId::ROOT];
    while let Some(id) = todo.pop() {
        let depth = tree.depth(id) as usize;
        if depth > 0 {
            ends.truncate(depth);
            path.truncate(ends[depth - 1]);
            let separator = if depth > 1 { ";" } else { "" };
            // Infallible: writing to a String.
            let _ = write!(path, "{separator}{}", id.0);
            ends.push(path.len());
        }
        let mut own = tree.width(id);
        if depth < MAX_DEPTH as usize {
            let children = tree.children(id).iter();
            for &child in children.take_while(|&&child| tree.width(child) >= min) {
                own = own.saturating_sub(tree.width(child));
                todo.push(child);
            }
        }
        // A frame's own width is drawn right of its callees.
        if own > 0 {
            sum = sum.checked_add(own).ok_or_else(too_much)?;
            // What the root itself holds (nothing but narrow frames) has a name of its own: inferno wants one.
            let name = if depth > 0 { &path } else { REST };
            lines.push(format!("{name} {own}"));
        }
    }
    Ok(lines)
}

/// The name of the frame that stands for everything too narrow right below the root.
pub(super) const REST: &str = "rest";

fn too_much() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the figures of this recording add up to more than 64 bits: it is damaged, record again",
    )
}
