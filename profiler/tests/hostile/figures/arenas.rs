//! Arenas are read as they were recorded, with each figure in its place.

use super::made::{add_lanes, add_scopes, empty, lane, load, row};
use heapglass_profiler::profile::{ArenaEvent, ArenaFigures, ArenaRow, ScopeId};
use tracking_alloc_recording::*;

#[test]
fn arenas_rows_history_and_values_are_as_they_were_recorded() {
    let mut parts = empty();
    add_scopes(&mut parts, 1);
    let words = ["cities", "bumpalo", "alloc::string::String"].map(|text| parts.string(text));
    let arena = ArenaValue {
        name: words[0],
        krate: words[1],
        made: 1,
        dropped: 2,
        resets: 3,
        allocated_bytes: 4,
        allocated_bytes_including_metadata: 5,
        chunks: 6,
        used_bytes: 7,
        padding_bytes: 8,
        abandoned_bytes: 9,
        bypassed_bytes: 10,
        unused_tail_bytes: 11,
        most_allocated_bytes: 12,
        most_instance_bytes: 13,
        most_occupied_bytes: 14,
        total_chunks: 15,
        total_allocated_bytes: 16,
        total_used_bytes: 17,
        total_used_blocks: 18,
        grows: 19,
        grows_in_place: 20,
        copied_bytes: 21,
        limit_reached: 22,
        most_chunks: 23,
        largest_allocated_bytes: 24,
        largest_used_bytes: 25,
        largest_padding_bytes: 26,
        largest_abandoned_bytes: 27,
        largest_bypassed_bytes: 28,
        largest_unused_tail_bytes: 29,
        dropped_allocated_bytes: 30,
        dropped_used_bytes: 31,
        dropped_padding_bytes: 32,
        dropped_abandoned_bytes: 33,
        dropped_bypassed_bytes: 34,
        dropped_unused_tail_bytes: 35,
    };
    parts.append(table::ARENAS, 0, &[arena]);
    parts.header.arenas_len = 1;
    let used = ArenaRowValue {
        scope: 1,
        total_bytes: 31,
        total_blocks: 32,
        live_bytes: 33,
        live_blocks: 34,
        copied_bytes: 35,
        bypassed_bytes: 36,
        grows: 37,
        ..ArenaRowValue::default()
    };
    let below_zero = ArenaRowValue {
        live_bytes: -1,
        live_blocks: -1,
        bypassed_bytes: -1_i64 as u64,
        ..used
    };
    parts.header.arena_rows_len = 2;
    parts.append(table::ARENA_ROWS, 0, &[used, below_zero]);
    let event = |what, instance, site| ArenaChunkValue {
        what,
        instance,
        time_ns: 40 + instance,
        allocated_bytes: 50 + instance,
        occupied_bytes: 60 + instance,
        site,
        ..ArenaChunkValue::default()
    };
    let history = [
        event(arena_event::CHUNK, 1, FIRST_SITE),
        event(arena_event::RESET, 2, 0),
        event(arena_event::DROP, 3, 99),
        event(0, 4, 0),
    ];
    parts.header.arena_chunks_len = 4;
    parts.append(table::ARENA_CHUNKS, 0, &history);
    let undropped = |site, count, bytes| ArenaValuesValue {
        scope: 1,
        type_name: words[2],
        site,
        count,
        bytes,
        ..ArenaValuesValue::default()
    };
    let values = [undropped(0, 5, 24), undropped(FIRST_SITE, 4, 100)];
    parts.header.arena_values_len = 2;
    parts.append(table::ARENA_VALUES, 0, &values);
    let rows = [row(FIRST_SITE, (10, 1), (0, 0), (10, 1))];
    add_lanes(
        &mut parts,
        &[(lane(b"main\0\0\0\0"), &rows, [RowValue::default(); 2])],
    );
    let profile = load(&parts);
    let [arena] = profile.arenas() else {
        panic!("one arena: {:?}", profile.arenas());
    };
    assert_eq!(
        (arena.name.as_str(), arena.krate.as_str()),
        ("cities", "bumpalo")
    );
    let figures = [
        arena.figures.made,
        arena.figures.dropped,
        arena.figures.resets,
        arena.figures.allocated_bytes,
        arena.figures.allocated_bytes_including_metadata,
        arena.figures.chunks,
        arena.figures.used_bytes,
        arena.figures.padding_bytes,
        arena.figures.abandoned_bytes,
        arena.figures.bypassed_bytes,
        arena.figures.unused_tail_bytes,
        arena.figures.most_allocated_bytes,
        arena.figures.most_instance_bytes,
        arena.figures.most_occupied_bytes,
        arena.figures.total_chunks,
        arena.figures.total_allocated_bytes,
        arena.figures.total_used_bytes,
        arena.figures.total_used_blocks,
        arena.figures.grows,
        arena.figures.grows_in_place,
        arena.figures.copied_bytes,
        arena.figures.limit_reached,
        arena.figures.most_chunks,
        arena.figures.largest_allocated_bytes,
        arena.figures.largest_used_bytes,
        arena.figures.largest_padding_bytes,
        arena.figures.largest_abandoned_bytes,
        arena.figures.largest_bypassed_bytes,
        arena.figures.largest_unused_tail_bytes,
        arena.figures.dropped_allocated_bytes,
        arena.figures.dropped_used_bytes,
        arena.figures.dropped_padding_bytes,
        arena.figures.dropped_abandoned_bytes,
        arena.figures.dropped_bypassed_bytes,
        arena.figures.dropped_unused_tail_bytes,
    ];
    assert_eq!(figures, std::array::from_fn(|index| index as u64 + 1));
    let used = heapglass_fixture::made!(ArenaFigures {
        total_bytes: 31,
        total_blocks: 32,
        live_bytes: 33,
        live_blocks: 34,
        copied_bytes: 35,
        bypassed_bytes: 36,
        grows: 37,
    });
    let at_zero = heapglass_fixture::made!(ArenaFigures {
        live_bytes: 0,
        live_blocks: 0,
        bypassed_bytes: 0,
        ..used
    });
    let of_scope = |inside| {
        heapglass_fixture::made!(ArenaRow {
            scope: ScopeId(1),
            inside,
        })
    };
    assert_eq!(arena.rows, [used, at_zero].map(of_scope));
    let history: Vec<_> = arena
        .history
        .iter()
        .map(|moment| {
            let bytes = (moment.allocated_bytes, moment.occupied_bytes);
            (
                moment.what,
                moment.instance,
                moment.time_ns,
                bytes,
                moment.site,
            )
        })
        .collect();
    let expected = [
        (ArenaEvent::Chunk, 1, 41, (51, 61), Some(0)),
        (ArenaEvent::Reset, 2, 42, (52, 62), None),
        (ArenaEvent::Drop, 3, 43, (53, 63), None),
    ];
    assert_eq!(history, expected);
    let values: Vec<_> = arena
        .values
        .iter()
        .map(|values| {
            (
                values.scope,
                values.type_name.as_str(),
                values.site,
                values.count,
                values.bytes,
            )
        })
        .collect();
    let expected = [
        (ScopeId(1), "String", None, 5, 24),
        (ScopeId(1), "String", Some(0), 4, 100),
    ];
    assert_eq!(values, expected);
}
