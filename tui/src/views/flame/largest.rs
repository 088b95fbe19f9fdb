//! The largest frames inside the zoomed one, for a table below the graph: those that allocated most
//! themselves. In an inverted tree these are the frames right below: each frame further in stands
//! for callers, whose own bytes would all be those of the entry point.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::{Figures, Measure};

use crate::model::{Context, Later};

/// The number of frames to list, more than fit on any screen.
const MOST: usize = 200;

/// The largest frames, with what they are of.
#[derive(Debug, Default)]
pub(super) struct Largest {
    of: Option<(NodeId, Measure)>,
    /// The frames; empty until they are known.
    pub(super) frames: Vec<NodeId>,
    found: Later<Vec<NodeId>>,
}

impl Largest {
    /// Finds the frames inside `zoom` unless they are known.
    pub(super) fn refresh(
        &mut self,
        tree: &Arc<CallTree>,
        (zoom, is_inverted): (NodeId, bool),
        cx: &Context<'_>,
    ) {
        let measure = cx.measure;
        if self.of != Some((zoom, measure)) {
            self.of = Some((zoom, measure));
            self.frames.clear();
            self.found.want();
        }
        let tree = Arc::clone(tree);
        let find = if is_inverted { right_below } else { largest };
        let found = (self.found).take(cx.data, move || find(&tree, zoom, measure));
        if let Some(frames) = found {
            self.frames = frames;
        }
    }

    /// Forgets the frames, because the tree has changed.
    pub(super) fn clear(&mut self) {
        *self = Largest::default();
    }
}

/// Returns the value of a listed frame: its own, and that of all of it in an inverted tree.
pub(super) fn figures(tree: &CallTree, id: NodeId, is_inverted: bool) -> &Figures {
    if is_inverted {
        tree.total(id)
    } else {
        tree.own(id)
    }
}

/// Returns the frames right below `zoom`, the largest first.
fn right_below(tree: &CallTree, zoom: NodeId, measure: Measure) -> Vec<NodeId> {
    // Children are sorted by the measure.
    let children = tree.children(zoom).iter().copied().take(MOST);
    children
        .take_while(|id| measure.of(tree.total(*id)) > 0)
        .collect()
}

/// Returns the frames inside `zoom` with the largest own values, the largest first.
fn largest(tree: &CallTree, zoom: NodeId, measure: Measure) -> Vec<NodeId> {
    // The frames with the largest own values so far, the smallest on top.
    let mut found = BinaryHeap::new();
    // The next frames by their totals, each with its position among its siblings. Nothing below
    // a frame has more than its total, so most frames of a large tree are never visited.
    let entry = |siblings: &[NodeId], at: usize| {
        let id = *siblings.get(at)?;
        let total = measure.of(tree.total(id));
        (total > 0).then_some((total, Reverse(id), at))
    };
    let mut open: BinaryHeap<_> = entry(&[zoom], 0).into_iter().collect();
    while let Some((total, Reverse(id), at)) = open.pop() {
        let is_full = found.len() >= MOST;
        if is_full && found.peek().is_some_and(|Reverse((own, _))| *own >= total) {
            break;
        }
        let own = measure.of(tree.own(id));
        if own > 0 {
            found.push(Reverse((own, Reverse(id))));
        }
        if found.len() > MOST {
            found.pop();
        }
        // Children are sorted by the measure.
        open.extend(entry(tree.children(id), 0));
        let parent = tree.node(id).parent.filter(|_| id != zoom);
        open.extend(parent.and_then(|parent| entry(tree.children(parent), at + 1)));
    }
    // In this order the largest are first.
    let found = found.into_sorted_vec().into_iter();
    found.map(|Reverse((_, Reverse(id)))| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_fixture as fixture;
    use heapglass_profiler::calltree::CallTreeOptions;

    #[test]
    fn the_frames_below_the_root_have_all_bytes_and_the_largest_is_first() {
        let profile = fixture::profile();
        let measure = Measure::Total;
        let tree = CallTree::sorted(
            &profile,
            &CallTreeOptions {
                measure,
                ..CallTreeOptions::default()
            },
        );
        let frames = largest(&tree, NodeId::ROOT, measure);
        let own = |id: &NodeId| measure.of(tree.own(*id));
        assert!(frames.is_sorted_by_key(|id| Reverse(own(id))));
        let sum: u64 = frames.iter().map(own).sum();
        assert_eq!(sum, measure.of(tree.total(NodeId::ROOT)));
        let inner = frames[0];
        let frames = largest(&tree, inner, measure);
        assert_eq!(frames[0], inner);
        let is_inside = |id: &NodeId| *id == inner || tree.path(*id).contains(&inner);
        assert!(frames.iter().all(is_inside));
    }
}
