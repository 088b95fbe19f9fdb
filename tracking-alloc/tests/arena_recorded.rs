//! Tracked arenas in a recording. Each test runs itself again as a recorded process and reads its
//! recording.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use heapglass_limits::Command;
use serde::de::DeserializeSeed;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use tracking_alloc::arena::{Arena, ArenaDeserialize, ArenaSeed, ArenaStats, Reset, Tracked};
use tracking_alloc_recording::{
    ArenaRowValue, ArenaValue, ArenaValuesValue, Recording, scope_flags, scope_kind,
};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// Runs `work` in a recorded process of its own. `test` is the calling test. Returns the output and
/// the recording.
fn recorded(test: &str, work: fn()) -> (String, Recording) {
    recorded_until(test, None, work)
}

/// Does the same for work that a signal ends.
fn recorded_until(test: &str, signal: Option<i32>, work: fn()) -> (String, Recording) {
    const CASE: &str = "ARENA_CASE";
    if std::env::var_os(CASE).is_some_and(|case| case == test) {
        work();
        std::process::exit(0);
    }
    let out = std::env::temp_dir().join(format!("arena-{}-{test}.hg", std::process::id()));
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CASE, test)
        .env("HEAPGLASS_OUT", &out)
        .output()
        .unwrap();
    assert_eq!(
        ended.status.signal(),
        signal,
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(ended.status.success() || signal.is_some(), "{ended:?}");
    let recording = Recording::open(&out).unwrap();
    std::fs::remove_file(&out).unwrap();
    assert_eq!(recording.damage, 0);
    (String::from_utf8(ended.stdout).unwrap(), recording)
}

/// Returns the only arena of that name.
fn arena(recording: &Recording, name: &str) -> (u32, ArenaValue) {
    let mut found = recording
        .arenas
        .iter()
        .enumerate()
        .filter(|(_, arena)| recording.string(arena.name).as_deref() == Some(name));
    let (index, arena) = found.next().expect("an arena of that name");
    assert!(
        found.next().is_none(),
        "instances of one name are one arena"
    );
    assert_eq!(
        arena.allocated_bytes,
        arena.used_bytes
            + arena.padding_bytes
            + arena.abandoned_bytes
            + arena.bypassed_bytes
            + arena.unused_tail_bytes,
        "{arena:?}"
    );
    (index as u32, *arena)
}

/// Prints the figures of an arena for the comparison with the recording.
fn print(stats: ArenaStats) {
    println!(
        "STATS {} {} {} {} {} {} {} {} {}",
        stats.chunks,
        stats.allocated_bytes,
        stats.allocated_bytes_including_metadata,
        stats.used_bytes,
        stats.padding_bytes,
        stats.abandoned_bytes,
        stats.bypassed_bytes,
        stats.unused_tail_bytes,
        stats.total_used_bytes,
    );
}

fn printed(output: &str) -> [u64; 9] {
    let (_, line) = output.split_once("STATS ").expect("printed");
    let mut words = line.split_whitespace();
    std::array::from_fn(|_| words.next().unwrap().parse().unwrap())
}

fn said(arena: &ArenaValue) -> [u64; 9] {
    [
        arena.chunks,
        arena.allocated_bytes,
        arena.allocated_bytes_including_metadata,
        arena.used_bytes,
        arena.padding_bytes,
        arena.abandoned_bytes,
        arena.bypassed_bytes,
        arena.unused_tail_bytes,
        arena.total_used_bytes,
    ]
}

/// `City.citizens[].name`
fn path(recording: &Recording, scope: u32) -> String {
    let record = &recording.scopes[scope as usize];
    let name = recording.string(record.name).unwrap_or_default();
    let below = |step: String| format!("{}{step}", path(recording, record.parent));
    match record.kind {
        scope_kind::ROOT => {
            let name = recording.string(record.type_name).unwrap_or_default();
            let name = name.split('<').next().unwrap_or_default();
            name.rsplit("::").next().unwrap_or_default().to_owned()
        }
        scope_kind::FIELD => below(format!(".{name}")),
        scope_kind::ELEMENT => below("[]".to_owned()),
        scope_kind::KEY => below("{key}".to_owned()),
        scope_kind::VALUE => below("{value}".to_owned()),
        scope_kind::VARIANT => below(format!("::{name}")),
        scope_kind::PHASE => below(format!("({name})")),
        _ => String::new(),
    }
}

