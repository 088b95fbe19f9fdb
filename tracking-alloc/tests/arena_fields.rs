//! Fields of data that is decoded into arenas: what lies inside arenas and what lies outside adds
//! up to the truth, and the chunks are in no field. The data is random, and its truth is
//! arithmetic.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use bumpalo::{Bump, collections::Vec as BumpVec};
use heapglass_limits::Command;
use heapglass_profile::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
use heapglass_profile::profile::{Measure, Profile};
use heapglass_profile::table::{By, Detail, FieldDetail, Row, rows};
use heapglass_profile::{OpenOptions, open};
use proptest::prelude::*;
use serde::de::DeserializeSeed;
use std::collections::BTreeMap;
use tracking_alloc::TrackingAlloc;
use tracking_alloc::arena::{ArenaDeserialize, ArenaSeed, Tracked};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only where its bytes are is looked at")]
struct People<'bump> {
    people: BumpVec<'bump, Person<'bump>>,
}

#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only where its bytes are is looked at")]
struct Person<'bump> {
    name: &'bump str,
    tags: BumpVec<'bump, (u32, &'bump str)>,
    #[arena(global)]
    note: String,
}

/// A person as text lengths: name, tags, note.
type Lengths = (usize, Vec<usize>, usize);

/// People, the capacity of their arenas, and whether the arenas have names.
type Case = (Vec<Vec<Lengths>>, usize, bool);

/// The variable that has the case, as JSON, of a process that is recorded.
const CASE: &str = "ARENA_FIELDS_CASE";

/// Decodes people into an arena each, and ends the process. Every arena is live at the end.
fn work((sets, capacity, is_named): Case) -> ! {
    let mut chunk_bytes = 0;
    for (number, people) in sets.iter().enumerate() {
        let text = json(people);
        let bump: &Bump = Box::leak(Box::new(Bump::with_capacity(capacity)));
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        if is_named {
            let name = format!("people {}", number % 2);
            let arena = Box::leak(Box::new(Tracked::new(name, bump)));
            let people = ArenaSeed::<People>::new(&*arena).deserialize(&mut deserializer);
            std::mem::forget(people.expect("people"));
        } else {
            let people = ArenaSeed::<People>::new(bump).deserialize(&mut deserializer);
            std::mem::forget(people.expect("people"));
        }
        chunk_bytes += bump.allocated_bytes_including_metadata();
    }
    println!("CHUNKS {chunk_bytes} ");
    std::process::exit(0);
}

/// Runs a case in a recorded process of its own, because a process can record only once. Returns
/// the profile and the bytes of all chunks.
fn recorded(test: &str, case: &Case) -> (Profile, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("arenas.hg");
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CASE, serde_json::to_string(case).expect("JSON"))
        .env("HEAPGLASS_OUT", &path)
        .output()
        .expect("it runs");
    assert!(ended.status.success(), "{ended:?}");
    let output = String::from_utf8_lossy(&ended.stdout);
    let (_, chunk_bytes) = output.split_once("CHUNKS ").expect("printed");
    let chunk_bytes = chunk_bytes
        .split_whitespace()
        .next()
        .and_then(|bytes| bytes.parse().ok());
    let profile = open(&path, &OpenOptions::default(), &|_| ()).expect("a profile");
    (profile, chunk_bytes.expect("a number"))
}

/// Does the work of the case that this process was started for, if it was.
fn work_if_asked() {
    if let Some(case) = std::env::var_os(CASE) {
        let case = case.into_string().expect("JSON");
        work(serde_json::from_str(&case).expect("a case"));
    }
}

fn json(people: &[Lengths]) -> String {
    let people = people.iter().map(|(name, tags, note)| {
        let tags = tags
            .iter()
            .map(|tag| format!("[7, \"{}\"]", "t".repeat(*tag)))
            .collect::<Vec<_>>()
            .join(",");
        let (name, note) = ("n".repeat(*name), "o".repeat(*note));
        format!(r#"{{"name": "{name}", "tags": [{tags}], "note": "{note}"}}"#)
    });
    format!(
        r#"{{"people": [{}]}}"#,
        people.collect::<Vec<_>>().join(",")
    )
}

fn by_field(profile: &Profile) -> Vec<Row> {
    rows(profile, By::Field, Measure::Live, Default::default())
}

fn detail(row: &Row) -> &FieldDetail {
    match &row.detail {
        Detail::Field(detail) => detail,
        other => panic!("not a field: {other:?}"),
    }
}

/// Returns the bytes of the texts of all people, by field.
fn truth(sets: &[Vec<Lengths>]) -> BTreeMap<&'static str, u64> {
    let people = || sets.iter().flatten();
    let sum = |of: fn(&Lengths) -> usize| people().map(of).sum::<usize>() as u64;
    BTreeMap::from([
        ("People.people[].name", sum(|(name, ..)| *name)),
        (
            "People.people[].tags[]#1",
            sum(|(_, tags, _)| tags.iter().sum()),
        ),
        ("People.people[].note", sum(|(.., note)| *note)),
    ])
}

