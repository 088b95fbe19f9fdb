//! Requests to programs whose live bytes hardly change, and the time in their recordings.

use crate::program::{Programs, Run, say, until};
use crate::reader::{Reader, end};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::*};
use tracking_alloc_recording::{ExchangeValue, mode, snapshot_status};

pub(crate) const PROGRAMS: Programs = &[("steady", steady), ("counts", counts), ("idle", idle)];

/// Has a heap of 25 MB that becomes smaller, then makes and frees small blocks until its input
/// ends.
fn steady() {
    let mut held = vec![vec![1_u8; 50_000]; 500];
    held.truncate(250);
    static ENDS: AtomicBool = AtomicBool::new(false);
    let input = std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        ENDS.store(true, Release);
    });
    say("steady");
    while !ENDS.load(Acquire) {
        let blocks: [Vec<u8>; 5] = std::array::from_fn(|index| vec![1; 40 * (index + 1)]);
        let mut grown = Vec::<u8>::with_capacity(100);
        grown.reserve_exact(black_box(200));
        drop(black_box((blocks, grown)));
    }
    input.join().expect("joined");
    drop(held);
}

/// Allocates after each line of its input: the number of times that it says.
fn counts() {
    let held = vec![vec![1_u8; 50_000]; 500];
    drop(held);
    say("ready");
    for line in std::io::stdin().lines() {
        let times: usize = line.expect("a line").parse().expect("a number");
        (0..times).for_each(|_| drop(black_box(Box::new(7_u64))));
        say("done");
    }
}

/// Waits for its end without an allocation.
fn idle() {
    drop(black_box(vec![1_u8; 100_000]));
    say("idle");
    let mut byte = 0_u8;
    // SAFETY: a place for one byte.
    unsafe { libc::read(0, (&raw mut byte).cast(), 1) };
}

fn start(program: &str, mode: &str) -> (Run, Reader) {
    let settings = [
        ("HEAPGLASS_MODE", mode.to_owned()),
        ("HEAPGLASS_SAMPLE_BYTES", "1GiB".to_owned()),
    ];
    let mut run = Run::start_in(&[], program, &settings);
    // It has allocated, so there is a recording.
    run.line();
    let reader = Reader::attach(&run.path);
    (run, reader)
}

#[test]
fn a_program_in_a_steady_state_makes_a_copy() {
    for mode in ["exact", "count"] {
        let (mut run, mut reader) = start("steady", mode);
        reader.set_reader(std::process::id(), false);
        let answer = reader.request();
        assert_eq!(answer.status, snapshot_status::TAKEN, "{mode}");
        end(answer.copy);
        // A second one: the first is reaped although no check is due.
        let answer = reader.request();
        assert_eq!(answer.status, snapshot_status::TAKEN, "{mode}");
        end(answer.copy);
        run.succeeds();
    }
}

#[test]
fn a_program_in_a_steady_state_pauses_and_resumes() {
    for mode in ["exact", "count", "sample"] {
        let (mut run, reader) = start("steady", mode);
        for is_paused in [true, false, true] {
            reader.set_paused(is_paused);
            until("it follows", || {
                (reader.header().paused_since_ns != 0) == is_paused
            });
        }
        // Time goes on in a pause.
        let paused_ns = reader.header().elapsed_ns;
        until("time goes on", || reader.header().elapsed_ns > paused_ns);
        run.succeeds();
    }
}

#[test]
fn a_program_in_a_steady_state_changes_its_mode() {
    for (mode, is_followed) in [("exact", true), ("sample", true), ("count", false)] {
        let (mut run, reader) = start("steady", mode);
        reader.set_mode(mode::SAMPLE, 64 << 10);
        let mut answer = ExchangeValue::default();
        until("an answer", || {
            answer = reader.exchange();
            answer.mode_answers == 1
        });
        assert_eq!(answer.refused == 0, is_followed, "{mode}");
        run.succeeds();
    }
}

#[test]
fn time_and_resident_set_go_on_in_a_steady_state_even_if_the_program_is_killed() {
    for mode in ["exact", "count", "sample"] {
        let (mut run, reader) = start("steady", mode);
        let before = reader.header();
        // The memory that this test needs is that of the program: it is read again and again.
        until("time goes on by more than a second", || {
            reader.header().elapsed_ns > before.elapsed_ns + 1_100_000_000
        });
        run.child.kill().expect("killed");
        run.ended();
        let killed = reader.header();
        assert!(
            killed.elapsed_ns > before.elapsed_ns + 1_100_000_000,
            "{mode}"
        );
        assert!(killed.rss_bytes > 0, "{mode}");
    }
}

#[test]
fn a_quiet_program_follows_at_its_next_allocation() {
    for mode in ["exact", "count"] {
        let (mut run, reader) = start("counts", mode);
        let allocate = |run: &mut Run, times: &str| {
            run.write_line(times);
            assert_eq!(run.line(), "done");
        };
        allocate(&mut run, "1");
        // Longer than a busy thread takes between two looks.
        std::thread::sleep(std::time::Duration::from_millis(20));
        reader.set_paused(true);
        allocate(&mut run, "1");
        assert_ne!(reader.header().paused_since_ns, 0, "{mode}");
        reader.set_paused(false);
        allocate(&mut run, "1");
        assert_eq!(reader.header().paused_since_ns, 0, "{mode}");
        // After a burst, it follows within as many allocations as lie between two looks.
        allocate(&mut run, "100000");
        reader.set_paused(true);
        allocate(&mut run, "256");
        assert_ne!(reader.header().paused_since_ns, 0, "{mode}");
        run.succeeds();
    }
}

#[test]
fn an_idle_program_follows_no_request() {
    let mut run = Run::start_in(&[], "idle", &[]);
    assert_eq!(run.line(), "idle");
    let reader = Reader::attach(&run.path);
    let before = reader.header().elapsed_ns;
    reader.set_paused(true);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let header = reader.header();
    assert_eq!((header.paused_since_ns, header.elapsed_ns), (0, before));
    run.go_on();
    run.succeeds();
}
