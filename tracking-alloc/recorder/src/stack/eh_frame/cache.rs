//! The cache of rules by address. Every walk reads it without a lock; writers hold the write lock.
//!
//! An entry is one word, so no reader sees it half written. It contains 34 bits, which together
//! with the entry's place give the whole address, and 30 bits of rule.

use super::rule::Rule;
use crate::sys::{Bump, PAGE, count_own};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

/// Each address has two neighboring places. Its tag tells which of them is tried first.
const BUCKET_BITS: u32 = 14;
const PLACE_BITS: u32 = BUCKET_BITS + 1;
const PLACES: usize = 1 << PLACE_BITS;
/// The number of bits of addresses in user space. Longer addresses are not cached.
const ADDRESS_BITS: u32 = 48;
const TAG_BITS: u32 = ADDRESS_BITS - BUCKET_BITS;
/// Odd, so that multiplication is a bijection of addresses. Shifted, so that the product has no
/// bits above those of an address.
const SPREAD: u64 = 0x9E37_79B9_7F4B << (u64::BITS - ADDRESS_BITS);

/// Undoes the multiplication by [`SPREAD`].
const GATHER: u64 = inverse(SPREAD >> (u64::BITS - ADDRESS_BITS));

const _: () = assert!(TAG_BITS + Rule::BITS == 64);

