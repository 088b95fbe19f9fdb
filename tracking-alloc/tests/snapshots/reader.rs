//! A reader of copies: asks for one, and finds blocks in its memory by the words of the recording.

use crate::program::until;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
pub(crate) use tracking_alloc_recording::shadow::Block;
use tracking_alloc_recording::shadow::Map;
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

    pub(crate) fn set_peak_above(&self, bytes: u64) {
        let offset = EXCHANGE_OFFSET + std::mem::offset_of!(Exchange, peak_above);
        let written = self.file.write_all_at(&bytes.to_le_bytes(), offset as u64);
        written.expect("written");
    }

    /// Says which answer was seen last.
    pub(crate) fn set_seen(&self, answers: u32) {
        self.write(std::mem::offset_of!(Exchange, seen), answers);
    }

    /// Makes a process the reader to which copies belong.
    pub(crate) fn set_reader(&self, process: u32, forced: bool) {
        self.write(std::mem::offset_of!(Exchange, forced), forced.into());
        self.write(std::mem::offset_of!(Exchange, reader), process);
    }

    /// Pauses the recording, or resumes it.
    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.write(std::mem::offset_of!(Exchange, paused), is_paused.into());
    }

    /// Asks for another mode.
    pub(crate) fn set_mode(&self, mode: u32, sample_bytes: u64) {
        let offset = EXCHANGE_OFFSET + std::mem::offset_of!(Exchange, sample_bytes);
        let written = self
            .file
            .write_all_at(&sample_bytes.to_le_bytes(), offset as u64);
        written.expect("written");
        self.write(std::mem::offset_of!(Exchange, mode), mode);
    }

    pub(crate) fn header(&self) -> HeaderValue {
        let mut bytes = [0; HeaderValue::SIZE];
        self.file.read_exact_at(&mut bytes, 0).expect("a header");
        HeaderValue::parse(&bytes)
    }

    /// Asks for a copy.
    pub(crate) fn ask(&self) -> u32 {
        let request = self.exchange().request + 1;
        self.write(std::mem::offset_of!(Exchange, request), request);
        request
    }

    /// Asks for a copy and returns the answer.
    pub(crate) fn request(&mut self) -> ExchangeValue {
        let request = self.ask();
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
        let path = format!("/proc/{copy}/mem");
        Memory {
            file: File::open(path).expect("the copy's memory"),
            header: self.header(),
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

impl Memory {
    pub(crate) fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let read = self.file.read_exact_at(&mut bytes, address);
        read.unwrap_or_else(|error| panic!("{count} bytes at {address:#x}: {error}"));
        bytes
    }

    fn map(&self) -> Map {
        Map::new(&self.header).expect("a map")
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.file.read_exact_at(buffer, address)
    }

    /// Returns the block that begins at an address of the map.
    pub(crate) fn block_at(&self, address: u64) -> Option<Block> {
        let block = self
            .map()
            .block_at(address, &|at, buffer| self.read(at, buffer));
        block.expect("the map")
    }

    /// Returns all blocks, in order of their addresses.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let (map, read) = (self.map(), |at, buffer: &mut [u8]| self.read(at, buffer));
        let mut blocks = Vec::new();
        let mut found = |block| {
            blocks.push(block);
            true
        };
        for leaf in map.leaves(&read).expect("the map") {
            map.blocks(leaf, &read, &mut found).expect("a leaf");
        }
        map.side_blocks(&read, &mut found).expect("the side table");
        blocks.sort_unstable();
        blocks
    }

    pub(crate) fn in_flight(&self, place: u64) -> InFlightValue {
        InFlightValue::parse(&self.bytes(place, InFlightValue::SIZE))
    }
}
