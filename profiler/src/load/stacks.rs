//! From raw return addresses to named, trimmed stacks.

use super::counters::Counted;
use super::frames::Frames;
use super::functions::Own;
use super::modules::Modules;
use super::names::Names;
use super::{Options, arenas, owner, scopes};
use crate::parallel::in_parts;
use crate::profile::{
    Contents, FrameId, Group, Origin, Profile, ScopeId, Site, StackMarks, StackNode, Stacks,
};
use crate::symbols::{self, Classifier, SourceFrame};
use crate::types::{self, ContentNames, StackFrame, Types};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::ops::Range;
use tracking_alloc_recording::{
    FIRST_SITE, FrameValue, Recording, SITE_TABLE_FULL, SITE_UNATTRIBUTED, SiteValue, site_flags,
    unwinder,
};

/// Fills modules, functions, frames, stacks, sites and scopes of a profile. `nodes` is the tree that the stacks of the
/// recording are.
pub(super) fn fill(
    profile: &mut Profile,
    (recording, nodes): (&Recording, Vec<StackNode>),
    mut counted: Counted,
    (modules, names): (&Modules, &Names),
    options: &Options,
) {
    let symbols = &names.symbols;
    profile.modules = modules.described(symbols);
    profile.sources.clone_from(&names.sources);
    profile.lost.notes.extend(symbols.notes.iter().cloned());
    let classifier = Classifier::new(symbols);
    let is_own = |(chain, raw): (&Vec<SourceFrame>, &FrameValue)| {
        let module = modules.path(raw.module);
        let origin = |frame| classifier.function(frame, module).origin;
        chain.iter().any(|frame| origin(frame) == Origin::User)
    };
    let has_own = symbols.frames.iter().zip(&recording.frames).any(is_own);
    let own = Own {
        crates: [&options.own, &names.own, &profile.capture.own_crates]
            .into_iter()
            .find(|crates| !crates.is_empty())
            .cloned()
            .unwrap_or_default(),
        native: (!has_own).then(|| profile.process.program.clone()),
    };
    profile.capture.own_crates.clone_from(&own.crates);
    let mut types = Types::default();
    profile.scopes = scopes::scopes(recording, &mut types);
    profile.footprints = scopes::footprints(recording, &mut types);
    let frames = Frames::new(recording, modules, symbols, classifier, &own);
    let mut walks = Walks {
        recording,
        nodes: &nodes,
        frames,
        frames_left: recording.sites.len() * FRAMES_OF_A_SITE + FEW_FRAMES,
        apart: FxHashMap::default(),
        path: Vec::new(),
    };
    for (place, (number, site)) in counted.numbers.iter().zip(&mut counted.sites).enumerate() {
        walks.walk(place, *number, site);
    }
    let read = walks.read(&counted);
    profile.stacks = walks.pieces();
    profile.lost.unresolved_frames = walks.frames.unresolved;
    (profile.functions, profile.frames) = walks.frames.into_values();
    put_together(read, &mut profile.stacks, &mut counted.sites, &mut types);
    profile.stacks.set_nodes(nodes);
    profile.arenas = arenas::arenas(recording, &counted, &mut types);
    profile.sites = counted.sites;
    profile.types = types.into_values();
}

/// What the flags of a site say of its stack.
fn stack_marks(flags: u32) -> StackMarks {
    StackMarks {
        cut: flags & site_flags::CUT != 0,
        foreign: flags & site_flags::FOREIGN != 0,
        deep: flags & site_flags::DEEP != 0,
        folded: flags & site_flags::FOLDED != 0,
        synthetic: false,
    }
}

/// Return addresses of one stack: the recorder keeps no more.
const MOST_FRAMES: usize = 256;

/// Source frames of one stack, and of all sites together: so many of each, and so many in any recording. Real stacks
/// have 50 or 100; a small file could say that each address was inlined five hundred deep.
const MOST_SOURCE_FRAMES: usize = 1024;
const FRAMES_OF_A_SITE: usize = 256;
const FEW_FRAMES: usize = 64 << 10;
/// Those that are kept whatever was used up.
const LEAST_FRAMES: usize = 16;

