//! The allocation benchmark (0.1, 0.5, 0.6), small strings (0.20) and a profiled decode as a WebAssembly module without imports; `bench.mjs` is its
//! host, in node and in a page.
//!
//! An instance does one piece of work: linear memory never shrinks, so the next one would find it grown already.

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
    /// The names that were prepared last, as JSON.
    static NAMES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The recording that was taken last.
    static TAKEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Builds and drops lists of strings with the global allocator: dlmalloc, std's own, or talc.
#[unsafe(no_mangle)]
pub extern "C" fn global(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    drop(std::hint::black_box(lists::global(lists)));
}

/// Builds the same lists in an arena that grows and drops that.
#[unsafe(no_mangle)]
pub extern "C" fn bumpalo(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bumpalo(lists);
}

/// The same in an arena of the size that the source reckons.
#[unsafe(no_mangle)]
pub extern "C" fn bumpalo_sized(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bumpalo_sized(lists);
}

/// The same with allocator-api2's vector.
#[unsafe(no_mangle)]
pub extern "C" fn bumpalo_same(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bumpalo_same(lists);
}

/// The same with another arena and its vector.
#[unsafe(no_mangle)]
pub extern "C" fn bump_scope(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bump_scope(lists);
}

/// The same with that arena and allocator-api2's vector.
#[unsafe(no_mangle)]
pub extern "C" fn bump_scope_same(lists: u32) {
    let _phase = tracking_alloc::phase("lists").records(lists.into());
    lists::bump_scope_same(lists);
}

/// Keeps the JSON of `count` names of up to `syllables` two-letter syllables; says how many bytes that is.
#[unsafe(no_mangle)]
pub extern "C" fn prepare(count: u32, syllables: u32) -> usize {
    let json = names::json(count, syllables);
    let bytes = json.len();
    NAMES.with(|names| names.replace(json));
    bytes
}

/// Reads the names that were prepared as `String`s; says how many there were.
#[unsafe(no_mangle)]
pub extern "C" fn strings() -> usize {
    NAMES.with(|names| names::read::<String>(&names.borrow()))
}

/// Reads them as small strings.
#[unsafe(no_mangle)]
pub extern "C" fn small_strings() -> usize {
    NAMES.with(|names| names::read::<compact_str::CompactString>(&names.borrow()))
}

/// Bytes that a small string holds in itself: all of it.
#[unsafe(no_mangle)]
pub extern "C" fn inline_bytes() -> usize {
    size_of::<compact_str::CompactString>()
}

/// Writes `people` as JSON and reads them back, profiled; says how many there were.
#[unsafe(no_mangle)]
pub extern "C" fn decode(people: u32) -> u32 {
    let json = {
        let _phase = tracking_alloc::phase("write");
        people::json(people)
    };
    let _phase = tracking_alloc::phase("decode").input_bytes(json.len() as u64);
    people::read(&json).map_or(0, |people| people.len() as u32)
}

/// Begins to record. 1 = it does.
#[unsafe(no_mangle)]
pub extern "C" fn start() -> u32 {
    u32::from(wasm::start("heapglass_wasm.wasm").is_ok())
}

/// Takes the recording; [`recording_bytes`] says how long it is. Null when nothing records.
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

/// Length of the recording that was taken.
#[unsafe(no_mangle)]
pub extern "C" fn recording_bytes() -> usize {
    TAKEN.with(|taken| taken.borrow().len())
}

/// Pages of linear memory, without the recording's own.
#[unsafe(no_mangle)]
pub extern "C" fn pages() -> u64 {
    wasm::memory().map_or(0, |memory| memory.pages)
}

/// How often linear memory grew since the recording began.
#[unsafe(no_mangle)]
pub extern "C" fn grows() -> u64 {
    wasm::memory().map_or(0, |memory| memory.grows)
}

/// Pages that the recording took for itself.
#[unsafe(no_mangle)]
pub extern "C" fn own_pages() -> u64 {
    wasm::memory().map_or(0, |memory| memory.own_pages)
}

/// Blocks allocated since the recording began, reallocs included.
#[unsafe(no_mangle)]
pub extern "C" fn total_blocks() -> u64 {
    tracking_alloc::stats().total_blocks
}

/// The most bytes that were live.
#[unsafe(no_mangle)]
pub extern "C" fn peak_bytes() -> u64 {
    tracking_alloc::stats().peak_bytes
}

/// What recording must leave alone, checked where it runs: 0 when all holds, else the first that does not.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> u32 {
    let ((), delta) = tracking_alloc::measure(|| {
        // A new name: what the recording keeps of it is its own.
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
