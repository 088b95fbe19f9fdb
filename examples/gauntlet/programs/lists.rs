//! Builds and drops the lists of 0.1 with the `malloc` that it is linked with. Case 0.25 builds it
//! as a static library and links it once with musl and once with glibc. Prints how long each time
//! took, in nanoseconds.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn abort() -> !;
    fn printf(format: *const c_char, ...) -> c_int;
    fn strtoul(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulong;
    fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
}

#[repr(C)]
struct Time {
    seconds: c_long,
    nanoseconds: c_long,
}

/// `CLOCK_MONOTONIC`, which is the same in both C libraries.
const MONOTONIC: c_int = 1;

struct Libc;

#[global_allocator]
static ALLOC: Libc = Libc;

// SAFETY: blocks are malloc's. All layouts here have an alignment of at most 8, which malloc's
// blocks have.
unsafe impl GlobalAlloc for Libc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: malloc takes any size.
        unsafe { malloc(layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block is malloc's, and nothing uses it any more.
        unsafe { free(block.cast()) }
    }

    unsafe fn realloc(&self, block: *mut u8, _: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the block is malloc's.
        unsafe { realloc(block.cast(), new_size) }.cast()
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: this ends the process.
    unsafe { abort() }
}

/// Satisfies the linker: the compiled `alloc` refers to it but never calls it, because panics
/// abort.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
/// As above.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() {}

/// Builds the same lists as `words::global` of the gauntlet.
fn lists(count: usize) -> Vec<Vec<Box<str>>> {
    let mut all = Vec::new();
    for _ in 0..count {
        let mut list = Vec::new();
        for _ in 0..5 {
            list.push(Box::from("helloworld"));
        }
        all.push(list);
    }
    all
}

fn now_ns() -> c_long {
    let mut time = Time {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the clock exists and `time` is ours.
    unsafe { clock_gettime(MONOTONIC, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Takes two arguments: the number of lists, and the number of times.
#[unsafe(no_mangle)]
extern "C" fn main(arguments: c_int, argument: *const *const c_char) -> c_int {
    if arguments != 3 {
        return 2;
    }
    let number = |at: usize| {
        // SAFETY: there are two arguments, each a string.
        unsafe { strtoul(*argument.add(at), core::ptr::null_mut(), 10) as usize }
    };
    let (count, times) = (number(1), number(2));
    for _ in 0..times {
        let start = now_ns();
        drop(core::hint::black_box(lists(count)));
        // SAFETY: the format takes one long number.
        unsafe { printf(c"%ld\n".as_ptr(), now_ns() - start) };
    }
    0
}
