//! The differences in output on a terminal.

use std::fs::File;
use std::io::Read;

use crate::common::{Place, skipped, terminal};

/// Returns the output of a command on a terminal.
fn on_a_terminal(place: &Place, words: &[&str], environment: &[(&str, &str)]) -> String {
    let (mut ours, theirs) = terminal();
    let mut command = place.heapglass(words);
    command
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .envs(environment.iter().copied())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command);
    let text = read_to_end(&mut ours);
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

/// Reading from a terminal whose other end is closed returns an error instead of the end of file.
fn read_to_end(terminal: &mut File) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read) = terminal.read(&mut buffer) {
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns `true` if the text contains an escape sequence that ends with `m`.
fn has_colours(text: &str) -> bool {
    text.split("\x1b[").skip(1).any(|rest| {
        let end = rest.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == ';');
        end.starts_with('m')
    })
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let place = Place::new();
    place.record("x.hg");
    let words = ["report", "x.hg", "--top", "3"];
    let coloured = on_a_terminal(&place, &words, &[]);
    assert!(coloured.contains("\x1b[1m"), "{coloured}");
    assert!(has_colours(&coloured));
    let plain = on_a_terminal(&place, &words, &[("NO_COLOR", "1")]);
    assert!(plain.contains("Sites by"), "{plain}");
    // If reading takes long, a line of progress is drawn and erased, without colours.
    assert!(!has_colours(&plain), "{plain}");
    let dumb = on_a_terminal(&place, &words, &[("TERM", "dumb")]);
    assert!(dumb.contains("Sites by"), "{dumb}");
    assert!(!dumb.contains('\x1b'), "{dumb}");
    let piped = place.run(&words);
    assert!(!piped.stdout.contains('\x1b'), "{}", piped.stdout);
}

#[test]
fn the_terminal_ui_without_a_terminal_says_what_to_do() {
    let place = Place::new();
    place.record("x.hg");
    for words in [
        &["x.hg"][..],
        &["tui", "x.hg"],
        &["tui", "x.hg", "--base", "x.hg"],
        &["run", "--tui", "--", "true"],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}: {}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{words:?}: {}", done.stderr);
    }
}

#[test]
fn a_base_that_cannot_be_read_is_said_before_the_terminal_changes() {
    let place = Place::new();
    place.record("x.hg");
    std::fs::write(place.path("text.hg"), "no recording").unwrap();
    for base in ["gone.hg", "text.hg"] {
        let done = place.run(&["tui", "x.hg", "--base", base]);
        assert_eq!(done.status, Some(2), "{base}: {}", done.stderr);
        assert!(done.stderr.contains(base), "{}", done.stderr);
    }
    let done = place.run(&["tui", "x.hg", "--base-binary", "x"]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("--base <BASE>"), "{}", done.stderr);
}

#[test]
fn a_folder_of_sources_that_is_none_is_said_before_the_terminal_changes() {
    let place = Place::new();
    place.record("x.hg");
    for folder in ["nothing", "x.hg"] {
        let done = place.run(&["tui", "x.hg", "--source-dir", folder]);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        let expected = format!("cannot find sources below {folder}: it is not a folder");
        assert!(done.stderr.contains(&expected), "{}", done.stderr);
    }
}

#[test]
fn work_that_takes_long_says_what_it_does_on_a_terminal_only() {
    if heapglass_preload::LIBRARY.is_err() {
        skipped("there is no library to preload");
        return;
    }
    let place = Place::new();
    let words = [
        "compare-allocators",
        "--with",
        "glibc",
        "--runs",
        "1",
        "--",
        "sleep",
        "0.6",
    ];
    let seen = on_a_terminal(&place, &words, &[("NO_COLOR", "1")]);
    for line in ["heapglass: recording with glibc", "heapglass: run 1 of 1"] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert!(!has_colours(&seen), "{seen}");
    let dumb = on_a_terminal(&place, &words, &[("TERM", "dumb")]);
    assert!(!dumb.contains("recording with"), "{dumb}");
    let piped = place.run(&words);
    assert_eq!(piped.stderr, "");
}
