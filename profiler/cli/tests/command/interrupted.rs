//! A command that is interrupted leaves neither a partial nor a temporary file.

use heapglass_limits::{Child, Command};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::common::{Done, HEAPGLASS, Place, wait_until};

fn signal(number: i32, pid: u32) {
    let status = Command::new("kill")
        .args([&format!("-{number}"), &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Returns all names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn has_temporary(folder: &Path) -> bool {
    names(folder).iter().any(|name| name.ends_with(".tmp"))
}

/// Starts a command that writes to `out`, and signals it once it has a temporary file. Returns
/// `None` if it was faster.
fn interrupted(place: &Place, words: &[&str], number: i32) -> Option<ExitStatus> {
    // Without symbols in a cache, the work takes long.
    let cache = tempfile::tempdir().unwrap();
    let mut command = place.heapglass(words);
    command
        .env("XDG_CACHE_HOME", cache.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child: Child = command.spawn().unwrap();
    let mut ended = None;
    wait_until("a temporary file", || {
        ended = child.try_wait().unwrap();
        ended.is_some() || has_temporary(place.root())
    });
    if ended.is_none() {
        signal(number, child.id());
    }
    let status = child.wait().unwrap();
    let left = names(&cache.path().join("heapglass"));
    assert!(!left.iter().any(|name| name.ends_with(".new")), "{left:?}");
    (status.code() != Some(0)).then_some(status)
}

#[test]
fn a_signal_leaves_nothing_of_any_command_that_writes_a_file() {
    let place = Place::new();
    for name in ["a.hg", "b.hg"] {
        place.record(name);
    }
    let before = names(place.root());
    let commands: [&[&str]; 10] = [
        &["report", "a.hg", "-o", "out"],
        &["report", "a.hg", "--json", "-o", "out"],
        &["advise", "a.hg", "--json", "-o", "out"],
        &["flamegraph", "a.hg", "-o", "out"],
        &["export", "a.hg", "--to", "pprof", "-o", "out"],
        &["export", "a.hg", "--to", "html", "-o", "out"],
        &["diff", "a.hg", "b.hg", "-o", "out.svg"],
        &["check", "a.hg", "--max-peak", "1GiB", "-o", "out"],
        &["pack", "a.hg", "-o", "out"],
        &["merge", "a.hg", "b.hg", "-o", "out"],
    ];
    let signals = [SIGINT, SIGTERM, SIGHUP];
    for (words, number) in commands.into_iter().zip(signals.into_iter().cycle()) {
        let mut tries = 0;
        let status = loop {
            if let Some(status) = interrupted(&place, words, number) {
                break status;
            }
            // It was faster: its file is complete.
            for name in ["out", "out.svg"] {
                let _ = fs::remove_file(place.path(name));
            }
            tries += 1;
            assert!(tries < 50, "{words:?} always ends first");
        };
        assert_eq!(status.signal(), Some(number), "{words:?}");
        assert_eq!(names(place.root()), before, "{words:?}");
    }
}

#[test]
fn a_file_that_finds_no_room_is_an_error_and_leaves_nothing() {
    let place = Place::new();
    place.record("a.hg");
    fs::write(place.path("out"), "old").unwrap();
    let before = names(place.root());
    for words in [
        "pack a.hg -o out",
        "merge a.hg -o out",
        "export a.hg --to html -o out",
    ] {
        // A limit is like a full disk, but for the signal that comes with it.
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f 8; exec {HEAPGLASS} {words}")]);
        place.isolate(&mut command);
        // Nothing can be written below a device.
        command.env("XDG_CACHE_HOME", "/dev/null");
        let done = Done::from(command.output().unwrap());
        assert_eq!(done.status, Some(2), "{words}: {}", done.stderr);
        assert!(done.stderr.contains("cannot write"), "{}", done.stderr);
        assert_eq!(names(place.root()), before, "{words}");
        assert_eq!(fs::read(place.path("out")).unwrap(), b"old");
    }
}

/// Starts `compare-allocators` with a command that sleeps, and waits until that runs.
fn comparing(place: &Place) -> Child {
    fs::create_dir_all(place.path("tmp")).unwrap();
    let script = "echo $$ > sleeps; exec sleep 60";
    let words = [
        "compare-allocators",
        "--with",
        "glibc",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut command = place.heapglass(&words);
    command
        .env("TMPDIR", place.path("tmp"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().unwrap();
    wait_until("the command", || {
        fs::read_to_string(place.path("sleeps")).is_ok_and(|text| text.ends_with('\n'))
    });
    assert_eq!(names(&place.path("tmp")).len(), 1);
    child
}

#[test]
fn a_comparison_of_allocators_ends_its_command_and_removes_its_folder() {
    for (number, whole_group) in [(SIGTERM, false), (SIGINT, false), (SIGINT, true)] {
        let place = Place::new();
        let mut child = comparing(&place);
        let pid = child.id().to_string();
        let target = if whole_group { format!("-{pid}") } else { pid };
        let status = Command::new("kill")
            .args([&format!("-{number}"), "--", &target])
            .status();
        assert!(status.unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        let sleeps = fs::read_to_string(place.path("sleeps")).unwrap();
        let of_process = format!("/proc/{}", sleeps.trim());
        wait_until("the end of the command", || {
            !Path::new(&of_process).exists()
        });
        assert_eq!(names(&place.path("tmp")), [""; 0]);
        let runtime = place.path(".runtime/heapglass");
        assert_eq!(names(&runtime), [""; 0]);
    }
}

#[test]
fn a_signal_ignored_from_the_start_does_not_interrupt() {
    let place = Place::new();
    place.record("a.hg");
    let script = format!(
        "trap '' INT; {HEAPGLASS} pack a.hg -o out 2>/dev/null & \
         until ls -A | grep -q tmp$ || [ -e out ]; do :; done; kill -INT $!; wait $!"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    place.isolate(&mut command);
    assert!(command.status().unwrap().success());
    assert_eq!(place.report("out")["finished"], true);
    assert!(!has_temporary(place.root()));
}
