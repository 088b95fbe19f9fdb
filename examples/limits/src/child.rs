//! A program that runs.

use crate::processes;
use std::ffi::OsString;
use std::io::{self, Read};
use std::panic::Location;
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus, Output};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time for which the output of a killed program is waited for. A process that left its group,
/// and was not found, may keep the pipe open.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// A program that runs, as `std::process::Child`.
///
/// If it is dropped without a wait, the program goes on, and is still ended after the limit if the
/// test's process is there.
#[derive(Debug)]
pub struct Child {
    /// The pipe to the program.
    pub stdin: Option<ChildStdin>,
    /// The pipe from the program.
    pub stdout: Option<ChildStdout>,
    /// The pipe from the program.
    pub stderr: Option<ChildStderr>,
    inner: std::process::Child,
    guard: Arc<Guard>,
}

/// Shared by the waiting test and the thread that ends the program.
#[derive(Debug)]
struct Guard {
    id: u32,
    what: String,
    deadline: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The program has ended and its status was read: another process may have its number.
    is_reaped: bool,
    /// The work of its processes when they were killed.
    killed: Option<String>,
}

impl Guard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the program at its deadline, unless it has ended before.
    fn watch(&self) {
        let mut state = self.state();
        while !state.is_reaped {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let found = processes::of(self.id);
                processes::kill(self.id, &found);
                state.killed = Some(processes::describe(&found));
                self.changed.notify_all();
                return;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Panics if the program was killed.
    #[track_caller]
    fn check(&self, printed: &dyn Fn() -> String) {
        let killed = self.state().killed.clone();
        if let Some(doing) = killed
            && !std::thread::panicking()
        {
            panic!("{}\n{doing}{}", self.what, printed());
        }
    }
}

impl Child {
    #[track_caller]
    pub(crate) fn new(
        mut inner: std::process::Child,
        words: Vec<OsString>,
        limit: Duration,
    ) -> Child {
        let what = format!(
            "killed after {} s, because it did not end: {words:?}, which {} started",
            limit.as_secs_f32(),
            Location::caller()
        );
        let guard = Arc::new(Guard {
            id: inner.id(),
            what,
            deadline: Instant::now() + limit,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let watching = Arc::clone(&guard);
        std::thread::Builder::new()
            .name("limit".into())
            .spawn(move || watching.watch())
            .expect("a thread");
        Child {
            stdin: inner.stdin.take(),
            stdout: inner.stdout.take(),
            stderr: inner.stderr.take(),
            inner,
            guard,
        }
    }

    /// Waits for the end of the program.
    ///
    /// # Errors
    /// Returns the error of the system.
    ///
    /// # Panics
    /// Panics if the program did not end within its limit.
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let status = self.reap();
        self.guard.check(&String::new);
        status
    }

    /// Waits for the end of the program.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        if !self.guard.state().is_reaped {
            // Its number is not given to another process before it is reaped below, under the lock.
            processes::ended(self.guard.id);
        }
        let mut state = self.guard.state();
        let status = self.inner.wait();
        state.is_reaped = true;
        self.guard.changed.notify_all();
        status
    }

    /// Returns the exit status if the program has ended.
    ///
    /// # Errors
    /// Returns the error of the system.
    ///
    /// # Panics
    /// Panics if the program did not end within its limit.
    #[track_caller]
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = {
            let mut state = self.guard.state();
            let status = self.inner.try_wait();
            if matches!(status, Ok(Some(_))) {
                state.is_reaped = true;
                self.guard.changed.notify_all();
            }
            status
        };
        self.guard.check(&String::new);
        status
    }

    /// Waits for the end of the program and of its output.
    ///
    /// # Errors
    /// Returns the error of the system.
    ///
    /// # Panics
    /// Panics if the program did not end within its limit, or left a process that keeps the output
    /// open.
    #[track_caller]
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        let stdout = Reader::start(self.stdout.take());
        let stderr = Reader::start(self.stderr.take());
        let status = self.reap();
        // What the program started may still write.
        let mut end = self.guard.deadline;
        if self.guard.state().killed.is_some() {
            end = Instant::now() + AFTER_KILL;
        }
        let is_complete = stdout.wait(end) && stderr.wait(end);
        let printed = || {
            format!(
                "\nIts standard output:\n{}\nIts standard error:\n{}",
                String::from_utf8_lossy(&stdout.text()),
                String::from_utf8_lossy(&stderr.text())
            )
        };
        self.guard.check(&printed);
        assert!(
            is_complete || std::thread::panicking(),
            "{}\nIt ended, but left a process that keeps its output open.{}",
            self.guard.what,
            printed()
        );
        Ok(Output {
            status: status?,
            stdout: stdout.text(),
            stderr: stderr.text(),
        })
    }

    /// Kills the program.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn kill(&mut self) -> io::Result<()> {
        self.inner.kill()
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.guard.id
    }
}

/// Reads a pipe on a thread.
struct Reader(Arc<Printed>);

/// The text that was printed until now.
#[derive(Default)]
struct Printed {
    text: Mutex<Text>,
    ended: Condvar,
}

#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    is_complete: bool,
}

impl Printed {
    fn text(&self) -> MutexGuard<'_, Text> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut pipe: impl Read) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => self.text().bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

impl Reader {
    fn start(pipe: Option<impl Read + Send + 'static>) -> Reader {
        let reader = Reader(Arc::default());
        let printed = Arc::clone(&reader.0);
        let work = move || {
            if let Some(pipe) = pipe {
                printed.read(pipe);
            }
            printed.text().is_complete = true;
            printed.ended.notify_all();
        };
        std::thread::Builder::new()
            .name("output".into())
            .spawn(work)
            .expect("a thread");
        reader
    }

    /// Waits for the end of the pipe. Returns `false` if it is still open at `end`.
    fn wait(&self, end: Instant) -> bool {
        let mut text = self.0.text();
        while !text.is_complete {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.0.ended.wait_timeout(text, left);
            text = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn text(&self) -> Vec<u8> {
        self.0.text().bytes.clone()
    }
}
