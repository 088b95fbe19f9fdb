//! Copies that the program makes without being asked: at its end, at a peak, at a mark, and at a
//! signal.

use crate::program::{Programs, Run, churn, pause, say, until};
use crate::reader::{Memory, Reader, end, has_ended, is_gone};
use heapglass_limits::Command;
use std::process::Stdio;
use tracking_alloc_recording::{ExchangeValue, Recording, snapshot_status, snapshot_trigger};

pub(crate) const PROGRAMS: Programs = &[
    ("ends", ends),
    ("rises", rises),
    ("marks", marks),
    ("crowded", crowded),
    ("takes", takes),
    ("signalled", signalled),
    ("handles", handles),
    ("finishes", finishes),
];

fn start(name: &str, words: &str) -> Run {
    let value = format!("{}{words}", std::process::id());
    Run::start_in(&[], name, &[("HEAPGLASS_SNAPSHOT", value)])
}

/// Returns the answer that came before the reader looked.
fn answer_of(run: &Run, trigger: u32) -> (ExchangeValue, Memory) {
    let reader = Reader::attach(&run.path);
    let answer = reader.exchange();
    assert_eq!(
        (answer.status, answer.trigger, answer.answered),
        (snapshot_status::TAKEN, trigger, 0)
    );
    let memory = reader.memory(answer.copy);
    (answer, memory)
}

fn bytes(memory: &Memory) -> i64 {
    memory.blocks().iter().map(|block| block.bytes as i64).sum()
}

/// Leaves blocks behind.
fn ends() {
    let kept = vec![vec![1_u8; 1_000]; 300];
    std::mem::forget(kept);
}

#[test]
fn the_copy_of_the_end_outlives_the_program() {
    let mut run = start("ends", ",exit");
    run.succeeds();
    let (answer, memory) = answer_of(&run, snapshot_trigger::EXIT);
    let sizes = memory.blocks();
    assert!(sizes.iter().filter(|block| block.bytes == 1_000).count() >= 300);
    assert_eq!(bytes(&memory), answer.live_bytes);
    let recording = Recording::open(&run.path).expect("finished");
    assert_ne!(recording.header.checksum, 0);
    assert!(answer.time_ns <= recording.header.elapsed_ns);
    end(answer.copy);
    until("the end of the copy", || has_ended(answer.copy));
}

/// Finishes the recording and goes on.
fn finishes() {
    churn();
    let recorder = tracking_alloc::Recorder::current().expect("a recording");
    recorder.finish().expect("finished");
    pause();
    // SAFETY: no status is written.
    let found = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
    assert_eq!(found, -1, "no child that a wait finds");
}

#[test]
fn a_program_that_goes_on_after_its_recording_does_not_see_the_copy() {
    let mut run = start("finishes", ",exit");
    run.until_paused();
    let (answer, _) = answer_of(&run, snapshot_trigger::EXIT);
    end(answer.copy);
    until("the end of the copy", || has_ended(answer.copy));
    run.go_on();
    run.succeeds();
    until("reaped with the program", || is_gone(answer.copy));
}

/// Has 3 MB, then 1 MB, then 8 MB, then nothing.
fn rises() {
    let blocks = |megabytes: usize| vec![vec![7_u8; 1_000]; 1_000 * megabytes];
    let mut kept = blocks(3);
    kept.truncate(1_000);
    pause();
    kept.extend(blocks(7));
    drop(kept);
    pause();
}

#[test]
fn a_peak_above_a_threshold_has_a_copy() {
    let mut run = start("rises", ",peak=2000000");
    run.until_paused();
    let (answer, memory) = answer_of(&run, snapshot_trigger::PEAK);
    assert!(answer.live_bytes > 3_000_000, "{}", answer.live_bytes);
    assert_eq!(bytes(&memory), answer.live_bytes);
    let reader = Reader::attach(&run.path);
    reader.set_peak_above(5_000_000);
    end(answer.copy);
    until("the end of the copy", || has_ended(answer.copy));
    run.go_on();
    run.until_paused();
    let (answer, memory) = answer_of(&run, snapshot_trigger::PEAK);
    assert_eq!(answer.answers, 2);
    assert!(answer.live_bytes > 8_000_000, "{}", answer.live_bytes);
    assert_eq!(bytes(&memory), answer.live_bytes);
    end(answer.copy);
    run.go_on();
    run.succeeds();
    assert_eq!(reader.exchange().answers, 2);
}

