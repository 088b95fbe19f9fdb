//! Rules on x86-64.

use super::{BASE_BITS, Layout, Machine, RULE_BITS, WORD, bytes, words};
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

impl Machine for Amd64 {
    const RETURN_ADDRESS: Register = X86_64::RA;
    const STACK_POINTER: Register = X86_64::RSP;
    const FRAME_POINTER: Register = X86_64::RBP;
    const VENDOR: Vendor = Vendor::Default;
    const ENDS_WITH_ADDRESS: bool = true;
    const KEEPS_LINKS: bool = false;
    /// When the standard library grows a vector, there are two.
    const USUAL_NEEDS: usize = 2;

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
