//! The data of 0.8 and of 0.10 to 0.22: people with two names each, as postcard; a million strings
//! at full size.

use heapglass_examples::data::Random;
use serde::{Deserialize, Serialize};

/// Number of people in a full run: a million names.
pub(super) const PEOPLE: usize = 500_000;

/// A person, with names of any kind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Person<T> {
    pub(super) first_name: T,
    pub(super) last_name: T,
}

const SYLLABLES: [&str; 16] = [
    "an", "ber", "chi", "dor", "el", "fa", "gun", "ha", "is", "jo", "kla", "lin", "mar", "ni",
    "ot", "ta",
];

/// A generator of names with 1 to `most` syllables of two or three letters. The names are the same
/// in each run.
struct Names {
    syllables: Random,
    lengths: Random,
    most: usize,
}

impl Names {
    fn new(most: usize) -> Self {
        Names {
            syllables: Random::new(16),
            lengths: Random::new(2021),
            most,
        }
    }

    /// Appends the next name.
    fn next(&mut self, into: &mut String) {
        for _ in 0..=self.lengths.below(self.most) {
            into.push_str(SYLLABLES[self.syllables.below(SYLLABLES.len())]);
        }
    }
}

/// Returns `count` names of up to `most` syllables.
pub(super) fn names(count: usize, most: usize) -> Vec<String> {
    let mut names = Names::new(most);
    let mut name = || {
        let mut name = String::new();
        names.next(&mut name);
        name
    };
    (0..count).map(|_| name()).collect()
}

/// Returns `count` people with names of up to 5 syllables (2 to 15 bytes), as postcard.
pub(super) fn people(count: usize) -> Vec<u8> {
    people_of(count, 5)
}

/// Returns people with names of up to `most` syllables.
pub(super) fn people_of(count: usize, most: usize) -> Vec<u8> {
    texts(count, 2 * count, most)
}

/// Returns `count` names without people, as postcard.
pub(super) fn encoded_names(count: usize) -> Vec<u8> {
    texts(count, count, 5)
}

/// Returns `count` names, and the number of bytes before invalid bytes, summed over all names.
/// Every eighth name has a letter that is not ASCII; every 64th also has a byte that is not UTF-8,
/// followed by a letter.
pub(super) fn encoded_mixed_names(count: usize) -> (Vec<u8>, usize) {
    let mut bytes = Vec::with_capacity(count * 16);
    let mut names = Names::new(5);
    let mut name = String::with_capacity(128);
    let mut valid = 0;
    number(count, &mut bytes);
    for at in 0..count {
        name.clear();
        names.next(&mut name);
        if at % 8 == 0 {
            name.push('\u{e9}');
        }
        valid += name.len();
        let invalid: &[u8] = if at % 64 == 0 { b"\xffn" } else { b"" };
        number(name.len() + invalid.len(), &mut bytes);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(invalid);
    }
    (bytes, valid)
}

/// Returns a list of `records` records with `count` names in total, as postcard. It is written by
/// hand, so that preparing the input leaves no trace on the heap that is measured later.
fn texts(records: usize, count: usize, most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count * (most * 2 + 2));
    let mut names = Names::new(most);
    let mut name = String::with_capacity(128);
    number(records, &mut bytes);
    for _ in 0..count {
        name.clear();
        names.next(&mut name);
        number(name.len(), &mut bytes);
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes
}

/// Appends a number as postcard writes it: seven bits per byte, low bits first.
fn number(mut number: usize, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Reads such a number; returns 0 past the end.
fn read_number(rest: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, after)) = rest.split_first() {
        *rest = after;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 || shift > 56 {
            break;
        }
    }
    number
}

/// Reads a list of strings in postcard without serde. Returns their number, and the bytes of each.
pub(super) fn read_texts(mut bytes: &[u8]) -> (usize, impl Iterator<Item = &[u8]>) {
    let count = read_number(&mut bytes);
    let each = (0..count).map_while(move |_| {
        let len = read_number(&mut bytes);
        let (text, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        Some(text)
    });
    (count, each)
}

/// Writes a value as postcard.
pub(super) fn encoded(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("plain data has a form in postcard")
}

/// Reads a value from postcard.
pub(super) fn decoded<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> T {
    postcard::from_bytes(bytes).expect("it was written by this program")
}

/// Returns the number of blocks of a `Vec<Person<String>>` read from postcard.
pub(super) fn owned_blocks(count: f64) -> f64 {
    2.0 * count + super::read_growths(size_of::<Person<String>>(), count)
}
