//! The allocation benchmark (0.1, 0.5, 0.6), small strings (0.20), binary data read into `String`s
//! and into an arena, and a profiled decode as a WebAssembly module without imports. `bench.mjs` is
//! its host, in node and in a page.
//!
//! An instance does one piece of work. Linear memory never shrinks, so the next piece would find it
//! grown already.

mod binary;
mod lists;
mod names;
mod people;

use std::cell::RefCell;
use tracking_alloc::wasm;

#[cfg(not(feature = "talc"))]
#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

#[cfg(feature = "talc")]
#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc<talc::wasm::WasmDynamicTalc> =
    tracking_alloc::TrackingAlloc::new(talc::wasm::new_wasm_dynamic_allocator());

thread_local! {
    /// The names prepared last, as JSON.
    static NAMES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The records prepared last, as binary data.
    static RECORDS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The recording taken last.
    static TAKEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Builds and drops lists of strings with the global allocator: std's own dlmalloc, or talc.
#[unsafe(no_mangle)]
pub extern "C" fn global(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    drop(std::hint::black_box(lists::global(lists)));
}

/// Builds the same lists in a growing arena and drops the arena.
#[unsafe(no_mangle)]
pub extern "C" fn bumpalo(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bumpalo(lists);
}

/// Does the same in an arena of the size that the source calculates.
#[unsafe(no_mangle)]
pub extern "C" fn bumpalo_sized(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bumpalo_sized(lists);
}

/// Does the same with allocator-api2's vector.
#[unsafe(no_mangle)]
pub extern "C" fn bumpalo_same(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bumpalo_same(lists);
}

/// Does the same with another arena and its vector.
#[unsafe(no_mangle)]
pub extern "C" fn bump_scope(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bump_scope(lists);
}

/// Does the same with that arena and allocator-api2's vector.
#[unsafe(no_mangle)]
pub extern "C" fn bump_scope_same(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bump_scope_same(lists);
}

/// Keeps the JSON of `count` names of up to `syllables` two-letter syllables. Returns its length in
/// bytes.
#[unsafe(no_mangle)]
pub extern "C" fn prepare(count: u32, syllables: u32) -> usize {
    let json = names::json(count, syllables);
    let bytes = json.len();
    NAMES.with(|names| names.replace(json));
    bytes
}

/// Reads the prepared names as `String`s. Returns their number.
#[unsafe(no_mangle)]
pub extern "C" fn strings() -> usize {
    NAMES.with(|names| names::read::<String>(&names.borrow()))
}

/// Reads them as small strings. Returns their number.
#[unsafe(no_mangle)]
pub extern "C" fn small_strings() -> usize {
    NAMES.with(|names| names::read::<compact_str::CompactString>(&names.borrow()))
}

/// Returns the number of bytes that a small string stores inline.
#[unsafe(no_mangle)]
pub extern "C" fn inline_bytes() -> usize {
    size_of::<compact_str::CompactString>()
}

/// Keeps binary data of about `bytes` bytes. Returns the bytes of its texts.
#[unsafe(no_mangle)]
pub extern "C" fn prepare_binary(bytes: u32) -> usize {
    let (records, texts) = binary::records(bytes);
    RECORDS.with(|kept| kept.replace(records));
    texts
}

/// Reads the prepared data as `String`s. Returns the bytes of all texts; 0 if it cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn binary_strings() -> usize {
    read_binary(binary::strings)
}

/// Reads it into a growing arena.
#[unsafe(no_mangle)]
pub extern "C" fn binary_arena() -> usize {
    read_binary(binary::arena)
}

/// Reads it into an arena of the size that the data says.
#[unsafe(no_mangle)]
pub extern "C" fn binary_arena_sized() -> usize {
    read_binary(binary::arena_sized)
}

fn read_binary(read: fn(&[u8]) -> Option<usize>) -> usize {
    let _phase = tracking_alloc::phase("decode");
    RECORDS.with(|records| read(&records.borrow()).unwrap_or(0))
}

/// Writes `people` people as JSON and reads them back, profiled. Returns their number.
#[unsafe(no_mangle)]
pub extern "C" fn decode(people: u32) -> u32 {
    let json = {
        let _phase = tracking_alloc::phase("write");
        people::json(people)
    };
    let _phase = tracking_alloc::phase("decode").input_bytes(json.len() as u64);
    people::read(&json).map_or(0, |people| people.len() as u32)
}

/// Begins to record. Returns 1 on success.
#[unsafe(no_mangle)]
pub extern "C" fn start() -> u32 {
    u32::from(wasm::start("heapglass_wasm.wasm").is_ok())
}

/// Takes the recording; [`recording_bytes`] returns its length. Returns null if nothing records.
#[unsafe(no_mangle)]
pub extern "C" fn recording() -> *const u8 {
    match wasm::recording() {
        Ok(bytes) => TAKEN.with(|taken| {
            taken.replace(bytes);
            taken.borrow().as_ptr()
        }),
        Err(_) => std::ptr::null(),
    }
}

/// Returns the length of the recording taken last.
#[unsafe(no_mangle)]
pub extern "C" fn recording_bytes() -> usize {
    TAKEN.with(|taken| taken.borrow().len())
}

/// Returns the pages of linear memory, without the recording's own pages.
#[unsafe(no_mangle)]
pub extern "C" fn pages() -> u64 {
    wasm::memory().map_or(0, |memory| memory.pages)
}

/// Returns the number of times that linear memory grew since the recording began.
#[unsafe(no_mangle)]
pub extern "C" fn grows() -> u64 {
    wasm::memory().map_or(0, |memory| memory.grows)
}

/// Returns the number of pages that the recording took for itself.
#[unsafe(no_mangle)]
pub extern "C" fn own_pages() -> u64 {
    wasm::memory().map_or(0, |memory| memory.own_pages)
}

/// Returns the number of blocks allocated since the recording began, including reallocs.
#[unsafe(no_mangle)]
pub extern "C" fn total_blocks() -> u64 {
    tracking_alloc::stats().total_blocks
}

/// Returns the peak of live bytes.
#[unsafe(no_mangle)]
pub extern "C" fn peak_bytes() -> u64 {
    tracking_alloc::stats().peak_bytes
}

/// Checks that recording leaves the program's heap alone. Returns 0 if all checks hold, otherwise
/// the number of the first that does not.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> u32 {
    let ((), delta) = tracking_alloc::measure(|| {
        // A new name: the recording keeps its copy in its own memory.
        let _phase = tracking_alloc::phase("checked");
        drop(std::hint::black_box(Box::new(7u64)));
    });
    if (delta.total_blocks, delta.total_bytes, delta.live_bytes) != (1, 8, 0) {
        return 1;
    }
    let before = (tracking_alloc::stats(), wasm::memory().ok());
    let (taken, delta) =
        tracking_alloc::measure(|| wasm::recording().map_or(0, |bytes| bytes.len()));
    if taken == 0 || delta != tracking_alloc::Delta::default() {
        return 2;
    }
    let after = (tracking_alloc::stats(), wasm::memory().ok());
    if before.0 != after.0 {
        return 3;
    }
    let pages = |memory: Option<wasm::Memory>| memory.map(|memory| (memory.pages, memory.grows));
    if pages(before.1) != pages(after.1) {
        return 4;
    }
    if wasm::start("twice").is_ok() {
        return 5;
    }
    0
}
