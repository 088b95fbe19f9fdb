//! Stacks: walking them cheaply enough for every allocation.
//!
//! Knows no lane and no recording: who walks says where the stack ends and how rules are found.
//!
//! A walk stays inside the thread's own stack, goes strictly outward, and is one sum over return
//! addresses. What the thread's last walk met and is still there is not walked again (see
//! `last_walk`). A stack whose sum is new is walked once more, in full and into scratch memory.

mod eh_frame;
mod frame_pointers;
mod last_walk;
mod self_test;

pub(crate) use eh_frame::{Code, Frame, IS_SUPPORTED, Rule, forget_rules, prepare};
pub(crate) use self_test::{finds_callers, keeps_frame_pointers};

use crate::hash::{GOLDEN, mix};
use crate::sys::{self, Stack};
use frame_pointers::{Linked, NEAR};
use last_walk::LastWalk;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use tracking_alloc_recording::{MAX_FRAMES, site_flags, unwinder};

/// The data that walks need in addition to the stack.
pub(crate) struct Find {
    /// Finds the rule of a frame that the cache has none for, in the part of the stack that may be
    /// read.
    pub(crate) rule: fn(Frame, Stack) -> Rule,
    /// Finds the stack that an address lies in, for one that is not the thread's own. Where rules
    /// are not in use yet, it makes them ready ([`may_follow_rules`]) if it can.
    pub(crate) stack: fn(usize) -> Option<Stack>,
    /// The same for the place of a return address on a stack that a thread switched from.
    pub(crate) stack_before: fn(usize) -> Option<Stack>,
}

pub(crate) type Finders = &'static Find;

/// What sums are made with. They change when code was replaced, or when two stacks turned out to
/// have one key: then every stack gets another key, and no stack is taken for the one it was
/// mistaken for.
static POWERS: Powers = Powers::of(fit_seed(GOLDEN));

/// The powers of a seed from 0 on, for the innermost frames. A walk that meets some of one seed and
/// some of the next has the key of no stack: then its frames decide, as for a new one.
struct Powers([AtomicU64; MOST_NEAR + 1]);

/// Frames that are walked without asking what the last walk met, by either way.
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

    /// The sum of no frames in a scope.
    #[inline(always)]
    fn begin(&self, scope: u32) -> Sum {
        Sum::new(self.seed(), scope)
    }
}

/// A number like this as a seed: 5 modulo 8, for which powers less than 2^16 apart differ by less
/// than 2^18 times an odd number, so that two frames that change places always change the sum.
const fn fit_seed(number: u64) -> u64 {
    number & !7 | 5
}

/// The hash of a stack in a scope: seed and scope, and a word for each frame times the seed to the
/// power of its distance from the innermost frame, modulo 2^64. So the sum of the outer frames is
/// that of any stack that has them.
///
/// The word is the return address in the innermost frames, else [`spread`]. As they are, addresses
/// that differ in few high bits alone can be arranged, by a pattern of 32 frames, so that no seed
/// tells two stacks apart; six frames are too few for that.
#[derive(Clone, Copy)]
struct Sum {
    seed: u64,
    value: u64,
    power: u64,
    frames: usize,
}

impl Sum {
    /// That of no frames.
    #[inline(always)]
    fn new(seed: u64, scope: u32) -> Sum {
        Sum {
            seed,
            value: seed.wrapping_add(u64::from(scope).wrapping_mul(SCOPE)),
            power: 1,
            frames: 0,
        }
    }

    /// Adds the next frame outward; no frame has the address 0.
    #[inline(always)]
    fn add(&mut self, address: u64) {
        if self.frames < MOST_NEAR {
            self.add_word(address);
        } else {
            self.add_far(address);
        }
    }

    /// The same for a frame that is none of the innermost ones.
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

    /// With all outer frames at once.
    #[inline(always)]
    fn with_outer(self, outer: u64) -> u64 {
        self.value.wrapping_add(self.power.wrapping_mul(outer))
    }

    /// What a frame, none of the innermost ones, and the sum of its outer ones are together, for
    /// [`with_outer`](Self::with_outer).
    #[inline(always)]
    fn outward(address: u64, outer: u64, seed: u64) -> u64 {
        spread(address).wrapping_add(seed.wrapping_mul(outer))
    }
}

/// A word for an address: one for each, and any bit of the address changes low bits of it.
#[inline(always)]
const fn spread(address: u64) -> u64 {
    address.wrapping_mul(GOLDEN).rotate_left(32)
}

