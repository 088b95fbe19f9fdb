//! Functions of a library that a process has loaded, found in the memory of the process: this works
//! for files that were deleted or lie in another container.

use crate::program::Program;
use std::ops::Range;

/// A library in the memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image<'a> {
    program: &'a Program,
    /// The difference between addresses in memory and in the file.
    bias: u64,
    symbols: u64,
    strings: u64,
    hash: u64,
}

const SYMBOL_BYTES: u64 = 24;
const PROGRAM_HEADER_BYTES: u64 = 56;
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const MOST_HEADERS: u64 = 64;
/// Entries of a dynamic section, and of a chain of symbols, at most.
const MOST_ENTRIES: u64 = 1 << 16;

/// Tags of the dynamic section.
mod tag {
    pub(super) const NULL: u64 = 0;
    pub(super) const STRINGS: u64 = 5;
    pub(super) const SYMBOLS: u64 = 6;
    pub(super) const GNU_HASH: u64 = 0x6fff_fef5;
}

impl<'a> Image<'a> {
    /// Reads the image that begins at an address.
    pub(crate) fn at(program: &'a Program, base: u64) -> Option<Image<'a>> {
        let mut start = [0; 4];
        program.read(base, &mut start).ok()?;
        if start != *b"\x7fELF" {
            return None;
        }
        let headers = base + program.word(base + 32)?;
        let count = (program.word(base + 56)? & 0xffff).min(MOST_HEADERS);
        let header = |number: u64| headers + number * PROGRAM_HEADER_BYTES;
        let kind = |number| Some((program.word(header(number))? & 0xffff_ffff) as u32);
        let address = |number| program.word(header(number) + 16);
        let loads = (0..count).filter(|number| kind(*number) == Some(LOAD));
        let first = loads.filter_map(address).min()? & !0xfff;
        let bias = base.wrapping_sub(first);
        let dynamic = (0..count).find(|number| kind(*number) == Some(DYNAMIC))?;
        let mut entry = bias.wrapping_add(address(dynamic)?);
        let [mut symbols, mut strings, mut hash] = [0; 3];
        for _ in 0..MOST_ENTRIES {
            let (tag, value) = (program.word(entry)?, program.word(entry + 8)?);
            // The loader of glibc has added the bias.
            let place = if value < bias { value + bias } else { value };
            match tag {
                tag::NULL => break,
                tag::STRINGS => strings = place,
                tag::SYMBOLS => symbols = place,
                tag::GNU_HASH => hash = place,
                _ => {}
            }
            entry += 16;
        }
        (symbols != 0 && strings != 0 && hash != 0).then_some(Image {
            program,
            bias,
            symbols,
            strings,
            hash,
        })
    }

    fn half(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.program.read(address, &mut bytes).ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Returns the address of a function that the library defines.
    pub(crate) fn function(&self, name: &str) -> Option<u64> {
        Some(self.code_of(name)?.start)
    }

    /// Returns the code of a function that the library defines.
    pub(crate) fn code_of(&self, name: &str) -> Option<Range<u64>> {
        let [buckets, first, words] = [0, 4, 8].map(|at| self.half(self.hash + at));
        let (buckets, first, words) = (buckets?, first?, u64::from(words?));
        let table = self.hash + 16 + 8 * words;
        let chains = table + 4 * u64::from(buckets);
        let hash = hash_of(name);
        let bucket = u64::from(hash.checked_rem(buckets)?);
        let start = u64::from(self.half(table + 4 * bucket)?);
        for number in start..start + MOST_ENTRIES {
            let at = number.checked_sub(u64::from(first))?;
            let chained = self.half(chains + 4 * at)?;
            if chained | 1 == hash | 1
                && let Some(code) = self.symbol(number, name)
            {
                return Some(code);
            }
            if chained & 1 != 0 {
                return None;
            }
        }
        None
    }

    fn symbol(&self, number: u64, name: &str) -> Option<Range<u64>> {
        let symbol = self.symbols + number * SYMBOL_BYTES;
        let at = self.strings + u64::from(self.half(symbol)?);
        let mut found = vec![0; name.len() + 1];
        self.program.read(at, &mut found).ok()?;
        let is_defined = self.half(symbol + 4)? >> 16 != 0;
        let is_it = found.strip_suffix(&[0]) == Some(name.as_bytes());
        let value = self.program.word(symbol + 8)?;
        let bytes = self.program.word(symbol + 16)?;
        let start = self.bias.wrapping_add(value);
        (is_it && is_defined).then(|| start..start.saturating_add(bytes))
    }
}

fn hash_of(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(byte.into())
    })
}
