//! Building the tree: one pass over the sites inward, one pass over the nodes backward for the totals, one counting
//! sort for the lists of children.
//!
//! Must never look at more than one profile, recurse, or take an id that is out of range at its word.

use rustc_hash::FxHashMap;

use super::arenas::blocks_inside;
use super::label::{Label, MarkKind};
use super::{By, CallTree, Node, NodeId, Options};
use crate::profile::fields::Phases;
use crate::profile::{self, Figures, FrameId, Frames, Profile, ScopeId, Site, StepKind, TypeId};

/// One step of a path: what the node stands for, the source frame it was met at, how many frames it stands for, how
/// often its function is on the stack.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) label: Label,
    pub(crate) frame: Option<FrameId>,
    frames: u32,
    recursion: u32,
}

impl Step {
    fn new(label: Label, frame: Option<FrameId>) -> Step {
        Step {
            label,
            frame,
            frames: 1,
            recursion: 1,
        }
    }
}

pub(super) fn build(profile: &Profile, options: &Options) -> CallTree {
    let mut tree = CallTree {
        by: options.by,
        nodes: vec![new_node(Label::Root, None, 0, None)],
        totals: Vec::new(),
        own: vec![Figures::default()],
        children: Vec::new(),
        leaves: Vec::new(),
    };
    let mut known = Children::default();
    let mut path: Vec<Step> = Vec::new();
    if options.by == By::Arena {
        for block in blocks_inside(profile, options.arena, options.measure) {
            if around(profile, options, block.scope, &mut path) {
                path.extend(block.path.into_iter().map(|label| Step::new(label, None)));
                let leaf = leaf(profile, options, &mut tree, &mut known, &path);
                charge(&mut tree, leaf, &block.figures);
            }
        }
    } else {
        // Many sites share a path.
        let mut met: FxHashMap<PathKey, Option<NodeId>> = FxHashMap::default();
        let mut leaves = Vec::with_capacity(profile.sites.len());
        for (index, site) in profile.sites.iter().enumerate() {
            let key = PathKey::of(profile, options, index);
            let leaf = match key.and_then(|key| met.get(&key)) {
                Some(leaf) => *leaf,
                None => around(profile, options, site.scope, &mut path).then(|| {
                    match options.by {
                        By::Field => by_field(profile, site, &mut path),
                        By::Type => by_type(profile, site, &mut path),
                        By::Stack | By::Arena => {
                            by_stack(profile, options.frames, index, &mut path);
                        }
                    }
                    leaf(profile, options, &mut tree, &mut known, &path)
                }),
            };
            if let Some(key) = key {
                met.insert(key, leaf);
            }
            if let Some(leaf) = leaf {
                charge(&mut tree, leaf, &site.figures);
            }
            leaves.push(leaf);
        }
        tree.leaves = leaves;
    }
    drop(known);
    sum_up(&mut tree);
    list_children(profile, &mut tree);
    tree
}

/// What decides the path of a site in a tree by folded stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PathKey {
    stack: u32,
    type_id: Option<TypeId>,
    scope: ScopeId,
    marks: [bool; 3],
}

impl PathKey {
    /// `None` where more decides, or nothing is saved.
    fn of(profile: &Profile, options: &Options, index: usize) -> Option<PathKey> {
        if options.by != By::Stack || options.frames != Frames::Folded {
            return None;
        }
        let folding = profile.folding();
        if folding.steps(index).is_empty() || profile.chunk_sites().contains_key(&index) {
            return None;
        }
        let site = &profile.sites[index];
        let marks = site.marks;
        Some(PathKey {
            stack: folding.number(index)?,
            type_id: profile.type_id_of(site),
            scope: site.scope,
            marks: [marks.foreign, marks.cut, marks.deep],
        })
    }
}

/// The node that a path leads to, made where it is not there yet.
fn leaf(
    profile: &Profile,
    options: &Options,
    tree: &mut CallTree,
    known: &mut Children,
    path: &[Step],
) -> NodeId {
    let mut at = NodeId::ROOT;
    let mut follow = |step: &Step| at = next(profile, tree, known, at, *step);
    match options.inverted {
        true => path.iter().rev().for_each(&mut follow),
        false => path.iter().for_each(&mut follow),
    }
    at
}

/// Begins a path with the phases around a scope, where they are shown; false = the scope is left out.
fn around(profile: &Profile, options: &Options, scope: ScopeId, path: &mut Vec<Step>) -> bool {
    let phases = profile.phases();
    path.clear();
    if options.scopes {
        let around = phases.around(scope);
        let around = around.into_iter().map(Label::Scope);
        path.extend(around.map(|label| Step::new(label, None)));
    }
    let within = options.within;
    within.is_none_or(|within| is_within(profile, phases, scope, within))
}

/// The path of a site (index into [`Profile::sites`]) in a tree by stack without phases, outermost first. Never empty.
pub(crate) fn stack_of(profile: &Profile, frames: Frames, site: usize) -> Vec<Step> {
    let mut path = Vec::new();
    by_stack(profile, frames, site, &mut path);
    path
}