/// Tells scopes apart in a sum: an odd number with no pattern in its bits (the first factor of
/// MurmurHash3's finalizer).
const SCOPE: u64 = 0xff51_afd7_ed55_8ccd;

/// Gives every stack another key. Under the write lock.
pub(crate) fn change_seed() {
    POWERS.set(fit_seed(mix(POWERS.seed(), GOLDEN)));
}

/// How stacks are walked: a value of [`unwinder`].
static UNWINDER: AtomicU32 = AtomicU32::new(unwinder::NONE);

/// Chooses how stacks are walked: a value of [`unwinder`].
pub(crate) fn walk_with(unwinder: u32) {
    UNWINDER.store(unwinder, Relaxed);
}

/// Stacks that are not a thread's own may be walked by rules even where others are walked by frame
/// pointers: what is in the register when a stack begins is anybody's.
static MAY_FOLLOW_RULES: AtomicBool = AtomicBool::new(false);

pub(crate) fn may_follow_rules() {
    MAY_FOLLOW_RULES.store(true, Relaxed);
}

/// The method for a full walk of a stack.
fn unwinder_of(limits: &Limits, start: Start) -> u32 {
    let unwinder = UNWINDER.load(Relaxed);
    let is_foreign = || !limits.stack().contains(start.registers().1);
    if unwinder == unwinder::FRAME_POINTERS && MAY_FOLLOW_RULES.load(Relaxed) && is_foreign() {
        unwinder::EH_FRAME
    } else {
        unwinder
    }
}

/// How stacks are walked: a value of [`unwinder`].
pub(crate) fn walked_with() -> u32 {
    UNWINDER.load(Relaxed)
}

/// The registers a walk begins with, taken in the outermost function of the hook.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    frame_pointer: usize,
    stack_pointer: usize,
    /// An address in the function, behind the instruction that read it.
    pc: u64,
}

