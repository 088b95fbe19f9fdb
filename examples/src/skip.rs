//! Reports tests that cannot run on a machine.

use std::fmt::Display;
use std::io::Write;

/// Writes a line that `.ci/run` lists at its end. Unlike `eprintln!`, it is visible even if the
/// test passes.
pub fn skipped(why: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
