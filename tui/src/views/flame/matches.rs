//! What a search found in the tree: which frames, how many, and the bytes that pass through them, counted once.

use std::collections::HashMap;

use heapglass_profiler::calltree::{CallTree, Label, NodeId};

use crate::model::Context;

/// The frames found.
#[derive(Clone, Debug, Default)]
pub(super) struct Matches {
    /// By node.
    is_match: Vec<bool>,
    /// Largest first; frames without a width in this measure left out.
    nodes: Vec<NodeId>,
    /// The one shown last, as an index into `nodes`.
    at: Option<usize>,
    /// What passes through at least one of them, in the measure.
    pub(super) value: u64,
}

impl Matches {
    /// Finds the frames of which `wanted` (full name, short name) is true.
    pub(super) fn find(
        tree: &CallTree,
        cx: &Context<'_>,
        wanted: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let profile = &cx.data.profile;
        // A label has many nodes: ask once for each.
        let mut known: HashMap<Label, bool> = HashMap::new();
        let mut found = Matches {
            is_match: vec![false; tree.len()],
            ..Matches::default()
        };
        // Whether a frame is inside a found one; parents come before children.
        let mut inside = vec![false; tree.len()];
        for id in tree.ids() {
            let node = tree.node(id);
            let matched = *known.entry(node.label).or_insert_with(|| {
                let (name, short) = (tree.name(id, profile), tree.short_name(id, profile));
                id != NodeId::ROOT && wanted(&name, &short)
            });
            let within = node
                .parent
                .is_some_and(|p| inside.get(p.0 as usize).copied().unwrap_or(false));
            let value = cx.measure.of(tree.total(id));
            if matched && !within {
                found.value = found.value.saturating_add(value);
            }
            if matched && value > 0 {
                found.nodes.push(id);
            }
            if let (Some(flag), Some(cover)) = (
                found.is_match.get_mut(id.0 as usize),
                inside.get_mut(id.0 as usize),
            ) {
                *flag = matched;
                *cover = matched || within;
            }
        }
        found
            .nodes
            .sort_by_key(|id| (std::cmp::Reverse(cx.measure.of(tree.total(*id))), *id));
        found
    }

    pub(super) fn contains(&self, id: NodeId) -> bool {
        self.is_match.get(id.0 as usize).copied().unwrap_or(false)
    }

    /// How many frames have a width in this measure.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Which of them was shown last, from 1.
    pub(super) fn position(&self) -> Option<usize> {
        self.at.map(|at| at + 1)
    }

    /// The next one, round the end.
    pub(super) fn step(&mut self, forward: bool) -> Option<NodeId> {
        let len = self.nodes.len();
        if len == 0 {
            return None;
        }
        let at = match (self.at, forward) {
            (None, true) => 0,
            (None, false) => len - 1,
            (Some(at), true) => (at + 1) % len,
            (Some(at), false) => (at + len - 1) % len,
        };
        self.at = Some(at);
        self.nodes.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::sample::{Builder, figures};
    use heapglass_profiler::calltree::Options;
    use heapglass_profiler::profile::{Frames, Measure, Origin, ScopeId};
    use ratatui::layout::Size;

    use crate::model::Data;

    #[test]
    fn recursion_is_counted_once() {
        let mut b = Builder::new();
        let f = b.function("f", "f", Origin::User);
        let g = b.function("g", "g", Origin::User);
        let (f, g) = (b.frame(f, None, 0), b.frame(g, None, 0));
        b.site(&[f, f, g], ScopeId(0), figures(1, 10, 1));
        b.site(&[g], ScopeId(0), figures(1, 5, 1));
        let data = Arc::new(Data::new(b.build(), None));
        let cx = Context {
            data: &data,
            measure: Measure::Live,
            frames: Frames::All,
            body: Size::new(80, 24),
            source_roots: &[],
        };
        let tree = CallTree::build(
            &data.profile,
            &Options {
                frames: Frames::All,
                ..Options::default()
            },
        );
        let mut matches = Matches::find(&tree, &cx, |name, _| name == "f");
        assert_eq!((matches.len(), matches.value), (2, 10));
        let (first, second) = (matches.step(true), matches.step(true));
        assert!(first.is_some() && first != second);
        assert_eq!(matches.step(true), first, "round the end");
        assert_eq!(Matches::find(&tree, &cx, |name, _| name == "g").value, 15);
    }
}
