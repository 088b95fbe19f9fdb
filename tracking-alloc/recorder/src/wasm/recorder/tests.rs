//! Compares the recorder with a plain model: totals, peak, rows of each scope, and the figures that
//! a reader finds in the bytes.

use super::blocks::Blocks;
use super::{Linear, Recorder};
use crate::accounting::{Event, Realloc};
use crate::current_scope::{Added, NewScope};
use std::collections::HashMap;
use std::sync::Mutex;
use tracking_alloc_recording::{
    Clock, FIRST_SITE, Recording, RowValue, Sums, arch, mode, state, unwinder,
};
use tracking_alloc_recording::{scope_flags, scope_kind};

/// The memory of the recorders, kept where a leak checker finds it. Like a module's memory, it is
/// never freed.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn words(words: usize) -> Option<(&'static mut [u64], u64)> {
    let memory = vec![0; words].leak();
    let mut kept = KEPT.lock().expect("no test fails while it is held");
    kept.push(memory.as_ptr().addr());
    Some((memory, (words * 8).div_ceil(65536) as u64))
}

fn recorder() -> Recorder {
    Recorder::new("tests", words, 17).expect("memory")
}

fn alloc(block: u32, bytes: u64) -> Event {
    Event::Alloc(block as usize, bytes as usize)
}

fn free(block: u32, bytes: u64) -> Event {
    Event::Free(block as usize, bytes as usize)
}

fn realloc(old: (u32, u64), new: (u32, u64)) -> Event {
    Event::Realloc(Realloc {
        old: old.0 as usize,
        old_bytes: old.1 as usize,
        new: new.0 as usize,
        bytes: new.1 as usize,
    })
}

fn random(state: &mut u64) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u32
}

fn read(recorder: &Recorder) -> Recording {
    Recording::read(recorder.encode().as_slice()).expect("a recording that can be read")
}

/// Returns the values of a row at the peak, computed like in the profiler.
fn at_peak(row: &RowValue, clock: Clock) -> (i64, i64) {
    if row.clock.epoch() >= clock.epoch() {
        (row.saved_bytes, row.saved_blocks)
    } else {
        super::rows::net(row)
    }
}

#[test]
fn a_table_of_blocks_keeps_what_a_map_keeps() {
    let mut blocks = Blocks::new(words).expect("memory");
    let (mut model, mut seed) = (HashMap::new(), 0x1234_5678_9abc_def1);
    for step in 0..200_000 {
        // There are few different addresses, so that runs are long and often broken up. Later there
        // are more, so that the table grows.
        let address = 8 + 8 * (random(&mut seed) % if step < 100_000 { 9_000 } else { 90_000 });
        if !random(&mut seed).is_multiple_of(3) {
            let row = random(&mut seed) % 1000;
            assert!(blocks.put(address, row));
            model.insert(address, row);
        } else {
            assert_eq!(blocks.take(address), model.remove(&address));
        }
    }
    for (address, row) in model {
        assert_eq!(blocks.take(address), Some(row));
        assert_eq!(blocks.take(address), None);
    }
}

#[test]
fn a_table_without_room_says_so_and_keeps_what_it_has() {
    fn once(length: usize) -> Option<(&'static mut [u64], u64)> {
        (length == 1 << 14).then(|| words(length)).flatten()
    }
    let mut blocks = Blocks::new(once).expect("memory");
    let kept = (1..20_000)
        .take_while(|block| blocks.put(block * 16, 7))
        .count();
    assert_eq!(kept, (1 << 14) - 1);
    assert!(!blocks.put(1, 7));
    assert_eq!(blocks.take(16 * kept as u32), Some(7));
    assert!(blocks.put(1, 8));
    assert_eq!(blocks.take(1), Some(8));
}

#[test]
fn totals_live_and_temporary_follow_from_the_events() {
    let mut recorder = recorder();
    for (event, scope) in [
        (alloc(16, 100), 0),
        (alloc(32, 40), 0),
        (free(32, 40), 0),
        (alloc(48, 8), 0),
        (realloc((16, 100), (64, 150)), 0),
        (realloc((64, 150), (64, 30)), 0),
        // The last block is the reallocated one, which is never temporary.
        (free(64, 30), 0),
    ] {
        recorder.count(event, scope);
    }
    let figures = recorder.figures();
    assert_eq!((figures.total_bytes, figures.total_blocks), (328, 5));
    assert_eq!((figures.freed_bytes, figures.freed_blocks), (320, 4));
    assert_eq!((figures.live_bytes, figures.live_blocks), (8, 1));
    assert_eq!((figures.temporary_bytes, figures.temporary_blocks), (40, 1));
    assert_eq!(
        (figures.grows, figures.shrinks, figures.copied_bytes),
        (1, 1, 100)
    );
    assert_eq!((figures.peak_bytes, figures.peak_blocks), (158, 2));
}

