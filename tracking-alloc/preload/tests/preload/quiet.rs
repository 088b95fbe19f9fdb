//! The costs of the library for a program: stack, and the time until it follows a request.

use super::{command, compile, library, record, text};
use heapglass_limits::Child;
use heapglass_profiler::attach::{Followed, set_paused, set_sampling};
use heapglass_profiler::profile::State;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The most bytes of stack that an event may take.
const MOST_STACK: u64 = 2252;
/// A wait that fails only if what is waited for never comes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn no_event_takes_more_than_2_2_kib_of_stack() {
    // Without lazy binding, whose first calls take more.
    let program = compile("stack.c", "stack", &["-pthread", "-Wl,-z,now"]);
    let bare = command(&program, &[]).output().expect("it starts");
    assert_eq!(bare.status.code(), Some(7), "{}", text(&bare.stderr));
    for mode in ["exact", "count", "sample"] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = command(&program, &[])
            .env("LD_PRELOAD", library())
            .env("HEAPGLASS_OUT", folder.path().join("out.hg"))
            .env("HEAPGLASS_MODE", mode)
            .env("HEAPGLASS_SAMPLE_BYTES", "1000")
            .output()
            .expect("it starts");
        // It allocates in a handler with 4 KiB of stack, too.
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(7), "{mode}: {printed}");
        assert_eq!(printed.lines().count(), 9, "{printed}");
        for line in printed.lines() {
            let (_, bytes) = line.split_once('=').expect("name=bytes");
            let bytes: u64 = bytes.parse().expect("a number");
            assert!(bytes <= MOST_STACK, "{mode}: {line}");
        }
    }
}

fn start(mode: &str, recording: &Path) -> Child {
    let program = compile("steady.c", &format!("steady-{mode}"), &["-pthread"]);
    let child = command(program, &[])
        .env("LD_PRELOAD", library())
        .env("HEAPGLASS_OUT", recording)
        .env("HEAPGLASS_MODE", mode)
        .env("HEAPGLASS_SAMPLE_BYTES", "1GiB")
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    until("the recording", || recording.exists());
    child
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_program_in_a_steady_state_follows_requests() {
    for mode in ["exact", "count", "sample"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.hg");
        let mut child = start(mode, &path);
        for is_paused in [true, false] {
            let followed = set_paused(&path, is_paused, PATIENCE).expect("running");
            let Followed::Yes(ns) = followed else {
                panic!("{mode}: {followed:?}");
            };
            assert_eq!(ns != 0, is_paused, "{mode}");
        }
        if mode != "count" {
            let followed = set_sampling(&path, Some(1 << 20), PATIENCE).expect("it may change");
            assert_eq!(followed, Followed::Yes(1 << 20), "{mode}");
        }
        drop(child.stdin.take());
        assert_eq!(child.wait().expect("waited for").code(), Some(7));
    }
}

#[test]
fn the_time_of_a_killed_program_in_a_steady_state_is_that_of_its_end() {
    for mode in ["exact", "count", "sample"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.hg");
        let mut child = start(mode, &path);
        let begun = Instant::now();
        let duration = || {
            let process = heapglass_profiler::read_process(&path).expect("readable");
            Duration::from_nanos(process.duration_ns)
        };
        let before = duration();
        until("two seconds", || {
            duration() > before + Duration::from_secs(2)
        });
        child.kill().expect("killed");
        child.wait().expect("waited for");
        let process = heapglass_profiler::read_process(&path).expect("readable");
        assert_ne!(process.state, State::Finished);
        assert!(duration() > before + Duration::from_secs(2), "{mode}");
        assert!(duration() <= before + begun.elapsed(), "{mode}");
    }
}

#[test]
fn a_wrong_setting_about_children_is_one_line_and_the_program_runs_on() {
    let run = record(command("true", &[]).env("HEAPGLASS_CHILDREN", "maybe"));
    assert_eq!(
        text(&run.output.stderr),
        "heapglass: invalid HEAPGLASS_CHILDREN `maybe`; use `0` or `1`; programs that this one starts are not recorded\n"
    );
    assert_eq!(run.recordings().len(), 1);
}
