//! The words of the shadow map, each of which says what it is: where a block begins, whose it is, how long it is.
//!
//! | granule | bit 0 | the rest |
//! |---|---|---|
//! | first | 1: a block begins here | kind (2 bits), 9 bits, site (20 bits) |
//! | second, of blocks above 16 bytes | 0 | 22 bits, lane + 1 (9 bits; 0 = birth not known) |
//! | third, above 32 bytes | 0 | 1 = it goes on, 30 bits of the size |
//! | fourth, from 1 GiB | 0 | 31 more bits of the size |
//!
//! | kind | the 9 bits | the 22 bits |
//! |---|---|---|
//! | small, up to 16 bytes | size - 1 (4 bits) | none |
//! | middle, 17 to 32 bytes | low bits of the birth number | size - 17 (4 bits), 18 bits of the birth number |
//! | long | low bits of the birth number | 22 bits of the birth number |
//!
//! A block of more than 16, 32, 48 bytes owns as many granules in its map: no other block of the map begins there.

/// Bits of the birth number kept in the first word.
const LOW_BITS: u32 = 9;
/// Bits of it kept in the second word of a middle block.
const MIDDLE_BITS: u32 = 18;
/// Bits of it kept in the second word of a long block.
const LONG_BITS: u32 = 22;
const LANE_SHIFT: u32 = 23;
const SITE_SHIFT: u32 = 12;
/// Bits of the size kept in the third word.
const SIZE_BITS: u32 = 30;
const GOES_ON: u32 = 2;

/// Blocks up to this many bytes have one granule.
pub(super) const SMALL: usize = 16;
/// Blocks up to this many have two.
pub(super) const MIDDLE: usize = 32;
/// Blocks from this many bytes on need a fourth word for their size.
const HUGE: usize = 1 << SIZE_BITS;

/// How many words a block has, as its first word says; the fourth is announced by the third.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Small = 0,
    Middle = 1,
    Long = 2,
}

/// Who allocated a block, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Owner {
    site: u32,
    /// The lane and one; 0 = the birth number is not known.
    lane: u32,
    /// The birth number modulo 2^`bits`.
    birth: u32,
    bits: u32,
}

impl Owner {
    /// `site` must be below 2^20 and not 0, `lane` at most 256.
    #[inline(always)]
    pub(crate) fn new(site: u32, lane: u32, birth: u32) -> Self {
        Owner {
            site,
            lane: lane + 1,
            birth,
            bits: 32,
        }
    }

    /// The site that allocated it.
    #[inline(always)]
    pub(crate) fn site(self) -> u32 {
        self.site
    }

    /// The lane and what is known of the birth number, for blocks that had room to keep them.
    #[inline(always)]
    pub(crate) fn birth(self) -> Option<Birth> {
        Some(Birth {
            lane: self.lane.checked_sub(1)?,
            number: self.birth,
            bits: self.bits,
        })
    }

    /// The same block at another site: birth and lane are kept, when `births`, its lane's allocations so far, tell that
    /// the birth number is known as a whole.
    #[inline(always)]
    pub(crate) fn moved_to(self, site: u32, births: u64) -> Self {
        let lane = if births >> self.bits == 0 {
            self.lane
        } else {
            0
        };
        Owner { site, lane, ..self }
    }
}

/// A birth number as far as it is known.
#[derive(Clone, Copy)]
pub(crate) struct Birth {
    /// The lane whose allocations it counts.
    pub(crate) lane: u32,
    /// The number modulo 2^`bits`.
    pub(crate) number: u32,
    /// How much of it is known.
    pub(crate) bits: u32,
}

/// The first word of a block.
#[inline(always)]
pub(super) fn first(bytes: usize, owner: Owner) -> u32 {
    let (kind, nine) = if bytes > MIDDLE {
        (Kind::Long, owner.birth & ((1 << LOW_BITS) - 1))
    } else if bytes > SMALL {
        (Kind::Middle, owner.birth & ((1 << LOW_BITS) - 1))
    } else {
        // NOTE: nobody may ask for 0 bytes; one who does counts as 1 here.
        (Kind::Small, bytes.saturating_sub(1) as u32)
    };
    owner.site << SITE_SHIFT | nine << 3 | (kind as u32) << 1 | 1
}