/// In place of the number of what a stack tells: nothing.
const NOTHING: u32 = u32::MAX;

/// The nodes from one outward.
fn outward(nodes: &[StackNode], node: u32) -> impl Iterator<Item = (u32, StackNode)> {
    let mut next = node;
    std::iter::from_fn(move || {
        // Parents are smaller than their children (the reader sees to it), so this ends at node 0.
        let node = next;
        let found = *nodes.get(node as usize).filter(|_| node != 0)?;
        next = found.parent;
        Some((node, found))
    })
}

/// The first pass over the stacks, one after the other: their source frames are made, and bounded.
struct Walks<'a> {
    recording: &'a Recording,
    nodes: &'a [StackNode],
    frames: Frames<'a>,
    frames_left: usize,
    /// By place of the site: the frames, outermost first, of what is no node of the tree with all that is around it.
    apart: FxHashMap<usize, Vec<FrameId>>,
    path: Vec<u32>,
}

impl Walks<'_> {
    /// The record of a site.
    fn record(&self, number: u32) -> SiteValue {
        let known = self.recording.sites.get(number as usize);
        known.copied().unwrap_or_default()
    }

    fn walk(&mut self, place: usize, number: u32, site: &mut Site) {
        let name = match number {
            SITE_TABLE_FULL => Some("(table full)"),
            SITE_UNATTRIBUTED => Some("(unattributed)"),
            number if number < FIRST_SITE => Some("(damaged)"),
            _ => None,
        };
        if let Some(name) = name {
            site.marks.synthetic = true;
            self.apart.insert(place, vec![self.frames.synthetic(name)]);
            return;
        }
        let record = self.record(number);
        site.scope = ScopeId(record.scope);
        site.marks = stack_marks(record.flags);
        self.path.clear();
        let mut around = outward(self.nodes, record.stack);
        let raws = around.by_ref().take(MOST_FRAMES);
        self.path.extend(raws.map(|(_, node)| node.piece));
        let is_longer = around.next().is_some();
        let mut length = 0;
        for at in 0..self.path.len() {
            let (frames, cost) = self.frames.expand(self.path[at]);
            if frames + length > MOST_SOURCE_FRAMES || cost > self.frames_left {
                let kept = self.cut(at, &mut site.marks);
                self.apart.insert(place, kept);
                return;
            }
            self.frames_left -= cost;
            length += frames;
        }
        // Without stacks, sites in a phase or field are charged to that.
        let has_place = self.recording.header.unwinder == unwinder::NONE
            && (1..self.recording.scopes.len()).contains(&(record.scope as usize));
        if self.path.is_empty() && !has_place {
            self.apart
                .insert(place, vec![self.frames.synthetic("(no stack)")]);
        } else if is_longer {
            let raws = self.path.iter().rev();
            let frames = raws.flat_map(|raw| self.frames.known(*raw));
            self.apart.insert(place, frames.copied().collect());
        }
    }

    /// Frame by frame what is kept of a stack that is too long, from the innermost outward, as by a walk that reaches its
    /// limit. `at` = the first address on the path whose frames may not all be kept.
    fn cut(&mut self, at: usize, marks: &mut StackMarks) -> Vec<FrameId> {
        let whole = self.path[..at].iter();
        let whole = whole.flat_map(|raw| self.frames.known(*raw).iter().rev());
        let mut kept: Vec<FrameId> = whole.copied().collect();
        'kept: for raw in &self.path[at..] {
            self.frames.expand(*raw);
            for frame in self.frames.known(*raw).iter().rev() {
                let cost = self.frames.cost(*frame);
                let spent = self.frames_left < cost && kept.len() >= LEAST_FRAMES;
                if spent || kept.len() == MOST_SOURCE_FRAMES {
                    marks.deep = true;
                    break 'kept;
                }
                self.frames_left = self.frames_left.saturating_sub(cost);
                kept.push(*frame);
            }
        }
        kept.reverse();
        kept
    }

    /// The second pass, spread over the cores: what each stack says.
    fn read(&self, counted: &Counted) -> Vec<Read> {
        in_parts(counted.sites.len(), |part| {
            let mut reader = Reader::new(self);
            for place in part {
                let synthetic = counted.sites[place].marks.synthetic;
                let site = reader.site(place, counted.numbers[place], synthetic);
                reader.read.sites.push(site);
            }
            reader.read
        })
    }

    /// The frames of each address, without those of heapglass: what lies around the innermost frames of a stack.
    fn pieces(&self) -> Stacks {
        let mut stacks = Stacks::default();
        let mut piece = Vec::new();
        for raw in self.frames.raws() {
            piece.clear();
            let frames = self.frames.known(raw).iter().copied();
            piece.extend(frames.filter(|frame| !self.frames.traits(*frame).is_own));
            stacks.add_piece(&piece);
        }
        stacks
    }
}

