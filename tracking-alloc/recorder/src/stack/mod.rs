//! Stack walks that are cheap enough to run at every allocation.
//!
//! This module does not know lanes or recordings. The caller provides the bounds of the stack and
//! the functions that find unwind rules.
//!
//! A walk stays inside the thread's own stack and only moves outward. It computes one sum over the
//! return addresses. Frames that the thread's last walk also met are not walked again if they are
//! unchanged (see `last_walk`). If the sum of a stack is new, the stack is walked once more, in
//! full and into scratch memory.
//!
//! The reasons for its choices are in `docs/src/decisions/stacks.md`.

mod eh_frame;
mod frame_pointers;
mod last_walk;
mod self_test;
mod signatures;

pub(crate) use eh_frame::{Code, Frame, Rule, forget, forget_rules, prepare};
pub(crate) use self_test::{finds_callers, keeps_frame_pointers};
pub(crate) use signatures::{learn_address_bits, without_signature};

use crate::hash::{GOLDEN, mix};
use crate::sys::{self, Stack};
use frame_pointers::{Linked, NEAR};
use last_walk::LastWalk;
use signatures::address_bits;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use tracking_alloc_recording::{MAX_FRAMES, site_flags, unwinder};

/// The functions that a walk uses to find rules and stacks.
pub(crate) struct Find {
    /// Finds the rule of a frame that is not in the cache. It reads only the given part of the
    /// stack.
    pub(crate) rule: fn(Frame, Stack) -> Rule,
    /// Finds the stack that contains an address outside the thread's own stack. If rules are not
    /// in use yet, it prepares them ([`may_follow_rules`]) if it can.
    pub(crate) stack: fn(usize) -> Option<Stack>,
    /// Finds the stack that contains a return address after the thread switched away from that
    /// stack.
    pub(crate) stack_before: fn(usize) -> Option<Stack>,
}

pub(crate) type Finders = &'static Find;

/// The powers used to compute sums. They change when code was replaced, or when two stacks turned
/// out to have the same key. Then every stack gets a new key, so that no stack is mistaken for
/// another one again.
static POWERS: Powers = Powers::of(fit_seed(GOLDEN));

/// The powers of a seed, starting at power 0, for the innermost frames. A walk that runs while the
/// seed changes may use both seeds. Its sum is then the key of no known stack, so its frames are
/// compared, as for a new stack.
struct Powers([AtomicU64; MOST_NEAR + 1]);

/// The number of frames that either method walks before it consults the last walk.
const MOST_NEAR: usize = NEAR;
const _: () = assert!(NEAR == eh_frame::NEAR, "or one stack has two keys");

impl Powers {
    const fn of(seed: u64) -> Powers {
        let mut powers = [const { AtomicU64::new(1) }; MOST_NEAR + 1];
        let (mut index, mut power) = (1, seed);
        while index <= MOST_NEAR {
            powers[index] = AtomicU64::new(power);
            power = power.wrapping_mul(seed);
            index += 1;
        }
        Powers(powers)
    }

    fn set(&self, seed: u64) {
        let powers = Powers::of(seed);
        for (power, new) in self.0.iter().zip(&powers.0) {
            power.store(new.load(Relaxed), Relaxed);
        }
    }

    #[inline(always)]
    fn seed(&self) -> u64 {
        self.0[1].load(Relaxed)
    }

    /// Returns the sum `value` of the given number of innermost frames.
    #[inline(always)]
    fn sum<const FRAMES: usize>(&self, value: u64) -> Sum {
        Sum {
            seed: self.seed(),
            value,
            power: self.0[FRAMES].load(Relaxed),
            frames: FRAMES,
        }
    }

    /// Returns the sum of no frames in a scope.
    #[inline(always)]
    fn begin(&self, scope: u32) -> Sum {
        Sum::new(self.seed(), scope)
    }
}

