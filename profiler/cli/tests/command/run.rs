//! `heapglass run`: leaves the command alone, reports its end, and keeps its recordings.

use heapglass_limits::Command;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use crate::common::{Done, HEAPGLASS, INPUT, Place, wait_until};

#[test]
fn the_exit_status_is_the_commands() {
    let place = Place::new();
    for status in [0, 1, 2, 7, 101, 255] {
        let done = place.run(&["run", "--", "sh", "-c", &format!("exit {status}")]);
        assert_eq!(done.status, Some(status), "{}", done.stderr);
    }
}

#[test]
fn a_path_or_a_size_that_is_not_understood_is_one_line_and_nothing_runs() {
    let place = Place::new();
    for (out, bytes, said) in [
        ("%x.hg", "", "%x.hg: invalid path pattern"),
        ("100%", "", "100%: invalid path pattern"),
        ("out/", "", "out/ is a folder"),
        ("x.hg", "yes", "HEAPGLASS_MAX_BYTES: `yes` is not a size"),
        ("x.hg", "0", "HEAPGLASS_MAX_BYTES: `0` is too small"),
    ] {
        let mut command = place.heapglass(&["run", "-o", out, "--", "touch", "ran"]);
        let done = Done::from(command.env("HEAPGLASS_MAX_BYTES", bytes).output().unwrap());
        assert_eq!(done.status, Some(2), "{out}: {}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{out}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{out}: {}", done.stderr);
        assert!(!place.path("ran").exists(), "{out}");
    }
}

#[test]
fn a_killed_command_is_reported_and_becomes_128_plus_the_signal() {
    let place = Place::new();
    for (name, status) in [("TERM", 143), ("KILL", 137), ("SEGV", 139)] {
        let done = place.run(&["run", "--", "sh", "-c", &format!("kill -{name} $$")]);
        assert_eq!(done.status, Some(status), "{}", done.stderr);
        let sentence = format!("was killed by SIG{name}");
        assert!(done.stderr.contains(&sentence), "{}", done.stderr);
        assert!(!done.stderr.contains("out of memory"), "{}", done.stderr);
    }
}

