//! Stacks: walking them cheaply enough for every allocation.
//!
//! Knows no lane and no recording: who walks says where the stack ends and how rules are found.
//!
//! A walk stays inside the thread's own stack, goes strictly outward, and is one sum over return addresses. What the
//! thread's last walk met and is still there is not walked again (see `last_walk`). A stack whose sum is new is walked
//! once more, in full and into scratch memory.

mod eh_frame;
mod frame_pointers;
mod last_walk;
mod self_test;

pub(crate) use eh_frame::{Bounds, Code, EhFrames, Frame, IS_SUPPORTED, Rule, prepare};
pub(crate) use self_test::{finds_callers, keeps_frame_pointers};

use crate::hash::{GOLDEN, mix};
use crate::sys::Stack;
use eh_frame::Unwound;
use frame_pointers::Linked;
use last_walk::LastWalk;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use tracking_alloc_recording::{MAX_FRAMES, site_flags, unwinder};

/// Finds the rule of a frame that the cache has none for.
pub(crate) type FindRule = fn(Frame, Bounds) -> Rule;

/// What sums are made with. It changes when code was replaced, or when two stacks turned out to have one key: then every
/// stack gets another key, and no stack is taken for the one it was mistaken for.
static SEED: AtomicU64 = AtomicU64::new(fit_seed(GOLDEN));

/// A number like this as a seed: 5 modulo 8, for which powers less than 2^16 apart differ by less than 2^18 times an odd
/// number, so that two frames that change places always change the sum.
const fn fit_seed(number: u64) -> u64 {
    number & !7 | 5
}

/// The hash of a stack: the seed, and each return address times the seed to the power of its distance from the innermost
/// frame, modulo 2^64. So the sum of the outer frames is that of any stack that has them.
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
    fn new(seed: u64) -> Sum {
        Sum {
            seed,
            value: seed,
            power: 1,
            frames: 0,
        }
    }

    /// Adds the next frame outward; no frame has the address 0.
    #[inline(always)]
    fn add(&mut self, address: u64) {
        self.value = self.value.wrapping_add(address.wrapping_mul(self.power));
        self.power = self.power.wrapping_mul(self.seed);
        self.frames += 1;
    }

    /// With all outer frames at once.
    #[inline(always)]
    fn with_outer(self, outer: u64) -> u64 {
        self.value.wrapping_add(self.power.wrapping_mul(outer))
    }

    /// What a frame and the sum of its outer ones are together, for [`with_outer`](Self::with_outer).
    #[inline(always)]
    fn outward(address: u64, outer: u64, seed: u64) -> u64 {
        address.wrapping_add(seed.wrapping_mul(outer))
    }

    #[inline(always)]
    fn value(self) -> u64 {
        self.value
    }

    #[inline(always)]
    fn seed(self) -> u64 {
        self.seed
    }

    #[inline(always)]
    fn frames(self) -> usize {
        self.frames
    }
}

/// Gives every stack another key. Under the write lock.
pub(crate) fn change_seed() {
    SEED.store(fit_seed(mix(SEED.load(Relaxed), GOLDEN)), Relaxed);
}

/// Forgets rules of code that was unloaded. Under the write lock.
pub(crate) fn forget_rules() {
    eh_frame::forget_rules();
}

/// How stacks are walked: a value of [`unwinder`].
static UNWINDER: AtomicU32 = AtomicU32::new(unwinder::NONE);

