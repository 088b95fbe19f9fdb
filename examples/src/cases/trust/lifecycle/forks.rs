//! Forked children: some do not record, some do, and all inherit state.

use super::super::super::{Block, Tally};
use super::work::{Begun, TALLY, at_stop, decode, rounds_forever};
use bumpalo::Bump;
use std::sync::atomic::{AtomicI32, Ordering::*};
use std::time::Duration;
use tracking_alloc::arena::{Arena, Tracked};
use tracking_alloc::{Recorder, phase};
use tracking_alloc_recording::LANES;

static CHILD: Tally = Tally::new();

/// Forks a child that runs `f` and exits. A child that takes longer than 20 s is killed.
fn fork(f: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child uses the allocator, which glibc keeps usable after a fork, and leaves by
    // `_exit`.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::alarm(20);
            f();
            libc::_exit(0);
        }
        child
    }
}

/// Waits for a child. Returns its status, which is 0 if it ended well.
fn waited(child: libc::pid_t) -> i32 {
    let mut status = -1;
    // SAFETY: `status` is valid to write into.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

/// A child continues everything that its parent began, after the parent's recording is sealed.
pub(super) fn outlive_fork() {
    static SEALED: [AtomicI32; 2] = [AtomicI32::new(0), AtomicI32::new(0)];
    static FORKED: AtomicI32 = AtomicI32::new(-1);
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    SEALED
        .iter()
        .zip(ends)
        .for_each(|(to, end)| to.store(end, Relaxed));
    let begun = Begun::new();
    let kept = Recorder::current();
    at_stop(|| {
        // SAFETY: as in `fork`. The child leaves by `_exit` below.
        let child = unsafe { libc::fork() };
        FORKED.store(child, Relaxed);
        if child == 0 {
            let ends = SEALED.each_ref().map(|end| end.load(Relaxed));
            // SAFETY: these are our own descriptors. The end of the pipe signals that the parent
            // has finished.
            unsafe {
                libc::alarm(20);
                libc::close(ends[1]);
                libc::read(ends[0], [0u8].as_mut_ptr().cast(), 1);
            }
        }
    });
    decode();
    let child = FORKED.load(Relaxed);
    if child == 0 {
        begun.go_on(kept);
        // SAFETY: never returns.
        unsafe { libc::_exit(0) };
    }
    let recorder = Recorder::current().expect("it records");
    recorder.finish().expect("finished");
    // SAFETY: this is our own descriptor.
    unsafe { libc::close(ends[1]) };
    println!("status={}", waited(child));
    std::mem::forget((begun, kept));
}

/// Runs threads whose events take every lock: blocks at odd addresses (with a packing allocator),
/// new phases, marks.
fn others_take_locks() {
    for seed in 1..3 {
        std::thread::spawn(move || rounds_forever(seed));
    }
    for _ in 0..2 {
        std::thread::spawn(|| {
            loop {
                let blocks: Vec<Block> = (0..100).map(|_| Block::new(&TALLY, 3, 1)).collect();
                drop(blocks);
            }
        });
    }
    std::thread::sleep(Duration::from_millis(20));
}

/// Children that do not record, but request everything that a recording offers.
pub(super) fn children_never_wait(times: usize) {
    let arena = Tracked::new("arena", Bump::new());
    let _ = arena.alloc_str("before");
    others_take_locks();
    let bad = (0..times)
        .map(|_| {
            let handles = [(); 2].map(|()| Recorder::current().expect("it records"));
            let child = fork(|| {
                let [one, two] = handles;
                let _ = one.path();
                one.mark("child");
                one.pause();
                let _ = tracking_alloc::stats();
                let _phase = phase("child");
                decode();
                let blocks: Vec<Block> = (0..100).map(|_| Block::new(&CHILD, 3, 1)).collect();
                let _ = arena.alloc("on the heap".repeat(2));
                tracking_alloc::footprint("child", &vec!["child".to_owned()]);
                drop(blocks);
                one.finish().expect_err("it is the parent's");
                two.finish_to_bytes().expect_err("it is the parent's");
                assert!(Recorder::current().is_none());
            });
            waited(child)
        })
        .filter(|status| *status != 0)
        .count();
    println!("bad={bad}");
}

/// Children that make recordings of their own, in memory.
pub(super) fn children_record(times: usize) {
    others_take_locks();
    let bad = (0..times)
        .map(|_| {
            let child = fork(|| {
                let recorder = Recorder::start_in_memory().expect("a recording of its own");
                let _child = phase("child");
                let blocks: Vec<Block> = (0..100).map(|_| Block::new(&CHILD, 3, 1)).collect();
                decode();
                drop(blocks);
                recorder.mark("done");
                assert!(!recorder.finish_to_bytes().expect("its bytes").is_empty());
            });
            waited(child)
        })
        .filter(|status| *status != 0)
        .count();
    println!("bad={bad}");
}

#[inline(never)]
fn outer(levels: usize) -> Block {
    if levels == 0 {
        return std::hint::black_box(Block::new(&CHILD, 123, 8));
    }
    std::hint::black_box(outer(levels - 1))
}

/// A child forked by a worker thread records its stacks.
pub(super) fn child_of_a_worker(path: &str) {
    let path = path.to_owned();
    let worker = std::thread::spawn(move || {
        waited(fork(|| {
            let recorder = Recorder::start(path).expect("a recording of its own");
            let _child = phase("child");
            (0..3).for_each(|levels| drop(outer(levels)));
            recorder.finish().expect("finished");
        }))
    });
    println!("status={}", worker.join().expect("it ends"));
}

/// A child forked by a thread that has no lane of its own, because there are too many. Another
/// thread of the child begins the recording.
pub(super) fn child_of_a_shared_lane(path: &str) {
    let path = path.to_owned();
    // As many threads as there are lanes wait. The last thread has to share a lane.
    let (wait, waiting) = std::sync::mpsc::channel::<()>();
    let waiting = std::sync::Arc::new(std::sync::Mutex::new(waiting));
    let ready = std::sync::Arc::new(std::sync::Barrier::new(LANES + 1));
    for _ in 0..LANES {
        let (waiting, ready) = (waiting.clone(), ready.clone());
        std::thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(move || {
                drop(Block::new(&TALLY, 10, 8));
                ready.wait();
                let _ = waiting.lock().map(|waiting| waiting.recv());
            })
            .expect("a thread");
    }
    ready.wait();
    let last = std::thread::spawn(move || {
        let inherited = phase("of the parent");
        drop(Block::new(&TALLY, 20, 8));
        waited(fork(|| {
            std::thread::spawn(|| {
                std::mem::forget(Recorder::start(path).expect("a recording of its own"));
                drop(phase("other"));
            })
            .join()
            .expect("it ends");
            // The scope is still the parent's phase, which is not part of this recording.
            drop(Block::new(&CHILD, 1_000, 8));
            {
                let _child = phase("child");
                (1..100).for_each(|bytes| drop(Block::new(&CHILD, bytes, 8)));
            }
            drop(inherited);
            drop(Block::new(&CHILD, 2_000, 8));
            let recorder = Recorder::current().expect("it records");
            recorder.finish().expect("finished");
        }))
    });
    println!("status={}", last.join().expect("it ends"));
    drop(wait);
}

/// Handles inherited from the parent's recording do nothing in the child's.
pub(super) fn handles_of_the_parent(path: &str) {
    let outer = phase("outer of the parent");
    let begun = Begun::new();
    let inherited = [(); 2].map(|()| Recorder::current().expect("it records"));
    let child = fork(|| {
        let recorder = Recorder::start(path).expect("a recording of its own");
        drop(phase("child"));
        drop(phase("child too"));
        let [one, two] = inherited;
        one.mark("not the child's");
        one.pause();
        assert_eq!(one.path(), None);
        begun.go_on(Some(one));
        two.finish().expect_err("it is the parent's");
        drop(outer);
        drop(Block::new(&CHILD, 3_000, 8));
        assert!(recorder.path().is_some());
        recorder.finish().expect("not finished before");
    });
    println!("status={}", waited(child));
}
