//! The first pass over stacks: turns the return addresses of each into source frames, and bounds
//! what a small file may claim.

use super::frames::{FrameNames, FrameTable};
use crate::profile::{FrameId, ScopeId, StackMarks, StackNode, Stacks, outward};
use rustc_hash::FxHashMap;
use tracking_alloc_recording::{
    FIRST_SITE, SITE_TABLE_FULL, SITE_UNATTRIBUTED, SiteValue, site_flags, unwinder,
};

/// Return addresses of one stack: the recorder keeps no more.
const MOST_FRAMES: usize = 256;

/// Limits on the source frames of one stack and of all sites together: for each site, and for any
/// recording. Real stacks have 50 or 100 frames; a small file could claim that each address was
/// inlined five hundred deep.
const MOST_SOURCE_FRAMES: usize = 1024;
const FRAMES_OF_A_SITE: usize = 512;
const FEW_FRAMES: usize = 64 << 10;
/// Numbers of frames that are always kept at the two ends of a stack. The innermost ones of a deep
/// stack may all be of the standard library and of rayon; the program's own are at the outer end.
const LEAST_INNERMOST: usize = 16;
const LEAST_OUTERMOST: usize = 16;
/// The frame in the place of those between the two ends.
const OMITTED: &str = "(frames omitted)";

/// Returns the marks of a stack from the flags of its site.
fn stack_marks(flags: u32) -> StackMarks {
    StackMarks {
        cut: flags & site_flags::CUT != 0,
        foreign: flags & site_flags::FOREIGN != 0,
        deep: flags & site_flags::DEEP != 0,
        folded: flags & site_flags::FOLDED != 0,
        synthetic: false,
    }
}

/// The first pass over the stacks, one after the other: their source frames are made, and bounded.
pub(super) struct Walks<'a> {
    pub(super) nodes: &'a [StackNode],
    pub(super) frames: &'a mut FrameTable,
    names: &'a FrameNames<'a>,
    /// The maximum cost of the frames of all stacks.
    most: usize,
    /// By number of the site: the frames, outermost first, of what is no node of the tree with all
    /// that is around it.
    pub(super) apart: FxHashMap<u32, Vec<FrameId>>,
    /// A stack lost frames because there are too many in the recording.
    pub(super) is_bounded: bool,
    path: Vec<u32>,
}

impl<'a> Walks<'a> {
    pub(super) fn new(
        nodes: &'a [StackNode],
        frames: &'a mut FrameTable,
        names: &'a FrameNames<'a>,
    ) -> Self {
        Walks {
            nodes,
            most: names.recording.sites.len() * FRAMES_OF_A_SITE + FEW_FRAMES,
            frames,
            names,
            apart: FxHashMap::default(),
            is_bounded: false,
            path: Vec::new(),
        }
    }

    /// The record of a site.
    pub(super) fn record(&self, number: u32) -> SiteValue {
        let known = self.names.recording.sites.get(number as usize);
        known.copied().unwrap_or_default()
    }

    /// Makes the frames of a site; its scope, and what the recorder's walk had to do to its stack.
    pub(super) fn walk(&mut self, number: u32) -> (ScopeId, StackMarks) {
        let name = match number {
            SITE_TABLE_FULL => Some("(table full)"),
            SITE_UNATTRIBUTED => Some("(unattributed)"),
            number if number < FIRST_SITE => Some("(damaged)"),
            _ => None,
        };
        if let Some(name) = name {
            self.apart.insert(number, vec![self.frames.synthetic(name)]);
            let marks = StackMarks {
                synthetic: true,
                ..StackMarks::default()
            };
            return (ScopeId::default(), marks);
        }
        let record = self.record(number);
        let scope = ScopeId(record.scope);
        let mut marks = stack_marks(record.flags);
        self.path.clear();
        let mut around = outward(self.nodes, record.stack);
        let raws = around.by_ref().take(MOST_FRAMES);
        self.path.extend(raws.map(|(_, node)| node.piece));
        let is_longer = around.next().is_some();
        let (mut length, mut spent) = (0, 0);
        for raw in &self.path {
            let (frames, cost) = self.frames.expand(self.names, *raw);
            (length, spent) = (length + frames, spent + cost);
            if length > MOST_SOURCE_FRAMES || spent > self.frames_left() {
                let kept = self.cut(&mut marks);
                self.apart.insert(number, kept);
                return (scope, marks);
            }
        }
        self.frames.cost_of_stacks += spent;
        // Without stacks, sites in a phase or field are charged to that.
        let has_place = self.names.recording.header.unwinder == unwinder::NONE
            && (1..self.names.recording.scopes.len()).contains(&(record.scope as usize));
        if self.path.is_empty() && !has_place {
            self.apart
                .insert(number, vec![self.frames.synthetic("(no stack)")]);
        } else if is_longer {
            let raws = self.path.iter().rev();
            let frames = raws.flat_map(|raw| self.frames.known(*raw));
            self.apart.insert(number, frames.copied().collect());
        }
        (scope, marks)
    }

    /// Returns the number of frames that are left.
    fn frames_left(&self) -> usize {
        self.most.saturating_sub(self.frames.cost_of_stacks)
    }

    /// Returns what is kept of a stack that is too long, outermost first: its two ends.
    fn cut(&mut self, marks: &mut StackMarks) -> Vec<FrameId> {
        for raw in &self.path {
            self.frames.expand(self.names, *raw);
        }
        let known = |raw: &u32| self.frames.known(*raw);
        let all: usize = self.path.iter().map(|raw| known(raw).len()).sum();
        let innermost = self
            .path
            .iter()
            .flat_map(|raw| known(raw).iter().rev())
            .take(MOST_SOURCE_FRAMES - LEAST_OUTERMOST);
        let mut inner: Vec<FrameId> = innermost.copied().collect();
        let outermost = self.path.iter().rev().flat_map(known).take(LEAST_OUTERMOST);
        let mut kept: Vec<FrameId> = outermost.copied().collect();
        for at in 0..inner.len() {
            let cost = self.frames.cost(inner[at]);
            let is_spent = self.frames_left() < cost;
            self.is_bounded |= is_spent;
            if is_spent && at >= LEAST_INNERMOST {
                inner.truncate(at);
                break;
            }
            self.frames.cost_of_stacks += cost;
        }
        kept.truncate(all - inner.len());
        if kept.len() + inner.len() < all {
            marks.deep = true;
            kept.push(self.frames.synthetic(OMITTED));
        }
        kept.extend(inner.into_iter().rev());
        kept
    }

    /// The frames of each address, without those of heapglass: what lies around the innermost
    /// frames of a stack.
    pub(super) fn pieces(&self) -> Stacks {
        let mut stacks = Stacks::default();
        let mut piece = Vec::new();
        for raw in self.frames.raws() {
            piece.clear();
            let frames = self.frames.known(raw).iter().copied();
            piece.extend(frames.filter(|frame| !self.frames.traits(*frame).claim.is_own));
            stacks.add_piece(&piece);
        }
        stacks
    }
}
