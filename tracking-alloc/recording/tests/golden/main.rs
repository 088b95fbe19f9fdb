//! The golden recording of this version, built byte by byte, and reading of recordings that are
//! complete, truncated, altered or of other versions. `cargo bless` rewrites the golden file, which
//! is correct only together with a new `VERSION`.

mod builder;
mod hostile;

use builder::small;
use std::path::PathBuf;
use tracking_alloc_recording::*;

fn golden_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/native.hg")
}

#[test]
fn the_golden_recording_is_what_this_version_writes() {
    let built = small(state::FINISHED);
    if std::env::var_os("HEAPGLASS_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(golden_path(), &built).expect("the golden recording can be written");
    }
    let kept = std::fs::read(golden_path()).unwrap_or_default();
    assert!(
        kept == built,
        "the layout changed: increment VERSION and run `cargo bless` for {}",
        golden_path().display()
    );
}

#[test]
fn the_golden_recording_reads_as_what_was_put_in() {
    let recording = Recording::open(&golden_path()).expect("readable");
    assert_eq!(recording.header.version, VERSION);
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
        (main.sizes[0].pairs[0], main.checkpoints[0].live_bytes[7]),
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
    let moment = recording.checkpoint_moments[8];
    assert_eq!(
        (moment.sequence, moment.kind, moment.live_blocks),
        (1, checkpoint_kind::MARK, 4)
    );
    let row = main.rows[1];
    assert_eq!(
        (row.lifetime_blocks, row.lifetime, row.freed_elsewhere),
        (2, 17, 1)
    );
    assert_eq!(recording.modules[1].id, [1, 2, 3, 0]);
}

#[test]
fn the_golden_recording_has_fields_footprints_and_arenas() {
    let recording = Recording::open(&golden_path()).expect("readable");
    let string = |reference| recording.string(reference).unwrap_or_default();
    let crew = recording.scopes[2];
    assert_eq!(
        (
            string(crew.name).as_str(),
            crew.value_bytes,
            crew.stayed_bytes
        ),
        ("crew", 24, -5)
    );
    let visits: Vec<(u32, u64)> = recording.lanes[0]
        .visits
        .iter()
        .map(|visits| (visits.scope, visits.count))
        .collect();
    assert_eq!(visits, [(2, 40), (1, 4)]);
    let [found, estimated] = recording.footprints.as_slice() else {
        panic!("two footprints: {}", recording.footprints.len())
    };
    assert_eq!((found.kind, found.first_node, found.nodes), (1, 0, 2));
    assert_eq!((estimated.kind, estimated.first_node), (2, 2));
    assert_eq!(string(estimated.label), "fleet");
    let blocks: Vec<u64> = recording
        .footprint_nodes
        .iter()
        .map(|node| node.blocks)
        .collect();
    assert_eq!(blocks, [1, 3, 4]);
    let arena = recording.arenas[0];
    assert_eq!(
        (string(arena.krate).as_str(), arena.unused_tail_bytes),
        ("bumpalo", 200)
    );
    assert_eq!(
        (
            recording.arena_rows[1].scope,
            recording.arena_chunks[1].allocated_bytes
        ),
        (2, 1_000)
    );
    assert_eq!(
        (recording.header.lost_scopes, recording.header.lost_records),
        (6, 8)
    );
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
fn what_lies_behind_the_end_of_a_recording_is_nobodys() {
    for state in [state::FINISHED, state::RUNNING] {
        let whole = small(state);
        let read = Recording::read(whole.as_slice()).expect("it is whole");
        for (more, filled_with) in [(1, 0), (65_536, 0), (100_000, 0xa5)] {
            let mut longer = whole.clone();
            longer.resize(whole.len() + more, filled_with);
            let found = Recording::read(longer.as_slice())
                .unwrap_or_else(|error| panic!("{more} bytes longer: {error}"));
            assert_eq!((found.header, found.damage), (read.header, 0));
            let packed = with_symbols(longer, b"{}").expect("packed");
            let packed = Recording::read(packed.as_slice()).expect("read");
            assert_eq!(
                packed.symbols.as_deref().map(|text| &text[..2]),
                Some(&b"{}"[..])
            );
            assert_eq!(packed.sites, read.sites);
        }
    }
}

#[test]
fn snapshots_are_one_more_table_and_stay_when_symbols_are_packed() {
    for state in [state::FINISHED, state::RUNNING] {
        let whole = small(state);
        let read = Recording::read(whole.as_slice()).expect("it is whole");
        let with = with_snapshots(whole, b"old").expect("added");
        let with = with_snapshots(with, b"new").expect("replaced");
        let found = Recording::read(with.as_slice()).expect("read");
        assert_eq!(found.snapshots.as_deref(), Some(&b"new"[..]));
        assert_eq!((found.header.state, found.damage), (state, 0));
        assert_eq!((&found.sites, &found.symbols), (&read.sites, &read.symbols));
        let bytes = with_symbols(with, b"{}").expect("packed");
        let packed = Recording::read(bytes.as_slice()).expect("read");
        assert_eq!(packed.snapshots, found.snapshots);
        // What was not finished does not become so, and has a checksum all the same.
        let expected = match state {
            state::RUNNING => state::COPIED,
            state => state,
        };
        assert_eq!(packed.header.state, expected);
        let mut broken = bytes;
        broken[70_000] ^= 1;
        let error = Recording::read(broken.as_slice()).expect_err("a checksum");
        assert!(error.to_string().contains("checksum"), "{error}");
        assert_eq!(packed.symbols.as_deref(), Some(&b"{}"[..]));
    }
}

#[test]
fn what_was_packed_can_be_read_whatever_the_header_claims() {
    let whole = small(state::RUNNING);
    let mut bytes = whole.clone();
    // The checksum of a part of a recording that was never finished, as only a forged file has it.
    let part: u64 = 65_536;
    let at = std::mem::offset_of!(Header, file_bytes);
    bytes[at..at + 8].copy_from_slice(&part.to_le_bytes());
    let checksum = file_checksum(bytes.as_slice(), part).expect("it is there");
    bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8].copy_from_slice(&checksum.to_le_bytes());
    let read = Recording::read(bytes.as_slice()).expect("it is read");
    let packed = with_symbols(bytes, b"{}").expect("packed");
    let packed = Recording::read(packed.as_slice()).expect("what was packed can be read");
    assert_eq!(packed.sites, read.sites);
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
        // A reader may write to the exchange of a finished recording.
        let is_left_out = (EXCHANGE_OFFSET..HEADER_BYTES as usize).contains(&place);
        assert_eq!(
            Recording::read(bytes.as_slice()).is_ok(),
            is_left_out,
            "bit {bit:#x} of byte {place}"
        );
        bytes[place] ^= bit;
    }
    Recording::read(bytes.as_slice()).expect("unharmed again");
}

