//! Snapshots of running programs, taken by the command.
#![cfg(target_os = "linux")]

use heapglass_limits::Child;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Stdio;

use heapglass_profiler::profile::{Profile, State};
use heapglass_profiler::{OpenOptions, open};
use tracking_alloc_recording::{EXCHANGE_OFFSET, ExchangeValue, Record};

use crate::common::{Done, HEAPGLASS, Place, skipped, wait_until};
use crate::unrecorded::is_refused;

/// A run of the demo target, which waits for its input.
pub(crate) struct Waiting {
    run: Child,
    input: File,
}

impl Waiting {
    pub(crate) fn start(place: &Place, flags: &[&str]) -> Waiting {
        let pipe = place.pipe("pipe");
        let mut words = vec!["run", "--out", "a.hg"];
        words.extend(flags);
        words.extend(["--", HEAPGLASS, "demo", "--target", "pipe"]);
        let mut command = place.heapglass(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = command.spawn().unwrap();
        let input = File::options().write(true).open(pipe).unwrap();
        wait_until("the recording", || place.path("a.hg").exists());
        Waiting { run, input }
    }

    /// Gives the target its input, and returns how the run ended.
    pub(crate) fn finish(mut self) -> Done {
        self.input.write_all(&input()).unwrap();
        drop(self.input);
        Done::from(self.run.wait_with_output().unwrap())
    }
}

/// Returns an input that takes some memory.
fn input() -> Vec<u8> {
    let numbers: Vec<String> = (0..3_000)
        .map(|number| format!("\"text {number}\""))
        .collect();
    let metadata = numbers.join(",");
    format!(
        r#"{{"packages": [], "workspace_members": [], "resolve": null, "workspace_root": "/w",
        "target_directory": "/t", "version": 1, "metadata": [{metadata}]}}"#
    )
    .into_bytes()
}

pub(crate) fn exchange(recording: &Path) -> ExchangeValue {
    let bytes = std::fs::read(recording).unwrap();
    ExchangeValue::parse(&bytes[EXCHANGE_OFFSET..][..ExchangeValue::SIZE])
}

fn profile(path: &Path) -> Profile {
    open(path, &OpenOptions::default(), &|_| ()).unwrap()
}

#[test]
fn a_snapshot_is_a_recording_with_holders_inside() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &[]);
    let mut command = place.heapglass(&["snapshot", "a.hg", "-o", "b.hgs"]);
    let snapshot = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The target allocates nothing before it has its input, so it answers then.
    wait_until("the request", || exchange(&place.path("a.hg")).request != 0);
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let done = Done::from(snapshot.wait_with_output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("snapshot `request` at "),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("wrote b.hgs"), "{}", done.stderr);
    let profile = profile(&place.path("b.hgs"));
    let [snapshot] = profile.snapshots() else {
        panic!("not one snapshot");
    };
    assert!(snapshot.blocks() > 0 && snapshot.bytes() > 0);
    // One thread, so the map is what was counted.
    assert_eq!(snapshot.bytes(), snapshot.moment().live_bytes);
    assert_eq!(snapshot.blocks(), snapshot.moment().live_blocks);
    assert!(snapshot.moment().pause_ns > 0);
}

#[test]
fn what_has_no_snapshot_says_why() {
    let place = Place::new();
    place.record("done.hg");
    let cases = [
        (&["snapshot", "4194303"][..], "there is no such process"),
        (
            &["snapshot", "1", "--wait", "9"],
            "--wait is for programs that record",
        ),
        (&["snapshot", "no.hg"], "no recording, and no process ID"),
        (&["snapshot", "done.hg"], "ended or finished its recording"),
        (
            &["snapshot", "input.json"],
            "no recording, and no process ID",
        ),
    ];
    for (words, why) in cases {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}");
        assert!(done.stderr.contains(why), "{words:?}: {}", done.stderr);
    }
    assert!(place.files(".hgs").is_empty());
}

/// Errors about the core file itself are tested in the library.
#[test]
fn flags_of_running_programs_are_refused_for_a_core_file() {
    let place = Place::new();
    let mut core = [0; 64];
    core[..4].copy_from_slice(b"\x7fELF");
    core[16] = 4;
    std::fs::write(place.path("core.1"), core).unwrap();
    for (flags, says) in [
        (&["--wait", "5"][..], "--wait is for running programs"),
        (
            &["--force-snapshot"],
            "--force-snapshot is for running programs",
        ),
        (&["--no-copy"], "--no-copy is for running programs"),
        (&[], "core.1"),
    ] {
        let words = [&["snapshot", "core.1"], flags].concat();
        let done = place.run(&words);
        assert_eq!(done.status, Some(2), "{flags:?}");
        assert!(done.stderr.contains(says), "{flags:?}: {}", done.stderr);
    }
}

