//! The parts of a profile, to be changed: how tests make profiles that no recording is behind.

use std::collections::HashMap;

use super::{
    Analysis, Arena, Capture, FailedRequest, Figures, Footprint, Frame, FrameId, Function, Losses,
    Mark, Module, Process, Profile, Scope, Site, SourceLines, Stack, Thread, TimelinePoint,
    TypeName,
};

/// The parts of a profile, each of which can be changed. Nothing checks that they fit together.
#[derive(Debug)]
#[expect(
    missing_docs,
    reason = "each is the part that a method of `Profile` returns"
)]
pub struct Parts<'a> {
    pub process: &'a mut Process,
    pub capture: &'a mut Capture,
    pub totals: &'a mut Figures,
    pub lost: &'a mut Losses,
    pub modules: &'a mut Vec<Module>,
    pub functions: &'a mut Vec<Function>,
    pub frames: &'a mut Vec<Frame>,
    pub sites: &'a mut Vec<Site>,
    pub site_numbers: &'a mut Vec<u32>,
    pub scopes: &'a mut Vec<Scope>,
    pub types: &'a mut Vec<TypeName>,
    pub threads: &'a mut Vec<Thread>,
    pub timeline: &'a mut Vec<TimelinePoint>,
    pub marks: &'a mut Vec<Mark>,
    pub footprints: &'a mut Vec<Footprint>,
    pub arenas: &'a mut Vec<Arena>,
    pub failed_requests: &'a mut Vec<FailedRequest>,
    pub failed_request_count: &'a mut u64,
    pub sources: &'a mut HashMap<String, SourceLines>,
}

/// For tests alone: readers of recordings have no use for these.
impl Profile {
    /// Returns the parts to be changed, and forgets the analysis, which would no longer be theirs.
    #[doc(hidden)]
    pub fn parts(&mut self) -> Parts<'_> {
        self.analysis = Analysis::default();
        Parts {
            process: &mut self.process,
            capture: &mut self.capture,
            totals: &mut self.totals,
            lost: &mut self.lost,
            modules: &mut self.modules,
            functions: &mut self.functions,
            frames: &mut self.frames,
            sites: &mut self.sites,
            site_numbers: &mut self.site_numbers,
            scopes: &mut self.scopes,
            types: &mut self.types,
            threads: &mut self.threads,
            timeline: &mut self.timeline,
            marks: &mut self.marks,
            footprints: &mut self.footprints,
            arenas: &mut self.arenas,
            failed_requests: &mut self.failed_requests,
            failed_request_count: &mut self.failed_request_count,
            sources: &mut self.sources,
        }
    }

    /// Adds a stack, given outermost frame first, for a site to name.
    #[doc(hidden)]
    pub fn add_stack(&mut self, stack: &[FrameId]) -> Stack {
        self.stacks.add(stack)
    }
}
