//! Unwinds the stacks of a program by the rules of `.eh_frame`, which are read from its memory.

use super::elf;
use super::maps::{self, Mapping};
use crate::snapshot::Memory;
use crate::typed::Frame;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, LittleEndian, Register, RegisterRule,
    UnwindContext, UnwindSection,
};
use std::collections::HashMap;
use std::ops::Range;

/// Frames that are read of one stack, and of all.
const MOST_FRAMES: usize = 1024;
const MOST_FRAMES_OF_ALL: usize = 1 << 18;
/// Bytes of a module's rules that are read.
const MOST_BYTES: u64 = 256 << 20;
/// Numbers of registers in DWARF.
pub(crate) const STACK_POINTER: usize = 7;
const PROGRAM_COUNTER: usize = 16;

/// The rules of a module: `.eh_frame_hdr`, and `.eh_frame` up to the end of its mapping.
struct Rules {
    header: Vec<u8>,
    header_at: u64,
    frames: Vec<u8>,
    frames_at: u64,
}

/// The memory of a program, with the code in it.
struct Code<'a> {
    mappings: &'a [Mapping],
    memory: &'a dyn Memory,
}

impl Code<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read(address, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

/// The registers of a thread, by their numbers in DWARF; `None` if they are not known.
pub(crate) type Registers = [Option<u64>; 17];

/// The rules of modules that were read, by the address and the inode of each.
#[derive(Default)]
pub(crate) struct KnownRules(HashMap<(u64, u64), Option<Rules>>);

/// The stack of a thread.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// The frames, the innermost first.
    pub(crate) frames: Vec<Frame>,
    /// The last frame is that of the function with which the thread began.
    pub(crate) is_complete: bool,
    /// A signal has interrupted one of the functions.
    pub(crate) has_signal: bool,
}

/// Returns the frames of threads, the innermost first. `mappings` are in the order of their
/// addresses, and `threads` has the registers of each thread.
pub(crate) fn frames(
    mappings: &[Mapping],
    memory: &dyn Memory,
    threads: impl Iterator<Item = Registers>,
) -> Vec<Frame> {
    let mut rules = KnownRules::default();
    let mut frames = Vec::new();
    for registers in threads {
        let most = MOST_FRAMES.min(MOST_FRAMES_OF_ALL - frames.len());
        frames.extend(walk_some(mappings, memory, registers, &mut rules, most).frames);
    }
    frames
}

/// Walks the stack of a thread. `mappings` are in the order of their addresses.
pub(crate) fn walk(
    mappings: &[Mapping],
    memory: &dyn Memory,
    registers: Registers,
    rules: &mut KnownRules,
) -> Walked {
    walk_some(mappings, memory, registers, rules, MOST_FRAMES)
}

fn walk_some(
    mappings: &[Mapping],
    memory: &dyn Memory,
    registers: Registers,
    rules: &mut KnownRules,
    most: usize,
) -> Walked {
    let code = &Code { mappings, memory };
    let bases = maps::bases(mappings);
    let mut walked = Walked::default();
    let mut frame = Frame {
        registers,
        ..Frame::default()
    };
    let mut is_exact = true;
    while walked.frames.len() < most {
        let Some(counter) = frame.registers[PROGRAM_COUNTER].filter(|&counter| counter != 0) else {
            walked.is_complete = !walked.frames.is_empty();
            break;
        };
        // The call is before the return address.
        frame.lookup = counter - u64::from(!is_exact);
        let Some(mapping) = maps::at(mappings, frame.lookup) else {
            break;
        };
        let Some(&base) = bases.get(mapping.path()) else {
            break;
        };
        let known = rules.0.entry((base, mapping.inode));
        let of_module = known.or_insert_with(|| read(code, base));
        let Some((outer, is_signal)) = of_module
            .as_ref()
            .and_then(|rules| step(code, rules, &mut frame))
        else {
            break;
        };
        let is_outer = is_signal || outer.registers[STACK_POINTER] > frame.registers[STACK_POINTER];
        walked.frames.push(frame);
        walked.has_signal |= is_signal;
        if !is_outer {
            break;
        }
        frame = outer;
        is_exact = is_signal;
    }
    walked
}

