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
