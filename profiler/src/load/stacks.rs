//! From raw return addresses to named, trimmed stacks.

use super::counters::Counted;
use super::functions::{self, Own};
use super::modules::Modules;
use super::{Error, Options, arenas, owner, packed, scopes};
use crate::interned::Interned;
use crate::profile::{
    Contents, Frame, FrameId, Function, FunctionId, Origin, Profile, ScopeId, StackMarks,
};
use crate::symbols::{self, Classifier, Part, Progress, SourceFrame, Symbols};
use crate::types::{StackFrame, Stacks, Told, Types};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::path::Path;
use tracking_alloc_recording::{
    FIRST_SITE, FrameValue, Recording, SITE_TABLE_FULL, SITE_UNATTRIBUTED, site_flags, unwinder,
};

/// Fills modules, functions, frames, sites and scopes of a profile.
pub(super) fn fill(
    profile: &mut Profile,
    path: &Path,
    recording: &Recording,
    mut counted: Counted,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<(), Error> {
    let modules = Modules::of(recording);
    let (symbols, packed_own) = names(profile, path, recording, &modules, options, progress)?;
    profile.modules = modules.described(&symbols);
    profile.lost.notes.extend(symbols.notes.iter().cloned());
    let classifier = Classifier::new(&symbols);
    let is_own = |(chain, raw): (&Vec<SourceFrame>, &FrameValue)| {
        let module = modules.path(raw.module);
        let origin = |frame| classifier.function(frame, module).origin;
        chain.iter().any(|frame| origin(frame) == Origin::User)
    };
    let has_own = symbols.frames.iter().zip(&recording.frames).any(is_own);
    let own = Own {
        crates: [&options.own, &packed_own, &profile.capture.own_crates]
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
    let mut builder = Builder::new(recording, &modules, &symbols, classifier, &own);
    let mut read = Stacks::default();
    let mut stack = Vec::new();
    for (number, site) in counted.numbers.iter().zip(&mut counted.sites) {
        (site.marks, site.scope) = builder.stack(*number, &mut stack);
        site.contents = builder.contents(&stack, &mut read, &mut types);
        let inner = symbols::trim(&builder.parts(&stack)).end;
        // What `Profiled` and phases put between the program's frames tells nobody anything. The innermost frame that is
        // shown stays: it is heapglass's own where nothing else is there.
        let mut number = 0;
        stack.retain(|frame| {
            number += 1;
            number >= inner || !builder.is_own[builder.function_id(*frame)]
        });
        let functions: Vec<&Function> =
            stack.iter().map(|frame| builder.function(*frame)).collect();
        site.shown = symbols::trim(&builder.parts(&stack));
        (site.owner, site.group) = match site.marks.synthetic {
            true => (site.shown.clone().next_back(), None),
            false => owner::owner(&functions, site.shown.clone()),
        };
        // As long as it is, no longer: of a large profile the stacks are most of it.
        site.stack = stack.as_slice().to_vec();
    }
    profile.lost.unresolved_frames = builder.unresolved;
    profile.functions = builder.functions.values;
    profile.frames = builder.frames.values;
    profile.arenas = arenas::arenas(recording, &counted, &mut types);
    profile.sites = counted.sites;
    profile.types = types.into_values();
    Ok(())
}

/// The names of all raw frames: those packed with the recording, with the crates it calls its own; else those of the
/// binaries.
fn names(
    profile: &mut Profile,
    path: &Path,
    recording: &Recording,
    modules: &Modules,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<(Symbols, Vec<String>), Error> {
    if let Some(bytes) = &recording.symbols
        && options.symbols.binary.is_none()
    {
        let packed = packed::Packed::parse(bytes).map_err(|what| Error::packed(path, what))?;
        profile.sources = packed.sources();
        let symbols = packed.symbols(recording.frames.len(), modules.order.len());
        return Ok((symbols, packed.own));
    }
    let symbols = modules
        .resolve(recording, options, progress)
        .map_err(|error| Error::symbols(path, error))?;
    Ok((symbols, Vec::new()))
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
/// Names of a frame that counts for one.
const BYTES_OF_A_FRAME: usize = 256;

/// A source frame of a raw one, and what it counts for.
type Expanded = (FrameId, usize);

struct Builder<'a> {
    recording: &'a Recording,
    modules: &'a Modules,
    symbols: &'a Symbols,
    own: &'a Own,
    classifier: Classifier,
    functions: Interned<Function>,
    frames: Interned<Frame>,
    /// What trimming asks of each function, and whether it is heapglass's own.
    parts: Vec<Part>,
    is_own: Vec<bool>,
    /// Where in `expansions` the source frames of each raw frame are, outermost first, once asked for.
    expanded: FxHashMap<u32, Range<usize>>,
    expansions: Vec<Expanded>,
    unresolved: u64,
    frames_left: usize,
}

impl<'a> Builder<'a> {
    fn new(
        recording: &'a Recording,
        modules: &'a Modules,
        symbols: &'a Symbols,
        classifier: Classifier,
        own: &'a Own,
    ) -> Self {
        Builder {
            recording,
            modules,
            symbols,
            own,
            classifier,
            functions: Interned::new(),
            frames: Interned::new(),
            parts: Vec::new(),
            is_own: Vec::new(),
            expanded: FxHashMap::default(),
            expansions: Vec::new(),
            unresolved: 0,
            frames_left: recording.sites.len() * FRAMES_OF_A_SITE + FEW_FRAMES,
        }
    }

    fn function_id(&self, frame: FrameId) -> usize {
        self.frames.values[frame.0 as usize].function.0 as usize
    }

    fn function(&self, frame: FrameId) -> &Function {
        &self.functions.values[self.function_id(frame)]
    }

    fn parts(&self, stack: &[FrameId]) -> Vec<Part> {
        let part = |frame: &FrameId| self.parts[self.function_id(*frame)];
        stack.iter().map(part).collect()
    }

    fn number(&mut self, function: Function) -> FunctionId {
        let number = self.functions.number(function);
        for function in &self.functions.values[self.parts.len()..] {
            self.parts.push(Part::of(function));
            self.is_own.push(function.is_own());
        }
        FunctionId(number)
    }

    /// The stack of a site, outermost first, in place of what is in `frames`.
    fn stack(&mut self, site: u32, frames: &mut Vec<FrameId>) -> (StackMarks, ScopeId) {
        frames.clear();
        let name = match site {
            SITE_TABLE_FULL => Some("(table full)"),
            SITE_UNATTRIBUTED => Some("(unattributed)"),
            site if site < FIRST_SITE => Some("(damaged)"),
            _ => None,
        };
        if let Some(name) = name {
            let marks = StackMarks {
                synthetic: true,
                ..StackMarks::default()
            };
            frames.push(self.synthetic(name));
            return (marks, ScopeId(0));
        }
        let record = self
            .recording
            .sites
            .get(site as usize)
            .copied()
            .unwrap_or_default();
        let mut raw = Vec::new();
        let mut node = record.stack;
        // Parents are smaller than their children (the reader sees to it), so this ends at node 0.
        while node != 0 && raw.len() < MOST_FRAMES {
            let Some(stack) = self.recording.stacks.get(node as usize) else {
                break;
            };
            raw.push(stack.frame);
            node = stack.parent;
        }
        let mut marks = stack_marks(record.flags);
        // From the innermost outward: those are kept, as by a walk that reaches its limit.
        'kept: for raw in raw {
            for at in self.expand(raw).rev() {
                let (frame, cost) = self.expansions[at];
                let spent = self.frames_left < cost && frames.len() >= LEAST_FRAMES;
                if spent || frames.len() == MOST_SOURCE_FRAMES {
                    marks.deep = true;
                    break 'kept;
                }
                self.frames_left = self.frames_left.saturating_sub(cost);
                frames.push(frame);
            }
        }
        frames.reverse();
        // Without stacks, sites in a phase or field are charged to that.
        let has_place = self.recording.header.unwinder == unwinder::NONE
            && (1..self.recording.scopes.len()).contains(&(record.scope as usize));
        if frames.is_empty() && !has_place {
            frames.push(self.synthetic("(no stack)"));
        }
        (marks, ScopeId(record.scope))
    }

    /// What a frame counts for: one with long names takes as much of a report as several.
    fn cost(&self, id: FrameId) -> usize {
        let file = &self.frames.values[id.0 as usize].file;
        let bytes = self.function(id).name.len() + file.as_ref().map_or(0, String::len);
        1 + bytes / BYTES_OF_A_FRAME
    }

    /// What a stack says its blocks hold.
    fn contents(
        &self,
        stack: &[FrameId],
        read: &mut Stacks,
        types: &mut Types,
    ) -> Option<Contents> {
        let frames: Vec<StackFrame<'_>> = stack
            .iter()
            .rev()
            .map(|id| {
                let frame = &self.frames.values[id.0 as usize];
                StackFrame {
                    id: frame.function,
                    function: self.function(*id),
                    inlined: frame.inlined,
                    has_file: frame.file.is_some(),
                    merged: frame.file.is_some() && frame.line.is_none(),
                }
            })
            .collect();
        let told = read.contents(&frames)?;
        let mut number = |of: fn(&Told) -> Option<&str>| {
            let name = of(&told)?;
            if told.others.is_empty() {
                return Some(types.number(name));
            }
            let others = told.others.iter();
            let others = others.map(|other| other.as_ref().and_then(of));
            let all: Vec<Option<&str>> = std::iter::once(Some(name)).chain(others).collect();
            Some(types.one_of(&all))
        };
        Some(Contents {
            container: number(|told| Some(&told.container))?,
            element: number(|told| told.element.as_deref()),
            owner: number(|told| told.owner.as_deref()),
        })
    }

    fn synthetic(&mut self, name: &str) -> FrameId {
        let function = Function {
            name: name.to_owned(),
            short: name.to_owned(),
            krate: String::new(),
            origin: Origin::Unresolved,
            ..Function::default()
        };
        let function = self.number(function);
        FrameId(self.frames.number(Frame {
            function,
            ..Frame::default()
        }))
    }

    /// Where in `expansions` the source frames of a raw frame are, outermost first.
    fn expand(&mut self, raw: u32) -> Range<usize> {
        if let Some(known) = self.expanded.get(&raw) {
            return known.clone();
        }
        let value = self
            .recording
            .frames
            .get(raw as usize)
            .copied()
            .unwrap_or_default();
        let path = self.modules.path(value.module).to_owned();
        let module = self.modules.position(value.module).unwrap_or(u32::MAX);
        let named = self
            .symbols
            .frames
            .get(raw as usize)
            .map_or(&[][..], Vec::as_slice);
        let first = self.expansions.len();
        for source in named.iter().rev() {
            let function = functions::described(self.classifier.function(source, &path), self.own);
            let function = self.number(function);
            let frame = FrameId(self.frames.number(Frame {
                function,
                file: source.file.as_deref().map(str::to_owned),
                line: source.line,
                module,
                offset: value.offset,
                inlined: source.inlined,
            }));
            self.expansions.push((frame, self.cost(frame)));
        }
        if named.is_empty() {
            self.unresolved += 1;
            let function = self.number(symbols::unresolved(&path, value.offset));
            let frame = Frame {
                function,
                module,
                offset: value.offset,
                ..Frame::default()
            };
            let frame = FrameId(self.frames.number(frame));
            self.expansions.push((frame, self.cost(frame)));
        }
        let frames = first..self.expansions.len();
        self.expanded.insert(raw, frames.clone());
        frames
    }
}
