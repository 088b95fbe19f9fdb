//! Hashes: of bytes, of words, and of keys that are spread over a table. Who uses one compares the content.

/// FNV-1a, 64 bits (Fowler, Noll, Vo), of bytes; other seeds begin elsewhere.
#[cfg(any(recording, feature = "serde"))]
#[inline]
pub(crate) fn fnv1a(seed: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

/// One step of the hash of a stack: a bijection of the hash for each word.
#[cfg(any(recording, captures))]
#[inline(always)]
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

/// An odd number with no pattern in its bits: 2^64 divided by the golden ratio.
#[cfg(any(recording, captures))]
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The key to try when another content has this one.
#[cfg(recording)]
pub(crate) fn next_key(key: u64) -> u64 {
    key.wrapping_mul(GOLDEN).wrapping_add(1)
}

/// Spreads a key over a table of at most 2^44 places: to be masked.
#[cfg(recording)]
#[inline]
pub(crate) fn spread(key: u64) -> usize {
    (key.wrapping_mul(GOLDEN) >> 20) as usize
}
