//! A program to start.

use crate::Child;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

/// The limit of a program, unless the variable `HEAPGLASS_TEST_LIMIT` has another number of
/// seconds.
const PROGRAM: Duration = Duration::from_secs(300);

/// The limit of a compiler, in limits of a program.
const COMPILER: u32 = 6;

/// Returns the limit of a program, which is also the limit of anything else that a test waits for.
pub fn limit() -> Duration {
    std::env::var("HEAPGLASS_TEST_LIMIT")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .map_or(PROGRAM, Duration::from_secs)
}

/// Returns how many times a test repeats what depends on chance: `few`, or `many` if the variable
/// `HEAPGLASS_LONG` is set, as `.ci/release survival` does.
pub fn rounds(few: usize, many: usize) -> usize {
    match std::env::var_os("HEAPGLASS_LONG") {
        Some(_) => many,
        None => few,
    }
}

/// Returns the limit of a program of this name.
fn limit_of(program: &Path) -> Duration {
    let one = limit();
    let name = program.file_name().and_then(|name| name.to_str());
    let compilers = [
        "cargo", "rustc", "cc", "c++", "gcc", "g++", "clang", "go", "bash", "sh",
    ];
    if name.is_some_and(|name| compilers.contains(&name)) {
        one * COMPILER
    } else {
        one
    }
}

/// A program to start, as `std::process::Command`. It is ended after a limit.
pub struct Command {
    inner: std::process::Command,
    limit: Duration,
    has_stdin: bool,
    has_stdout: bool,
    has_stderr: bool,
}

impl Command {
    /// Prepares a program.
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        let program = program.as_ref();
        Command {
            inner: std::process::Command::new(program),
            limit: limit_of(Path::new(program)),
            has_stdin: false,
            has_stdout: false,
            has_stderr: false,
        }
    }

    /// Sets another limit.
    pub fn limit(&mut self, limit: Duration) -> &mut Command {
        self.limit = limit;
        self
    }

    /// Adds an argument.
    pub fn arg(&mut self, word: impl AsRef<OsStr>) -> &mut Command {
        self.inner.arg(word);
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Command {
        self.inner.args(words);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.inner.env(name, value);
        self
    }

    /// Sets variables of the environment.
    pub fn envs(
        &mut self,
        all: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> &mut Command {
        self.inner.envs(all);
        self
    }

    /// Removes a variable from the environment.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Command {
        self.inner.env_remove(name);
        self
    }

    /// Removes all variables from the environment.
    pub fn env_clear(&mut self) -> &mut Command {
        self.inner.env_clear();
        self
    }

    /// Sets the working directory.
    pub fn current_dir(&mut self, folder: impl AsRef<Path>) -> &mut Command {
        self.inner.current_dir(folder);
        self
    }

    /// Sets the standard input.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Command {
        self.has_stdin = true;
        self.inner.stdin(stdin);
        self
    }

    /// Sets the standard output.
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Command {
        self.has_stdout = true;
        self.inner.stdout(stdout);
        self
    }

    /// Sets the standard error.
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Command {
        self.has_stderr = true;
        self.inner.stderr(stderr);
        self
    }

    /// Returns the program.
    pub fn get_program(&self) -> &OsStr {
        self.inner.get_program()
    }

    /// Returns the arguments.
    pub fn get_args(&self) -> impl Iterator<Item = &OsStr> {
        self.inner.get_args()
    }

    /// Returns the variables that are set or removed.
    pub fn get_envs(&self) -> impl Iterator<Item = (&OsStr, Option<&OsStr>)> {
        self.inner.get_envs()
    }

    /// Returns the command of std, for settings of one system such as `pre_exec`. Do not start it:
    /// it has no limit.
    pub fn as_std(&mut self) -> &mut std::process::Command {
        &mut self.inner
    }

    /// Starts the program, in a process group of its own.
    ///
    /// # Errors
    /// Returns the reason why the program cannot be started.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        // `setsid` forks if it leads a group, and this process would wait for another one.
        #[cfg(unix)]
        if self.inner.get_program() != "setsid" {
            std::os::unix::process::CommandExt::process_group(&mut self.inner, 0);
        }
        let child = self.inner.spawn()?;
        Ok(Child::new(child, self.words(), self.limit))
    }

    /// Runs the program to its end, and returns its exit status.
    ///
    /// # Errors
    /// Returns the reason why the program cannot be started.
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.wait()
    }

    /// Runs the program to its end, and returns what it printed.
    ///
    /// # Errors
    /// Returns the reason why the program cannot be started.
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        if !self.has_stdin {
            self.inner.stdin(Stdio::null());
        }
        if !self.has_stdout {
            self.inner.stdout(Stdio::piped());
        }
        if !self.has_stderr {
            self.inner.stderr(Stdio::piped());
        }
        self.spawn()?.wait_with_output()
    }

    fn words(&self) -> Vec<OsString> {
        let program = std::iter::once(self.inner.get_program());
        program
            .chain(self.inner.get_args())
            .map(OsStr::to_owned)
            .collect()
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
