//! Commands that read: unusable input or output causes one line and status 2, and no data is lost.

use std::fs;
use std::process::Stdio;

use crate::common::Place;

/// Every command that reads a recording, for a recording named `x.hg`.
const READERS: [&[&str]; 10] = [
    &["report", "x.hg"],
    &["report", "x.hg", "--json"],
    &["advise", "x.hg"],
    &["flamegraph", "x.hg", "-o", "out"],
    &["export", "x.hg", "--to", "pprof", "-o", "out"],
    &["export", "x.hg", "--to", "csv"],
    &["pack", "x.hg", "-o", "out"],
    &["diff", "x.hg", "x.hg", "-o", "out"],
    &["check", "x.hg", "--max-peak", "1MiB", "-o", "out"],
    &["tui", "x.hg"],
];

fn each_is_refused(place: &Place, what: &str) {
    fs::write(place.path("out"), "precious").unwrap();
    for words in READERS {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{what}: {words:?}: {}", done.stderr);
        assert_eq!(
            done.stderr.lines().count(),
            1,
            "{what}: {words:?}: {}",
            done.stderr
        );
        assert!(
            done.stderr.contains("x.hg"),
            "{what}: {words:?}: {}",
            done.stderr
        );
        assert_eq!(done.stdout, "", "{what}: {words:?}");
    }
    assert_eq!(fs::read_to_string(place.path("out")).unwrap(), "precious");
    assert_eq!(place.files("out").len(), 1, "{:?}", place.files("out"));
}

#[test]
fn missing_empty_foreign_and_cut_recordings_are_refused() {
    let place = Place::new();
    place.record("good.hg");
    let good = fs::read(place.path("good.hg")).unwrap();
    each_is_refused(&place, "missing");
    fs::create_dir(place.path("x.hg")).unwrap();
    each_is_refused(&place, "a folder");
    fs::remove_dir(place.path("x.hg")).unwrap();
    let newer = {
        let mut bytes = good.clone();
        bytes[8] = 99;
        bytes
    };
    let flipped = {
        let mut bytes = good.clone();
        bytes[5000] ^= 0x10;
        bytes
    };
    for (what, bytes) in [
        ("empty", &b""[..]),
        ("foreign", b"#!/bin/sh\necho hello\n"),
        ("a header only", &good[..4096]),
        ("cut", &good[..good.len() / 2]),
        ("newer", &newer),
        ("flipped", &flipped),
    ] {
        fs::write(place.path("x.hg"), bytes).unwrap();
        each_is_refused(&place, what);
    }
}

#[test]
fn a_recording_of_another_layout_version_is_refused_and_listed_as_one() {
    let place = Place::new();
    place.record("x.hg");
    let mut bytes = fs::read(place.path("x.hg")).unwrap();
    bytes[8] -= 1;
    fs::write(place.path("x.hg"), &bytes).unwrap();
    let done = place.run(&["report", "x.hg"]);
    let expected = format!(
        "heapglass: x.hg: written in layout version {}, and this heapglass reads version {}; an earlier build wrote it; record again with",
        bytes[8],
        bytes[8] + 1
    );
    assert!(done.stderr.starts_with(&expected), "{}", done.stderr);
    let listed: serde_json::Value = serde_json::from_str(&place.run(&["--json"]).stdout).unwrap();
    assert_eq!(listed["recordings"][0]["state"], "other version");
}

