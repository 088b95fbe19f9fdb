//! Programs that end and programs that do not.

use crate::Command;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the message of a panic that `work` must end with.
fn panics(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn output_and_status_are_those_of_std() {
    let output = Command::new("sh")
        .args(["-c", "echo out; echo err >&2; exit 3"])
        .output();
    let output = output.expect("it starts");
    assert_eq!(output.stdout, b"out\n");
    assert_eq!(output.stderr, b"err\n");
    assert_eq!(output.status.code(), Some(3));
    assert!(Command::new("/nowhere/at/all").output().is_err());
    let mut cat = Command::new("cat");
    let cat = cat
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = cat.spawn().expect("it starts");
    assert!(child.try_wait().expect("a status").is_none());
    let input = child.stdin.as_mut().expect("a pipe");
    std::io::Write::write_all(input, b"text").expect("it reads");
    assert_eq!(child.wait_with_output().expect("it ends").stdout, b"text");
}

#[test]
fn program_that_does_not_end_is_named_with_its_output_and_its_processes() {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "echo begun; sleep 1000 & sleep 1001"])
        .limit(Duration::from_millis(300));
    let said = panics(|| drop(shell.output()));
    for part in [
        "killed after 0.3 s",
        "sleep 1000 & sleep 1001",
        "tests.rs:",
        "begun",
        "sleep: state S",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
}

#[test]
fn processes_that_left_the_group_are_killed_too() {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "setsid sleep 1002 & echo $!; wait"])
        .limit(Duration::from_millis(300));
    let said = panics(|| drop(shell.output()));
    let id = said
        .lines()
        .skip_while(|line| !line.contains("standard output"))
        .nth(1);
    let status = std::fs::read_to_string(format!("/proc/{}/stat", id.expect("a number")));
    assert!(
        status.is_err() || status.is_ok_and(|text| text.contains(") Z")),
        "{said}"
    );
}

#[test]
fn output_that_a_leftover_keeps_open_has_a_limit_too() {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "echo early; sleep 3 &"])
        .limit(Duration::from_millis(300));
    let said = panics(|| drop(shell.output()));
    assert!(
        said.contains("left a process that keeps its output open"),
        "{said}"
    );
    assert!(said.contains("early"), "{said}");
}

#[test]
fn wait_for_a_program_that_does_not_end_panics() {
    let mut sleep = Command::new("sleep");
    let mut child = sleep
        .arg("1003")
        .limit(Duration::from_millis(300))
        .spawn()
        .expect("it starts");
    let said = panics(|| drop(child.wait()));
    assert!(said.contains("1003"), "{said}");
}

/// Returns the files of Rust below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns `true` if the text names `Command` or `Child` of `std::process`.
fn uses_std(text: &str) -> bool {
    text.split("process::").skip(1).any(|rest| {
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split_once('}').map_or("", |(names, _)| names),
            None => rest
                .split(|end: char| !end.is_alphanumeric())
                .next()
                .unwrap_or(""),
        };
        let mut names = names.split(|end: char| !end.is_alphanumeric());
        names.any(|name| name == "Command" || name == "Child")
    })
}

#[test]
fn no_test_starts_a_program_without_a_limit() {
    assert!(uses_std("use std::process::{Stdio, Command};"));
    assert!(uses_std("std::process::Command::new"));
    assert!(!uses_std("use std::process::{ExitStatus, Stdio};"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let is_test = |path: &&PathBuf| {
        let path = path.strip_prefix(&root).expect("below");
        // Programs that tests run, and this crate, may.
        let is_ours = path.starts_with("examples/limits");
        let in_tests = path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs");
        !is_ours && (in_tests || path.ends_with("pty.rs"))
    };
    let wrong: Vec<&PathBuf> = files
        .iter()
        .filter(is_test)
        .filter(|path| uses_std(&std::fs::read_to_string(path).expect("text")))
        .collect();
    assert!(files.len() > 500, "{} files", files.len());
    assert!(
        wrong.is_empty(),
        "use `heapglass_limits::Command` in {wrong:#?}"
    );
}