#[test]
fn a_command_that_is_not_there_is_127_and_one_that_is_none_is_126() {
    let place = Place::new();
    let done = place.run(&["run", "--", "no-such-command-here"]);
    assert_eq!(done.status, Some(127), "{}", done.stderr);
    assert!(
        done.stderr.contains("no-such-command-here"),
        "{}",
        done.stderr
    );
    let done = place.run(&["run", "--", "./input.json"]);
    assert_eq!(done.status, Some(126), "{}", done.stderr);
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    let done = place.run(&["run"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
}

#[test]
fn standard_input_and_output_belong_to_the_command() {
    let place = Place::new();
    let mut child = place
        .heapglass(&["run", "--", "sh", "-c", "cat; echo end >&1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
    let mut input = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(output.stdout, [&bytes[..], b"end\n"].concat());
}

#[test]
fn a_recorded_run_ends_with_figures_sites_and_what_to_type_next() {
    let place = Place::new();
    let done = place.run(&["run", "--", HEAPGLASS, "demo", "--target", "input.json"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(done.stdout, "");
    let files = place.files(".hg");
    assert_eq!(files.len(), 1, "{files:?}");
    let (pid, file) = (files[0].strip_prefix("heapglass-"), &files[0]);
    assert!(pid.is_some_and(|pid| pid.starts_with(|c: char| c.is_ascii_digit())));
    for part in [
        "peak",
        "resident ",
        "Bytes live at the peak",
        "target.rs:",
        &format!("  explore     heapglass {file}"),
    ] {
        assert!(done.stderr.contains(part), "no {part}: {}", done.stderr);
    }
    let report = place.report(file);
    assert_eq!(report["finished"], true);
    assert!(report["totals"]["peak_bytes"].as_u64() > Some(0));
    assert_eq!(place.files("").len(), 2, "{:?}", place.files(""));
}

#[test]
fn the_summary_as_json_agrees_with_the_report() {
    let place = Place::new();
    let target = [
        "run",
        "--json",
        "--",
        HEAPGLASS,
        "demo",
        "--target",
        "input.json",
    ];
    let done = place.run(&target);
    let summary: serde_json::Value =
        serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(summary["status"], 0);
    let recording = &summary["recordings"][0];
    let report = place.report(recording["path"].as_str().unwrap());
    assert_eq!(recording["totals"], report["totals"]);
}

#[test]
fn a_command_that_recorded_nothing_gets_the_reason_and_the_two_lines() {
    let place = Place::new();
    let done = place.run(&["run", "--no-preload", "--", "cat", "input.json"]);
    assert_eq!((done.status, done.stdout.as_str()), (Some(0), INPUT));
    for part in [
        "nothing was recorded",
        "does not use tracking-alloc as its allocator",
        "tracking-alloc = ",
        "#[global_allocator]",
    ] {
        assert!(done.stderr.contains(part), "no {part}: {}", done.stderr);
    }
    assert!(place.files(".hg").is_empty());

    // The advice must work: with the folder that contains this checkout, the path leads to a
    // package of that name.
    let line = done
        .stderr
        .lines()
        .find(|line| line.contains("tracking-alloc = "));
    let manifest: toml::Table = line.unwrap().trim().parse().unwrap();
    let dependency = &manifest["tracking-alloc"];
    let path = dependency
        .get("path")
        .and_then(toml::Value::as_str)
        .unwrap_or_default();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let package = path
        .strip_prefix("../heapglass/")
        .map(|path| workspace.join(path))
        .unwrap_or_else(|| panic!("no checkout in {dependency:?}"));
    let text = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    assert!(text.contains("name = \"tracking-alloc\""), "{text}");
}

#[test]
fn a_mistyped_mode_is_all_that_is_said_of_a_program_that_was_not_recorded() {
    let place = Place::new();
    let mut command = place.heapglass(&["run", "--", "/bin/ls"]);
    let done = Done::from(command.env("HEAPGLASS_MODE", "fast").output().unwrap());
    let said = "unknown HEAPGLASS_MODE `fast`; use `exact`, `sample` or `count`";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    for other in ["#[global_allocator]", "use `exact` or `count`", "/bin/ls "] {
        assert!(!done.stderr.contains(other), "{other}: {}", done.stderr);
    }
}

#[test]
fn a_linked_program_that_did_not_record_is_not_told_to_link() {
    let place = Place::new();
    let mut command = place.heapglass(&["run", "--", HEAPGLASS, "demo", "--target", "input.json"]);
    let done = Done::from(command.env("HEAPGLASS_MODE", "fast").output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("unknown HEAPGLASS_MODE `fast`"),
        "{}",
        done.stderr
    );
    assert!(
        !done.stderr.contains("#[global_allocator]"),
        "{}",
        done.stderr
    );
}

#[test]
fn with_force_a_file_at_the_path_gives_way_once_it_is_recorded() {
    let place = Place::new();
    fs::write(place.path("x.hg"), "mine").unwrap();
    let run = |words: &[&str]| {
        let mut all = vec!["run", "--no-preload", "--out", "x.hg", "--force", "--"];
        all.extend(words);
        let done = place.run(&all);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
    };
    run(&["true"]);
    assert_eq!(fs::read(place.path("x.hg")).unwrap(), b"mine");
    run(&[HEAPGLASS, "demo", "--target", "input.json"]);
    assert_eq!(place.files(".hg"), ["x.hg"]);
    place.report("x.hg");

    // Two programs of one run never overwrite each other's recording.
    let twice =
        format!("{HEAPGLASS} demo --target input.json; {HEAPGLASS} demo --target input.json");
    run(&["sh", "-c", &twice]);
    assert_eq!(place.files(".hg").len(), 2);
}

#[test]
fn a_taken_path_gets_a_suffix_and_what_stood_there_stays() {
    let place = Place::new();
    place.record("a.hg");
    let first = fs::read(place.path("a.hg")).unwrap();
    place.record("a.hg");
    place.record("a.hg");
    assert_eq!(fs::read(place.path("a.hg")).unwrap(), first);
    let recordings: Vec<String> = place.files(".hg");
    assert_eq!(recordings.len(), 3, "{recordings:?}");
    assert!(recordings[..2].iter().all(|name| name.starts_with("a-")));
    fs::write(place.path("other.hg"), "not a recording").unwrap();
    let words = [
        "run",
        "-q",
        "--out",
        "other.hg",
        "--",
        HEAPGLASS,
        "demo",
        "--target",
        "input.json",
    ];
    let done = place.run(&words);
    assert!(
        done.stderr.contains("other.hg was taken"),
        "{}",
        done.stderr
    );
    assert_eq!(
        fs::read_to_string(place.path("other.hg")).unwrap(),
        "not a recording"
    );
    for name in place.files("-").iter().filter(|name| name.ends_with(".hg")) {
        assert_eq!(place.report(name)["finished"], true, "{name}");
    }
}

#[test]
fn every_process_of_the_command_that_records_has_a_recording() {
    let place = Place::new();
    let script = format!("for i in 1 2 3; do {HEAPGLASS} demo --target input.json; done");
    let done = place.run(&[
        "run",
        "--out",
        "%e-%p-of-three.hg",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let files = place.files("-of-three.hg");
    // And that of the shell, in which a library was preloaded.
    assert_eq!(files.len(), 4, "{files:?}");
    let own = files.iter().filter(|file| file.starts_with("heapglass-"));
    assert_eq!(own.count(), 3, "{files:?}");
    for file in files {
        assert!(done.stderr.contains(&file), "{}", done.stderr);
        place.report(&file);
    }
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_the_command_runs() {
    let place = Place::new();
    for out in ["no/such/folder/a.hg", ".", "-"] {
        let done = place.run(&["run", "--out", out, "--", "touch", "it-ran"]);
        assert_eq!(done.status, Some(2), "{out}: {}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert!(done.stderr.contains("--out"), "{}", done.stderr);
    }
    assert!(place.files("it-ran").is_empty());
}

#[test]
fn a_recording_can_be_read_under_its_path_while_the_program_runs() {
    let place = Place::new();
    let pipe = place.pipe("pipe");
    let mut child = place
        .heapglass(&[
            "run", "--out", "live.hg", "--", HEAPGLASS, "demo", "--target", "pipe",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = fs::OpenOptions::new().write(true).open(pipe).unwrap();
    wait_until("the recording", || place.path("live.hg").exists());
    let report = place.report("live.hg");
    assert_eq!(
        (&report["finished"], &report["state"]),
        (&false.into(), &"running".into())
    );
    let listed = place.run(&[]);
    assert!(
        listed.stdout.contains("live.hg  (2") && listed.stdout.contains(" UTC, running, "),
        "{}",
        listed.stdout
    );
    input.write_all(INPUT.as_bytes()).unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(place.path("live.hg").symlink_metadata().unwrap().is_file());
    assert_eq!(place.report("live.hg")["finished"], true);
}

#[test]
fn a_program_killed_while_it_records_leaves_its_recording() {
    let place = Place::new();
    let pipe = place.pipe("pipe");
    let mut child = place
        .heapglass(&[
            "run", "--out", "k.hg", "--", HEAPGLASS, "demo", "--target", "pipe",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _input = fs::OpenOptions::new().write(true).open(pipe).unwrap();
    wait_until("the recording", || place.path("k.hg").exists());
    let pid = place.report("k.hg")["pid"].to_string();
    let killed = Command::new("kill").args(["-KILL", &pid]).status();
    assert!(killed.unwrap().success());
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(137), "{stderr}");
    assert!(stderr.contains("was killed by SIGKILL"), "{stderr}");
    let report = place.report("k.hg");
    assert_eq!(
        (&report["finished"], &report["state"]),
        (&false.into(), &"ended".into())
    );
}

#[test]
fn a_process_that_outlives_the_command_keeps_writing_under_its_path() {
    let place = Place::new();
    let pipe = place.pipe("pipe");
    let script = format!("{HEAPGLASS} demo --target pipe & until [ -e d.hg ]; do sleep 0.01; done");
    let child = place
        .heapglass(&["run", "--out", "d.hg", "--", "sh", "-c", &script])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = fs::OpenOptions::new().write(true).open(pipe).unwrap();
    // The background process has the same standard error, so read until the summary is complete.
    let pid = child.id();
    wait_until("the run to end", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
    assert_eq!(place.report("d.hg")["state"], "running");
    input.write_all(INPUT.as_bytes()).unwrap();
    drop(input);
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("still runs and writes to"),
        "{}",
        done.stderr
    );
    assert_eq!(place.report("d.hg")["finished"], true);
    let live = fs::canonicalize(place.path("d.hg")).unwrap();
    fs::remove_dir_all(live.parent().unwrap()).unwrap();
}