/// Turns a number into a usable seed, which is 5 modulo 8. Two powers of such a seed less than 2^16
/// apart differ by an odd number times a power of two below 2^18. Therefore, swapping two frames
/// always changes the sum.
const fn fit_seed(number: u64) -> u64 {
    number & !7 | 5
}

/// The hash of a stack in a scope. It adds seed, scope, and one word for each frame, multiplied by
/// the seed to the power of the frame's distance from the innermost frame, modulo 2^64. The
/// contribution of the outer frames is therefore the same for all stacks that share them.
///
/// For the innermost frames the word is the return address, for all others it is [`spread`] of it.
/// Plain addresses that differ in only a few high bits can form a pattern of 32 frames for which no
/// seed tells two stacks apart. Six frames are too few for such a pattern.
#[derive(Clone, Copy)]
struct Sum {
    seed: u64,
    value: u64,
    power: u64,
    frames: usize,
}

impl Sum {
    /// Returns the sum of no frames.
    #[inline(always)]
    fn new(seed: u64, scope: u32) -> Sum {
        Sum {
            seed,
            value: seed.wrapping_add(u64::from(scope).wrapping_mul(SCOPE)),
            power: 1,
            frames: 0,
        }
    }

    /// Adds the next frame outward. No frame has the address 0.
    #[inline(always)]
    fn add(&mut self, address: u64) {
        if self.frames < MOST_NEAR {
            self.add_word(address);
        } else {
            self.add_far(address);
        }
    }

    /// Adds a frame that is not one of the innermost ones.
    #[inline(always)]
    fn add_far(&mut self, address: u64) {
        self.add_word(spread(address));
    }

    #[inline(always)]
    fn add_word(&mut self, word: u64) {
        self.value = self.value.wrapping_add(word.wrapping_mul(self.power));
        self.power = self.power.wrapping_mul(self.seed);
        self.frames += 1;
    }

    /// Returns the sum together with all outer frames.
    #[inline(always)]
    fn with_outer(self, outer: u64) -> u64 {
        self.value.wrapping_add(self.power.wrapping_mul(outer))
    }

    /// Combines a frame, which is not one of the innermost ones, with the sum of its outer frames.
    /// The result is an argument for [`with_outer`](Self::with_outer).
    #[inline(always)]
    fn outward(address: u64, outer: u64, seed: u64) -> u64 {
        spread(address).wrapping_add(seed.wrapping_mul(outer))
    }
}

/// Maps an address to a unique word. Every bit of the address affects the word's low bits.
#[inline(always)]
const fn spread(address: u64) -> u64 {
    address.wrapping_mul(GOLDEN).rotate_left(32)
}

/// Tells scopes apart in a sum: an odd number with no pattern in its bits (the first factor of
/// MurmurHash3's finalizer).
const SCOPE: u64 = 0xff51_afd7_ed55_8ccd;

/// Gives every stack a new key. The caller holds the write lock.
pub(crate) fn change_seed() {
    POWERS.set(fit_seed(mix(POWERS.seed(), GOLDEN)));
}

/// The method used to walk stacks: a value of [`unwinder`].
static UNWINDER: AtomicU32 = AtomicU32::new(unwinder::NONE);

/// Sets the method used to walk stacks: a value of [`unwinder`].
pub(crate) fn walk_with(unwinder: u32) {
    UNWINDER.store(unwinder, Relaxed);
}

/// `true` if rules may be used for stacks that are not a thread's own, even where frame pointers
/// are used for all others. When such a stack begins, the frame pointer register may hold any
/// value.
static MAY_FOLLOW_RULES: AtomicBool = AtomicBool::new(false);

pub(crate) fn may_follow_rules() {
    MAY_FOLLOW_RULES.store(true, Relaxed);
}

/// Returns the method for a full walk of a stack.
fn unwinder_of(limits: &Limits, start: Start) -> u32 {
    let unwinder = UNWINDER.load(Relaxed);
    let is_foreign = || !limits.stack().contains(start.registers().1);
    if unwinder == unwinder::FRAME_POINTERS && MAY_FOLLOW_RULES.load(Relaxed) && is_foreign() {
        unwinder::EH_FRAME
    } else {
        unwinder
    }
}

