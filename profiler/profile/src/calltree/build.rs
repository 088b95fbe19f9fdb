//! Builds the tree: one pass over the sites inward, one pass over the nodes backward for the
//! totals, one counting sort for the lists of children.
//!
//! It must never look at more than one profile or recurse, and it must check the range of every id.

use rustc_hash::FxHashMap;

use super::arenas::each_inside;
use super::{CallTree, CallTreeOptions, Levels, Node, NodeId};
use crate::profile::fields::Phases;
use crate::profile::{Figures, FrameId, Frames, Label, MarkKind, Profile, ScopeId, Site, Step};

pub(super) fn build(profile: &Profile, options: &CallTreeOptions) -> CallTree {
    let builder = Builder {
        profile,
        options,
        tree: CallTree {
            levels: options.levels,
            nodes: vec![new_node(Label::Root.into(), None, 0)],
            figures: vec![Figures::default()],
            children: Vec::new(),
            leaves: Vec::new(),
        },
        first: Vec::new(),
        others: FxHashMap::default(),
    };
    let mut tree = match options.levels {
        Levels::Arena => builder.of_blocks_in_arenas(),
        Levels::Stack | Levels::Field | Levels::Type => builder.of_sites(),
    };
    list_children(profile, &mut tree);
    sum_up(&mut tree);
    tree
}

/// A tree while nodes are added.
struct Builder<'a> {
    profile: &'a Profile,
    options: &'a CallTreeOptions,
    tree: CallTree,
    /// The first child of each node that has any. Most have one, which is found without hashing
    /// anything.
    first: Vec<Option<NodeId>>,
    others: FxHashMap<(NodeId, Label), NodeId>,
}

impl Builder<'_> {
    /// The tree of what lies inside arenas.
    fn of_blocks_in_arenas(mut self) -> CallTree {
        let CallTreeOptions { arena, measure, .. } = *self.options;
        let mut path = Vec::new();
        each_inside(self.profile, arena, measure, |labels, scope, figures| {
            if self.begin(scope, &mut path) {
                path.extend(labels.iter().copied().map(Step::from));
                let leaf = self.leaf(&path);
                self.charge(leaf, &figures);
            }
        });
        self.tree
    }

    /// The tree of all sites.
    fn of_sites(mut self) -> CallTree {
        let (profile, options) = (self.profile, self.options);
        self.tree.leaves.reserve_exact(profile.sites.len());
        let mut path: Vec<Step> = Vec::new();
        // Many sites share a path.
        let mut met: FxHashMap<PathKey, Option<NodeId>> = FxHashMap::default();
        for (index, site) in profile.sites.iter().enumerate() {
            if site.figures == Figures::default() {
                // All that it asked for was refused.
                self.tree.leaves.push(None);
                continue;
            }
            let key = path_key(profile, options, index);
            let leaf = match key.and_then(|key| met.get(&key)) {
                Some(leaf) => *leaf,
                None => self.begin(site.scope, &mut path).then(|| {
                    match options.levels {
                        Levels::Field => by_field(profile, index, &mut path),
                        Levels::Type => by_type(profile, index, &mut path),
                        Levels::Stack | Levels::Arena => {
                            by_stack(profile, options.frames, index, &mut path);
                        }
                    }
                    self.leaf(&path)
                }),
            };
            if let Some(key) = key {
                met.insert(key, leaf);
            }
            if let Some(leaf) = leaf {
                self.charge(leaf, &site.figures);
            }
            self.tree.leaves.push(leaf);
        }
        self.tree
    }

    /// Begins a path with the phases around a scope, where they are shown; false = the scope is
    /// left out.
    fn begin(&self, scope: ScopeId, path: &mut Vec<Step>) -> bool {
        let phases = self.profile.phases();
        path.clear();
        if self.options.scopes {
            let around = phases.around(scope).into_iter().map(Label::Scope);
            path.extend(around.map(Step::from));
        }
        let within = self.options.within;
        within.is_none_or(|within| is_within(self.profile, phases, scope, within))
    }

    /// The node that a path leads to, made where it is not there yet.
    fn leaf(&mut self, path: &[Step]) -> NodeId {
        let is_inverted = self.options.inverted;
        let follow = |at, step: &Step| self.next(at, *step);
        if is_inverted {
            path.iter().rev().fold(NodeId::ROOT, follow)
        } else {
            path.iter().fold(NodeId::ROOT, follow)
        }
    }

    /// The node of a step below `at`, made when it is not there yet.
    fn next(&mut self, at: NodeId, step: Step) -> NodeId {
        let nodes = &mut self.tree.nodes;
        let new = NodeId(nodes.len() as u32);
        self.first.resize(nodes.len(), None);
        let id = match &mut self.first[at.index()] {
            first @ None => *first.insert(new),
            Some(first) if nodes[first.index()].label == step.label => *first,
            Some(_) => *self.others.entry((at, step.label)).or_insert(new),
        };
        if id == new {
            let depth = nodes[at.index()].depth + 1;
            nodes.push(new_node(step, Some(at), depth));
            return id;
        }
        let node = &mut nodes[id.index()];
        node.frames = node.frames.max(step.frames);
        node.recursion = node.recursion.max(step.depth);
        if !node.several_places
            && node.frame != step.frame
            && let (Some(known), Some(met)) = (node.frame, step.frame)
        {
            let (known, met) = (self.profile.frame(known), self.profile.frame(met));
            node.several_places = (&known.file, known.line) != (&met.file, met.line);
        }
        id
    }

    fn charge(&mut self, at: NodeId, figures: &Figures) {
        let tree = &mut self.tree;
        let row = &mut tree.nodes[at.index()].own;
        if *row == 0 {
            *row = tree.figures.len() as u32;
            tree.figures.push(figures.clone());
        } else {
            tree.figures[*row as usize].add(figures);
        }
    }
}

