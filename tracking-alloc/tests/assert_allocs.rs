//! `assert_allocs!` counts its own thread, or the given threads, to the byte, whatever other tests
//! do meanwhile.

use heapglass_limits::Command;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::JoinHandle;

use tracking_alloc::{Threads, assert_allocs};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// Allocates a block of 100 bytes that grows once to 200, and a block of 50 that stays.
fn work() -> Vec<u8> {
    let mut grown: Vec<u8> = Vec::with_capacity(100);
    grown.resize(100, 1);
    grown.reserve_exact(100);
    black_box(&grown);
    drop(grown);
    black_box(Vec::with_capacity(50))
}

/// Returns the message of a failed assertion.
fn failure(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(run).expect_err("more than allowed");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn limits_are_kept_to_the_byte_and_the_value_comes_out() {
    let left = assert_allocs!(
        blocks <= 3,
        bytes <= 350,
        peak <= 200,
        live <= 50,
        grows <= 1,
        { work() }
    );
    assert_eq!(left.capacity(), 50);
    let nothing = black_box(0);
    assert_allocs!(blocks <= nothing, { black_box(3) });
}

#[test]
fn one_less_of_any_figure_fails_with_all_of_them() {
    let all = "measured: blocks 3, bytes 350, peak 200, live 50, grows 1";
    for (said, over) in [
        (
            failure(|| drop(assert_allocs!(blocks <= 2, { work() }))),
            "blocks 3, at most 2",
        ),
        (
            failure(|| drop(assert_allocs!(bytes <= 349, { work() }))),
            "bytes 350, at most 349",
        ),
        (
            failure(|| drop(assert_allocs!(peak <= 199, { work() }))),
            "peak 200, at most 199",
        ),
        (
            failure(|| drop(assert_allocs!(live <= 49, { work() }))),
            "live 50, at most 49",
        ),
        (
            failure(|| drop(assert_allocs!(grows <= 0, { work() }))),
            "grows 1, at most 0",
        ),
        (
            failure(|| {
                drop(assert_allocs!(blocks <= 9, bytes <= 1, peak <= 2, {
                    work()
                }))
            }),
            "allowed: bytes 350, at most 1; peak 200, at most 2\n",
        ),
    ] {
        assert!(said.contains(over), "{said}");
        assert!(said.contains(all), "{said}");
        let command = "cargo heapglass test -p tracking-alloc -- --exact one_less_of_any_figure_fails_with_all_of_them";
        assert!(said.ends_with(command), "{said}");
    }
}

#[test]
fn other_threads_are_not_counted() {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    drop(black_box(work()));
                }
            });
        }
        for _ in 0..1_000 {
            drop(assert_allocs!(blocks <= 3, bytes <= 350, { work() }));
        }
    });
}

#[test]
fn assertions_nest() {
    assert_allocs!(blocks <= 6, bytes <= 700, {
        drop(assert_allocs!(blocks <= 3, { work() }));
        drop(assert_allocs!(blocks <= 3, { work() }));
    });
}

/// Runs `job` in a thread of its own that is inside from its beginning, so that allocating the
/// thread is not part of any block. The thread waits at the barrier twice, before and after the
/// job.
fn worker(
    threads: &Threads,
    barrier: &Arc<Barrier>,
    job: impl FnOnce() + Send + 'static,
) -> JoinHandle<()> {
    let (threads, barrier) = (threads.clone(), barrier.clone());
    std::thread::spawn(move || {
        barrier.wait();
        threads.enter(job);
        barrier.wait();
    })
}

/// Returns the message of a failed assertion, whatever the closure holds.
fn failure_of(run: impl FnOnce()) -> String {
    failure(AssertUnwindSafe(run))
}