#[test]
fn rows_and_peak_are_those_of_a_plain_model() {
    const SCOPES: u32 = 7;
    let mut recorder = recorder();
    let scopes: Vec<u32> = (0..SCOPES)
        .map(|number| recorder.phase(0, &format!("phase {number}")).expect("room"))
        .collect();
    let mut seed = 99;
    let mut live: Vec<(u32, u64, u32)> = Vec::new();
    let mut total: HashMap<u32, (u64, u64)> = HashMap::new();
    let (mut now, mut peak, mut at) = (0i64, 0i64, HashMap::new());
    let mut next = 16u32;
    for step in 0..6_000u32 {
        let scope = scopes[(random(&mut seed) % SCOPES) as usize];
        let bytes = u64::from(random(&mut seed) % 500 + 1);
        // Bytes rise and fall in waves, so that there are several maxima.
        let falls = step % 600 > 360;
        let pick = random(&mut seed) as usize % live.len().max(1);
        match random(&mut seed) % 4 {
            0 | 1 if falls && !live.is_empty() => {
                let (block, bytes, _) = live.swap_remove(pick);
                recorder.count(free(block, bytes), scope);
                now -= bytes as i64;
            }
            2 if !live.is_empty() => {
                let (block, old, _) = live.swap_remove(pick);
                recorder.count(realloc((block, old), (next, bytes)), scope);
                live.push((next, bytes, scope));
                now += bytes as i64 - old as i64;
                let sum = total.entry(scope).or_default();
                *sum = (sum.0 + bytes, sum.1 + 1);
            }
            _ => {
                recorder.count(alloc(next, bytes), scope);
                live.push((next, bytes, scope));
                now += bytes as i64;
                let sum = total.entry(scope).or_default();
                *sum = (sum.0 + bytes, sum.1 + 1);
            }
        }
        next += 16;
        if now >= peak {
            peak = now;
            at.clear();
            for (_, bytes, scope) in &live {
                let sum: &mut (i64, i64) = at.entry(*scope).or_default();
                *sum = (sum.0 + *bytes as i64, sum.1 + 1);
            }
        }
    }
    // Free everything: the peak is long past.
    for (block, bytes, _) in live {
        recorder.count(free(block, bytes), 0);
    }
    let recording = read(&recorder);
    let clock = recording.header.clock;
    let lane = &recording.lanes[0];
    assert_eq!(recording.header.peak_bytes, peak);
    assert_eq!(at_peak(&lane.all, clock).0, peak);
    assert_eq!(lane.rows.len(), SCOPES as usize);
    for row in &lane.rows {
        let scope = recording.sites[row.site as usize].scope;
        assert_eq!((row.total_bytes, row.total_blocks), total[&scope]);
        assert_eq!((row.freed_bytes, row.freed_blocks), total[&scope]);
        assert_eq!(
            at_peak(row, clock),
            at.get(&scope).copied().unwrap_or_default()
        );
    }
    assert_eq!(recorder.figures().peak_bytes, peak as u64);
}

#[test]
fn a_block_stays_in_its_scope_until_it_is_reallocated_in_another() {
    let mut recorder = recorder();
    let (a, b) = (recorder.phase(0, "a"), recorder.phase(0, "b"));
    let (a, b) = (a.expect("room"), b.expect("room"));
    recorder.count(alloc(16, 10), a);
    recorder.count(alloc(32, 20), a);
    recorder.count(free(16, 10), b);
    recorder.count(realloc((32, 20), (32, 25)), b);
    let recording = read(&recorder);
    let row = |scope| {
        let of = |row: &&RowValue| recording.sites[row.site as usize].scope == scope;
        let row = recording.lanes[0].rows.iter().find(of).expect("a row");
        (row.total_bytes, row.freed_bytes, row.grows)
    };
    assert_eq!(row(a), (30, 30, 0));
    assert_eq!(row(b), (25, 0, 1));
}

#[test]
fn blocks_older_than_the_recording_are_counted_as_unknown_and_nowhere_else() {
    let mut recorder = recorder();
    assert!(recorder.count(free(16, 10), 0));
    assert!(recorder.count(realloc((32, 10), (48, 20)), 0));
    let recording = read(&recorder);
    // As in dhat-rs, a realloc is a new allocation of the new size, and no free.
    assert_eq!(recording.lanes[0].lane.unknown_frees, 1);
    let all = recording.lanes[0].all;
    assert_eq!((all.total_bytes, all.freed_bytes, all.grows), (20, 0, 0));
    // It is never temporary, because it was reallocated.
    recorder.count(free(48, 20), 0);
    assert_eq!(recorder.figures().temporary_blocks, 0);
}