/// Returns the method used to walk stacks: a value of [`unwinder`].
pub(crate) fn walked_with() -> u32 {
    UNWINDER.load(Relaxed)
}

/// The registers with which a walk begins, read in the outermost function of the hook.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    frame_pointer: usize,
    stack_pointer: usize,
    /// An address in the function, just after the instruction that read it.
    pc: u64,
}

impl Start {
    /// Reads the registers of the calling function's own frame.
    #[inline(always)]
    pub(crate) fn here() -> Self {
        let (frame_pointer, stack_pointer, pc): (usize, usize, u64);
        // NOTE: clobbering a callee-saved register forces the compiler to build the frame first.
        // Without the clobber, the compiler may move the prologue after these instructions, and
        // they would read the caller's frame pointer. On aarch64, clobbering the return address
        // makes the frame hold it.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instructions only copy registers.
        unsafe {
            std::arch::asm!(
                "mov {}, rbp", "mov {}, rsp", "lea {}, [rip]",
                out(reg) frame_pointer, out(reg) stack_pointer, out(reg) pc, out("r15") _,
                options(nomem, nostack, preserves_flags)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the instructions only copy registers.
        unsafe {
            std::arch::asm!(
                "mov {}, x29", "mov {}, sp", "adr {}, .",
                out(reg) frame_pointer, out(reg) stack_pointer, out(reg) pc, out("x20") _, out("x30") _,
                options(nomem, nostack, preserves_flags)
            );
        }
        Start {
            frame_pointer,
            stack_pointer,
            pc,
        }
    }

    /// Returns the registers one by one.
    ///
    /// PERF: cold functions take the registers in this form. A struct of three words would be
    /// passed in memory, and the hot path would wait for its own stores (16 % of a small event).
    #[inline(always)]
    pub(crate) fn registers(self) -> (usize, usize, u64) {
        (self.frame_pointer, self.stack_pointer, self.pc)
    }

    pub(crate) fn from_registers((frame_pointer, stack_pointer, pc): (usize, usize, u64)) -> Self {
        Start {
            frame_pointer,
            stack_pointer,
            pc,
        }
    }
}

/// Returns the key of a stack in a scope. The addresses begin with the innermost one. The key is
/// never 0.
///
/// Among 10^6 sites, two share a key with a probability of about 3e-8. Such a pair is counted as
/// one site until it is noticed (see `session/sites`).
pub(crate) fn key(addresses: &[u64], scope: u32) -> u64 {
    let mut sum = POWERS.begin(scope);
    addresses.iter().for_each(|address| sum.add(*address));
    key_of(sum.value)
}

/// The frames that the last walks of one thread met, for each method. All-zero bytes mean no walk.
pub(crate) struct LastWalks {
    linked: LastWalk<Linked>,
    unwound: eh_frame::Unwound,
}

#[inline(always)]
fn key_of(sum: u64) -> u64 {
    sum | 1
}

/// Returns the key of the calling stack in a scope, equal to that of [`key`]. Returns `None` if a
/// [full walk](walk_in_full) is needed.
#[inline(always)]
pub(crate) fn walk(
    limits: &Limits,
    last: &LastWalks,
    start: Start,
    scope: u32,
    finders: Finders,
) -> Option<u64> {
    let sum = match UNWINDER.load(Relaxed) {
        unwinder::FRAME_POINTERS => {
            frame_pointers::hash(start.frame_pointer, limits, &last.linked, &POWERS, scope)?
        }
        unwinder::EH_FRAME => {
            let (frame_pointer, stack_pointer, pc) = start.registers();
            by_rules(
                limits,
                last,
                frame_pointer,
                stack_pointer,
                pc,
                scope,
                finders,
            )
        }
        _ => POWERS.begin(scope).value,
    };
    Some(key_of(sum))
}

/// The part of [`walk`] that follows rules. It is a separate function so that programs with frame
/// pointers do not pay for it.
#[inline(never)]
fn by_rules(
    limits: &Limits,
    last: &LastWalks,
    frame_pointer: usize,
    stack_pointer: usize,
    pc: u64,
    scope: u32,
    finders: Finders,
) -> u64 {
    let start = Start::from_registers((frame_pointer, stack_pointer, pc));
    eh_frame::hash(start, limits, &last.unwound, finders, &POWERS, scope)
}

/// Returns the key of the calling stack without using the last walk. [`walk`] must return the same
/// key.
#[inline(never)]
pub(crate) fn walk_in_full(limits: &Limits, start: Start, scope: u32, finders: Finders) -> u64 {
    let none = POWERS.begin(scope);
    limits.learn(start, finders);
    key_of(match unwinder_of(limits, start) {
        unwinder::FRAME_POINTERS => {
            frame_pointers::hash_in_full(start.frame_pointer, limits, POWERS.seed(), scope)
        }
        unwinder::EH_FRAME => eh_frame::hash_in_full(start, limits, finders, none),
        _ => none.value,
    })
}

/// The result of a walk into memory.
pub(crate) struct WalkResult {
    /// Addresses written, innermost first.
    pub(crate) len: usize,
    /// Bits of [`site_flags`].
    pub(crate) flags: u32,
}

/// Writes the addresses of the calling stack: those that [`walk`] hashes.
pub(crate) fn walk_into(
    limits: &Limits,
    start: Start,
    finders: Finders,
    addresses: &mut [u64; MAX_FRAMES],
) -> WalkResult {
    let mut len = 0;
    let keep = |address| {
        if let Some(place) = addresses.get_mut(len) {
            *place = address;
            len += 1;
        }
    };
    let end = match unwinder_of(limits, start) {
        unwinder::FRAME_POINTERS => frame_pointers::walk(start.frame_pointer, limits, keep),
        unwinder::EH_FRAME => eh_frame::walk(start, limits, finders, keep),
        _ => End::Outermost,
    };
    let flags = match end {
        End::Outermost => 0,
        End::TooDeep => site_flags::DEEP,
        End::Foreign => site_flags::FOREIGN,
        End::Stopped => site_flags::CUT,
    };
    WalkResult { len, flags }
}

/// The reason why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// There is no further frame.
    Outermost,
    /// The walk visited [`MAX_FRAMES`] frames.
    TooDeep,
    /// The walk reached a stack that is not the thread's own, and not all of that stack was found.
    Foreign,
    /// The frame's caller cannot be found, or walks are known to go astray after this frame.
    Stopped,
}

/// The limits of one thread's walks. All-zero bytes mean that the thread's stack is unknown.
#[derive(Default)]
pub(crate) struct Limits {
    /// The address range of the thread's stack.
    stack: Cell<Stack>,
    /// A frame's link is followed without further checks if it lies at most `span` bytes above
    /// this address.
    low: Cell<usize>,
    span: Cell<usize>,
    cut_after: CutAfter,
    /// Other stacks on which the thread was seen.
    foreign: Foreign,
}

impl Limits {
    pub(crate) fn of(stack: Stack) -> Limits {
        let limits = Limits::default();
        limits.set_stack(stack);
        limits
    }