#[test]
fn threads_that_enter_count_together_and_others_do_not() {
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(10));
    let jobs = |_| {
        worker(&threads, &barrier, || {
            (0..1_000).for_each(|_| drop(work()));
        })
    };
    let mut all: Vec<_> = (0..8).map(jobs).collect();
    all.push({
        let barrier = barrier.clone();
        std::thread::spawn(move || {
            barrier.wait();
            (0..1_000).for_each(|_| drop(work()));
            barrier.wait();
        })
    });
    // Eight threads and this one.
    let said = failure_of(|| {
        assert_allocs!(threads, blocks <= 24_002, live <= 0, {
            barrier.wait();
            drop(work());
            barrier.wait();
        });
    });
    all.into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    assert!(
        said.contains("allowed: blocks 24003, at most 24002\n"),
        "{said}"
    );
    assert!(said.contains("bytes 2800350, "), "{said}");
    assert!(said.contains("live 0, grows 8001\n"), "{said}");
}

#[test]
fn a_block_that_another_thread_frees_is_live_no_more() {
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(2));
    let block: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let freer = worker(&threads, &barrier, {
        let block = block.clone();
        move || drop(block.lock().expect("whole").take())
    });
    let said = failure_of(|| {
        assert_allocs!(threads, live <= 29, {
            *block.lock().expect("whole") = Some(black_box(Vec::with_capacity(1_000)));
            barrier.wait();
            barrier.wait();
            std::mem::forget(black_box(Vec::<u8>::with_capacity(30)));
        });
    });
    freer.join().expect("it ends");
    assert!(
        said.contains("measured: blocks 2, bytes 1030, peak 1000, live 30, grows 0"),
        "{said}"
    );
}

#[test]
fn the_peak_is_that_of_all_threads_together() {
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(5));
    // Each thread holds its block until all have one.
    let jobs = |_| {
        let inside = barrier.clone();
        worker(&threads, &barrier, move || {
            let block = black_box(Vec::<u8>::with_capacity(1_000));
            inside.wait();
            inside.wait();
            drop(block);
        })
    };
    let all: Vec<_> = (0..4).map(jobs).collect();
    let said = failure_of(|| {
        assert_allocs!(threads, peak <= 4_009, {
            barrier.wait();
            barrier.wait();
            drop(black_box(Vec::<u8>::with_capacity(10)));
            barrier.wait();
            barrier.wait();
            drop(black_box(Vec::<u8>::with_capacity(4_005)));
        });
    });
    all.into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    assert!(
        said.contains("allowed: peak 4010, at most 4009\n"),
        "{said}"
    );
}

#[test]
fn a_thread_that_is_inside_all_the_time_is_counted_from_the_beginning_to_the_end() {
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(2));
    let thread = std::thread::spawn({
        let (threads, barrier) = (threads.clone(), barrier.clone());
        move || {
            threads.enter(|| {
                for bytes in [100, 20, 3, 4] {
                    let block = black_box(Vec::<u8>::with_capacity(bytes));
                    barrier.wait();
                    barrier.wait();
                    drop(block);
                }
            });
        }
    });
    // 100 bytes were allocated before the block, and 3 are allocated after its start.
    barrier.wait();
    let said = failure_of(|| {
        assert_allocs!(threads, blocks <= 0, {
            barrier.wait();
            barrier.wait();
        });
    });
    let counted = "measured: blocks 1, bytes 20, peak 0, live -80, grows 0";
    assert!(said.contains(counted), "{said}");
    barrier.wait();
    barrier.wait();
    // The same handle again, without its earlier counts: 3 bytes are freed, 4 allocated.
    let said = failure_of(|| {
        assert_allocs!(threads, bytes <= 3, {
            barrier.wait();
            barrier.wait();
        });
    });
    let counted = "measured: blocks 1, bytes 4, peak 1, live 1, grows 0";
    assert!(said.contains(counted), "{said}");
    barrier.wait();
    thread.join().expect("it ends");
}

