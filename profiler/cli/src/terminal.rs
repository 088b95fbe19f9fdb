//! What goes to standard error, and how text looks on a terminal. A standard error that went away ends nothing.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;

use heapglass_profiler::report::{DEFAULT_WIDTH, Options, Paint, Style, plain};
use heapglass_profiler::units::{counted, printable};
use rustix::termios::tcgetwinsize;

/// Writes lines to standard error. Names and paths in them may come from anywhere: whatever a terminal would take for a
/// command is spelled out.
pub(crate) fn eprint_line(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(&text.to_string()));
}

/// As [`printable`], line by line.
fn printable_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Asks for an answer on standard error, in the same line.
pub(crate) fn eprint_question(text: impl fmt::Display) {
    let _ = write!(std::io::stderr(), "{}", printable_lines(&text.to_string()));
}

/// Says that a picture was written.
pub(crate) fn wrote_picture(path: &Path, frames: usize) {
    let frames = counted(frames as u64, "frame");
    eprint_line(format_args!(
        "wrote {}: {frames}; open it in a browser",
        path.display()
    ));
}

/// Mark-up for `stream`: escape sequences on a terminal that wants colours, else none.
fn paint(stream: &impl IsTerminal) -> Paint {
    let wanted = understands_escapes(stream)
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { in_colour } else { plain }
}

/// Whether there is a terminal to show something on and to be asked on.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Whether `stream` is a terminal that understands escape sequences.
pub(crate) fn understands_escapes(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

fn in_colour(style: Style) -> (&'static str, &'static str) {
    const RESET: &str = "\x1b[0m";
    match style {
        Style::Heading => ("\x1b[1m", RESET),
        Style::Strong => ("\x1b[36m", RESET),
        Style::Faint => ("\x1b[2m", RESET),
        Style::Warning => ("\x1b[33m", RESET),
    }
}

/// Columns of the terminal on `stream`; where there is none, or it does not tell, those that COLUMNS says.
fn columns(stream: &impl IsTerminal) -> Option<usize> {
    let size = || tcgetwinsize(std::io::stderr()).or_else(|_| tcgetwinsize(std::io::stdout()));
    let size = stream.is_terminal().then(size).and_then(Result::ok);
    size.map(|size| size.ws_col.into())
        .or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
        .filter(|&columns| columns > 0)
}

/// How a report is written to `stream`: as wide as it is, with its mark-up.
pub(crate) fn report_options<'a>(stream: &impl IsTerminal) -> Options<'a> {
    Options {
        width: columns(stream).unwrap_or(DEFAULT_WIDTH),
        paint: paint(stream),
        ..Options::default()
    }
}
