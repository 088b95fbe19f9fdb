//! A small recording of this version, built byte by byte, with records in every table. The golden
//! file has these bytes, so they must not change within a version.

use tracking_alloc_recording::*;

/// Pieces of tables, one after the other behind the directory.
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
        lifetime_blocks: 2,
        lifetime: 17,
        freed_elsewhere: 1,
        saved_bytes: saved.0,
        saved_blocks: saved.1,
        clock: Clock::new(5, 1),
        site,
        reserved: 0,
    }
}

/// Returns a small recording with records in every table. Some tables have two segments.
pub(crate) fn small(state: u32) -> Vec<u8> {
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
    let (field, type_name, label, arena, krate) = (
        string(b"crew"),
        string(b"alloc::vec::Vec<golden::Sailor>"),
        string(b"fleet"),
        string(b"cities"),
        string(b"bumpalo"),
    );
    let header = HeaderValue {
        magic: MAGIC,
        version: VERSION,
        header_bytes: HEADER_BYTES as u32,
        state,
        mode: mode::EXACT,
        unwinder: unwinder::FRAME_POINTERS,
        arch: 1,
        pid: 4321,
        started_unix_ns: 1_700_000_000_000_000_000,
        elapsed_ns: 2_000_000_000,
        executable: program,
        command,
        shadow_roots: [0x7f00_1000_0000, 0x7f00_2000_0000],
        shadow_written_offset: (1 << 23) + 12,
        shadow_address_bits: 47,
        shadow_leaf_bits: 25,
        side_table: 0x5500_0000_0008,
        side_shard_bytes: 32,
        side_shards: 64,
        vec_order: u32::from_le_bytes([0, 1, 2, 0]),
        string_order: u32::from_le_bytes([0, 1, 2, 0]),
        vec_deque_order: u32::from_le_bytes([0, 1, 2, 3]),
        hash_map_order: u32::from_le_bytes([0, 1, 2, 3]),
        lanes: 2,
        most_lanes: 2,
        clock: Clock::new(5, 1),
        peak_bytes: 700,
        timeline_len: 2,
        modules_len: 2,
        frames_len: 3,
        stacks_len: 3,
        scopes_len: 3,
        sites_len: 5,
        threads_len: 1,
        marks_len: 1,
        mark_rows_len: 1,
        strings_len: strings.len() as u64,
        footprints_len: 2,
        footprint_nodes_len: 3,
        arenas_len: 1,
        arena_rows_len: 2,
        arena_chunks_len: 2,
        lost_scopes: 6,
        lost_records: 8,
        ..HeaderValue::default()
    };
    builder.bytes(table::STRINGS, 0, 0, &strings);
    let module = ModuleValue {
        path: program,
        id_kind: module_id::BUILD_ID,
        id_bytes: 20,
        id: [1, 2, 3, 0],
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
    let inside = ScopeValue {
        parent: 1,
        kind: scope_kind::FIELD,
        name: field,
        depth: 2,
        type_name,
        flags: scope_flags::RECURSIVE,
        value_bytes: 24,
        stayed_bytes: -5,
        ..ScopeValue::default()
    };
    builder.records(table::SCOPES, 0, 0, &[ScopeValue::default(), scope, inside]);
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
    // Writers reserve all lanes at once; readers accept fewer.
    let mut lanes = vec![LaneValue::default(); 2];
    lanes[0] = LaneValue {
        kind: 1,
        rows_len: 2,
        sizes_len: 1,
        checkpoints_len: 1,
        tenancies: 1,
        visits_len: 2,
        name: [u64::from_le_bytes(*b"main\0\0\0\0"), 0],
        stack_low: 0x7ffc_0000_0000,
        stack_high: 0x7ffd_0000_0000,
        thread_pointer: 0x7f00_0000_0740,
        in_flight: 0x7f00_0001_0040,
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
        table::CHECKPOINTS,
        0,
        0,
        &[CheckpointsValue {
            row: 1,
            first_slot: 8,
            live_bytes: [300; CHECKPOINT_GROUP],
            live_blocks: [3; CHECKPOINT_GROUP],
        }],
    );
    let mut moments = [CheckpointMomentValue::default(); CHECKPOINT_SLOTS];
    moments[8] = CheckpointMomentValue {
        sequence: 1,
        time_ns: 500,
        kind: checkpoint_kind::MARK,
        name: mark,
        live_bytes: 450,
        live_blocks: 4,
        total_bytes: 900,
    };
    builder.records(table::CHECKPOINT_MOMENTS, 0, 0, &moments);
    builder.records(
        table::THREADS,
        0,
        0,
        &[ThreadNameValue {
            name: [u64::from_le_bytes(*b"worker\0\0"), 0],
            count: 2,
            sums: Sums::from([5; COUNTERS]),
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
            sums: Sums::from([9; COUNTERS]),
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
        }],
    );
    let visits = |scope, count| VisitsValue {
        scope,
        count,
        ..VisitsValue::default()
    };
    builder.records(table::VISITS, 0, 0, &[visits(2, 40), visits(1, 4)]);
    footprints(&mut builder, label, type_name, field);
    arenas(&mut builder, arena, krate);
    builder.finish(header)
}

/// Adds an exact footprint with two nodes, and an estimate.
fn footprints(builder: &mut Builder, label: u32, type_name: u32, field: u32) {
    let footprint = |kind, first_node, nodes| FootprintValue {
        label,
        type_name,
        kind,
        time_ns: 1_500_000_000,
        live_bytes: 450,
        first_node,
        nodes,
        folded: 3,
        ..FootprintValue::default()
    };
    let found = footprint(footprint_kind::EXACT, 0, 2);
    let estimated = footprint(footprint_kind::ESTIMATE, 2, 1);
    builder.records(table::FOOTPRINTS, 0, 0, &[found, estimated]);
    let node = |parent, kind, name, blocks| FootprintNodeValue {
        parent,
        kind,
        name,
        type_name,
        count: 1 + blocks,
        inline_bytes: 24,
        blocks,
        block_bytes: blocks * 100,
        usable_bytes: blocks * 104,
        used_bytes: blocks * 60,
        shared_blocks: 2,
        shared_bytes: 80,
    };
    let whole = node(0, scope_kind::ROOT, 0, 1);
    let inside = node(0, scope_kind::FIELD, field, 3);
    builder.records(table::FOOTPRINT_NODES, 0, 0, &[whole, inside]);
    builder.records(
        table::FOOTPRINT_NODES,
        0,
        2,
        &[node(0, scope_kind::ROOT, 0, 4)],
    );
}

/// Adds an arena with allocations in two scopes and with two chunks.
fn arenas(builder: &mut Builder, name: u32, krate: u32) {
    let arena = ArenaValue {
        name,
        krate,
        made: 3,
        dropped: 2,
        resets: 1,
        allocated_bytes: 1_000,
        allocated_bytes_including_metadata: 1_064,
        chunks: 2,
        used_bytes: 600,
        padding_bytes: 10,
        abandoned_bytes: 90,
        bypassed_bytes: 100,
        unused_tail_bytes: 200,
        total_chunks: 5,
        largest_allocated_bytes: 1_000,
        largest_used_bytes: 600,
        largest_padding_bytes: 10,
        largest_abandoned_bytes: 90,
        largest_bypassed_bytes: 100,
        largest_unused_tail_bytes: 200,
        dropped_allocated_bytes: 1_500,
        dropped_used_bytes: 1_000,
        dropped_padding_bytes: 20,
        dropped_abandoned_bytes: 180,
        dropped_unused_tail_bytes: 300,
        ..ArenaValue::default()
    };
    builder.records(table::ARENAS, 0, 0, &[arena]);
    let row = |scope, total_bytes| ArenaRowValue {
        scope,
        total_bytes,
        total_blocks: 7,
        live_bytes: 300,
        live_blocks: 4,
        ..ArenaRowValue::default()
    };
    builder.records(table::ARENA_ROWS, 0, 0, &[row(1, 400), row(2, 500)]);
    let chunk = |time_ns, allocated_bytes| ArenaChunkValue {
        what: 1,
        instance: 3,
        time_ns,
        allocated_bytes,
        occupied_bytes: 50,
        site: 4,
        ..ArenaChunkValue::default()
    };
    builder.records(
        table::ARENA_CHUNKS,
        0,
        0,
        &[chunk(600, 500), chunk(700, 1_000)],
    );
}
