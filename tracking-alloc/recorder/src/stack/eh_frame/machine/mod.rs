//! The differences between processors: the registers that rules name, and the form of a rule.
//!
//! Tests have all machines, so that the rules of one can be tested on another.

#[cfg(any(test, target_arch = "x86_64"))]
mod amd64;
#[cfg(any(test, target_arch = "aarch64"))]
mod arm64;

#[cfg(any(test, target_arch = "x86_64"))]
pub(super) use amd64::Amd64;
#[cfg(any(test, target_arch = "aarch64"))]
pub(super) use arm64::Arm64;

use gimli::{Register, Vendor};

/// The machine for which this program is compiled.
#[cfg(target_arch = "x86_64")]
pub(super) type Host = Amd64;
#[cfg(target_arch = "aarch64")]
pub(super) type Host = Arm64;

/// The base from which a frame's end is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Sp = 0,
    Bp = 1,
    /// The frame's end is the word below the place to which rbp points; the caller's rbp is the
    /// word at that place.
    Loaded = 2,
}

/// The places of what a step needs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) base: Base,
    /// The frame's end (CFA), counted up from the base.
    pub(super) end: u64,
    /// The return address, counted down from the frame's end.
    pub(super) address: u64,
    /// The caller's frame pointer register, counted down from the frame's end. `None` if the
    /// register is unchanged.
    pub(super) bp: Option<u64>,
}

impl Layout {
    /// The frame of a function whose frame pointer points to its link, with nothing above.
    pub(super) const LINK: Layout = Layout {
        base: Base::Bp,
        end: 2 * WORD,
        address: WORD,
        bp: Some(2 * WORD),
    };
}

/// A sign of what a function uses its frame pointer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It points to the function's link: its caller's frame pointer and its return address.
    Link,
    /// It points to something else, or another function ends here.
    Data,
}

/// The number of bits of a rule. The two lowest are its base; no rule is 0.
pub(super) const RULE_BITS: u32 = 30;
pub(super) const BASE_BITS: u32 = 2;
const WORD: u64 = size_of::<u64>() as u64;

/// A processor.
pub(super) trait Machine {
    const RETURN_ADDRESS: Register;
    const STACK_POINTER: Register;
    const FRAME_POINTER: Register;
    const VENDOR: Vendor;
    /// `true` if the return address is always the last word of the frame.
    const ENDS_WITH_ADDRESS: bool;
    /// `true` if the C library keeps frame pointers.
    const KEEPS_LINKS: bool;
    /// Number of frames that need the frame pointer, among the innermost six of usual stacks.
    const USUAL_NEEDS: usize;

    /// Looks for the last sign in `code`, which ends inside of a function, of what the function
    /// uses its frame pointer for. Returns the offset of the sign. Without `generated`, the code
    /// comes from a file, and its compiler may have used the register for anything.
    fn last_sign(code: &[u8], generated: bool) -> Option<(usize, Sign)>;

    /// Returns the frame of a function that returns by the first instructions of `code`, which
    /// follow a call.
    fn returns_by(code: &[u8]) -> Option<Layout>;

    /// Packs a layout into the bits of a rule, if it fits.
    fn pack(layout: Layout) -> Option<u32>;
    /// Returns the frame's end, the return address and the caller's frame pointer, counted as in
    /// [`Layout`]. The last is 0 if the register is unchanged.
    fn unpack(rule: u32) -> (usize, usize, usize);
}

/// Returns a number of bytes as words, if they are whole words and fit into `bits` bits.
fn words(bytes: u64, bits: u32) -> Option<u32> {
    (bytes.is_multiple_of(WORD) && bytes / WORD < 1 << bits).then_some((bytes / WORD) as u32)
}

/// Reads `bits` bits of a rule, from `shift` on, as a number of words. Returns bytes.
#[inline(always)]
fn bytes(rule: u32, shift: u32, bits: u32) -> usize {
    ((rule >> shift & ((1 << bits) - 1)) as usize) << WORD.trailing_zeros()
}
