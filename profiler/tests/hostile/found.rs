//! Regression tests: problems that were found or foreseen.

use crate::parts::{Parts, seal};
use crate::{SMALL_FILE_BYTES, alone, check, golden, place, rich, write};
use heapglass_profiler::{
    OpenOptions,
    profile::Profile,
    report::{self, ReportOptions},
};
use tracking_alloc_recording::*;

/// Loads a recording within the limits.
fn hold(name: &str, bytes: &[u8]) {
    let _alone = alone();
    let path = place(name);
    write(&path, bytes, None);
    let mut seen = Default::default();
    for pick in 0..7 {
        check(&path, bytes.len(), pick, &mut seen).expect("within the limits");
    }
    println!("{name}: {seen:?}");
}

#[test]
fn unchanged_recordings_load_without_losses_of_the_reader() {
    for name in ["native.hg", "wasm.hg"] {
        hold("unchanged.hg", &golden(name));
    }
    let mut rich = rich::rich(&golden("native.hg"), "/nonexistent", &[64, 128]).bytes();
    seal(&mut rich);
    hold("unchanged.hg", &rich);
}

#[test]
fn parts_put_together_again_are_the_recording_they_were_of() {
    for name in ["native.hg", "wasm.hg"] {
        let bytes = golden(name);
        let again = Parts::of(&bytes).bytes();
        let read = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            seal(&mut bytes);
            Recording::read(bytes.as_slice()).expect("a recording")
        };
        let (old, new) = (read(&bytes), read(&again));
        assert_eq!((&old.sites, old.damage), (&new.sites, new.damage));
        assert_eq!(old.lanes.len(), new.lanes.len());
    }
}

/// Builds a recording from these parts, and loads it within the limits for less than a mebibyte.
fn hold_small(name: &str, parts: &Parts) {
    let mut bytes = parts.bytes();
    seal(&mut bytes);
    assert!(bytes.len() < SMALL_FILE_BYTES, "{} bytes", bytes.len());
    hold(name, &bytes);
}

#[test]
fn one_long_name_of_many_scopes_marks_and_nodes_is_not_copied_for_each() {
    let mut parts = Parts::of(&golden("native.hg"));
    let name = parts.string(&"Long<".repeat(60_000));
    let first = parts.header.scopes_len;
    let scopes: Vec<ScopeValue> = (0..6_000)
        .map(|index| ScopeValue {
            parent: index % 3,
            kind: scope_kind::FIELD,
            // The references overlap, so each is another string.
            name: name + index * 4,
            type_name: name + index * 4,
            depth: 1,
            ..ScopeValue::default()
        })
        .collect();
    parts.append(table::SCOPES, 0, &scopes);
    parts.header.scopes_len = first + scopes.len() as u32;
    hold_small("names.hg", &parts);
}

/// Returns a recording of `count` sites, each with a stack of its own leaf above one long chain.
fn deep(count: u32, chain: u32) -> Parts {
    let mut parts = rich::rich(&golden("native.hg"), "/nonexistent", &[64]);
    let first_frame = parts.header.frames_len;
    let frames: Vec<FrameValue> = (0..count)
        .map(|offset| FrameValue {
            module: 1,
            offset: u64::from(offset) * 8 + 8,
            ..FrameValue::default()
        })
        .collect();
    parts.append(table::FRAMES, 0, &frames);
    parts.header.frames_len += count;
    let first = parts.header.stacks_len;
    let stacks: Vec<StackValue> = (0..chain + count)
        .map(|index| StackValue {
            parent: match index {
                0 => 0,
                index => first + (index - 1).min(chain - 1),
            },
            frame: first_frame + index % count,
        })
        .collect();
    parts.append(table::STACKS, 0, &stacks);
    parts.header.stacks_len += chain + count;
    let first_site = parts.header.sites_len;
    let sites: Vec<SiteValue> = (0..count)
        .map(|index| SiteValue {
            stack: first + chain + index,
            ..SiteValue::default()
        })
        .collect();
    parts.append(table::SITES, 0, &sites);
    parts.header.sites_len += count;
    let rows: Vec<RowValue> = (0..count)
        .map(|index| RowValue {
            total_bytes: 10,
            total_blocks: 1,
            site: first_site + index,
            ..RowValue::default()
        })
        .collect();
    parts.append(table::ROWS, 6, &rows);
    for (segment, bytes) in &mut parts.segments {
        if segment.table == table::LANES {
            let lane = &mut bytes[6 * LaneValue::SIZE..7 * LaneValue::SIZE];
            let value = LaneValue {
                rows_len: 20 + count,
                ..LaneValue::parse(lane)
            };
            lane.copy_from_slice(&value.to_bytes());
        }
    }
    parts
}

