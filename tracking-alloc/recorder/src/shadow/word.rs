//! The words of the shadow map, as the recorder writes them. The layout of the words is in
//! [`tracking_alloc_recording::shadow`], for the recorder and for readers of the program's memory.

use std::num::NonZeroU32;
use tracking_alloc_recording::shadow;
pub(super) use tracking_alloc_recording::shadow::{
    Birth, Kind, MIDDLE, SMALL, begins, goes_on, kind, site,
};
use tracking_alloc_recording::shadow::{
    GOES_ON, LANE_SHIFT, LONG_BITS, LOW_BITS, MIDDLE_BITS, SITE_SHIFT, SIZE_BITS,
};

/// Number of bits of the birth number kept by every block above 16 bytes.
pub(crate) const KNOWN_BITS: u32 = LOW_BITS + MIDDLE_BITS;
/// Minimum size of a block that needs a fourth word for its size.
const HUGE: usize = 1 << SIZE_BITS;

const KIND_MASK: u32 = 6;
const LOW_MASK: u32 = ((1 << LOW_BITS) - 1) << 3;
const LANE_MASK: u32 = u32::MAX << LANE_SHIFT;
const MIDDLE_MASK: u32 = ((1 << MIDDLE_BITS) - 1) << 1;

/// Lanes from this number on share one number in the map.
const LAST_LANE: u32 = (1 << (32 - LANE_SHIFT)) - 2;

/// The lane, encoded as in the second word of its blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneBits(u32);

impl LaneBits {
    pub(crate) fn of(lane: u32) -> Self {
        LaneBits((Owner::lane_kept(lane) + 1) << LANE_SHIFT)
    }
}

/// The lane that allocated a block, and its birth number.
// PERF: stored as the first two words in the map, so that they pass through the hook in one
// register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Owner {
    first: NonZeroU32,
    /// 0 for small blocks.
    second: u32,
}

impl Owner {
    /// Returns the lane number that blocks keep. The last lanes share one number.
    #[inline(always)]
    pub(crate) fn lane_kept(lane: u32) -> u32 {
        lane.min(LAST_LANE)
    }

    /// Returns `true` if blocks distinguish this lane from all others.
    #[inline(always)]
    pub(crate) fn tells_lane(lane: u32) -> bool {
        Owner::lane_kept(lane) == lane
    }

    /// Creates the owner of a new block. `site` must be below 2^20.
    #[inline(always)]
    pub(crate) fn new(site: u32, lane: LaneBits, birth: u32) -> Self {
        let low = birth << 3 & LOW_MASK;
        let high = birth >> LOW_BITS & ((1 << LONG_BITS) - 1);
        Owner {
            first: NonZeroU32::MIN | (site << SITE_SHIFT | low | (Kind::Long as u32) << 1),
            second: lane.0 | high << 1,
        }
    }

    /// Returns the words, as of a block in the map.
    #[inline(always)]
    pub(crate) fn words(self) -> [u32; 2] {
        [self.first.get(), self.second]
    }

    /// Returns the site that allocated the block.
    #[inline(always)]
    pub(crate) fn site(self) -> u32 {
        site(self.first.get())
    }

    /// Returns `true` if the block keeps this lane.
    #[inline(always)]
    pub(crate) fn is_of(self, lane: LaneBits) -> bool {
        self.second & LANE_MASK == lane.0
    }

    /// Returns `true` if the block keeps its lane and birth number. Blocks of up to 16 bytes do
    /// not.
    #[inline(always)]
    pub(crate) fn has_birth(self) -> bool {
        self.second & LANE_MASK != 0
    }

    /// Returns the birth number modulo 2^[`KNOWN_BITS`]. Every block that has a birth number keeps
    /// that many bits.
    #[inline(always)]
    pub(crate) fn birth_number(self) -> u32 {
        shadow::birth_number(self.first.get(), self.second, MIDDLE_BITS)
    }

    /// Returns the lane and the known part of the birth number, for blocks large enough to keep
    /// them.
    #[inline(always)]
    pub(crate) fn birth(self) -> Option<Birth> {
        shadow::birth(self.first.get(), self.second)
    }

    /// Returns the owner of the same block at another site. Lane and birth number are kept only if
    /// the whole birth number is known. `births` is the number of the lane's allocations so far.
    #[inline(always)]
    pub(crate) fn moved_to(self, site: u32, births: u64) -> Self {
        let Some(birth) = self.birth().filter(|birth| births >> birth.bits == 0) else {
            let first = NonZeroU32::MIN | (site << SITE_SHIFT | (Kind::Long as u32) << 1);
            return Owner { first, second: 0 };
        };
        Owner::new(site, LaneBits::of(birth.lane), birth.number)
    }
}

