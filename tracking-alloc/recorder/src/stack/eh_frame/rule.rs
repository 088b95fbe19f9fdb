//! An unwind rule in 30 bits, which describes how a caller's registers follow from those of its
//! callee, and the step that it describes.
//!
//! A step never reads outside of the given bounds, whatever the rule is.

use crate::stack::last_walk::{self, Kept, Stepped};
use crate::stack::{End, Start};
use crate::sys::{Stack, word_at};
use std::cell::Cell;

/// ```text
/// bits 0-1    base of the frame's end (CFA): 0 = rsp, 1 = rbp, 2 = the word at rbp - offset (realigned stacks), 3 = stop
/// bits 2-22   offset in words of 8 bytes; for "stop" the reason
/// /// bits 23-29  number of words from the frame's end down to the caller's rbp, 0 = unchanged
/// ```
/// The return address is always the word below the frame's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule(pub(super) u32);

const BASE_BP: u32 = Base::Bp as u32;
const BASE_LOADED: u32 = Base::Loaded as u32;
const BASE_STOP: u32 = 3;
/// The bit set in the two bases that are not plain registers.
const SPECIAL: u32 = 2;

const OFFSET_SHIFT: u32 = 2;
const OFFSET_BITS: u32 = 21;
const OFFSET_MASK: u32 = ((1 << OFFSET_BITS) - 1) << OFFSET_SHIFT;
const BP_SHIFT: u32 = OFFSET_SHIFT + OFFSET_BITS;
const WORD: usize = size_of::<usize>();

/// The base from which a frame's end is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Sp = 0,
    Bp = 1,
    /// The frame's end is the word below the place to which rbp points; the caller's rbp is the
    /// word at that place.
    Loaded = 2,
}

impl Rule {
    pub(super) const BITS: u32 = 30;
    /// The return address is undefined: the outermost frame of the stack (`_start`, `clone`).
    pub(super) const OUTERMOST: Rule = Rule(BASE_STOP | 1 << OFFSET_SHIFT);
    /// Nothing is known about the address, or its rule does not fit.
    pub(crate) const UNKNOWN: Rule = Rule(BASE_STOP | 2 << OFFSET_SHIFT);
    /// The C run-time's caller of `main` or of a thread's function. No code of the program lies
    /// beyond it.
    pub(super) const START_UP: Rule = Rule(BASE_STOP | 3 << OFFSET_SHIFT);

    /// Creates a rule, if it fits. Offsets are in bytes; `saved_bp` is counted down from the
    /// frame's end.
    pub(super) fn new(base: Base, offset: u64, saved_bp: Option<u64>) -> Option<Rule> {
        let words = |bytes: u64, bits: u32| {
            (bytes.is_multiple_of(8) && bytes / 8 < 1 << bits).then_some((bytes / 8) as u32)
        };
        let saved = match saved_bp {
            Some(0) => return None,
            Some(bytes) => words(bytes, Self::BITS - BP_SHIFT)?,
            None => 0,
        };
        Some(Rule(
            base as u32 | words(offset, OFFSET_BITS)? << OFFSET_SHIFT | saved << BP_SHIFT,
        ))
        .filter(|rule| rule.0 != 0)
    }

    /// Returns `true` if the frame's end depends on more than a register, or there is none.
    #[inline(always)]
    pub(super) fn is_special(self) -> bool {
        self.0 & SPECIAL != 0
    }

    /// Returns `true` if a word of the stack contains the frame's end.
    pub(super) fn is_realigned(self) -> bool {
        self.0 & BASE_STOP == BASE_LOADED
    }

    #[inline(always)]
    fn offset(self) -> usize {
        ((self.0 & OFFSET_MASK) as usize) << 1
    }

    /// Returns `true` if the frame's end is counted from rbp.
    #[inline(always)]
    pub(super) fn is_based(self) -> bool {
        self.0 & BASE_BP != 0
    }

    #[inline(always)]
    fn saved_bp(self) -> usize {
        ((self.0 >> BP_SHIFT) as usize) << 3
    }
}

/// Returns `true` if a word lies inside a part of a stack.
#[inline(always)]
fn is_word_of(bounds: Stack, address: usize) -> bool {
    address >= bounds.low && address <= bounds.high - WORD && address.is_multiple_of(WORD)
}

/// The registers of a function in progress that unwinding needs. `sp` is at or above the lower
/// bound of the walk. The frame holds the place of rbp instead of its value: few steps need the
/// value, and an unneeded value is not compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// A return address, or an address in the innermost function.
    pub(super) pc: u64,
    pub(super) sp: usize,
    /// The address of a word that this walk may read, which holds rbp.
    pub(super) bp_at: usize,
}

impl Frame {
    /// Returns the frame at which a walk begins. `bp` must hold the register during the walk.
    #[inline(always)]
    pub(super) fn first(start: Start, bp: &Cell<usize>) -> Frame {
        let (frame_pointer, sp, pc) = start.registers();
        bp.set(frame_pointer);
        Frame {
            pc,
            sp,
            bp_at: bp.as_ptr().addr(),
        }
    }