#[test]
fn a_handle_serves_many_blocks_but_one_at_a_time() {
    let threads = Threads::new();
    threads.enter(|| drop(work()));
    for _ in 0..100 {
        assert_allocs!(threads, blocks <= 3, bytes <= 350, peak <= 200, {
            drop(work());
        });
        threads.clone().enter(|| drop(work()));
    }
    let inside = catch_unwind(AssertUnwindSafe(|| {
        assert_allocs!(threads, blocks <= 100, {
            assert_allocs!(threads, blocks <= 100, {});
        });
    }));
    let panic = inside.expect_err("it counts another block");
    let said = panic.downcast_ref::<&str>().expect("a message");
    assert!(said.contains("counts another block already"), "{said}");
    // The first block ended when it unwound, so another block may count.
    assert_allocs!(threads, blocks <= 0, {});
}

#[test]
fn entering_again_in_one_thread_counts_each_event_once() {
    let threads = Threads::new();
    let other = Threads::new();
    let said = failure_of(|| {
        assert_allocs!(threads, blocks <= 11, {
            threads.enter(|| {
                drop(work());
                // The inner handle counts 6 of these 9 blocks.
                assert_allocs!(other, blocks <= 6, {
                    drop(threads.enter(work));
                    drop(other.enter(work));
                });
            });
            drop(tracking_alloc::measure(work));
        });
    });
    assert!(
        said.contains("measured: blocks 12, bytes 1400, peak 200, live 0, grows 4"),
        "{said}"
    );
}

#[test]
fn a_measurement_around_or_inside_counts_what_is_entered() {
    let threads = Threads::new();
    let (_, outer) = tracking_alloc::measure(|| {
        threads.enter(|| drop(work()));
        assert_allocs!(threads, blocks <= 6, {
            let (_, inner) = tracking_alloc::measure(|| drop(work()));
            assert_eq!((inner.total_blocks, inner.peak_bytes), (3, 200));
            drop(work());
        });
    });
    assert_eq!((outer.total_blocks, outer.peak_bytes), (9, 200));
}

#[test]
fn a_closure_that_unwinds_has_left() {
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(2));
    let thread = std::thread::spawn({
        let (threads, barrier) = (threads.clone(), barrier.clone());
        move || {
            let inside = || threads.enter(|| std::panic::resume_unwind(Box::new(())));
            assert!(catch_unwind(AssertUnwindSafe(inside)).is_err());
            barrier.wait();
            barrier.wait();
            drop(work());
            barrier.wait();
        }
    });
    barrier.wait();
    assert_allocs!(threads, blocks <= 0, {
        barrier.wait();
        barrier.wait();
    });
    thread.join().expect("it ends");
}

#[test]
fn handles_allocate_nothing_and_are_used_again_without_what_they_counted() {
    assert_allocs!(blocks <= 0, {
        for _ in 0..1_000 {
            let threads = Threads::new();
            let clone = threads.clone();
            drop(threads);
            clone.enter(|| ());
        }
    });
    let many: Vec<_> = (0..200).map(|_| Threads::new()).collect();
    for threads in &many {
        assert_allocs!(threads, blocks <= 3, live <= 0, { drop(work()) });
    }
    drop(many);
    for _ in 0..200 {
        let threads = Threads::new();
        assert_allocs!(threads, blocks <= 3, peak <= 200, { drop(work()) });
    }
}

#[test]
fn many_assertions_at_once_count_their_own_threads_alone() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..30 {
                    let threads = Threads::new();
                    let barrier = Arc::new(Barrier::new(4));
                    let job = || (0..10).for_each(|_| drop(work()));
                    let all: Vec<_> = (0..3).map(|_| worker(&threads, &barrier, job)).collect();
                    assert_allocs!(
                        threads,
                        blocks <= 90,
                        bytes <= 10_500,
                        live <= 0,
                        peak <= 600,
                        {
                            barrier.wait();
                            barrier.wait();
                        }
                    );
                    all.into_iter()
                        .for_each(|thread| thread.join().expect("it ends"));
                }
            });
        }
    });
}

