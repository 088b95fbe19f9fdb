//! The locals of functions on the stacks of a program, with their addresses.
//!
//! A local may be dead: its memory keeps what was there. So it counts only where its words agree
//! with live blocks ([`super::walk`] checks that), and it is found only if debug information says
//! that it is in memory at this place in the code.

use super::types::{TypeId, Types};
use super::work::Work;
use crate::snapshot::Memory;
use gimli::{AttributeValue, EvaluationResult, Expression, Location, UnitRef, Value};
use heapglass_profile::internal::Slice;
use std::collections::HashMap;
use std::fmt;

/// Names that are followed from a function to its declaration.
const MOST_ORIGINS: usize = 4;
/// Operations of one location.
const MOST_OPERATIONS: u32 = 1000;
/// Blocks and inlined functions inside each other.
const MOST_DEPTH: usize = 512;

type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// A function on a stack, by the numbers of registers in DWARF for x86-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// An address in its code: where the innermost one is, or inside a call.
    pub lookup: u64,
    /// The registers in this function; `None` if they are not known.
    pub registers: [Option<u64>; 17],
    /// The addresses where functions that it called saved these registers.
    pub saved: [Option<u64>; 17],
    /// The canonical frame address.
    pub canonical: u64,
}

/// The stacks of a program.
#[derive(Clone, Copy)]
pub struct Stacks<'a> {
    /// The frames of all threads.
    pub frames: &'a [Frame],
    /// The memory.
    pub memory: &'a dyn Memory,
}

impl fmt::Debug for Stacks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stacks").field(&self.frames.len()).finish()
    }
}

/// A local in memory.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// `main::state`.
    pub(super) name: String,
    /// It is of a function of the standard library.
    pub(super) is_std: bool,
    pub(super) of: TypeId,
    pub(super) address: u64,
}

/// A function or a block around the entry that is read.
struct Open<'a> {
    depth: isize,
    /// The frames that are inside.
    frames: Vec<usize>,
    base: Option<Expression<Slice<'a>>>,
    /// The name of the function, and `true` if it is of the standard library.
    function: (String, bool),
}

/// A function or a namespace: its name, what it is in, and the entry that describes it further.
struct Named {
    name: Option<String>,
    parent: Option<gimli::UnitOffset>,
    origin: Option<gimli::UnitOffset>,
}

/// Returns the locals in memory of the functions on the stacks. `bias` is what code was moved by.
/// The file is hostile input: what it asks for beyond its size is not read.
pub(super) fn read(
    types: &Types,
    dwarf: &gimli::Dwarf<Slice<'_>>,
    bytes: usize,
    bias: u64,
    stacks: &Stacks<'_>,
) -> Vec<Local> {
    let mut locals = Vec::new();
    let mut work = Work::of_file(bytes);
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else {
            continue;
        };
        let unit = UnitRef::new(dwarf, &unit);
        let found = of_unit(types, unit, stacks, bias, &mut work);
        locals.extend(found.unwrap_or_default());
        if work.is_done() {
            break;
        }
    }
    locals
}

fn of_unit<'a>(
    types: &Types,
    unit: UnitRef<'_, Slice<'a>>,
    stacks: &Stacks<'_>,
    bias: u64,
    work: &mut Work,
) -> Option<Vec<Local>> {
    let mut locals = Vec::new();
    if !is_on_stack(unit, stacks, bias) {
        return Some(locals);
    }
    let names = names(unit, work)?;
    let base = u32::try_from(unit.header.debug_info_offset()?.0).ok()?;
    let mut entries = unit.entries();
    let mut open: Vec<Open<'a>> = Vec::new();
    while let Some(entry) = entries.next_dfs().ok()? {
        work.take(entry.attrs.len() + 1)?;
        while open.last().is_some_and(|open| open.depth >= entry.depth()) {
            open.pop();
        }
        match entry.tag() {
            gimli::DW_TAG_subprogram
            | gimli::DW_TAG_inlined_subroutine
            | gimli::DW_TAG_lexical_block
                if open.len() < MOST_DEPTH =>
            {
                open.extend(opened(unit, entry, open.last(), stacks, bias, &names));
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                let Some(around) = open.last().filter(|around| !around.frames.is_empty()) else {
                    continue;
                };
                let origin = reference(entry, gimli::DW_AT_abstract_origin);
                let described = origin.and_then(|origin| unit.entry(origin).ok());
                let described = described.as_ref().unwrap_or(entry);
                let (Some(name), Some(of)) = (
                    text(unit, described, gimli::DW_AT_name),
                    reference(described, gimli::DW_AT_type),
                ) else {
                    continue;
                };
                let of = u32::try_from(of.0).ok().and_then(|of| of.checked_add(base));
                let of = of.map_or(0, |of| types.at_offset(of));
                if of == 0 {
                    continue;
                }
                for &frame in &around.frames {
                    work.take(16)?;
                    let frame = &stacks.frames[frame];
                    let place = place(unit, entry, around, frame, stacks, bias);
                    locals.extend(place.map(|address| Local {
                        name: format!("{}::{name}", around.function.0),
                        is_std: around.function.1,
                        of,
                        address,
                    }));
                }
            }
            _ => {}
        }
    }
    Some(locals)
}

