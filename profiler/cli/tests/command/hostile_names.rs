//! Names of files and programs may contain terminal commands. The command never prints these.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Done, HEAPGLASS, Place};

/// Escape sequences for a title, a colour and a cursor move, and a cursor move in one byte.
const NAME: &str = "a\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}2Jb";

/// Returns the characters that a terminal acts on: control characters other than the end of a line.
fn controls(text: &str) -> Vec<char> {
    text.chars()
        .filter(|c| c.is_control() && *c != '\n')
        .collect()
}

#[track_caller]
fn is_plain(words: &[&str], done: &Done) {
    for text in [&done.stdout, &done.stderr] {
        assert_eq!(controls(text), [], "{words:?}: {text}");
    }
}

#[test]
fn no_command_prints_what_a_terminal_would_obey() {
    let place = Place::new();
    // Program, module, folder and recording all have such names.
    let folder = place.path(NAME);
    fs::create_dir(&folder).unwrap();
    let program = folder.join(format!("{NAME}.bin"));
    fs::copy(HEAPGLASS, &program).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let recording = format!("{NAME}/{NAME}.hg");
    let path = |end: &str| format!("{NAME}/{NAME}.{end}");
    let (svg, packed, other) = (path("svg"), path("packed.hg"), path("other"));
    let page = path("html");
    let run = [
        "run",
        "-o",
        &recording,
        "--",
        program,
        "demo",
        "--target",
        "input.json",
    ];
    let done = place.run(&run);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    is_plain(&run, &done);
    fs::write(place.path(&path("toml")), "[total]\npeak = 1\n").unwrap();
    let budget = path("toml");
    let mut commands: Vec<Vec<&str>> = vec![
        vec![],
        vec!["report", &recording],
        vec!["report", &recording, "--explain"],
        vec!["advise", &recording, "--all"],
        vec!["report", &recording, "--by", "module"],
        vec!["report", &recording, "--by", "owner", "--frames", "all"],
        vec!["report", &recording, "--own", NAME],
        vec!["report", &other],
        vec!["report", &recording, "--binary", &other],
        vec!["flamegraph", &recording, "-o", &svg],
        vec!["flamegraph", &recording, "-o", &svg, "--phase", NAME],
        vec!["pack", &recording, "-o", &packed],
        vec!["diff", &recording, &packed],
        vec!["diff", &recording, &packed, "-o", &page],
        vec![
            "export",
            &recording,
            "--to",
            "html",
            "--sources",
            "--source-dir",
            NAME,
            "-o",
            &page,
        ],
        vec!["export", &recording, "--to", "parquet", "-o", "tables"],
        vec!["check", &recording, "--budget", &budget],
        vec!["check", &recording, "--budget", &other],
        vec!["check", &recording, "--against", &packed],
        vec!["tui", &recording],
        vec!["tui", &other],
        vec!["man", "-o", &other],
        vec!["run", "-o", &recording, "--", &other],
        vec![
            "run", "-q", "-o", &recording, "--", program, "demo", "--target", &other,
        ],
        vec![
            "run",
            "-o",
            &recording,
            "--json",
            "--",
            program,
            "demo",
            "--target",
            "input.json",
        ],
    ];
    for format in [
        "folded",
        "dhat",
        "pprof",
        "speedscope",
        "firefox",
        "json",
        "csv",
        "html",
    ] {
        commands.push(vec!["export", &recording, "--to", format, "-o", &other]);
        // This format escapes names itself. Pprof is compressed.
        if format != "pprof" {
            commands.push(vec!["export", &recording, "--to", format, "-o", "-"]);
        }
    }
    for words in commands {
        let done = place.run(&words);
        is_plain(&words, &done);
    }
}
