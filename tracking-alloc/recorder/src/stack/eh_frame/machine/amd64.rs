//! Rules on x86-64.

use super::{BASE_BITS, Base, Layout, Machine, RULE_BITS, WORD, bytes, words};
use gimli::{Register, Vendor, X86_64};

/// x86-64. The return address is the last word of the frame. Functions push rbp before or after
/// other registers.
///
/// ```text
/// bits 0-1    base
/// bits 2-22   words from the base up to the frame's end
/// bits 23-29  words from the frame's end down to the caller's rbp, 0 = unchanged
/// ```
pub(in crate::stack::eh_frame) struct Amd64;

const END_BITS: u32 = 21;
const BP_SHIFT: u32 = BASE_BITS + END_BITS;
const BP_BITS: u32 = RULE_BITS - BP_SHIFT;

/// A sign of what a function uses rbp for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// It points to the link.
    Link,
    Data,
}

impl Sign {
    /// Returns the sign that instructions begin with, if they do with any.
    fn at(code: &[u8]) -> Option<Sign> {
        match code {
            // `push rbp`, followed by one of the two encodings of `mov rbp, rsp`.
            [0x55, 0x48, 0x89, 0xe5, ..] | [0x55, 0x48, 0x8b, 0xec, ..] => Some(Sign::Link),
            // A move from or to a local variable, below the link. V8's baseline code calls a
            // function that builds its link.
            [0x48 | 0x4c, 0x8b | 0x89, operands, 0x80..=0xff, ..] if operands & 0xc7 == 0x45 => {
                Some(Sign::Link)
            }
            // `push rbp; sub rsp`: it saves the register and uses it for something else.
            [0x55, 0x48, 0x83 | 0x81, 0xec, ..] => Some(Sign::Data),
            // `ret` and padding: a function ends there, and the next one saves nothing. Shorter
            // runs of these bytes are parts of other instructions.
            [0xc3, 0xcc, 0xcc, 0xcc, ..]
            | [0xc3, 0x90, 0x90, 0x90, ..]
            | [0xc3, 0, 0, 0, 0, 0, 0, 0, ..] => Some(Sign::Data),
            _ => None,
        }
    }
}

impl Machine for Amd64 {
    const RETURN_ADDRESS: Register = X86_64::RA;
    const STACK_POINTER: Register = X86_64::RSP;
    const FRAME_POINTER: Register = X86_64::RBP;
    const VENDOR: Vendor = Vendor::Default;
    const ENDS_WITH_ADDRESS: bool = true;
    const KEEPS_LINKS: bool = false;
    /// When the standard library grows a vector, there are two.
    const USUAL_NEEDS: usize = 2;

    fn keeps_link(code: &[u8]) -> Option<usize> {
        let mut places = (0..code.len()).rev();
        let (place, sign) = places.find_map(|at| Some((at, Sign::at(&code[at..])?)))?;
        (sign == Sign::Link).then_some(place)
    }

    fn returns_by(code: &[u8]) -> Option<Layout> {
        let (bytes, bp) = match code {
            // `add rsp, ..; ret`
            [0x48, 0x83, 0xc4, bytes @ ..=0x7f, 0xc3, ..] => (u64::from(*bytes), None),
            // `pop rbp; ret`
            [0x5d, 0xc3, ..] => (WORD, Some(2 * WORD)),
            // `leave; ret`
            [0xc9, 0xc3, ..] => return Some(Layout::LINK),
            _ => return None,
        };
        Some(Layout {
            base: Base::Sp,
            end: bytes + WORD,
            address: WORD,
            bp,
        })
    }

    fn pack(layout: Layout) -> Option<u32> {
        let bp = match layout.bp {
            Some(0) => return None,
            Some(bytes) => words(bytes, BP_BITS)?,
            None => 0,
        };
        let end = words(layout.end, END_BITS)?;
        (layout.address == WORD).then_some(layout.base as u32 | end << BASE_BITS | bp << BP_SHIFT)
    }

    #[inline(always)]
    fn unpack(rule: u32) -> (usize, usize, usize) {
        let end = bytes(rule, BASE_BITS, END_BITS);
        (end, WORD as usize, bytes(rule, BP_SHIFT, BP_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_function_that_points_rbp_to_its_link_keeps_one() {
        let link = |code: &[&[u8]]| Amd64::keeps_link(&code.concat());
        let (builds, saves) = (b"\x55\x48\x89\xe5", b"\x55\x48\x83\xec\x20");
        let (body, end) = (b"\x48\x89\xf8\xff\xd0", b"\x5d\xc3\xcc\xcc\xcc");
        let (local, field) = (b"\x48\x8b\x75\xf8", b"\x48\x8b\x75\x08");
        assert_eq!(link(&[builds, body]), Some(0));
        assert_eq!(link(&[body, b"\x55\x48\x8b\xec", body]), Some(5));
        assert_eq!(link(&[body, local, body]), Some(5));
        assert_eq!(link(&[body, field, body]), None);
        assert_eq!(link(&[body, b"\x49\x8b\x75\xf8", body]), None, "r13");
        assert_eq!(link(&[builds, body, end, saves, body]), None);
        assert_eq!(link(&[saves, body, end, builds, body]), Some(15));
        assert_eq!(link(&[builds, body, end, body]), None, "the next one");
        assert_eq!(
            link(&[builds, body, b"\x5d\xc3", body]),
            Some(0),
            "two ends"
        );
        assert_eq!(link(&[body]), None);
        assert_eq!(link(&[b"\x55\x48"]), None);
    }
    #[test]
    fn the_instructions_after_a_call_tell_the_frame_that_they_leave() {
        let layout = |end, bp| Layout {
            base: Base::Sp,
            end,
            address: 8,
            bp,
        };
        let returns = Amd64::returns_by;
        assert_eq!(returns(b"\x48\x83\xc4\x08\xc3"), Some(layout(16, None)));
        assert_eq!(returns(b"\x5d\xc3"), Some(layout(16, Some(16))));
        assert_eq!(returns(b"\xc9\xc3\x90"), Some(Layout::LINK));
        assert_eq!(returns(b"\x48\x83\xc4\xf8\xc3"), None);
        assert_eq!(returns(b"\x48\x83\xc4\x08\x90"), None);
        assert_eq!(returns(b""), None);
    }
}
