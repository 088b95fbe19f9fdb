//! Finds the rule of an address by gimli.

use super::machine::{Base, Layout, Machine};
use super::row::{Bytes, Row, row_at};
use super::rule::Rule;
use super::tables::Sections;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EhFrameOffset, Encoding, Format,
    FrameDescriptionEntry, LittleEndian, Operation, Register, RegisterRule, UnwindExpression,
    UnwindSection,
};

/// The entry in the tables for an address.
pub(super) struct Entry {
    /// The start of its function, an ELF virtual address.
    pub(super) function: u64,
    /// `None` if there is no rule that fits [`Rule`].
    pub(super) rule: Option<Rule>,
}

/// Number of entries that are tried for an address.
const MOST_ENTRIES: usize = 4;
/// Bytes of the field before an entry that has its length.
const LENGTH_FIELD: usize = 4;

/// Returns the description of the function at an address, which is the one at an offset or follows
/// it.
#[inline(never)]
fn description(
    frames: &EhFrame<Bytes>,
    bases: &BaseAddresses,
    mut offset: usize,
    address: u64,
) -> Option<FrameDescriptionEntry<Bytes>> {
    for _ in 0..MOST_ENTRIES {
        let found = frames
            .fde_from_offset(bases, EhFrameOffset(offset), EhFrame::cie_from_offset)
            .ok()?;
        if found.contains(address) {
            return Some(found);
        }
        if found.len() != 0 {
            return None;
        }
        // A function of no bytes has an entry too. lld lists only the first entry of those with the
        // same start; that of the function behind it follows.
        offset = found.offset() + LENGTH_FIELD + found.entry_len();
    }
    None
}

/// Returns the entry in the tables for an ELF virtual address, or `None` if there is none.
#[inline(never)]
pub(super) fn entry<M: Machine>(sections: &Sections, address: u64) -> Option<Entry> {
    let mut frames = EhFrame::new(sections.frames, LittleEndian);
    frames.set_vendor(M::VENDOR);
    let frames = &frames;
    let bases = &bases(sections);
    let entry = description(frames, bases, find(sections, address)?, address)?;
    // The caller of a signal handler was interrupted anywhere, which no rule describes.
    let row = if entry.is_signal_trampoline() {
        None
    } else {
        row_at::<M>(frames, bases, &entry, address)
    };
    Some(Entry {
        function: entry.initial_address(),
        rule: row.and_then(|row| encode::<M>(frames, &row)),
    })
}

/// Returns the end of the last function with an entry that begins at an ELF virtual address or
/// before: 0 if there is no such function, `None` if the tables cannot tell.
#[inline(never)]
pub(super) fn last_end<M: Machine>(sections: &Sections, address: u64) -> Option<u64> {
    let mut frames = EhFrame::new(sections.frames, LittleEndian);
    frames.set_vendor(M::VENDOR);
    let bases = &bases(sections);
    let mut offset = find(sections, address)?;
    let mut end = 0;
    for _ in 0..MOST_ENTRIES {
        let found = frames
            .fde_from_offset(bases, EhFrameOffset(offset), EhFrame::cie_from_offset)
            .ok()?;
        // Before the first entry, the first one is found.
        if found.initial_address() > address {
            break;
        }
        end = found.end_address();
        if found.len() != 0 {
            break;
        }
        // As in `description`.
        offset = found.offset() + LENGTH_FIELD + found.entry_len();
    }
    Some(end)
}

fn bases(sections: &Sections) -> BaseAddresses {
    BaseAddresses::default()
        .set_eh_frame_hdr(sections.header_address)
        .set_eh_frame(sections.frames_address)
}

/// Returns the place of the entry for an address, if there is one.
// NOTE: never inlined, like `encode`, so that their stack is free while gimli works.
#[inline(never)]
fn find(sections: &Sections, address: u64) -> Option<usize> {
    let bases = &bases(sections);
    let header = EhFrameHdr::new(sections.header, LittleEndian)
        .parse(bases, 8)
        .ok()?;
    let entry = header.table()?.lookup(address, bases).ok()?.direct().ok()?;
    usize::try_from(entry.checked_sub(sections.frames_address)?).ok()
}