    pub(crate) fn stack(&self) -> Stack {
        self.stack.get()
    }

    pub(crate) fn set_stack(&self, stack: Stack) {
        self.stack.set(stack);
        let last = stack.high.checked_sub(frame_pointers::LINK);
        let span = last.and_then(|last| last.checked_sub(stack.low));
        let span = span.filter(|_| self.cut_after.in_use().is_none());
        self.low.set(span.map_or(usize::MAX, |_| stack.low));
        self.span.set(span.unwrap_or(0));
    }

    /// Looks for the stack on which a walk begins, if it is not the thread's own.
    fn learn(&self, start: Start, finders: Finders) {
        let stack_pointer = start.registers().1;
        if !self.stack().contains(stack_pointer) && self.stack().high != 0 {
            self.foreign.learn(stack_pointer, finders);
        }
    }

    /// Returns the stack that contains an address, if it is known. It is the thread's own stack, or
    /// another one on which the thread was seen.
    fn stack_of(&self, address: usize) -> Option<Stack> {
        let own = self.stack();
        if own.contains(address) {
            return Some(own);
        }
        self.foreign.find(address).filter(|_| own.high != 0)
    }

    /// Returns the stack on which a walk continues when it leaves `stack` for a return address
    /// elsewhere. This happens after a thread switched stacks: the new stack leads back to the
    /// previous one. Without `finders`, only known stacks are returned.
    fn stack_before(&self, stack: Stack, place: usize, finders: Option<Finders>) -> Option<Stack> {
        if stack == self.stack() || stack.contains(place) {
            return None;
        }
        let known = self.stack_of(place);
        known.or_else(|| self.foreign.learn_before(place, finders?))
    }

