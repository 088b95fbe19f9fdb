//! Forks where the kernel takes the advice to wipe pages in children and ignores it, as qemu-user does
//! (`tests/built/sandbox.rs`).

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
    let step = |code: u32, jump_true: u8, jump_false: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k,
    };
    let load = |offset: u32| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let unless_equal =
        |k: u32, skip: u8| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, skip, k);
    let answer = |k: u32| step(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    // seccomp_data: number at 0, arguments of 8 bytes each from 16.
    let mut program = [
        load(0),
        unless_equal(libc::SYS_madvise as u32, 3),
        load(16 + 2 * 8),
        unless_equal(libc::MADV_WIPEONFORK as u32, 1),
        answer(libc::SECCOMP_RET_ERRNO),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program is valid while the call lasts; the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        );
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}