#[test]
fn what_is_handed_out_is_counted_nowhere() {
    let mut recorder = recorder();
    recorder.note_own_block(16);
    assert!(!recorder.count(free(16, 1000), 0));
    recorder.note_own_block(16);
    recorder.count(realloc((16, 1000), (32, 2000)), 0);
    let recording = read(&recorder);
    assert_eq!(recording.lanes[0].lane.unknown_frees, 0);
    assert_eq!(recorder.figures().total_bytes, 2000);
    assert_eq!(recorder.figures().freed_bytes, 0);
}

#[test]
fn grows_of_linear_memory_are_told_from_those_of_the_recording() {
    let mut recorder = recorder();
    // The first table of blocks takes two pages.
    let first = Linear {
        first: 17,
        pages: 19,
        own: 2,
        grows: 0,
    };
    assert_eq!(recorder.linear(), first);
    recorder.note_pages(19);
    recorder.note_pages(20);
    recorder.note_pages(20);
    recorder.note_pages(25);
    recorder.note_own_pages(28);
    recorder.note_pages(28);
    let expected = Linear {
        first: 17,
        pages: 28,
        own: 5,
        grows: 2,
    };
    assert_eq!(recorder.linear(), expected);
    // Three quarters of 2^14 slots may be in use. One block more takes 4 more pages, which is not a
    // grow.
    for block in 1..=12_288 {
        recorder.count(alloc(block * 16, 1), 0);
    }
    assert_eq!((recorder.linear().pages, recorder.linear().own), (28, 5));
    recorder.count(alloc(12_289 * 16, 1), 0);
    let header = read(&recorder).header;
    assert_eq!((header.memory_pages, header.own_pages), (32, 9));
    assert_eq!((header.first_pages, header.memory_grows), (17, 2));
}

#[test]
fn the_bytes_say_what_kind_of_recording_they_are() {
    let mut recorder = recorder();
    recorder.count(alloc(16, 10), 0);
    let recording = read(&recorder);
    let header = &recording.header;
    assert_eq!(
        (header.arch, header.unwinder),
        (arch::WASM32, unwinder::NONE)
    );
    assert_eq!(
        (header.state, header.pid, header.elapsed_ns),
        (state::FINISHED, 0, 0)
    );
    assert_eq!((header.mode, header.stacks_len), (mode::EXACT, 1));
    // Pages of WebAssembly have 64 KiB.
    assert_eq!((header.own_pages, header.own_bytes), (2, 2 << 16));
    let name = recording.lanes[0].lane.name.map(u64::to_le_bytes).concat();
    assert_eq!(name, *b"main\0\0\0\0\0\0\0\0\0\0\0\0");
    assert_eq!(recording.sites[FIRST_SITE as usize].scope, 0);
    assert_eq!(
        recording.string(header.executable).as_deref(),
        Some("tests")
    );
    assert_eq!(recording.lanes[0].rows[0].site, FIRST_SITE);
    assert_eq!(recording.damage, 0);
    assert_ne!(header.checksum, 0);
}

#[test]
fn fields_keep_name_type_visits_and_flags() {
    let mut recorder = recorder();
    let phase = recorder.phase(0, "load").expect("room");
    assert_eq!(recorder.phase(0, "load"), Some(phase));
    recorder.report(phase, 500, 3);
    let field = recorder.field(&NewScope {
        parent: phase,
        kind: scope_kind::INDEX,
        flags: 0,
        name: "0 (name?)",
        type_name: "",
        value_bytes: 0,
    });
    let Added::Scope(field) = field else {
        panic!("there is room");
    };
    let list = recorder.field(&NewScope {
        parent: phase,
        kind: scope_kind::FIELD,
        flags: scope_flags::FOLDED,
        name: "list",
        type_name: "alloc::vec::Vec<u8>",
        value_bytes: 24,
    });
    assert!(matches!(list, Added::Scope(_)));
    recorder.rename(field, scope_kind::FIELD, "name");
    recorder.retype(field, "alloc::string::String", 12);
    recorder.flag(field, scope_flags::FOLDED);
    recorder.visit(field);
    recorder.count(alloc(16, 10), field);
    recorder.left(phase, 4);
    let recording = read(&recorder);
    let (outer, inner) = (recording.scopes[1], recording.scopes[2]);
    let list = recording.scopes[3];
    assert_eq!(
        (list.parent, list.kind, list.flags, list.value_bytes),
        (phase, scope_kind::FIELD, scope_flags::FOLDED, 24)
    );
    let told = [list.name, list.type_name].map(|text| recording.string(text));
    let told = told.map(Option::unwrap_or_default);
    assert_eq!(told, ["list", "alloc::vec::Vec<u8>"]);
    assert_eq!(
        (outer.entered, outer.input_bytes, outer.records),
        (2, 500, 3)
    );
    assert_eq!((outer.stayed_bytes, outer.depth), (6, 1));
    assert_eq!(
        (inner.parent, inner.kind, inner.depth),
        (phase, scope_kind::FIELD, 2)
    );
    assert_eq!((inner.flags, inner.value_bytes), (scope_flags::FOLDED, 12));
    assert_eq!(recording.string(inner.name).as_deref(), Some("name"));
    let type_name = recording.string(inner.type_name);
    assert_eq!(type_name.as_deref(), Some("alloc::string::String"));
    let visits = recording.lanes[0].visits[0];
    assert_eq!((visits.scope, visits.count), (field, 1));
}

