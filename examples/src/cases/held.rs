//! Pairs of programs for the kinds of advice from snapshots: `before` holds its data in a wasteful
//! way, `remedy` holds the same data without the waste. Each holds it until its input ends.

use bytes::Bytes;
use serde_derive::Deserialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::io::{Read, Write};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs one side of the pair of a kind.
///
/// # Panics
/// If there is no pair of that kind.
pub(super) fn run(kind: &str, has_remedy: bool) {
    match kind {
        "unused_capacity" => hold(scripts(has_remedy)),
        "unused_capacity_of_tables" => hold(sessions(has_remedy)),
        "empty_container" => hold(buffers(has_remedy)),
        "duplicate_content" if has_remedy => hold(shared_cities()),
        "duplicate_content" => hold(cities()),
        "input_kept" => input_kept(has_remedy),
        "could_borrow" => could_borrow(has_remedy),
        "untouched" => hold(table(has_remedy)),
        "unreachable" => unreachable(has_remedy),
        "cycle" => cycle(has_remedy),
        "small_map" if has_remedy => hold(lists_of_attributes()),
        "small_map" => hold(attributes()),
        "held_by_small_part" => hold(keys(has_remedy)),
        "pinned_pages" => hold(results(has_remedy)),
        _ => panic!("no pair of kind {kind:?}"),
    }
}

/// Says that the data is there, and allocates now and then, so that a snapshot can be taken, until
/// the input ends.
///
/// # Panics
/// If standard output is closed.
pub fn hold<T>(data: T) {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        // An error is an end too.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        HAS_ENDED.store(true, Ordering::Relaxed);
    });
    let mut output = std::io::stdout();
    writeln!(output, "ready").expect("a reader");
    output.flush().expect("a reader");
    while !HAS_ENDED.load(Ordering::Relaxed) {
        // Large enough that the recorder looks for a request.
        black_box(vec![7_u8; 1 << 16]);
        std::thread::sleep(Duration::from_millis(1));
    }
    black_box(&data);
}

struct Op {
    _code: u64,
    _argument: [u8; 32],
}

fn scripts(has_remedy: bool) -> Vec<Vec<Op>> {
    let script = |number| {
        let mut script = Vec::with_capacity(if has_remedy { 2 } else { 128 });
        for _ in 0..2 {
            script.push(Op {
                _code: number,
                _argument: [7; 32],
            });
        }
        script
    };
    (0..500).map(script).collect()
}

/// A map that was large once.
fn sessions(has_remedy: bool) -> HashMap<u64, [u64; 8]> {
    let mut sessions = HashMap::new();
    for number in 0..20_000 {
        sessions.insert(number, [number; 8]);
    }
    sessions.retain(|number, _| number % 50 == 0);
    if has_remedy {
        sessions.shrink_to_fit();
    }
    sessions
}

fn buffers(has_remedy: bool) -> Vec<Vec<u8>> {
    let buffer = |_| {
        let mut buffer = vec![7_u8; 8192];
        buffer.clear();
        if has_remedy {
            buffer.shrink_to_fit();
        }
        buffer
    };
    (0..200).map(buffer).collect()
}

const CITIES: usize = 20_000;

fn city(number: usize) -> String {
    format!("a city with a long enough name, number {:04}", number % 97)
}

fn cities() -> Vec<String> {
    let mut cities = Vec::with_capacity(CITIES);
    for number in 0..CITIES {
        cities.push(city(number).as_str().to_owned());
    }
    cities
}

fn shared_cities() -> Vec<Arc<str>> {
    let mut known: HashSet<Arc<str>> = HashSet::new();
    let mut cities = Vec::with_capacity(CITIES);
    for number in 0..CITIES {
        let city = city(number);
        let shared = known.get(city.as_str()).cloned();
        cities.push(shared.unwrap_or_else(|| {
            let shared: Arc<str> = Arc::from(city.as_str());
            known.insert(Arc::clone(&shared));
            shared
        }));
    }
    cities
}

#[derive(Deserialize)]
struct Owned {
    path: String,
}

/// Without `#[serde(borrow)]`, each `Cow` is an owned one.
#[derive(Deserialize)]
struct NotBorrowed<'a> {
    path: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Borrowed<'a> {
    #[serde(borrow)]
    #[expect(dead_code, reason = "only its memory matters")]
    path: Cow<'a, str>,
}