fn rows(recording: &Recording, arena: u32) -> BTreeMap<String, ArenaRowValue> {
    recording
        .arena_rows
        .iter()
        .filter(|row| row.arena == arena)
        .map(|row| (path(recording, row.scope), *row))
        .collect()
}

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only where its bytes are is looked at")]
struct City<'bump> {
    name: bumpalo::collections::String<'bump>,
    citizens: bumpalo::collections::Vec<'bump, Citizen<'bump>>,
    mood: Mood<'bump>,
}

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only where its bytes are is looked at")]
struct Citizen<'bump> {
    name: &'bump str,
    age: u8,
    #[arena(default)]
    data: &'bump [u64],
    #[arena(global)]
    note: String,
}

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only where its bytes are is looked at")]
enum Mood<'bump> {
    Calm,
    Excited(&'bump str),
}

fn json(citizens: usize) -> String {
    let citizens: Vec<String> = (0..citizens)
        .map(|number| {
            format!(r#"{{"name": "citizen {number:05}", "age": 7, "data": [1, 2, 3], "note": "sixteen bytes ..."}}"#)
        })
        .collect();
    format!(
        r#"{{"name": "Ulm", "mood": {{"Excited": "very much"}}, "citizens": [{}]}}"#,
        citizens.join(",")
    )
}

/// The allocated bytes and their five parts.
type Parts = [u64; 6];

fn parts(stats: &ArenaStats) -> Parts {
    [
        stats.allocated_bytes,
        stats.used_bytes,
        stats.padding_bytes,
        stats.abandoned_bytes,
        stats.bypassed_bytes,
        stats.unused_tail_bytes,
    ]
}

#[test]
fn the_parts_of_dropped_instances_and_of_the_largest_one_are_kept() {
    fn fill<A: Arena>(tracked: &Tracked<A>, rounds: usize) {
        for _ in 0..rounds {
            tracked.alloc_str("ten bytes.");
            tracked.alloc(7_u64);
        }
        // A piece that cannot grow in place gives up its bytes.
        let [old, new] = [64, 128].map(|bytes| Layout::array::<u8>(bytes).unwrap());
        let place = tracked.try_alloc_layout(old).unwrap();
        tracked.alloc_str("between");
        // SAFETY: the piece is of this arena and has this layout, and the new one is not smaller.
        unsafe { tracked.try_grow(place, old, new) }.unwrap();
    }
    let test = "the_parts_of_dropped_instances_and_of_the_largest_one_are_kept";
    let (output, recording) = recorded(test, || {
        let mut sum = Parts::default();
        let mut add = |stats: &ArenaStats| {
            for (sum, part) in sum.iter_mut().zip(parts(stats)) {
                *sum += part;
            }
        };
        for rounds in [10, 1_000, 100] {
            let bump = bumpalo::Bump::new();
            let tracked = Tracked::new("people", &bump);
            fill(&tracked, rounds);
            bump.alloc_str("without the handle");
            add(&tracked.stats());
        }
        // The largest one is kept as it was before its reset.
        let mut tracked = Tracked::new("people", bumpalo::Bump::new());
        fill(&tracked, 5_000);
        let largest = parts(&tracked.stats());
        tracked.reset();
        fill(&tracked, 3);
        add(&tracked.stats());
        drop(tracked);
        let words = [sum, largest]
            .concat()
            .into_iter()
            .map(|part| part.to_string());
        println!("PARTS {}", words.collect::<Vec<_>>().join(" "));
    });
    let (_, line) = output.split_once("PARTS ").expect("printed");
    let words: Vec<u64> = line
        .split_whitespace()
        .take(12)
        .map(|word| word.parse().unwrap())
        .collect();
    let (_, arena) = arena(&recording, "people");
    assert_eq!((arena.made, arena.dropped, arena.resets), (4, 4, 1));
    let dropped = [
        arena.dropped_allocated_bytes,
        arena.dropped_used_bytes,
        arena.dropped_padding_bytes,
        arena.dropped_abandoned_bytes,
        arena.dropped_bypassed_bytes,
        arena.dropped_unused_tail_bytes,
    ];
    assert_eq!(dropped, words[..6]);
    let largest = [
        arena.largest_allocated_bytes,
        arena.largest_used_bytes,
        arena.largest_padding_bytes,
        arena.largest_abandoned_bytes,
        arena.largest_bypassed_bytes,
        arena.largest_unused_tail_bytes,
    ];
    assert_eq!(largest, words[6..]);
    for parts in [dropped, largest] {
        assert_eq!(parts[0], parts[1..].iter().sum::<u64>());
        assert!(parts[1] > 0 && parts[3] > 0, "{parts:?}");
    }
    assert_eq!(arena.most_instance_bytes, arena.largest_allocated_bytes);
}

#[test]
fn what_an_arena_holds_is_recorded_by_field_and_type() {
    let (output, recording) = recorded("what_an_arena_holds_is_recorded_by_field_and_type", || {
        let json = json(1000);
        let bump = Box::leak(Box::new(bumpalo::Bump::new()));
        let tracked = Box::leak(Box::new(Tracked::new("cities", &*bump)));
        let _phase = tracking_alloc::phase("load");
        let city = ArenaSeed::<City>::new(&*tracked)
            .deserialize(&mut serde_json::Deserializer::from_str(&json))
            .unwrap();
        std::mem::forget(city);
        print(tracked.stats());
    });
    let (index, arena) = arena(&recording, "cities");
    assert_eq!(printed(&output), said(&arena), "leaked, and still exact");
    assert_eq!(recording.string(arena.krate).as_deref(), Some("bumpalo"));
    assert_eq!((arena.made, arena.dropped, arena.bypassed_bytes), (1, 0, 0));

    let rows = rows(&recording, index);
    let total = |path: &str| {
        let row = rows
            .get(&format!("(load){path}"))
            .or_else(|| rows.get(path));
        row.map(|row| (row.live_bytes, row.live_blocks))
    };
    assert_eq!(total("City.name"), Some((3, 1)), "{rows:?}");
    assert_eq!(total("City.mood::Excited"), Some((9, 1)), "{rows:?}");
    assert_eq!(total("City.citizens[].name"), Some((13_000, 1000)));
    assert_eq!(total("City.citizens[].data"), Some((24_000, 1000)));
    assert_eq!(
        total("City.citizens[].note"),
        None,
        "it is not in the arena"
    );
    let citizens = total("City.citizens").expect("its vector");
    assert!(citizens.0 >= 1000 * size_of::<Citizen>() as i64);
    let sum = |of: fn(&ArenaRowValue) -> i64| rows.values().map(of).sum::<i64>();
    assert_eq!(sum(|row| row.live_bytes), arena.used_bytes as i64);
    assert_eq!(
        sum(|row| row.total_bytes as i64),
        arena.total_used_bytes as i64
    );
    assert_eq!(
        sum(|row| row.total_blocks as i64),
        arena.total_used_blocks as i64
    );
    assert_eq!(sum(|row| row.grows as i64), arena.grows as i64);

    // The types are those of the fields, and the strings moved in are blocks of the process, under
    // their fields.
    let notes: Vec<u32> = (0..recording.scopes.len() as u32)
        .filter(|scope| path(&recording, *scope).ends_with("City.citizens[].note"))
        .collect();
    let [note] = notes[..] else {
        panic!("{notes:?}")
    };
    let ty = recording.string(recording.scopes[note as usize].type_name);
    let mut root = note;
    while recording.scopes[root as usize].kind != scope_kind::ROOT {
        root = recording.scopes[root as usize].parent;
    }
    let flags = recording.scopes[root as usize].flags;
    assert_eq!(flags & scope_flags::IN_ARENA, scope_flags::IN_ARENA);
    assert_eq!(ty.as_deref(), Some("alloc::string::String"));
    let live: u64 = recording
        .lanes
        .iter()
        .flat_map(|lane| &lane.rows)
        .filter(|row| recording.sites[row.site as usize].scope == note)
        .map(|row| row.total_bytes - row.freed_bytes)
        .sum();
    assert!(live >= 17_000, "{live}");

    // Every chunk has a moment in the history, and the site that allocated it.
    let chunks: Vec<_> = recording.arena_chunks.iter().collect();
    assert_eq!(chunks.len() as u64, arena.chunks);
    assert!(
        chunks.windows(2).all(|two| two[0].time_ns <= two[1].time_ns
            && two[0].allocated_bytes < two[1].allocated_bytes)
    );
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk.what == 1 && chunk.site != 0),
        "{chunks:?}"
    );
    assert_eq!(
        chunks.last().unwrap().allocated_bytes,
        arena.allocated_bytes
    );
}

