//! The innermost frames of earlier walks, kept for comparison. A walk by rules finds each frame
//! through the previous one. Here, all words at the places where an earlier walk found return
//! addresses are compared at once.
//!
//! Nothing is assumed that is not compared. A return address determines its rule, and the rule
//! determines the place of the next return address. Some rules need bp, so its value is compared
//! too. The same words in the same places are therefore what a walk by rules would find. If code
//! changes, the seed changes.
//!
//! All places are relative to the stack pointer, so a function's walks look the same wherever it is
//! called.

use super::machine::{Host, Machine};
use super::rule::{Frame, Rule};
use crate::hash::GOLDEN;
use crate::stack::{Powers, address_bits};
use crate::sys::{count_own, word_at};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::Ordering::*;

/// Number of frames compared this way: the innermost frames change between events.
pub(in crate::stack) const NEAR: usize = 6;

const PLACES_BITS: u32 = 7;
const WALKS_BITS: u32 = 6;
const WORD: usize = size_of::<u64>();

/// The kept walks of one thread. All-zero bytes mean none.
#[repr(C, align(4096))]
pub(super) struct NearWalks {
    kept: UnsafeCell<Kept>,
    /// `true` if any walk was kept.
    written: Cell<bool>,
}

struct Kept {
    /// The places of return addresses in the last walk, indexed by the stack pointer. Different
    /// stack pointers may share an entry.
    places: [Places; 1 << PLACES_BITS],
    /// Walks, indexed by the sum of their return addresses.
    walks: [Near; 1 << WALKS_BITS],
}

/// The places of return addresses, in rising order.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Places([u32; NEAR]);

/// The innermost frames of a walk.
#[derive(Clone, Copy)]
struct Near {
    places: Places,
    addresses: [u64; NEAR],
    /// The address at which the walk began, and the seed of its sum.
    pc: u64,
    seed: u64,
    /// The place of bp in the next frame, and the distance to its stack pointer.
    bp: BpPlace,
    end: u32,
    needs: Needs,
}

/// The place of a frame's bp: a word of the stack, or the register at the start of the walk.
#[derive(Clone, Copy)]
struct BpPlace(u32);

impl BpPlace {
    const REGISTER: u32 = u32::MAX;

    fn of(frame: Frame, start: Frame) -> Option<BpPlace> {
        if frame.bp_at == start.bp_at {
            return Some(BpPlace(Self::REGISTER));
        }
        distance(frame.bp_at, start.sp).map(BpPlace)
    }

    #[inline(always)]
    fn in_walk_from(self, start: Frame) -> usize {
        match self.0 {
            Self::REGISTER => start.bp_at,
            place => start.sp + place as usize,
        }
    }
}

/// Maximum number of frames that need bp in a kept walk.
const MOST_NEEDS: usize = Host::USUAL_NEEDS;

/// The frames that need bp: the place and the value of bp in each. Both are relative to the stack
/// pointer at which the walk begins.
#[derive(Clone, Copy)]
struct Needs {
    len: usize,
    frames: [(BpPlace, u32); MOST_NEEDS],
}

/// Returns the distance between two places on the stack, unless it is too large.
fn distance(to: usize, from: usize) -> Option<u32> {
    let distance = u32::try_from(to.checked_sub(from)?).ok()?;
    (distance != BpPlace::REGISTER).then_some(distance)
}

impl NearWalks {
    #[inline(always)]
    fn place(sp: usize) -> usize {
        // The stack pointer is a multiple of 16 at each call.
        (sp >> 4) % (1 << PLACES_BITS)
    }

    #[inline(always)]
    fn index(sum: u64) -> usize {
        (sum.wrapping_mul(GOLDEN) >> (u64::BITS - WALKS_BITS)) as usize
    }

