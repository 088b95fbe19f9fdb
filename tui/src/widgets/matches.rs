//! What a search found in a tree: which nodes, how many, and what they make up, each byte counted once.

use std::cmp::Reverse;

use heapglass_profiler::units::counted;

use crate::model::Context;

/// The nodes found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    /// By node.
    is_match: Vec<bool>,
    /// Those to go through, in their order, each with what it makes up.
    nodes: Vec<(u32, u64)>,
    /// The one shown last, as an index into `nodes`.
    at: Option<usize>,
    /// What is inside at least one of them, in the measure.
    pub(crate) value: u64,
}

/// A node of a tree, as a search sees it.
pub(crate) struct SearchNode {
    /// The node around it, which comes before it.
    pub(crate) parent: Option<u32>,
    pub(crate) is_match: bool,
    /// What it makes up with all that is inside it.
    pub(crate) value: u64,
}

impl Matches {
    /// Those of all nodes of a tree that match.
    pub(crate) fn of(nodes: impl Iterator<Item = SearchNode>) -> Self {
        let mut found = Matches::default();
        // Whether a node is a found one or inside one; parents come before children.
        let mut covered: Vec<bool> = Vec::new();
        for (id, node) in (0..).zip(nodes) {
            let parent = node.parent.and_then(|parent| covered.get(parent as usize));
            let is_inside = parent.copied().unwrap_or(false);
            if node.is_match {
                found.nodes.push((id, node.value));
            }
            if node.is_match && !is_inside {
                found.value = found.value.saturating_add(node.value);
            }
            found.is_match.push(node.is_match);
            covered.push(node.is_match || is_inside);
        }
        found
    }

    /// Goes through those that make up something, the largest first.
    pub(crate) fn largest_first(mut self) -> Self {
        self.nodes.retain(|(_, value)| *value > 0);
        self.nodes.sort_by_key(|(id, value)| (Reverse(*value), *id));
        self
    }

    /// Remembers which one was shown last in `before`, a search for the same.
    pub(crate) fn stay_at(&mut self, before: &Matches) {
        self.at = before.at.filter(|at| *at < self.nodes.len());
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.is_match.get(id as usize).copied().unwrap_or(false)
    }

    /// How many there are to go through.
    pub(crate) fn len(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Which of them was shown last, how many there are, and what they make up: `3 of 7 frames (n N), 1.0 % of all`.
    pub(crate) fn summary(&self, noun: &str, cx: &Context<'_>) -> String {
        let position = self
            .at
            .map(|at| format!("{} of ", at + 1))
            .unwrap_or_default();
        let found = counted(self.len(), noun);
        format!("{position}{found} (n N), {} of all", cx.share(self.value))
    }

    /// The next one, round the end.
    pub(crate) fn step(&mut self, forward: bool) -> Option<u32> {
        let last = self.nodes.len().checked_sub(1)?;
        let at = match (self.at, forward) {
            (None, true) => 0,
            (Some(at), true) if at >= last => 0,
            (Some(at), true) => at + 1,
            (None | Some(0), false) => last,
            (Some(at), false) => at - 1,
        };
        self.at = Some(at);
        self.nodes.get(at).map(|(id, _)| *id)
    }
}