/// Returns the number whose product with an odd number is 1, modulo 2^64.
const fn inverse(odd: u64) -> u64 {
    // Three bits of the number itself are right, and each step doubles how many are.
    let mut inverse = odd;
    let mut bits = 3;
    while bits < u64::BITS {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

/// The cache. All-zero bytes mean that it is empty.
#[repr(C, align(64))]
pub(super) struct Cache {
    places: [AtomicU64; PLACES],
    /// `true` for each page of `places` that was written.
    written: [AtomicBool; (PLACES * size_of::<AtomicU64>()).div_ceil(PAGE)],
}

/// The cache used by walks in the hook.
static CACHE: AtomicPtr<Cache> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the cache, once it was prepared. It stays mapped until the process ends.
#[inline(always)]
pub(super) fn current() -> Option<&'static Cache> {
    // SAFETY: the pointer is null or points to a cache that is never unmapped.
    unsafe { CACHE.load(Acquire).as_ref() }
}

/// Creates the cache. Returns `false` if there is no memory.
pub(crate) fn prepare(bump: &mut Bump) -> bool {
    if current().is_some() {
        return true;
    }
    let Some(cache) = bump.take_sparse::<Cache>(1).map(NonNull::as_ptr) else {
        return false;
    };
    CACHE.store(cache, Release);
    true
}

/// Forgets the cache, whose memory the next recording uses for something else.
pub(crate) fn forget() {
    CACHE.store(std::ptr::null_mut(), Release);
}

/// Forgets all rules. The caller holds the write lock.
pub(crate) fn forget_rules() {
    if let Some(cache) = current() {
        cache.clear();
    }
}

impl Cache {
    /// Returns the first place to try for an address, and its tag, shifted above the bits of a
    /// rule.
    #[inline(always)]
    fn place(address: u64) -> (usize, u64) {
        let mixed = address.wrapping_mul(SPREAD);
        let place = mixed >> (u64::BITS - PLACE_BITS);
        (place as usize, mixed << BUCKET_BITS)
    }

    /// Returns the rule of an address.
    #[inline(always)]
    pub(super) fn find(&self, address: u64) -> Option<Rule> {
        let (place, tag) = Self::place(address);
        // An address with more bits would share a place with another address.
        if address >> ADDRESS_BITS != 0 {
            return None;
        }
        // NOTE: a place has PLACE_BITS bits, so no bounds check is needed.
        // PERF: without the tag, the remainder is the rule, or too large to be one. No rule is 0.
        let rule = |place: usize| {
            let rest = self.places[place].load(Relaxed) ^ tag;
            (rest.wrapping_sub(1) < (1 << Rule::BITS) - 1).then_some(Rule(rest as u32))
        };
        rule(place).or_else(|| rule(place ^ 1))
    }

    /// Adds a rule. The previous entry of its place moves to the second place. The caller holds the
    /// write lock.
    pub(super) fn insert(&self, address: u64, rule: Rule) {
        if address >> ADDRESS_BITS != 0 {
            return;
        }
        let (place, tag) = Self::place(address);
        let (first, second) = (&self.places[place], &self.places[place ^ 1]);
        let page = place * size_of::<AtomicU64>() / PAGE;
        if self
            .written
            .get(page)
            .is_some_and(|written| !written.swap(true, Relaxed))
        {
            count_own(PAGE);
        }
        let before = first.load(Relaxed);
        if before != 0 && (before ^ tag) >> Rule::BITS != 0 {
            second.store(before, Relaxed);
        }
        first.store(tag | u64::from(rule.0), Relaxed);
    }

    /// Returns all addresses with their rules.
    pub(super) fn rules(&self) -> impl Iterator<Item = (u64, Rule)> {
        const RULE: u64 = (1 << Rule::BITS) - 1;
        let places = self.places.iter().zip(0u64..);
        places.filter_map(|(word, place)| {
            let word = word.load(Relaxed);
            let bucket = (place >> 1) << (u64::BITS - BUCKET_BITS);
            let mixed = bucket | (word & !RULE) >> BUCKET_BITS;
            let address = (mixed >> (u64::BITS - ADDRESS_BITS)).wrapping_mul(GATHER);
            let address = address & ((1 << ADDRESS_BITS) - 1);
            (word != 0).then_some((address, Rule((word & RULE) as u32)))
        })
    }

    /// Forgets all rules, because code was loaded, perhaps at the addresses of other code. The
    /// caller holds the write lock.
    pub(super) fn clear(&self) {
        self.places.iter().for_each(|place| {
            // Do not touch pages that were never written.
            if place.load(Relaxed) != 0 {
                place.store(0, Relaxed);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Base, Host, Layout};
    use super::*;

    fn cache() -> &'static Cache {
        let place = Bump::new().take::<Cache>(1).expect("memory");
        // SAFETY: zeroed memory for one cache, which is never freed.
        unsafe { place.as_ref() }
    }

    fn rule(words: u64) -> Rule {
        Rule::new::<Host>(Layout {
            base: Base::Sp,
            end: words * 8,
            address: 8,
            bp: None,
        })
        .expect("fits")
    }

    #[test]
    fn an_address_finds_its_own_rule_or_none_at_all() {
        let cache = cache();
        let addresses = || (1..200_000u64).map(|index| 0x5555_0000_0000 + index * 7);
        addresses().for_each(|address| cache.insert(address, rule(address % 1000 + 1)));
        let found = addresses().filter(|address| match cache.find(*address) {
            Some(found) => {
                assert_eq!(found, rule(address % 1000 + 1), "{address:#x}");
                true
            }
            None => false,
        });
        assert!(found.count() > PLACES / 2);
        assert_eq!(cache.find(0x7fff_0000_0000), None);
    }

    #[test]
    fn addresses_beyond_48_bits_are_not_mistaken_for_others() {
        let cache = cache();
        cache.insert(0x1234, rule(2));
        assert_eq!(cache.find(0x1234), Some(rule(2)));
        assert_eq!(cache.find(0x1234 | 1 << 50), None);
        cache.insert(0x99 | 1 << 50, rule(3));
        assert_eq!(cache.find(0x99), None);
    }

    #[test]
    fn the_rules_have_the_addresses_for_which_they_were_added() {
        let cache = cache();
        let addresses = || (1..5_000u64).map(|index| 0x7f12_3456_0000 + index * 0x1_0103);
        let rule_of = |address| rule(address % 1000 + 1);
        addresses().for_each(|address| cache.insert(address, rule_of(address)));
        let mut known: Vec<u64> = addresses()
            .filter(|address| cache.find(*address).is_some())
            .collect();
        let mut listed: Vec<u64> = cache
            .rules()
            .map(|(address, rule)| {
                assert_eq!(rule, rule_of(address), "{address:#x}");
                address
            })
            .collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn a_cleared_cache_finds_nothing() {
        let cache = cache();
        cache.insert(0x1234, rule(2));
        cache.clear();
        assert_eq!(cache.find(0x1234), None);
    }
}
