//! Files that claim far more than they have are rejected at once, and no memory is reserved for
//! their claims. A copy with holes in place of zeros is read.

use crate::builder::small;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use tracking_alloc_recording::*;

const TERABYTES: u64 = 4 << 40;

/// Writes a running recording with only its header and directory on disk. `entries` are segments
/// within its `file_bytes`.
fn claim(
    path: &Path,
    file_bytes: u64,
    entries: &[SegmentValue],
    change: impl FnOnce(&mut HeaderValue),
) {
    let mut header = HeaderValue {
        magic: MAGIC,
        version: VERSION,
        header_bytes: HEADER_BYTES as u32,
        state: state::RUNNING,
        file_bytes,
        directory_len: entries.len() as u32,
        ..HeaderValue::default()
    };
    change(&mut header);
    let file = File::create(path).expect("a file");
    file.set_len(file_bytes).expect("a sparse file");
    file.write_all_at(&header.to_bytes(), 0).expect("a header");
    for (index, entry) in entries.iter().enumerate() {
        let place = HEADER_BYTES + (index * SegmentValue::SIZE) as u64;
        file.write_all_at(&entry.to_bytes(), place)
            .expect("an entry");
    }
}

fn segment(table: u32, offset: u64, bytes: u64) -> SegmentValue {
    SegmentValue {
        table,
        offset,
        bytes,
        ..SegmentValue::default()
    }
}

/// Reads a file that must be rejected quickly: nothing may be read or reserved for its claims.
/// Reading it would take hours, so even a busy machine keeps the limit.
fn refused(path: &Path) -> String {
    let start = Instant::now();
    let error = Recording::open(path).expect_err("refused");
    assert!(error.is_damaged(), "{error}");
    assert!(
        start.elapsed() < heapglass_limits::limit(),
        "{:?}",
        start.elapsed()
    );
    error.to_string()
}

#[test]
fn a_sparse_file_of_terabytes_is_refused_whatever_table_claims_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sparse.hg");
    let large = |table| [segment(table, 1 << 20, TERABYTES - (1 << 20))];
    type Change = fn(&mut HeaderValue);
    let claims: [(u32, Change); 6] = [
        (table::SITES, |header| header.sites_len = MAX_SITES),
        (table::SITES, |header| header.sites_len = u32::MAX),
        (table::STRINGS, |header| header.strings_len = 3 << 40),
        (table::STRINGS, |header| {
            header.strings_len = u32::MAX.into()
        }),
        (table::MARK_ROWS, |header| header.mark_rows_len = u64::MAX),
        (table::FRAMES, |header| header.frames_len = 1 << 28),
    ];
    for (table, change) in claims {
        claim(&path, TERABYTES, &large(table), change);
        refused(&path);
    }
    claim(&path, TERABYTES, &large(table::SYMBOLS), |_| {});
    refused(&path);
}

#[test]
fn a_finished_file_of_terabytes_is_refused_without_reading_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sparse.hg");
    claim(&path, TERABYTES, &[], |header| {
        (header.state, header.checksum) = (state::FINISHED, 1);
    });
    let said = refused(&path);
    assert!(said.contains("never written"), "{said}");
    let error = read_bytes(&path).expect_err("refused");
    assert!(error.is_damaged(), "{error}");
}

#[test]
fn a_lane_that_claims_more_rows_than_there_can_be_sites_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sparse.hg");
    let lanes = segment(table::LANES, 1 << 20, 1 << 16);
    let rows = segment(table::ROWS, 2 << 20, TERABYTES / 2);
    for (length, word) in [
        (u32::MAX, "more than the maximum"),
        (MAX_SITES + 1, "more than the maximum"),
        (MAX_SITES, "only zeros"),
    ] {
        claim(&path, TERABYTES, &[lanes, rows], |_| {});
        let lane = LaneValue {
            kind: 1,
            rows_len: length,
            ..LaneValue::default()
        };
        let file = File::options().write(true).open(&path).expect("the file");
        file.write_all_at(&lane.to_bytes(), lanes.offset)
            .expect("a lane");
        let said = refused(&path);
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn a_directory_that_names_itself_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("circle.hg");
    let mut entries = vec![segment(99, 1 << 20, 0); DIRECTORY_BYTES as usize / SegmentValue::SIZE];
    entries[7] = segment(table::DIRECTORY, HEADER_BYTES, DIRECTORY_BYTES);
    claim(&path, TERABYTES, &entries, |header| {
        header.directory_len = u32::MAX
    });
    let said = refused(&path);
    assert!(said.contains("back to itself"), "{said}");
    entries[7] = segment(table::DIRECTORY, 1 << 20, TERABYTES / 2);
    claim(&path, TERABYTES, &entries, |header| {
        header.directory_len = u32::MAX
    });
    refused(&path);
}

