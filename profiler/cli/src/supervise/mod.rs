//! Runs a command under observation: leaves its streams alone, passes signals on and keeps its exit
//! status.
//!
//! Never disturbs the command: never reads from its standard input, never writes to its standard
//! output, and does not change how it handles signals.

mod ended;
mod oom;
mod signals;
#[cfg_attr(not(target_os = "linux"), path = "snapshots_elsewhere.rs")]
mod snapshots;
mod window;

pub(crate) use ended::Ended;
pub(crate) use oom::Killed;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use signals::{CaughtSignals, Receiver};
use snapshots::Snapshots;
use window::Recorded;

use crate::args::{TakeSnapshots, Window};
use crate::error::Error;
use crate::files::recent;
use crate::files::spool::{KeptRecording, Spool};
use crate::progress::Working;

/// The environment variable that passes the names of the user's own crates to the recorder,
/// separated by commas.
pub(crate) const OWN_CRATES: &str = "HEAPGLASS_OWN";

/// The first interval between looks for new recordings, after which `heapglass FILE` works.
const FIRST_LOOKS: Duration = Duration::from_millis(20);
/// The longest interval between looks for new recordings.
const LATER_LOOKS: Duration = Duration::from_millis(250);
/// The interval between looks at the step of reading snapshots, once the command has ended.
const LAST_LOOKS: Duration = Duration::from_millis(100);

/// A running command.
#[derive(Debug)]
pub(crate) struct Running {
    /// The recordings of the command, shared with the supervising thread.
    pub(crate) recordings: Arc<Mutex<Spool>>,
    thread: JoinHandle<Finished>,
    /// Told when the command has ended, before its recordings are moved. The other end is dropped
    /// when they have been.
    ended: mpsc::Receiver<()>,
    /// The step that the reader of snapshots is at.
    step: Arc<Mutex<Option<String>>>,
}

/// A command that ended, with its recordings.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The end of the command.
    pub(crate) ended: Ended,
    /// The duration of the command.
    pub(crate) took: Duration,
    /// The recordings, the command's own first, then the earliest.
    pub(crate) kept: Vec<KeptRecording>,
    /// `true` if the program goes on: heapglass was attached to it.
    pub(crate) is_detached: bool,
    /// The processes that the kernel killed because memory ran out.
    pub(crate) killed: Option<Killed>,
    /// `true` if snapshots were wanted.
    pub(crate) wanted_snapshots: bool,
    /// The reasons why there are no snapshots, or fewer, as sentences.
    pub(crate) snapshot_problems: Vec<String>,
    signals_go_to: Arc<Mutex<Receiver>>,
}

impl Finished {
    /// Returns the end of a recording of a program to which heapglass was attached.
    #[cfg(target_os = "linux")]
    pub(crate) fn attached(kept: KeptRecording, took: Duration, is_detached: bool) -> Finished {
        Finished {
            ended: Ended(None),
            took,
            kept: vec![kept],
            is_detached,
            killed: None,
            wanted_snapshots: true,
            snapshot_problems: Vec::new(),
            signals_go_to: Arc::new(Mutex::new(Receiver::Nobody)),
        }
    }

    /// Does `work`, which may take long and can be repeated. During this time, a signal ends
    /// heapglass with the status of the command.
    pub(crate) fn interruptible<T>(&self, work: impl FnOnce() -> T) -> T {
        *lock(&self.signals_go_to) = Receiver::Heapglass(self.ended.status());
        let done = work();
        *lock(&self.signals_go_to) = Receiver::Nobody;
        done
    }
}

/// Starts `command` with the environment variable `variable` set to the path pattern of the spool,
/// and takes the snapshots that are wanted.
///
/// # Errors
/// Returns an error if the command cannot be started: with status 127 if it does not exist, with
/// 126 if it cannot be executed.
pub(crate) fn start(
    mut command: Command,
    spool: Spool,
    variable: &str,
    snapshots: &TakeSnapshots,
    window: Window,
) -> Result<Running, Error> {
    command.env(variable, spool.environment());
    if window.delay.is_some() {
        command.env("HEAPGLASS_PAUSED", "1");
    }
    let snapshots = Snapshots::prepare(&mut command, snapshots)?;
    let step = snapshots.told().step;
    let oom = oom::Watch::new();
    let signals = signals::catch().map_err(Error::wrap("cannot catch signals to pass them on"))?;
    let began = Instant::now();
    let child = command
        .spawn()
        .map_err(|error| cannot_start(&command, &error))?;
    let recordings = Arc::new(Mutex::new(spool));
    let shared = Arc::clone(&recordings);
    let (tell, ended) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("supervisor".to_owned())
        .spawn(move || {
            let recorded = Recorded::new(window, began);
            // Nobody may wait for it.
            let tell_the_end = || {
                let _ = tell.send(());
            };
            let command = (child, began, tell_the_end);
            let finished = supervise(command, signals, oom, &shared, snapshots, recorded);
            drop(tell);
            finished
        })
        .map_err(Error::wrap("cannot start a thread"))?;
    Ok(Running {
        recordings,
        thread,
        ended,
        step,
    })
}

