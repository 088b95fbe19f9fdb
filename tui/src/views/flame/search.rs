//! Searches the call tree.

use std::collections::HashMap;

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::{Label, Measure, Profile};

use crate::widgets::{Matches, SearchNode};

/// Returns the frames for which `wanted` (of full name and short name) is true, the largest first.
pub(super) fn find(
    tree: &CallTree,
    profile: &Profile,
    measure: Measure,
    wanted: impl Fn(&str, &str) -> bool,
) -> Matches {
    // Many nodes share a label, so ask once per label.
    let mut known: HashMap<Label, bool> = HashMap::new();
    let searched = tree.ids().map(|id| {
        let node = tree.node(id);
        let is_match = *known.entry(node.label).or_insert_with(|| {
            let (name, short) = (tree.name(id, profile), tree.short_name(id, profile));
            id != NodeId::ROOT && wanted(&name, &short)
        });
        SearchNode {
            parent: node.parent.map(|parent| parent.0),
            is_match,
            // PERF: the totals of other frames need not be read.
            value: if is_match {
                measure.of(tree.total(id))
            } else {
                0
            },
        }
    });
    Matches::of(searched).largest_first()
}

#[cfg(test)]
mod tests {
    use super::*;

    use heapglass_fixture::{Builder, figures};
    use heapglass_profiler::calltree::CallTreeOptions;
    use heapglass_profiler::profile::{Frames, Origin, ScopeId};

    #[test]
    fn recursion_is_counted_once() {
        let mut b = Builder::new();
        let f = b.function("f", "f", Origin::User);
        let g = b.function("g", "g", Origin::User);
        let (f, g) = (b.frame(f, None, 0), b.frame(g, None, 0));
        b.site(&[f, f, g], ScopeId(0), figures(1, 10, 1));
        b.site(&[g], ScopeId(0), figures(1, 5, 1));
        let profile = b.build();
        let tree = CallTree::build(
            &profile,
            &CallTreeOptions {
                frames: Frames::All,
                ..CallTreeOptions::default()
            },
        );
        let mut matches = find(&tree, &profile, Measure::Live, |name, _| name == "f");
        assert_eq!((matches.len(), matches.value), (2, 10));
        let (first, second) = (matches.step(true), matches.step(true));
        assert!(first.is_some() && first != second);
        assert_eq!(matches.step(true), first, "round the end");
        assert_eq!(
            find(&tree, &profile, Measure::Live, |name, _| name == "g").value,
            15
        );
    }
}