#[test]
fn a_copy_with_holes_where_zeros_were_is_read_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copy.hg");
    // `HEAPGLASS_PREALLOC=1` leaves 64 MiB that are almost unused.
    for (state, room) in [
        (state::FINISHED, 0),
        (state::RUNNING, 0),
        (state::RUNNING, 64 << 20),
        (state::FINISHED, 64 << 20),
    ] {
        let mut bytes = small(state);
        bytes.resize(bytes.len() + room, 0);
        let mut header = HeaderValue::parse(&bytes);
        header.file_bytes = bytes.len() as u64;
        bytes[..HeaderValue::SIZE].copy_from_slice(&header.to_bytes());
        if state == state::FINISHED {
            bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8].fill(0);
            let checksum =
                file_checksum(bytes.as_slice(), header.file_bytes).expect("bytes in memory");
            bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8].copy_from_slice(&checksum.to_le_bytes());
        }
        let file = File::create(&path).expect("a file");
        file.set_len(bytes.len() as u64).expect("a sparse file");
        for (index, page) in bytes.chunks(4096).enumerate() {
            if page.iter().any(|byte| *byte != 0) {
                file.write_all_at(page, (index * 4096) as u64)
                    .expect("a page");
            }
        }
        let copy = Recording::open(&path).expect("a legitimate copy");
        let whole = Recording::read(small(state).as_slice()).expect("the original");
        assert_eq!(copy.damage, 0);
        assert_eq!(copy.sites, whole.sites);
        assert_eq!(copy.lanes.len(), whole.lanes.len());
        assert_eq!(
            read_bytes(&path).expect("the bytes").len(),
            bytes.len(),
            "{room}"
        );
    }
}

#[test]
fn bytes_behind_a_finished_recording_are_no_part_of_it() {
    let mut bytes = small(state::FINISHED);
    let length = bytes.len() as u64;
    bytes.extend_from_slice(&[7; 70_000]);
    let recording = Recording::read(bytes.as_slice()).expect("the recording before them");
    assert_eq!((recording.damage, recording.file_bytes), (0, length));
}

#[test]
fn rows_and_nodes_that_two_records_claim_belong_to_one_of_them() {
    let mut recording = Recording::read(small(state::RUNNING).as_slice()).expect("readable");
    assert_eq!(recording.footprints.len(), 2);
    let bytes = small(state::RUNNING);
    // Both footprints claim all three nodes.
    let place = |record: &FootprintValue| {
        let wanted = record.to_bytes();
        bytes
            .windows(wanted.len())
            .position(|piece| piece == wanted)
            .expect("the record")
    };
    let mut changed = bytes.clone();
    for footprint in &recording.footprints {
        let claims = FootprintValue {
            first_node: 0,
            nodes: 3,
            ..*footprint
        };
        let at = place(footprint);
        changed[at..at + FootprintValue::SIZE].copy_from_slice(&claims.to_bytes());
    }
    recording = Recording::read(changed.as_slice()).expect("readable");
    let nodes: Vec<u64> = recording
        .footprints
        .iter()
        .map(|footprint| footprint.nodes)
        .collect();
    assert_eq!((nodes, recording.damage), (vec![3, 0], 1));
}

#[test]
fn a_name_longer_than_any_is_cut() {
    let mut bytes = small(state::RUNNING);
    let recording = Recording::read(bytes.as_slice()).expect("readable");
    let name = recording
        .string(recording.header.executable)
        .expect("a path");
    assert_eq!(name, "/usr/bin/golden");
    // The first string is as long as the table, and each record that refers to it would copy it.
    let at = bytes
        .windows(name.len())
        .position(|piece| piece == name.as_bytes())
        .expect("the string");
    let strings = 1 << 20;
    let mut header = HeaderValue::parse(&bytes);
    let entry = HEADER_BYTES as usize;
    let mut segment = SegmentValue::parse(&bytes[entry..]);
    assert_eq!(segment.table, table::STRINGS);
    let old = segment.offset as usize..(segment.offset + segment.bytes) as usize;
    let reference = at - old.start - 4;
    let mut long = bytes[old].to_vec();
    long.resize(strings, b'x');
    long[reference..reference + 4]
        .copy_from_slice(&((strings - reference - 4) as u32).to_le_bytes());
    (segment.offset, segment.bytes) = (bytes.len() as u64, strings as u64);
    bytes.extend_from_slice(&long);
    bytes[entry..entry + SegmentValue::SIZE].copy_from_slice(&segment.to_bytes());
    header.strings_len = strings as u64;
    header.file_bytes = bytes.len() as u64;
    bytes[..HeaderValue::SIZE].copy_from_slice(&header.to_bytes());
    let recording = Recording::read(bytes.as_slice()).expect("readable");
    let name = recording
        .string(recording.header.executable)
        .expect("a path");
    assert_eq!(name.len(), 4096);
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.hg");
    let made = heapglass_limits::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    for path in [pipe.as_path(), folder.path()] {
        let error = Recording::open(path).expect_err("not a file");
        assert!(error.is_foreign() || error.is_io(), "{error}");
    }
}
