//! Stacks as a tree: stacks that begin alike share their beginning.
//!
//! A stack is a node of the tree, with the nodes around it, and some frames inside those. A node
//! adds a piece: the source frames of one return address. If stacks were kept one by one, they
//! would take most of the memory of a large profile.

use super::{FrameId, Profile, Site};
use std::ops::Range;

/// A number of frames that most stacks do not exceed.
const COMMON_FRAMES: usize = 64;

/// The stack of a site: see [`Profile::stack`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack {
    pub(crate) node: u32,
    /// The piece inside all nodes.
    pub(crate) inner: u32,
}

/// A node: the node around it, and the piece that it adds. Node 0 is the outer end of all stacks
/// and adds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackNode {
    pub(crate) parent: u32,
    pub(crate) piece: u32,
}

/// The nodes from one outward.
pub(crate) fn outward(
    nodes: &[StackNode],
    mut node: u32,
) -> impl Iterator<Item = (u32, StackNode)> {
    std::iter::from_fn(move || {
        let at = node;
        let found = *nodes.get(at as usize).filter(|_| at != 0)?;
        // Parents come before children; anything else is a damaged profile, and might be a circle.
        node = found.parent.min(at - 1);
        Some((at, found))
    })
}

/// All stacks of a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    /// The tree that stacks are nodes of. A parent is before its child.
    pub(crate) nodes: Vec<StackNode>,
    /// The range of each piece in `frames`, outermost first.
    pieces: Vec<Range<u32>>,
    frames: Vec<FrameId>,
}

impl Stacks {
    /// A stack of its own, given outermost first.
    pub(super) fn add(&mut self, stack: &[FrameId]) -> Stack {
        Stack {
            node: 0,
            inner: self.add_piece(stack),
        }
    }

    /// A piece of frames, outermost first; its number.
    pub(crate) fn add_piece(&mut self, frames: &[FrameId]) -> u32 {
        let number = self.pieces.len() as u32;
        let start = self.frames.len() as u32;
        self.frames.extend_from_slice(frames);
        self.pieces.push(start..self.frames.len() as u32);
        number
    }

    fn piece(&self, number: u32) -> &[FrameId] {
        let range = self.pieces.get(number as usize).cloned();
        range
            .and_then(|range| self.frames.get(range.start as usize..range.end as usize))
            .unwrap_or_default()
    }

    /// Adds the frames of a stack, innermost first.
    // PERF: the loop of `innermost_first` written out; all stacks of a large profile are read
    // several times.
    fn read(&self, stack: Stack, frames: &mut Vec<FrameId>) {
        let mut add = |piece| frames.extend(self.piece(piece).iter().rev());
        add(stack.inner);
        for (_, node) in outward(&self.nodes, stack.node) {
            add(node.piece);
        }
    }

    /// The frames of a stack, innermost first.
    pub(super) fn innermost_first(&self, stack: Stack) -> impl Iterator<Item = FrameId> {
        let around = outward(&self.nodes, stack.node);
        std::iter::once(stack.inner)
            .chain(around.map(|(_, node)| node.piece))
            .flat_map(|piece| self.piece(piece).iter().rev().copied())
    }
}

impl Profile {
    /// Returns `true` if a site has any frames.
    pub fn has_stack(&self, site: &Site) -> bool {
        self.innermost_first(site).next().is_some()
    }

    /// All frames of a site, outermost first, but those that heapglass itself puts between the
    /// program's (`Profiled`, phases).
    pub fn stack(&self, site: &Site) -> Vec<FrameId> {
        let mut stack = Vec::with_capacity(COMMON_FRAMES);
        self.stacks.read(site.stack, &mut stack);
        stack.reverse();
        stack
    }

    /// [`stack`](Profile::stack) in reverse: innermost first.
    pub fn innermost_first(&self, site: &Site) -> impl Iterator<Item = FrameId> {
        self.stacks.innermost_first(site.stack)
    }

    /// The frames of a site that are worth showing, outermost first: all of one that is no stack.
    pub fn shown_stack(&self, site: &Site) -> Vec<FrameId> {
        let mut stack = Vec::with_capacity(COMMON_FRAMES);
        self.read_shown(site, &mut stack);
        stack
    }

    /// [`shown_stack`](Profile::shown_stack) in place of what is in `stack`.
    pub(crate) fn read_shown(&self, site: &Site, stack: &mut Vec<FrameId>) {
        stack.clear();
        self.stacks.read(site.stack, stack);
        let (start, end) = (usize::from(site.shown.start), usize::from(site.shown.end));
        if !site.marks.synthetic && start <= end && end <= stack.len() {
            let hidden = stack.len() - end;
            stack.truncate(stack.len() - start);
            stack.reverse();
            stack.truncate(stack.len() - hidden);
        } else {
            stack.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_what_is_around_them_and_end_with_frames_of_their_own() {
        let frames =
            |numbers: &[u32]| -> Vec<FrameId> { numbers.iter().copied().map(FrameId).collect() };
        let mut stacks = Stacks::default();
        stacks.add_piece(&frames(&[1, 2]));
        stacks.add_piece(&frames(&[3]));
        let inner = stacks.add_piece(&frames(&[4, 5]));
        stacks.nodes = vec![
            StackNode::default(),
            StackNode {
                parent: 0,
                piece: 0,
            },
            StackNode {
                parent: 1,
                piece: 1,
            },
            // A parent that is not before its child does not make a circle.
            StackNode {
                parent: 3,
                piece: 1,
            },
        ];
        let apart = stacks.add(&frames(&[7, 8]));
        let innermost_first = |stack| -> Vec<u32> {
            let frames: Vec<FrameId> = stacks.innermost_first(stack).collect();
            let mut read = Vec::new();
            stacks.read(stack, &mut read);
            assert_eq!(read, frames);
            read.into_iter().map(|FrameId(number)| number).collect()
        };
        let at = |node, inner| Stack { node, inner };
        assert_eq!(innermost_first(at(2, inner)), [5, 4, 3, 2, 1]);
        assert_eq!(innermost_first(at(1, inner)), [5, 4, 2, 1]);
        assert_eq!(innermost_first(at(3, inner)), [5, 4, 3, 3, 2, 1]);
        assert_eq!(innermost_first(apart), [8, 7]);
        // What only a damaged profile has.
        assert!(innermost_first(at(9, 99)).is_empty());
    }
}
