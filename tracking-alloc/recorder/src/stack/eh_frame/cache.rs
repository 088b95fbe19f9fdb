//! The cache of rules by address: read without a lock by every walk, written under the write lock.
//!
//! An entry is one word, so it is never seen half written: 34 bits that, with its place, spell the
//! whole address, and the rule's 30.

use super::rule::Rule;
use crate::sys::{Bump, PAGE, count_own};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

/// An address is in one of two neighbors: which of them it is looked for in first, its tag tells.
const BUCKET_BITS: u32 = 14;
const PLACE_BITS: u32 = BUCKET_BITS + 1;
const PLACES: usize = 1 << PLACE_BITS;
/// Addresses of user space have no more bits; others are not cached.
const ADDRESS_BITS: u32 = 48;
const TAG_BITS: u32 = ADDRESS_BITS - BUCKET_BITS;
/// Odd, so that multiplying is a bijection of addresses; shifted, so that the product has nothing
/// above an address's bits.
const SPREAD: u64 = 0x9E37_79B9_7F4B << (u64::BITS - ADDRESS_BITS);

const _: () = assert!(TAG_BITS + Rule::BITS == 64);

/// All-zero bytes are an empty cache.
#[repr(C, align(64))]
pub(super) struct Cache {
    places: [AtomicU64; PLACES],
    /// `true` if each page of them was written.
    written: [AtomicBool; (PLACES * size_of::<AtomicU64>()).div_ceil(PAGE)],
}

/// The cache of walks in the hook.
static CACHE: AtomicPtr<Cache> = AtomicPtr::new(std::ptr::null_mut());

/// The cache, once one was prepared. It stays mapped until the process ends.
#[inline(always)]
pub(super) fn current() -> Option<&'static Cache> {
    // SAFETY: null or a cache, which is never unmapped.
    unsafe { CACHE.load(Acquire).as_ref() }
}

/// Makes the cache. Returns `false` if there is no memory.
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

/// Forgets all rules. Under the write lock.
pub(crate) fn forget_rules() {
    if let Some(cache) = current() {
        cache.clear();
    }
}

impl Cache {
    /// The place an address is looked for first, and its tag above the bits of a rule.
    #[inline(always)]
    fn place(address: u64) -> (usize, u64) {
        let mixed = address.wrapping_mul(SPREAD);
        let place = mixed >> (u64::BITS - PLACE_BITS);
        (place as usize, mixed << BUCKET_BITS)
    }

    /// The rule of an address.
    #[inline(always)]
    pub(super) fn find(&self, address: u64) -> Option<Rule> {
        let (place, tag) = Self::place(address);
        // An address beyond the bits would share a place with another one.
        if address >> ADDRESS_BITS != 0 {
            return None;
        }
        // NOTE: a place has PLACE_BITS bits, so that no bound is checked.
        // PERF: with the tag gone what is left is the rule, or too large for one. No rule is 0.
        let rule = |place: usize| {
            let rest = self.places[place].load(Relaxed) ^ tag;
            (rest.wrapping_sub(1) < (1 << Rule::BITS) - 1).then_some(Rule(rest as u32))
        };
        rule(place).or_else(|| rule(place ^ 1))
    }

    /// Keeps a rule; what was in its place moves to the other one. Under the write lock.
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

    /// Forgets everything: code was loaded, perhaps where other code had been. Under the write
    /// lock.
    pub(super) fn clear(&self) {
        self.places.iter().for_each(|place| {
            // Untouched pages stay untouched.
            if place.load(Relaxed) != 0 {
                place.store(0, Relaxed);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Base;
    use super::*;

    fn cache() -> &'static Cache {
        let place = Bump::new().take::<Cache>(1).expect("memory");
        // SAFETY: zeroed memory for one cache that is never given back.
        unsafe { place.as_ref() }
    }

    fn rule(words: u64) -> Rule {
        Rule::new(Base::Sp, words * 8, None).expect("fits")
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
    fn a_cleared_cache_finds_nothing() {
        let cache = cache();
        cache.insert(0x1234, rule(2));
        cache.clear();
        assert_eq!(cache.find(0x1234), None);
    }
}
