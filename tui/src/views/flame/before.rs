//! What the base has of the frames shown.

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::diff::beside_tree;
use heapglass_profiler::profile::Measure;

use crate::model::{Data, TreeOptions, have_same_nodes};

/// The base's figure of each frame of the shown tree.
#[derive(Debug, Default)]
pub(super) struct BaseFigures {
    /// The base's tree, and what it was made for.
    tree: Option<(TreeOptions, CallTree)>,
    /// By the measure, with all below, for each node of the shown tree; empty without a base.
    values: Vec<u64>,
    /// The largest difference of a frame.
    pub(super) most: u128,
}

impl BaseFigures {
    /// Brings the figures up to date with the shown tree.
    pub(super) fn refresh(&mut self, shown: &CallTree, options: TreeOptions, data: &Data) {
        let Some(base) = &data.base else {
            return;
        };
        // The base never changes, but what is made of it does.
        let known = self
            .tree
            .take()
            .filter(|(made, _)| have_same_nodes(*made, options));
        let make = || (options, CallTree::sorted(&base.profile, &options));
        let known = known.unwrap_or_else(make);
        let (_, tree) = self.tree.insert(known);
        let measure = options.measure;
        self.values = beside_tree((tree, &base.profile), (shown, &data.profile), measure);
        let differences = shown
            .ids()
            .filter_map(|id| self.difference(shown, measure, id));
        self.most = differences.map(i128::unsigned_abs).max().unwrap_or(0);
    }

    /// What a frame of the shown tree has more than in the base; `None` without a base.
    pub(super) fn difference(
        &self,
        shown: &CallTree,
        measure: Measure,
        id: NodeId,
    ) -> Option<i128> {
        let before = self.value(id)?;
        Some(i128::from(measure.of(shown.total(id))) - i128::from(before))
    }

    /// What the base has of a frame; `None` without a base.
    pub(super) fn value(&self, id: NodeId) -> Option<u64> {
        self.values.get(id.0 as usize).copied()
    }
}
