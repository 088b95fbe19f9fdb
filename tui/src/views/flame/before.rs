//! The figures of the base for the frames shown.

use heapglass_profiler::calltree::{CallTree, CallTreeOptions, NodeId};
use heapglass_profiler::diff::beside_tree;
use heapglass_profiler::profile::Measure;

use crate::model::{Data, have_same_nodes};

/// The base's figure for each frame of the shown tree.
#[derive(Debug, Default)]
pub(super) struct BaseFigures {
    /// The tree of the base, with the options it was built for.
    tree: Option<(CallTreeOptions, CallTree)>,
    /// The inclusive value of each node of the shown tree in the base, in the measure; empty
    /// without a base.
    values: Vec<u64>,
    /// The largest difference of any frame.
    pub(super) most: u128,
}

impl BaseFigures {
    /// Updates the figures for the shown tree.
    pub(super) fn refresh(&mut self, shown: &CallTree, options: CallTreeOptions, data: &Data) {
        let Some(base) = &data.base else {
            return;
        };
        // The base never changes, but the options of its tree do.
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

    /// Returns the difference of a frame of the shown tree from the base; `None` without a base.
    pub(super) fn difference(
        &self,
        shown: &CallTree,
        measure: Measure,
        id: NodeId,
    ) -> Option<i128> {
        let before = self.value(id)?;
        Some(i128::from(measure.of(shown.total(id))) - i128::from(before))
    }

    /// Returns the base's value for a frame; `None` without a base.
    pub(super) fn value(&self, id: NodeId) -> Option<u64> {
        self.values.get(id.0 as usize).copied()
    }
}
