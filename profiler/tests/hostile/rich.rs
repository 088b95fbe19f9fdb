//! A valid recording with several of everything. Its frames lie in an existing binary.

use crate::parts::Parts;
use tracking_alloc_recording::*;

pub(crate) fn rich(golden: &[u8], binary: &str, addresses: &[u64]) -> Parts {
    let mut parts = Parts::of(golden);
    let path = parts.string(binary);
    let names: Vec<u32> = [
        "load",
        "tags",
        "alloc::vec::Vec<app::Sailor>",
        "std::collections::HashMap<alloc::string::String, alloc::vec::Vec<(u32, app::Crew)>>",
        "[]",
        "worker",
    ]
    .iter()
    .map(|name| parts.string(name))
    .collect();
    let module = parts.append(
        table::MODULES,
        0,
        &[ModuleValue {
            path,
            ..ModuleValue::default()
        }],
    );
    parts.header.modules_len = module as u32 + 1;
    let frames: Vec<FrameValue> = addresses
        .iter()
        .map(|offset| FrameValue {
            module: module as u32,
            offset: offset + 1,
            ..FrameValue::default()
        })
        .collect();
    let first_frame = parts.append(table::FRAMES, 0, &frames) as u32;
    parts.header.frames_len = first_frame + frames.len() as u32;
    let first_stack = parts.header.stacks_len;
    let stacks: Vec<StackValue> = (0..40_u32)
        .map(|index| StackValue {
            parent: if index.is_multiple_of(5) {
                0
            } else {
                first_stack + index - 1
            },
            frame: first_frame + index % frames.len().max(1) as u32,
        })
        .collect();
    parts.append(table::STACKS, 0, &stacks);
    parts.header.stacks_len += stacks.len() as u32;
    let first_scope = parts.header.scopes_len;
    let scopes: Vec<ScopeValue> = (0..24_u32)
        .map(|index| ScopeValue {
            parent: if index.is_multiple_of(6) {
                0
            } else {
                first_scope + index - 1
            },
            kind: 1 + index % 11,
            name: names[index as usize % 3],
            depth: 1 + index % 6,
            entered: 3,
            input_bytes: 100,
            records: 5,
            type_name: if index.is_multiple_of(3) { 0 } else { names[3] },
            flags: index % 16,
            value_bytes: 24,
            stayed_bytes: 1_000 - i64::from(index) * 100,
        })
        .collect();
    parts.append(table::SCOPES, 0, &scopes);
    parts.header.scopes_len += scopes.len() as u32;
    let first_site = parts.header.sites_len;
    let sites: Vec<SiteValue> = (0..40_u32)
        .map(|index| SiteValue {
            stack: first_stack + index,
            scope: first_scope + index % 24,
            flags: index % 16,
            ..SiteValue::default()
        })
        .collect();
    parts.append(table::SITES, 0, &sites);
    parts.header.sites_len += sites.len() as u32;
    lanes(&mut parts, first_site);
    values(&mut parts, first_scope, first_site, &names);
    parts
}

fn row(site: u32, size: u64) -> RowValue {
    RowValue {
        total_bytes: size * 10,
        total_blocks: 10,
        freed_bytes: size * 4,
        freed_blocks: 4,
        grows: 3,
        shrinks: 1,
        copied_bytes: size,
        temporary_blocks: 2,
        temporary_bytes: size * 2,
        lifetime_blocks: 2,
        lifetime: 9,
        saved_bytes: size as i64 * 6,
        saved_blocks: 6,
        clock: Clock::new(5, 1),
        site,
        ..RowValue::default()
    }
}

