//! Writing a recording as a whole: a header, a directory and packed tables, with a checksum.
//!
//! A program that is recorded in place has no use for this. WebAssembly modules and merged
//! recordings are written this way.

use crate::checksum::Checksum;
use crate::layout::*;
use crate::words::Record;
use std::collections::BTreeMap;

/// A recording that is complete once its tables have been added.
#[derive(Debug)]
pub struct Encoder {
    /// Header and directory, which are written at the end, then the tables.
    bytes: Vec<u8>,
    directory: Vec<SegmentValue>,
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder {
            bytes: vec![0; (HEADER_BYTES + DIRECTORY_BYTES) as usize],
            directory: Vec::new(),
        }
    }
}

impl Encoder {
    /// Adds a table of records, or the part of a table that belongs to lane 0. An empty table is
    /// left out.
    pub fn records<R: Record>(&mut self, table: u32, records: &[R]) {
        let start = self.bytes.len();
        let length = records.len() * R::SIZE;
        self.bytes.resize(start + length, 0);
        let places = self.bytes[start..].chunks_exact_mut(R::SIZE);
        for (record, place) in records.iter().zip(places) {
            record.write(place);
        }
        self.enter(table, start, length);
    }

    /// Adds a table of bytes. An empty table is left out.
    pub fn bytes(&mut self, table: u32, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.enter(table, start, bytes.len());
    }

    fn enter(&mut self, table: u32, start: usize, length: usize) {
        if length == 0 {
            return;
        }
        self.directory.push(SegmentValue {
            table,
            offset: start as u64,
            bytes: length as u64,
            ..SegmentValue::default()
        });
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
    }

    /// Returns the bytes of the recording. Sets the words of the header that every recording has
    /// and those that describe the file.
    pub fn finish(mut self, header: HeaderValue) -> Vec<u8> {
        let header = HeaderValue {
            magic: MAGIC,
            version: VERSION,
            header_bytes: HEADER_BYTES as u32,
            directory_len: self.directory.len() as u32,
            file_bytes: self.bytes.len() as u64,
            checksum: 0,
            ..header
        };
        header.write(&mut self.bytes[..HeaderValue::SIZE]);
        let places = self.bytes[HEADER_BYTES as usize..].chunks_exact_mut(SegmentValue::SIZE);
        for (entry, place) in self.directory.iter().zip(places) {
            entry.write(place);
        }
        let mut checksum = Checksum::default();
        checksum.add_bytes(&self.bytes);
        let checksum = checksum.finish().to_le_bytes();
        self.bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + checksum.len()].copy_from_slice(&checksum);
        self.bytes
    }
}

/// The table of strings. Each string is kept once.
#[derive(Debug)]
pub struct EncodedStrings {
    /// The first four bytes stand for the reference 0, which means "none".
    bytes: Vec<u8>,
    known: BTreeMap<Vec<u8>, u32>,
}

impl Default for EncodedStrings {
    fn default() -> Self {
        EncodedStrings {
            bytes: vec![0; 4],
            known: BTreeMap::new(),
        }
    }
}

impl EncodedStrings {
    /// Returns the reference of a string, or 0 for an empty one.
    pub fn put(&mut self, text: &[u8]) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let reference = u32::try_from(self.bytes.len()).unwrap_or(0);
        self.bytes
            .extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(text);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.known.insert(text.to_owned(), reference);
        reference
    }

    /// Returns the bytes of the table.
    pub fn table(&self) -> &[u8] {
        &self.bytes
    }
}