/// What one thread read of its sites.
#[derive(Default)]
struct Read {
    /// What stacks tell, each once, in the order it was first met.
    told: Vec<ContentNames>,
    /// The innermost frames of stacks, each list once.
    inner: Vec<Vec<FrameId>>,
    sites: Vec<SiteStack>,
}

/// What was read of a site.
struct SiteStack {
    told: u32,
    /// The node around the innermost frames.
    node: u32,
    inner: u32,
    shown: Range<u16>,
    owner: Option<FrameId>,
    group: Option<Group>,
}

struct Reader<'a> {
    walks: &'a Walks<'a>,
    types: types::Stacks,
    /// By key.
    known: FxHashMap<Vec<u32>, u32>,
    told: HashMap<ContentNames, u32>,
    inner: FxHashMap<Vec<FrameId>, u32>,
    read: Read,
    // What is made anew for each site.
    path: Vec<(u32, u32)>,
    stack: Vec<FrameId>,
    parts: Vec<symbols::Part>,
    claims: Vec<owner::Claim>,
    for_types: Vec<StackFrame<'a>>,
    key: Vec<u32>,
}

impl<'a> Reader<'a> {
    fn new(walks: &'a Walks<'a>) -> Self {
        Reader {
            walks,
            types: types::Stacks::default(),
            known: FxHashMap::default(),
            told: HashMap::new(),
            inner: FxHashMap::default(),
            read: Read::default(),
            path: Vec::new(),
            stack: Vec::new(),
            parts: Vec::new(),
            claims: Vec::new(),
            for_types: Vec::new(),
            key: Vec::new(),
        }
    }

    fn site(&mut self, place: usize, number: u32, synthetic: bool) -> SiteStack {
        let walks = self.walks;
        let frames = &walks.frames;
        self.path.clear();
        self.stack.clear();
        match walks.apart.get(&place) {
            Some(apart) => self.stack.extend_from_slice(apart),
            None => {
                let around = outward(walks.nodes, walks.record(number).stack);
                self.path
                    .extend(around.map(|(node, found)| (node, found.piece)));
                for (_, raw) in self.path.iter().rev() {
                    self.stack.extend_from_slice(frames.known(*raw));
                }
            }
        }
        let told = self.contents();
        let trimmed = self.trim();
        let inner = trimmed.end;
        // What `Profiled` and phases put between the program's frames tells nobody anything. The innermost frame that is
        // shown stays: it is heapglass's own where nothing else is there.
        let is_left_out =
            |at: usize, frame: &FrameId| at + 1 < inner && frames.traits(*frame).is_own;
        let (mut begin, mut node) = (0, 0);
        if let Some((innermost, _)) = self.path.first() {
            (begin, node) = (self.stack.len(), *innermost);
        }
        let mut around = self.path.iter();
        while begin >= inner
            && let Some((_, raw)) = around.next()
        {
            begin -= frames.known(*raw).len();
            node = around.as_slice().first().map_or(0, |(node, _)| *node);
        }
        let mut at = 0;
        let before = self.stack.len();
        let mut begin_kept = begin;
        self.stack.retain(|frame| {
            let left_out = is_left_out(at, frame);
            begin_kept -= usize::from(left_out && at < begin);
            at += 1;
            !left_out
        });
        let innermost = &self.stack[begin_kept..];
        let inner = match self.inner.get(innermost) {
            Some(number) => *number,
            None => {
                let number = self.read.inner.len() as u32;
                self.read.inner.push(innermost.to_vec());
                self.inner.insert(innermost.to_vec(), number);
                number
            }
        };
        let shown = match self.stack.len() == before {
            true => trimmed,
            false => self.trim(),
        };
        let (owner, group) = match synthetic {
            true => (shown.clone().next_back(), None),
            false => {
                self.claims.clear();
                let claims = self.stack.iter().map(|frame| frames.traits(*frame).claim);
                self.claims.extend(claims);
                owner::owner(&self.claims, shown.clone())
            }
        };
        SiteStack {
            told,
            node,
            inner,
            // No stack is longer than `MOST_SOURCE_FRAMES`.
            shown: shown.start as u16..shown.end as u16,
            owner: owner.and_then(|at| self.stack.get(at).copied()),
            group,
        }
    }