#[test]
fn stacks_that_share_a_chain_without_end_are_cut_at_what_a_recorder_keeps() {
    hold_small("deep.hg", &deep(2_000, 40_000));
}

#[test]
fn packed_frames_inlined_without_end_are_bounded_over_all_sites() {
    let mut parts = deep(1_000, 256);
    let frame = r#"{"function":1,"raw":0,"file":2,"line":7,"inlined":true}"#;
    let chain = vec![frame; 400].join(",");
    let short = vec![format!("[{frame}]"); 5_000].join(",");
    let json = format!(
        r#"{{"format":1,"strings":["app::f","{}"],"frames":[[{chain}],[{chain}],[{chain}],[{chain}],[{chain}],[{chain}],{short}],"sources":{{}},"notes":[]}}"#,
        "/x".repeat(20_000)
    );
    parts.append_bytes(table::SYMBOLS, 0, 1, json.into_bytes());
    // Every stack consists of frames with the long chains.
    for (segment, bytes) in &mut parts.segments {
        if segment.table == table::STACKS {
            for (index, stack) in bytes.chunks_exact_mut(StackValue::SIZE).enumerate() {
                stack[4..8].copy_from_slice(&(index as u32 % 6).to_le_bytes());
            }
        }
    }
    hold_small("inlined.hg", &parts);
}

#[test]
fn a_directory_of_thousands_of_lanes_costs_little() {
    let mut bytes = golden("native.hg");
    let mut header = HeaderValue::parse(&bytes);
    let more = 10_000;
    let offset = bytes.len();
    let mut last = SegmentValue::parse(&bytes[HEADER_BYTES as usize..]);
    // The directory continues behind all tables after its first piece is full.
    for index in 0..DIRECTORY_BYTES as usize / SegmentValue::SIZE {
        let at = HEADER_BYTES as usize + index * SegmentValue::SIZE;
        if index >= header.directory_len as usize {
            last = SegmentValue {
                table: 99,
                lane: index as u32,
                offset: offset as u64,
                bytes: 0,
                first: 0,
            };
            bytes[at..at + SegmentValue::SIZE].copy_from_slice(&last.to_bytes());
        }
    }
    let next = SegmentValue {
        table: table::DIRECTORY,
        offset: offset as u64,
        bytes: more * SegmentValue::SIZE as u64,
        ..SegmentValue::default()
    };
    let at = (HEADER_BYTES + DIRECTORY_BYTES) as usize - SegmentValue::SIZE;
    bytes[at..at + SegmentValue::SIZE].copy_from_slice(&next.to_bytes());
    for lane in 0..more {
        let entry = SegmentValue {
            lane: 5_000 + lane as u32,
            ..last
        };
        bytes.extend_from_slice(&entry.to_bytes());
    }
    // No segment has fewer than 64 bytes of a file.
    bytes.resize(SMALL_FILE_BYTES - 4096, 0);
    header.directory_len = (DIRECTORY_BYTES / SegmentValue::SIZE as u64 + more) as u32;
    header.file_bytes = bytes.len() as u64;
    header.state = state::RUNNING;
    header.checksum = 0;
    bytes[..HeaderValue::SIZE].copy_from_slice(&header.to_bytes());
    hold("lanes.hg", &bytes);
}

