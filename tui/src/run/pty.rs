//! Tests of the whole program on a pseudo-terminal: what it writes for each kind of terminal, what
//! it does with keys and the mouse, and that it restores the terminal.

use heapglass_limits::{Child, Command};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Instant;

use heapglass_fixture as fixture;
use heapglass_profiler::Early;
use heapglass_profiler::profile::Profile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{Options, Source};

/// Set for the child process, which is this test program with the UI as its only test.
const CHILD: &str = "HEAPGLASS_TEST_PTY";

struct Finished;

impl Source for Finished {
    fn title(&self) -> String {
        "cities.hg".into()
    }

    fn load(&mut self, _: &dyn Fn(&str), _: Option<Early<'_>>) -> Result<Profile, String> {
        Ok(fixture::profile())
    }

    fn is_live(&self) -> bool {
        false
    }
}

#[test]
#[ignore = "the other tests of this file start it on a pseudo-terminal"]
fn the_program_on_the_terminal() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let options = Options {
        source_roots: vec!["src/tests/cities".into()],
        ..Options::from_env()
    };
    crate::run(Finished, options).expect("the UI ends without an error");
}

/// A terminal of 80x24 with the UI in it.
struct Terminal {
    pty: File,
    child: Child,
    /// Everything that was written.
    written: Vec<u8>,
    screen: Vec<Vec<char>>,
    cursor: (usize, usize),
    /// The bytes that were not shown yet, because a sequence has not ended.
    rest: Vec<u8>,
}

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

impl Terminal {
    fn start(variables: &[(&str, &str)]) -> Terminal {
        let (pty, theirs) = fixture::terminal();
        let size = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&pty, size).expect("a size");
        let side = || Stdio::from(theirs.try_clone().expect("the other side"));
        let program = std::env::current_exe().expect("this program");
        // The pseudo-terminal becomes the controlling terminal, so that its size is the one asked
        // for.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(program)
            .args(["--exact", "run::pty::the_program_on_the_terminal"])
            .args(["--ignored", "--nocapture", "--quiet"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env(CHILD, "1")
            .envs(variables.iter().copied())
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("setsid of util-linux");
        Terminal {
            pty,
            child,
            written: Vec::new(),
            screen: vec![vec![' '; COLUMNS.into()]; ROWS.into()],
            cursor: (0, 0),
            rest: Vec::new(),
        }
    }

    fn send(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).expect("typed");
    }

    /// Reads what is written next. Returns `false` after the end.
    fn read(&mut self) -> bool {
        let mut waited = [PollFd::new(&self.pty, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: 50_000_000,
        };
        if poll(&mut waited, Some(&timeout)).expect("polled") == 0 {
            return true;
        }
        let mut bytes = [0; 65_536];
        // The other side is closed: an error on Linux.
        let read = self.pty.read(&mut bytes).unwrap_or(0);
        let bytes = &bytes[..read];
        self.written.extend(bytes);
        self.rest.extend(bytes);
        self.show();
        read > 0
    }

    /// Waits until the screen contains `text`.
    fn wait_for(&mut self, text: &str) {
        let begun = Instant::now();
        while !self.text().contains(text) {
            assert!(
                begun.elapsed() < heapglass_limits::limit() && self.read(),
                "no {text:?} on the screen:\n{}",
                self.text()
            );
        }
    }

    /// Waits until `bytes` were written.
    fn wait_for_bytes(&mut self, bytes: &str) {
        let begun = Instant::now();
        let is_there = |written: &[u8]| String::from_utf8_lossy(written).contains(bytes);
        while !is_there(&self.written) {
            assert!(
                begun.elapsed() < heapglass_limits::limit() && self.read(),
                "{bytes:?} was not written"
            );
        }
    }

    /// Waits for the end of the program, and returns everything that it has written.
    fn end(mut self) -> String {
        while self.read() {}
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}\n{}", self.text());
        String::from_utf8(self.written).expect("UTF-8")
    }

    fn text(&self) -> String {
        let lines = self
            .screen
            .iter()
            .map(|line| line.iter().collect::<String>() + "\n");
        lines.collect()
    }

    /// Draws the bytes as a terminal does: characters, and sequences that move or erase.
    fn show(&mut self) {
        let bytes = std::mem::take(&mut self.rest);
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let (text, rest) = bytes.split_at(error.valid_up_to());
                self.rest = rest.to_vec();
                std::str::from_utf8(text).expect("valid up to here")
            }
        };
        let mut left = text;
        while let Some(c) = left.chars().next() {
            let Some(end) = sequence(left) else {
                // The rest of the sequence is still to be read.
                self.rest.splice(0..0, left.bytes());
                return;
            };
            let (now, later) = left.split_at(end);
            left = later;
            if c == '\u{1b}' {
                self.obey(now);
            } else if !c.is_control() {
                let (column, row) = self.cursor;
                if let Some(cell) = self.screen.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *cell = c;
                }
                self.cursor.0 += 1;
            }
        }
    }

    fn obey(&mut self, sequence: &str) {
        let Some(control) = sequence.strip_prefix("\u{1b}[") else {
            return;
        };
        let numbers = control.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let mut numbers = numbers.split(';').map(|number| number.parse().unwrap_or(1));
        match control.chars().last() {
            Some('H') => {
                let (row, column) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
                self.cursor = (column - 1, row - 1);
            }
            // The program asks where the cursor is.
            Some('n') => {
                let (column, row) = self.cursor;
                self.send(&format!("\u{1b}[{};{}R", row + 1, column + 1));
            }
            Some('J') => self.screen.iter_mut().for_each(|row| row.fill(' ')),
            _ => {}
        }
    }
}

