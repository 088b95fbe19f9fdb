//! Forks where the kernel accepts the advice to wipe pages in children but ignores it, as qemu-user
//! does (`tests/built/sandbox.rs`).

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
    // Once through libc, and once as a direct system call.
    for by_libc in [true, false] {
        // SAFETY: the child only allocates and ends; there is only one thread.
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
            // SAFETY: `_exit` runs no handlers of the parent.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the child is our own.
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

/// From now on, `madvise(MADV_WIPEONFORK)` does nothing and returns 0.
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
