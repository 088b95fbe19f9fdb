//! Allocates from stacks that change in every possible way: calls and returns, panics that unwind,
//! jumps out of many functions at once, frames of changing size, signal handlers, coroutines with
//! their own stacks, and more frames than a walk visits, on four threads
//! (`tests/built/unwinders.rs`).

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    // SAFETY: the handler only allocates, and the signal is raised only where allocating is
    // allowed.
    unsafe { libc::signal(libc::SIGUSR1, on_signal as *const () as usize) };
    let seeds = std::env::args()
        .nth(1)
        .map_or(4, |seeds| seeds.parse().expect("a number"));
    std::thread::scope(|scope| {
        for seed in 1..=seeds {
            scope.spawn(move || {
                RANDOM.set(seed * 0x1234_5678_9ABC);
                (0..200).for_each(|_| deeper(random(2) * random(1_500)));
            });
        }
    });
}

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(1) };
    /// The place to which `escape` jumps; 0 if there is none.
    static ESCAPE: Cell<usize> = const { Cell::new(0) };
}

/// Returns a pseudo-random number below `most` (xorshift).
fn random(most: u64) -> u64 {
    let mut word = RANDOM.get();
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    RANDOM.set(word);
    (word >> 11) % most
}

fn allocate() {
    for _ in 0..random(4) {
        black_box(Box::new([random(9); 4]));
    }
}

/// Begins deeper than walks go, one time in two.
#[inline(never)]
fn deeper(more: u64) {
    match more {
        0 => one(90),
        _ => deeper(more - 1),
    }
    if random(16) == 0 {
        allocate();
    }
    black_box(more);
}

#[inline(never)]
fn one(depth: u64) {
    allocate();
    next(depth);
    allocate();
    black_box(depth);
}

#[inline(never)]
fn two(depth: u64) {
    next(depth);
    let words = black_box([depth; 9]);
    allocate();
    if depth % 16 < 2 {
        next(depth / 2);
    }
    black_box(words);
}

#[inline(never)]
fn next(depth: u64) {
    if depth == 0 {
        return allocate();
    }
    let depth = depth - 1;
    match random(24) {
        0..8 => one(depth),
        8..16 => two(depth),
        16 => {
            let caught = catch_unwind(AssertUnwindSafe(|| one(depth)));
            black_box(caught.is_err());
        }
        17 if depth < 40 => {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                two(depth / 2);
                resume_unwind(Box::new(depth));
            }));
            allocate();
            black_box(caught.is_err());
        }
        18 => {
            allocate();
            // SAFETY: the handler allocates, as this function does.
            unsafe { libc::raise(libc::SIGUSR1) };
            one(depth);
        }
        19 if depth > 40 && random(8) == 0 => in_coroutine(depth / 4),
        20 => with_gap(depth),
        21 => with_escape(depth),
        22 if depth < 60 => escape(),
        _ => two(depth),
    }
    allocate();
    black_box(depth);
}

extern "C" fn on_signal(_: i32) {
    allocate();
    one(random(6));
}

/// Calls `one` on a separate stack, which switches back now and then.
#[inline(never)]
fn in_coroutine(depth: u64) {
    struct Coroutine {
        inside: libc::ucontext_t,
        outside: libc::ucontext_t,
        depth: u64,
        ended: bool,
    }
    thread_local! {
        static CURRENT: Cell<*mut Coroutine> = const { Cell::new(std::ptr::null_mut()) };
    }
    extern "C" fn run() {
        let current = CURRENT.get();
        // SAFETY: `in_coroutine` waits until this coroutine has ended.
        let coroutine = unsafe { &mut *current };
        let escape = ESCAPE.replace(0);
        for _ in 0..3 {
            one(coroutine.depth);
            // SAFETY: the other context is waiting in `in_coroutine`.
            unsafe { libc::swapcontext(&raw mut (*current).inside, &raw const (*current).outside) };
            CURRENT.set(current);
        }
        ESCAPE.set(escape);
        coroutine.ended = true;
        // SAFETY: as above; nothing switches back here.
        unsafe { libc::swapcontext(&raw mut (*current).inside, &raw const (*current).outside) };
    }
    if !CURRENT.get().is_null() {
        return one(depth);
    }
    let mut stack = vec![0u64; 64 << 10];
    // SAFETY: a context may be all zero bytes until getcontext fills it.
    let mut coroutine: Box<Coroutine> = Box::new(unsafe { std::mem::zeroed() });
    coroutine.depth = depth;
    let place = &raw mut *coroutine;
    // SAFETY: the stack and both contexts live until the coroutine has ended.
    unsafe {
        libc::getcontext(&raw mut (*place).inside);
        (*place).inside.uc_stack.ss_sp = stack.as_mut_ptr().cast();
        (*place).inside.uc_stack.ss_size = stack.len() * 8;
        libc::makecontext(&raw mut (*place).inside, run, 0);
        while !(*place).ended {
            CURRENT.set(place);
            libc::swapcontext(&raw mut (*place).outside, &raw const (*place).inside);
            CURRENT.set(std::ptr::null_mut());
            allocate();
        }
    }
}

extern "C" fn one_from_assembly(depth: u64) {
    one(depth);
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn heapglass_with_gap(call: extern "C" fn(u64), depth: u64, bytes: u64);
    fn heapglass_with_escape(call: extern "C" fn(u64), depth: u64, place: *mut usize);
    fn heapglass_escape(place: usize) -> !;
}

/// Calls `one` from a frame of varying size.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn with_gap(depth: u64) {
    // SAFETY: the assembly only calls back.
    unsafe { heapglass_with_gap(one_from_assembly, depth, 16 * random(50)) };
    black_box(depth);
}

/// Calls `one`. From there, [`escape`] jumps back here at once.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn with_escape(depth: u64) {
    let (before, mut place) = (ESCAPE.get(), 0usize);
    extern "C" fn call(depth: u64) {
        one(depth);
    }
    // SAFETY: no value between here and `escape` needs to be dropped.
    unsafe {
        ESCAPE.set(&raw mut place as usize);
        heapglass_with_escape(call, depth, &raw mut place);
    }
    ESCAPE.set(before);
    black_box(depth);
}

/// Leaves all functions up to the innermost [`with_escape`] in progress.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn escape() {
    allocate();
    let place = ESCAPE.replace(0);
    if place != 0 {
        // SAFETY: that call of `with_escape` is still in progress; when it ends, it restores the
        // earlier place.
        unsafe { heapglass_escape(*(place as *const usize)) };
    }
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".type heapglass_with_gap,@function",
    "heapglass_with_gap:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, rdx",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".type heapglass_with_escape,@function",
    "heapglass_with_escape:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "push rdx",
    "mov [rdx], rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "heapglass_escaped:",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".type heapglass_escape,@function",
    "heapglass_escape:",
    "mov rsp, rdi",
    "lea rbp, [rsp + 48]",
    "jmp heapglass_escaped",
);

#[cfg(not(target_arch = "x86_64"))]
fn with_gap(depth: u64) {
    one(depth);
}

#[cfg(not(target_arch = "x86_64"))]
fn with_escape(depth: u64) {
    one(depth);
}

#[cfg(not(target_arch = "x86_64"))]
fn escape() {}
