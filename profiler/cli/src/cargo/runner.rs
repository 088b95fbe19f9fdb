//! What cargo runs in place of each executable: it sets the variable that starts recording and becomes the executable.
//!
//! Only here is `HEAPGLASS_OUT` set, so that cargo, build scripts and macros are never recorded. A test binary without
//! tests to run is not recorded either.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::args::Runner;
use crate::error::Error;
use crate::files::{search, since_epoch};
use crate::supervise;

/// Carries the value of `HEAPGLASS_OUT` past cargo.
pub(super) const OUT: &str = "HEAPGLASS_CARGO_OUT";
/// Carries the user's own runner, its words as JSON.
pub(super) const INNER: &str = "HEAPGLASS_CARGO_RUNNER";
/// Names the file that lists the executables that were run: a [`Started`] each, as a line of JSON.
pub(super) const RAN: &str = "HEAPGLASS_CARGO_RAN";
/// Says that executables are test binaries: how their list of tests marks what is going to run.
pub(super) const LISTED: &str = "HEAPGLASS_CARGO_LISTED";

/// In every program with the standard test harness: a line of its help.
const HARNESS: &[u8] = b"List all tests and benchmarks";

/// An executable that cargo ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    /// Its process.
    pub(super) pid: u32,
    /// When, since the Unix epoch.
    pub(super) at: Duration,
    /// Whether it was to record: a test binary without tests is not.
    pub(super) records: bool,
    /// Where it is, in UTF-8.
    pub(super) executable: PathBuf,
}

/// Words for [`INNER`].
///
/// # Errors
/// When one is not UTF-8, which cargo's configuration cannot hold anyway.
pub(super) fn encode<'a>(words: impl Iterator<Item = &'a OsStr>) -> Result<String, Error> {
    let words: Option<Vec<&str>> = words.map(OsStr::to_str).collect();
    words
        .and_then(|words| serde_json::to_string(&words).ok())
        .ok_or_else(|| {
            Error::misuse("the runner in cargo's configuration is not UTF-8; use another path")
        })
}

/// Becomes the executable, or the user's runner with the executable behind it.
///
/// # Errors
/// When it cannot be executed.
pub(super) fn run(args: &Runner) -> Result<u8, Error> {
    let records = std::env::var(LISTED).map_or(true, |mark| !has_no_tests(&args.command, &mark));
    if let (Some(list), Some(executable)) = (std::env::var_os(RAN), args.command.first()) {
        let executable = std::path::absolute(executable).unwrap_or_else(|_| executable.into());
        let started = Started {
            pid: std::process::id(),
            at: since_epoch(SystemTime::now()),
            records,
            executable: executable.to_string_lossy().into_owned().into(),
        };
        let file = File::options().append(true).create(true).open(list);
        if let (Ok(mut file), Ok(line)) = (file, serde_json::to_string(&started)) {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
    let inner = std::env::var(INNER).unwrap_or_default();
    let inner: Vec<String> = serde_json::from_str(&inner).unwrap_or_default();
    let mut words: Vec<OsString> = inner.into_iter().map(OsString::from).collect();
    words.extend(args.command.iter().cloned());
    let mut command =
        supervise::command(&words).ok_or_else(|| Error::misuse("no executable to run"))?;
    if let Some(out) = std::env::var_os(OUT).filter(|_| records) {
        command.env("HEAPGLASS_OUT", out);
    }
    for name in [OUT, INNER, RAN, LISTED] {
        command.env_remove(name);
    }
    supervise::replace_by(command)
}

/// What was run by now, as the list at `path` says.
pub(super) fn started(path: &Path) -> Vec<Started> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Whether a command is a test binary whose list, for these arguments, has no item that ends with `mark`. What is not
/// known to list its tests is not asked.
fn has_no_tests(words: &[OsString], mark: &str) -> bool {
    let Some((executable, arguments)) = words.split_first() else {
        return false;
    };
    if !has_harness(Path::new(executable)) {
        return false;
    }
    let mut command = Command::new(executable);
    command.args(arguments).arg("--list").stdin(Stdio::null());
    for name in [OUT, INNER, RAN, LISTED] {
        command.env_remove(name);
    }
    command.output().is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        let is_item = |line: &str| line.ends_with(": test") || line.ends_with(": benchmark");
        let mut items = text.lines().filter(|line| is_item(line));
        output.status.success() && !items.any(|item| item.ends_with(mark))
    })
}

/// Whether a file has the standard test harness in it. One that cannot be read has not.
fn has_harness(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| search::contains(file, HARNESS).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_read_as_it_was_written() {
        let started = Started {
            pid: 17,
            at: Duration::from_nanos(1_234_567_890),
            records: true,
            executable: PathBuf::from("/a folder/app"),
        };
        let line = serde_json::to_string(&started).unwrap();
        assert_eq!(line.lines().count(), 1);
        assert_eq!(serde_json::from_str::<Started>(&line).unwrap(), started);
        assert!(serde_json::from_str::<Started>("17 x").is_err());
    }

    #[test]
    fn the_marker_is_found_across_pieces_and_tests_themselves_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        for at in [0, (1 << 20) - 5, 1 << 20] {
            let mut bytes = vec![b'L'; at];
            bytes.extend_from_slice(HARNESS);
            std::fs::write(&path, bytes).unwrap();
            assert!(has_harness(&path), "{at}");
        }
        std::fs::write(&path, "something else").unwrap();
        assert!(!has_harness(&path));
        assert!(has_harness(&std::env::current_exe().unwrap()));
    }
}