    #[inline(always)]
    pub(super) fn bp(self) -> usize {
        // PERF: an opaque load, so that the choice between this and sp is a branch: few frames have
        // to wait for it.
        // SAFETY: the word lies inside the part of the stack that the walk may read, or it is the
        // word that holds the register.
        unsafe { word_at(self.bp_at) }
    }

    /// Returns the caller's frame. `bounds` is the part of the stack that may be read.
    #[inline(always)]
    pub(super) fn step(self, rule: Rule, bounds: Stack) -> Result<Frame, End> {
        if rule.is_special() {
            return self.special_step(rule, bounds);
        }
        let base = if rule.is_based() { self.bp() } else { self.sp };
        self.step_to(base.wrapping_add(rule.offset()), rule.saved_bp(), bounds)
    }

    /// Returns the place of the return address, if it is computed from rbp and not from sp.
    pub(super) fn return_address_by_bp(self, rule: Rule) -> Option<usize> {
        let is_plain = rule.is_based() && !rule.is_special();
        is_plain.then(|| self.bp().wrapping_add(rule.offset()).wrapping_sub(WORD))
    }

    /// Returns the frame beyond `end`. Its rbp is `saved_bp` bytes below `end`, a whole number of
    /// words, or unchanged if `saved_bp` is 0.
    #[inline(always)]
    fn step_to(self, end: usize, saved_bp: usize, bounds: Stack) -> Result<Frame, End> {
        let address_at = end.wrapping_sub(WORD);
        // Each step goes strictly outward, so a walk always ends. This also proves that `end` did
        // not wrap and lies above the lower bound.
        let is_frame =
            address_at >= self.sp && is_word_of(bounds, address_at) && saved_bp <= end - bounds.low;
        if !is_frame {
            return Err(End::Stopped);
        }
        // SAFETY: the word lies in the part that may be read, and so does the word of the caller's
        // rbp.
        let address = unsafe { word_at(address_at) };
        let caller = Frame {
            pc: address as u64,
            sp: end,
            bp_at: if saved_bp == 0 {
                self.bp_at
            } else {
                end - saved_bp
            },
        };
        if address == 0 {
            Err(End::Outermost)
        } else {
            Ok(caller)
        }
    }

    #[cold]
    fn special_step(self, rule: Rule, bounds: Stack) -> Result<Frame, End> {
        match rule {
            Rule::OUTERMOST | Rule::START_UP => Err(End::Outermost),
            _ if rule.is_realigned() => {
                let bp_at = self.bp();
                let end_at = bp_at.wrapping_sub(rule.offset());
                if !(is_word_of(bounds, end_at) && is_word_of(bounds, bp_at)) {
                    return Err(End::Stopped);
                }
                // SAFETY: the word lies in the part that may be read.
                let end = unsafe { word_at(end_at) };
                let caller = self.step_to(end, 0, bounds)?;
                Ok(Frame { bp_at, ..caller })
            }
            _ => Err(End::Stopped),
        }
    }
}

/// A frame, with the words that decided the step to its caller.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct UnwoundFrame {
    pub(super) frame: Frame,
    /// The place of the return address, and its value.
    address_at: usize,
    address: u64,
    /// The value of rbp, if the frame's end is computed from it.
    bp: usize,
    /// Number of frames, from this one outward, that do not need rbp.
    plain: usize,
}

/// The word read for the outermost frame, whose rule alone ends the walk.
static NOTHING: usize = 0;

impl UnwoundFrame {
    /// Makes a step. Returns the frame, with the caller's frame unless the walk ends. Returns
    /// `None` if words other than these two decide the step, or if the rule is unknown and may
    /// become known later.
    #[inline(always)]
    pub(super) fn step(frame: Frame, rule: Rule, bounds: Stack) -> Option<Stepped<UnwoundFrame>> {
        if rule.is_special() {
            return UnwoundFrame::outermost(frame, rule);
        }
        let caller = frame.step(rule, bounds).ok()?;
        // A word inside of the frame does not belong to the frame, and not every walk may read it.
        if rule.saved_bp() != 0 && caller.bp_at < frame.sp {
            return None;
        }
        let unwound = UnwoundFrame {
            frame,
            address_at: caller.sp - WORD,
            address: caller.pc,
            bp: if rule.is_based() { frame.bp() } else { 0 },
            plain: usize::from(!rule.is_based()),
        };
        Some((unwound, Some(caller)))
    }

    #[inline(always)]
    fn outermost(frame: Frame, rule: Rule) -> Option<Stepped<UnwoundFrame>> {
        let unwound = UnwoundFrame {
            frame,
            address_at: &raw const NOTHING as usize,
            address: 0,
            bp: 0,
            plain: 1,
        };
        matches!(rule, Rule::OUTERMOST | Rule::START_UP).then_some((unwound, None))
    }
}

impl last_walk::Frame for UnwoundFrame {
    type State = Frame;

    #[inline(always)]
    fn place(&self) -> usize {
        self.frame.sp
    }

    #[inline(always)]
    fn state(&self) -> Frame {
        self.frame
    }