/// Loads a recording whose rows were changed.
fn with_rows(finished: bool, change: impl Fn(&mut RowValue)) -> Profile {
    let mut parts = rich::rich(&golden("native.hg"), "/nonexistent", &[64]);
    for (segment, bytes) in &mut parts.segments {
        if segment.table == table::ROWS || segment.table == table::FIXED_ROWS {
            for record in bytes.chunks_exact_mut(RowValue::SIZE) {
                let mut row = RowValue::parse(record);
                if row.total_blocks > 0 {
                    // These counts were never possible: a writer could not have counted as many
                    // grows as the golden rows claim.
                    (row.grows, row.shrinks) = (0, 0);
                    row.temporary_blocks = row.temporary_blocks.min(row.freed_blocks);
                    row.temporary_bytes = row.temporary_bytes.min(row.freed_bytes);
                    (row.lifetime_blocks, row.freed_elsewhere) = (0, 0);
                    change(&mut row);
                }
                record.copy_from_slice(&row.to_bytes());
            }
        }
    }
    parts.header.state = if finished {
        state::FINISHED
    } else {
        state::RUNNING
    };
    parts.header.checksum = 0;
    let mut bytes = parts.bytes();
    if finished {
        seal(&mut bytes);
    }
    let _alone = alone();
    let path = place("rows.hg");
    write(&path, &bytes, None);
    heapglass_profiler::open(&path, &OpenOptions::default(), &|_| ()).expect("a profile")
}

#[test]
fn sums_beyond_64_bits_saturate_and_the_recording_is_called_damaged() {
    let sound = with_rows(true, |_| ());
    assert_eq!((sound.lost().damaged, sound.lost().torn), (0, 0));
    for counter in Counter::ALL {
        for value in [14_123_288_431_484_207_197, u64::MAX, 1 << 63] {
            let profile = with_rows(true, |row| *row.counter_mut(counter) = value);
            assert!(profile.lost().damaged > 0, "{counter:?}, {value}");
            let mut text = Vec::new();
            let options = ReportOptions {
                details: true,
                ..ReportOptions::default()
            };
            report::write_text(&profile, &options, &mut text).expect("text");
            let text = String::from_utf8(text).expect("UTF-8");
            assert!(text.contains("finished, damaged"), "{text}");
            assert!(text.contains("The recording is damaged: "), "{text}");
            assert!(!text.contains("read while the program wrote it"), "{text}");
            let mut json = Vec::new();
            report::write_json(&profile, &ReportOptions::default(), &mut json).expect("JSON");
            let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
            assert_eq!(json["exact"], false);
            assert_eq!(json["lost"]["damaged"], profile.lost().damaged);
        }
    }
}

#[test]
fn figures_that_cannot_be_are_damage_in_a_finished_recording_and_torn_in_a_running_one() {
    let freed_more = |row: &mut RowValue| row.freed_bytes = row.total_bytes * 3;
    let grew_more = |row: &mut RowValue| row.grows = row.total_blocks + 2;
    let temporary_more = |row: &mut RowValue| row.temporary_blocks = row.freed_blocks + 2;
    let changes: [&dyn Fn(&mut RowValue); 3] = [&freed_more, &grew_more, &temporary_more];
    for change in changes {
        let finished = with_rows(true, change);
        assert!(finished.lost().damaged > 0 && finished.lost().torn == 0);
        // Recorded on another machine, which may still be writing it.
        let running = with_rows(false, change);
        assert!(running.lost().torn > 0 && running.lost().damaged == 0);
        let sentences = running.losses().join(" ");
        assert!(
            sentences.contains("read while the program wrote it"),
            "{sentences}"
        );
    }
}
