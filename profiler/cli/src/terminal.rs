//! Output to standard error, and the look of text on a terminal. A closed standard error is never a
//! failure.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;

use heapglass_profiler::report::{DEFAULT_WIDTH, Paint, ReportOptions, Style, plain};
use heapglass_profiler::units::{counted, printable};
use rustix::termios::tcgetwinsize;

/// Writes lines to standard error. Escapes control characters, because names and paths may come
/// from anywhere.
pub(crate) fn eprint_line(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(&text.to_string()));
}

/// Escapes each line like [`printable`].
fn printable_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Prints a question to standard error without ending the line.
pub(crate) fn eprint_question(text: impl fmt::Display) {
    let _ = write!(std::io::stderr(), "{}", printable_lines(&text.to_string()));
}

/// Reports that a picture was written.
pub(crate) fn wrote_picture(path: &Path, frames: usize) {
    let frames = counted(frames as u64, "frame");
    eprint_line(format_args!(
        "wrote {}: {frames}; open it in a browser",
        path.display()
    ));
}

/// Returns the mark-up for `stream`: escape sequences for a terminal that supports colours, else
/// none.
fn paint(stream: &impl IsTerminal) -> Paint {
    let wanted = understands_escapes(stream)
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { in_colour } else { plain }
}

/// Returns `true` if there is a terminal for output and for answers.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Returns `true` if `stream` is a terminal that understands escape sequences.
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
        _ => ("", ""),
    }
}

/// Returns the number of columns of the terminal on `stream`. Falls back to COLUMNS if there is no
/// terminal or its size is unknown.
pub(crate) fn columns(stream: &impl IsTerminal) -> Option<usize> {
    let size = || tcgetwinsize(std::io::stderr()).or_else(|_| tcgetwinsize(std::io::stdout()));
    let size = stream.is_terminal().then(size).and_then(Result::ok);
    size.map(|size| size.ws_col.into())
        .or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
        .filter(|&columns| columns > 0)
}

/// Returns the options for a report on `stream`: its width and mark-up.
pub(crate) fn report_options<'a>(stream: &impl IsTerminal) -> ReportOptions<'a> {
    ReportOptions {
        width: columns(stream).unwrap_or(DEFAULT_WIDTH),
        paint: paint(stream),
        ..ReportOptions::default()
    }
}
