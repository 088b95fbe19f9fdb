//! Rules on aarch64.

use super::{BASE_BITS, Base, Layout, Machine, RULE_BITS, Sign, WORD, bytes, words};
use gimli::{AArch64, Register, Vendor};

/// aarch64. The return address lies anywhere in the frame: near its end if the compiler is LLVM,
/// near its beginning if it is GCC. If the caller's x29 is saved too, it is the word below.
///
/// ```text
/// bits 0-1    base
/// bits 2-21   words from the base up to the frame's end
/// bit  22     the return address is counted up from the base, not down from the frame's end
/// bits 23-28  words from there to the return address
/// bit  29     the caller's x29 is saved
/// ```
pub(in crate::stack::eh_frame) struct Arm64;

const END_BITS: u32 = 20;
const FROM_BASE: u32 = 1 << (BASE_BITS + END_BITS);
const ADDRESS_SHIFT: u32 = BASE_BITS + END_BITS + 1;
const ADDRESS_BITS: u32 = 6;
const BP_SHIFT: u32 = ADDRESS_SHIFT + ADDRESS_BITS;
const _: () = assert!(BP_SHIFT + 1 == RULE_BITS);

/// Returns the sign that two instructions are, if they are any.
fn sign_at(first: u32, second: u32) -> Option<Sign> {
    // Only with `stp x29, x30, [sp, #-16]!`, followed by `mov x29, sp`, the frame's end is known.
    if (first, second) == (0xa9bf_7bfd, 0x9100_03fd) {
        return Some(Sign::Link);
    }
    // `stp ..` to `[sp, ..]` or `[sp, ..]!`, of x30 and any other register.
    let stores_pair = first & 0xff40_7fe0 == 0xa900_7be0 || first & 0xff40_03ff == 0xa900_03fe;
    // `str x30, [sp, ..]!` or `[sp, ..]`.
    let stores_one = first & 0xffe0_0fff == 0xf800_0ffe || first & 0xffc0_03ff == 0xf900_03fe;
    // `ret`, followed by `nop`, by zeros or by `brk`: a function ends there.
    let is_padding = second == 0xd503_201f || second == 0 || second & 0xffe0_001f == 0xd420_0000;
    let ends = first == 0xd65f_03c0 && is_padding;
    (stores_pair || stores_one || ends).then_some(Sign::Data)
}

impl Machine for Arm64 {
    const RETURN_ADDRESS: Register = AArch64::X30;
    const STACK_POINTER: Register = AArch64::SP;
    const FRAME_POINTER: Register = AArch64::X29;
    const VENDOR: Vendor = Vendor::AArch64;
    const ENDS_WITH_ADDRESS: bool = false;
    const KEEPS_LINKS: bool = true;
    /// LLVM counts from x29 wherever it keeps frame pointers, which is the default.
    const USUAL_NEEDS: usize = 6;

    fn last_sign(code: &[u8], _: bool) -> Option<(usize, Sign)> {
        let (words, _) = code.as_chunks::<4>();
        let word = |at: usize| {
            words
                .get(at)
                .map_or(u32::MAX, |word| u32::from_le_bytes(*word))
        };
        let mut all = (0..words.len()).rev();
        all.find_map(|at| Some((4 * at, sign_at(word(at), word(at + 1))?)))
    }

    fn returns_by(_: &[u8]) -> Option<Layout> {
        None
    }

    fn pack(layout: Layout) -> Option<u32> {
        let saves_bp = match layout.bp {
            Some(bp) if bp == layout.address + WORD => 1,
            Some(_) => return None,
            None => 0,
        };
        // No address is saved below a frame.
        if layout.base == Base::Loaded || layout.address == 0 || layout.address > layout.end {
            return None;
        }
        let end = words(layout.end, END_BITS)?;
        let (address, from) = match words(layout.address, ADDRESS_BITS) {
            Some(address) => (address, 0),
            None => (words(layout.end - layout.address, ADDRESS_BITS)?, FROM_BASE),
        };
        Some(
            layout.base as u32
                | end << BASE_BITS
                | from
                | address << ADDRESS_SHIFT
                | saves_bp << BP_SHIFT,
        )
    }

    #[inline(always)]
    fn unpack(rule: u32) -> (usize, usize, usize) {
        let end = bytes(rule, BASE_BITS, END_BITS);
        let given = bytes(rule, ADDRESS_SHIFT, ADDRESS_BITS);
        let address = if rule & FROM_BASE == 0 {
            given
        } else {
            end - given
        };
        let bp = if rule >> BP_SHIFT == 0 {
            0
        } else {
            address + WORD as usize
        };
        (end, address, bp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_function_that_points_x29_to_its_link_keeps_one() {
        let link = |code: &[u32]| {
            let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
            let sign = Arm64::last_sign(&bytes, true);
            sign.and_then(|(at, sign)| (sign == Sign::Link).then_some(at))
        };
        let (store, mov, call) = (0xa9bf_7bfd, 0x9100_03fd, 0xd63f_0040);
        assert_eq!(link(&[0, store, mov, call]), Some(4));
        assert_eq!(link(&[store, mov, 0xa9be_7bfd, call]), None, "no mov");
        assert_eq!(link(&[store, mov, 0xa901_7bfd, 0x9100_43fd, call]), None);
        let ret = 0xd65f_03c0;
        assert_eq!(link(&[store, mov, call, ret, call]), Some(0), "two ends");
        for (next, name) in [(0xd503_201f, "nop"), (0, "zeros"), (0xd420_0020, "brk #1")] {
            assert_eq!(link(&[store, mov, call, ret, next, call]), None, "{name}");
        }
        for (other, name) in [
            (0xf81f_0ffe, "str x30, [sp, #-16]!"),
            (0xf900_0bfe, "str x30, [sp, #16]"),
            (0xa9bf_4ffe, "stp x30, x19, [sp, #-16]!"),
            (0xa901_7bf3, "stp x19, x30, [sp, #16]"),
        ] {
            assert_eq!(link(&[store, mov, call, ret, other, call]), None, "{name}");
        }
        let (load, local) = (0xa8c1_7bfd, 0xf900_0be0);
        assert_eq!(link(&[store, mov, local, load, call]), Some(0), "others");
        assert_eq!(link(&[call]), None);
        assert_eq!(link(&[]), None);
    }
}
