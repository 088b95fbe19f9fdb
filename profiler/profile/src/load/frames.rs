//! Turns return addresses into source frames and functions. Each is made once, with the properties
//! that are often needed.

use super::functions::{self, Own};
use super::modules::Modules;
use super::owner::Claim;
use crate::interned::Interned;
use crate::profile::{Frame, FrameId, Function, FunctionId, Origin};
use crate::symbols::{self, Classifier, Part, Symbols};
use crate::types::StackFrame;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use tracking_alloc_recording::{GENERATED_CODE, Recording};

/// Names of a frame that counts for one.
const BYTES_OF_A_FRAME: usize = 256;

/// The properties of a function that loading needs.
#[derive(Clone, Copy)]
pub(super) struct Traits {
    /// The part of a stack in which it may be trimmed.
    pub(super) part: Part,
    /// Whether it may own blocks.
    pub(super) claim: Claim,
}

/// The source frames of a return address.
#[derive(Clone, Default)]
struct Expanded {
    /// In `expansions`; empty: not asked for yet.
    frames: Range<usize>,
    cost: usize,
}

/// All that frames are named by.
pub(super) struct FrameNames<'a> {
    pub(super) recording: &'a Recording,
    pub(super) modules: &'a Modules,
    pub(super) symbols: &'a Symbols,
    pub(super) own: &'a Own,
    pub(super) classifier: &'a Classifier,
}

/// All that decides how the function of a source frame is described.
#[derive(PartialEq, Eq, Hash)]
struct FunctionKey {
    name: Arc<str>,
    raw: Option<Arc<str>>,
    file: Option<Arc<str>>,
    aliases: Vec<Arc<str>>,
    module: u32,
    is_symbolizer: bool,
}

/// Source frames and functions, numbered as they were first met.
#[derive(Default)]
pub(super) struct FrameTable {
    functions: Interned<Function>,
    /// The functions that were described before: names are parsed once for each function, not for
    /// each frame.
    described: FxHashMap<FunctionKey, FunctionId>,
    frames: Interned<Frame>,
    /// The traits of each function.
    traits: Vec<Traits>,
    /// The source frames of each raw frame.
    expanded: Vec<Expanded>,
    expansions: Vec<FrameId>,
    /// Raw frames without names.
    pub(super) unresolved: u64,
    /// The cost of the frames of all stacks read so far.
    pub(super) cost_of_stacks: usize,
}

impl FrameTable {
    /// Makes room for the raw frames of a recording.
    pub(super) fn make_room(&mut self, recording: &Recording) {
        // Frame 0 is what no other is; there need not be a record of it.
        let raws = recording.frames.len().max(1);
        self.expanded.resize(raws, Expanded::default());
    }

    /// All functions, and all frames.
    pub(super) fn values(&mut self) -> (&mut Vec<Function>, &mut Vec<Frame>) {
        (&mut self.functions.values, &mut self.frames.values)
    }

    /// All raw frames.
    pub(super) fn raws(&self) -> Range<u32> {
        0..self.expanded.len() as u32
    }

    pub(super) fn traits(&self, frame: FrameId) -> &Traits {
        let FunctionId(function) = self.frames.values[frame.0 as usize].function;
        &self.traits[function as usize]
    }

    /// The source frames of a raw one, outermost first, if they were asked for before.
    pub(super) fn known(&self, raw: u32) -> &[FrameId] {
        let known = self.expanded.get(raw as usize);
        known.map_or(&[], |known| &self.expansions[known.frames.clone()])
    }

    /// Returns the cost of a frame: one with long names takes as much space in a report as several
    /// others.
    pub(super) fn cost(&self, id: FrameId) -> usize {
        let frame = &self.frames.values[id.0 as usize];
        let function = &self.functions.values[frame.function.0 as usize];
        let bytes = function.name.len() + frame.file.as_ref().map_or(0, String::len);
        1 + bytes / BYTES_OF_A_FRAME
    }

    /// A frame as types are read from it.
    pub(super) fn for_types(&self, id: FrameId) -> StackFrame<'_> {
        let frame = &self.frames.values[id.0 as usize];
        StackFrame {
            id: frame.function,
            function: &self.functions.values[frame.function.0 as usize],
            inlined: frame.inlined,
            has_file: frame.file.is_some(),
            merged: frame.file.is_some() && frame.line.is_none(),
        }
    }

    fn number(&mut self, function: Function, own: &Own) -> FunctionId {
        let number = self.functions.number(function);
        for function in &self.functions.values[self.traits.len()..] {
            self.traits.push(Traits {
                part: Part::of(function),
                claim: Claim::of(function, own),
            });
        }
        FunctionId(number)
    }

    /// A frame that is none: a name in its place.
    pub(super) fn synthetic(&mut self, name: &str) -> FrameId {
        let function = Function {
            name: name.to_owned(),
            short: name.to_owned(),
            origin: Origin::Unresolved,
            ..Function::default()
        };
        let function = self.number(function, &Own::default());
        FrameId(self.frames.number(Frame {
            function,
            ..Frame::default()
        }))
    }

    /// Makes the source frames of a raw one [`known`](FrameTable::known); how many there are, and
    /// what they count for.
    pub(super) fn expand(&mut self, names: &FrameNames<'_>, raw: u32) -> (usize, usize) {
        // References to frames are in range: the reader sees to it.
        let raw = (raw as usize).min(self.expanded.len() - 1);
        if self.expanded[raw].frames.is_empty() {
            let first = self.expansions.len();
            self.make(names, raw);
            let frames = first..self.expansions.len();
            let cost = self.expansions[frames.clone()].iter();
            let cost = cost.map(|frame| self.cost(*frame)).sum();
            self.expanded[raw] = Expanded { frames, cost };
        }
        let expanded = &self.expanded[raw];
        (expanded.frames.len(), expanded.cost)
    }

    fn make(&mut self, names: &FrameNames<'_>, raw: usize) {
        let value = names.recording.frames.get(raw).copied().unwrap_or_default();
        let path = names.modules.path(value.module);
        let module = names.modules.position(value.module);
        let named = names.symbols.frames.get(raw);
        for source in named.into_iter().flatten().rev() {
            let is_symbolizer = names.classifier.is_symbolizer(raw as u32);
            let key = FunctionKey {
                name: source.function.clone(),
                raw: source.raw.clone(),
                file: source.file.clone(),
                aliases: source.aliases.clone(),
                module: value.module,
                is_symbolizer,
            };
            let function = match self.described.get(&key) {
                Some(known) => *known,
                None => {
                    let classifier = names.classifier;
                    let function = classifier.function_of_raw(raw as u32, source, path);
                    let number = self.number(functions::described(function, names.own), names.own);
                    self.described.insert(key, number);
                    number
                }
            };
            let frame = self.frames.number(Frame {
                function,
                file: source.file.as_deref().map(str::to_owned),
                line: source.line,
                module,
                offset: value.offset,
                inlined: source.inlined,
            });
            self.expansions.push(FrameId(frame));
        }
        if named.is_none_or(Vec::is_empty) {
            // A note says what names generated code.
            self.unresolved += u64::from(path != GENERATED_CODE);
            let function = self.number(symbols::unresolved(path, value.offset), names.own);
            let frame = self.frames.number(Frame {
                function,
                module,
                offset: value.offset,
                ..Frame::default()
            });
            self.expansions.push(FrameId(frame));
        }
    }
}