/// Runs one of the tests below in a process of its own, without other tests.
fn run_alone(test: &str) {
    let program = std::env::current_exe().expect("known");
    let output = Command::new(program)
        .args(["--exact", test, "--ignored", "--test-threads=1"])
        // A panic that prints a backtrace would also read symbols.
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn a_process_counts_all_its_threads() {
    run_alone("in_a_process_of_its_own");
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn in_a_process_of_its_own() {
    // The main thread of the harness waits. It allocates two blocks when it begins to wait.
    let said: Vec<String> = (0..5).map(|_| count_three_threads()).collect();
    let all = "allowed: blocks 9001, at most 9000; live 20, at most 19\n  \
               measured: blocks 9001, bytes 1050020, live 20, grows 3000\n";
    assert!(said.iter().any(|said| said.contains(all)), "{said:?}");
    let names_all =
        |said: &String| said.contains("assert_allocs::work") && !said.contains("not captured");
    assert!(!cfg!(unix) || said.iter().all(names_all), "{said:?}");
    let left = assert_allocs!(
        process,
        blocks <= 3,
        bytes <= 350,
        live <= 50,
        grows <= 1,
        { work() }
    );
    assert_eq!(left.capacity(), 50);
    while_recording();
}

/// Counts while a recording is written. Its rows count then, and it contains the stacks.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn while_recording() {
    let recorder = tracking_alloc::Recorder::start_in_memory().expect("it begins");
    let said = count_three_threads();
    let all = "measured: blocks 9001, bytes 1050020, live 20, grows 3000\n  \
               most bytes allocated:\n    1050020 bytes in 9001 blocks  not captured\n";
    assert!(said.contains(all), "{said}");
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(2));
    let other = worker(&threads, &barrier, || drop(thousand()));
    let said = failure_of(|| {
        assert_allocs!(threads, blocks <= 3, {
            barrier.wait();
            barrier.wait();
            drop(hundreds());
        });
    });
    other.join().expect("it ends");
    let all = "measured: blocks 4, bytes 1300, peak 1000, live 0, grows 0\n  \
               most blocks allocated:\n    300 bytes in 3 blocks  ";
    assert!(said.contains(all), "{said}");
    recorder.finish().expect("it ends");
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn symbols_that_a_message_takes_are_not_recorded() {
    run_alone("with_the_first_symbols_of_a_process");
}

/// The memory that a failed assertion uses to name functions belongs to no test. A recording
/// contains only the blocks of the test, and the text of the message.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
#[ignore = "run by another test, in a process of its own"]
fn with_the_first_symbols_of_a_process() {
    let recorder = tracking_alloc::Recorder::start_in_memory().expect("it begins");
    let test =
        std::thread::spawn(|| failure_of(|| drop(assert_allocs!(blocks <= 1, { hundreds() }))));
    let said = test.join().expect("it ends");
    assert!(said.contains("300 bytes in 3 blocks  "), "{said}");
    let kept = black_box(vec![0_u8; 1 << 20]);
    let bytes = recorder.finish_to_bytes().expect("it ends");
    drop(kept);
    let recording = tracking_alloc_recording::Recording::read(&bytes[..]).expect("readable");
    let lanes = recording.lanes.iter();
    let recorded: u64 = lanes.clone().map(|lane| lane.all.total_bytes).sum();
    let few = (1 << 20) + 300..(1 << 20) + (64 << 10);
    assert!(few.contains(&recorded), "{recorded} bytes recorded");
    let unknown: u64 = lanes.map(|lane| lane.lane.unknown_frees).sum();
    assert!(unknown < 3, "{unknown} blocks freed that nobody knows");
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn while_recording() {}

/// Returns the message on 9,001 blocks of the process with a limit of 9,000. The peak is not
/// checked, because it is unknown.
fn count_three_threads() -> String {
    let barrier = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let barrier = barrier.clone();
            std::thread::spawn(move || {
                // Beginning and ending a thread takes blocks too. Neither happens in the block.
                barrier.wait();
                barrier.wait();
                (0..1_000).for_each(|_| drop(work()));
                barrier.wait();
                barrier.wait();
            })
        })
        .collect();
    barrier.wait();
    let said = failure_of(|| {
        assert_allocs!(process, blocks <= 9_000, live <= 19, {
            barrier.wait();
            std::mem::forget(black_box(Vec::<u8>::with_capacity(20)));
            barrier.wait();
        });
    });
    barrier.wait();
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    said
}

