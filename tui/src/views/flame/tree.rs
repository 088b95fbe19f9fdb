//! Finds a place again in the next call tree.

use std::mem::{Discriminant, discriminant};

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::{Label, Profile};

/// The kinds and names of the frames from the root to a node, which need no tree.
pub(super) type Path = Vec<(Discriminant<Label>, String)>;

/// Returns the path of a node.
pub(super) fn path_of(tree: &CallTree, id: NodeId, profile: &Profile) -> Path {
    let step = |step: NodeId| {
        let kind = discriminant(&tree.node(step).label);
        (kind, tree.name(step, profile).into_owned())
    };
    tree.path(id).into_iter().map(step).collect()
}

/// Returns the node with this path, or the last node of the path that exists.
pub(super) fn node_at(path: &Path, tree: &CallTree, profile: &Profile) -> Option<NodeId> {
    let mut at = NodeId::ROOT;
    for (kind, name) in path {
        let next = tree.children(at).iter().copied().find(|child| {
            discriminant(&tree.node(*child).label) == *kind && tree.name(*child, profile) == *name
        });
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    (at != NodeId::ROOT).then_some(at)
}
