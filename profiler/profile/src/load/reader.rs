//! The second pass over stacks, spread over the cores: finds the shown part of each, the owner of
//! its blocks, and their contents.

use super::frames::FrameTable;
use super::owner;
use super::walks::Walks;
use crate::interned::Interned;
use crate::parallel::in_parts;
use crate::profile::{FrameId, Group, ScopeId, StackMarks, outward};
use crate::symbols;
use crate::types::{self, ContentNames, StackFrame};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::ops::Range;

/// In place of the number of what a stack says its block holds: it does not say.
const UNKNOWN: u32 = u32::MAX;

/// Reads the stacks of sites, in their order; each a number with the results of the first pass.
pub(super) fn read(
    walks: &Walks<'_>,
    numbers: &[u32],
    found: &[(ScopeId, StackMarks)],
) -> Vec<StacksRead> {
    in_parts(numbers.len(), |part| {
        let mut reader = Reader::default();
        let sites = part.map(|at| reader.site(walks, numbers[at], found[at]));
        StacksRead {
            sites: sites.collect(),
            contents: reader.contents.values,
            inner: reader.inner.values,
        }
    })
}

/// The results that one thread read of its sites.
pub(super) struct StacksRead {
    /// The contents of blocks, each once, in the order of first occurrence.
    pub(super) contents: Vec<ContentNames>,
    /// The innermost frames of stacks, each list once.
    pub(super) inner: Vec<Vec<FrameId>>,
    pub(super) sites: Vec<SiteStack>,
}

/// The results for the stack of a site.
#[derive(Clone)]
pub(super) struct SiteStack {
    pub(super) scope: ScopeId,
    pub(super) marks: StackMarks,
    /// The contents of its blocks, by number.
    pub(super) contents: u32,
    /// The node around the innermost frames.
    pub(super) node: u32,
    /// The innermost frames, by number.
    pub(super) inner: u32,
    pub(super) shown: Range<u16>,
    pub(super) owner: Option<FrameId>,
    pub(super) group: Option<Group>,
}

#[derive(Default)]
struct Reader<'a> {
    types: types::Stacks,
    /// The known numbers by key.
    known: FxHashMap<Vec<u32>, u32>,
    contents: Interned<ContentNames>,
    inner: Interned<Vec<FrameId>, FxBuildHasher>,
    // Buffers, filled again for each site.
    path: Vec<(u32, u32)>,
    stack: Vec<FrameId>,
    parts: Vec<symbols::Part>,
    claims: Vec<owner::Claim>,
    for_types: Vec<StackFrame<'a>>,
    key: Vec<u32>,
}

impl<'a> Reader<'a> {
    fn site(
        &mut self,
        walks: &'a Walks<'_>,
        number: u32,
        (scope, marks): (ScopeId, StackMarks),
    ) -> SiteStack {
        let frames = &*walks.frames;
        self.path.clear();
        self.stack.clear();
        match walks.apart.get(&number) {
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
        let contents = self.contents(frames);
        let trimmed = self.trim(frames);
        let inner = trimmed.end;
        // Frames of `Profiled` and phases between the program's own carry no information. The
        // innermost frame that is shown stays: it is heapglass's own where nothing else is there.
        let is_left_out =
            |at: usize, frame: &FrameId| at + 1 < inner && frames.traits(*frame).claim.is_own;
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
        let inner = self.inner.number_of(&self.stack[begin_kept..]);
        let shown = if self.stack.len() == before {
            trimmed
        } else {
            self.trim(frames)
        };
        let (owner, group) = if marks.synthetic {
            (shown.clone().next_back(), None)
        } else {
            self.claims.clear();
            let claims = self.stack.iter().map(|frame| frames.traits(*frame).claim);
            self.claims.extend(claims);
            owner::owner(&self.claims, shown.clone())
        };
        let contents = match group {
            // A list of the symbolizer is no list of the program's.
            Some(Group::Backtrace) => self.contents.number(ContentNames {
                container: Group::Backtrace.name().to_owned(),
                allocating: None,
                element: None,
                owner: None,
                others: Vec::new(),
            }),
            _ => contents,
        };
        SiteStack {
            scope,
            marks,
            contents,
            node,
            inner,
            // No stack is longer than `MOST_SOURCE_FRAMES`.
            shown: shown.start as u16..shown.end as u16,
            owner: owner.and_then(|at| self.stack.get(at).copied()),
            group,
        }
    }

    /// The part of the stack worth showing.
    fn trim(&mut self, frames: &FrameTable) -> Range<usize> {
        self.parts.clear();
        let parts = self.stack.iter().map(|frame| frames.traits(*frame).part);
        self.parts.extend(parts);
        symbols::trim(&self.parts)
    }

    /// The number of what the stack says its blocks hold.
    fn contents(&mut self, frames: &'a FrameTable) -> u32 {
        self.for_types.clear();
        let stack = self.stack.iter().rev();
        self.for_types
            .extend(stack.map(|frame| frames.for_types(*frame)));
        let has_key = self.types.key(&self.for_types, &mut self.key);
        if has_key && let Some(known) = self.known.get(&self.key) {
            debug_assert_eq!(
                self.types.contents(&self.for_types).as_ref(),
                self.contents.values.get(*known as usize),
                "stacks of one key hold the same"
            );
            return *known;
        }
        let contents = self.types.contents(&self.for_types);
        let number = contents.map_or(UNKNOWN, |contents| self.contents.number(contents));
        if has_key {
            self.known.insert(self.key.clone(), number);
        }
        number
    }
}