/// Allocates three blocks of 100 bytes.
#[inline(never)]
fn hundreds() -> [Vec<u8>; 3] {
    [(); 3].map(|()| black_box(Vec::with_capacity(100)))
}

/// Allocates one block of 1,000 bytes, in a function of its own.
#[inline(never)]
fn thousand() -> Vec<u8> {
    #[inline(never)]
    fn inner() -> Vec<u8> {
        black_box(Vec::with_capacity(10 * 100))
    }
    black_box(inner())
}

/// Returns `true` if a message names lines of source, because this file was built with debug
/// information.
fn has_lines(said: &str) -> bool {
    said.contains("assert_allocs.rs:")
}

/// Returns the lines about places in a message, without parts that depend on the compiler.
fn places(said: &str) -> Vec<&str> {
    let lines = said
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with("  to see where"));
    lines.map(str::trim).collect()
}

#[test]
#[cfg(unix)]
fn a_broken_limit_names_the_functions_that_allocated_most_with_their_callers() {
    let line = |of: &str| {
        let file = include_str!("assert_allocs.rs");
        let at = file.lines().position(|line| line.contains(of));
        format!("tests/assert_allocs.rs:{})", at.expect("a line") + 1)
    };
    let work = || {
        drop((hundreds(), thousand()));
        drop(hundreds());
    };
    let said = failure_of(|| assert_allocs!(bytes <= 1_599, { work() }));
    let by_bytes = places(&said);
    assert_eq!(by_bytes[0], "most bytes allocated:", "{said}");
    if !has_lines(&said) {
        assert!(
            said.contains("1000 bytes in 1 block  assert_allocs::thousand"),
            "{said}"
        );
        assert!(
            !said.contains("failure"),
            "no function around the block: {said}"
        );
        return;
    }
    assert!(
        by_bytes[1].starts_with("1000 bytes in 1 block  assert_allocs::thousand::inner ("),
        "{said}"
    );
    let of_inner = line("black_box(Vec::with_capacity(10 * 100))");
    assert!(by_bytes[1].ends_with(&of_inner), "{said}");
    assert!(
        by_bytes[2].starts_with("called by assert_allocs::thousand ("),
        "{said}"
    );
    assert!(by_bytes[2].ends_with(&line("black_box(inner())")), "{said}");
    assert!(
        said.contains("\n    300 bytes in 3 blocks  assert_allocs::hundreds"),
        "{said}"
    );
    let said = failure_of(|| assert_allocs!(blocks <= 6, { work() }));
    let by_blocks = places(&said);
    assert_eq!(by_blocks[0], "most blocks allocated:", "{said}");
    assert!(
        by_blocks[1].starts_with("300 bytes in 3 blocks  assert_allocs::hundreds"),
        "{said}"
    );
    // All places are listed, except places of the message itself.
    for other in [
        "other place",
        "not captured",
        "no function",
        "tracking_alloc",
    ] {
        assert!(!said.contains(other), "{said}");
    }
}