/// The key that determines the path of a site in a tree of folded stacks: the number of the stack,
/// the scope, and the marks of the walk.
type PathKey = (u32, ScopeId, [bool; 3]);

/// `None` where more decides, or nothing is saved.
fn path_key(profile: &Profile, options: &CallTreeOptions, index: usize) -> Option<PathKey> {
    if options.levels != Levels::Stack || options.frames != Frames::Folded {
        return None;
    }
    let folding = profile.folding();
    if folding.steps(index).is_empty() || profile.chunk_sites().contains_key(&index) {
        return None;
    }
    let site = &profile.sites[index];
    let marks = [site.marks.foreign, site.marks.cut, site.marks.deep];
    Some((folding.number(index)?, site.scope, marks))
}

/// The path of a site (index into [`Profile::sites`]) in a tree by stack without phases, outermost
/// first. Never empty.
pub fn stack_of(profile: &Profile, frames: Frames, site: usize) -> Vec<Step> {
    let mut path = Vec::new();
    by_stack(profile, frames, site, &mut path);
    path
}

/// The frames of a site, between what is said of both ends.
fn by_stack(profile: &Profile, shown: Frames, index: usize, path: &mut Vec<Step>) {
    let site = &profile.sites[index];
    path.extend(marks(site).map(|mark| Step::from(Label::Mark(mark))));
    let before = path.len();
    match shown {
        Frames::Folded => path.extend(profile.folding().steps(index)),
        Frames::Own | Frames::All | Frames::Trimmed => {
            let frames = profile.frames_of(site, shown).into_iter();
            path.extend(frames.filter_map(|frame| function(profile, frame)));
        }
    }
    if path.len() == before {
        path.push(without_stack(profile, site).into());
    }
    if let Some(arenas) = profile.chunk_sites().get(&index) {
        let one = match arenas.as_slice() {
            [one] => u32::try_from(*one).ok(),
            _ => None,
        };
        path.push(Label::Mark(MarkKind::Chunk(one)).into());
    }
}

fn function(profile: &Profile, frame: FrameId) -> Option<Step> {
    let source = profile.frames.get(frame.0 as usize)?;
    let label = Label::Function(source.function);
    Some(Step::new(label, Some(frame), 1))
}

/// Returns the label of a site without frames.
fn without_stack(profile: &Profile, site: &Site) -> Label {
    let place = profile.place_of(site);
    place.unwrap_or(Label::Mark(MarkKind::Empty))
}

/// The fields from the root inward, then the type; of the chunks of an arena only their row.
fn by_field(profile: &Profile, index: usize, path: &mut Vec<Step>) {
    let fields = profile.fields();
    let field = fields.field_of_site(index);
    let around = fields.path_to(field).into_iter().map(Label::Field);
    path.extend(around.map(Step::from));
    let is_chunks = fields.nodes.get(field as usize);
    if is_chunks.is_none_or(|field| field.chunks_of.is_none()) {
        let type_id = profile.type_id_of(&profile.sites[index]);
        path.push(Label::Type(type_id).into());
    }
}

/// The type, the field (outside all data, the type that was being built), the function that is
/// charged.
fn by_type(profile: &Profile, index: usize, path: &mut Vec<Step>) {
    let site = &profile.sites[index];
    let field = profile.fields().field_of_site(index);
    let place = match site.contents.and_then(|contents| contents.owner) {
        Some(owner) if field == 0 => Label::Building(owner),
        _ => Label::Path(field),
    };
    let charged = site.owner.and_then(|id| function(profile, id));
    path.extend([
        Label::Type(profile.type_id_of(site)).into(),
        place.into(),
        charged.unwrap_or_else(|| without_stack(profile, site).into()),
    ]);
}

fn new_node(step: Step, parent: Option<NodeId>, depth: u32) -> Node {
    Node {
        label: step.label,
        parent,
        depth,
        frame: step.frame,
        several_places: false,
        frames: step.frames,
        recursion: step.depth,
        rank: 0,
        own: 0,
        total: NO_ROW,
        children: (0, 0),
    }
}

/// Returns `true` if a scope is `within` or lies inside it.
fn is_within(profile: &Profile, phases: &Phases, scope: ScopeId, within: ScopeId) -> bool {
    within == ScopeId(0)
        || phases.around(scope).contains(&within)
        || profile.scopes_around(scope).any(|(at, _)| at == within)
}

/// Returns the marks of the walk, in the place of the outermost frames.
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

/// A node whose row of totals is not known yet.
const NO_ROW: u32 = u32::MAX;

/// Totals from the last node to the first: children come after their parents. A node without
/// children has the row of its own figures as its total, and a node without figures of its own and
/// with one child shares the total of this child.
fn sum_up(tree: &mut CallTree) {
    for node in &mut tree.nodes {
        let (start, end) = node.children;
        if start == end {
            node.total = node.own;
        } else if node.own != 0 || end - start != 1 {
            node.total = tree.figures.len() as u32;
            tree.figures.push(tree.figures[node.own as usize].clone());
        }
    }
    for index in (1..tree.nodes.len()).rev() {
        let Node { parent, total, .. } = tree.nodes[index];
        let Some(parent) = parent else {
            continue;
        };
        let around = &mut tree.nodes[parent.index()].total;
        if *around == NO_ROW {
            *around = total;
        } else {
            let rows = [total as usize, *around as usize];
            if let Ok([total, around]) = tree.figures.get_disjoint_mut(rows) {
                around.add(total);
            }
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