#[test]
fn a_thousand_instances_of_one_name_are_one_arena() {
    let (_, recording) = recorded("a_thousand_instances_of_one_name_are_one_arena", || {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..2500 {
                        let mut tracked = Tracked::new(
                            "request".to_owned(),
                            bump_scope::Bump::<bump_scope::alloc::Global>::new(),
                        );
                        tracked.alloc([0_u8; 100]);
                        tracked.reset();
                        tracked.alloc([0_u8; 200]);
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    let (index, arena) = arena(&recording, "request");
    assert_eq!(
        (arena.made, arena.dropped, arena.resets),
        (10_000, 10_000, 10_000)
    );
    assert_eq!(
        (arena.chunks, arena.allocated_bytes, arena.used_bytes),
        (0, 0, 0)
    );
    assert_eq!(arena.total_used_bytes, 10_000 * 300);
    assert_eq!(arena.total_used_blocks, 20_000);
    assert_eq!(arena.total_chunks, 10_000);
    assert_eq!(arena.most_occupied_bytes, 200);
    assert!(arena.most_allocated_bytes >= arena.most_instance_bytes);
    assert!(arena.most_allocated_bytes <= 4 * arena.most_instance_bytes);
    let rows = rows(&recording, index);
    assert_eq!(rows.len(), 1);
    assert!(
        rows.values()
            .all(|row| row.live_bytes == 0 && row.total_bytes == 3_000_000)
    );
    let history = recording.arena_chunks.len();
    assert!((4096..4200).contains(&history), "bounded: {history}");
    let drops = recording
        .arena_chunks
        .iter()
        .filter(|chunk| chunk.what == 3);
    assert!(drops.clone().count() > 1000);
    assert!(
        drops
            .clone()
            .all(|drop| drop.occupied_bytes == 200 && drop.allocated_bytes == 0)
    );
}

#[test]
fn arenas_of_many_threads_that_are_leaked_are_there_to_the_byte() {
    let (_, recording) = recorded(
        "arenas_of_many_threads_that_are_leaked_are_there_to_the_byte",
        || {
            let threads: Vec<_> = (0..300_u64)
                .map(|number| {
                    std::thread::spawn(move || {
                        let tracked = Tracked::new("leaked", bumpalo::Bump::new());
                        for piece in 0..number {
                            tracked.alloc(piece);
                        }
                        std::mem::forget(tracked);
                    })
                })
                .collect();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        },
    );
    let (index, arena) = arena(&recording, "leaked");
    assert_eq!((arena.made, arena.dropped), (300, 0));
    assert_eq!(arena.used_bytes, 8 * (0..300).sum::<u64>());
    let rows = rows(&recording, index);
    assert_eq!(
        rows.values().map(|row| row.live_blocks).sum::<i64>(),
        (0..300).sum::<i64>()
    );
}

#[test]
fn a_killed_program_left_all_but_the_last_look() {
    const SIGKILL: i32 = 9;
    let (output, recording) = recorded_until(
        "a_killed_program_left_all_but_the_last_look",
        Some(SIGKILL),
        || {
            let bump = bumpalo::Bump::with_capacity(10 << 20);
            let tracked = Tracked::new("killed", &bump);
            for piece in 0..100_003_u64 {
                tracked.alloc([piece; 2]);
            }
            use std::io::Write;
            println!("HANDED {}", 100_003 * 16);
            std::io::stdout().flush().unwrap();
            let me = std::process::id().to_string();
            Command::new("kill").args(["-9", &me]).status().unwrap();
            std::thread::sleep(std::time::Duration::from_secs(10));
        },
    );
    assert!(output.contains("HANDED 1600048"));
    let (index, arena) = arena(&recording, "killed");
    let behind = 1_600_048 - arena.used_bytes;
    assert!(behind < 64 << 10, "{behind}");
    let rows = rows(&recording, index);
    assert_eq!(
        rows.values().map(|row| row.live_bytes).sum::<i64>(),
        arena.used_bytes as i64,
        "rows and figures are of the same look"
    );
}

#[test]
fn what_went_past_the_handle_belongs_to_the_field_it_was_read_for() {
    /// Reads numbers into a vector of the bare arena.
    fn past<'de, 'a, A: Arena, D: serde::Deserializer<'de>>(
        d: D,
        arena: &'a A,
    ) -> Result<bumpalo::collections::Vec<'a, u64>, D::Error> {
        let numbers: Vec<u64> = serde::Deserialize::deserialize(d)?;
        let bump = arena.bumpalo().expect("a bumpalo arena");
        let mut vec = bumpalo::collections::Vec::new_in(bump);
        vec.extend(numbers);
        Ok(vec)
    }
    /// A leaf of the program's own, which does the same.
    struct Leaf<'a>(bumpalo::collections::Vec<'a, u64>);
    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for Leaf<'a> {
        fn deserialize_in<D: serde::Deserializer<'de>>(
            d: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            past(d, arena).map(Leaf)
        }
    }
    #[derive(ArenaDeserialize)]
    #[expect(dead_code, reason = "only where its bytes are is looked at")]
    struct Mixed<'a> {
        before: &'a str,
        #[arena(deserialize_with = "past")]
        numbers: bumpalo::collections::Vec<'a, u64>,
        leaf: Leaf<'a>,
        after: &'a str,
    }
    let (output, recording) = recorded(
        "what_went_past_the_handle_belongs_to_the_field_it_was_read_for",
        || {
            let bump = bumpalo::Bump::new();
            let tracked = Tracked::new("mixed", &bump);
            let json = format!(
                r#"{{"before": "b", "numbers": {:?}, "leaf": {:?}, "after": "a"}}"#,
                [1; 100], [2; 200]
            );
            let mixed = ArenaSeed::<Mixed>::new(&tracked)
                .deserialize(&mut serde_json::Deserializer::from_str(&json))
                .unwrap();
            assert_eq!(mixed.leaf.0.len(), 200);
            drop(mixed);
            let stats = tracked.stats();
            assert!(stats.bypassed_bytes >= 800 + 1600);
            print(stats);
            std::mem::forget(tracked);
        },
    );
    let (index, arena) = arena(&recording, "mixed");
    assert_eq!(said(&arena), printed(&output));
    let rows = rows(&recording, index);
    let [numbers, leaf] = ["Mixed.numbers", "Mixed.leaf"].map(|field| rows[field].bypassed_bytes);
    assert_eq!(numbers + leaf, arena.bypassed_bytes, "{rows:?}");
    assert!(numbers >= 800 && leaf >= 1600, "{rows:?}");
    assert_eq!(rows["Mixed.numbers"].total_bytes, 0);
    assert_eq!(rows["Mixed.after"].total_bytes, 1);
}

