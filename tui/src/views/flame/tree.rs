//! Which call tree is shown, made on the loader's thread where it can be, and how a place is found again in the next one.

use heapglass_profiler::calltree::{CallTree, Label, NodeId, Options};
use heapglass_profiler::profile::{Measure, Profile};

/// Everything a shown tree depends on besides the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeSpec {
    pub(crate) inverted: bool,
    pub(crate) phases: bool,
    pub(crate) all_frames: bool,
    /// The order of children.
    pub(crate) measure: Measure,
}

impl TreeSpec {
    /// What decides the nodes of the tree; the measure only sorts them.
    pub(super) fn shape(self) -> (bool, bool, bool) {
        (self.inverted, self.phases, self.all_frames)
    }

    /// The tree.
    pub(crate) fn build(self, profile: &Profile) -> CallTree {
        let options = Options {
            inverted: self.inverted,
            keep_all: self.all_frames,
            scopes: self.phases,
            within: None,
        };
        let mut tree = CallTree::build(profile, &options);
        tree.sort(self.measure);
        tree
    }
}

/// The node of `new` with the same path of names as `id` has in `old`, or the last of the path that is still there.
pub(super) fn same_place(
    old: &CallTree,
    old_profile: &Profile,
    id: NodeId,
    new: &CallTree,
    new_profile: &Profile,
) -> Option<NodeId> {
    let mut at = NodeId::ROOT;
    for step in old.path(id) {
        let name = old.name(step, old_profile);
        let kind = std::mem::discriminant::<Label>(&old.node(step).label);
        let next = new.children(at).iter().copied().find(|child| {
            std::mem::discriminant::<Label>(&new.node(*child).label) == kind
                && new.name(*child, new_profile) == name
        });
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    (at != NodeId::ROOT).then_some(at)
}
