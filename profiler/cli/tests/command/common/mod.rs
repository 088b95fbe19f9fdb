//! Shared by the tests of the command: a folder per test, the command in it, a program that
//! records.
//!
//! The recorded program is the hidden demo target of the command itself. It deserializes the given
//! file. If the file is a pipe, it waits until a test writes to the pipe.
use heapglass_limits::Command;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

pub(crate) use heapglass_fixture::terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

pub(crate) const HEAPGLASS: &str = env!("CARGO_BIN_EXE_heapglass");
pub(crate) const CARGO_HEAPGLASS: &str = env!("CARGO_BIN_EXE_cargo-heapglass");

/// The input of the demo target.
pub(crate) const INPUT: &str = r#"{"packages": [], "workspace_members": [], "resolve": null, "workspace_root": "/w",
    "target_directory": "/t", "version": 1, "metadata": ["one", "two", {"three": [1, 2, 3]}]}"#;

/// A folder, removed at the end of the test.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        default_signals();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("input.json"), INPUT).unwrap();
        fs::create_dir(folder.path().join(".runtime")).unwrap();
        Place { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the command, with its state and cache in the folder too.
    pub(crate) fn heapglass(&self, words: &[&str]) -> Command {
        let mut command = Command::new(HEAPGLASS);
        command.args(words);
        self.isolate(&mut command);
        command
    }

    pub(crate) fn isolate(&self, command: &mut Command) {
        command
            .current_dir(self.root())
            .env("XDG_STATE_HOME", self.path(".state"))
            .env("XDG_RUNTIME_DIR", self.path(".runtime"))
            .env("XDG_CACHE_HOME", self.path(".cache"))
            .env_remove("HEAPGLASS_OUT")
            .env_remove("HEAPGLASS_MODE")
            .env_remove("HEAPGLASS_MAX_BYTES")
            .stdin(Stdio::null());
    }

    /// Runs the command until it ends.
    pub(crate) fn run(&self, words: &[&str]) -> Done {
        Done::from(self.heapglass(words).output().unwrap())
    }

    /// Records the demo target to `name`.
    pub(crate) fn record(&self, name: &str) {
        let done = Done::from(self.record_from(name, "input.json").output().unwrap());
        assert_eq!(done.status, Some(0), "{}", done.stderr);
    }

    /// Returns the command that records the demo target, with this input, to `name`.
    pub(crate) fn record_from(&self, name: &str, input: &str) -> Command {
        let program = [HEAPGLASS, "demo", "--target", input];
        self.heapglass(&[&["run", "-q", "--out", name, "--"], &program[..]].concat())
    }

    /// Makes a named pipe.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    /// Returns the sorted names of the visible files whose names contain `part`.
    pub(crate) fn files(&self, part: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.') && name.contains(part))
            .collect();
        names.sort();
        names
    }

    /// Returns the recording as JSON.
    pub(crate) fn report(&self, name: &str) -> serde_json::Value {
        let done = self.run(&["report", name, "--json"]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        serde_json::from_str(&done.stdout).unwrap()
    }
}

/// A command that ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Done {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Gives the processes that tests start the default handling of signals. This process may have
/// inherited another one: a shell starts background jobs with SIGINT and SIGQUIT ignored. A signal
/// that is caught here has its default handling after `exec`.
fn default_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            let always = Arc::new(AtomicBool::new(true));
            signal_hook::flag::register_conditional_default(signal, always).unwrap();
        }
    });
}

/// Prints the reason why a test cannot run here, in a line that `.ci/run` lists even if the test
/// passes.
pub(crate) fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// Waits until `ready` returns `true`.
pub(crate) fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let began = Instant::now();
    while !ready() {
        assert!(
            began.elapsed() < heapglass_limits::limit(),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