fn read(code: &Code<'_>, base: u64) -> Option<Rules> {
    let headers = elf::program_headers(base, &|at, buffer| code.memory.read(at, buffer))?;
    let first = elf::first_page(&headers)?;
    let mut all = headers.iter();
    let place = all.find(|header| header.kind == elf::EH_FRAME_HEADER)?;
    let header_at = base.wrapping_add(place.address.wrapping_sub(first));
    let header = bytes(code, header_at..header_at.checked_add(place.bytes)?)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at);
    let parsed = EhFrameHdr::new(&header, LittleEndian).parse(&bases, 8);
    let gimli::Pointer::Direct(frames_at) = parsed.ok()?.eh_frame_ptr() else {
        return None;
    };
    let end = maps::at(code.mappings, frames_at)?.range.end;
    let frames = bytes(code, frames_at..end)?;
    Some(Rules {
        header,
        header_at,
        frames,
        frames_at,
    })
}

fn bytes(code: &Code<'_>, range: Range<u64>) -> Option<Vec<u8>> {
    let length = range.end.checked_sub(range.start)?;
    let mut bytes = vec![0; length.min(MOST_BYTES) as usize];
    code.memory.read(range.start, &mut bytes).ok()?;
    Some(bytes)
}

/// Returns the frame that called a frame, and whether a signal interrupted it. Sets the canonical
/// address of the frame.
fn step(code: &Code<'_>, rules: &Rules, frame: &mut Frame) -> Option<(Frame, bool)> {
    let bases = BaseAddresses::default()
        .set_eh_frame_hdr(rules.header_at)
        .set_eh_frame(rules.frames_at);
    let section = EhFrame::new(&rules.frames, LittleEndian);
    let header = EhFrameHdr::new(&rules.header, LittleEndian);
    let header = header.parse(&bases, 8).ok()?;
    let table = header.table()?;
    let by = EhFrame::cie_from_offset;
    let entry = table
        .fde_for_address(&section, &bases, frame.lookup, by)
        .ok()?;
    let mut context = UnwindContext::new();
    let row = entry
        .unwind_info_for_address(&section, &bases, &mut context, frame.lookup)
        .ok()?;
    let evaluate = |expression: gimli::UnwindExpression<usize>, first: Option<u64>| {
        let expression = expression.get(&section).ok()?;
        let evaluation = expression.evaluation(entry.cie().encoding());
        crate::typed::evaluate(evaluation, frame, None, code.memory, first)
    };
    let canonical = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            let value = (*frame.registers.get(usize::from(register.0))?)?;
            value.wrapping_add_signed(*offset)
        }
        CfaRule::Expression(expression) => evaluate(*expression, None)?,
    };
    let mut outer = Frame {
        // A register that nobody saved has the same value and place.
        registers: frame.registers,
        saved: frame.saved,
        ..Frame::default()
    };
    outer.registers[STACK_POINTER] = Some(canonical);
    outer.saved[STACK_POINTER] = None;
    let result = entry.cie().return_address_register();
    for number in 0..outer.registers.len() {
        let place = match row.register(Register(number as u16)) {
            Some(RegisterRule::Offset(offset)) => canonical.wrapping_add_signed(offset),
            Some(RegisterRule::Expression(expression)) => {
                let Some(place) = evaluate(expression, Some(canonical)) else {
                    outer.registers[number] = None;
                    continue;
                };
                place
            }
            Some(RegisterRule::SameValue) => continue,
            // Without a rule, registers that a function must keep have their value.
            None if is_kept(number) => continue,
            _ => {
                (outer.registers[number], outer.saved[number]) = (None, None);
                continue;
            }
        };
        (outer.registers[number], outer.saved[number]) = (code.word(place), Some(place));
    }
    if result.0 as usize != PROGRAM_COUNTER {
        return None;
    }
    frame.canonical = canonical;
    Some((outer, entry.is_signal_trampoline()))
}

/// Returns `true` for the registers that a function keeps for its caller: `rbx`, `rbp`, `rsp`, and
/// `r12` to `r15`.
fn is_kept(number: usize) -> bool {
    matches!(number, 3 | 6 | 7 | 12..=15)
}
