//! Pairs of programs for the kinds of advice: `before` has the problem, `remedy` is the same
//! without it.

use serde_derive::Deserialize;
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Duration;
use tracking_alloc::arena::{Arena, Tracked};

/// Runs one side of the pair of a kind.
///
/// # Panics
/// If there is no pair of that kind.
pub(super) fn run(kind: &str, has_remedy: bool) {
    match kind {
        "missing_capacity" => missing_capacity(has_remedy),
        "temporary" => temporary(has_remedy),
        "growing" => growing(has_remedy),
        "buffered" => buffered(has_remedy),
        "value_tree" => value_tree(has_remedy),
        "small_strings" => small_strings(has_remedy),
        "failed_request" => failed_request(has_remedy),
        "amplification" => amplification(has_remedy),
        "freed_together" => freed_together(has_remedy),
        "in_place_fell_back" => in_place_fell_back(has_remedy),
        "freed_one_by_one" => freed_one_by_one(),
        "long_strings" => long_strings(),
        "amplification_of_an_arena" => amplification_of_an_arena(),
        _ => panic!("no pair of kind {kind:?}"),
    }
}

/// Lists that grow in turns, so that no block can grow in place.
fn missing_capacity(has_remedy: bool) {
    const LENGTH: u64 = 1000;
    let list = || {
        if has_remedy {
            Vec::with_capacity(LENGTH as usize)
        } else {
            Vec::new()
        }
    };
    let mut lists: [Vec<u64>; 64] = std::array::from_fn(|_| list());
    for number in 0..LENGTH {
        for list in &mut lists {
            list.push(number);
        }
    }
    black_box(&lists);
}

fn temporary(has_remedy: bool) {
    let text = [7_u8; 32];
    if has_remedy {
        let mut copy = Vec::with_capacity(text.len());
        for _ in 0..4000 {
            copy.clear();
            copy.extend_from_slice(&text);
            black_box(&copy);
        }
    } else {
        for _ in 0..4000 {
            let copy = text.to_vec();
            black_box(&copy);
        }
    }
}

