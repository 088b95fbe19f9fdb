//! Finds a place again in the next call tree.

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::{Label, Profile};

/// Returns the node of `new` with the same path of names as `id` in `old`, or the last node of that
/// path that still exists.
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
