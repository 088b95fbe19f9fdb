//! Hashes of contents.

/// Odd numbers without a pattern: fractional digits of the golden ratio and of the root of two.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0x6a09_e667_f3bc_c909;

/// A hash of words. Among 50 million different values, two have the same hash in one heap of
/// 15,000.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) fn new(seed: u64) -> Hash {
        let mut hash = Hash(FIRST);
        hash.word(seed);
        hash
    }

    /// Returns the hash of one word.
    pub(super) fn of(word: u64) -> u64 {
        Hash::new(word).value()
    }

    pub(super) fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FIRST);
        let folded = product as u64 ^ (product >> 64) as u64;
        self.0 = folded.wrapping_add(self.0.rotate_left(29) ^ SECOND);
    }

    /// Adds fewer bytes than a word has.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        self.word(u64::from_le_bytes(word));
        self.word(bytes.len() as u64);
    }

    pub(super) fn value(mut self) -> u64 {
        self.word(SECOND);
        self.0
    }
}