/// Chooses how stacks are walked: a value of [`unwinder`].
pub(crate) fn walk_with(unwinder: u32) {
    UNWINDER.store(unwinder, Relaxed);
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
        // NOTE: the clobber of a callee-saved register is what makes the compiler build the frame first; without it
        // the prologue may be moved behind these instructions, which would then read the caller's frame pointer.
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
    /// PERF: cold functions take them so. As a struct of three words they would be passed in memory, and the hot path
    /// would wait for its own stores (16 % of a small event).
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

/// The hash of a stack, innermost address first.
pub(crate) fn hash(addresses: &[u64]) -> u64 {
    let mut sum = Sum::new(SEED.load(Relaxed));
    addresses.iter().for_each(|address| sum.add(*address));
    sum.value()
}

/// The key of a site: stack and scope. Never 0.
///
/// Two sites of 10^6 share a key with a probability of about 3e-8; such a pair is counted as one until that is noticed
/// (see `tables/sites`).
#[inline(always)]
pub(crate) fn key(hash: u64, scope: u32) -> u64 {
    let mixed = mix(hash, u64::from(scope));
    (mixed ^ mixed >> 32) | 1
}

/// What the walks of one thread met last, by either way. All-zero bytes are nothing.
pub(crate) struct LastWalks {
    linked: LastWalk<Linked>,
    unwound: LastWalk<Unwound>,
}

/// The hash of the calling stack.
#[inline(always)]
pub(crate) fn walk(limits: &Limits, last: &LastWalks, start: Start, find_rule: FindRule) -> u64 {
    let seed = SEED.load(Relaxed);
    match UNWINDER.load(Relaxed) {
        unwinder::FRAME_POINTERS => {
            frame_pointers::hash(start.frame_pointer, limits, &last.linked, seed)
        }
        unwinder::EH_FRAME => {
            let (frame_pointer, stack_pointer, pc) = start.registers();
            by_rules(limits, last, frame_pointer, stack_pointer, pc, find_rule)
        }
        _ => Sum::new(seed).value(),
    }
}

/// The same where frame pointers are not kept: apart, so that it costs nothing where they are.
#[inline(never)]
fn by_rules(
    limits: &Limits,
    last: &LastWalks,
    frame_pointer: usize,
    stack_pointer: usize,
    pc: u64,
    find_rule: FindRule,
) -> u64 {
    let start = Start::from_registers((frame_pointer, stack_pointer, pc));
    let seed = SEED.load(Relaxed);
    eh_frame::hash(start, limits, &last.unwound, find_rule, seed)
}

/// The same, whatever the last walk met: what [`walk`] must agree with.
pub(crate) fn walk_in_full(limits: &Limits, start: Start, find_rule: FindRule) -> u64 {
    let seed = SEED.load(Relaxed);
    match UNWINDER.load(Relaxed) {
        unwinder::FRAME_POINTERS => frame_pointers::hash_in_full(start.frame_pointer, limits, seed),
        unwinder::EH_FRAME => eh_frame::hash_in_full(start, limits, find_rule, seed),
        _ => Sum::new(seed).value(),
    }
}

/// What a walk into memory found.
pub(crate) struct Walked {
    /// Addresses written, innermost first.
    pub(crate) len: usize,
    /// Bits of [`site_flags`].
    pub(crate) flags: u32,
}

/// The addresses of the calling stack: those that [`walk`] hashed.
pub(crate) fn walk_into(
    limits: &Limits,
    start: Start,
    find_rule: FindRule,
    addresses: &mut [u64; MAX_FRAMES],
) -> Walked {
    let mut len = 0;
    let keep = |address| {
        if let Some(place) = addresses.get_mut(len) {
            *place = address;
            len += 1;
        }
    };
    let end = match UNWINDER.load(Relaxed) {
        unwinder::FRAME_POINTERS => frame_pointers::walk(
            start.frame_pointer,
            limits.stack.get(),
            limits.cut_after.in_use(),
            keep,
        ),
        unwinder::EH_FRAME => eh_frame::walk(start, limits, find_rule, keep),
        _ => End::Outermost,
    };
    let flags = match end {
        End::Outermost => 0,
        End::TooDeep => site_flags::DEEP,
        End::Foreign => site_flags::FOREIGN,
        End::Stopped => site_flags::CUT,
    };
    Walked { len, flags }
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// No further frame.
    Outermost,
    /// [`MAX_FRAMES`] frames.
    TooDeep,
    /// The stack is not the thread's own: one frame only.
    Foreign,
    /// A frame after which walks are known to go astray, or whose caller cannot be found.
    Stopped,
}

/// Where the walks of one thread end. All-zero bytes are a thread whose stack is not known.
pub(crate) struct Limits {
    /// Where its stack lies.
    pub(crate) stack: Cell<Stack>,
    pub(crate) cut_after: CutAfter,
}

impl Limits {
    pub(crate) fn of(stack: Stack) -> Limits {
        Limits {
            stack: Cell::new(stack),
            cut_after: CutAfter::nothing(),
        }
    }
}

/// Return addresses after which a thread's walks stop: their callers keep data in the frame pointer, so that what lies
/// beyond would be made up anew at each call.
pub(crate) struct CutAfter {
    /// A bit for each listed address, by its low bits: most frames are passed by one test.
    filter: Cell<u64>,
    listed: [Cell<u64>; CutAfter::MOST],
    /// Addresses that were cut after, not yet listed, with how often.
    counted: [(Cell<u64>, Cell<u32>); CutAfter::MOST],
}

impl CutAfter {
    const MOST: usize = 16;
    /// So many different stacks cut after one address are one site and its noise.
    const ALIASES: u32 = 64;

    fn nothing() -> CutAfter {
        CutAfter {
            filter: Cell::new(0),
            listed: [const { Cell::new(0) }; CutAfter::MOST],
            counted: [const { (Cell::new(0), Cell::new(0)) }; CutAfter::MOST],
        }
    }

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

    /// Counts a stack cut after `address`; lists it when there were too many.
    pub(crate) fn count(&self, address: u64) {
        let place = self
            .counted
            .iter()
            .find(|(counted, _)| counted.get() == address || counted.get() == 0);
        // When all places are taken the first is given up: a list of 16 serves the usual one or two culprits.
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
