//! Children of every kind, and descriptors that the program closes without knowing them.

use super::{Block, Tally};
use crate::data::Random;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tracking_alloc::phase;

static TALLY: Tally = Tally::new();
static CHILD: Tally = Tally::new();

fn work(seed: u64, rounds: usize) {
    let random = &mut Random::new(seed);
    let mut kept = Vec::with_capacity(100);
    let _work = phase("work");
    for _ in 0..rounds {
        if kept.len() == 100 {
            kept.swap_remove(random.below(100));
        }
        kept.push(Block::new(&TALLY, 1 + random.below(300), 8));
    }
}

/// Waits for a child. Returns `true` if it ended with status 0.
fn waited(child: libc::pid_t) -> bool {
    let mut status = -1;
    // SAFETY: `status` is valid to write into.
    unsafe { libc::waitpid(child, &mut status, 0) == child && status == 0 }
}

/// Forks `times` times while two threads allocate. The children allocate too, and leave by `exit`.
pub(super) fn fork(times: usize) {
    static STOP: AtomicBool = AtomicBool::new(false);
    let threads: Vec<_> = (0..2)
        .map(|seed| {
            std::thread::spawn(move || {
                while !STOP.load(Relaxed) {
                    work(seed, 200);
                }
            })
        })
        .collect();
    for _ in 0..times {
        // SAFETY: the child uses the allocator, which glibc keeps usable after a fork, and then
        // exits.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let _phase = phase("child");
            let blocks: Vec<Block> = (1..200).map(|bytes| Block::new(&CHILD, bytes, 8)).collect();
            drop(blocks);
            // SAFETY: this runs the handlers registered with atexit, including ours.
            unsafe { libc::exit(0) };
        }
        assert!(waited(child));
    }
    STOP.store(true, Relaxed);
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    TALLY.print();
}

/// Runs `times` commands.
pub(super) fn spawn(times: usize) {
    for _ in 0..times {
        work(1, 5);
        assert!(
            Command::new("true")
                .status()
                .expect("true starts")
                .success()
        );
    }
    TALLY.print();
}

/// Replaces itself by another program that also records to the same path.
pub(super) fn exec() {
    work(3, 1_000);
    TALLY.print();
    let own = std::env::current_exe().expect("a path");
    panic!("{}", Command::new(own).args(["die", "return"]).exec());
}

/// Closes every descriptor, opens a file of its own, and makes the recording grow.
pub(super) fn close_all(own: &str) {
    // SAFETY: nobody uses the closed descriptors any more.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    assert_eq!(closed, 0);
    let mut file = std::fs::File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(own)
        .expect("a file");
    file.write_all(b"nobody else writes here").expect("written");
    for site in 0..5_000 {
        let _phase = phase(&format!("phase {site}"));
        drop(Block::new(&TALLY, 10, 8));
    }
    let mut text = String::new();
    file.rewind().expect("rewound");
    file.read_to_string(&mut text).expect("read");
    assert_eq!(text, "nobody else writes here");
    TALLY.print();
}

/// Forks a child that begins a recording of its own.
pub(super) fn child_recorder(path: &str) {
    let held = {
        let _work = phase("work");
        Block::new(&TALLY, 1_000, 8)
    };
    // SAFETY: the only thread forks, and the child leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let recorder =
            tracking_alloc::Recorder::start(path).expect("a recording of the child's own");
        let threads: Vec<_> = (0..2)
            .map(|_| {
                std::thread::spawn(|| {
                    let _phase = phase("child");
                    (1..500).for_each(|bytes| drop(Block::new(&CHILD, bytes, 8)));
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("it ends"));
        // The parent's block is not part of the child's recording.
        drop(held);
        recorder.finish().expect("finished");
        // SAFETY: never returns.
        unsafe { libc::_exit(0) };
    }
    assert!(waited(child));
    work(4, 1_000);
    drop(held);
    TALLY.print();
}
