//! Encodes the recording as bytes: header and directory, followed by the packed tables. The
//! recording is finished and has a checksum.

use super::module_recorder::Recorder;
use super::rows::net;
use super::scope_table::Scope;
use std::collections::BTreeMap;
use tracking_alloc_recording as recording;
use tracking_alloc_recording::{
    CHECKSUM_OFFSET, CLOCK_SNAPSHOT_BITS, DIRECTORY_BYTES, FIRST_SITE, HEADER_BYTES, HeaderValue,
    LaneValue, Record, RowValue, ScopeValue, SegmentValue, SiteValue, StackValue, VisitsValue,
    scope_kind, table,
};

/// The name of the only thread.
const MAIN: [u64; 2] = [u64::from_le_bytes(*b"main\0\0\0\0"), 0];

impl Recorder {
    /// Returns everything recorded so far, as a finished recording.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut file = File {
            bytes: vec![0; (HEADER_BYTES + DIRECTORY_BYTES) as usize],
            directory: Vec::new(),
        };
        let mut strings = Strings {
            bytes: vec![0; 4],
            known: BTreeMap::new(),
        };
        let program = strings.put(&self.program);
        let scopes: Vec<ScopeValue> = self
            .scopes
            .all
            .iter()
            .map(|scope| ScopeValue {
                name: strings.put(&scope.name),
                type_name: strings.put(scope.type_name),
                entered: if is_phase(scope) {
                    scope.value.entered
                } else {
                    0
                },
                ..scope.value
            })
            .collect();
        let visits: Vec<VisitsValue> = (0u32..)
            .zip(&self.scopes.all)
            .filter(|(_, scope)| !is_phase(scope) && scope.value.entered > 0)
            .map(|(number, scope)| VisitsValue {
                scope: number,
                count: scope.value.entered,
                ..VisitsValue::default()
            })
            .collect();
        let mut sites = vec![SiteValue::default(); FIRST_SITE as usize];
        sites.extend(self.rows.scopes.iter().map(|scope| SiteValue {
            scope: *scope,
            ..SiteValue::default()
        }));
        let rows = &self.rows;
        let fixed = [rows.all, rows.full, RowValue::default()];
        let lane = LaneValue {
            kind: recording::lane_kind::OWNED,
            rows_len: rows.own.len() as u32,
            tenancies: 1,
            name: MAIN,
            unknown_frees: self.unknown_frees,
            checked_bytes: net(&rows.all).0,
            checked_blocks: rows.all.total_blocks,
            visits_len: visits.len() as u32,
            ..LaneValue::default()
        };
        let header = HeaderValue {
            executable: program,
            clock: rows.epoch << CLOCK_SNAPSHOT_BITS,
            peak_bytes: rows.peak.0,
            stacks_len: 1,
            scopes_len: scopes.len() as u32,
            sites_len: sites.len() as u32,
            strings_len: strings.bytes.len() as u64,
            own_bytes: self.linear.own << 16,
            untracked_blocks: self.untracked_blocks,
            lost_scopes: self.scopes.lost,
            memory_pages: self.linear.pages,
            first_pages: self.linear.first,
            own_pages: self.linear.own,
            memory_grows: self.linear.grows,
            magic: recording::MAGIC,
            version: recording::VERSION,
            header_bytes: HEADER_BYTES as u32,
            state: recording::state::FINISHED,
            mode: recording::mode::EXACT,
            unwinder: recording::unwinder::NONE,
            arch: recording::arch::WASM32,
            lanes: 1,
            most_lanes: 1,
            ..HeaderValue::default()
        };
        file.add(table::STRINGS, &strings.bytes);
        file.records(table::STACKS, &[StackValue::default()]);
        file.records(table::SCOPES, &scopes);
        file.records(table::SITES, &sites);
        file.records(table::LANES, &[lane]);
        file.records(table::FIXED_ROWS, &fixed);
        file.records(table::ROWS, &rows.own);
        file.records(table::VISITS, &visits);
        file.finish(header)
    }
}

fn is_phase(scope: &Scope) -> bool {
    scope.value.kind == scope_kind::PHASE
}

/// Header, directory, and the tables after them.
struct File {
    bytes: Vec<u8>,
    directory: Vec<SegmentValue>,
}

impl File {
    fn records<R: Record>(&mut self, table: u32, records: &[R]) {
        let bytes: Vec<u8> = records
            .iter()
            .flat_map(|record| record.to_bytes())
            .collect();
        self.add(table, &bytes);
    }

    fn add(&mut self, table: u32, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.directory.push(SegmentValue {
            table,
            offset: self.bytes.len() as u64,
            bytes: bytes.len() as u64,
            ..SegmentValue::default()
        });
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
    }

    fn finish(mut self, mut header: HeaderValue) -> Vec<u8> {
        header.directory_len = self.directory.len() as u32;
        header.file_bytes = self.bytes.len() as u64;
        let directory = std::mem::take(&mut self.directory);
        let directory = directory.iter().flat_map(|entry| entry.to_bytes());
        self.write_at(0, header.to_bytes());
        self.write_at(HEADER_BYTES as usize, directory);
        let mut checksum = recording::Checksum::default();
        checksum.add_bytes(&self.bytes);
        self.write_at(CHECKSUM_OFFSET, checksum.finish().to_le_bytes());
        self.bytes
    }

    fn write_at(&mut self, offset: usize, bytes: impl IntoIterator<Item = u8>) {
        let places = self.bytes.iter_mut().skip(offset);
        places.zip(bytes).for_each(|(place, byte)| *place = byte);
    }
}

/// The table of strings. Each string is kept once.
struct Strings {
    /// The first four bytes stand for the reference 0, which means "none".
    bytes: Vec<u8>,
    known: BTreeMap<String, u32>,
}

impl Strings {
    /// Returns the reference of a string, or 0 for an empty one.
    fn put(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let reference = u32::try_from(self.bytes.len()).unwrap_or(0);
        self.bytes
            .extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.known.insert(text.to_owned(), reference);
        reference
    }
}
