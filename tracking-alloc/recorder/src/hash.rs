//! Hashes of bytes and words, and spreading of keys over a table. Callers compare the content too.

/// Returns the 64-bit FNV-1a hash (Fowler, Noll, Vo) of bytes, starting from a seed.
#[inline]
pub fn fnv1a(seed: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

/// Adds a word to the hash of a stack. For each word, this is a bijection of the hash.
#[cfg(any(recording, captures))]
#[inline(always)]
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

/// An odd number with no pattern in its bits: 2^64 divided by the golden ratio.
#[cfg(any(recording, captures))]
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the key to try next if other content has this key.
#[cfg(recording)]
pub fn next_key(key: u64) -> u64 {
    key.wrapping_mul(GOLDEN).wrapping_add(1)
}

/// Spreads a key over a table of at most 2^44 places. The caller masks the result. The keys must
/// differ in their lower half.
#[cfg(recording)]
#[inline]
pub fn spread(key: u64) -> usize {
    (key.wrapping_mul(GOLDEN) >> 20) as usize
}

/// Spreads keys that may differ only in their upper half, such as two numbers side by side: every
/// bit of the key changes half of the bits of the result. This is the finalizer of MurmurHash3
/// (Appleby).
#[cfg(recording)]
#[inline]
pub fn spread_all(key: u64) -> usize {
    let key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (key ^ key >> 33) as usize
}

#[cfg(all(test, recording))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Returns the number of distinct places of 4,096 keys in a table of 8,192. For random keys,
    /// the average is 3,224.
    fn places(key: impl Fn(u64) -> u64) -> usize {
        let places: BTreeSet<usize> = (0..4096).map(|n| spread_all(key(n)) & 8191).collect();
        places.len()
    }

    #[test]
    fn keys_are_spread_by_all_of_their_bits() {
        // A node of a stack is found by parent and frame: keys with equal parents, then keys with
        // equal frames.
        assert!(places(|n| (7 << 32) | n) > 2_800);
        assert!(places(|n| (n << 32) | 7) > 2_800);
        assert!(places(|n| n << 40) > 2_800);
        assert!(places(|n| (n << 48) | (16 * n)) > 2_800);
    }
}
