//! Generated data: a fleet with its crews, of any size, the same for the same seed, and the random
//! numbers for it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A small generator of random numbers (xorshift64*), which gives the same sequence for the same
/// seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Puts values in random order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
    }
}

/// A fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// Its ships.
    pub vessels: Vec<Vessel>,
}

/// A ship.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vessel {
    /// Its name.
    pub name: String,
    /// Its position.
    pub position: (f64, f64),
    /// The people on board.
    pub crew: Vec<Sailor>,
    /// The contents of the manifest, by key.
    pub manifest: BTreeMap<String, u32>,
    /// Free text, often missing.
    pub remark: Option<String>,
}

/// A person on board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sailor {
    /// Given name.
    pub first: String,
    /// Family name.
    pub last: String,
    /// The age in years.
    pub age: u8,
    /// The person's skills.
    pub skills: Vec<String>,
}

fn word(random: &mut Random, least: usize, most: usize) -> String {
    let length = least + random.below(most - least + 1);
    (0..length)
        .map(|_| char::from(b'a' + random.below(26) as u8))
        .collect()
}

impl Fleet {
    /// Generates a fleet of `vessels` vessels.
    pub fn generate(vessels: usize, seed: u64) -> Fleet {
        let random = &mut Random::new(seed);
        Fleet {
            vessels: (0..vessels).map(|_| Vessel::generate(random)).collect(),
        }
    }
}

impl Vessel {
    fn generate(random: &mut Random) -> Vessel {
        Vessel {
            name: word(random, 4, 24),
            position: (
                random.below(18_000) as f64 / 100.0,
                random.below(36_000) as f64 / 100.0,
            ),
            crew: (0..random.below(12))
                .map(|_| Sailor::generate(random))
                .collect(),
            manifest: (0..random.below(8))
                .map(|_| (word(random, 3, 12), random.below(100_000) as u32))
                .collect(),
            remark: (random.below(3) == 0).then(|| word(random, 10, 120)),
        }
    }
}

impl Sailor {
    fn generate(random: &mut Random) -> Sailor {
        Sailor {
            first: word(random, 2, 10),
            last: word(random, 3, 18),
            age: 18 + random.below(50) as u8,
            skills: (0..random.below(4)).map(|_| word(random, 4, 14)).collect(),
        }
    }
}