/// Returns the first word of a block of up to 16 bytes.
#[inline(always)]
pub(super) fn first_of_small(bytes: usize, owner: Owner) -> u32 {
    // NOTE: a size of 0 is not allowed. If it occurs, it counts as 1.
    let size = bytes.saturating_sub(1) as u32;
    owner.site() << SITE_SHIFT | size << 3 | 1
}

/// Returns the first word of a larger block.
#[inline(always)]
pub(super) fn first_of_larger(kind: Kind, owner: Owner) -> u32 {
    owner.first.get() & !KIND_MASK | (kind as u32) << 1
}

/// Returns the second word of a block of 17 to 32 bytes.
#[inline(always)]
pub(super) fn second_of_middle(bytes: usize, owner: Owner) -> u32 {
    let size = (bytes - SMALL - 1) as u32;
    owner.second & (LANE_MASK | MIDDLE_MASK) | size << (1 + MIDDLE_BITS)
}

/// Returns the second word of a block above 32 bytes.
#[inline(always)]
pub(super) fn second_of_long(owner: Owner) -> u32 {
    owner.second
}

/// Returns the third word of a block above 32 bytes, and the fourth if it needs one.
#[inline(always)]
pub(super) fn third(bytes: usize) -> (u32, Option<u32>) {
    let word = ((bytes & (HUGE - 1)) as u32) << 2;
    if bytes < HUGE {
        (word, None)
    } else {
        (word | GOES_ON, Some(((bytes >> SIZE_BITS) as u32) << 1))
    }
}

/// Returns the owner that the first two words of a block contain. The second word of a small block
/// is
/// 0. Returns `None` if no block begins there.
#[inline(always)]
pub(super) fn owner(first: u32, second: u32) -> Option<Owner> {
    let first = NonZeroU32::new(first).filter(|first| begins(first.get()))?;
    Some(Owner { first, second })
}

/// Returns the size in a block's words. `words` returns the word at an index. The result is 0 if a
/// concurrent free tore the words.
#[inline(always)]
pub(super) fn bytes(first: u32, words: impl Fn(usize) -> u32) -> usize {
    shadow::bytes(first, words) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: usize, owner: Owner) -> (u32, u32) {
        if bytes > MIDDLE {
            (first_of_larger(Kind::Long, owner), second_of_long(owner))
        } else if bytes > SMALL {
            let first = first_of_larger(Kind::Middle, owner);
            (first, second_of_middle(bytes, owner))
        } else {
            (first_of_small(bytes, owner), 0)
        }
    }

    #[test]
    fn words_tell_size_site_lane_and_birth_again() {
        for bytes in (1..200).chain([4_095, HUGE - 1, HUGE, HUGE + 1, 5 << 31, 1 << 46]) {
            for birth in [
                0,
                1,
                511,
                512,
                (1 << 27) - 1,
                1 << 27,
                (1 << 31) - 1,
                u32::MAX,
            ] {
                let owner = Owner::new((1 << 20) - 1, LaneBits::of(256), birth);
                let (first, second) = words(bytes, owner);
                let (third, fourth) = third(bytes);
                let words = |index| [first, second, third, fourth.unwrap_or(99)][index];
                assert_eq!(self::bytes(first, words), bytes);
                assert!(begins(first) && (bytes <= SMALL || !begins(second)));
                assert!(!begins(third) && !fourth.is_some_and(begins));
                let told = self::owner(first, second).expect("an owner");
                assert_eq!(told.site(), (1 << 20) - 1);
                match told.birth() {
                    None => assert!(bytes <= SMALL),
                    Some(told) => {
                        assert_eq!(
                            (told.lane, told.bits),
                            (256, if bytes > MIDDLE { 31 } else { 27 })
                        );
                        assert_eq!(u64::from(told.number), u64::from(birth) % (1 << told.bits));
                    }
                }
            }
        }
    }

    #[test]
    fn a_birth_number_that_may_have_wrapped_is_not_carried_on() {
        let kept = Owner::new(5, LaneBits::of(3), 40);
        let known = |bytes, births| {
            let (first, second) = words(bytes, kept);
            let again = owner(first, second).expect("an owner");
            again.moved_to(6, births).birth().is_some()
        };
        assert!(known(20, 1 << 26) && !known(20, 1 << 27));
        assert!(known(40, 1 << 30) && !known(40, 1 << 31));
    }
}
