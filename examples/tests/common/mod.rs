//! Runs target programs and finds their recordings.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "every test file uses its own part of this module"
)]

pub(crate) mod places;

use heapglass_examples::recorded;
use heapglass_limits::Command;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use tracking_alloc_recording::Recording;

/// A target program that will record into a folder of its own.
pub(crate) struct Target {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) command: Command,
}

/// Returns the path of `case`: the value of `HEAPGLASS_CASE`, which may be built for another C
/// library, or the one of this build.
pub(crate) fn case_program() -> String {
    std::env::var("HEAPGLASS_CASE").unwrap_or_else(|_| env!("CARGO_BIN_EXE_case").to_owned())
}

impl Target {
    /// Prepares `program` with `words`. It records to [`recording`](Target::recording) from its
    /// first allocation.
    pub(crate) fn new(program: &str, words: &[&str]) -> Target {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HEAPGLASS_") {
                command.env_remove(name);
            }
        }
        command
            .args(words)
            .env("HEAPGLASS_OUT", folder.path().join("out.hg"));
        Target { folder, command }
    }

    /// Prepares `case` with `words`.
    pub(crate) fn case(words: &[&str]) -> Target {
        Target::new(&case_program(), words)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Target {
        self.command.env(name, value);
        self
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.folder.path().join("out.hg")
    }

    /// Runs the program to its end.
    pub(crate) fn run(&mut self) -> Output {
        self.command.output().expect("the program starts")
    }

    /// Runs the program to its end, which must be a success. Returns its output.
    pub(crate) fn succeed(&mut self) -> String {
        self.ends_with(0)
    }

    /// Runs the program to its end, which must have that exit status. Returns its output.
    pub(crate) fn ends_with(&mut self, status: i32) -> String {
        let output = self.run();
        assert_eq!(
            output.status.code(),
            Some(status),
            "{:?}: {}\n{}",
            self.command,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("text")
    }

    /// Limits a resource of the program.
    pub(crate) fn limit(mut self, resource: libc::__rlimit_resource_t, most: u64) -> Target {
        // SAFETY: setrlimit is async-signal-safe.
        unsafe {
            self.command.as_std().pre_exec(move || {
                let limit = libc::rlimit {
                    rlim_cur: most,
                    rlim_max: most,
                };
                match libc::setrlimit(resource, &limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        self
    }
}

/// Returns the number after `name=` in the output of a program.
pub(crate) fn number(text: &str, name: &str) -> u64 {
    let found = text
        .split_whitespace()
        .rev()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    found
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{name}= is not in {text:?}"))
}

/// Checks that totals and frees of the phase `work` are what the program printed.
pub(crate) fn assert_work_is_as_printed(recording: &Recording, printed: &str) {
    let work = recorded::sums_in_scope(recording, "work");
    let found = [
        work.total_bytes,
        work.total_blocks,
        work.freed_bytes,
        work.freed_blocks,
    ];
    let names = ["total_bytes", "total_blocks", "freed_bytes", "freed_blocks"];
    assert_eq!(
        found,
        names.map(|name| number(printed, name)),
        "{names:?}: recorded (left) and counted by the program (right)"
    );
    assert_consistent(recording);
}

/// Checks that nothing is damaged, and that the rows of sites and of lanes have equal sums.
pub(crate) fn assert_consistent(recording: &Recording) {
    assert_eq!(recording.damage, 0);
    let (sites, lanes) = (
        recorded::sums(recording),
        recorded::sums_of_lanes(recording),
    );
    assert_eq!(
        (sites.total_bytes, sites.total_blocks),
        (lanes.total_bytes, lanes.total_blocks),
        "sites and lanes"
    );
    assert_eq!(
        (sites.freed_bytes, sites.freed_blocks),
        (lanes.freed_bytes, lanes.freed_blocks),
        "sites and lanes"
    );
}

/// Returns the error bound of the peak, in bytes: how far the sum of rows can be from the program's
/// largest moment, as stated in the recording.
pub(crate) fn peak_error(recording: &Recording) -> i64 {
    (recording.header.peak_bound_bytes - recorded::sums(recording).peak_bytes).max(0)
}

/// Returns the names of all files in a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
