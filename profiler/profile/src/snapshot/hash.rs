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

    /// Returns the hash of one word that only narrows a search.
    pub(super) fn of_prefix(word: u64) -> u64 {
        let product = u128::from(word ^ SECOND) * u128::from(FIRST);
        product as u64 ^ (product >> 64) as u64
    }

    pub(super) fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FIRST);
        let folded = product as u64 ^ (product >> 64) as u64;
        self.0 = folded.wrapping_add(self.0.rotate_left(29) ^ SECOND);
    }

    /// Adds any number of bytes.
    pub(super) fn words(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        self.bytes(rest);
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

/// A prime of which all remainders fit into a word.
const PRIME: u64 = (1 << 61) - 1;
/// The base of the rolling hash: a number without a pattern.
const BASE: u64 = FIRST >> 4;

/// The hash of bytes that [`Sums`] also gives of each part of a larger one: the bytes are the
/// digits of a number, of which the remainder is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rolling {
    sum: u64,
    length: u64,
}

impl Rolling {
    pub(super) fn of(bytes: &[u8]) -> u64 {
        let sum = bytes.iter().fold(0, |sum, &byte| add_digit(sum, byte));
        let length = bytes.len() as u64;
        Rolling { sum, length }.value()
    }

    fn value(self) -> u64 {
        let mut hash = Hash::new(self.length);
        hash.word(self.sum);
        hash.value()
    }
}

/// Hashes of all parts of bytes up to a length.
#[derive(Debug)]
pub(super) struct Sums {
    /// Powers of the base.
    powers: Vec<u64>,
}

impl Sums {
    pub(super) fn new(longest: u64) -> Sums {
        let next = |&power: &u64| Some(product(power, BASE));
        let powers = std::iter::successors(Some(1), next);
        Sums {
            powers: powers.take(longest as usize + 1).collect(),
        }
    }

    /// Fills in the sums before each byte.
    pub(super) fn sum(&self, bytes: &[u8], sums: &mut Vec<u64>) {
        sums.clear();
        let mut sum = 0;
        sums.push(sum);
        sums.extend(bytes.iter().map(|&byte| {
            sum = add_digit(sum, byte);
            sum
        }));
    }

    /// Returns the hash of the bytes at an index, as [`Rolling::of`] does.
    pub(super) fn hash(&self, sums: &[u64], start: usize, length: usize) -> u64 {
        let before = product(sums[start], self.powers[length]);
        let sum = sums[start + length] + PRIME - before;
        let sum = if sum >= PRIME { sum - PRIME } else { sum };
        let length = length as u64;
        Rolling { sum, length }.value()
    }
}

fn add_digit(sum: u64, byte: u8) -> u64 {
    // A digit 0 would make leading zeros count for nothing; the length counts as well.
    remainder(u128::from(sum) * u128::from(BASE) + u128::from(byte) + 1)
}

fn product(one: u64, other: u64) -> u64 {
    remainder(u128::from(one) * u128::from(other))
}

fn remainder(number: u128) -> u64 {
    let folded = (number as u64 & PRIME) + (number >> 61) as u64;
    if folded >= PRIME {
        folded - PRIME
    } else {
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_each_part_is_that_of_its_bytes() {
        let bytes: Vec<u8> = (0..300_u32).map(|at| (at * at % 251) as u8).collect();
        let (sums, mut before) = (Sums::new(300), Vec::new());
        sums.sum(&bytes, &mut before);
        for start in 0..300 {
            for end in start..=300 {
                let hash = sums.hash(&before, start, end - start);
                assert_eq!(hash, Rolling::of(&bytes[start..end]));
            }
        }
    }
}