    #[inline(always)]
    fn is_in(&self, frame: Frame) -> bool {
        self.frame == frame
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        self.address
    }

    #[inline(always)]
    fn keep_within(&mut self, outer: Option<&Self>) {
        if self.plain != 0 {
            self.plain = 1 + outer.map_or(0, |outer| outer.plain);
        }
    }

    #[inline(always)]
    unsafe fn changes(&self) -> [u64; 2] {
        // SAFETY: words of the stack (guaranteed by the caller), or a static.
        let address = unsafe { word_at(self.address_at) } as u64 ^ self.address;
        let bp = match self.plain {
            // This walk also found the place of rbp: it is that of the current frame, or a frame
            // outside of it holds it.
            0 => self.frame.bp() ^ self.bp,
            _ => 0,
        };
        [address, bp as u64]
    }

    /// PERF: compares one word of each frame, up to the first frame that needs rbp.
    #[inline(always)]
    unsafe fn have_changed(frames: &[Kept<Self>]) -> bool {
        let plain = frames.last().map_or(0, |known| known.frame.plain);
        let (outer, inner) = frames.split_at(frames.len().saturating_sub(plain));
        // SAFETY: as in `changes`.
        let change = |known: &Kept<Self>| unsafe {
            word_at(known.frame.address_at) as u64 ^ known.frame.address
        };
        let mut changes = 0;
        let (pairs, rest) = inner.as_chunks::<2>();
        for [one, other] in pairs {
            changes |= change(one) | change(other);
        }
        if let [known] = rest {
            changes |= change(known);
        }
        for known in outer {
            // SAFETY: guaranteed by the caller.
            let [address, bp] = unsafe { known.frame.changes() };
            changes |= address | bp;
        }
        changes != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the frame at `sp`. `bp` holds its rbp.
    fn frame(sp: usize, bp: &usize) -> Frame {
        let bp_at = &raw const *bp as usize;
        Frame { pc: 1, sp, bp_at }
    }

    fn bounds(stack: &[usize]) -> Stack {
        let range = stack.as_ptr_range();
        Stack {
            low: range.start as usize,
            high: range.end as usize,
        }
    }

    #[test]
    fn a_frame_counted_from_the_stack_pointer_gives_return_address_and_saved_rbp() {
        let stack = [0, 0, 77, 4711, 0];
        let rule = Rule::new(Base::Sp, 4 * 8, Some(16)).expect("fits");
        let frame = frame(&raw const stack[0] as usize, &5);
        let frame = frame.step(rule, bounds(&stack)).expect("inside");
        assert_eq!(
            (frame.pc, frame.bp(), frame.sp),
            (4711, 77, &raw const stack[4] as usize)
        );
    }

    #[test]
    fn a_frame_counted_from_rbp_needs_no_stack_pointer() {
        let stack = [0, 0, 77, 4711, 0];
        let rule = Rule::new(Base::Bp, 16, Some(16)).expect("fits");
        let bp = &raw const stack[2] as usize;
        let frame = frame(&raw const stack[0] as usize, &bp);
        let frame = frame.step(rule, bounds(&stack)).expect("inside");
        assert_eq!((frame.pc, frame.bp()), (4711, 77));
    }

    #[test]
    fn a_realigned_frame_finds_its_end_in_a_word_below_rbp() {
        let mut stack = [0, 0, 77, 0, 0, 4711, 0];
        stack[1] = &raw const stack[6] as usize;
        let rule = Rule::new(Base::Loaded, 8, None).expect("fits");
        let bp = &raw const stack[2] as usize;
        let frame = frame(&raw const stack[0] as usize, &bp);
        let frame = frame.step(rule, bounds(&stack)).expect("inside");
        assert_eq!((frame.pc, frame.bp()), (4711, 77));
    }

    #[test]
    fn rules_that_lead_out_of_the_stack_or_inward_stop_the_walk() {
        let stack = [0usize; 8];
        let inside = &raw const stack[4] as usize;
        let far = Rule::new(Base::Sp, 8 << 20, None).expect("fits");
        let inward = Rule::new(Base::Bp, 8, None).expect("fits");
        let low_bp = Rule::new(Base::Sp, 16, Some(127 * 8)).expect("fits");
        for (rule, bp) in [
            (far, 0),
            (inward, inside - 8),
            (inward, usize::MAX - 3),
            (low_bp, 0),
        ] {
            assert!(
                frame(inside, &bp).step(rule, bounds(&stack)) == Err(End::Stopped),
                "{rule:?} {bp}"
            );
        }
    }

    #[test]
    fn offsets_that_do_not_fit_make_no_rule() {
        assert_eq!(Rule::new(Base::Sp, 12, None), None);
        assert_eq!(Rule::new(Base::Sp, 16 << 20, None), None);
        assert_eq!(Rule::new(Base::Sp, 16, Some(128 * 8)), None);
        assert_eq!(Rule::new(Base::Sp, 16, Some(0)), None);
        assert_eq!(
            Rule::new(Base::Sp, 0, None),
            None,
            "zero is an empty place in the cache"
        );
    }
}