    /// The part of the stack worth showing.
    fn trim(&mut self) -> Range<usize> {
        let walks = self.walks;
        let frames = &walks.frames;
        self.parts.clear();
        let parts = self.stack.iter().map(|frame| frames.traits(*frame).part);
        self.parts.extend(parts);
        symbols::trim(&self.parts)
    }

    /// The number of what the stack says its blocks hold.
    fn contents(&mut self) -> u32 {
        let walks = self.walks;
        let frames = &walks.frames;
        self.for_types.clear();
        let stack = self.stack.iter().rev();
        self.for_types
            .extend(stack.map(|frame| frames.for_types(*frame)));
        let has_key = self.types.key(&self.for_types, &mut self.key);
        if has_key && let Some(known) = self.known.get(&self.key) {
            debug_assert_eq!(
                self.types.contents(&self.for_types).as_ref(),
                self.read.told.get(*known as usize),
                "stacks of one key hold the same"
            );
            return *known;
        }
        let number = match self.types.contents(&self.for_types) {
            None => NOTHING,
            Some(told) => {
                let next = self.read.told.len() as u32;
                let number = *self.told.entry(told.clone()).or_insert(next);
                if number == next {
                    self.read.told.push(told);
                }
                number
            }
        };
        if has_key {
            self.known.insert(self.key.clone(), number);
        }
        number
    }
}

/// Numbers what the threads found, in the order of the sites: the same whatever the number of threads.
fn put_together(read: Vec<Read>, stacks: &mut Stacks, sites: &mut [Site], types: &mut Types) {
    let mut known: FxHashMap<Vec<FrameId>, u32> = FxHashMap::default();
    let mut left = sites.iter_mut();
    for read in read {
        let contents: Vec<Contents> = read.told.iter().map(|told| contents(told, types)).collect();
        let inner = read.inner.into_iter();
        let pieces: Vec<u32> = inner
            .map(|frames| match known.get(&frames) {
                Some(number) => *number,
                None => {
                    let number = stacks.add_piece(&frames);
                    known.insert(frames, number);
                    number
                }
            })
            .collect();
        for (found, site) in read.sites.into_iter().zip(left.by_ref()) {
            site.contents = contents.get(found.told as usize).copied();
            site.stack = Stacks::at(found.node, pieces[found.inner as usize]);
            (site.shown, site.owner, site.group) = (found.shown, found.owner, found.group);
        }
    }
}

/// What a stack says, by numbers.
fn contents(told: &ContentNames, types: &mut Types) -> Contents {
    let mut number = |of: fn(&ContentNames) -> Option<&str>| {
        let name = of(told)?;
        if told.others.is_empty() {
            return Some(types.number(name));
        }
        let others = told.others.iter();
        let others = others.map(|other| other.as_ref().and_then(of));
        let all: Vec<Option<&str>> = std::iter::once(Some(name)).chain(others).collect();
        Some(types.one_of(&all))
    };
    Contents {
        container: number(|told| Some(&told.container)).unwrap_or_default(),
        element: number(|told| told.element.as_deref()),
        owner: number(|told| told.owner.as_deref()),
    }
}
