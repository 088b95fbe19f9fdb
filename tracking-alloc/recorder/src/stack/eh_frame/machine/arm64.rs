//! Rules on aarch64.

use super::{BASE_BITS, Base, Layout, Machine, RULE_BITS, WORD, bytes, words};
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

impl Machine for Arm64 {
    const RETURN_ADDRESS: Register = AArch64::X30;
    const STACK_POINTER: Register = AArch64::SP;
    const FRAME_POINTER: Register = AArch64::X29;
    const VENDOR: Vendor = Vendor::AArch64;
    const ENDS_WITH_ADDRESS: bool = false;
    const KEEPS_LINKS: bool = true;
    /// LLVM counts from x29 wherever it keeps frame pointers, which is the default.
    const USUAL_NEEDS: usize = 6;

    fn keeps_link(code: &[u8]) -> Option<usize> {
        // Any `stp x29, x30, [sp, ..]`; only if it is `[sp, #-16]!`, followed by `mov x29, sp`, the
        // frame's end is known.
        let is_store = |word: u32| word & 0xff40_7fff == 0xa900_7bfd;
        const LINK: [u32; 2] = [0xa9bf_7bfd, 0x9100_03fd];
        let (words, _) = code.as_chunks::<4>();
        let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
        let mut all = (0..words.len()).rev();
        let at = all.find(|at| word(*at).is_some_and(is_store))?;
        ([word(at), word(at + 1)] == LINK.map(Some)).then_some(4 * at)
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
            Arm64::keeps_link(&bytes)
        };
        let (store, mov, call) = (0xa9bf_7bfd, 0x9100_03fd, 0xd63f_0040);
        assert_eq!(link(&[0, store, mov, call]), Some(4));
        assert_eq!(link(&[store, mov, 0xa9be_7bfd, call]), None, "no mov");
        assert_eq!(link(&[store, mov, 0xa901_7bfd, 0x9100_43fd, call]), None);
        assert_eq!(link(&[call]), None);
        assert_eq!(link(&[]), None);
    }
}
