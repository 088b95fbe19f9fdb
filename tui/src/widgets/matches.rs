//! The matches of a search in a tree: the nodes, their number, and their sum with each byte counted
//! once.

use std::cmp::Reverse;

use heapglass_profiler::units::counted;

use crate::model::Context;

/// The matching nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    /// Per node, `true` if it matches.
    is_match: Vec<bool>,
    /// The nodes to cycle through, in order, with their values.
    nodes: Vec<(u32, u64)>,
    /// The node that was shown last, as an index into `nodes`.
    at: Option<usize>,
    /// The sum of all bytes inside at least one match, in the measure.
    pub(crate) value: u64,
}

/// A node of a tree, for searching.
pub(crate) struct SearchNode {
    /// The parent, which comes before the node.
    pub(crate) parent: Option<u32>,
    pub(crate) is_match: bool,
    /// The inclusive value of the node. Not used unless it matches.
    pub(crate) value: u64,
}

impl Matches {
    /// Returns the matches among all nodes of a tree.
    pub(crate) fn of(nodes: impl Iterator<Item = SearchNode>) -> Self {
        let mut found = Matches::default();
        // `true` for a node that matches or is inside a match. Parents come before children.
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

    /// Sorts the nodes to cycle through by value, the largest first, and drops those of value 0.
    pub(crate) fn largest_first(mut self) -> Self {
        self.nodes.retain(|(_, value)| *value > 0);
        self.nodes
            .sort_unstable_by_key(|(id, value)| (Reverse(*value), *id));
        self
    }

    /// Takes the position from `before`, an earlier result of the same search.
    pub(crate) fn stay_at(&mut self, before: &Matches) {
        self.at = before.at.filter(|at| *at < self.nodes.len());
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.is_match.get(id as usize).copied().unwrap_or(false)
    }

    /// Returns the number of nodes to cycle through.
    pub(crate) fn len(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Describes the position, the number of matches and their sum: `3 of 7 frames (n N), 1.0 % of
    /// all`.
    pub(crate) fn summary(&self, noun: &str, cx: &Context<'_>) -> String {
        format!("{}, {} of all", self.position(noun), cx.share(self.value))
    }

    /// Describes the position and the number of matches: `3 of 7 frames (n N)`.
    pub(crate) fn position(&self, noun: &str) -> String {
        let position = self
            .at
            .map(|at| format!("{} of ", at + 1))
            .unwrap_or_default();
        format!("{position}{} (n N)", counted(self.len(), noun))
    }

    /// Returns the next node, wrapping around.
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
