//! An option that changes nothing causes one line on standard error. Other options cause none.

use std::fs;
use std::io::{Read, Write};

use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::{CARGO_HEAPGLASS, Done, HEAPGLASS, Place, terminal};

/// Command lines with an option that has no effect, and the expected line.
const WITHOUT: &[(&str, &str)] = &[
    (
        "report x.hg --own nonsense",
        "--own nonsense has no effect: the recording has no such crate",
    ),
    ("report x.hg --own serde-jso", "did you mean serde_json?"),
    (
        "report x.hg --own std",
        "--own std has no effect: only Rust crates outside std",
    ),
    (
        "report x.hg --debug-dir nowhere",
        "--debug-dir nowhere has no effect: there is no such folder",
    ),
    (
        "report x.hg --debug-dir empty",
        "--debug-dir empty has no effect: no symbols of this recording",
    ),
    (
        "report x.hg --debug-dir input.json",
        "--debug-dir input.json has no effect: it is not a folder",
    ),
    (
        "report packed.hg --debug-dir empty",
        "the recording is packed",
    ),
    (
        "report x.hg --explain --json",
        "--explain has no effect: --json has all",
    ),
    (
        "report x.hg --by type --frames all",
        "--frames all has no effect: rows by type",
    ),
    (
        "report x.hg --by thread --measure live",
        "--measure live has no effect: live bytes belong",
    ),
    (
        "report x.hg --by phase --own serde_json",
        "--own serde_json has no effect: rows by phase",
    ),
    (
        "flamegraph x.hg -o - --own nonsense",
        "--own nonsense has no effect",
    ),
    (
        "flamegraph x.hg -o - --by type --frames own",
        "--frames own has no effect",
    ),
    (
        "export x.hg --to csv --by owner --frames all",
        "--frames all has no effect",
    ),
    (
        "export x.hg --to folded --own serde_json",
        "--own serde_json has no effect: folded does not mark",
    ),
    (
        "export x.hg --to html --base packed.hg --frames all",
        "--frames all has no effect: a comparison has folded frames",
    ),
    (
        "export x.hg --to json --own nonsense",
        "--own nonsense has no effect",
    ),
    (
        "diff x.hg packed.hg --own nonsense",
        "--own nonsense has no effect",
    ),
    (
        "diff x.hg packed.hg --by thread --measure live",
        "--measure live has no effect",
    ),
    (
        "check x.hg --max-peak 1GiB --allow-copied",
        "--allow-copied has no effect",
    ),
    (
        "check x.hg --max-peak 1GiB --debug-dir nowhere",
        "--debug-dir nowhere has no effect",
    ),
    (
        "pack x.hg -o - --debug-dir nowhere",
        "--debug-dir nowhere has no effect",
    ),
    (
        "--json --own serde",
        "--own has no effect: recordings are listed",
    ),
    (
        "--binary x",
        "--binary has no effect: recordings are listed",
    ),
];

/// Command lines whose options have an effect.
const WITH: &[&str] = &[
    "report x.hg --own serde-json --debug-dir binary",
    "report x.hg --explain --frames own",
    "report x.hg --json --frames all --measure live",
    "report x.hg --by function --frames all",
    "report x.hg --by thread --measure blocks",
    "flamegraph x.hg -o - --frames all --own serde_json",
    "export x.hg --to folded --own serde_json --frames own",
    "export x.hg --to firefox --own serde_json",
    "diff x.hg packed.hg --own serde_json",
    "check x.hg --max-copied 1GiB --allow-copied",
    "pack x.hg -o - --own serde_json",
    "--json",
];

