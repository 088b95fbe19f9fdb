//! A long run in mode `sample`: the file must not grow with the events, and the resident memory not
//! by more than 1 % or what the timeline takes, although threads end, stacks come that were not
//! sampled before, and a library is loaded again and again. Needs a C compiler (`cc`, or the one
//! that `CC` names). `HEAPGLASS_EVENTS=1000000000 cargo run --release -p tracking-alloc --example
//! sample_long`

use std::error::Error;
use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// The number of events between two reloads, on a thread of their own.
const OF_THREAD: u64 = 1_000_000;
/// The number of bits of a path of calls: there are 16 stacks.
const DEPTH: u32 = 4;
/// The parts of the file that fill with time, not with events, in the first minutes: both halves of
/// the timeline, the checkpoints, and rows of the same sites in the lanes of other threads.
const TABLES_BYTES: u64 = 256 << 10;
/// A function that calls another one, so that its frame is on the stack.
const SOURCE: &str =
    "void through(void (*call)(void *), void *with) { call(with); __asm__ volatile(\"\"); }\n";

type Through = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void);

/// A loaded library.
struct Library(*mut c_void);

impl Library {
    fn load(path: &Path) -> Library {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("no NUL");
        // SAFETY: a path that ends with NUL, to a library without initializers.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "{} is not loaded", path.display());
        Library(library)
    }

    fn through(&self) -> Through {
        // SAFETY: the library is loaded.
        let function = unsafe { libc::dlsym(self.0, c"through".as_ptr()) };
        assert!(!function.is_null());
        // SAFETY: the function has this type.
        unsafe { std::mem::transmute::<*mut c_void, Through>(function) }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: loaded once, and no thread is inside.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }
}

/// Makes two copies of the library, which cannot lie at the same address at the same time.
fn libraries(folder: &Path) -> Result<[PathBuf; 2], Box<dyn Error>> {
    let source = folder.join("through.c");
    std::fs::write(&source, SOURCE)?;
    let paths = ["one.so", "two.so"].map(|name| folder.join(name));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let done = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O1", "-fno-omit-frame-pointer", "-o"])
        .arg(&paths[0])
        .arg(&source)
        .status()?;
    assert!(done.success(), "{} failed", compiler.display());
    std::fs::copy(&paths[0], &paths[1])?;
    Ok(paths)
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

#[inline(never)]
fn left(path: u64, depth: u32, work: &mut dyn FnMut()) {
    turn(path, depth, work);
    black_box(());
}

#[inline(never)]
fn right(path: u64, depth: u32, work: &mut dyn FnMut()) {
    turn(path, depth, work);
    black_box(());
}

/// Calls `work` below one function for each bit of `path`.
#[inline(always)]
fn turn(path: u64, depth: u32, work: &mut dyn FnMut()) {
    match (depth, path & 1) {
        (0, _) => work(),
        (_, 0) => left(path >> 1, depth - 1, work),
        _ => right(path >> 1, depth - 1, work),
    }
}

/// The work of one thread: `OF_THREAD` events with up to 1,000 live blocks.
fn work(number: u64) {
    let mut live: Vec<Vec<u8>> = Vec::new();
    live.resize_with(1000, Vec::new);
    for index in 0..OF_THREAD / 2 {
        let mixed = (number * OF_THREAD + index).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = (mixed >> 40) as usize % 1000;
        let bytes = 16 + (mixed >> 20) as usize % 500;
        let mut allocate = || live[place] = black_box(Vec::with_capacity(bytes));
        turn(mixed >> 60, DEPTH, &mut allocate);
    }
}

unsafe extern "C" fn called(number: *mut c_void) {
    work(number as u64);
}

fn main() -> Result<(), Box<dyn Error>> {
    let all = std::env::var("HEAPGLASS_EVENTS").ok();
    let all: u64 = all.and_then(|all| all.parse().ok()).unwrap_or(100_000_000);
    let folder = tempfile::tempdir()?;
    let libraries = libraries(folder.path())?;
    let path = folder.path().join("long.hg");
    let recorder = tracking_alloc::Recorder::options()
        .sample(true)
        .start(&path)?;
    let mut library = Library::load(&libraries[0]);
    let mut threads = 0;
    let mut make_events = |count: u64| {
        for _ in 0..count.div_ceil(OF_THREAD) {
            threads += 1;
            let through = library.through();
            // SAFETY: the library is loaded until the thread has ended.
            let thread = move || unsafe { through(called, threads as *mut c_void) };
            std::thread::spawn(thread).join().expect("it ends");
            // The old one is closed after the new one is loaded, so the address changes.
            library = Library::load(&libraries[threads as usize % 2]);
        }
    };
    let measured = || {
        let file = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        (file, resident_bytes())
    };
    make_events(all / 10);
    let (file, resident) = measured();
    make_events(all - all / 10);
    let (file_now, resident_now) = measured();
    recorder.finish()?;
    let recording = tracking_alloc_recording::Recording::open(&path)?;
    println!(
        "{threads} threads and reloads, {} sites, {} modules",
        recording.sites.len(),
        recording.modules.len()
    );
    println!(
        "after {} events: file {file}, resident {resident}",
        all / 10
    );
    println!("after {all} events: file {file_now}, resident {resident_now}");
    assert_eq!(file, file_now, "the file grew");
    let growth = resident_now.saturating_sub(resident);
    let most = (resident / 100).max(TABLES_BYTES);
    assert!(growth <= most, "resident memory grew by {growth} bytes");
    Ok(())
}