#[test]
fn scopes_too_deep_are_counted_at_the_last_one_with_room_and_lost() {
    let mut recorder = recorder();
    let mut deepest = 0;
    for _ in 0..64 {
        deepest = recorder.phase(deepest, "inner").expect("room");
    }
    assert_eq!(recorder.phase(deepest, "inner"), None);
    assert_eq!(read(&recorder).header.lost_scopes, 1);
}

/// Returns all figures of a row: its sums, then bytes and blocks at the peak.
fn figures_of(row: &RowValue, recording: &Recording) -> (Sums, (i64, i64)) {
    let lifetimes = (row.lifetime, row.lifetime_blocks, row.freed_elsewhere);
    assert_eq!(lifetimes, (0, 0, 0));
    (row.sums(), at_peak(row, recording.header.clock))
}

#[test]
fn rows_of_every_kind_of_event_are_what_arithmetic_says() {
    for moves in [true, false] {
        let mut recorder = recorder();
        let a = recorder.phase(0, "a").expect("room");
        let b = recorder.phase(0, "b").expect("room");
        // The address of block 16 or 32 after its next realloc.
        let to = |block: u32, step: u32| if moves { block + 64 * step } else { block };
        let copied = |bytes| if moves { bytes } else { 0 };
        for (event, scope) in [
            (alloc(16, 100), 0),                             // 100
            (alloc(32, 40), a),                              // 140
            (realloc((32, 40), (to(32, 1), 90)), a),         // 190
            (realloc((to(32, 1), 90), (to(32, 2), 90)), a),  // 190
            (realloc((to(32, 2), 90), (to(32, 3), 60)), a),  // 160
            (free(to(32, 3), 60), a),                        // 100
            (alloc(48, 24), a),                              // 124
            (free(48, 24), a),                               // 100
            (realloc((16, 100), (to(16, 1), 50)), b),        // 50
            (realloc((to(16, 1), 50), (to(16, 2), 200)), b), // 200
            (alloc(8, 7), b),                                // 207: the peak
            (free(to(16, 2), 200), 0),                       // 7
        ] {
            assert!(recorder.count(event, scope));
        }
        let recording = read(&recorder);
        let lane = &recording.lanes[0];
        let rows: Vec<_> = lane
            .rows
            .iter()
            .map(|row| figures_of(row, &recording))
            .collect();
        let of_a = [304, 5, 304, 5, 2, 1, copied(190), 1, 24].into();
        let of_b = [257, 3, 250, 2, 1, 1, copied(100), 0, 0].into();
        let expected = [
            ([100, 1, 100, 1, 0, 0, 0, 0, 0].into(), (0, 0)),
            (of_a, (0, 0)),
            (of_b, (207, 2)),
        ];
        assert_eq!(rows, expected);
        let all = [661, 9, 654, 8, 3, 2, copied(290), 1, 24].into();
        assert_eq!(figures_of(&lane.all, &recording), (all, (207, 2)));
        assert_eq!((lane.table_full, lane.unattributed), Default::default());
        assert_eq!((lane.lane.checked_bytes, lane.lane.checked_blocks), (7, 9));
        assert_eq!((lane.lane.kind, lane.lane.tenancies), (1, 1));
        let header = &recording.header;
        assert_eq!((header.peak_bytes, header.untracked_blocks), (207, 0));
        assert_eq!((header.lanes, header.most_lanes), (1, 1));
        let figures = recorder.figures();
        assert_eq!((figures.live_bytes, figures.live_blocks), (7, 1));
        assert_eq!((figures.peak_bytes, figures.peak_blocks), (207, 2));
        assert_eq!((figures.temporary_bytes, figures.temporary_blocks), (24, 1));
        assert_eq!((figures.total_blocks, figures.freed_blocks), (9, 8));
        assert_eq!(recorder.live_bytes(), 7);
    }
}

