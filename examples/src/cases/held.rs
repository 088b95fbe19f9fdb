//! Pairs of programs for the kinds of advice from snapshots: `before` holds its data in a wasteful
//! way, `remedy` holds the same data without the waste. Each holds it until its input ends.

use bytes::Bytes;
use serde_derive::Deserialize;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::io::{Read, Write};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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
        "text_in_a_local" => text_in_a_local(),
        "buffer_used_again" => buffer_used_again(),
        "text_that_is_written" => text_that_is_written(),
        "growable_bytes" => hold(growable_bytes()),
        "untouched" => hold(table(has_remedy)),
        "unreachable" => unreachable(has_remedy),
        "cycle" => cycle(has_remedy),
        "small_map" if has_remedy => hold(lists_of_attributes()),
        "small_map" => hold(attributes()),
        "held_by_small_part" => hold(keys(has_remedy)),
        "kept_by_weak" => hold(watched(has_remedy)),
        "being_dropped" => drop(links()),
        "pinned_pages" => hold(results(has_remedy)),
        "worker" => worker(),
        "several" => several(),
        "changing" => hold((sessions_in_use(), players())),
        "itself" => itself(),
        "always" => always(),
        "packed" => hold(packed()),
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

fn words() -> String {
    let mut words = String::new();
    for number in 0..40_000 {
        words.push_str(&format!("word-{number:05}-of-a-text,"));
    }
    words
}

/// The most usual program: a text is read, and what was made of it lives together with it. Both are
/// locals.
fn text_in_a_local() {
    let text = std::io::read_to_string(words().as_bytes()).expect("text");
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        parts.push(part.to_owned());
    }
    hold(&parts);
    black_box((text.len(), text.capacity()));
}

/// The last part that was read lies in the buffer.
fn buffer_used_again() {
    let text = words();
    let mut buffer = String::with_capacity(1 << 17);
    let mut parts: Vec<String> = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        buffer.clear();
        let (part, others) = rest.split_at(rest.len().min(1 << 17));
        buffer.push_str(part);
        parts.extend(buffer.split(',').map(str::to_owned));
        rest = others;
    }
    drop(text);
    hold(&parts);
    black_box(buffer.len());
}

/// The texts are there before the one in which they lie.
fn text_that_is_written() {
    let parts: Vec<String> = words().split(',').map(str::to_owned).collect();
    let text = parts.join(",");
    hold(&parts);
    black_box(text.len());
}

/// A `BytesMut` has no way to shrink.
fn growable_bytes() -> Vec<bytes::BytesMut> {
    let message = |_| {
        let mut message = bytes::BytesMut::with_capacity(16 << 10);
        message.extend_from_slice(b"a short message");
        message
    };
    (0..200).map(message).collect()
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

struct Viewer {
    _state: [u64; 30],
}

/// Viewers that come and go, and the table in which each of them is found.
fn watched(has_remedy: bool) -> (Vec<Weak<Viewer>>, Vec<Rc<Viewer>>) {
    let (mut table, mut stay) = (Vec::new(), Vec::new());
    for number in 0..4000 {
        let viewer = Rc::new(Viewer {
            _state: [number; 30],
        });
        table.push(Rc::downgrade(&viewer));
        if number % 10 == 0 {
            stay.push(viewer);
        }
    }
    if has_remedy {
        table.retain(|viewer| viewer.strong_count() > 0);
    }
    (table, stay)
}

struct Link {
    _state: [u64; 30],
    next: Option<Arc<Link>>,
}

impl Drop for Link {
    /// The innermost value is being dropped when it says that the data is there. So are all values
    /// around it.
    fn drop(&mut self) {
        if self.next.is_none() {
            hold(());
        }
    }
}

fn links() -> Option<Arc<Link>> {
    (0..2000).fold(None, |next, number| {
        let _state = [number; 30];
        Some(Arc::new(Link { _state, next }))
    })
}

/// A thread keeps its jobs in a local variable.
fn worker() {
    let (jobs, next) = std::sync::mpsc::channel();
    let (done, is_done) = std::sync::mpsc::channel();
    let work = move || {
        let mut own: Vec<String> = Vec::new();
        while let Ok(number) = next.recv() {
            own.push(format!("{number:>100}"));
            let _ = done.send(());
        }
        own.len()
    };
    let thread = std::thread::Builder::new().name("worker".to_owned());
    let thread = thread.spawn(work).expect("a thread");
    for number in 0..4000 {
        jobs.send(number).expect("a worker");
        is_done.recv().expect("a job that is done");
    }
    hold(());
    drop(jobs);
    assert_eq!(thread.join().expect("no panic"), 4000);
}

/// Five threads hold one value.
fn several() {
    let state = Arc::new([7_u64; 4000]);
    let barrier = Arc::new(std::sync::Barrier::new(6));
    let threads = ["one", "two", "three", "four", "five"].map(|name| {
        let (state, barrier) = (Arc::clone(&state), Arc::clone(&barrier));
        let work = move || {
            let own = black_box(state);
            barrier.wait();
            barrier.wait();
            black_box(&own)[0]
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(work).expect("a thread")
    });
    drop(state);
    barrier.wait();
    hold(());
    barrier.wait();
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), 7);
    }
}

/// Equal at first, and counted one by one later.
struct InUse {
    hits: AtomicU64,
    _queue: Mutex<Vec<u8>>,
    _limits: [u64; 12],
}

fn sessions_in_use() -> Vec<Arc<InUse>> {
    let session = |_| {
        let session = InUse {
            hits: AtomicU64::new(0),
            _queue: Mutex::default(),
            _limits: [5; 12],
        };
        session.hits.store(0, Ordering::Relaxed);
        Arc::new(session)
    };
    (0..10_000).map(session).collect()
}

struct Player {
    seen: Cell<u64>,
    _state: [u64; 12],
}

fn players() -> Vec<Rc<Player>> {
    let player = |_| {
        let player = Player {
            seen: Cell::new(1),
            _state: [5; 12],
        };
        player.seen.set(0);
        Rc::new(player)
    };
    (0..10_000).map(player).collect()
}

#[derive(Default)]
struct Itself {
    _state: [u64; 12],
    own: RefCell<Option<Rc<Itself>>>,
}

fn itself() {
    let keep = std::thread::spawn(move || {
        for _ in 0..2000 {
            let value = Rc::new(Itself::default());
            *value.own.borrow_mut() = Some(Rc::clone(&value));
        }
        vec![7_u8; 1 << 16]
    });
    hold(keep.join().expect("no panic"));
}

fn always() {
    let keep = std::thread::spawn(move || {
        for number in 0..2000 {
            std::mem::forget(job(number));
        }
        vec![7_u8; 1 << 16]
    });
    hold(keep.join().expect("no panic"));
}

/// Its pointers lie at odd addresses.
#[repr(C, packed)]
struct Packed {
    _tag: u8,
    _text: Box<[u8; 200]>,
    _list: Vec<u16>,
}

#[inline(never)]
fn packed() -> Vec<Packed> {
    let packed = |number: u16| Packed {
        _tag: number as u8,
        _text: Box::new([7; 200]),
        _list: (0..number % 300 + 1).collect(),
    };
    (0..4000).map(packed).collect()
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