#[test]
fn a_program_that_allocates_nothing_is_copied_and_later_follows_what_was_asked_for() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &[]);
    let done = place.run(&["snapshot", "a.hg", "-o", "b.hgs", "--wait", "600"]);
    if !is_refused(&done) {
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let says = [
            "the program has not allocated since ",
            "so heapglass copies it",
            "snapshot `request` at ",
            "was paused for ",
        ];
        for part in says {
            assert!(done.stderr.contains(part), "{}", done.stderr);
        }
        let profile = profile(&place.path("b.hgs"));
        let [snapshot] = profile.snapshots() else {
            panic!("not one snapshot");
        };
        // One thread that waits: the copy has what the program counted.
        let counted = profile.totals();
        assert_eq!(snapshot.bytes(), counted.live_bytes);
        assert_eq!(snapshot.blocks(), counted.live_blocks);
        let report = place.run(&["report", "b.hgs", "--by", "holder"]).stdout;
        assert!(!report.contains("not reached"), "{report}");
    }
    // The request was withdrawn, so nothing is done at the next allocation.
    let exchange = exchange(&place.path("a.hg"));
    assert_eq!((exchange.reader, exchange.answers), (0, 0));
    assert_eq!(exchange.request, exchange.answered);
    let done = place.run(&["pause", "a.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    for part in [
        "the program has not allocated since ",
        "it pauses the recording at its next allocation",
    ] {
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(profile(&place.path("a.hg")).snapshots().is_empty());
    let pauses = &place.report("a.hg")["pauses"];
    assert_eq!(pauses.as_array().map(Vec::len), Some(1), "{pauses}");
}

#[test]
fn the_run_that_takes_snapshots_copies_a_program_that_allocates_nothing_only_if_asked() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &["--snapshot=every:200ms"]);
    let done = place.run(&["snapshot", "a.hg", "-o", "b.hgs", "--wait", "60"]);
    let is_refused = is_refused(&done);
    if !is_refused {
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let kept = profile(&place.path("b.hgs"));
        let last = kept.snapshots().last().expect("a snapshot");
        assert_eq!(last.moment().label, "request");
        assert_eq!(last.bytes(), kept.totals().live_bytes);
    }
    // The intervals that pass while it does nothing bring no further one.
    let so_far = || profile(&place.path("a.hg")).snapshots().len();
    let first = so_far();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(so_far(), first);
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