    /// Returns the frame outside of the innermost frames of a walk that begins at `start`, and the
    /// sum of the innermost frames, if an earlier walk met the same frames. `high` is the end of
    /// the stack that contains `start`.
    ///
    /// Call this only while the thread that owns the lane runs inside the hook, so that no signal
    /// handler interferes.
    #[inline(always)]
    pub(super) fn find(&self, start: Frame, high: usize, powers: &Powers) -> Option<(Frame, u64)> {
        // SAFETY: only the lane's owner reaches this, and the hook does not run twice in one
        // thread.
        let kept = unsafe { &*self.kept.get() };
        let places = &kept.places[Self::place(start.sp)];
        let end = start.sp + places.0[NEAR - 1] as usize + WORD;
        if end > high {
            return None;
        }
        let bits = address_bits();
        // SAFETY: inside the calling thread's own stack, between the frame at which the walk begins
        // and `high`.
        let word = |place: u32| unsafe { word_at(start.sp + place as usize) } as u64 & bits;
        let addresses = places.0.map(word);
        let sum = addresses
            .iter()
            .zip(&powers.0)
            .fold(0u64, |sum, (address, power)| {
                sum.wrapping_add(address.wrapping_mul(power.load(Relaxed)))
            });
        let near = &kept.walks[Self::index(sum)];
        let is_same = near.places == *places
            && near.addresses == addresses
            && near.pc == start.pc
            && near.seed == powers.seed();
        if !is_same {
            return None;
        }
        for (bp, value) in &near.needs.frames[..near.needs.len.min(MOST_NEEDS)] {
            let bp_at = bp.in_walk_from(start);
            // SAFETY: as above if it is a place on the stack, because the same frames led to it.
            // Otherwise it is the word that holds the register.
            if unsafe { word_at(bp_at) } != start.sp + *value as usize {
                return None;
            }
        }
        // PERF: x86-64 does not wait for the kept walk.
        let sp = if Host::ENDS_WITH_ADDRESS {
            end
        } else {
            start.sp + near.end as usize
        };
        let frame = Frame {
            pc: addresses[NEAR - 1],
            sp,
            bp_at: near.bp.in_walk_from(start),
        };
        Some((frame, sum))
    }

    /// Keeps the innermost frames of a walk, and the value of bp in frames that needed it.
    /// `frames` begins with the first caller. `rules` led to them.
    #[inline(never)]
    pub(super) fn keep(
        &self,
        start: Frame,
        frames: &[Frame; NEAR],
        rules: &[Rule; NEAR],
        sum: u64,
        seed: u64,
    ) {
        let Some(near) = Self::near(start, frames, rules, seed) else {
            return;
        };
        if !self.written.replace(true) {
            count_own(size_of::<Self>());
        }
        // SAFETY: as in `find`.
        let kept = unsafe { &mut *self.kept.get() };
        kept.places[Self::place(start.sp)] = near.places;
        kept.walks[Self::index(sum)] = near;
    }

    #[inline(always)]
    fn near(start: Frame, frames: &[Frame; NEAR], rules: &[Rule; NEAR], seed: u64) -> Option<Near> {
        let mut needs = Needs {
            len: 0,
            frames: [(BpPlace(0), 0); MOST_NEEDS],
        };
        let mut places = Places([0; NEAR]);
        let mut frame = start;
        for ((place, caller), rule) in places.0.iter_mut().zip(frames).zip(rules) {
            if rule.is_based() {
                let bp = BpPlace::of(frame, start)?;
                *needs.frames.get_mut(needs.len)? = (bp, distance(frame.bp(), start.sp)?);
                needs.len += 1;
            }
            *place = distance(caller.sp - rule.address_below_end(), start.sp)?;
            frame = *caller;
        }
        Some(Near {
            places,
            addresses: frames.map(|frame| frame.pc),
            pc: start.pc,
            seed,
            bp: BpPlace::of(frame, start)?,
            end: distance(frame.sp, start.sp)?,
            needs,
        })
    }
}
