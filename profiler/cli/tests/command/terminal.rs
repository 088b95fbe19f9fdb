//! What changes when there is a terminal, and what must not.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use crate::common::{Place, terminal};

/// What a command prints on a terminal. On standard error a line is drawn and erased where reading takes long.
fn on_a_terminal(place: &Place, words: &[&str], environment: &[(&str, &str)]) -> String {
    let (mut ours, theirs) = terminal();
    let mut command = place.heapglass(words);
    command
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .envs(environment.iter().copied())
        .stdout(theirs)
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let text = read_to_end(&mut ours);
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

/// A terminal whose other end is closed answers with an error, not with an end.
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

#[test]
fn colours_are_for_terminals_that_want_them() {
    let place = Place::new();
    place.record("x.hg");
    let words = ["report", "x.hg", "--top", "3"];
    let coloured = on_a_terminal(&place, &words, &[]);
    assert!(coloured.contains("\x1b[1m"), "{coloured}");
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = on_a_terminal(&place, &words, &[environment]);
        assert!(plain.contains("Sites by"), "{plain}");
        assert!(!plain.contains('\x1b'), "{environment:?}: {plain}");
    }
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
        &["run", "--tui", "--", "true"],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}: {}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{words:?}: {}", done.stderr);
    }
}