#[inline(never)]
fn encode<M: Machine>(frames: &EhFrame<Bytes>, row: &Row) -> Option<Rule> {
    let below = |offset: i64| u64::try_from(offset.checked_neg()?).ok();
    let address = match row.address {
        // If the register is not mentioned, its place was not described, or it is still the
        // register. "Undefined" means that there is no caller.
        Some(RegisterRule::Undefined) => return Some(Rule::OUTERMOST),
        Some(RegisterRule::Offset(offset)) => below(offset)?,
        _ => return None,
    };
    let (base, end) = match &row.cfa {
        CfaRule::RegisterAndOffset { register, offset } => {
            let base = match *register {
                register if register == M::STACK_POINTER => Base::Sp,
                register if register == M::FRAME_POINTER => Base::Bp,
                _ => return None,
            };
            (base, u64::try_from(*offset).ok()?)
        }
        CfaRule::Expression(expression) => {
            // The only expression that compilers write for functions that call: the frame's end was
            // saved below the frame pointer.
            let (register, offset, true) = base_register(frames, expression)? else {
                return None;
            };
            if register != M::FRAME_POINTER {
                return None;
            }
            (Base::Loaded, below(offset)?)
        }
    };
    let bp = match row.bp {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) if base != Base::Loaded => {
            None
        }
        Some(RegisterRule::Offset(offset)) if base != Base::Loaded => Some(below(offset)?),
        Some(RegisterRule::Expression(expression)) if base == Base::Loaded => {
            match base_register(frames, &expression)? {
                (register, 0, false) if register == M::FRAME_POINTER => None,
                _ => return None,
            }
        }
        _ => return None,
    };
    Rule::new::<M>(Layout {
        base,
        end,
        address,
        bp,
    })
}

/// Reads an expression "register plus offset". Returns the register, the offset, and `true` if a
/// load follows. Returns `None` for any other expression.
fn base_register(
    frames: &EhFrame<Bytes>,
    expression: &UnwindExpression<usize>,
) -> Option<(Register, i64, bool)> {
    const ENCODING: Encoding = Encoding {
        address_size: 8,
        format: Format::Dwarf32,
        version: 4,
    };
    let mut rest = expression.get(frames).ok()?.0;
    let Operation::RegisterOffset {
        register, offset, ..
    } = Operation::parse(&mut rest, ENCODING).ok()?
    else {
        return None;
    };
    if rest.is_empty() {
        return Some((register, offset, false));
    }
    match Operation::parse(&mut rest, ENCODING).ok()? {
        Operation::Deref {
            size: 8,
            space: false,
            ..
        } if rest.is_empty() => Some((register, offset, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::Amd64;
    use super::*;

    const HEADER: u64 = 0x1000;
    const FRAMES: u64 = 0x2000;
    const FUNCTION: u64 = 0x9000;

    /// Writes the entry of a function of `bytes` bytes, whose frame has 8 and later 64 bytes.
    fn write_entry(frames: &mut Vec<u8>, bytes: u32) {
        let start = frames.len();
        let place = FRAMES + start as u64 + 8;
        frames.extend(20u32.to_le_bytes());
        frames.extend((start as u32 + 4).to_le_bytes());
        frames.extend(((FUNCTION as i64 - place as i64) as i32).to_le_bytes());
        frames.extend(bytes.to_le_bytes());
        // No augmentation; after 4 bytes, the frame's end is rsp + 64; padding.
        frames.extend([0, 0x44, 0x0e, 64, 0, 0, 0, 0]);
    }

    /// Returns a header that lists only the first entry, which begins behind the common one.
    fn header(first: usize) -> Vec<u8> {
        let mut header = vec![1, 0x1b, 0x03, 0x3b];
        let from_here = FRAMES as i64 - (HEADER as i64 + 4);
        header.extend((from_here as i32).to_le_bytes());
        header.extend(1u32.to_le_bytes());
        for address in [FUNCTION, FRAMES + first as u64] {
            header.extend(((address - HEADER) as i32).to_le_bytes());
        }
        header
    }

    #[test]
    fn a_function_behind_one_of_no_bytes_has_a_rule() {
        // What the entries have in common: the frame's end is rsp + 8, and the return address is
        // the word below it.
        let mut frames = vec![
            20, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,
            0, 0,
        ];
        let first = frames.len();
        write_entry(&mut frames, 0);
        write_entry(&mut frames, 100);
        frames.extend([0; 4]);
        let sections = Sections {
            header: header(first).leak(),
            frames: frames.leak(),
            header_address: HEADER,
            frames_address: FRAMES,
        };
        let sp = |end| {
            Rule::new::<Amd64>(Layout {
                base: Base::Sp,
                end,
                address: 8,
                bp: None,
            })
        };
        let rule = |address| {
            let entry = entry::<Amd64>(&sections, address)?;
            assert_eq!(entry.function, FUNCTION);
            entry.rule
        };
        assert_eq!(rule(FUNCTION + 50), sp(64));
        assert_eq!(rule(FUNCTION + 2), sp(8));
        assert_eq!(rule(FUNCTION + 100), None);
        let end = |address| last_end::<Amd64>(&sections, address);
        assert_eq!(end(FUNCTION - 1), Some(0));
        assert_eq!(end(FUNCTION), Some(FUNCTION + 100));
        assert_eq!(end(FUNCTION + 5000), Some(FUNCTION + 100));
        let none = Sections {
            header: &[],
            ..sections
        };
        assert_eq!(last_end::<Amd64>(&none, FUNCTION), None);
        assert_eq!(rule(FUNCTION - 1), None);
    }
}