fn people() -> impl Strategy<Value = Vec<Lengths>> {
    let tags = prop::collection::vec(0_usize..200, 0..6);
    let large = prop_oneof![4 => 0_usize..40, 1 => 0_usize..9_000];
    prop::collection::vec((large, tags, 0_usize..300), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn bytes_of_a_field_inside_and_outside_of_arenas_add_up_to_the_truth(
        sets in prop::collection::vec(people(), 1..5),
        capacity in prop_oneof![Just(0_usize), 1_usize..60_000],
    ) {
        work_if_asked();
        let test = "bytes_of_a_field_inside_and_outside_of_arenas_add_up_to_the_truth";
        let case = (sets, capacity, true);
        let (profile, chunk_bytes) = recorded(test, &case);
        let (sets, ..) = case;
        let all = by_field(&profile);
        for (path, bytes) in truth(&sets) {
            let row = all.iter().find(|row| row.key == path);
            let (outside, inside) = row.map_or((0, 0), |row| {
                let inside = detail(row).in_arenas.expect("arenas were recorded");
                assert_nothing_was_given_up(row, inside.live_bytes, inside.total_bytes);
                (row.figures.live_bytes, inside.live_bytes)
            });
            prop_assert_eq!(outside + inside, bytes, "{}: {} outside", path, outside);
        }
        // What is outside fields and no chunk is the program's own: the folder, the handles.
        let mut chunks = 0;
        for row in &all {
            if let Some(arenas) = &detail(row).chunks_of {
                prop_assert!(!arenas.is_empty(), "{}", row.key);
                chunks += row.figures.live_bytes;
            } else if row.key != "(no field)" && !row.key.ends_with(".note") {
                prop_assert_eq!(row.figures.total_bytes, 0, "{}", row.key);
            }
        }
        prop_assert_eq!(chunks, chunk_bytes);
        // The picture has the same rows.
        let options = CallTreeOptions {
            levels: Levels::Field,
            measure: Measure::Live,
            ..CallTreeOptions::default()
        };
        let tree = CallTree::sorted(&profile, &options);
        let nodes = tree.children(NodeId::ROOT).iter();
        let drawn: u64 = nodes.filter(|node| tree.name(**node, &profile).contains(": chunks)")).map(|node| tree.total(*node).live_bytes).sum();
        prop_assert_eq!(drawn, chunk_bytes);
    }
}

/// Checks that nothing was given up: texts never grow.
fn assert_nothing_was_given_up(row: &Row, live_bytes: u64, total_bytes: u64) {
    assert_eq!(live_bytes, total_bytes, "{}", row.key);
}

#[test]
fn chunks_of_an_arena_without_a_name_are_in_no_field_either() {
    work_if_asked();
    let test = "chunks_of_an_arena_without_a_name_are_in_no_field_either";
    let sets = vec![vec![(4_000, vec![100, 200], 30); 20]];
    let (profile, chunk_bytes) = recorded(test, &(sets, 0, false));
    let all = by_field(&profile);
    let chunks = all
        .iter()
        .find(|row| row.key == "(arenas without a name: chunks)");
    assert_eq!(
        chunks.expect("a row of chunks").figures.live_bytes,
        chunk_bytes
    );
    let name = all
        .iter()
        .find(|row| row.key == "People.people[].name")
        .expect("a row of names");
    assert_eq!(
        (name.figures.total_bytes, detail(name).in_arenas),
        (0, None)
    );
    let note = all.iter().find(|row| row.key == "People.people[].note");
    assert_eq!(note.expect("a row of notes").figures.live_bytes, 20 * 30);
}
