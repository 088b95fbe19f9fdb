//! A golden recording of this version, built byte by byte, and what readers make of it: whole, cut, altered, of other
//! versions. `cargo bless` writes the golden file anew; that is right only together with a new `VERSION`.

use std::path::PathBuf;
use tracking_alloc_recording::*;

/// Pieces of tables, put one after the other behind the directory.
struct Builder {
    segments: Vec<SegmentValue>,
    bytes: Vec<u8>,
}

impl Builder {
    fn new() -> Builder {
        Builder {
            segments: Vec::new(),
            bytes: vec![0; (HEADER_BYTES + DIRECTORY_BYTES) as usize],
        }
    }

    fn bytes(&mut self, table: u32, lane: u32, first: u64, piece: &[u8]) {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(piece);
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
        let bytes = piece.len() as u64;
        self.segments.push(SegmentValue {
            table,
            lane,
            offset,
            bytes,
            first,
        });
    }

    fn records<R: Record>(&mut self, table: u32, lane: u32, first: u64, records: &[R]) {
        let piece: Vec<u8> = records
            .iter()
            .flat_map(|record| record.to_bytes())
            .collect();
        self.bytes(table, lane, first, &piece);
    }

    fn finish(mut self, mut header: HeaderValue) -> Vec<u8> {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(SEGMENT_BYTES as usize), 0);
        header.directory_len = self.segments.len() as u32;
        header.file_bytes = self.bytes.len() as u64;
        for (index, segment) in self.segments.iter().enumerate() {
            let place = HEADER_BYTES as usize + index * SegmentValue::SIZE;
            self.bytes[place..place + SegmentValue::SIZE].copy_from_slice(&segment.to_bytes());
        }
        self.bytes[..HeaderValue::SIZE].copy_from_slice(&header.to_bytes());
        if header.state == state::FINISHED {
            let checksum =
                file_checksum(self.bytes.as_slice(), header.file_bytes).expect("bytes in memory");
            self.bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8]
                .copy_from_slice(&checksum.to_le_bytes());
        }
        self.bytes
    }
}

fn row(site: u32, total: (u64, u64), freed: (u64, u64), saved: (i64, i64)) -> RowValue {
    RowValue {
        total_bytes: total.0,
        total_blocks: total.1,
        freed_bytes: freed.0,
        freed_blocks: freed.1,
        grows: 2,
        shrinks: 1,
        copied_bytes: 48,
        temporary_blocks: 3,
        temporary_bytes: 72,
        at_risk_bytes: 64,
        lifetime: 17,
        freed_elsewhere: 1,
        saved_bytes: saved.0,
        saved_blocks: saved.1,
        clock: 5 << CLOCK_SNAPSHOT_BITS | 1,
        site,
        reserved: 0,
    }
}