    /// Forgets all stacks that are not the thread's own.
    pub(crate) fn forget_foreign(&self) {
        self.foreign.forget();
    }

    /// If code changed, forgets the addresses after which stacks were cut. Returns `true` if there
    /// were any; then the current stack must be walked again.
    pub(crate) fn forget_old_cuts(&self) -> bool {
        let is_old = self.cut_after.seed.replace(POWERS.seed()) != POWERS.seed();
        let forgets = is_old && self.cut_after.in_use().is_some();
        if forgets {
            self.cut_after.forget();
            self.set_stack(self.stack());
        }
        forgets
    }

    /// Counts a stack that was cut after `address`. After too many cuts, walks end at this address.
    pub(crate) fn count_cut(&self, address: u64) {
        self.cut_after.count(address);
        self.set_stack(self.stack());
    }
}

/// The mappings of stacks that are not a thread's own: coroutines, segments of a growing stack,
/// signal stacks. All-zero bytes mean none.
#[derive(Default)]
struct Foreign {
    known: [Cell<Stack>; Foreign::MOST],
    /// The stack on which the last walk began.
    last: Cell<usize>,
    next: Cell<usize>,
    /// Number of further stacks that may still be looked for.
    questions: Cell<u32>,
}

impl Foreign {
    const MOST: usize = 16;
    /// The number of further searches allowed for each stack that is found.
    const QUESTIONS: u32 = 4;

    fn find(&self, address: usize) -> Option<Stack> {
        let known = self.known.iter().map(Cell::get);
        let mut known = known.filter(|stack| stack.contains(address));
        known.next()
    }

    /// Looks for the stack that contains an address, unless it is known.
    fn learn(&self, address: usize, finders: Finders) {
        if self.known[self.last.get() % Self::MOST]
            .get()
            .contains(address)
        {
            return;
        }
        for (index, known) in self.known.iter().enumerate() {
            let stack = known.get();
            if !stack.contains(address) {
                continue;
            }
            // The stack may have been unmapped since, and a smaller one mapped at the same place.
            if sys::read_own_memory((stack.high - 8) as u64, &mut [0; 8]) {
                self.last.set(index);
                return;
            }
            known.set(Stack::default());
        }
        if let Some(stack) = (finders.stack)(address).filter(|stack| stack.contains(address)) {
            self.last.set(self.keep(stack));
            self.questions.set(Self::QUESTIONS);
        }
    }

    /// Looks for the stack that contains a return address found on another stack.
    fn learn_before(&self, place: usize, finders: Finders) -> Option<Stack> {
        let left = self.questions.get().checked_sub(1)?;
        self.questions.set(left);
        let stack = (finders.stack_before)(place).filter(|stack| stack.contains(place))?;
        self.keep(stack);
        self.questions.set(Self::QUESTIONS);
        Some(stack)
    }

