//! The data of 0.8 and 0.10 to 0.22: people with two names each, as postcard; a million strings at full size.

use heapglass_examples::data::Random;
use serde::{Deserialize, Serialize};

/// People of a full run: a million names.
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

/// Names of 1 to `most` syllables of two or three letters, one after another, the same each time.
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

    /// Appends the next one.
    fn next(&mut self, into: &mut String) {
        for _ in 0..=self.lengths.below(self.most) {
            into.push_str(SYLLABLES[self.syllables.below(SYLLABLES.len())]);
        }
    }
}

/// So many names of up to `most` syllables.
pub(super) fn names(count: usize, most: usize) -> Vec<String> {
    let mut names = Names::new(most);
    let mut name = || {
        let mut name = String::new();
        names.next(&mut name);
        name
    };
    (0..count).map(|_| name()).collect()
}

/// So many people with names of up to 5 syllables (2 to 15 bytes), as postcard.
pub(super) fn people(count: usize) -> Vec<u8> {
    people_of(count, 5)
}

/// The same with names of up to `most` syllables.
pub(super) fn people_of(count: usize, most: usize) -> Vec<u8> {
    texts(count, 2 * count, most)
}

/// So many names alone, as postcard.
pub(super) fn encoded_names(count: usize) -> Vec<u8> {
    texts(count, count, 5)
}

/// So many names of which every eighth has a letter that is not ASCII, and every 64th then a byte that is not UTF-8, with
/// a letter after it; also how many bytes there are before such bytes, all names together.
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

/// A list of `records` records of `count` names in all, as postcard. Written by hand, so that preparing the input leaves
/// no trace on the heap that is then looked at.
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

/// A number as postcard writes it: seven bits a byte, low ones first.
fn number(mut number: usize, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Reads such a number; 0 past the end.
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

/// A list of strings in postcard, read without serde: how many, and each one's bytes.
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

/// As postcard.
pub(super) fn encoded(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("plain data has a form in postcard")
}

/// From postcard.
pub(super) fn decoded<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> T {
    postcard::from_bytes(bytes).expect("it was written by this program")
}

/// Blocks of `Vec<Person<String>>` read from postcard.
pub(super) fn owned_blocks(count: f64) -> f64 {
    2.0 * count + super::read_growths(size_of::<Person<String>>(), count)
}