#[test]
fn a_string_put_in_by_hand_is_recorded_with_its_type_and_the_site_of_its_block() {
    #[expect(dead_code, reason = "only what it owns is looked at")]
    struct Owner {
        number: u8,
        text: Box<[u8]>,
    }
    fn put<A: Arena>(arena: A, number: u8) {
        arena.alloc(Owner {
            number,
            text: vec![number; 50].into_boxed_slice(),
        });
    }
    let (_, recording) = recorded(
        "a_string_put_in_by_hand_is_recorded_with_its_type_and_the_site_of_its_block",
        || {
            let bump = bumpalo::Bump::new();
            let tracked = Tracked::new("by hand", &bump);
            for number in 1..=40 {
                tracked.alloc(String::from(&*format!("put in by hand {number:05}")));
                tracked.alloc(u64::from(number));
                put(&tracked, number);
            }
            tracked.alloc(String::new());
        },
    );
    let (index, _) = arena(&recording, "by hand");
    assert!(recording.arena_values.iter().all(|of| of.arena == index));
    let said = |of: &ArenaValuesValue| {
        let name = recording.string(of.type_name).unwrap();
        (
            name.rsplit("::").next().unwrap().to_owned(),
            of.count,
            of.bytes,
        )
    };
    let (values, blocks): (Vec<_>, Vec<_>) =
        recording.arena_values.iter().partition(|of| of.site == 0);
    assert_eq!(
        values.into_iter().map(said).collect::<Vec<_>>(),
        [
            ("String".to_owned(), 41, 41 * 24),
            ("Owner".to_owned(), 40, 40 * 24)
        ]
    );
    for (block, each) in blocks.iter().zip([20, 50]) {
        let live: u64 = recording
            .lanes
            .iter()
            .flat_map(|lane| &lane.rows)
            .filter(|row| row.site == block.site)
            .map(|row| row.total_bytes - row.freed_bytes)
            .sum();
        assert_eq!((block.count, block.bytes), (40, 40 * each), "{block:?}");
        assert_eq!(live, 40 * each, "they outlived the arena");
    }
    assert_eq!(blocks.len(), 2, "{blocks:?}");
}