/// Returns the length of the character or sequence at the start of `text`; `None` if the sequence
/// does not end.
fn sequence(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first != '\u{1b}' {
        return Some(first.len_utf8());
    }
    match text[1..].chars().next()? {
        '[' => Some(2 + text[2..].find(|c: char| ('@'..='~').contains(&c))? + 1),
        ']' | 'P' => {
            let end = text[2..].find("\u{1b}\\").map(|end| end + 2);
            let bell = text[2..].find('\u{7}').map(|end| end + 1);
            Some(2 + end.into_iter().chain(bell).min()?)
        }
        other => Some(1 + other.len_utf8()),
    }
}

/// Returns the numbers of all colours of `38;5;N` and `48;5;N`.
fn colours(written: &str) -> Vec<u32> {
    let parts = written.split("8;5;").skip(1);
    parts
        .filter_map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect()
}

#[test]
fn each_kind_of_terminal_gets_what_it_can_show_and_is_restored() {
    for (variables, most, is_ascii) in [
        (&[("TERM", "xterm-256color")][..], Some(255), false),
        (
            &[("TERM", "xterm-kitty"), ("COLORTERM", "truecolor")],
            Some(255),
            false,
        ),
        (
            &[("TERM", "tmux-256color"), ("TMUX", "/tmp/t,1,0")],
            Some(255),
            false,
        ),
        (&[("TERM", "screen"), ("STY", "1.pts-0")], Some(15), false),
        (&[("TERM", "screen-256color")], Some(255), false),
        (&[("TERM", "xterm")], Some(15), false),
        (
            &[("TERM", "linux"), ("HEAPGLASS_THEME", "light")],
            Some(15),
            false,
        ),
        (
            &[
                ("TERM", "xterm-256color"),
                ("SSH_TTY", "/dev/pts/0"),
                ("NO_COLOR", "1"),
            ],
            None,
            false,
        ),
        (&[("TERM", "vt100")], None, false),
        (&[("TERM", "vt220"), ("LC_ALL", "C")], None, true),
        (&[("TERM", "dumb")], None, true),
    ] {
        let mut terminal = Terminal::start(variables);
        terminal.wait_for("? help");
        terminal.send("2");
        terminal.wait_for("largest frames");
        terminal.send("5/visit\r");
        terminal.wait_for("% of all");
        terminal.send("?");
        terminal.wait_for("go out, end the filters");
        terminal.send("q");
        terminal.wait_for("allocated as");
        terminal.send("q");
        let written = terminal.end();
        let colours = colours(&written);
        assert_eq!(colours.is_empty(), most.is_none(), "{variables:?}");
        let largest = colours.iter().copied().max();
        assert!(largest <= most, "{variables:?}: {largest:?}");
        if most == Some(255) {
            assert!(largest > Some(15), "{variables:?}");
        }
        assert_eq!(written.is_ascii(), is_ascii, "{variables:?}");
        for (taken, restored) in [
            ("\u{1b}[?1049h", "\u{1b}[?1049l"),
            ("\u{1b}[?2004h", "\u{1b}[?2004l"),
            ("\u{1b}[?1006h", "\u{1b}[?1006l"),
            // For terminals without an alternate screen.
            ("\u{1b}[2J", "\u{1b}[2J"),
        ] {
            let (first, last) = (written.find(taken), written.rfind(restored));
            let is_screen = variables.iter().any(|(name, _)| *name == "STY");
            if is_screen && taken.contains("1006") {
                assert_eq!(
                    first, None,
                    "GNU screen keeps Esc back while it reports the mouse"
                );
            } else {
                assert!(first.is_some() && first < last, "{variables:?}: {taken:?}");
            }
        }
    }
}

#[test]
fn the_mouse_the_clipboard_and_the_editor_work_on_a_terminal() {
    let mut terminal = Terminal::start(&[("TERM", "xterm-256color"), ("EDITOR", "/bin/echo edit")]);
    terminal.wait_for("? help");
    // A click on the tab of sites, then on its third row.
    let tab = terminal
        .text()
        .lines()
        .nth(1)
        .and_then(|line| line.find("5 Site"))
        .expect("the tabs")
        + 1;
    terminal.send(&format!("\u{1b}[<0;{tab};2M\u{1b}[<0;{tab};2m"));
    terminal.wait_for("allocated as");
    terminal.send("\u{1b}[<0;3;7M\u{1b}[<0;3;7m");
    terminal.wait_for("row 3 of");
    // The wheel, over the list.
    terminal.send("\u{1b}[<65;3;7M");
    terminal.wait_for("row 6 of");
    terminal.send("\u{1b}[<64;3;7M");
    terminal.wait_for("row 3 of");
    terminal.send("y");
    terminal.wait_for("copied src/model.rs:");
    // "src/model.rs:" in base64, without its last letters, which depend on the line.
    terminal.wait_for_bytes("\u{1b}]52;c;c3JjL21vZGVsLnJzO");
    terminal.send("E");
    terminal.wait_for_bytes("/tui/src/tests/cities/src/model.rs\r\n");
    terminal.wait_for("/bin/echo has ended");
    let written = String::from_utf8_lossy(&terminal.written).into_owned();
    assert!(written.contains("edit +"), "the editor gets the line");
    terminal.send("m");
    terminal.wait_for("Measure");
    terminal.send("\u{3}");
    terminal.end();
}
