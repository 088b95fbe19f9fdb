//! Building the tree: one pass over the sites inward, one pass over the nodes backward for the totals, one counting
//! sort for the lists of children.
//!
//! Must never look at more than one profile, recurse, or take an id that is out of range at its word.

use std::collections::HashMap;

use super::{CallTree, Label, MarkKind, Node, NodeId, Options, label_name};
use crate::profile::fields::Phases;
use crate::profile::{Figures, FrameId, Profile, ScopeId, Site};

/// One step of a path: what the node stands for and the source frame it was met at.
type Step = (Label, Option<FrameId>);

pub(super) fn build(profile: &Profile, options: &Options) -> CallTree {
    let mut tree = CallTree {
        nodes: vec![new_node(Label::Root, None, 0, None)],
        totals: Vec::new(),
        own: vec![Figures::default()],
        children: Vec::new(),
        leaves: Vec::with_capacity(profile.sites.len()),
    };
    let (phases, chunks) = (profile.phases(), profile.chunk_sites());
    let mut by_parent: HashMap<(NodeId, Label), NodeId> = HashMap::new();
    let mut path: Vec<Step> = Vec::new();
    for (index, site) in profile.sites.iter().enumerate() {
        if options
            .within
            .is_some_and(|within| !is_within(profile, phases, site.scope, within))
        {
            tree.leaves.push(None);
            continue;
        }
        path.clear();
        if options.scopes {
            let around = phases.around(site.scope);
            path.extend(around.into_iter().map(|phase| (Label::Scope(phase), None)));
        }
        path.extend(marks(site).map(|mark| (Label::Mark(mark), None)));
        for &frame in site.frames(options.keep_all) {
            if let Some(source) = profile.frames.get(frame.0 as usize) {
                path.push((Label::Function(source.function), Some(frame)));
            }
        }
        if path
            .last()
            .is_none_or(|(label, _)| !matches!(label, Label::Function(_)))
        {
            path.push((Label::Mark(MarkKind::Empty), None));
        }
        if let Some(arenas) = chunks.get(&index) {
            let one = match arenas.as_slice() {
                [one] => u32::try_from(*one).ok(),
                _ => None,
            };
            path.push((Label::Mark(MarkKind::Chunk(one)), None));
        }
        if options.inverted {
            path.reverse();
        }
        let mut at = NodeId::ROOT;
        for &(label, frame) in &path {
            at = step(profile, &mut tree, &mut by_parent, at, label, frame);
        }
        tree.leaves.push(Some(at));
        charge(&mut tree, at, &site.figures);
    }
    drop(by_parent);
    sum_up(&mut tree);
    list_children(profile, &mut tree);
    tree
}

fn new_node(label: Label, parent: Option<NodeId>, depth: u32, frame: Option<FrameId>) -> Node {
    Node {
        label,
        parent,
        depth,
        frame,
        several_places: false,
        rank: 0,
        own: 0,
        children: (0, 0),
    }
}

/// The node of `label` below `at`, made when it is not there yet.
fn step(
    profile: &Profile,
    tree: &mut CallTree,
    by_parent: &mut HashMap<(NodeId, Label), NodeId>,
    at: NodeId,
    label: Label,
    frame: Option<FrameId>,
) -> NodeId {
    let next = NodeId(tree.nodes.len() as u32);
    let id = *by_parent.entry((at, label)).or_insert(next);
    if id == next {
        let depth = tree.node(at).depth + 1;
        tree.nodes.push(new_node(label, Some(at), depth, frame));
        return id;
    }
    let node = &mut tree.nodes[id.index()];
    if !node.several_places
        && node.frame != frame
        && let (Some(known), Some(met)) = (node.frame, frame)
    {
        let (known, met) = (profile.frame(known), profile.frame(met));
        node.several_places = (&known.file, known.line) != (&met.file, met.line);
    }
    id
}

/// Whether a scope is `within` or lies inside it.
fn is_within(profile: &Profile, phases: &Phases, scope: ScopeId, within: ScopeId) -> bool {
    if within == ScopeId(0) || phases.around(scope).contains(&within) {
        return true;
    }
    let mut at = scope.0;
    while at != 0
        && let Some(scope) = profile.scopes.get(at as usize)
    {
        if at == within.0 {
            return true;
        }
        // Parents come before children; anything else is a damaged recording, and might be a circle.
        at = if scope.parent < at { scope.parent } else { 0 };
    }
    false
}

/// What the walk says about the stack, where its outermost frames would be.
fn marks(site: &Site) -> impl Iterator<Item = MarkKind> {
    let marks = site.marks;
    [
        (marks.foreign, MarkKind::Foreign),
        (marks.cut, MarkKind::Cut),
        (marks.deep, MarkKind::Deep),
    ]
    .into_iter()
    .filter_map(|(set, kind)| set.then_some(kind))
}

fn charge(tree: &mut CallTree, at: NodeId, figures: &Figures) {
    let row = tree.nodes[at.index()].own as usize;
    if row == 0 {
        tree.nodes[at.index()].own = tree.own.len() as u32;
        tree.own.push(*figures);
    } else {
        tree.own[row].add(figures);
    }
}

/// Totals from the last node to the first: children come after their parents.
fn sum_up(tree: &mut CallTree) {
    tree.totals = tree
        .nodes
        .iter()
        .map(|node| tree.own[node.own as usize])
        .collect();
    for index in (1..tree.nodes.len()).rev() {
        if let Some(parent) = tree.nodes[index].parent {
            let total = tree.totals[index];
            tree.totals[parent.index()].add(&total);
        }
    }
}

/// Lists every node's children by name; the position in that order becomes their rank.
fn list_children(profile: &Profile, tree: &mut CallTree) {
    let mut counts = vec![0_u32; tree.nodes.len()];
    for node in &tree.nodes {
        if let Some(parent) = node.parent {
            counts[parent.index()] += 1;
        }
    }
    let mut start = 0;
    for (node, count) in tree.nodes.iter_mut().zip(&counts) {
        // The end moves along as children are put in.
        node.children = (start, start);
        start += count;
    }
    tree.children = vec![NodeId::ROOT; start as usize];
    for index in 1..tree.nodes.len() {
        if let Some(parent) = tree.nodes[index].parent {
            let end = &mut tree.nodes[parent.index()].children.1;
            tree.children[*end as usize] = NodeId(index as u32);
            *end += 1;
        }
    }
    for index in 0..tree.nodes.len() {
        let (start, end) = tree.nodes[index].children;
        let children = &mut tree.children[start as usize..end as usize];
        children.sort_by(|a, b| {
            let (a, b) = (tree.nodes[a.index()].label, tree.nodes[b.index()].label);
            label_name(a, profile)
                .cmp(&label_name(b, profile))
                .then(a.cmp(&b))
        });
        for (rank, id) in children.iter().enumerate() {
            tree.nodes[id.index()].rank = rank as u32;
        }
    }
}
