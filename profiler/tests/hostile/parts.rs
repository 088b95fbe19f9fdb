//! Takes a recording apart into header and tables, and builds it again, so that a change keeps the
//! rest valid.

use tracking_alloc_recording::*;

#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) header: HeaderValue,
    /// Entries of the directory and their contents. Building assigns new offsets.
    pub(crate) segments: Vec<(SegmentValue, Vec<u8>)>,
}

impl Parts {
    /// Takes a valid recording apart.
    pub(crate) fn of(bytes: &[u8]) -> Parts {
        let header = HeaderValue::parse(bytes);
        let entry = |index: usize| {
            let at = HEADER_BYTES as usize + index * SegmentValue::SIZE;
            SegmentValue::parse(&bytes[at..])
        };
        let segments = (0..header.directory_len as usize).map(entry);
        let with_bytes = segments.map(|segment| {
            let start = segment.offset as usize;
            (
                segment,
                bytes[start..start + segment.bytes as usize].to_vec(),
            )
        });
        Parts {
            header,
            segments: with_bytes.collect(),
        }
    }

    /// Adds records at the end of a table. Returns the index of the first.
    pub(crate) fn append<R: Record>(&mut self, table: u32, lane: u32, records: &[R]) -> u64 {
        let bytes = records
            .iter()
            .flat_map(|record| record.to_bytes())
            .collect();
        self.append_bytes(table, lane, R::SIZE as u64, bytes)
    }

    pub(crate) fn append_bytes(&mut self, table: u32, lane: u32, size: u64, bytes: Vec<u8>) -> u64 {
        let of_table = self
            .segments
            .iter()
            .filter(|(segment, _)| (segment.table, segment.lane) == (table, lane));
        let first = of_table
            .map(|(segment, bytes)| segment.first + bytes.len() as u64 / size)
            .max()
            .unwrap_or(0);
        let segment = SegmentValue {
            table,
            lane,
            first,
            bytes: bytes.len() as u64,
            ..SegmentValue::default()
        };
        self.segments.push((segment, bytes));
        first
    }

    /// Adds a string. Returns its reference.
    pub(crate) fn string(&mut self, text: &str) -> u32 {
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let reference = self.append_bytes(table::STRINGS, 0, 1, bytes);
        self.header.strings_len = self.ends_of(table::STRINGS, 1);
        reference as u32
    }

    fn ends_of(&self, table: u32, size: u64) -> u64 {
        let ends = self
            .segments
            .iter()
            .filter(|(segment, _)| segment.table == table)
            .map(|(segment, bytes)| segment.first + bytes.len() as u64 / size);
        ends.max().unwrap_or(0)
    }

    /// Returns the bytes of the file, with tables one after another, and the position of each
    /// table.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let entries = self
            .segments
            .len()
            .min(DIRECTORY_BYTES as usize / SegmentValue::SIZE);
        let mut bytes = vec![0; (HEADER_BYTES + DIRECTORY_BYTES) as usize];
        for (index, (segment, piece)) in self.segments.iter().take(entries).enumerate() {
            let placed = SegmentValue {
                offset: bytes.len() as u64,
                ..*segment
            };
            let at = HEADER_BYTES as usize + index * SegmentValue::SIZE;
            bytes[at..at + SegmentValue::SIZE].copy_from_slice(&placed.to_bytes());
            bytes.extend_from_slice(piece);
            bytes.resize(bytes.len().next_multiple_of(64), 0);
        }
        let header = HeaderValue {
            directory_len: entries as u32,
            file_bytes: bytes.len() as u64,
            ..self.header
        };
        bytes[..HeaderValue::SIZE].copy_from_slice(&header.to_bytes());
        bytes
    }
}

/// Corrects the checksum of a finished recording, as far as its header allows.
pub(crate) fn seal(bytes: &mut [u8]) {
    let header = HeaderValue::parse(bytes);
    let length = header.file_bytes.min(bytes.len() as u64);
    if bytes.len() < CHECKSUM_OFFSET + 8 {
        return;
    }
    if let Ok(checksum) = file_checksum(&*bytes, length) {
        bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8].copy_from_slice(&checksum.to_le_bytes());
    }
}
