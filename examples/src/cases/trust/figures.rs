//! Programs for `tests/trust/figures.rs`. Each records from its first statement to its last, and
//! comments list every allocator call in between.

use crate::cases::{Block, Tally};
use serde_derive::Deserialize;
use std::process::ExitCode;
use std::sync::Mutex;
use tracking_alloc::{Profiled, Recorder, mark, phase};

static TALLY: Tally = Tally::new();

/// Runs a case. Returns `None` if no case has that name. `words` starts with the path of the
/// recording.
pub(super) fn run(name: &str, words: &[&str]) -> Option<ExitCode> {
    let case: fn() = match name {
        "figures-one" => one,
        "figures-two" => two,
        "figures-marks" => marks,
        "figures-older" => older,
        "figures-fields" => fields,
        "figures-refused" => refused,
        "figures-kept" => kept,
        "figures-fatal" => fatal,
        _ => return None,
    };
    let path = words.first().expect("the path of the recording");
    let held = Block::new(&TALLY, 5_000, 1);
    *OLDER.lock().expect("a lock") = Some(held);
    let recorder = Recorder::start(path).expect("it records");
    case();
    // The second word says if the test reads the recording before the end.
    if words.get(1) == Some(&"wait") {
        wait();
    }
    recorder.finish().expect("it was recording");
    Some(ExitCode::SUCCESS)
}

static OLDER: Mutex<Option<Block>> = Mutex::new(None);

/// Signals that the recording can be read, and waits until it was read, without an allocation.
fn wait() {
    let mut byte = [b'.'];
    // SAFETY: one byte to write and to read.
    unsafe {
        libc::write(1, byte.as_ptr().cast(), 1);
        libc::read(0, byte.as_mut_ptr().cast(), 1);
    }
}

fn block(bytes: usize) -> Block {
    Block::new(&TALLY, bytes, 1)
}

/// Events of every kind in two phases. The comments give the live bytes after each event.
fn one() {
    let mut kept = block(100); // 100
    {
        let _phase = phase("a").input_bytes(32).records(4);
        let mut grown = block(40); // 140
        grown.resize(90); // 190
        grown.resize(90); // 190
        grown.resize(60); // 160
        drop(grown); // 100
        drop(block(24)); // 124, 100
    }
    {
        let _phase = phase("b");
        kept.resize(50); // 50
        kept.resize(200); // 200
        let _inner = phase("c");
        let other = block(7); // 207: the peak
        drop(kept); // 7
        std::mem::forget(other);
    }
}

/// A type of this crate: std's own instances of vectors of bytes have no frame pointers.
struct Pixel {
    _channels: [u8; 4],
}

/// More bytes than any allocator provides.
const TOO_MUCH: usize = 1 << 50;

/// Failed requests that are handled: an allocation, twice, and a realloc.
#[inline(never)]
fn refused() {
    for _ in 0..2 {
        reserve(TOO_MUCH);
    }
    let mut kept = Vec::<Pixel>::with_capacity(100 / size_of::<Pixel>());
    let pixels = TOO_MUCH / 2 / size_of::<Pixel>();
    assert!(kept.try_reserve_exact(pixels).is_err());
    std::mem::forget(kept);
}

#[inline(never)]
fn reserve(bytes: usize) {
    let mut blocks = Vec::<Box<Pixel>>::new();
    assert!(blocks.try_reserve_exact(bytes / 8).is_err());
}

/// One failed request that is handled, then one that ends the program.
#[inline(never)]
fn fatal() {
    reserve(TOO_MUCH);
    let blocks = Vec::<Box<Pixel>>::with_capacity(TOO_MUCH / 16);
    std::mem::forget(blocks);
}

/// 64 MiB in small blocks. All but one block in each 64 KiB are freed, so the allocator cannot
/// return the pages.
#[inline(never)]
fn kept() {
    const BLOCK_BYTES: usize = 1 << 10;
    let mut blocks: Vec<Box<[u8; BLOCK_BYTES]>> = Vec::new();
    for index in 0..64 << 10 {
        blocks.push(Box::new([index as u8; BLOCK_BYTES]));
    }
    let mut index = 0;
    blocks.retain(|_| {
        index += 1;
        index % 64 == 0
    });
    blocks.shrink_to_fit();
    std::mem::forget(blocks);
}

/// Runs `f` in a thread of that name, which allocates nothing of its own.
fn in_thread(name: &'static std::ffi::CStr, f: fn()) {
    static NAME: Mutex<&std::ffi::CStr> = Mutex::new(c"");
    extern "C" fn run(f: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: PR_SET_NAME reads a string that lives forever, and `f` was made from such a
        // function.
        let f: fn() = unsafe {
            libc::prctl(libc::PR_SET_NAME, NAME.lock().expect("a lock").as_ptr());
            std::mem::transmute::<*mut libc::c_void, fn()>(f)
        };
        f();
        std::ptr::null_mut()
    }
    *NAME.lock().expect("a lock") = name;
    // SAFETY: a number or a pointer, depending on the C library. Zeros are valid for both.
    let mut thread: libc::pthread_t = unsafe { std::mem::zeroed() };
    // SAFETY: the function accepts its argument, and the thread is joined once.
    unsafe {
        let f = f as *mut libc::c_void;
        assert_eq!(
            libc::pthread_create(&mut thread, std::ptr::null(), run, f),
            0
        );
        assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
    }
}

static PASSED: Mutex<[Option<Block>; 2]> = Mutex::new([None, None]);

/// A thread allocates three blocks. The main thread frees one of them and reallocates another.
fn two() {
    // The main thread gets its lane first.
    drop(block(1));
    in_thread(c"maker", || {
        let _phase = phase("make");
        let blocks = [block(1000), block(300)];
        *PASSED.lock().expect("a lock") = blocks.map(Some);
        std::mem::forget(block(50));
        drop(block(8));
    });
    let _phase = phase("use");
    let [first, second] = std::mem::take(&mut *PASSED.lock().expect("a lock"));
    drop(first);
    let mut second = second.expect("a block");
    second.resize(400);
    drop(block(70));
    std::mem::forget(second);
}

/// Two marks whose windows have the same peak, and a third window with that peak too.
fn marks() {
    for name in ["first", "second", "third"] {
        {
            let _phase = phase(name);
            drop(block(600));
        }
        if name != "third" {
            mark(name);
        }
    }
}

/// Frees blocks that are older than the recording.
fn older() {
    drop(OLDER.lock().expect("a lock").take());
    drop(block(10));
}

#[derive(Deserialize)]
struct City {
    name: String,
    people: Vec<u32>,
}

/// A list of two cities. Its buffer starts with 4 places when it grows, and so do lists of numbers.
fn fields() {
    const INPUT: &str = r#"[{"name":"Uppsala","people":[1,2,3,4,5]},{"name":"Oslo","people":[7]}]"#;
    let _phase = phase("load");
    let cities = serde_json::from_str::<Profiled<Vec<City>>>(INPUT);
    let cities = cities.expect("two cities").0;
    let sum: u32 = cities.iter().flat_map(|city| &city.people).sum();
    assert_eq!((sum, cities[1].name.as_str()), (22, "Oslo"));
    // The remaining values are known too.
    let mut cities = cities;
    drop(cities.pop());
    std::mem::forget(cities);
}