/// A program in C that traces another one until its input ends.
const TRACER: &str = "
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/ptrace.h>
    int main(int count, char **words) {
        long traced = ptrace(PTRACE_SEIZE, atoi(words[1]), 0, 0);
        puts(traced == 0 ? \"traces\" : \"refused\");
        fflush(stdout);
        return getchar() == EOF ? 0 : 1;
    }";

#[test]
fn a_program_that_can_neither_answer_nor_be_copied_is_not_waited_for_without_end() {
    let place = Place::new();
    std::fs::write(place.path("tracer.c"), TRACER).unwrap();
    let built = heapglass_limits::Command::new("cc")
        .args(["-w", "-o", "tracer", "tracer.c"])
        .current_dir(place.root())
        .status();
    assert!(built.unwrap().success());
    let waiting = Waiting::start(&place, &[]);
    let process = profile(&place.path("a.hg")).process().pid.to_string();
    let mut tracer = heapglass_limits::Command::new(place.path("tracer"))
        .arg(process)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let out = tracer.stdout.take().unwrap();
    std::io::BufReader::new(out).read_line(&mut said).unwrap();
    if said == "traces\n" {
        let done = place.run(&["snapshot", "a.hg", "--wait", "2"]);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        for part in [
            "so heapglass copies it",
            "the program cannot be copied; it makes the copy at its next allocation, which this command waits for up to 2 s",
            "made no copy of itself within 2 s; it will at its next allocation",
            "heapglass could not copy it either: ",
        ] {
            assert!(done.stderr.contains(part), "{}", done.stderr);
        }
    } else {
        skipped("this machine does not let a program trace another one");
    }
    drop(tracer.stdin.take());
    assert!(tracer.wait().unwrap().success());
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    // Nobody reads any more, so the request is not followed.
    assert!(profile(&place.path("a.hg")).snapshots().is_empty());
    assert_eq!(exchange(&place.path("a.hg")).reader, 0);
}

/// A program in C that makes and frees blocks until its input ends.
const STEADY: &str = "
    #include <stdlib.h>
    #include <unistd.h>
    #include <fcntl.h>
    static void *volatile kept[64];
    int main(void) {
        for (int i = 0; i < 64; i++) kept[i] = malloc(10000);
        for (int i = 0; i < 32; i++) { free(kept[i]); kept[i] = 0; }
        fcntl(0, F_SETFL, O_NONBLOCK);
        char byte;
        while (read(0, &byte, 1) != 0) {
            for (int i = 0; i < 8; i++) kept[i] = malloc(100 + i);
            for (int i = 0; i < 8; i++) { free(kept[i]); kept[i] = 0; }
            usleep(200);
        }
        return 0;
    }";

#[test]
fn snapshots_of_a_run_can_be_seen_while_its_program_runs() {
    let place = Place::new();
    std::fs::write(place.path("steady.c"), STEADY).unwrap();
    let built = heapglass_limits::Command::new("cc")
        .args(["-O1", "-w", "-o", "steady", "steady.c"])
        .current_dir(place.root())
        .status();
    assert!(built.unwrap().success());
    let words = [
        "run",
        "--snapshot=every:1s",
        "--out",
        "a.hg",
        "--",
        "./steady",
    ];
    let mut run = place
        .heapglass(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let by_holder = || place.run(&["report", "a.hg", "--by", "holder"]);
    wait_until("a snapshot", || by_holder().status == Some(0));
    assert!(profile(&place.path("a.hg")).process().state == State::Running);
    // Another command gets one too, from the process that takes them.
    let done = place.run(&["snapshot", "a.hg", "-o", "b.hgs", "--wait", "60"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let kept = profile(&place.path("b.hgs"));
    let [snapshot] = kept.snapshots() else {
        panic!("not one snapshot");
    };
    assert_eq!(snapshot.moment().label, "request");
    let so_far = profile(&place.path("a.hg")).snapshots().len();
    assert!(so_far >= 2);
    drop(run.stdin.take());
    let done = Done::from(run.wait_with_output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(profile(&place.path("a.hg")).snapshots().len() >= so_far);
    // Nothing is left beside the recording.
    let runtime = place.path(".runtime/heapglass");
    let left = std::fs::read_dir(runtime).into_iter().flatten().count();
    assert_eq!(left, 0);
}

#[test]
fn a_run_takes_snapshots_at_its_peak_and_its_end_and_keeps_them_in_the_recording() {
    let place = Place::new();
    std::fs::write(place.path("large.json"), input()).unwrap();
    let target = ["--", HEAPGLASS, "demo", "--target", "large.json"];
    let mut words = vec!["run", "--snapshot", "--out", "a.hg"];
    words.extend(target);
    let done = place.run(&words);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("  snapshot    `peak` at "),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("  snapshot    `exit` at "),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains("no snapshot"), "{}", done.stderr);
    let profile = profile(&place.path("a.hg"));
    let labels: Vec<_> = profile
        .snapshots()
        .iter()
        .map(|snapshot| snapshot.moment().label.as_str())
        .collect();
    assert_eq!(labels, ["peak", "exit"]);
    let [peak, exit] = profile.snapshots() else {
        panic!("two");
    };
    assert!(peak.bytes() > exit.bytes());
    for snapshot in [peak, exit] {
        assert_eq!(snapshot.bytes(), snapshot.moment().live_bytes);
    }
    // Without snapshots, the summary says that there are some.
    let mut words = vec!["run", "--out", "b.hg"];
    words.extend(target);
    let done = place.run(&words);
    assert!(
        done.stderr
            .contains("`--snapshot` also shows who holds the heap"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_run_without_snapshots_that_were_asked_for_says_why_and_succeeds() {
    let place = Place::new();
    let words = [
        "run",
        "--snapshot",
        "--out",
        "a.hg",
        "--",
        HEAPGLASS,
        "demo",
        "--target",
        "input.json",
    ];
    let mut command = place.heapglass(&words);
    let done = Done::from(command.env("HEAPGLASS_PREALLOC", "1").output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("  no snapshot  "), "{}", done.stderr);
    assert!(
        done.stderr.contains("HEAPGLASS_PREALLOC"),
        "{}",
        done.stderr
    );
    assert!(profile(&place.path("a.hg")).snapshots().is_empty());
}
