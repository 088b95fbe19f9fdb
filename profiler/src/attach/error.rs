//! The reasons why there is no snapshot, or why a recording cannot be paused, and what to do.

use crate::units::Nanos;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracking_alloc_recording::{change_refused, snapshot_status};

/// The reason why no snapshot could be taken, or why a recording could not be paused: one line,
/// which begins with the recording.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Open(io::Error),
    Recording(tracking_alloc_recording::Error),
    NotWritable(io::Error),
    Over,
    NotRunning,
    /// The recording samples.
    Sampled,
    /// The recorder refuses to change the mode: see [`change_refused`].
    RefusedChange(u32),
    OtherNamespace,
    OtherReader(u32),
    NoMap,
    NoAnswer {
        waited: Duration,
        /// See [`Followed`](super::Followed).
        quiet_since_ns: Option<u64>,
        /// The reason why the reader could not copy the program either.
        why_not_copied: Option<String>,
    },
    /// The reader could not copy the program, for this reason.
    NotCopied(String),
    Interrupted,
    /// The reader was told to stop.
    Stopped,
    /// A larger peak has come.
    Replaced,
    Refused {
        status: u32,
        errno: u32,
    },
    NotACopy(u32),
    Forbidden {
        yama: u32,
        error: io::Error,
    },
    Memory(io::Error),
    TooManyBlocks,
    Load(crate::Error),
}

impl Error {
    pub(super) fn new(path: &Path, kind: Kind) -> Error {
        let path = path.to_owned();
        Error { path, kind }
    }

    /// Returns `true` if another process takes the snapshots of the program.
    pub fn is_other_reader(&self) -> bool {
        matches!(self.kind, Kind::OtherReader(_))
    }

    /// Returns `true` if the program made no copy within the time given.
    pub fn is_no_answer(&self) -> bool {
        matches!(self.kind, Kind::NoAnswer { .. })
    }

    /// Returns `true` if the program has ended, or its recording is finished.
    pub fn is_not_running(&self) -> bool {
        matches!(self.kind, Kind::NotRunning)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            // These name the file themselves.
            Kind::Load(error) => return error.fmt(f),
            _ => write!(f, "{path}: ")?,
        }
        match &self.kind {
            Kind::Load(_) => Ok(()),
            Kind::Open(error) => write!(
                f,
                "the recording cannot be opened for writing, which a snapshot needs: {error}; run heapglass as the user of the program"
            ),
            Kind::NotWritable(error) => write!(
                f,
                "the recording cannot be opened for writing, which pauses it: {error}; run heapglass as the user of the program"
            ),
            Kind::Over => f.write_str(
                "nothing records into it any more: the program has ended or finished its recording; see it with `heapglass FILE`",
            ),
            Kind::Recording(error) => error.fmt(f),
            Kind::Sampled => f.write_str(
                "the recording has samples, so most blocks are unknown; a snapshot needs mode `exact`: record again",
            ),
            Kind::RefusedChange(reason) => f.write_str(change_refused::reason(*reason)),
            Kind::NotRunning => f.write_str(
                "the program has ended or finished its recording; take a snapshot while it runs, or record it with `heapglass run --snapshot`",
            ),
            Kind::OtherNamespace => f.write_str(
                "the program runs in another PID namespace (a container); run heapglass inside it",
            ),
            Kind::OtherReader(reader) => write!(
                f,
                "process {reader} takes snapshots of this program; wait for it to end"
            ),
            Kind::NoMap => f.write_str(
                "the recording does not say where the program's blocks are; record with the version of tracking-alloc that belongs to this heapglass",
            ),
            Kind::NoAnswer {
                waited,
                quiet_since_ns,
                why_not_copied,
            } => {
                match quiet_since_ns {
                    Some(since) => write!(
                        f,
                        "the program has not allocated since {}, so it has made no copy of itself within {} s; it will at its next allocation: wait for it with --wait SECONDS",
                        Nanos(*since),
                        waited.as_secs()
                    )?,
                    None => write!(
                        f,
                        "the program made no copy of itself within {} s: it does so at one of its next allocations; try again, or wait longer with --wait SECONDS",
                        waited.as_secs()
                    )?,
                }
                match why_not_copied {
                    Some(why) => write!(f, ". heapglass could not copy it either: {why}"),
                    None => Ok(()),
                }
            }
            Kind::NotCopied(why) => write!(f, "the program cannot be copied: {why}"),
            Kind::Interrupted => f.write_str("interrupted before the program made a copy of itself"),
            Kind::Stopped => f.write_str(
                "a snapshot was taken and not read, because heapglass was interrupted",
            ),
            Kind::Replaced => f.write_str("the snapshot of a larger peak replaces this one"),
            Kind::Refused { status, errno } => refusal(*status, *errno, f),
            Kind::NotACopy(process) => write!(
                f,
                "process {process} is not a copy of the program; the recording is damaged, or the copy has ended"
            ),
            Kind::Forbidden { yama: 0, error } => write!(
                f,
                "the memory of the program's copy cannot be opened: {error}; run heapglass as the same user, without a sandbox that forbids ptrace"
            ),
            Kind::Forbidden { yama, error } => write!(
                f,
                "the memory of the program's copy cannot be opened: {error}; /proc/sys/kernel/yama/ptrace_scope is {yama}: start the program with `heapglass run --snapshot`, or set it to 0 or 1"
            ),
            Kind::Memory(error) => write!(
                f,
                "the memory of the program's copy cannot be read: {error}; the copy may have been killed for lack of memory: try again"
            ),
            Kind::TooManyBlocks => f.write_str(
                "the program has more blocks than a snapshot can hold (536 million)",
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Writes why the recorder made no copy.
fn refusal(status: u32, errno: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match status {
        snapshot_status::NO_READER => f.write_str(
            "the program does not see heapglass: it runs in another PID namespace (a container); run heapglass inside it",
        ),
        snapshot_status::SANDBOX => f.write_str(
            "the program has a filter of system calls that may kill it for making a copy of itself; pass --force-snapshot if the filter allows `clone`",
        ),
        snapshot_status::NOT_DUMPABLE => f.write_str(
            "the process is not dumpable, so no other process may read its memory; remove PR_SET_DUMPABLE, or start the program as the user that it runs as",
        ),
        snapshot_status::OLD_KERNEL => f.write_str(
            "the system call close_range is missing or forbidden; use Linux 5.9 or newer, or a container that allows it",
        ),
        snapshot_status::CLONE_FAILED => {
            let error = io::Error::from_raw_os_error(errno as i32);
            write!(
                f,
                "the process cannot be copied: {error}; raise the limit of processes (pids.max, RLIMIT_NPROC) or of memory (overcommit)"
            )
        }
        snapshot_status::SAMPLES => f.write_str(
            "the recording has samples, so most blocks are unknown; a snapshot needs mode `exact`: record again",
        ),
        snapshot_status::QUIET => f.write_str(
            "HEAPGLASS_PREALLOC forbids the system calls that a snapshot needs; remove the variable",
        ),
        status => write!(
            f,
            "the program refuses for a reason that this heapglass does not know ({status}); use the heapglass that belongs to its tracking-alloc"
        ),
    }
}
