//! Binary data read into `String`s or into an arena, as in the source's first question: records of
//! two texts, each after its length in a byte.

use bumpalo::Bump;

/// The longest text, in bytes.
const LONGEST: u32 = 16;

/// Returns records of about this many bytes together, their number in front, and the bytes of all
/// texts.
pub(crate) fn records(bytes: u32) -> (Vec<u8>, usize) {
    // Two lengths, and two texts of half the longest on average.
    let count = bytes / (2 + LONGEST + 1);
    let mut data = Vec::with_capacity(bytes as usize + bytes as usize / 8);
    data.extend_from_slice(&count.to_le_bytes());
    let (mut state, mut texts) = (1_u32, 0);
    for _ in 0..2 * count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // The high bits of this generator are the good ones.
        let len = 1 + (state >> 24) % LONGEST;
        texts += len as usize;
        data.push(len as u8);
        data.extend((0..len).map(|at| b'a' + ((state >> 8) + at) as u8 % 26));
    }
    (data, texts)
}

/// Two texts, owned or borrowed.
struct Record<T> {
    first: T,
    second: T,
}

/// Reads the texts one after another.
struct Texts<'a>(&'a [u8]);

impl<'a> Texts<'a> {
    /// Returns the number of records, and the texts after it.
    fn new(data: &'a [u8]) -> Option<(usize, Texts<'a>)> {
        let (count, rest) = data.split_first_chunk()?;
        Some((u32::from_le_bytes(*count) as usize, Texts(rest)))
    }

    fn record(&mut self) -> Option<Record<&'a str>> {
        Some(Record {
            first: self.text()?,
            second: self.text()?,
        })
    }

    fn text(&mut self) -> Option<&'a str> {
        let (len, rest) = self.0.split_first()?;
        let (text, rest) = rest.split_at_checked(usize::from(*len))?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

/// Reads all records with texts that own their bytes. Returns the bytes of all texts.
pub(crate) fn strings(data: &[u8]) -> Option<usize> {
    let (count, mut texts) = Texts::new(data)?;
    let mut all = Vec::new();
    for _ in 0..count {
        let read = texts.record()?;
        all.push(Record {
            first: read.first.to_owned(),
            second: read.second.to_owned(),
        });
    }
    let all = std::hint::black_box(all);
    Some(
        all.iter()
            .map(|one| one.first.len() + one.second.len())
            .sum(),
    )
}

/// Reads all records into an arena that grows.
pub(crate) fn arena(data: &[u8]) -> Option<usize> {
    into(&Bump::new(), data, 0)
}

/// Reads all records into an arena and a list of the size that the data says.
pub(crate) fn arena_sized(data: &[u8]) -> Option<usize> {
    let (count, _) = Texts::new(data)?;
    let bytes = count * size_of::<Record<&str>>() + data.len();
    into(&Bump::with_capacity(bytes), data, count)
}

fn into(bump: &Bump, data: &[u8], capacity: usize) -> Option<usize> {
    let (count, mut texts) = Texts::new(data)?;
    let mut all = bumpalo::collections::Vec::with_capacity_in(capacity, bump);
    for _ in 0..count {
        let read = texts.record()?;
        all.push(Record {
            first: &*bump.alloc_str(read.first),
            second: &*bump.alloc_str(read.second),
        });
    }
    let all = std::hint::black_box(all);
    Some(
        all.iter()
            .map(|one| one.first.len() + one.second.len())
            .sum(),
    )
}