/// The frames of a site, between what is said of both ends.
fn by_stack(profile: &Profile, shown: Frames, index: usize, path: &mut Vec<Step>) {
    let site = &profile.sites[index];
    path.extend(marks(site).map(|mark| Step::new(Label::Mark(mark), None)));
    let before = path.len();
    match shown {
        Frames::Folded => {
            let steps = profile.folding().steps(index).iter();
            path.extend(steps.filter_map(|step| folded(profile, site, step)));
        }
        Frames::Own | Frames::All | Frames::Trimmed => {
            let frames = profile.frames_of(site, shown).into_iter();
            path.extend(frames.filter_map(|frame| function(profile, frame)));
        }
    }
    if path.len() == before {
        path.push(Step::new(without_stack(profile, site), None));
    }
    if let Some(arenas) = profile.chunk_sites().get(&index) {
        let one = match arenas.as_slice() {
            [one] => u32::try_from(*one).ok(),
            _ => None,
        };
        path.push(Step::new(Label::Mark(MarkKind::Chunk(one)), None));
    }
}

fn function(profile: &Profile, frame: FrameId) -> Option<Step> {
    let source = profile.frames.get(frame.0 as usize)?;
    Some(Step::new(Label::Function(source.function), Some(frame)))
}

/// A step of a folded stack; `None` of contents that nothing tells.
fn folded(profile: &Profile, site: &Site, step: &profile::Step) -> Option<Step> {
    let label = match step.kind {
        StepKind::Function(function) => Label::Function(function),
        StepKind::Call(text) => Label::Call(text),
        StepKind::Group(group) => Label::Group(group),
        StepKind::Contents => Label::Type(Some(profile.type_id_of(site)?)),
    };
    Some(Step {
        label,
        frame: step.frame,
        frames: step.frames,
        recursion: step.depth,
    })
}

/// What stands for the frames of a site that has none.
fn without_stack(profile: &Profile, site: &Site) -> Label {
    let place = profile.place_of(site);
    place.map_or(Label::Mark(MarkKind::Empty), Label::from)
}

/// The fields from the root inward, then the type.
fn by_field(profile: &Profile, site: &Site, path: &mut Vec<Step>) {
    let fields = profile.fields();
    let fields = fields.path_to(fields.field_of(site.scope));
    path.extend(
        fields
            .into_iter()
            .map(|field| Step::new(Label::Field(field), None)),
    );
    path.push(Step::new(Label::Type(profile.type_id_of(site)), None));
}

/// The type, the field (outside all data, the type that was being built), the function that is charged.
fn by_type(profile: &Profile, site: &Site, path: &mut Vec<Step>) {
    let field = profile.fields().field_of(site.scope);
    let place = match site.contents.and_then(|contents| contents.owner) {
        Some(owner) if field == 0 => Label::Building(owner),
        _ => Label::Path(field),
    };
    let owner = site.owner;
    let frame = owner.and_then(|id| profile.frames.get(id.0 as usize));
    let charged = frame.map(|frame| Label::Function(frame.function));
    let charged = charged.unwrap_or_else(|| without_stack(profile, site));
    path.extend([
        Step::new(Label::Type(profile.type_id_of(site)), None),
        Step::new(place, None),
        Step::new(charged, owner.filter(|_| frame.is_some())),
    ]);
}

fn new_node(label: Label, parent: Option<NodeId>, depth: u32, frame: Option<FrameId>) -> Node {
    Node {
        label,
        parent,
        depth,
        frame,
        several_places: false,
        frames: 1,
        recursion: 1,
        rank: 0,
        own: 0,
        children: (0, 0),
    }
}

/// The children of every node while a tree is built. Most nodes have one, which is found without hashing anything.
#[derive(Default)]
struct Children {
    /// The first child of each node that has any.
    first: Vec<Option<NodeId>>,
    others: FxHashMap<(NodeId, Label), NodeId>,
}

impl Children {
    /// The child of a node with that label; `new` from now on if there is none.
    fn find_or_add(&mut self, tree: &CallTree, at: NodeId, label: Label, new: NodeId) -> NodeId {
        self.first.resize(tree.nodes.len(), None);
        match self.first[at.index()] {
            None => *self.first[at.index()].insert(new),
            Some(first) if tree.node(first).label == label => first,
            Some(_) => *self.others.entry((at, label)).or_insert(new),
        }
    }
}

/// The node of a step below `at`, made when it is not there yet.
fn next(
    profile: &Profile,
    tree: &mut CallTree,
    known: &mut Children,
    at: NodeId,
    step: Step,
) -> NodeId {
    let Step { label, frame, .. } = step;
    let next = NodeId(tree.nodes.len() as u32);
    let id = known.find_or_add(tree, at, label, next);
    if id == next {
        let depth = tree.node(at).depth + 1;
        let mut node = new_node(label, Some(at), depth, frame);
        (node.frames, node.recursion) = (step.frames, step.recursion);
        tree.nodes.push(node);
        return id;
    }
    let node = &mut tree.nodes[id.index()];
    node.frames = node.frames.max(step.frames);
    node.recursion = node.recursion.max(step.recursion);
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
        (marks.cut, MarkKind::Truncated),
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
            a.name(profile).cmp(&b.name(profile)).then(a.cmp(&b))
        });
        for (rank, id) in children.iter().enumerate() {
            tree.nodes[id.index()].rank = rank as u32;
        }
    }
}