/// Checks the references of visits, footprints and arenas.
fn assert_references_can_be_followed(recording: &Recording) {
    let scopes = recording.scopes.len().max(1);
    let is_scope = |scope: u32| (scope as usize) < scopes;
    let visits = recording.lanes.iter().flat_map(|lane| &lane.visits);
    assert!(visits.map(|visits| visits.scope).all(is_scope));
    for footprint in &recording.footprints {
        let end = footprint.first_node + footprint.nodes;
        let own = &recording.footprint_nodes[footprint.first_node as usize..end as usize];
        for (index, node) in own.iter().enumerate() {
            assert!((node.parent as usize) < index.max(1));
        }
    }
    let is_arena = |arena: u32| (arena as usize) < recording.arenas.len().max(1);
    for row in &recording.arena_rows {
        assert!(is_arena(row.arena) && is_scope(row.scope));
    }
    for chunk in &recording.arena_chunks {
        assert!(is_arena(chunk.arena) && (chunk.site as usize) < recording.sites.len().max(1));
    }
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
            assert_references_can_be_followed(&recording);
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
    let update = "a later build wrote it; update heapglass, or record again with the tracking-alloc \
                  of this heapglass";
    let record = "an earlier build wrote it; record again with the tracking-alloc of this heapglass, \
                  or read it with the heapglass of that build";
    for (version, advice) in [
        (VERSION + 1, update),
        (u32::MAX, update),
        (VERSION - 1, record),
        (0, record),
    ] {
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let error = Recording::read(bytes.as_slice()).expect_err("another version");
        let expected = format!(
            "written in layout version {version}, and this heapglass reads version {VERSION}; \
             {advice}"
        );
        assert!(error.is_version(), "{error}");
        assert_eq!(error.to_string(), expected);
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