/// Returns `true` if a frame may be in a unit.
fn is_on_stack(unit: UnitRef<'_, Slice<'_>>, stacks: &Stacks<'_>, bias: u64) -> bool {
    let Ok(mut ranges) = unit.unit_ranges() else {
        return false;
    };
    let mut has_ranges = false;
    while let Ok(Some(range)) = ranges.next() {
        has_ranges = true;
        let mut frames = stacks.frames.iter();
        if frames.any(|frame| is_inside(&range, frame, bias)) {
            return true;
        }
    }
    !has_ranges
}

fn is_inside(range: &gimli::Range, frame: &Frame, bias: u64) -> bool {
    let at = frame.lookup.wrapping_sub(bias);
    range.begin <= at && at < range.end
}

fn opened<'a>(
    unit: UnitRef<'_, Slice<'a>>,
    entry: &Entry<'a>,
    around: Option<&Open<'a>>,
    stacks: &Stacks<'_>,
    bias: u64,
    names: &HashMap<gimli::UnitOffset, Named>,
) -> Option<Open<'a>> {
    let is_function = entry.tag() == gimli::DW_TAG_subprogram;
    let all = || match around.filter(|_| !is_function) {
        Some(around) => around.frames.clone(),
        None if is_function => (0..stacks.frames.len()).collect(),
        None => Vec::new(),
    };
    let mut frames = Vec::new();
    let mut ranges = unit.die_ranges(entry).ok()?;
    while let Ok(Some(range)) = ranges.next() {
        let inside = all().into_iter();
        frames.extend(inside.filter(|&at| is_inside(&range, &stacks.frames[at], bias)));
    }
    let base = match entry.attr_value(gimli::DW_AT_frame_base) {
        Some(AttributeValue::Exprloc(base)) => Some(base),
        _ => around.and_then(|around| around.base),
    };
    let function = match around.filter(|_| entry.tag() == gimli::DW_TAG_lexical_block) {
        Some(around) => around.function.clone(),
        None if frames.is_empty() => Default::default(),
        None => function_name(entry.offset(), names),
    };
    Some(Open {
        depth: entry.depth(),
        frames,
        base,
        function,
    })
}

/// Returns the names of functions and namespaces of a unit.
fn names(
    unit: UnitRef<'_, Slice<'_>>,
    work: &mut Work,
) -> Option<HashMap<gimli::UnitOffset, Named>> {
    let mut names = HashMap::new();
    let mut around: Vec<(isize, gimli::UnitOffset)> = Vec::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs().ok()? {
        work.take(entry.attrs.len() + 1)?;
        while around.last().is_some_and(|open| open.0 >= entry.depth()) {
            around.pop();
        }
        let is_named = matches!(
            entry.tag(),
            gimli::DW_TAG_namespace
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_subprogram
                | gimli::DW_TAG_inlined_subroutine
        );
        if !is_named {
            continue;
        }
        let origin = reference(entry, gimli::DW_AT_abstract_origin);
        let named = Named {
            name: text(unit, entry, gimli::DW_AT_name),
            parent: around.last().map(|open| open.1),
            origin: origin.or_else(|| reference(entry, gimli::DW_AT_specification)),
        };
        names.insert(entry.offset(), named);
        if entry.has_children() && around.len() < MOST_DEPTH {
            around.push((entry.depth(), entry.offset()));
        }
    }
    Some(names)
}

