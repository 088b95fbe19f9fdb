//! Unwinds the stacks of an image by the rules of `.eh_frame`, which are read from its memory.

use super::{Image, word_at};
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
const EH_FRAME_HEADER: u32 = 0x6474_e550;
const ELF_BYTES: usize = 64;
const HEADER_BYTES: usize = 56;
const MOST_HEADERS: usize = 64;
/// Numbers of registers in DWARF.
const STACK_POINTER: usize = 7;
const PROGRAM_COUNTER: usize = 16;

/// The rules of a module: `.eh_frame_hdr`, and `.eh_frame` up to the end of its mapping.
struct Rules {
    header: Vec<u8>,
    header_at: u64,
    frames: Vec<u8>,
    frames_at: u64,
}

/// Returns the frames of all threads, the innermost first.
pub(super) fn frames(image: &Image) -> Vec<Frame> {
    let mut rules: HashMap<u64, Option<Rules>> = HashMap::new();
    let mut frames = Vec::new();
    for thread in &image.threads {
        let first = frames.len();
        let mut frame = Frame {
            registers: thread.registers.0.map(Some),
            ..Frame::default()
        };
        let mut is_exact = true;
        while frames.len() - first < MOST_FRAMES && frames.len() < MOST_FRAMES_OF_ALL {
            let Some(counter) = frame.registers[PROGRAM_COUNTER].filter(|&counter| counter != 0)
            else {
                break;
            };
            // The call is before the return address.
            frame.lookup = counter - u64::from(!is_exact);
            let Some(base) = base_of(image, frame.lookup) else {
                break;
            };
            let rules = rules.entry(base).or_insert_with(|| read(image, base));
            let Some((outer, is_signal)) = rules
                .as_ref()
                .and_then(|rules| step(image, rules, &mut frame))
            else {
                break;
            };
            let is_outer =
                is_signal || outer.registers[STACK_POINTER] > frame.registers[STACK_POINTER];
            frames.push(frame);
            if !is_outer {
                break;
            }
            frame = outer;
            is_exact = is_signal;
        }
    }
    frames
}

/// Returns the address at which the file of an address in code is mapped.
fn base_of(image: &Image, address: u64) -> Option<u64> {
    let name = &image.mapping(address)?.name;
    let mut mappings = image.mappings.iter();
    let first = mappings.find(|of| of.offset == 0 && !name.is_empty() && of.name == *name)?;
    Some(first.range.start)
}

fn read(image: &Image, base: u64) -> Option<Rules> {
    let mut elf = [0; ELF_BYTES];
    image.memory.read(base, &mut elf).ok()?;
    let count = usize::from(u16::from_le_bytes([elf[56], elf[57]]));
    if !elf.starts_with(b"\x7fELF\x02\x01") || count > MOST_HEADERS {
        return None;
    }
    let mut headers = vec![0; count * HEADER_BYTES];
    let at = base.checked_add(word_at(&elf, 32))?;
    image.memory.read(at, &mut headers).ok()?;
    let kind = |header: &[u8]| word_at(header, 0) as u32;
    let headers = || headers.chunks_exact(HEADER_BYTES);
    let loaded = headers().filter(|header| kind(header) == 1);
    let lowest = loaded.map(|header| word_at(header, 16)).min()? & !4095;
    let place = headers().find(|header| kind(header) == EH_FRAME_HEADER)?;
    let header_at = base.wrapping_add(word_at(place, 16).wrapping_sub(lowest));
    let header = bytes(image, header_at..header_at.checked_add(word_at(place, 40))?)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at);
    let parsed = EhFrameHdr::new(&header, LittleEndian).parse(&bases, 8);
    let gimli::Pointer::Direct(frames_at) = parsed.ok()?.eh_frame_ptr() else {
        return None;
    };
    let end = image.mapping(frames_at)?.range.end;
    let frames = bytes(image, frames_at..end)?;
    Some(Rules {
        header,
        header_at,
        frames,
        frames_at,
    })
}

fn bytes(image: &Image, range: Range<u64>) -> Option<Vec<u8>> {
    let length = range.end.checked_sub(range.start)?;
    let mut bytes = vec![0; length.min(MOST_BYTES) as usize];
    image.memory.read(range.start, &mut bytes).ok()?;
    Some(bytes)
}

/// Returns the frame that called a frame, and whether a signal interrupted it. Sets the canonical
/// address of the frame.
fn step(image: &Image, rules: &Rules, frame: &mut Frame) -> Option<(Frame, bool)> {
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
        crate::typed::evaluate(evaluation, frame, None, image, first)
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
        (outer.registers[number], outer.saved[number]) = (image.word(place), Some(place));
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