#[test]
#[cfg(unix)]
fn what_a_dependency_allocates_is_named_by_the_function_that_called_it() {
    #[inline(never)]
    fn parse() -> serde_json::Value {
        let text = r#"{"a": [1, 2, 3, 4, 5, 6], "b": {"c": "text", "d": "more"}}"#;
        black_box(serde_json::from_str(text).expect("JSON"))
    }
    let said = failure_of(|| assert_allocs!(bytes <= 0, { drop(parse()) }));
    if !has_lines(&said) {
        return;
    }
    let places = places(&said);
    let first = "assert_allocs::what_a_dependency_allocates_is_named_by_the_function_that_called_it::parse (";
    assert!(places[1].contains(first), "{said}");
    assert!(places[2].starts_with("calls serde_json::"), "{said}");
    // The run of frames inside serde_json is one call, without the folders of the registry.
    assert_eq!(
        said.matches("        calls ").count(),
        said.matches("::parse (").count(),
        "{said}"
    );
    assert!(!said.contains("/registry/"), "{said}");
    assert!(said.lines().all(|line| line.len() < 160), "{said}");
}

#[test]
#[cfg(unix)]
fn places_of_all_threads_are_named_and_other_assertions_have_their_own() {
    let threads = Threads::new();
    let barrier = Arc::new(Barrier::new(3));
    let all = [worker(&threads, &barrier, || drop(thousand())), {
        let barrier = barrier.clone();
        std::thread::spawn(move || {
            barrier.wait();
            let said = failure_of(|| assert_allocs!(blocks <= 0, { drop(hundreds()) }));
            barrier.wait();
            assert!(!has_lines(&said) || said.contains("hundreds"), "{said}");
            assert!(!said.contains("thousand"), "{said}");
        })
    }];
    let said = failure_of(|| {
        assert_allocs!(threads, live <= 9, {
            barrier.wait();
            barrier.wait();
            drop(thousand());
            std::mem::forget(black_box(Vec::<u8>::with_capacity(10)));
        });
    });
    all.into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    let thousands = said.matches("1000 bytes in 1 block  assert_allocs::thousand::inner (");
    if has_lines(&said) {
        assert_eq!(thousands.count(), 2, "{said}");
    } else {
        assert!(
            said.contains("2000 bytes in 2 blocks  assert_allocs::thousand"),
            "{said}"
        );
    }
    let others = ["hundreds", "not captured"];
    assert!(!others.iter().any(|other| said.contains(other)), "{said}");
}

#[test]
#[cfg(unix)]
fn what_is_beyond_the_largest_places_is_summed_up() {
    /// Has one frame for each bit: as many stacks as numbers, all of one function.
    #[inline(never)]
    fn allocate(bits: u32, number: u32) {
        match (bits, number & 1) {
            (0, _) => drop(black_box(Vec::<u8>::with_capacity(8))),
            (_, 0) => {
                allocate(bits - 1, number >> 1);
                black_box(0);
            }
            _ => {
                allocate(bits - 1, number >> 1);
                black_box(1);
            }
        }
    }
    let said = failure_of(|| assert_allocs!(blocks <= 0, { (0..64).for_each(|n| allocate(6, n)) }));
    assert!(said.contains("measured: blocks 64, bytes 512, "), "{said}");
    if !has_lines(&said) {
        return;
    }
    // Three callers distinguish eight places, five of which are listed.
    assert!(said.contains("in 3 other places\n"), "{said}");
    assert_eq!(said.matches("        called by ").count(), 5 * 3, "{said}");
    // 4,096 stacks do not fit.
    let said =
        failure_of(|| assert_allocs!(blocks <= 0, { (0..4_096).for_each(|n| allocate(12, n)) }));
    assert!(
        said.contains("measured: blocks 4096, bytes 32768, "),
        "{said}"
    );
    let not_captured = places(&said).pop().expect("lines").to_owned();
    let blocks = not_captured
        .strip_suffix(" blocks  not captured")
        .and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
    assert!(
        blocks.is_some_and(|blocks| (2_048..3_000).contains(&blocks)),
        "{said}"
    );
}
