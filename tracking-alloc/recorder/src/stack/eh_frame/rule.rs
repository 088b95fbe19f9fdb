//! An unwind rule in 30 bits, which describes how a caller's registers follow from those of its
//! callee, and the step that it describes.
//!
//! A step never reads outside of the given bounds, whatever the rule is. In names, `bp` is the
//! frame pointer register: rbp, on aarch64 x29.

use super::machine::{BASE_BITS, Base, Host, Layout, Machine, RULE_BITS};
use crate::stack::last_walk::{self, Kept, Stepped};
use crate::stack::{End, Start, address_bits, without_signature};
use crate::sys::{Stack, word_at};
use std::cell::Cell;

/// The two lowest bits are the base of the frame's end, or [`BASE_STOP`]. The next bits are the
/// reason for a stop. Otherwise their form depends on the [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule(pub(super) u32);

const BASE_BP: u32 = Base::Bp as u32;
const BASE_LOADED: u32 = Base::Loaded as u32;
const BASE_STOP: u32 = 3;
/// The bit set in the two bases that are not plain registers.
const SPECIAL: u32 = 2;
const WORD: usize = size_of::<usize>();

impl Rule {
    pub(super) const BITS: u32 = RULE_BITS;
    /// The return address is undefined: the outermost frame of the stack (`_start`, `clone`).
    pub(super) const OUTERMOST: Rule = Rule(BASE_STOP | 1 << BASE_BITS);
    /// Nothing is known about the address, or its rule does not fit.
    pub(crate) const UNKNOWN: Rule = Rule(BASE_STOP | 2 << BASE_BITS);
    /// The C run-time's caller of `main` or of a thread's function. No code of the program lies
    /// beyond it.
    pub(super) const START_UP: Rule = Rule(BASE_STOP | 3 << BASE_BITS);

