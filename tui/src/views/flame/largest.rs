//! The frames inside the zoomed one that allocated most themselves, for a table below the graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::Measure;

/// The number of frames to list, more than fit on any screen.
const MOST: usize = 200;

/// The largest frames, with what they were computed for.
#[derive(Debug, Default)]
pub(super) struct Largest {
    of: Option<(NodeId, Measure)>,
    pub(super) frames: Vec<NodeId>,
}

impl Largest {
    /// Finds the frames inside `zoom` unless they are known.
    pub(super) fn refresh(&mut self, tree: &CallTree, zoom: NodeId, measure: Measure) {
        if self.of == Some((zoom, measure)) {
            return;
        }
        self.of = Some((zoom, measure));
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
        self.frames = found.map(|Reverse((_, Reverse(id)))| id).collect();
    }

    /// Forgets the frames, because the tree has changed.
    pub(super) fn clear(&mut self) {
        *self = Largest::default();
    }
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
        let mut largest = Largest::default();
        largest.refresh(&tree, NodeId::ROOT, measure);
        let own = |id: &NodeId| measure.of(tree.own(*id));
        assert!(largest.frames.is_sorted_by_key(|id| Reverse(own(id))));
        let sum: u64 = largest.frames.iter().map(own).sum();
        assert_eq!(sum, measure.of(tree.total(NodeId::ROOT)));
        let inner = largest.frames[0];
        largest.refresh(&tree, inner, measure);
        assert_eq!(largest.frames[0], inner);
        let is_inside = |id: &NodeId| *id == inner || tree.path(*id).contains(&inner);
        assert!(largest.frames.iter().all(is_inside));
    }
}
