//! Which fields are visible, in which order, and which a search finds. Deterministic: ties fall back to the recording's
//! order. Never recurses: data may be deep.

use std::cmp::Reverse;

use heapglass_profiler::fields::Field;
use heapglass_profiler::profile::Measure;

use crate::model::{Context, Data, Pattern};

/// Trees up to this many fields are open at first.
const SMALL: usize = 200;

/// A visible field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) node: u32,
    pub(super) depth: u16,
    /// Whether its branch is open; `None` = there is nothing inside.
    pub(super) open: Option<bool>,
}

/// What siblings are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// The measure with what is inside, largest first.
    #[default]
    WithInner,
    /// The measure of the field alone.
    Own,
    /// How many values there were.
    Values,
    /// As the program met them.
    Recorded,
}

impl Sort {
    pub(super) fn next(self) -> Sort {
        match self {
            Sort::WithInner => Sort::Own,
            Sort::Own => Sort::Values,
            Sort::Values => Sort::Recorded,
            Sort::Recorded => Sort::WithInner,
        }
    }

    pub(super) fn name(self, measure: Measure) -> String {
        match self {
            Sort::WithInner => format!("{} with inner", measure.title()),
            Sort::Own => format!("{} of the field alone", measure.title()),
            Sort::Values => "values".to_owned(),
            Sort::Recorded => "order of the recording".to_owned(),
        }
    }
}

/// Whether a branch is open before anybody turned it: small trees, and the first levels of large ones.
pub(super) fn is_open(data: &Data, node: u32) -> bool {
    let is_root = |node: u32| data.field(node).is_some_and(|field| field.parent == 0);
    let around = data.field(node).map_or(0, |field| field.parent);
    data.profile.fields().nodes.len() <= SMALL || is_root(node) || is_root(around)
}

/// The visible rows: roots and "(no field)", and below each open field its children.
pub(super) fn rows(cx: &Context<'_>, sort: Sort, is_open: &dyn Fn(u32) -> bool) -> Vec<Row> {
    let data = cx.data;
    let value = |node: &u32| {
        let of = |field: &Field| match sort {
            Sort::WithInner => cx.measure.of(&field.with_inner),
            Sort::Own => cx.measure.of(&field.own),
            Sort::Values => field.values,
            Sort::Recorded => 0,
        };
        (Reverse(data.field(*node).map_or(0, of)), *node)
    };
    let children = |node: u32| {
        let children = data.field(node).map(|field| field.children.as_slice());
        let mut children = children.unwrap_or_default().to_vec();
        children.sort_by_key(value);
        children
    };
    // "(no field)" stands beside the roots, which hang at it.
    let mut first = children(0);
    first.push(0);
    first.sort_by_key(value);
    let mut open: Vec<(u32, u16)> = first.into_iter().rev().map(|node| (node, 0)).collect();
    let mut rows = Vec::new();
    while let Some((node, depth)) = open.pop() {
        let inner = if node == 0 {
            Vec::new()
        } else {
            children(node)
        };
        let is_open = (!inner.is_empty()).then(|| is_open(node));
        rows.push(Row {
            node,
            depth,
            open: is_open,
        });
        if is_open == Some(true) {
            open.extend(
                inner
                    .into_iter()
                    .rev()
                    .map(|node| (node, depth.saturating_add(1))),
            );
        }
    }
    rows
}

/// The fields a search found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// In the recording's order.
    nodes: Vec<u32>,
    at: Option<usize>,
    /// What they make up with what is inside them, each byte once.
    pub(super) value: u64,
}

impl Found {
    pub(super) fn new(cx: &Context<'_>, pattern: &Pattern) -> Found {
        let data = cx.data;
        let mut found = Found::default();
        // Whether a field is inside a found one; parents come before children.
        let mut covered = vec![false; data.profile.fields().nodes.len()];
        for (node, field) in (0..).zip(&data.profile.fields().nodes) {
            let name = data.type_name(field.value_type);
            let matched = pattern.is_match(&field.step)
                || name.is_some_and(|name| pattern.is_match(&name.short));
            let within = node != 0
                && field.parent != 0
                && covered.get(field.parent as usize).copied().unwrap_or(false);
            if matched {
                found.nodes.push(node);
            }
            if matched && !within {
                let value = cx.measure.of(&field.with_inner);
                found.value = found.value.saturating_add(value);
            }
            if let Some(flag) = covered.get_mut(node as usize) {
                *flag = matched || within;
            }
        }
        found
    }

    /// Remembers which one was shown last in `before`, a search for the same.
    pub(super) fn stay_at(&mut self, before: &Found) {
        self.at = before.at.filter(|at| *at < self.nodes.len());
    }

    pub(super) fn contains(&self, node: u32) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Which of them was shown last, from 1.
    pub(super) fn position(&self) -> Option<usize> {
        self.at.map(|at| at + 1)
    }

    /// The next one, round the end.
    pub(super) fn step(&mut self, forward: bool) -> Option<u32> {
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
