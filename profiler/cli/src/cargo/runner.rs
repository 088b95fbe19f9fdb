//! What cargo runs in place of each executable: it sets the variable that starts recording and becomes the executable.
//!
//! Only here does `HEAPGLASS_OUT` come to life, so that cargo, build scripts and macros are never recorded.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use crate::args::Runner;
use crate::error::Error;
use crate::supervise;

/// Carries the value of `HEAPGLASS_OUT` past cargo.
pub(super) const OUT: &str = "HEAPGLASS_CARGO_OUT";
/// Carries the user's own runner, its words as JSON.
pub(super) const INNER: &str = "HEAPGLASS_CARGO_RUNNER";
/// Names the file that lists the executables that were run.
pub(super) const RAN: &str = "HEAPGLASS_CARGO_RAN";

/// Words for [`INNER`].
///
/// # Errors
/// When one is not UTF-8, which cargo's configuration cannot hold anyway.
pub(super) fn encode<'a>(words: impl Iterator<Item = &'a OsStr>) -> Result<String, Error> {
    let words: Option<Vec<&str>> = words.map(OsStr::to_str).collect();
    words
        .and_then(|words| serde_json::to_string(&words).ok())
        .ok_or_else(|| Error::misuse("the configured runner is not UTF-8; give it another path"))
}

/// Becomes the executable, or the user's runner with the executable behind it.
///
/// # Errors
/// When it cannot be executed.
pub(crate) fn run(args: &Runner) -> Result<u8, Error> {
    if let (Some(list), Some(executable)) = (std::env::var_os(RAN), args.command.first()) {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(list);
        if let Ok(mut file) = file {
            let _ = writeln!(file, "{}", executable.to_string_lossy());
        }
    }
    let inner = std::env::var(INNER).unwrap_or_default();
    let inner: Vec<String> = serde_json::from_str(&inner).unwrap_or_default();
    let mut words: Vec<OsString> = inner.into_iter().map(OsString::from).collect();
    words.extend(args.command.iter().cloned());
    let mut command =
        supervise::command(&words).ok_or_else(|| Error::misuse("no executable to run"))?;
    if let Some(out) = std::env::var_os(OUT) {
        command.env("HEAPGLASS_OUT", out);
    }
    for name in [OUT, INNER, RAN] {
        command.env_remove(name);
    }
    supervise::replace_by(command)
}
