//! Which call tree is shown, made on the loader's thread where it can be, and how a place is found again in the next one.

use heapglass_profiler::calltree::{By, CallTree, Label, NodeId, Options};
use heapglass_profiler::profile::{Measure, Profile};

use crate::app::Data;

/// Everything a shown tree depends on besides the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeSpec {
    pub(crate) inverted: bool,
    pub(crate) phases: bool,
    pub(crate) all_frames: bool,
    /// What the frames are.
    pub(crate) by: By,
    /// The order of children.
    pub(crate) measure: Measure,
}

impl TreeSpec {
    /// What decides the nodes of the tree; the measure only sorts them.
    pub(super) fn shape(self) -> (bool, bool, bool, By) {
        (self.inverted, self.phases, self.all_frames, self.by)
    }

    /// The tree.
    pub(crate) fn build(self, data: &Data) -> CallTree {
        let options = Options {
            by: self.by,
            inverted: self.inverted,
            keep_all: self.all_frames,
            scopes: self.phases,
            ..Options::default()
        };
        let mut tree = CallTree::build(&data.profile, &options);
        tree.sort(self.measure);
        tree
    }
}

/// The node of `new` with the same path of names as `id` has in `old`, or the last of the path that is still there.
pub(super) fn same_place(
    (old, old_profile): (&CallTree, &Profile),
    id: NodeId,
    (new, new_profile): (&CallTree, &Profile),
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