#[test]
fn a_folder_given_as_a_recording_is_called_so() {
    let place = Place::new();
    fs::create_dir(place.path("x.hg")).unwrap();
    let done = place.run(&["report", "x.hg"]);
    assert!(
        done.stderr.contains("x.hg: this is a folder;"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_word_that_reads_like_a_command_is_no_missing_file() {
    let place = Place::new();
    for words in [
        &["repot"][..],
        &["repot", "x.hg"],
        &["reports", "--top", "3"],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}");
        let meant = format!(
            "heapglass: {}: neither a command nor a file; did you mean `heapglass report`?\n",
            words[0]
        );
        assert_eq!(done.stderr, meant);
    }
    // An existing file is never taken for a command, and a word unlike any command is a missing
    // file.
    fs::write(place.path("repot"), "").unwrap();
    let there = place.run(&["repot"]);
    assert!(there.stderr.contains("empty"), "{}", there.stderr);
    let missing = place.run(&["x.hg"]);
    assert!(
        missing.stderr.contains("x.hg: no such file"),
        "{}",
        missing.stderr
    );
    for words in [["help", "report"], ["report", "--help"]] {
        assert_eq!(place.run(&words).status, Some(0), "{words:?}");
    }
}

#[test]
fn a_binary_of_another_build_is_refused() {
    let place = Place::new();
    place.record("x.hg");
    let done = place.run(&["report", "x.hg", "--binary", "/bin/sh"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    let done = place.run(&["report", "x.hg", "--binary", crate::common::HEAPGLASS]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
}

#[test]
fn output_that_cannot_be_written_is_refused() {
    let place = Place::new();
    place.record("x.hg");
    let before = fs::read(place.path("x.hg")).unwrap();
    for command in ["report", "flamegraph", "pack"] {
        // A missing folder, a folder, the recording itself.
        for out in ["no/such/out", ".", "./x.hg"] {
            let done = place.run(&[command, "x.hg", "-o", out]);
            assert_eq!(done.status, Some(2), "{command} {out}: {}", done.stderr);
            assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        }
        if fs::metadata("/dev/full").is_ok() {
            let done = place.run(&[command, "x.hg", "-o", "/dev/full"]);
            assert_eq!(done.status, Some(2), "{command}: {}", done.stderr);
        }
    }
    assert_eq!(fs::read(place.path("x.hg")).unwrap(), before);
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let place = Place::new();
    place.record("x.hg");
    for words in [
        &["flamegraph", "x.hg", "-o", "-"][..],
        &["report", "x.hg", "--json"],
        &["diff", "x.hg", "x.hg"],
        &["check", "x.hg", "--max-peak", "1GiB"],
        &["export", "x.hg", "--to", "pprof"],
        &["export", "x.hg", "--to", "dhat"],
        &["export", "x.hg", "--to", "speedscope"],
        &["export", "x.hg", "--to", "firefox"],
        &["export", "x.hg", "--to", "folded"],
        &["export", "x.hg", "--to", "json"],
        &["export", "x.hg", "--to", "csv"],
        &["pack", "x.hg", "-o", "-"],
        &["--json"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut child = place
            .heapglass(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{words:?}");
    }
}

#[test]
fn a_packed_recording_reports_the_same_without_its_binary() {
    let place = Place::new();
    // A binary that is removed afterwards.
    fs::copy(crate::common::HEAPGLASS, place.path("program")).unwrap();
    let words = [
        "run",
        "-q",
        "--out",
        "x.hg",
        "--",
        "./program",
        "demo",
        "--target",
        "input.json",
    ];
    assert_eq!(place.run(&words).status, Some(0));
    let before = place.report("x.hg");
    let done = place.run(&["pack", "x.hg", "-o", "packed.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    fs::remove_file(place.path("program")).unwrap();
    fs::remove_dir_all(place.path(".cache")).unwrap();
    let packed = place.report("packed.hg");
    assert_eq!(packed["rows"], before["rows"]);
    assert_eq!(packed["totals"], before["totals"]);
}

#[test]
fn the_flamegraph_is_the_same_in_a_file_and_on_standard_output() {
    let place = Place::new();
    place.record("x.hg");
    let done = place.run(&["flamegraph", "x.hg", "-o", "x.svg", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let said: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["total"], place.report("x.hg")["totals"]["peak_bytes"]);
    let piped = place.run(&["flamegraph", "x.hg", "-o", "-"]);
    assert_eq!(
        piped.stdout,
        fs::read_to_string(place.path("x.svg")).unwrap()
    );
    assert!(piped.stdout.contains("<svg"), "{}", piped.stdout);
}

#[test]
fn a_flamegraph_of_a_phase_that_is_not_there_names_those_that_are() {
    let place = Place::new();
    place.record("x.hg");
    let done = place.run(&["flamegraph", "x.hg", "-o", "x.svg", "--phase", "nowhere"]);
    assert_eq!(done.status, Some(2));
    assert!(
        done.stderr.contains("no phase nowhere in x.hg: it has"),
        "{}",
        done.stderr
    );
}

#[test]
fn bare_heapglass_lists_what_is_here_and_what_was_made_elsewhere() {
    let place = Place::new();
    place.record("x.hg");
    fs::write(place.path("y.hg"), "something else").unwrap();
    let mut broken = fs::read(place.path("x.hg")).unwrap();
    let middle = broken.len() / 2;
    broken.truncate(middle);
    fs::write(place.path("z.hg"), broken).unwrap();
    let done = place.run(&[]);
    let line = |name: &str| {
        let mut lines = done.stdout.lines();
        lines
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
    };
    assert!(
        line("x.hg  (2").contains(" UTC, finished, "),
        "{}",
        done.stdout
    );
    assert!(
        line("z.hg  (2").contains(" UTC, damaged, "),
        "{}",
        done.stdout
    );
    fs::remove_file(place.path("z.hg")).unwrap();
    assert!(!done.stdout.contains("y.hg"), "{}", done.stdout);
    fs::create_dir(place.path("elsewhere")).unwrap();
    let mut command = place.heapglass(&["--json"]);
    let output = command
        .current_dir(place.path("elsewhere"))
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // The list may also contain recordings that other runs left in memory.
    let recordings = list["recordings"].as_array().unwrap();
    let is_x =
        |recording: &&serde_json::Value| recording["path"].as_str() == place.path("x.hg").to_str();
    let found = recordings.iter().find(is_x).unwrap();
    assert_eq!(
        (&found["here"], &found["left"]),
        (&false.into(), &false.into())
    );
}