impl Start {
    /// The calling function's own frame.
    #[inline(always)]
    pub(crate) fn here() -> Self {
        let (frame_pointer, stack_pointer, pc): (usize, usize, u64);
        // NOTE: the clobber of a callee-saved register is what makes the compiler build the frame
        // first; without it the prologue may be moved behind these instructions, which would then
        // read the caller's frame pointer.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: copies registers.
        unsafe {
            std::arch::asm!(
                "mov {}, rbp", "mov {}, rsp", "lea {}, [rip]",
                out(reg) frame_pointer, out(reg) stack_pointer, out(reg) pc, out("r15") _,
                options(nomem, nostack, preserves_flags)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: copies registers.
        unsafe {
            std::arch::asm!(
                "mov {}, x29", "mov {}, sp", "adr {}, .",
                out(reg) frame_pointer, out(reg) stack_pointer, out(reg) pc, out("x20") _,
                options(nomem, nostack, preserves_flags)
            );
        }
        Start {
            frame_pointer,
            stack_pointer,
            pc,
        }
    }

    /// The registers one by one.
    ///
    /// PERF: cold functions take them so. As a struct of three words they would be passed in
    /// memory, and the hot path would wait for its own stores (16 % of a small event).
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

/// The key of a stack, innermost address first, in a scope. Never 0.
///
/// Two sites of 10^6 share a key with a probability of about 3e-8; such a pair is counted as one
/// until that is noticed (see `tables/sites`).
pub(crate) fn key(addresses: &[u64], scope: u32) -> u64 {
    let mut sum = POWERS.begin(scope);
    addresses.iter().for_each(|address| sum.add(*address));
    key_of(sum.value)
}

/// What the walks of one thread met last, by either way. All-zero bytes are nothing.
pub(crate) struct LastWalks {
    linked: LastWalk<Linked>,
    unwound: eh_frame::Unwound,
}

#[inline(always)]
fn key_of(sum: u64) -> u64 {
    sum | 1
}

/// The key of the calling stack in a scope: that of [`key`]. `None`: it takes a [walk in
/// full](walk_in_full).
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

/// The same where frame pointers are not kept: apart, so that it costs nothing where they are.
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

/// The same, whatever the last walk met: what [`walk`] must agree with.
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

/// The addresses of the calling stack: those that [`walk`] hashed.
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
    /// No further frame.
    Outermost,
    /// [`MAX_FRAMES`] frames.
    TooDeep,
    /// The stack is not the thread's own, and not all of it was found.
    Foreign,
    /// A frame after which walks are known to go astray, or whose caller cannot be found.
    Stopped,
}

/// The end of the walks of one thread. All-zero bytes are a thread whose stack is unknown.
#[derive(Default)]
pub(crate) struct Limits {
    /// The address range of its stack.
    stack: Cell<Stack>,
    /// From here on, and so many bytes further, a frame's link may lie that is followed without
    /// further questions.
    low: Cell<usize>,
    span: Cell<usize>,
    cut_after: CutAfter,
    /// Stacks that are not its own, on which it was met.
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

    /// Looks for the stack that a walk begins on, if it is not the thread's own.
    fn learn(&self, start: Start, finders: Finders) {
        let stack_pointer = start.registers().1;
        if !self.stack().contains(stack_pointer) && self.stack().high != 0 {
            self.foreign.learn(stack_pointer, finders);
        }
    }

    /// The stack that an address lies in, if that is known: the thread's own, or another one that
    /// it was met on.
    fn stack_of(&self, address: usize) -> Option<Stack> {
        let own = self.stack();
        if own.contains(address) {
            return Some(own);
        }
        self.foreign.find(address).filter(|_| own.high != 0)
    }

    /// The stack that a walk goes on in when it leaves `stack` for a return address elsewhere: a
    /// stack that the thread switched to leads back to the one before. Without `finders` only if
    /// that is known.
    fn stack_before(&self, stack: Stack, place: usize, finders: Option<Finders>) -> Option<Stack> {
        if stack == self.stack() || stack.contains(place) {
            return None;
        }
        let known = self.stack_of(place);
        known.or_else(|| self.foreign.learn_before(place, finders?))
    }

    /// Forgets stacks that are not the thread's own.
    pub(crate) fn forget_foreign(&self) {
        self.foreign.forget();
    }

    /// Forgets after which addresses stacks were cut, if code changed since: then the present one
    /// is to be walked again.
    pub(crate) fn forget_old_cuts(&self) -> bool {
        let is_old = self.cut_after.seed.replace(POWERS.seed()) != POWERS.seed();
        let forgets = is_old && self.cut_after.in_use().is_some();
        if forgets {
            self.cut_after.forget();
            self.set_stack(self.stack());
        }
        forgets
    }

    /// Counts a stack cut after `address`: when there were too many, walks end there.
    pub(crate) fn count_cut(&self, address: u64) {
        self.cut_after.count(address);
        self.set_stack(self.stack());
    }
}

/// Stacks that are not a thread's own (coroutines, segments of a stack that grows, signal stacks):
/// the mappings that they lie in. All-zero bytes are none.
#[derive(Default)]
struct Foreign {
    known: [Cell<Stack>; Foreign::MOST],
    /// The one that walks began on last.
    last: Cell<usize>,
    next: Cell<usize>,
    /// Number of further stacks that may still be looked for.
    questions: Cell<u32>,
}

impl Foreign {
    const MOST: usize = 16;
    /// For each stack that is found.
    const QUESTIONS: u32 = 4;

    fn find(&self, address: usize) -> Option<Stack> {
        let known = self.known.iter().map(Cell::get);
        let mut known = known.filter(|stack| stack.contains(address));
        known.next()
    }

    /// Looks for the stack of an address, unless it is known.
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
            // It may have been given back since, and a smaller one made there.
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

    /// Looks for the stack of a return address that another stack led to.
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

/// Return addresses after which a thread's walks stop: their callers keep data in the frame
/// pointer, so that what lies beyond would be made up anew at each call.
#[derive(Default)]
struct CutAfter {
    /// A bit for each listed address, by its low bits: most frames are passed by one test.
    filter: Cell<u64>,
    listed: [Cell<u64>; CutAfter::MOST],
    /// Addresses that were cut after, not yet listed, with how often.
    counted: [(Cell<u64>, Cell<u32>); CutAfter::MOST],
    /// The seed of that time: with another one, other code may be there.
    seed: Cell<u64>,
}

impl CutAfter {
    const MOST: usize = 16;
    /// So many different stacks cut after one address are one site and its noise.
    const ALIASES: u32 = 64;

    /// The list, unless it is empty.
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

    /// Counts a stack cut after `address`; lists it when there were too many.
    fn count(&self, address: u64) {
        let place = self
            .counted
            .iter()
            .find(|(counted, _)| counted.get() == address || counted.get() == 0);
        // When all places are taken the first is given up: a list of 16 serves one or two culprits.
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

    /// Addresses that differ by one bit, arranged as by the sequence of Thue and Morse, and the
    /// other way round.
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