/// Adds six more lanes with all their tables; one of them is the shared lane.
fn lanes(parts: &mut Parts, first_site: u32) {
    // All lanes at once, as a writer lays them out; the first two exist already.
    let mut all = vec![LaneValue::default(); LANES + 1];
    let mut fixed = vec![RowValue::default(); 3 * (LANES + 1)];
    for (segment, bytes) in &parts.segments {
        if segment.table == table::LANES {
            for (lane, bytes) in all.iter_mut().zip(bytes.chunks_exact(LaneValue::SIZE)) {
                *lane = LaneValue::parse(bytes);
            }
        }
    }
    for number in [2, 3, 4, 5, 6, LANES as u32] {
        let rows: Vec<RowValue> = (0..20)
            .map(|index| row(first_site + index * 2, 16 + u64::from(index)))
            .collect();
        all[number as usize] = LaneValue {
            kind: if number == LANES as u32 { 2 } else { 1 },
            rows_len: rows.len() as u32,
            sizes_len: 20,
            checkpoints_len: 20,
            visits_len: 10,
            tenancies: 2,
            name: [u64::from_le_bytes(*b"worker\0\0"), 0],
            ..LaneValue::default()
        };
        let sum = rows.iter().fold(RowValue::default(), |mut sum, row| {
            sum.total_bytes += row.total_bytes;
            sum.total_blocks += row.total_blocks;
            sum.freed_bytes += row.freed_bytes;
            sum.freed_blocks += row.freed_blocks;
            sum
        });
        fixed[3 * number as usize] = sum;
        fixed[3 * number as usize + 2] = row(0, 8);
        parts.append(table::ROWS, number, &rows);
        let sizes: Vec<SizesValue> = (0..20)
            .map(|row| SizesValue {
                row,
                pairs: [24 << 48 | 6, 40 << 48 | 4, 0, 0, 0, 0, 0],
                ..SizesValue::default()
            })
            .collect();
        parts.append(table::SIZES, number, &sizes);
        let checkpoints: Vec<CheckpointsValue> = (0..20)
            .map(|row| CheckpointsValue {
                row,
                first_slot: 0,
                live_bytes: [200; CHECKPOINT_GROUP],
                live_blocks: [5; CHECKPOINT_GROUP],
            })
            .collect();
        parts.append(table::CHECKPOINTS, number, &checkpoints);
        let visits: Vec<VisitsValue> = (1..11)
            .map(|scope| VisitsValue {
                scope,
                count: 7,
                ..VisitsValue::default()
            })
            .collect();
        parts.append(table::VISITS, number, &visits);
    }
    for (segment, bytes) in &mut parts.segments {
        match segment.table {
            table::LANES => *bytes = all.iter().flat_map(|lane| lane.to_bytes()).collect(),
            table::FIXED_ROWS => {
                let more = fixed.iter().skip(bytes.len() / RowValue::SIZE);
                bytes.extend(more.flat_map(|row| row.to_bytes()).collect::<Vec<_>>());
            }
            _ => {}
        }
        segment.bytes = bytes.len() as u64;
    }
    parts.header.lanes = 7;
    parts.header.most_lanes = 6;
    for (segment, bytes) in &mut parts.segments {
        if segment.table == table::CHECKPOINT_MOMENTS {
            let moment = |sequence: u64| CheckpointMomentValue {
                sequence,
                time_ns: 1_000 * sequence,
                kind: sequence as u32 % 4,
                ..CheckpointMomentValue::default()
            };
            *bytes = (0..CHECKPOINT_SLOTS as u64)
                .flat_map(|slot| moment(slot).to_bytes())
                .collect();
        }
    }
}

/// Adds more marks, footprints and arenas.
fn values(parts: &mut Parts, first_scope: u32, first_site: u32, names: &[u32]) {
    let rows: Vec<MarkRowValue> = (0..10)
        .map(|index| MarkRowValue {
            site: first_site + index,
            lane: 2,
            peak_bytes: 50,
            peak_blocks: 1,
        })
        .collect();
    let first_row = parts.append(table::MARK_ROWS, 0, &rows);
    parts.header.mark_rows_len = first_row + rows.len() as u64;
    let mark = MarkValue {
        name: names[0],
        has_rows: 1,
        time_ns: 900,
        sums: Sums::from([600, 12, 300, 4, 1, 1, 10, 1, 10]),
        peak_bytes: 5_000_000,
        first_row,
        rows: 10,
        ..MarkValue::default()
    };
    parts.append(table::MARKS, 0, &[mark]);
    parts.header.marks_len += 1;
    let nodes: Vec<FootprintNodeValue> = (0..12)
        .map(|index| FootprintNodeValue {
            parent: index / 2,
            kind: 2 + index % 10,
            name: names[1],
            type_name: names[2],
            count: 4,
            inline_bytes: 96,
            blocks: 4,
            block_bytes: 400,
            usable_bytes: 416,
            used_bytes: 300,
            shared_blocks: 1,
            shared_bytes: 16,
        })
        .collect();
    let first_node = parts.append(table::FOOTPRINT_NODES, 0, &nodes);
    parts.header.footprint_nodes_len = first_node + 12;
    let footprint = FootprintValue {
        label: names[0],
        type_name: names[2],
        kind: footprint_kind::EXACT,
        live_bytes: 5_000,
        first_node,
        nodes: 12,
        hidden_values: 1,
        ..FootprintValue::default()
    };
    parts.append(table::FOOTPRINTS, 0, &[footprint]);
    parts.header.footprints_len += 1;
    let values: Vec<ArenaValuesValue> = (0..8_u32)
        .map(|index| ArenaValuesValue {
            arena: 0,
            scope: first_scope + index,
            type_name: names[2],
            site: if index.is_multiple_of(2) {
                0
            } else {
                first_site + index
            },
            count: 3,
            bytes: 72,
        })
        .collect();
    parts.append(table::ARENA_VALUES, 0, &values);
    parts.header.arena_values_len = values.len() as u64;
    let history: Vec<ArenaChunkValue> = (0..12)
        .map(|index| ArenaChunkValue {
            arena: 0,
            what: 1 + index % 3,
            instance: 1 + u64::from(index / 4),
            time_ns: 100 * u64::from(index),
            allocated_bytes: 1_000,
            occupied_bytes: 600,
            site: first_site + index,
            ..ArenaChunkValue::default()
        })
        .collect();
    parts.append(table::ARENA_CHUNKS, 0, &history);
    parts.header.arena_chunks_len += 12;
}