impl Running {
    /// Returns `true` while the command runs or its recordings are being moved.
    pub(crate) fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Waits for the command to end, and adds its recordings to the list of recent ones.
    ///
    /// # Errors
    /// Returns an error if the supervising thread panicked, which is a bug.
    pub(crate) fn wait(self) -> Result<Finished, Error> {
        // A thread that panicked tells nothing.
        let _ = self.ended.recv();
        let working = Working::new("reading snapshots and moving recordings");
        // The thread drops its end of the channel when it has finished.
        while let Err(RecvTimeoutError::Timeout) = self.ended.recv_timeout(LAST_LOOKS) {
            let step = lock(&self.step).clone();
            if let Some(step) = step {
                working.show(format_args!(
                    "reading snapshots: {step} (Ctrl-C keeps what is read)"
                ));
            }
        }
        let panicked = "the supervising thread panicked, which is a bug in heapglass";
        let finished = self.thread.join().map_err(|_| Error::misuse(panicked))?;
        drop(working);
        recent::remember(&finished.kept);
        Ok(finished)
    }
}

/// Locks a mutex, even if a thread panicked while holding it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes signals on and looks for recordings and kills until the command has ended, then moves its
/// recordings.
fn supervise(
    (mut child, began, tell_the_end): (Child, Instant, impl FnOnce()),
    signals: CaughtSignals,
    mut oom: oom::Watch,
    recordings: &Arc<Mutex<Spool>>,
    snapshots: Snapshots,
    mut recorded: Recorded,
) -> Finished {
    let pid = child.id();
    let signals_go_to = signals::forward(signals, pid, snapshots.told().stops);
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        wait_without_reaping(pid);
        let _ = sender.send(());
    });
    let mut snapshots = snapshots.begin(recordings);
    let mut pause = FIRST_LOOKS;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(recorded.until_change(pause)) {
        let sources = {
            let mut recordings = lock(recordings);
            recordings.look(pid);
            recordings.sources()
        };
        recorded.tell(&sources);
        oom.observe(pid);
        pause = (pause + pause / 4).min(LATER_LOOKS);
    }
    *lock(&signals_go_to) = Receiver::Nobody;
    let ended = Ended(child.wait().ok());
    tell_the_end();
    let (killed, took) = (oom.killed(ended), began.elapsed());
    lock(recordings).look(pid);
    *lock(&signals_go_to) = Receiver::Reader(ended.status());
    snapshots.read_the_last();
    *lock(&signals_go_to) = Receiver::Nobody;
    lock(recordings).look(pid);
    lock(recordings).remove_replaced();
    let sources = lock(recordings).sources();
    let kept = lock(recordings).settle(pid);
    snapshots.put_into(&sources, &kept);
    Finished {
        ended,
        killed,
        took,
        kept,
        is_detached: false,
        wanted_snapshots: snapshots.wanted,
        snapshot_problems: snapshots.problems,
        signals_go_to,
    }
}

/// Waits for the process to end without reaping it. Until it is reaped, no other process gets its
/// id.
pub(crate) fn wait_without_reaping(pid: u32) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Error {
    let program = command.get_program().to_string_lossy();
    if error.kind() == ErrorKind::NotFound {
        let why = if Path::new(command.get_program()).exists() {
            "the file exists, but the interpreter it names does not"
        } else if program.contains('/') {
            "no such file"
        } else {
            "not found in PATH; if it is in this folder, write ./ before its name"
        };
        return Error::with_status(
            Error::NOT_FOUND,
            format_args!("cannot run {program}: {why}"),
        );
    }
    Error::with_status(
        Error::NOT_EXECUTABLE,
        format_args!("cannot run {program}: {error}; check that it is an executable file"),
    )
}

/// Builds a command from its words.
pub(crate) fn command(words: &[OsString]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

/// Replaces this process by the command, without supervision.
///
/// # Errors
/// Returns an error if the command cannot be executed; else does not return.
pub(crate) fn replace_by(mut command: Command) -> Result<u8, Error> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(cannot_start(&command, &error))
}