#[test]
fn arenas_of_more_names_than_are_kept_apart_are_instances_of_other() {
    let (_, recording) = recorded(
        "arenas_of_more_names_than_are_kept_apart_are_instances_of_other",
        || {
            for number in 0..1100 {
                let tracked = Tracked::new(format!("arena {number}"), bumpalo::Bump::new());
                tracked.alloc(1_u64);
            }
            Tracked::new("arena 7", bumpalo::Bump::new()).alloc(1_u64);
        },
    );
    assert_eq!(recording.arenas.len(), 1024);
    let (_, other) = arena(&recording, "(other)");
    assert_eq!((other.made, other.total_used_bytes), (77, 77 * 8));
    let (_, known) = arena(&recording, "arena 7");
    assert_eq!(known.made, 2);
    assert_eq!(recording.header.lost_records, 0);
}

#[test]
fn a_recording_begun_later_finds_the_arena_at_its_next_look() {
    // This runs in this process, which records nothing else. The other tests record processes of
    // their own.
    let tracked = Tracked::new("early", bumpalo::Bump::new());
    tracked.alloc(1_u64);
    let Ok(recorder) = tracking_alloc::Recorder::start_in_memory() else {
        // This process runs a case of another test, and is recorded from outside.
        return;
    };
    tracked.stats();
    tracked.alloc([2_u64; 10]);
    let bytes = recorder.finish_to_bytes().unwrap();
    let recording = Recording::read(&bytes[..]).unwrap();
    let (_, arena) = arena(&recording, "early");
    assert_eq!((arena.used_bytes, arena.total_used_blocks), (88, 2));
    drop(tracked);
}