/// A small recording with something in every table; tables of two segments among them.
fn small(state: u32) -> Vec<u8> {
    let mut builder = Builder::new();
    let mut strings = vec![0; 4];
    let mut string = |text: &[u8]| {
        let reference = strings.len() as u32;
        strings.extend_from_slice(&(text.len() as u32).to_le_bytes());
        strings.extend_from_slice(text);
        strings.resize(strings.len().next_multiple_of(4), 0);
        reference
    };
    let (program, command, phase, mark) = (
        string(b"/usr/bin/golden"),
        string(b"golden\0--all\0"),
        string(b"load"),
        string(b"loaded"),
    );
    let header = HeaderValue {
        magic: MAGIC,
        version: VERSION,
        header_bytes: HEADER_BYTES as u32,
        state,
        mode: mode::EXACT,
        unwinder: unwinder::FRAME_POINTERS,
        os: 1,
        arch: 1,
        pid: 4321,
        started_unix_ns: 1_700_000_000_000_000_000,
        elapsed_ns: 2_000_000_000,
        executable: program,
        command,
        lanes: 2,
        most_lanes: 2,
        clock: 5 << CLOCK_SNAPSHOT_BITS | 1,
        peak_bytes: 700,
        timeline_len: 2,
        modules_len: 2,
        frames_len: 3,
        stacks_len: 3,
        scopes_len: 2,
        sites_len: 5,
        threads_len: 1,
        marks_len: 1,
        mark_rows_len: 1,
        strings_len: strings.len() as u64,
        snapshot_seq: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ..HeaderValue::default()
    };
    builder.bytes(table::STRINGS, 0, 0, &strings);
    let module = ModuleValue {
        path: program,
        id_kind: module_id::BUILD_ID,
        id_bytes: 20,
        id: [1, 2, 3, 0],
        bias: 0x5555_0000_0000,
        ..ModuleValue::default()
    };
    builder.records(table::MODULES, 0, 0, &[ModuleValue::default(), module]);
    let frame = |offset| FrameValue {
        module: 1,
        offset,
        ..FrameValue::default()
    };
    builder.records(table::FRAMES, 0, 0, &[frame(0x1000), frame(0x2000)]);
    builder.records(table::FRAMES, 0, 2, &[frame(0x3000)]);
    builder.records(
        table::STACKS,
        0,
        0,
        &[
            StackValue::default(),
            StackValue {
                parent: 0,
                frame: 1,
            },
            StackValue {
                parent: 1,
                frame: 2,
            },
        ],
    );
    let scope = ScopeValue {
        name: phase,
        kind: scope_kind::PHASE,
        depth: 1,
        entered: 4,
        input_bytes: 100,
        records: 7,
        ..ScopeValue::default()
    };
    builder.records(table::SCOPES, 0, 0, &[ScopeValue::default(), scope]);
    let site = |stack, scope, flags| SiteValue {
        stack,
        scope,
        flags,
        ..SiteValue::default()
    };
    builder.records(
        table::SITES,
        0,
        0,
        &[
            SiteValue::default(),
            site(0, 0, 0),
            site(0, 0, 0),
            site(1, 0, site_flags::CUT),
            site(2, 1, 0),
        ],
    );
    // Writers lay out all lanes at once; readers take as many as there are.
    let mut lanes = vec![LaneValue::default(); 2];
    lanes[0] = LaneValue {
        kind: 1,
        rows_len: 2,
        sizes_len: 1,
        snaps_len: 1,
        tenancies: 1,
        tid: 4321,
        name: [u64::from_le_bytes(*b"main\0\0\0\0"), 0],
        ..LaneValue::default()
    };
    lanes[1] = LaneValue {
        kind: 1,
        rows_len: 1,
        tenancies: 3,
        unknown_frees: 2,
        ..LaneValue::default()
    };
    builder.records(table::LANES, 0, 0, &lanes);
    let mut fixed = vec![RowValue::default(); 3 * 2];
    fixed[0] = row(0, (1_000, 10), (400, 4), (700, 7));
    fixed[3] = row(0, (50, 1), (200, 2), (-150, -1));
    builder.records(table::FIXED_ROWS, 0, 0, &fixed);
    builder.records(
        table::ROWS,
        0,
        0,
        &[
            row(3, (600, 6), (0, 0), (500, 5)),
            row(4, (400, 4), (400, 4), (200, 2)),
        ],
    );
    builder.records(table::ROWS, 1, 0, &[row(3, (50, 1), (200, 2), (-150, -1))]);
    builder.records(
        table::SIZES,
        0,
        0,
        &[SizesValue {
            row: 1,
            pairs: [24 << 48 | 3, 40 << 48 | 1, 0, 0, 0, 0, 0],
            ..SizesValue::default()
        }],
    );
    builder.records(
        table::SNAPS,
        0,
        0,
        &[SnapsValue {
            row: 1,
            live_bytes: [300; 16],
            ..SnapsValue::default()
        }],
    );
    builder.records(
        table::THREADS,
        0,
        0,
        &[ThreadNameValue {
            name: [u64::from_le_bytes(*b"worker\0\0"), 0],
            count: 2,
            figures: [5; 9],
            ..ThreadNameValue::default()
        }],
    );
    let point = |time_ns, live_bytes| PointValue {
        time_ns,
        live_bytes,
        live_blocks: 1,
        total_bytes: live_bytes,
        rss_bytes: 1 << 20,
        own_bytes: 0,
    };
    builder.records(
        table::TIMELINE,
        0,
        0,
        &[point(1_000, 100), point(2_000_000_000, 450)],
    );
    builder.records(
        table::MARKS,
        0,
        0,
        &[MarkValue {
            name: mark,
            has_rows: 1,
            time_ns: 500,
            figures: [9; 9],
            rows: 1,
            peak_bytes: 77,
            ..MarkValue::default()
        }],
    );
    builder.records(
        table::MARK_ROWS,
        0,
        0,
        &[MarkRowValue {
            site: 3,
            lane: 0,
            peak_bytes: 77,
            peak_blocks: 1,
            ..MarkRowValue::default()
        }],
    );
    builder.finish(header)
}

fn golden_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{VERSION}.hg"))
}

#[test]
fn the_golden_recording_is_what_this_version_writes() {
    let built = small(state::FINISHED);
    if std::env::var_os("HEAPGLASS_BLESS").is_some_and(|value| value == "1") {
        let folder = golden_path();
        std::fs::create_dir_all(folder.parent().expect("a folder")).expect("a folder to write to");
        std::fs::write(golden_path(), &built).expect("the golden recording can be written");
    }
    let kept = std::fs::read(golden_path()).unwrap_or_default();
    assert!(
        kept == built,
        "the layout changed: bump VERSION, keep the old golden recording, and run `cargo bless` for {}",
        golden_path().display()
    );
}

