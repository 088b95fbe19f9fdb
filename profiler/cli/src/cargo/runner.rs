//! The runner that cargo calls for each executable: it sets the variable that starts recording,
//! then becomes the executable.
//!
//! Only the runner sets `HEAPGLASS_OUT`, so that cargo, build scripts and macros are never
//! recorded. A test binary without tests to run is not recorded either. Into a program without
//! tracking-alloc that `cargo heapglass run` starts, the runner preloads the library that records
//! `malloc`.

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
use crate::preload::{Choice, Plan};
use crate::supervise;

/// The variable that passes the value of `HEAPGLASS_OUT` through cargo.
pub(super) const OUT: &str = "HEAPGLASS_CARGO_OUT";
/// The variable with the user's own runner, its words as JSON.
pub(super) const INNER: &str = "HEAPGLASS_CARGO_RUNNER";
/// The variable with the path of the list of executables that were run: one [`Started`] per line,
/// as JSON.
pub(super) const RAN: &str = "HEAPGLASS_CARGO_RAN";
/// The variable that is set for test binaries, to the mark of the items in their list of tests that
/// are going to run.
pub(super) const LISTED: &str = "HEAPGLASS_CARGO_LISTED";

/// A line of the help text of every program with the standard test harness.
const HARNESS: &[u8] = b"List all tests and benchmarks";

/// An executable that cargo ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    /// Its process id.
    pub(super) pid: u32,
    /// Start time since the Unix epoch.
    pub(super) at: Duration,
    /// `true` if the executable was to record, `false` for a test binary without tests to run.
    pub(super) records: bool,
    /// `true` if the preloaded library records it.
    #[serde(default)]
    pub(super) is_preloaded: bool,
    /// Path of the executable, in UTF-8.
    pub(super) executable: PathBuf,
}

/// Encodes words for [`INNER`].
///
/// # Errors
/// Returns an error if a word is not UTF-8, which cargo's configuration cannot contain.
pub(super) fn encode<'a>(words: impl Iterator<Item = &'a OsStr>) -> Result<String, Error> {
    let words: Option<Vec<&str>> = words.map(OsStr::to_str).collect();
    words
        .and_then(|words| serde_json::to_string(&words).ok())
        .ok_or_else(|| {
            Error::misuse("the runner in cargo's configuration is not UTF-8; use another path")
        })
}

/// Becomes the executable, or the user's runner with the executable as its argument.
///
/// # Errors
/// Returns an error if it cannot be executed.
pub(super) fn run(args: &Runner) -> Result<u8, Error> {
    let listed = std::env::var(LISTED);
    let plan = match (args.command.first(), &listed) {
        // What cannot be preloaded runs all the same, and the summary says why nothing was
        // recorded.
        (Some(program), Err(_)) => {
            Plan::of(Path::new(program), Choice::ByProgram).unwrap_or_default()
        }
        // Tests are told which file lacks the allocator.
        _ => Plan::default(),
    };
    let records = listed.map_or(true, |mark| !has_no_tests(&args.command, &mark));
    if let (Some(list), Some(executable)) = (std::env::var_os(RAN), args.command.first()) {
        let executable = std::path::absolute(executable).unwrap_or_else(|_| executable.into());
        let started = Started {
            pid: std::process::id(),
            at: since_epoch(SystemTime::now()),
            records,
            is_preloaded: plan.preloads(),
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
        plan.apply(&mut command);
    }
    for name in [OUT, INNER, RAN, LISTED] {
        command.env_remove(name);
    }
    supervise::replace_by(command)
}

/// Returns the executables in the list at `path`.
pub(super) fn started(path: &Path) -> Vec<Started> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Returns `true` if a command is a test binary whose list, for these arguments, has no item that
/// ends with `mark`. Only programs with the standard test harness are asked for their list.
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

/// Returns `true` if a file contains the standard test harness, and `false` if the file cannot be
/// read.
fn has_harness(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| search::contains(file, [HARNESS]).unwrap_or([false]) == [true])
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
            is_preloaded: true,
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