/// Returns the name of a function as people say it, and whether it is of the standard library.
fn function_name(
    mut at: gimli::UnitOffset,
    names: &HashMap<gimli::UnitOffset, Named>,
) -> (String, bool) {
    for _ in 0..MOST_ORIGINS {
        let origin = names.get(&at).and_then(|named| named.origin);
        let Some(origin) = origin.filter(|origin| names.contains_key(origin)) else {
            break;
        };
        at = origin;
    }
    let mut path = Vec::new();
    let mut next = Some(at);
    while let Some(named) = next
        .and_then(|at| names.get(&at))
        .filter(|_| path.len() < MOST_DEPTH)
    {
        path.extend(named.name.as_deref());
        next = named.parent;
    }
    let is_std = matches!(path.last(), Some(&("std" | "core" | "alloc")));
    // A closure is in the function that makes it.
    let own = path.iter().position(|name| !name.starts_with('{'));
    let count = own.map_or(path.len(), |own| own + 1);
    let mut words: Vec<&str> = path.into_iter().take(count).collect();
    words.reverse();
    let words = words
        .iter()
        .map(|word| word.split('<').next().unwrap_or_default());
    (words.collect::<Vec<_>>().join("::"), is_std)
}

/// Returns the address of a local in a frame, if it is in memory.
fn place<'a>(
    unit: UnitRef<'_, Slice<'a>>,
    entry: &Entry<'a>,
    around: &Open<'a>,
    frame: &Frame,
    stacks: &Stacks<'_>,
    bias: u64,
) -> Option<u64> {
    let value = entry.attr_value(gimli::DW_AT_location)?;
    let expression = match value {
        AttributeValue::Exprloc(expression) => expression,
        _ => {
            let mut list = unit.attr_locations(value).ok()??;
            loop {
                let entry = list.next().ok()??;
                if is_inside(&entry.range, frame, bias) {
                    break entry.data;
                }
            }
        }
    };
    let base = around.base.and_then(|base| {
        let evaluation = base.evaluation(unit.encoding());
        run(evaluation, frame, None, stacks.memory, None, true)
    });
    let evaluation = expression.evaluation(unit.encoding());
    run(evaluation, frame, base, stacks.memory, None, false)
}

/// Evaluates an expression to an address. `first` is on the stack at its start.
#[cfg(target_os = "linux")]
pub(crate) fn evaluate<R: gimli::Reader<Offset = usize>>(
    evaluation: gimli::Evaluation<R>,
    frame: &Frame,
    base: Option<u64>,
    memory: &dyn Memory,
    first: Option<u64>,
) -> Option<u64> {
    run(evaluation, frame, base, memory, first, false)
}

/// Evaluates an expression to an address. A register stands for its value if `is_base`, else for
/// where it was saved.
fn run<R: gimli::Reader<Offset = usize>>(
    mut evaluation: gimli::Evaluation<R>,
    frame: &Frame,
    base: Option<u64>,
    memory: &dyn Memory,
    first: Option<u64>,
    is_base: bool,
) -> Option<u64> {
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let register = |number: u16| frame.registers.get(usize::from(number)).copied().flatten();
    let mut state = evaluation.evaluate().ok()?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register: of, .. } => {
                let value = Value::Generic(register(of.0)?);
                evaluation.resume_with_register(value).ok()?
            }
            EvaluationResult::RequiresFrameBase => evaluation.resume_with_frame_base(base?).ok()?,
            EvaluationResult::RequiresCallFrameCfa => {
                let canonical = frame.canonical;
                evaluation.resume_with_call_frame_cfa(canonical).ok()?
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let mut word = [0; 8];
                let bytes = word.get_mut(..usize::from(size))?;
                memory.read(address, bytes).ok()?;
                let value = Value::Generic(u64::from_le_bytes(word));
                evaluation.resume_with_memory(value).ok()?
            }
            _ => return None,
        };
    }
    let [piece] = evaluation.as_result() else {
        return None;
    };
    match piece.location {
        _ if piece.size_in_bits.is_some() => None,
        Location::Address { address } => Some(address),
        Location::Register { register: of } if is_base => register(of.0),
        Location::Register { register: of } => {
            frame.saved.get(usize::from(of.0)).copied().flatten()
        }
        _ => None,
    }
}

fn reference(entry: &Entry<'_>, at: gimli::DwAt) -> Option<gimli::UnitOffset> {
    match entry.attr_value(at)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn text<'a>(unit: UnitRef<'_, Slice<'a>>, entry: &Entry<'a>, at: gimli::DwAt) -> Option<String> {
    let value = entry.attr_value(at)?;
    let text = unit.attr_string(value).ok()?;
    Some(text.to_string_lossy().into_owned())
}
