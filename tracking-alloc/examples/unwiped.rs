//! Forks where the kernel takes the advice to wipe pages in children and ignores it, as qemu-user does
//! (`tests/built/sandbox.rs`).

mod seccomp;

use seccomp::{answer, equal, load};
use std::hint::black_box;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    ignore_wiping();
    let path = std::env::args().nth(1).expect("a path");
    let recorder = tracking_alloc::Recorder::start(path).expect("it begins");
    allocate(100);
    // By libc, and past it.
    for by_libc in [true, false] {
        // SAFETY: the child only allocates and ends; there is one thread.
        let child = unsafe {
            if by_libc {
                libc::fork()
            } else {
                libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t
            }
        };
        if child == 0 {
            let _phase = tracking_alloc::phase("child");
            allocate(1_000);
            // SAFETY: no handlers of the parent's run.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: a child of ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }
    recorder.finish().expect("it finishes");
}

#[inline(never)]
fn allocate(blocks: u64) {
    for block in 0..blocks {
        black_box(Box::new(block));
    }
}

/// From here on, `madvise(MADV_WIPEONFORK)` does nothing and answers 0.
fn ignore_wiping() {
    seccomp::install(&mut [
        load(0),
        equal(libc::SYS_madvise as u32, 0, 3),
        load(16 + 2 * 8),
        equal(libc::MADV_WIPEONFORK as u32, 0, 1),
        answer(libc::SECCOMP_RET_ERRNO),
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
}