    fn keep(&self, stack: Stack) -> usize {
        let index = self.next.get() % Self::MOST;
        self.known[index].set(stack);
        self.next.set(index + 1);
        index
    }

    fn forget(&self) {
        self.known
            .iter()
            .for_each(|known| known.set(Stack::default()));
    }
}

/// Return addresses at which a thread's walks stop. Their callers keep data in the frame pointer
/// register, so the frames beyond them would be different garbage at each call.
#[derive(Default)]
struct CutAfter {
    /// One bit for each listed address, chosen by its low bits. For most frames, this test alone
    /// suffices.
    filter: Cell<u64>,
    listed: [Cell<u64>; CutAfter::MOST],
    /// Addresses after which stacks were cut and that are not yet listed, each with its number of
    /// cuts.
    counted: [(Cell<u64>, Cell<u32>); CutAfter::MOST],
    /// The seed when the addresses were listed. When the seed changes, other code may lie there.
    seed: Cell<u64>,
}

impl CutAfter {
    const MOST: usize = 16;
    /// If this many different stacks are cut after one address, they are one site with random outer
    /// frames.
    const ALIASES: u32 = 64;

    /// Returns the list, unless it is empty.
    #[inline(always)]
    fn in_use(&self) -> Option<&CutAfter> {
        (self.filter.get() != 0).then_some(self)
    }

    fn bit(address: u64) -> u64 {
        1 << (address & 63)
    }

    #[inline(always)]
    fn contains(&self, address: u64) -> bool {
        self.filter.get() & Self::bit(address) != 0
            && self.listed.iter().any(|listed| listed.get() == address)
    }

    fn forget(&self) {
        self.filter.set(0);
        self.listed.iter().for_each(|listed| listed.set(0));
        self.counted.iter().for_each(|(counted, _)| counted.set(0));
    }

    /// Counts a stack that was cut after `address`. Lists the address after too many cuts.
    fn count(&self, address: u64) {
        let place = self
            .counted
            .iter()
            .find(|(counted, _)| counted.get() == address || counted.get() == 0);
        // If all places are taken, the first is reused. A list of 16 is enough, because only one or
        // two addresses cause most cuts.
        let (counted, times) = place.unwrap_or(&self.counted[0]);
        if counted.get() != address {
            counted.set(address);
            times.set(0);
        }
        times.set(times.get() + 1);
        if times.get() < Self::ALIASES {
            return;
        }
        times.set(0);
        if let Some(free) = self.listed.iter().find(|listed| listed.get() == 0) {
            free.set(address);
            self.filter.set(self.filter.get() | Self::bit(address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses that differ by one bit, arranged in the Thue-Morse sequence or in its inverse.
    fn pattern(frames: u32, bit: u32, inverted: bool) -> Vec<u64> {
        let base = 0x5555_5555_1234;
        let is_set = |frame: u32| (frame.count_ones() % 2 == 1) != inverted;
        (0..frames)
            .map(|frame| base ^ if is_set(frame) { 1 << bit } else { 0 })
            .collect()
    }

    #[test]
    fn no_pattern_of_addresses_that_differ_by_one_bit_has_one_key_under_every_seed() {
        for inside in [0, 3, MOST_NEAR] {
            for frames in [8, 16, 32, 64, 128, 240] {
                for bit in 0..47 {
                    let key = |seed: u64, inverted: bool| {
                        let mut sum = Sum::new(fit_seed(seed), 0);
                        (0..inside).for_each(|_| sum.add(0x5555_5555_0000));
                        let addresses = pattern(frames, bit, inverted);
                        addresses.into_iter().for_each(|address| sum.add(address));
                        key_of(sum.value)
                    };
                    let seeds = (1..20u64).map(|seed| seed.wrapping_mul(GOLDEN));
                    let same = seeds.filter(|seed| key(*seed, false) == key(*seed, true));
                    assert_eq!(same.count(), 0, "{inside} + {frames} frames, bit {bit}");
                }
            }
        }
    }
}