/// The second word of a block above 16 bytes.
#[inline(always)]
pub(super) fn second(bytes: usize, owner: Owner) -> u32 {
    let high = owner.birth >> LOW_BITS;
    let rest = if bytes > MIDDLE {
        high & ((1 << LONG_BITS) - 1)
    } else {
        ((bytes - SMALL - 1) as u32) << MIDDLE_BITS | high & ((1 << MIDDLE_BITS) - 1)
    };
    owner.lane << LANE_SHIFT | rest << 1
}

/// The third word of a block above 32 bytes, and the fourth if it needs one.
#[inline(always)]
pub(super) fn third(bytes: usize) -> (u32, Option<u32>) {
    let word = ((bytes & (HUGE - 1)) as u32) << 2;
    if bytes < HUGE {
        (word, None)
    } else {
        (word | GOES_ON, Some(((bytes >> SIZE_BITS) as u32) << 1))
    }
}

/// Whether a block begins at a word.
#[inline(always)]
pub(super) fn begins(word: u32) -> bool {
    word & 1 != 0
}

/// The kind of block a first word begins.
#[inline(always)]
pub(super) fn kind(first: u32) -> Kind {
    match first >> 1 & 3 {
        0 => Kind::Small,
        1 => Kind::Middle,
        _ => Kind::Long,
    }
}

/// Whether a third word says that there is a fourth.
#[inline(always)]
pub(super) fn goes_on(third: u32) -> bool {
    third & GOES_ON != 0
}

/// The owner that a block's first and second words tell. `second` is not looked at when the kind is small.
#[inline(always)]
pub(super) fn owner(first: u32, second: u32) -> Owner {
    let low = first >> 3 & ((1 << LOW_BITS) - 1);
    let (lane, birth, bits) = match kind(first) {
        Kind::Small => (0, 0, 0),
        Kind::Middle => (
            second >> LANE_SHIFT,
            (second >> 1 & ((1 << MIDDLE_BITS) - 1)) << LOW_BITS | low,
            LOW_BITS + MIDDLE_BITS,
        ),
        Kind::Long => (
            second >> LANE_SHIFT,
            (second >> 1 & ((1 << LONG_BITS) - 1)) << LOW_BITS | low,
            LOW_BITS + LONG_BITS,
        ),
    };
    Owner {
        site: first >> SITE_SHIFT,
        lane,
        birth,
        bits,
    }
}

/// The site that a first word tells.
#[cfg(any(feature = "serde", test))]
pub(super) fn site(first: u32) -> u32 {
    first >> SITE_SHIFT
}

/// The size that a block's words tell; `words` gives the one at a distance from the first. 0 = torn by a racing free.
#[cfg(any(feature = "serde", test))]
pub(super) fn bytes(first: u32, words: impl Fn(usize) -> u32) -> usize {
    match kind(first) {
        Kind::Small => (first >> 3 & 15) as usize + 1,
        Kind::Middle => (words(1) >> (1 + MIDDLE_BITS) & 15) as usize + SMALL + 1,
        Kind::Long => {
            let third = words(2);
            let high = if goes_on(third) { words(3) >> 1 } else { 0 };
            (high as usize) << SIZE_BITS | (third >> 2) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let owner = Owner::new((1 << 20) - 1, 256, birth);
                let (first, second) = (
                    first(bytes, owner),
                    if bytes > SMALL {
                        second(bytes, owner)
                    } else {
                        77
                    },
                );
                let (third, fourth) = third(bytes);
                let words = |index| [first, second, third, fourth.unwrap_or(99)][index];
                assert_eq!(self::bytes(first, words), bytes);
                assert!(begins(first) && (bytes <= SMALL || !begins(second)));
                assert!(!begins(third) && !fourth.is_some_and(begins));
                let told = self::owner(first, second);
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
        let kept = Owner::new(5, 3, 40);
        let known = |bytes, births| {
            let again = owner(first(bytes, kept), second(bytes, kept));
            again.moved_to(6, births).birth().is_some()
        };
        assert!(known(20, 1 << 26) && !known(20, 1 << 27));
        assert!(known(40, 1 << 30) && !known(40, 1 << 31));
    }
}