fn paths() -> String {
    let path = |number| format!(r#"{{"path":"/a/path/to/a/file/with/number/{number:06}"}}"#);
    let paths: Vec<String> = (0..5000).map(path).collect();
    format!("[{}]", paths.join(","))
}

fn input_kept(has_remedy: bool) {
    let text = paths();
    let read: Vec<Owned> = serde_json::from_str(&text).expect("JSON");
    if has_remedy {
        drop(text);
        hold(read);
    } else {
        hold((text, read));
    }
}

fn could_borrow(has_remedy: bool) {
    let text = paths();
    if has_remedy {
        hold(serde_json::from_str::<Vec<Borrowed<'_>>>(&text).expect("JSON"));
    } else {
        hold(serde_json::from_str::<Vec<NotBorrowed<'_>>>(&text).expect("JSON"));
    }
    black_box(&text);
}

/// A table that is made for more than ever comes.
fn table(has_remedy: bool) -> Vec<u64> {
    let mut table = vec![0; if has_remedy { 64 << 10 } else { 4 << 20 }];
    for (number, place) in (1..).zip(&mut table[..64 << 10]) {
        *place = number;
    }
    table
}

struct Job {
    _name: String,
    _state: [u64; 12],
}

#[inline(never)]
fn job(number: u64) -> Box<Job> {
    Box::new(Job {
        _name: "a job with some name that is not short".to_owned(),
        _state: [number; 12],
    })
}

fn unreachable(has_remedy: bool) {
    let keep = std::thread::spawn(move || {
        let mut keep = Vec::new();
        for number in 0..4000 {
            let job = job(number);
            if number % 4 == 0 {
                keep.push(job);
            } else if !has_remedy {
                std::mem::forget(job);
            }
        }
        keep
    });
    hold(keep.join().expect("no panic"));
}

#[derive(Default)]
struct Node {
    _state: [u64; 12],
    _parent: Option<Rc<RefCell<Node>>>,
    _weak_parent: Weak<RefCell<Node>>,
    _children: Vec<Rc<RefCell<Node>>>,
}

fn cycle(has_remedy: bool) {
    let keep = std::thread::spawn(move || {
        for _ in 0..2000 {
            let parent = Rc::new(RefCell::new(Node::default()));
            let child = Rc::new(RefCell::new(Node::default()));
            if has_remedy {
                child.borrow_mut()._weak_parent = Rc::downgrade(&parent);
            } else {
                child.borrow_mut()._parent = Some(Rc::clone(&parent));
            }
            parent.borrow_mut()._children.push(child);
        }
        vec![7_u8; 1 << 16]
    });
    hold(keep.join().expect("no panic"));
}

fn attributes() -> Vec<HashMap<u64, [u8; 40]>> {
    let map = |number| HashMap::from([(number, [7; 40])]);
    (0..2000).map(map).collect()
}

fn lists_of_attributes() -> Vec<Vec<(u64, [u8; 40])>> {
    let list = |number| vec![(number, [7; 40])];
    (0..2000).map(list).collect()
}

/// Keys that are sliced out of large messages.
fn keys(has_remedy: bool) -> Vec<Bytes> {
    let key = |number| {
        let mut message = format!("key-{number:012}").into_bytes();
        message.resize(16 << 10, b'x');
        let key = Bytes::from(message).slice(..16);
        if has_remedy {
            Bytes::copy_from_slice(&key)
        } else {
            key
        }
    };
    (0..200).map(key).collect()
}

/// Each result is made between two buffers that are freed when all results are there.
#[expect(clippy::vec_box, reason = "each result has a block of its own")]
fn results(has_remedy: bool) -> Vec<Box<[u8; 48]>> {
    const RESULTS: usize = 20_000;
    let result = || Box::new(black_box([7_u8; 48]));
    let buffer = || black_box(vec![7_u8; 1000]);
    if has_remedy {
        let results = (0..RESULTS).map(|_| result()).collect();
        let buffers: Vec<Vec<u8>> = (0..RESULTS).map(|_| buffer()).collect();
        black_box(&buffers);
        results
    } else {
        let mut buffers = Vec::new();
        let made = (0..RESULTS).map(|_| {
            buffers.push(buffer());
            result()
        });
        made.collect()
    }
}