/// A log that nothing is removed from, for long enough to show that it goes on.
fn growing(has_remedy: bool) {
    static LOG: Mutex<VecDeque<Vec<u8>>> = Mutex::new(VecDeque::new());
    const LIMIT: usize = 16;
    for _ in 0..700 {
        let mut log = LOG.lock().expect("no thread panicked");
        log.push_back(entry());
        if has_remedy && log.len() > LIMIT {
            log.pop_front();
        }
        drop(log);
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[inline(never)]
fn entry() -> Vec<u8> {
    vec![7; 1024]
}

#[derive(Deserialize)]
struct Rest {
    width: u32,
    height: u32,
    depth: u32,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its memory matters")]
struct Flattened {
    number: u32,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Deserialize)]
struct WrittenOut {
    number: u32,
    width: u32,
    height: u32,
    depth: u32,
}

fn buffered(has_remedy: bool) {
    let text = r#"{"number":1,"width":2,"height":3,"depth":4}"#;
    for _ in 0..1000 {
        if has_remedy {
            black_box(serde_json::from_str::<WrittenOut>(text).expect("JSON"));
        } else {
            black_box(serde_json::from_str::<Flattened>(text).expect("JSON"));
        }
    }
}

#[derive(Deserialize)]
struct Reading {
    timestamp: u64,
    sensor_name: String,
    reading: f64,
    quality: u8,
    unit: String,
    place: String,
}

/// The same data in a phase with a stated input.
fn amplification(has_remedy: bool) {
    let text = readings();
    let _load = tracking_alloc::phase("load").input_bytes(text.len() as u64);
    decode(&text, has_remedy);
}

fn value_tree(has_remedy: bool) {
    decode(&readings(), has_remedy);
}

fn readings() -> String {
    let row = r#"{"timestamp":1700000000,"sensor_name":"s-97","reading":0.5,"quality":4,"unit":"celsius","place":"roof"}"#;
    format!("[{}]", vec![row; 3000].join(","))
}

fn decode(text: &str, has_remedy: bool) {
    if has_remedy {
        black_box(serde_json::from_str::<Vec<Reading>>(text).expect("JSON"));
    } else {
        black_box(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    }
}

/// Text of up to 24 bytes without a block of its own, as large as a `String`.
struct Inline {
    _bytes: [u8; 24],
}

fn small_strings(has_remedy: bool) {
    const NAMES: usize = 10_000;
    let text = "a name with twenty b";
    if has_remedy {
        let mut names = Vec::with_capacity(NAMES);
        for _ in 0..NAMES {
            let mut bytes = [0; 24];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            names.push(Inline { _bytes: bytes });
        }
        black_box(&names);
    } else {
        let mut names = Vec::with_capacity(NAMES);
        for _ in 0..NAMES {
            names.push(String::from(text));
        }
        black_box(&names);
    }
}

/// Strings of 40 characters, each pushed one by one.
fn long_strings() {
    let string = |number: u32| {
        let mut string = String::new();
        for at in 0..40 {
            string.push(char::from(b'a' + ((number + at) % 26) as u8));
        }
        string
    };
    let strings: Vec<String> = (0..40_000).map(string).collect();
    black_box(&strings);
}

/// An arena that is filled in a phase with a stated input, and a text outside of it.
fn amplification_of_an_arena() {
    let name = String::from("a text that is allocated here");
    let bump = bumpalo::Bump::new();
    let decode = tracking_alloc::phase("decode").input_bytes(100_000);
    let arena = Tracked::new("people", &bump);
    for _ in 0..10_000 {
        arena.alloc_str(black_box("0123456789").repeat(10).as_str());
    }
    drop(decode);
    drop(arena);
    black_box(&name);
}

/// A length that no machine has room for, as from a damaged file.
fn failed_request(has_remedy: bool) {
    let length = black_box(1_usize << 50);
    if has_remedy && length > 1 << 20 {
        return;
    }
    let mut bytes: Vec<u8> = Vec::new();
    assert!(bytes.try_reserve_exact(length).is_err());
}

const NODES: usize = 4000;

type Node = [u64; 5];

fn freed_together(has_remedy: bool) {
    let _build = tracking_alloc::phase("build");
    if has_remedy {
        let arena = bumpalo::Bump::with_capacity(NODES * size_of::<Node>());
        let mut nodes = Vec::with_capacity(NODES);
        for number in 0..NODES {
            nodes.push(arena.alloc([number as u64; 5]));
        }
        black_box(&nodes);
    } else {
        let mut nodes = Vec::with_capacity(NODES);
        for number in 0..NODES {
            nodes.push(Box::<Node>::new([number as u64; 5]));
        }
        black_box(&nodes);
    }
}

/// As many nodes, most of them live at once, but the first ones are freed before the last ones are
/// made.
fn freed_one_by_one() {
    let _build = tracking_alloc::phase("build");
    let mut nodes = VecDeque::with_capacity(NODES);
    for number in 0..NODES {
        nodes.push_back(Box::<Node>::new([number as u64; 5]));
        if number >= NODES - 10 {
            nodes.pop_front();
        }
    }
    black_box(&nodes);
}

#[derive(Default, Deserialize)]
struct MaybeNamed {
    number: u32,
    name: Option<String>,
    place: String,
}

#[derive(Default, Deserialize)]
struct Named {
    number: u32,
    name: String,
    place: String,
}

/// serde has no way to fill an `Option` in place.
fn in_place_fell_back(has_remedy: bool) {
    if has_remedy {
        let named = in_place::<Named>();
        black_box((named.number, &named.name, &named.place));
    } else {
        let named = in_place::<MaybeNamed>();
        black_box((named.number, &named.name, &named.place));
    }
}

fn in_place<T: serde::de::DeserializeOwned + Default>() -> T {
    let text =
        r#"{"number":1,"name":"a name of more than a few bytes, to be seen","place":"roof"}"#;
    let mut place = tracking_alloc::Profiled(T::default());
    for _ in 0..4000 {
        let mut input = serde_json::Deserializer::from_str(text);
        serde::Deserialize::deserialize_in_place(&mut input, &mut place).expect("JSON");
    }
    place.0
}
