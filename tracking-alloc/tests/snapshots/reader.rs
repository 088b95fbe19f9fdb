//! A reader of copies: asks for one, and finds blocks in its memory by the words of the recording.

use crate::program::until;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tracking_alloc_recording::*;

/// A reader that is attached to a recording.
pub(crate) struct Reader {
    file: File,
    /// The answers seen so far.
    seen: u32,
}

impl Reader {
    pub(crate) fn attach(path: &Path) -> Reader {
        let file = File::options().read(true).write(true).open(path);
        let mut reader = Reader {
            file: file.expect("a recording"),
            seen: 0,
        };
        reader.seen = reader.exchange().answers;
        reader
    }

    pub(crate) fn exchange(&self) -> ExchangeValue {
        let mut bytes = [0; ExchangeValue::SIZE];
        self.file
            .read_exact_at(&mut bytes, EXCHANGE_OFFSET as u64)
            .expect("the exchange");
        ExchangeValue::parse(&bytes)
    }

    fn write(&self, offset: usize, word: u32) {
        let offset = (EXCHANGE_OFFSET + offset) as u64;
        let written = self.file.write_all_at(&word.to_le_bytes(), offset);
        written.expect("written");
    }

    /// Makes a process the reader to which copies belong.
    pub(crate) fn set_reader(&self, process: u32, forced: bool) {
        self.write(std::mem::offset_of!(Exchange, forced), forced.into());
        self.write(std::mem::offset_of!(Exchange, reader), process);
    }

    /// Asks for a copy and returns the answer.
    pub(crate) fn request(&mut self) -> ExchangeValue {
        let request = self.exchange().request + 1;
        self.write(std::mem::offset_of!(Exchange, request), request);
        let answer = self.answer();
        assert_eq!(answer.answered, request);
        answer
    }

    /// Waits for the next answer.
    pub(crate) fn answer(&mut self) -> ExchangeValue {
        until("an answer", || self.exchange().answers != self.seen);
        self.seen += 1;
        let answer = self.exchange();
        assert_eq!(answer.answers, self.seen);
        answer
    }

    pub(crate) fn memory(&self, copy: u32) -> Memory {
        let mut bytes = [0; HeaderValue::SIZE];
        self.file.read_exact_at(&mut bytes, 0).expect("a header");
        let path = format!("/proc/{copy}/mem");
        Memory {
            file: File::open(path).expect("the copy's memory"),
            header: HeaderValue::parse(&bytes),
        }
    }
}

/// Ends a copy.
pub(crate) fn end(copy: u32) {
    // SAFETY: the copy was not reaped, so this is its number.
    unsafe { libc::kill(copy as i32, libc::SIGKILL) };
}

/// Returns `true` if a process has ended, reaped or not.
pub(crate) fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| {
        let rest = stat.rsplit_once(") ").map(|(_, rest)| rest);
        rest.is_none_or(|rest| rest.starts_with(['Z', 'X']))
    })
}

/// Returns `true` if a process is in no list any more.
pub(crate) fn is_gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

/// The memory of a copy.
pub(crate) struct Memory {
    file: File,
    pub(crate) header: HeaderValue,
}

/// A block in the shadow map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) site: u32,
}

impl Memory {
    pub(crate) fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let read = self.file.read_exact_at(&mut bytes, address);
        read.unwrap_or_else(|error| panic!("{count} bytes at {address:#x}: {error}"));
        bytes
    }

    pub(crate) fn word(&self, address: u64) -> u64 {
        let word = self.bytes(address, 8).try_into();
        word.map_or(0, u64::from_le_bytes)
    }

    /// Returns the block that begins at an address of the map.
    pub(crate) fn block_at(&self, address: u64) -> Option<Block> {
        let header = &self.header;
        let root = header.shadow_roots[(address >> 3 & 1) as usize];
        let leaf = self.word(root + 8 * (address >> header.shadow_leaf_bits));
        if leaf == 0 {
            return None;
        }
        let index = address >> 4 & ((1 << (header.shadow_leaf_bits - 4)) - 1);
        let words = self.bytes(leaf + 4 * index, 16);
        block(address, &words_of(&words))
    }

    /// Returns all blocks, in order of their addresses.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let header = &self.header;
        let leaves = 1_u64 << (header.shadow_address_bits - header.shadow_leaf_bits);
        let words = 1_usize << (header.shadow_leaf_bits - 4);
        let mut blocks = Vec::new();
        for (odd, root) in (0..).zip(header.shadow_roots) {
            let pointers = self.bytes(root, 8 * leaves as usize);
            for (number, pointer) in (0..).zip(pointers.as_chunks::<8>().0) {
                let leaf = u64::from_le_bytes(*pointer);
                if leaf == 0 {
                    continue;
                }
                let written = self.bytes(leaf + header.shadow_written_offset, words / 1024);
                for page in (0..words / 1024).filter(|page| written[*page] != 0) {
                    let bytes = self.bytes(leaf + 4096 * page as u64, 4096 + 12);
                    let entries = words_of(&bytes);
                    for index in 0..1024 {
                        let granule = (page * 1024 + index) as u64;
                        let address = (number << header.shadow_leaf_bits) | granule << 4 | odd << 3;
                        blocks.extend(block(address, &entries[index..]));
                    }
                }
            }
        }
        self.side_blocks(&mut blocks);
        blocks.sort_unstable();
        blocks
    }

    fn side_blocks(&self, blocks: &mut Vec<Block>) {
        let header = &self.header;
        for shard in 0..u64::from(header.side_shards) {
            let place = header.side_table + shard * u64::from(header.side_shard_bytes);
            let (slots, count) = (self.word(place), self.word(place + 8));
            if count == 0 {
                continue;
            }
            for slot in self.bytes(slots, 24 * count as usize).as_chunks::<24>().0 {
                let words: Vec<u32> = words_of(slot);
                let [address, bytes] =
                    [0, 2].map(|at| u64::from(words[at + 1]) << 32 | u64::from(words[at]));
                if address != 0 {
                    blocks.push(Block {
                        address,
                        bytes,
                        site: words[4] >> 12,
                    });
                }
            }
        }
    }

    pub(crate) fn in_flight(&self, place: u64) -> InFlightValue {
        InFlightValue::parse(&self.bytes(place, InFlightValue::SIZE))
    }
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks::<4>().0;
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Returns the block whose words these are.
fn block(address: u64, words: &[u32]) -> Option<Block> {
    let first = words[0];
    let bytes = match first & 7 {
        1 => u64::from(first >> 3 & 15) + 1,
        3 => u64::from(words[1] >> 19 & 15) + 17,
        5 => {
            let high = if words[2] & 2 != 0 { words[3] >> 1 } else { 0 };
            u64::from(high) << 30 | u64::from(words[2] >> 2)
        }
        _ => return None,
    };
    Some(Block {
        address,
        bytes,
        site: first >> 12,
    })
}