#[test]
fn the_golden_recording_reads_as_what_was_put_in() {
    let recording = Recording::open(&golden_path()).expect("readable");
    assert_eq!(
        (
            recording.damage,
            recording.header.pid,
            recording.header.checksum != 0
        ),
        (0, 4321, true)
    );
    assert_eq!(
        recording.string(recording.header.executable).as_deref(),
        Some("/usr/bin/golden")
    );
    assert_eq!(
        recording.string_bytes(recording.header.command),
        Some(&b"golden\0--all\0"[..])
    );
    assert_eq!(
        recording
            .frames
            .iter()
            .map(|frame| frame.offset)
            .collect::<Vec<_>>(),
        [0x1000, 0x2000, 0x3000]
    );
    assert_eq!(
        recording.sites[4],
        SiteValue {
            stack: 2,
            scope: 1,
            ..SiteValue::default()
        }
    );
    assert_eq!(
        recording.string(recording.scopes[1].name).as_deref(),
        Some("load")
    );
    let [main, worker] = recording.lanes.as_slice() else {
        panic!("two lanes: {}", recording.lanes.len())
    };
    assert_eq!(
        (main.all.total_bytes, main.rows.len(), main.rows[1].site),
        (1_000, 2, 4)
    );
    assert_eq!(
        (worker.rows[0].saved_bytes, worker.lane.unknown_frees),
        (-150, 2)
    );
    assert_eq!(
        (main.sizes[0].pairs[0], main.snaps[0].live_bytes[15]),
        (24 << 48 | 3, 300)
    );
    assert_eq!(
        (
            recording.threads[0].count,
            recording.marks[0].peak_bytes,
            recording.mark_rows[0].peak_bytes
        ),
        (2, 77, 77)
    );
    assert_eq!(recording.timeline.len(), 2);
}

#[test]
fn a_finished_recording_cut_anywhere_is_an_error() {
    let whole = small(state::FINISHED);
    let lengths = (0..200)
        .chain((200..whole.len()).step_by(1_499))
        .chain(whole.len() - 70..whole.len());
    for length in lengths {
        let error = Recording::read(&whole[..length]).expect_err("a part is not the whole");
        assert!(
            error.is_damaged() || error.is_foreign() && length < 8,
            "{length} bytes: {error}"
        );
    }
    assert!(
        Recording::read(&[][..])
            .expect_err("nothing")
            .to_string()
            .contains("empty")
    );
}

#[test]
fn an_unfinished_recording_cut_anywhere_never_panics() {
    let whole = small(state::RUNNING);
    Recording::read(whole.as_slice()).expect("a running program's recording is readable");
    (0..whole.len()).step_by(997).for_each(|length| {
        let _ = Recording::read(&whole[..length]).map(|recording| recording.damage);
    });
}

/// xorshift64*.
fn random(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 24) as usize
}

#[test]
fn every_flipped_bit_of_a_finished_recording_is_found() {
    let mut bytes = small(state::FINISHED);
    let seed = &mut 7;
    for round in 0..10_000 {
        // Half of the flips where something is written, half anywhere.
        let place = if round % 2 == 0 {
            random(seed) % 9_000
        } else {
            random(seed) % bytes.len()
        };
        let bit = 1 << (random(seed) % 8);
        bytes[place] ^= bit;
        assert!(
            Recording::read(bytes.as_slice()).is_err(),
            "bit {bit:#x} of byte {place}"
        );
        bytes[place] ^= bit;
    }
    Recording::read(bytes.as_slice()).expect("unharmed again");
}

#[test]
fn random_bytes_in_an_unfinished_recording_never_panic() {
    let clean = small(state::RUNNING);
    let written: Vec<usize> = (0..clean.len())
        .filter(|place| clean[*place] != 0)
        .collect();
    let mut bytes = clean.clone();
    let seed = &mut 99;
    for _ in 0..10_000 {
        let places: Vec<usize> = (0..1 + random(seed) % 4)
            .map(|_| {
                (written[random(seed) % written.len()] + random(seed) % 9).min(clean.len() - 1)
            })
            .collect();
        for place in &places {
            bytes[*place] = [0, 1, 0x7f, 0x80, 0xff, random(seed) as u8][random(seed) % 6];
        }
        if let Ok(recording) = Recording::read(bytes.as_slice()) {
            // Every reference can be followed.
            assert!(
                recording
                    .stacks
                    .iter()
                    .enumerate()
                    .all(|(index, stack)| (stack.parent as usize) < index.max(1))
            );
            assert!(
                recording
                    .sites
                    .iter()
                    .all(|site| (site.stack as usize) < recording.stacks.len().max(1))
            );
            let _ = recording
                .scopes
                .iter()
                .filter_map(|scope| recording.string(scope.name))
                .count();
        }
        places
            .iter()
            .for_each(|place| bytes[*place] = clean[*place]);
    }
}

#[test]
fn other_versions_are_refused_with_what_to_do() {
    let mut bytes = small(state::RUNNING);
    for (version, word) in [
        (VERSION + 1, "newer"),
        (u32::MAX, "newer"),
        (VERSION - 1, "older"),
    ] {
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let error = Recording::read(bytes.as_slice()).expect_err("another version");
        assert!(
            error.is_version() && error.to_string().contains(word),
            "{error}"
        );
    }
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b"PK\x03\x04"[..], b"\x7fELF", &[0; 5_000], b"heapgls"] {
        let error = Recording::read(bytes).expect_err("not a recording");
        assert!(error.is_foreign(), "{error}");
    }
}

#[test]
fn a_small_file_that_claims_a_huge_directory_is_refused_quickly() {
    let mut bytes = small(state::RUNNING);
    bytes[160..164].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(
        Recording::read(bytes.as_slice())
            .expect_err("made up")
            .is_damaged()
    );
}