#[test]
fn the_copy_of_a_larger_peak_replaces_one_that_nobody_has_seen() {
    let mut run = start("rises", ",peak=2000000");
    run.until_paused();
    let (first, _) = answer_of(&run, snapshot_trigger::PEAK);
    run.go_on();
    run.until_paused();
    let (answer, memory) = answer_of(&run, snapshot_trigger::PEAK);
    assert_eq!(answer.answers, first.answers + 1);
    assert!(answer.live_bytes > 8_000_000, "{}", answer.live_bytes);
    assert_eq!(bytes(&memory), answer.live_bytes);
    until("the end of the first copy", || has_ended(first.copy));
    end(answer.copy);
    run.go_on();
    run.succeeds();
    until("all copies are gone", || {
        is_gone(first.copy) && is_gone(answer.copy)
    });
}

#[test]
fn a_larger_peak_has_a_copy_beside_the_one_that_the_reader_reads() {
    let mut run = start("rises", ",peak=2000000");
    run.until_paused();
    let (first, read) = answer_of(&run, snapshot_trigger::PEAK);
    Reader::attach(&run.path).set_seen(first.answers);
    run.go_on();
    run.until_paused();
    let (answer, memory) = answer_of(&run, snapshot_trigger::PEAK);
    assert_eq!(answer.answers, first.answers + 1);
    assert!(answer.live_bytes > 8_000_000, "{}", answer.live_bytes);
    assert_eq!(bytes(&memory), answer.live_bytes);
    assert_eq!(bytes(&read), first.live_bytes);
    end(first.copy);
    end(answer.copy);
    run.go_on();
    run.succeeds();
    until("all copies are gone", || {
        is_gone(first.copy) && is_gone(answer.copy)
    });
}

/// Has a peak, then takes two snapshots itself.
fn takes() {
    let mut kept = vec![vec![7_u8; 1_000]; 3_000];
    kept.truncate(1_000);
    pause();
    for label in ["first", "second"] {
        let taken = tracking_alloc::snapshot(label);
        say(&format!("{taken:?}"));
        pause();
    }
}

#[test]
fn a_snapshot_that_the_program_takes_does_not_wait_until_the_copy_of_a_peak_was_read() {
    let mut run = start("takes", ",peak=2000000");
    run.until_paused();
    let (peak, read) = answer_of(&run, snapshot_trigger::PEAK);
    Reader::attach(&run.path).set_seen(peak.answers);
    run.go_on();
    assert_eq!(run.until_paused(), ["Ok(())"]);
    let (first, _) = answer_of(&run, snapshot_trigger::PROGRAM);
    assert_eq!(first.answers, peak.answers + 1);
    // The copy of the peak is still read.
    assert_eq!(bytes(&read), peak.live_bytes);
    Reader::attach(&run.path).set_seen(first.answers);
    run.go_on();
    assert_eq!(run.until_paused(), ["Ok(())"]);
    let (second, memory) = answer_of(&run, snapshot_trigger::PROGRAM);
    let recording = Recording::open(&run.path).expect("readable");
    let label = recording.string(second.label);
    assert_eq!(label.as_deref(), Some("second"));
    assert_eq!(bytes(&memory), second.live_bytes);
    for answer in [peak, first, second] {
        end(answer.copy);
    }
    run.go_on();
    run.succeeds();
}

#[test]
fn a_snapshot_that_the_program_takes_replaces_the_copy_of_a_peak_that_nobody_has_seen() {
    let mut run = start("takes", ",peak=2000000");
    run.until_paused();
    let (peak, _) = answer_of(&run, snapshot_trigger::PEAK);
    run.go_on();
    assert_eq!(run.until_paused(), ["Ok(())"]);
    let (first, _) = answer_of(&run, snapshot_trigger::PROGRAM);
    until("the end of the peak's copy", || has_ended(peak.copy));
    end(first.copy);
    run.go_on();
    assert_eq!(run.until_paused(), ["Ok(())"]);
    end(answer_of(&run, snapshot_trigger::PROGRAM).0.copy);
    run.go_on();
    run.succeeds();
}

/// Sets marks.
fn marks() {
    tracking_alloc::mark("before");
    let kept = vec![5_u8; 123_456];
    tracking_alloc::mark("loaded, all of it");
    drop(kept);
    tracking_alloc::mark("after");
    pause();
}

