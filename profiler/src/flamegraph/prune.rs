//! Choosing the frames worth drawing and spelling them as lines for inferno.
//!
//! A frame is named by its node's number, so no recorded name ever passes through inferno's line
//! format. This module must keep the sum: what is left out stays in the width of the nearest frame
//! that is drawn.

use std::io;

use crate::calltree::{CallTree, NodeId};
use crate::profile::Measure;

/// Narrower than this part of the whole is not drawn: a tenth of a pixel of 1,200.
const MIN_PER_MILLION: u128 = 100;

/// The narrowest go first. PERF: a click on a frame takes a browser 1.1 s at 30,000 frames.
const MAX_FRAMES: usize = 10_000;

/// Deeper frames are not drawn: 8,000 pixels, and lines grow with the square of the depth.
pub(crate) const MAX_DEPTH: usize = 500;

/// A tree whose nodes have widths; ids are 0 (the root) up to `len`, parents before children.
pub(crate) trait Widths {
    /// Returns the number of nodes, including the root.
    fn len(&self) -> usize;
    /// The width of a node and all below it.
    fn width(&self, id: NodeId) -> u64;
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
    fn children(&self, id: NodeId) -> &[NodeId] {
        self.0.children(id)
    }
}

pub(crate) struct PrunedTree {
    /// Frames to draw, the root left out.
    pub(crate) kept: Vec<NodeId>,
    /// One line a frame that has a width of its own, right to left.
    pub(crate) lines: Vec<String>,
    /// The narrowest width drawn, in units of the measure.
    pub(crate) min: u64,
    /// Frames narrower than that.
    pub(crate) narrow: usize,
    /// Frames wide enough but too deep.
    pub(crate) deep: usize,
    /// Rows of frames above the root.
    pub(crate) depth: usize,
}

impl PrunedTree {
    pub(crate) fn elided(&self) -> usize {
        self.narrow + self.deep
    }

    /// Takes the frames that are wide enough and not too deep, and makes the lines of them.
    fn take(&mut self, tree: &impl Widths) -> io::Result<()> {
        let mut sum = 0_u64;
        let mut path: Vec<String> = Vec::new();
        let mut todo = vec![(NodeId::ROOT, 0)];
        while let Some((id, depth)) = todo.pop() {
            self.depth = self.depth.max(depth);
            if depth > 0 {
                self.kept.push(id);
                path.truncate(depth - 1);
                path.push(id.0.to_string());
            }
            let mut own = tree.width(id);
            if depth < MAX_DEPTH {
                let children = tree.children(id).iter();
                for &child in children.take_while(|&&child| tree.width(child) >= self.min) {
                    own = own.saturating_sub(tree.width(child));
                    todo.push((child, depth + 1));
                }
            }
            // A frame's own width is drawn right of its callees.
            if own > 0 {
                sum = sum.checked_add(own).ok_or_else(too_much)?;
                // What the root itself holds (nothing but narrow frames) has a name of its own:
                // inferno wants one.
                let name = match depth {
                    0 => REST.to_owned(),
                    _ => path.join(";"),
                };
                self.lines.push(format!("{name} {own}"));
            }
        }
        Ok(())
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
    let mut wide: Vec<u64> = below_root()
        .map(width)
        .filter(|&width| width >= min)
        .collect();
    if wide.len() > MAX_FRAMES {
        let (_, &mut narrowest, _) = wide.select_nth_unstable_by(MAX_FRAMES, |a, b| b.cmp(a));
        // One more than the widest that has to go, so that equals go together.
        min = narrowest.saturating_add(1);
    }
    let some = below_root().filter(|&id| width(id) > 0).count();
    let wide = below_root().filter(|&id| width(id) >= min).count();
    let mut pruned = PrunedTree {
        min,
        narrow: some - wide,
        deep: 0,
        depth: 0,
        kept: Vec::new(),
        lines: Vec::new(),
    };
    pruned.take(tree)?;
    pruned.deep = wide - pruned.kept.len();
    Ok(pruned)
}

/// The name of the frame that stands for everything too narrow right below the root.
pub(super) const REST: &str = "rest";

fn too_much() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the figures of this recording add up to more than 64 bits: it is damaged, record again",
    )
}
