//! Rules on x86-64.

use super::{BASE_BITS, Base, Layout, Machine, RULE_BITS, Sign, WORD, bytes, words};
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

/// Returns the sign at an offset in instructions, if there is one.
fn sign_at(code: &[u8], offset: usize, generated: bool) -> Option<Sign> {
    let (before, code) = code.split_at(offset);
    match code {
        // Behind this prefix, it is `push r13`.
        [0x55, ..] if before.ends_with(&[0x41]) => None,
        // `push rbp`, followed by one of the two encodings of `mov rbp, rsp`.
        [0x55, 0x48, 0x89, 0xe5, ..] | [0x55, 0x48, 0x8b, 0xec, ..] => Some(Sign::Link),
        // A move from or to a local variable, below the link. V8's baseline code calls a function
        // that builds its link. Compilers of files move fields of a structure this way.
        [0x48 | 0x4c, 0x8b | 0x89, operands, 0x80..=0xff, ..]
            if generated && operands & 0xc7 == 0x45 =>
        {
            Some(Sign::Link)
        }
        // `push rbp`, followed by `sub rsp`, or by a push of r12 to r15, or by that of rbx and what
        // usually follows it: it saves the register and uses it for something else.
        [0x55, 0x48, 0x83 | 0x81, 0xec, ..]
        | [0x55, 0x41, 0x54..=0x57, ..]
        | [0x55, 0x53, 0x48 | 0x49 | 0x4c | 0x50 | 0x89 | 0x8b, ..] => Some(Sign::Data),
        // A function ends there, and the next one saves nothing.
        [0xc3, rest @ ..] if is_padding(rest) => Some(Sign::Data),
        _ => None,
    }
}

/// Returns `true` if code begins with what fills the space between functions. Shorter runs of the
/// single bytes are parts of other instructions.
fn is_padding(code: &[u8]) -> bool {
    matches!(
        code,
        [0xcc, 0xcc, 0xcc, ..]
            | [0x90, 0x90, 0x90, ..]
            // `hlt`, by HotSpot.
            | [0xf4, 0xf4, 0xf4, ..]
            | [0, 0, 0, 0, 0, 0, 0, ..]
            // `nop` of two bytes and more.
            | [0x66, 0x90, ..]
            | [0x0f, 0x1f, ..]
            | [0x66, 0x0f, 0x1f, ..]
            | [0x66, 0x2e, 0x0f, 0x1f, ..]
            | [0x66, 0x66, 0x2e, 0x0f, 0x1f, ..]
    )
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

    fn last_sign(code: &[u8], generated: bool) -> Option<(usize, Sign)> {
        let mut places = (0..code.len()).rev();
        places.find_map(|at| Some((at, sign_at(code, at, generated)?)))
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
        let link_in = |code: &[&[u8]], generated| {
            let sign = Amd64::last_sign(&code.concat(), generated);
            sign.and_then(|(at, sign)| (sign == Sign::Link).then_some(at))
        };
        let link = |code: &[&[u8]]| link_in(code, true);
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
        assert_eq!(link_in(&[builds, local, body], false), Some(0));
        assert_eq!(link_in(&[local, body], false), None, "a field of a file's");
    }

    #[test]
    fn another_function_in_between_is_noticed() {
        let sign = |code: &[&[u8]]| Amd64::last_sign(&code.concat(), true).map(|(_, sign)| sign);
        let (builds, body) = (b"\x55\x48\x89\xe5", b"\x48\x89\xf8\xff\xd0");
        assert_eq!(sign(&[builds, body]), Some(Sign::Link));
        // push r12; push r13; push r14, and push r13; push rbx; sub rsp, 8
        let pushes: [&[u8]; 2] = [b"\x41\x54\x41\x55\x41\x56", b"\x41\x55\x53\x48\x83\xec\x08"];
        for pushes in pushes {
            assert_eq!(sign(&[builds, pushes, body]), Some(Sign::Link));
        }
        assert_eq!(sign(&[b"\x41", builds, body]), None, "push r13");
        let between: [&[u8]; 13] = [
            b"\x5d\xc3\xcc\xcc\xcc",
            b"\x5d\xc3\x90\x90\x90",
            b"\x5d\xc3\xf4\xf4\xf4",
            b"\x5d\xc3\0\0\0\0\0\0\0",
            b"\x5d\xc3\x66\x90",
            b"\x5d\xc3\x0f\x1f\x40\x00",
            b"\x5d\xc3\x66\x0f\x1f\x44\x00\x00",
            b"\x5d\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00",
            b"\x5d\xc3\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00",
            // push rbp; push r15
            b"\x5d\xc3\x55\x41\x57",
            // push rbp; push r12
            b"\x5d\xc3\x55\x41\x54",
            // push rbp; push rbx; sub rsp, 8
            b"\x5d\xc3\x55\x53\x48\x83\xec\x08",
            // push rbp; push rbx; push rax
            b"\x5d\xc3\x55\x53\x50",
        ];
        for between in between {
            assert_eq!(
                sign(&[builds, body, between, body]),
                Some(Sign::Data),
                "{between:x?}"
            );
        }
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
