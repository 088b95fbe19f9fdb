//! The frames inside the zoomed one that allocated most themselves, for a table below the graph.

use std::cmp::Reverse;

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
        let mut found = Vec::new();
        let mut open = vec![zoom];
        while let Some(id) = open.pop() {
            let own = measure.of(tree.own(id));
            if own > 0 {
                found.push((Reverse(own), id));
            }
            // Children are sorted by the measure, and so those without any are last.
            let children = tree.children(id).iter().copied();
            open.extend(children.take_while(|id| measure.of(tree.total(*id)) > 0));
        }
        if found.len() > MOST {
            found.select_nth_unstable(MOST);
            found.truncate(MOST);
        }
        found.sort_unstable();
        self.frames = found.into_iter().map(|(_, id)| id).collect();
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