#[test]
fn of_equal_peaks_the_latest_counts_also_when_it_is_the_end() {
    let mut recorder = recorder();
    let [one, two, three] = ["1", "2", "3"].map(|name| recorder.phase(0, name).expect("room"));
    let peaks = |recorder: &Recorder| -> Vec<(i64, i64)> {
        let recording = read(recorder);
        // As in the reader: the last rise is the peak if it reaches the peak.
        let rows = &recording.lanes[0].rows;
        let now: i64 = rows.iter().map(|row| super::rows::net(row).0).sum();
        let saved = |row: &RowValue| at_peak(row, recording.header.clock);
        let then: i64 = rows.iter().map(|row| saved(row).0).sum();
        let peak = |row| {
            if now >= then {
                super::rows::net(row)
            } else {
                saved(row)
            }
        };
        rows.iter().map(peak).collect()
    };
    for (block, scope) in [(16, one), (32, two)] {
        recorder.count(alloc(block, 500), scope);
        recorder.count(free(block, 500), scope);
    }
    assert_eq!(peaks(&recorder), [(0, 0), (500, 1)]);
    recorder.count(alloc(48, 200), three);
    recorder.count(alloc(64, 300), three);
    assert_eq!(recorder.figures().peak_blocks, 2);
    assert_eq!(peaks(&recorder), [(0, 0), (0, 0), (500, 2)]);
    recorder.count(free(48, 200), three);
    recorder.count(alloc(80, 199), one);
    assert_eq!(peaks(&recorder), [(0, 0), (0, 0), (500, 2)]);
    assert_eq!(
        (
            recorder.figures().peak_bytes,
            recorder.figures().peak_blocks
        ),
        (500, 2)
    );
}

#[test]
fn blocks_without_memory_are_counted_and_told() {
    fn once(length: usize) -> Option<(&'static mut [u64], u64)> {
        (length == 1 << 14).then(|| words(length)).flatten()
    }
    let mut recorder = Recorder::new("tests", once, 17).expect("memory");
    // One slot stays free, so that searches end.
    for block in 1..=(1 << 14) + 2 {
        recorder.count(alloc(16 * block, 1), 0);
    }
    let recording = read(&recorder);
    assert_eq!(recording.header.untracked_blocks, 3);
    assert_eq!(recording.lanes[0].all.total_blocks, (1 << 14) + 2);
    // The free of an untracked block is unknown.
    recorder.count(free(16 * ((1 << 14) + 2), 1), 0);
    assert_eq!(read(&recorder).lanes[0].lane.unknown_frees, 1);
}

#[test]
fn phases_of_one_name_under_one_parent_are_one() {
    let mut recorder = recorder();
    let a = recorder.phase(0, "a").expect("room");
    let b = recorder.phase(0, "b").expect("room");
    let inner = recorder.phase(a, "b").expect("room");
    assert_eq!(recorder.phase(a, "b"), Some(inner));
    assert_eq!(recorder.phase(0, "a"), Some(a));
    assert_eq!([a, b, inner], [1, 2, 3]);
    recorder.report(inner, 3, 1);
    recorder.report(inner, 4, 1);
    // The root is never changed, nor is a scope that does not exist.
    recorder.report(0, 9, 9);
    recorder.report(77, 9, 9);
    recorder.count(alloc(16, 30), inner);
    recorder.left(inner, 10);
    recorder.left(inner, 25);
    recorder.lose_scope();
    let recording = read(&recorder);
    let scopes: Vec<_> = recording
        .scopes
        .iter()
        .map(|scope| {
            let said = (scope.input_bytes, scope.records, scope.stayed_bytes);
            (scope.parent, scope.depth, scope.entered, said)
        })
        .collect();
    let expected = [
        (0, 0, 0, (0, 0, 0)),
        (0, 1, 2, (0, 0, 0)),
        (0, 1, 1, (0, 0, 0)),
        (a, 2, 2, (7, 2, 20 + 5)),
    ];
    assert_eq!(scopes, expected);
    assert_eq!(recording.header.lost_scopes, 1);
    assert!(
        recording.lanes[0].visits.is_empty(),
        "phases count themselves"
    );
    // Each string is kept once.
    assert_eq!(recording.scopes[2].name, recording.scopes[3].name);
}