#[test]
fn an_option_without_effect_is_one_line_and_others_are_none() {
    let place = Place::new();
    place.record("x.hg");
    fs::create_dir(place.path("empty")).unwrap();
    fs::create_dir(place.path("binary")).unwrap();
    fs::copy(HEAPGLASS, place.path("binary/heapglass")).unwrap();
    // The binary is not at its recorded path. Symbols come from `--debug-dir`, or from the packed
    // recording.
    let done = place.run(&["pack", "x.hg", "-o", "packed.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let run = |line: &str| {
        let mut command = place.heapglass(&line.split(' ').collect::<Vec<_>>());
        // Packed bytes are not text.
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for (line, expected) in WITHOUT {
        let (status, said) = run(line);
        assert_eq!(status, Some(0), "{line}: {said}");
        assert!(said.contains(expected), "{line}: {said}");
        assert_eq!(said.matches("no effect").count(), 1, "{line}: {said}");
        assert!(said.starts_with("heapglass: "), "{line}: {said}");
    }
    for line in WITH.iter().skip(1) {
        let (status, said) = run(line);
        assert_eq!(status, Some(0), "{line}: {said}");
        assert!(!said.contains("no effect"), "{line}: {said}");
    }
    // Its own cache is empty, so it reads the binary.
    let mut command = place.heapglass(&WITH[0].split(' ').collect::<Vec<_>>());
    command
        .arg("--binary")
        .arg("binary/heapglass")
        .env("XDG_CACHE_HOME", place.path("other"));
    let done = Done::from(command.output().unwrap());
    assert!(!done.stderr.contains("no effect"), "{}", done.stderr);
}

#[test]
fn a_crate_that_is_not_there_is_not_packed_as_the_only_own_one() {
    let place = Place::new();
    place.record("x.hg");
    let done = place.run(&["pack", "x.hg", "-o", "packed.hg", "--own", "nonsense"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(
        done.stderr.contains("--own nonsense has no effect"),
        "{}",
        done.stderr
    );
    assert!(place.files("packed").is_empty());
}

#[test]
fn a_run_says_which_own_crate_was_not_seen() {
    let place = Place::new();
    for (option, own, is_said) in [
        ("-q", "nonsense", true),
        ("--json", "nonsense", true),
        ("-q", "serde_json", false),
    ] {
        let words = [
            "run",
            option,
            "--own",
            own,
            "--",
            HEAPGLASS,
            "demo",
            "--target",
            "input.json",
        ];
        let done = place.run(&words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let line = format!("heapglass: --own {own} has no effect: ");
        assert_eq!(done.stderr.contains(&line), is_said, "{}", done.stderr);
    }
}

#[test]
fn a_build_has_no_use_for_a_path() {
    let place = Place::new();
    fs::create_dir(place.path("src")).unwrap();
    fs::write(place.path("src/main.rs"), "fn main() {}").unwrap();
    let manifest = "[package]\nname = \"bare\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(place.path("Cargo.toml"), manifest).unwrap();
    let mut command = heapglass_limits::Command::new(CARGO_HEAPGLASS);
    place.isolate(&mut command);
    command
        .args(["heapglass", "build", "-q", "-o", "x.hg"])
        .env("CARGO_NET_OFFLINE", "true");
    let done = Done::from(command.output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let line = "heapglass: --out x.hg has no effect: build records nothing\n";
    assert!(done.stderr.contains(line), "{}", done.stderr);
}

#[test]
fn the_terminal_ui_says_it_when_the_screen_is_the_shells_again() {
    let place = Place::new();
    place.record("x.hg");
    // The recording contains its symbols, so it is not shown before it has names.
    let done = place.run(&["pack", "x.hg", "-o", "packed.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let (mut ours, theirs) = terminal();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&theirs, size).unwrap();
    let mut command = place.heapglass(&["tui", "packed.hg", "--own", "nonsense"]);
    command
        .env("TERM", "xterm-256color")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&shown).contains("finished") {
        let read = ours.read(&mut buffer).unwrap();
        shown.extend_from_slice(&buffer[..read]);
    }
    ours.write_all(b"q").unwrap();
    while let Ok(read @ 1..) = ours.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..read]);
    }
    assert!(child.wait().unwrap().success());
    let text = String::from_utf8_lossy(&shown);
    let (_, after) = text
        .rsplit_once("\u{1b}[?1049l")
        .expect("the screen is given back");
    assert!(
        after.contains("heapglass: --own nonsense has no effect"),
        "{after:?}"
    );
}