#[test]
fn a_mark_that_is_waited_for_has_a_copy() {
    let mut run = start("marks", ",mark=none,mark=after");
    run.until_paused();
    let (answer, memory) = answer_of(&run, snapshot_trigger::MARK);
    let recording = Recording::open(&run.path).expect("readable");
    assert_eq!(recording.marks.len(), 3);
    let label = recording.string(answer.label);
    assert_eq!(label.as_deref(), Some("after"));
    assert!(memory.blocks().iter().all(|block| block.bytes != 123_456));
    end(answer.copy);
    run.go_on();
    run.succeeds();
}

/// Has a peak, a mark, and an end.
fn crowded() {
    let mut kept = vec![vec![7_u8; 1_000]; 3_000];
    kept.truncate(1_000);
    pause();
    tracking_alloc::mark("after");
    pause();
    std::mem::forget(kept);
}

#[test]
fn the_end_waits_for_a_slow_reader_and_a_mark_that_does_not_is_counted() {
    let mut run = start("crowded", ",peak=2000000,mark=after,exit");
    run.until_paused();
    let (peak, read) = answer_of(&run, snapshot_trigger::PEAK);
    run.go_on();
    run.until_paused();
    let reader = Reader::attach(&run.path);
    assert_eq!(reader.exchange().answers, peak.answers);
    assert_eq!(reader.header().missed_snapshots, 1, "that of the mark");
    run.go_on();
    // Longer than a mark waits.
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(run.child.try_wait().expect("asked").is_none());
    reader.set_seen(peak.answers);
    run.succeeds();
    let (end_of_run, memory) = answer_of(&run, snapshot_trigger::EXIT);
    assert_eq!(bytes(&memory), end_of_run.live_bytes);
    assert_eq!(bytes(&read), peak.live_bytes);
    assert_eq!(Reader::attach(&run.path).header().missed_snapshots, 1);
    end(peak.copy);
    end(end_of_run.copy);
}

/// Gets a signal.
fn signalled() {
    pause();
    churn();
    pause();
}

#[test]
fn a_signal_asks_for_a_copy() {
    let reader = ("HEAPGLASS_SNAPSHOT", std::process::id().to_string());
    let signal = ("HEAPGLASS_SNAPSHOT_SIGNAL", "USR2".to_owned());
    let mut run = Run::start_in(&[], "signalled", &[reader, signal]);
    run.until_paused();
    // SAFETY: the program was not reaped.
    unsafe { libc::kill(run.child.id() as i32, libc::SIGUSR2) };
    run.go_on();
    run.until_paused();
    let (answer, _) = answer_of(&run, snapshot_trigger::SIGNAL);
    end(answer.copy);
    run.go_on();
    run.succeeds();
}

/// Reports what it does at SIGUSR2, which it ignores from its start on.
fn handles() {
    churn();
    // SAFETY: this returns the disposition and sets it again.
    unsafe {
        let found = libc::signal(libc::SIGUSR2, libc::SIG_DFL);
        libc::signal(libc::SIGUSR2, found);
        say(&(found == libc::SIG_IGN).to_string());
    }
    pause();
}

#[test]
fn wrong_settings_are_one_line_each_and_the_program_runs() {
    let wrong = [
        (
            "HEAPGLASS_SNAPSHOT",
            "me",
            "invalid HEAPGLASS_SNAPSHOT `me`",
        ),
        (
            "HEAPGLASS_SNAPSHOT_SIGNAL",
            "KILL",
            "invalid HEAPGLASS_SNAPSHOT_SIGNAL `KILL`",
        ),
    ];
    for (name, value, said) in wrong {
        let path = crate::program::new_path();
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .env("SNAPSHOTS_PROGRAM", "ends")
            .env("HEAPGLASS_OUT", &path)
            .env(name, value)
            .stdin(Stdio::null());
        let output = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(said), "{text}");
        Recording::open(&path).expect("recorded");
        let _ = std::fs::remove_file(&path);
    }
}

#[test]
fn a_signal_that_the_program_ignores_stays_ignored() {
    let by = ["sh", "-c", "trap '' USR2; exec \"$0\" 2> /dev/null"];
    let signal = ("HEAPGLASS_SNAPSHOT_SIGNAL", "USR2".to_owned());
    let mut run = Run::start_in(&by, "handles", &[signal]);
    assert_eq!(run.until_paused(), ["true"]);
    run.go_on();
    run.succeeds();
}