    /// Creates the rule of a layout, if it fits.
    pub(super) fn new<M: Machine>(layout: Layout) -> Option<Rule> {
        let rule = M::pack(layout).map(Rule);
        rule.filter(|rule| rule.0 != 0)
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

    /// Returns `true` if the frame's end is counted from the frame pointer register.
    #[inline(always)]
    pub(super) fn is_based(self) -> bool {
        self.0 & BASE_BP != 0
    }

    /// Returns the distance from the return address up to the frame's end.
    #[inline(always)]
    pub(super) fn address_below_end(self) -> usize {
        Host::unpack(self.0).1
    }
}

/// Returns `true` if a word lies inside a part of a stack.
#[inline(always)]
fn is_word_of(bounds: Stack, address: usize) -> bool {
    address >= bounds.low && address <= bounds.high - WORD && address.is_multiple_of(WORD)
}

/// The registers of a function in progress that unwinding needs. `sp` is at or above the lower
/// bound of the walk. The frame holds the place of bp instead of its value: few steps need the
/// value, and an unneeded value is not compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// A return address, or an address in the innermost function.
    pub(super) pc: u64,
    pub(super) sp: usize,
    /// The address of a word that this walk may read, which holds bp.
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
        self.step_on::<Host>(rule, bounds)
    }

    /// Does the same by the rules of a given machine.
    #[inline(always)]
    pub(super) fn step_on<M: Machine>(self, rule: Rule, bounds: Stack) -> Result<Frame, End> {
        if rule.is_special() {
            return self.special_step::<M>(rule, bounds);
        }
        let base = if rule.is_based() { self.bp() } else { self.sp };
        let (end, address, bp) = M::unpack(rule.0);
        self.step_to(base.wrapping_add(end), address, bp, bounds)
    }

    /// Returns the place of the return address, if it is computed from bp and not from sp.
    pub(super) fn return_address_by_bp(self, rule: Rule) -> Option<usize> {
        let is_plain = rule.is_based() && !rule.is_special();
        let (end, address, _) = Host::unpack(rule.0);
        is_plain.then(|| self.bp().wrapping_add(end).wrapping_sub(address))
    }

    /// Returns the frame beyond `end`. Its return address is `address` bytes below `end`. Its bp is
    /// `saved_bp` bytes below `end`, or unchanged if `saved_bp` is 0. Both are whole numbers of
    /// words.
    #[inline(always)]
    fn step_to(
        self,
        end: usize,
        address: usize,
        saved_bp: usize,
        bounds: Stack,
    ) -> Result<Frame, End> {
        let address_at = end.wrapping_sub(address);
        // Each step goes strictly outward, so a walk always ends. This also proves that `end` did
        // not wrap and lies above the lower bound.
        let is_frame = address_at >= self.sp
            && is_word_of(bounds, address_at)
            && (address == WORD || end.wrapping_sub(bounds.low) <= bounds.high - bounds.low)
            && saved_bp <= end - bounds.low;
        if !is_frame {
            return Err(End::Stopped);
        }
        // SAFETY: the word lies in the part that may be read, and so does the word of the caller's
        // bp.
        let address = unsafe { word_at(address_at) };
        let caller = Frame {
            pc: without_signature(address as u64),
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
    fn special_step<M: Machine>(self, rule: Rule, bounds: Stack) -> Result<Frame, End> {
        match rule {
            Rule::OUTERMOST | Rule::START_UP => Err(End::Outermost),
            _ if rule.is_realigned() => {
                let bp_at = self.bp();
                let end_at = bp_at.wrapping_sub(M::unpack(rule.0).0);
                if !(is_word_of(bounds, end_at) && is_word_of(bounds, bp_at)) {
                    return Err(End::Stopped);
                }
                // SAFETY: the word lies in the part that may be read.
                let end = unsafe { word_at(end_at) };
                let caller = self.step_to(end, WORD, 0, bounds)?;
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
    /// The value of bp, if the frame's end is computed from it.
    bp: usize,
    /// Number of frames, from this one outward, that do not need bp.
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
        let (_, address, saved_bp) = Host::unpack(rule.0);
        // A word inside of the frame does not belong to the frame, and not every walk may read it.
        if saved_bp != 0 && caller.bp_at < frame.sp {
            return None;
        }
        let unwound = UnwoundFrame {
            frame,
            address_at: caller.sp - address,
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
        let address = address & address_bits();
        let bp = match self.plain {
            // This walk also found the place of bp: it is that of the current frame, or a frame
            // outside of it holds it.
            0 => self.frame.bp() ^ self.bp,
            _ => 0,
        };
        [address, bp as u64]
    }

    /// PERF: compares one word of each frame, up to the first frame that needs bp.
    #[inline(always)]
    unsafe fn have_changed(frames: &[Kept<Self>]) -> bool {
        let plain = frames.last().map_or(0, |known| known.frame.plain);
        let (outer, inner) = frames.split_at(frames.len().saturating_sub(plain));
        let bits = address_bits();
        // SAFETY: as in `changes`.
        let change = |known: &Kept<Self>| unsafe {
            (word_at(known.frame.address_at) as u64 ^ known.frame.address) & bits
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

    use crate::stack::eh_frame::machine::{Amd64, Arm64};

    fn rule<M: Machine>(base: Base, end: u64, address: u64, bp: Option<u64>) -> Option<Rule> {
        Rule::new::<M>(Layout {
            base,
            end,
            address,
            bp,
        })
    }

    /// Returns the frame at `sp`. `bp` holds its frame pointer register.
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
    fn a_frame_counted_from_the_stack_pointer_gives_return_address_and_saved_bp() {
        let stack = [0, 0, 77, 4711, 0];
        let end = &raw const stack[4] as usize;
        fn step<M: Machine>(stack: &[usize; 5]) -> Frame {
            let rule = rule::<M>(Base::Sp, 4 * 8, 8, Some(16)).expect("fits");
            let frame = frame(&raw const stack[0] as usize, &5);
            frame.step_on::<M>(rule, bounds(stack)).expect("inside")
        }
        for frame in [step::<Amd64>(&stack), step::<Arm64>(&stack)] {
            assert_eq!((frame.pc, frame.bp(), frame.sp), (4711, 77, end));
        }
    }

    #[test]
    fn a_frame_counted_from_bp_needs_no_stack_pointer() {
        let stack = [0, 0, 77, 4711, 0];
        let rule = rule::<Host>(Base::Bp, 16, 8, Some(16)).expect("fits");
        let bp = &raw const stack[2] as usize;
        let frame = frame(&raw const stack[0] as usize, &bp);
        let frame = frame.step(rule, bounds(&stack)).expect("inside");
        assert_eq!((frame.pc, frame.bp()), (4711, 77));
    }

    #[test]
    fn a_realigned_frame_finds_its_end_in_a_word_below_rbp() {
        let mut stack = [0, 0, 77, 0, 0, 4711, 0];
        stack[1] = &raw const stack[6] as usize;
        let rule = rule::<Amd64>(Base::Loaded, 8, 8, None).expect("fits");
        let bp = &raw const stack[2] as usize;
        let frame = frame(&raw const stack[0] as usize, &bp);
        let frame = frame
            .step_on::<Amd64>(rule, bounds(&stack))
            .expect("inside");
        assert_eq!((frame.pc, frame.bp()), (4711, 77));
    }

    #[test]
    fn a_return_address_anywhere_in_a_frame_is_found() {
        // The layouts of LLVM, near the frame's end, and of GCC, near its beginning.
        for (address, saves_bp, words) in [(8, true, 4), (3 * 8, false, 40), (38 * 8, true, 40)] {
            let mut stack = [0; 48];
            let at = words - address / 8;
            (stack[at], stack[at - 1]) = (4711, 77);
            let (end, address) = (8 * words as u64, address as u64);
            let bp = saves_bp.then_some(address + 8);
            let rule = rule::<Arm64>(Base::Sp, end, address, bp).expect("fits");
            let frame = frame(&raw const stack[0] as usize, &5);
            let caller = frame
                .step_on::<Arm64>(rule, bounds(&stack))
                .expect("inside");
            assert_eq!(
                (caller.pc, caller.bp(), caller.sp),
                (
                    4711,
                    if saves_bp { 77 } else { 5 },
                    &raw const stack[words] as usize
                )
            );
        }
    }

    #[test]
    fn rules_that_lead_out_of_the_stack_or_inward_stop_the_walk() {
        fn stops<M: Machine>(stack: &[usize; 8], rule: Option<Rule>, bp: usize) {
            let inside = &raw const stack[4] as usize;
            let rule = rule.expect("fits");
            assert!(
                frame(inside, &bp).step_on::<M>(rule, bounds(stack)) == Err(End::Stopped),
                "{rule:?} {bp}"
            );
        }
        let stack = [0usize; 8];
        let inside = &raw const stack[4] as usize;
        let far = 4 << 20;
        stops::<Amd64>(&stack, rule::<Amd64>(Base::Sp, far, 8, None), 0);
        stops::<Arm64>(&stack, rule::<Arm64>(Base::Sp, far, 8, None), 0);
        // The return address would lie inside, and the frame's end outside.
        stops::<Arm64>(&stack, rule::<Arm64>(Base::Sp, far, far - 8, None), 0);
        stops::<Arm64>(&stack, rule::<Arm64>(Base::Sp, 5 * 8, 5 * 8, None), 0);
        for bp in [inside - 8, usize::MAX - 3] {
            stops::<Amd64>(&stack, rule::<Amd64>(Base::Bp, 8, 8, None), bp);
            stops::<Arm64>(&stack, rule::<Arm64>(Base::Bp, 8, 8, None), bp);
            stops::<Arm64>(&stack, rule::<Arm64>(Base::Bp, 16, 16, None), bp);
        }
        let low_bp = Some(127 * 8);
        stops::<Amd64>(&stack, rule::<Amd64>(Base::Sp, 16, 8, low_bp), 0);
    }

    #[test]
    fn offsets_that_do_not_fit_make_no_rule() {
        let amd = rule::<Amd64>;
        assert_eq!(amd(Base::Sp, 12, 8, None), None);
        assert_eq!(amd(Base::Sp, 16 << 20, 8, None), None);
        assert_eq!(amd(Base::Sp, 16, 8, Some(128 * 8)), None);
        assert_eq!(amd(Base::Sp, 16, 8, Some(0)), None);
        assert_eq!(amd(Base::Sp, 16, 16, None), None);
        assert_eq!(
            amd(Base::Sp, 0, 8, None),
            None,
            "zero is an empty place in the cache"
        );
        let arm = rule::<Arm64>;
        assert_eq!(arm(Base::Sp, 8 << 20, 8, None), None);
        assert_eq!(arm(Base::Sp, 12, 8, None), None);
        assert_eq!(arm(Base::Sp, 128 * 8, 64 * 8, None), None, "in the middle");
        assert_eq!(arm(Base::Sp, 16, 0, None), None);
        assert_eq!(arm(Base::Sp, 16, 24, None), None, "below the frame");
        assert_eq!(arm(Base::Sp, 32, 8, Some(24)), None, "not next to it");
        assert_eq!(arm(Base::Loaded, 16, 8, None), None);
    }
}
