//! Programs that must not notice.

use super::{Program, is_refused};
use crate::common::Place;
use heapglass_limits::{Command, rounds};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

fn start(place: &Place, source: &str, name: &str, words: &[&str]) -> Program {
    place.compile(source, name);
    let mut command = Command::new(place.path(name));
    command.args(words);
    Program::started(command)
}

fn signal(program: &Program, name: &str) {
    let mut kill = Command::new("kill");
    let status = kill.args([name, &program.id()]).status();
    assert!(status.unwrap().success());
}

/// Attaches and detaches. Returns `false` if this machine forbids it.
fn cycle(place: &Place, id: &str, round: usize) -> bool {
    let mode = ["exact", "sample"][round % 2];
    let recording = format!("{round}.hg");
    let done = place.run(&["attach", id, "--mode", mode, "-o", &recording]);
    if is_refused(&done) {
        return false;
    }
    assert_eq!(done.status, Some(0), "{round}: {}", done.stderr);
    let done = place.run(&["detach", id]);
    assert_eq!(done.status, Some(0), "{round}: {}", done.stderr);
    fs::remove_file(place.path(&recording)).unwrap();
    true
}

#[test]
fn threads_that_always_allocate_or_compute_are_recorded_and_do_not_notice() {
    for (name, words) in [
        ("allocates", &["malloc"][..]),
        ("allocate", &["malloc", "3"]),
        ("computes", &["compute"]),
    ] {
        let place = Place::new();
        let mut program = start(&place, include_str!("busy.c"), name, words);
        for round in 0..rounds(3, 200) {
            if !cycle(&place, &program.id(), round) {
                return;
            }
        }
        signal(&program, "-TERM");
        assert_eq!(program.line(), "wrong 0\n", "{words:?}");
    }
}

#[test]
fn a_thread_in_a_handler_that_interrupted_malloc_is_not_used() {
    let place = Place::new();
    let mut program = start(&place, include_str!("busy.c"), "handler", &["handler"]);
    // The signal comes after 20 ms, most likely inside malloc or free.
    std::thread::sleep(Duration::from_millis(200));
    let done = place.run(&["attach", &program.id()]);
    if is_refused(&done) {
        return;
    }
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(
        done.stderr.contains("in a signal handler"),
        "{}",
        done.stderr
    );
    let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).unwrap();
    assert!(!maps.contains("heapglass"), "{maps}");
    signal(&program, "-TERM");
    assert_eq!(program.line(), "wrong 0\n");
}

#[test]
fn a_program_that_becomes_another_one_ends_the_command() {
    let place = Place::new();
    let source = include_str!("others.c");
    let mut program = start(&place, source, "becomes", &["becomes"]);
    let id = program.id();
    let words = [&id, "--mode", "exact", "--duration", "600", "-o", "a.hg"];
    let Some(attaching) = place.attach(&words) else {
        return;
    };
    program.say();
    let told = attaching.end();
    assert!(told.contains("has become sleep (exec)"), "{told}");
    assert_eq!(place.report("a.hg")["totals"]["total_blocks"], 1000);
    // What it became can be attached to, again and again, although it waits in one system call.
    for round in 0..3 {
        assert!(cycle(&place, &id, round));
    }
    program.kill();
}

#[test]
fn a_program_that_makes_children_meanwhile_is_recorded_alone() {
    let place = Place::new();
    let source = include_str!("others.c");
    let mut program = start(&place, source, "forks", &["forks"]);
    for round in 0..rounds(5, 100) {
        if !cycle(&place, &program.id(), round) {
            return;
        }
    }
    program.say();
    assert_eq!(program.line(), "wrong 0\n");
}

#[test]
fn of_two_commands_one_attaches() {
    let place = Place::new();
    let mut program = Program::start(&place, "two");
    let id = program.id();
    for round in 0..rounds(3, 50) {
        let start = |number: usize| {
            let recording = format!("{round}-{number}.hg");
            let mut command = place.heapglass(&["attach", &id, "-o", &recording]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let both = [start(0), start(1)];
        let done = both.map(|child| child.wait_with_output().unwrap());
        let told = done
            .each_ref()
            .map(|done| String::from_utf8_lossy(&done.stderr));
        if told[0].contains("may not be traced") || told[0].contains("ptrace_scope") {
            return crate::common::skipped(&told[0]);
        }
        let attached = done.iter().filter(|done| done.status.success()).count();
        assert_eq!(attached, 1, "{told:?}");
        for (done, told) in done.iter().zip(&told) {
            let says = ["is being recorded", "just now", "being recorded already"];
            let is_told = says.iter().any(|says| told.contains(says));
            assert!(done.status.success() || is_told, "{told}");
        }
        let done = place.run(&["detach", &id]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
    }
    program.work();
    program.finish();
}

#[test]
fn a_command_that_is_killed_at_any_time_leaves_the_program_alive() {
    let place = Place::new();
    let mut program = Program::start(&place, "survives");
    let id = program.id();
    if !cycle(&place, &id, 0) {
        return;
    }
    let (mut killed, many) = (0, rounds(6, 80));
    for round in 0..many {
        let recording = format!("{round}.hg");
        let mut command = place.heapglass(&["attach", &id, "-o", &recording]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // An attach takes 100 to 200 ms here.
        std::thread::sleep(Duration::from_millis(
            (round * 197 % many * 200 / many) as u64,
        ));
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        program.work();
        // A call that had begun ends by itself.
        let mut done = place.run(&["detach", &id]);
        while done.stderr.contains("just now") {
            std::thread::sleep(Duration::from_millis(10));
            done = place.run(&["detach", &id]);
        }
        let is_told = done.status == Some(0) || done.stderr.contains("nobody is attached");
        assert!(is_told, "{round}: {}", done.stderr);
    }
    assert!(killed > 0);
    program.finish();
}
