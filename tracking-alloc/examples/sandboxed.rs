//! Forbids itself every call that opens, maps or changes a file, and some other rare calls, then
//! continues to allocate in every possible way (`tests/built/sandbox.rs`).

#[cfg(target_arch = "x86_64")]
mod in_no_file;
mod seccomp;

use seccomp::{answer, equal, load, step};
use std::hint::black_box;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    // SAFETY: no other thread allocates yet. Only one arena is allowed, because glibc reads a file
    // to count the processors before it creates a second one.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    let before: Vec<String> = (0..100).map(|n| format!("before {n}")).collect();
    forbid_files();
    let _phase = tracking_alloc::phase("sandboxed");
    let mut blocks = 0;
    for stack in 0..3_000u32 {
        blocks += black_box(turn(stack, 12)).len();
    }
    from_code_in_no_file();
    let threads: Vec<_> = (0..20)
        .map(|n| {
            std::thread::spawn(move || {
                let _phase = tracking_alloc::phase("thread");
                (0..50u32).map(|m| turn(m + n, 12).len()).sum::<usize>()
            })
        })
        .collect();
    for thread in threads {
        blocks += thread.join().unwrap_or(0);
    }
    for n in 0..50 {
        let _phase = tracking_alloc::phase(&format!("phase {n}"));
        black_box(vec![n; 10_000]);
        tracking_alloc::mark("mark");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let figures = tracking_alloc::stats();
    println!(
        "blocks={blocks} live={:?} kept={}",
        figures.live_bytes,
        before.len()
    );
}

/// Calls one of two functions per bit of `stack`, so that each number is another stack.
#[inline(never)]
fn turn(stack: u32, left: u32) -> Vec<u8> {
    match (left, stack & 1) {
        (0, _) => black_box(vec![1; 10 + (stack as usize & 7)]),
        (_, 0) => black_box(one_way(stack >> 1, left - 1)),
        _ => black_box(other_way(stack >> 1, left - 1)),
    }
}

#[inline(never)]
fn one_way(stack: u32, left: u32) -> Vec<u8> {
    let mut bytes = black_box(turn(stack, left));
    bytes.push(1);
    bytes
}

#[inline(never)]
fn other_way(stack: u32, left: u32) -> Vec<u8> {
    let mut bytes = black_box(turn(stack, left));
    bytes.push(2);
    bytes
}

/// Calls back from code that is in no file.
#[cfg(target_arch = "x86_64")]
fn from_code_in_no_file() {
    extern "C" fn called() {
        black_box(Box::new(black_box(1u64)));
    }
    let code = in_no_file::caller();
    for _ in 0..100 {
        code(called);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn from_code_in_no_file() {}

/// Kills the process from here on if it makes a call about files, or one of some others.
fn forbid_files() {
    const FORBIDDEN: [libc::c_long; 17] = [
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_mincore,
        libc::SYS_ftruncate,
        libc::SYS_fallocate,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_readlinkat,
        libc::SYS_linkat,
        libc::SYS_unlinkat,
        libc::SYS_faccessat,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_process_vm_readv,
        libc::SYS_getcwd,
        libc::SYS_membarrier,
        libc::SYS_prctl,
    ];
    let mut program = vec![load(0)];
    for number in FORBIDDEN {
        program.push(equal(number as u32, 0, 1));
        program.push(answer(libc::SECCOMP_RET_KILL_PROCESS));
    }
    // mmap of anything other than anonymous memory.
    program.push(equal(libc::SYS_mmap as u32, 0, 3));
    program.push(load(16 + 3 * 8));
    program.push(step(
        libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K,
        1,
        0,
        libc::MAP_ANONYMOUS as u32,
    ));
    program.push(answer(libc::SECCOMP_RET_KILL_PROCESS));
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    seccomp::install(&mut program);
}
