//! Ends of a recording while its program continues, also in other threads.

use super::super::super::{Block, Tally};
use super::work::{Begun, at_stop, decode, round, rounds_forever};
use crate::data::Random;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use tracking_alloc::{Recorder, phase};
use tracking_alloc_recording::{Recording, state};

static WORK: Tally = Tally::new();

/// The recording is finished inside a phase, a future, a decoded value and an arena.
pub(super) fn outlive_finish() {
    let begun = Begun::new();
    let kept = Recorder::current();
    at_stop(|| {
        let recorder = Recorder::current().expect("it records");
        recorder.finish().expect("finished");
    });
    decode();
    begun.go_on(kept);
}

fn others_write(seed: u64) {
    for number in 0..4 {
        std::thread::spawn(move || rounds_forever(seed + number));
    }
    // Long enough for up to some hundred rounds of four threads.
    let micros = Random::new(seed).below(12_000) as u64;
    std::thread::sleep(Duration::from_micros(micros));
}

/// Finishes at a random moment while four threads write. They continue for a while.
pub(super) fn finish_while_others_write(seed: u64) {
    others_write(seed);
    let recorder = Recorder::current().expect("it records");
    recorder.finish().expect("finished");
    std::thread::sleep(Duration::from_millis(2));
}

/// Exits at a random moment while four threads write.
pub(super) fn exit_while_others_write(seed: u64) {
    others_write(seed);
    std::process::exit(0);
}

/// A signal handler ends the program, possibly during an event.
pub(super) fn exit_in_a_handler(seed: u64) {
    extern "C" fn handler(_: libc::c_int) {
        // SAFETY: the interrupted code may hold malloc's locks, but no handler of `atexit` needs
        // them here.
        unsafe { libc::exit(0) };
    }
    let micros = 1 + Random::new(seed).below(3_000) as i64;
    let once = libc::itimerval {
        it_interval: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        it_value: libc::timeval {
            tv_sec: 0,
            tv_usec: micros,
        },
    };
    // SAFETY: the handler does not return, and the timer fires once.
    unsafe {
        libc::signal(libc::SIGALRM, handler as *const () as libc::sighandler_t);
        libc::setitimer(libc::ITIMER_REAL, &once, std::ptr::null_mut());
    }
    // Spends about as much time outside of events as inside.
    for number in 0usize.. {
        drop(Block::new(&WORK, 50, 8));
        (0..200).for_each(|step| _ = std::hint::black_box(number ^ step));
    }
}

/// Eight threads finish at once. When a call returns, the file is finished.
pub(super) fn finish_from_many() {
    let barrier = Arc::new(Barrier::new(8));
    let path = Recorder::current()
        .and_then(|recorder| recorder.path())
        .expect("a file");
    let kept: Vec<Block> = (1..2_000).map(|n| Block::new(&WORK, n, 8)).collect();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (barrier, path) = (Arc::clone(&barrier), path.clone());
            std::thread::spawn(move || {
                let recorder = Recorder::current().expect("it records");
                barrier.wait();
                let finished = recorder.finish();
                let recording = Recording::open(&path).expect("it can be read");
                assert_eq!(recording.header.state, state::FINISHED);
                assert_ne!(recording.header.checksum, 0, "{finished:?}");
                finished.map_err(|error| error.to_string())
            })
        })
        .collect();
    let results: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().expect("it ends"))
        .collect();
    drop(kept);
    let won = results.iter().filter(|result| result.is_ok()).count();
    println!("won={won}");
    for error in results.into_iter().filter_map(Result::err) {
        println!("{error}");
    }
}

fn work() {
    let _work = phase("work");
    (1..=1_000).for_each(|bytes| drop(Block::new(&WORK, bytes, 8)));
}

/// Requests the bytes of a recording in a file. This is an error, and the recording continues.
pub(super) fn bytes_of_a_file(path: &str) {
    let recorder = Recorder::start(path).expect("it records");
    work();
    let error = recorder.finish_to_bytes().expect_err("it goes to a file");
    println!("{error}");
    work();
    WORK.print();
    if !Path::new(path).with_extension("leave").exists() {
        let recorder = Recorder::current().expect("it goes on");
        recorder.finish().expect("finished");
    }
}

/// Starts a recording from code and never finishes it.
pub(super) fn never_finished(path: &str) {
    static RECORDER: std::sync::OnceLock<Recorder> = std::sync::OnceLock::new();
    RECORDER.get_or_init(|| Recorder::start(path).expect("it records"));
    work();
    WORK.print();
    std::process::exit(0);
}

/// Cancels `times` threads while they write, four at a time.
pub(super) fn cancelled(times: usize) {
    static DONE: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" {
        fn pthread_cancel(thread: libc::pthread_t) -> libc::c_int;
        fn pthread_testcancel();
    }
    extern "C-unwind" fn start(seed: *mut libc::c_void) -> *mut libc::c_void {
        // Nothing in this frame needs a drop, because a canceled thread does not leave it in the
        // usual way.
        let mut number = seed as usize;
        while !DONE.load(Relaxed) {
            some_rounds(number);
            number += 5;
            // SAFETY: this ends the thread if it was canceled.
            unsafe { pthread_testcancel() };
        }
        std::ptr::null_mut()
    }
    fn some_rounds(number: usize) {
        let (random, mut kept) = (&mut Random::new(number as u64), Vec::new());
        (number..number + 5).for_each(|number| round(random, number, &mut kept));
    }
    let random = &mut Random::new(3);
    let mut cancelled = 0;
    for turn in 0..times.div_ceil(4) {
        // SAFETY: numbers or pointers, depending on the C library. Zeros are valid for both.
        let mut threads: [libc::pthread_t; 4] = unsafe { std::mem::zeroed() };
        for (index, thread) in threads.iter_mut().enumerate() {
            let seed = std::ptr::without_provenance_mut(10_000 * (4 * turn + index));
            // SAFETY: a thread of the default kind. A function that may unwind by cancellation has
            // the same ABI.
            let made = unsafe {
                let start = std::mem::transmute::<
                    extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void,
                    extern "C" fn(*mut libc::c_void) -> *mut libc::c_void,
                >(start);
                libc::pthread_create(thread, std::ptr::null(), start, seed)
            };
            assert_eq!(made, 0);
        }
        std::thread::sleep(Duration::from_micros(random.below(4_000) as u64));
        for thread in threads {
            let mut result = std::ptr::null_mut();
            // SAFETY: the thread was created above and is joined once.
            unsafe {
                pthread_cancel(thread);
                assert_eq!(libc::pthread_join(thread, &mut result), 0);
            }
            // PTHREAD_CANCELED
            cancelled += usize::from(result as isize == -1);
        }
    }
    DONE.store(true, Relaxed);
    println!("cancelled={cancelled}");
    work();
    WORK.print();
}

/// Runs four threads that write everything until the process is killed.
pub(super) fn everything_forever() {
    println!("begun");
    let _ = std::io::stdout().flush();
    for seed in 1..4 {
        std::thread::spawn(move || rounds_forever(seed));
    }
    rounds_forever(4);
}
