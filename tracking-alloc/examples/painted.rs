//! Prints the bytes of stack that the recorder uses on its cold paths (`tests/built/sandbox.rs`):
//! `painted RECORDING`.
//!
//! The program paints the stack below it and causes the event. The lowest byte that lost its paint
//! shows the depth. The inner allocator only counts up, so everything below the call is heapglass's
//! own.

#[cfg(target_arch = "x86_64")]
mod in_no_file;

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc<Counting> =
    tracking_alloc::TrackingAlloc::new(Counting);

/// Hands out one array, from its beginning to its end.
struct Counting;

const BYTES: usize = 64 << 20;

#[repr(align(4096))]
struct Memory(std::cell::UnsafeCell<[u8; BYTES]>);

// SAFETY: every byte is handed out only once.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(std::cell::UnsafeCell::new([0; BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: blocks lie inside the array, never overlap, and have the requested alignment.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = layout.size() + layout.align();
        let start = MEMORY.0.get() as usize + USED.fetch_add(bytes, Relaxed);
        let start = start.next_multiple_of(layout.align());
        assert!(start + layout.size() <= MEMORY.0.get() as usize + BYTES);
        start as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

const PAINT: u64 = 0x5AA5_1234_9876_A55A;
const PAINTED: usize = 400 << 10;
/// Bytes below the painter that are not painted: the painter's own calls need them in builds
/// without inlining.
const MARGIN: usize = 512;

/// Returns the bytes of stack that `event` used below the caller's frame.
#[inline(never)]
fn depth(event: impl FnOnce()) -> usize {
    let mark = 0u64;
    let here = black_box(&raw const mark) as usize & !7;
    let lowest = here - PAINTED;
    let mut at = lowest;
    while at < here - MARGIN {
        // SAFETY: this is free stack of this thread, which has more than that.
        unsafe { (at as *mut u64).write_volatile(PAINT) };
        at += 8;
    }
    event();
    let mut at = lowest;
    // SAFETY: as above.
    while at < here - MARGIN && unsafe { (at as *const u64).read_volatile() } == PAINT {
        at += 8;
    }
    here - at
}

fn say(name: &str, bytes: usize) {
    println!("{name}={bytes}");
}

#[inline(never)]
fn block() {
    drop(black_box(Box::new(black_box(1u64))));
}

/// Allocates below this many frames, so that each number is a new site.
#[inline(never)]
fn under_frames(frames: usize, event: &dyn Fn()) -> usize {
    if frames == 0 {
        return black_box(depth(event));
    }
    black_box(under_frames(frames - 1, event))
}

/// Runs `event` in a new thread that has not allocated yet and has a stack large enough for the
/// paint.
fn in_new_thread(event: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void) -> usize {
    let mut thread = 0;
    let mut answer = std::ptr::null_mut();
    // SAFETY: the attributes are initialised before they are used; the thread is joined.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, 1 << 20);
        let begun = libc::pthread_create(&mut thread, &attributes, event, std::ptr::null_mut());
        assert_eq!(begun, 0);
        libc::pthread_join(thread, &mut answer);
    }
    answer as usize
}

extern "C" fn first_event(_: *mut libc::c_void) -> *mut libc::c_void {
    depth(block) as *mut libc::c_void
}

/// Calls `block` from code that is in no file.
#[cfg(target_arch = "x86_64")]
fn from_code_in_no_file() {
    extern "C" fn called() {
        block();
    }
    let code = in_no_file::caller();
    say("unknown_code", depth(|| code(called)));
}

#[cfg(not(target_arch = "x86_64"))]
fn from_code_in_no_file() {}

/// Allocates at another site. The second caller finds that the thread already has a lane.
#[inline(never)]
fn another_block() {
    drop(black_box(Box::new(black_box(2u32))));
}

fn main() {
    let path = std::env::args().nth(1).expect("painted RECORDING");
    let work = move || {
        let mut recorder = None;
        let by_code = std::env::var_os("HEAPGLASS_OUT").is_none();
        if by_code {
            say(
                "start",
                depth(|| recorder = Some(tracking_alloc::Recorder::start(&path))),
            );
            let _ = recorder
                .as_ref()
                .expect("began")
                .as_ref()
                .expect("recording");
        }
        say("first_event", depth(block));
        say("another_site", depth(another_block));
        say("shallow_site", under_frames(3, &block));
        say("deep_site", under_frames(200, &block));
        say("too_deep_site", under_frames(400, &block));
        from_code_in_no_file();
        say("thread", in_new_thread(first_event));
        // This thread takes the lane of the thread that ended.
        say("thread_after_thread", in_new_thread(first_event));
        std::thread::sleep(std::time::Duration::from_millis(30));
        say(
            "look",
            depth(|| drop(black_box(vec![1u8; black_box(100 << 10)]))),
        );
        say(
            "realloc",
            depth(|| {
                let mut bytes = black_box(Vec::<u8>::with_capacity(10));
                bytes.reserve_exact(black_box(100));
                black_box(bytes);
            }),
        );
        say("phase", depth(|| drop(tracking_alloc::phase("a phase"))));
        say("mark", depth(|| tracking_alloc::mark("a mark")));
        if let Some(Ok(recorder)) = recorder {
            say("finish", depth(|| recorder.finish().expect("finished")));
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(work)
        .and_then(|thread| thread.join().map_err(|_| std::io::ErrorKind::Other.into()))
        .expect("a thread");
}
