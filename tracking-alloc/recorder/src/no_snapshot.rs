//! The reasons why the program gets no snapshot of itself.

use crate::error::UNSUPPORTED;
use std::fmt;

/// The reason why there is no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSnapshot {
    /// Nothing is recorded, or the call came from a signal handler that interrupted the recorder.
    NotRecording,
    /// No reader is attached to the recording, or it has ended.
    NoReader,
    /// A filter of system calls (seccomp) may kill the program for making a copy.
    Sandbox,
    /// The process is not dumpable, so no other process may read its memory.
    NotDumpable,
    /// The kernel is older than Linux 5.9, or a filter of system calls refuses `close_range`.
    OldKernel,
    /// The copy could not be made; the number is the `errno`.
    CloneFailed(i32),
    /// `HEAPGLASS_PREALLOC` forbids the system calls that the copy needs.
    Preallocated,
    /// The reader has not finished with the last copy.
    Busy,
    /// The recording takes samples, so most blocks are unknown.
    Samples,
    /// Nothing is recorded on this platform.
    Unsupported,
}

impl fmt::Display for NoSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSnapshot::NotRecording => f.write_str("no snapshot: nothing is recorded"),
            NoSnapshot::NoReader => f.write_str("no snapshot: no reader is attached to the recording"),
            NoSnapshot::Sandbox => f.write_str("no snapshot: the program has a filter of system calls that may kill it for making a copy of itself; force it with `heapglass run --force-snapshot` if the filter allows `clone`"),
            NoSnapshot::NotDumpable => f.write_str("no snapshot: the process is not dumpable, so no other process may read its memory; remove PR_SET_DUMPABLE, or do not change the user"),
            NoSnapshot::OldKernel => f.write_str("no snapshot: the system call close_range is not available; use Linux 5.9 or newer, or a container that allows it"),
            NoSnapshot::CloneFailed(errno) => write!(f, "no snapshot: the process cannot be copied (errno {errno}); raise the limit of processes or memory"),
            NoSnapshot::Preallocated => f.write_str("no snapshot: HEAPGLASS_PREALLOC forbids the system calls that it needs; remove the variable"),
            NoSnapshot::Samples => f.write_str("no snapshot: the recording takes samples, so most blocks are unknown; record in mode `exact`"),
            NoSnapshot::Unsupported => write!(f, "no snapshot: {UNSUPPORTED}"),
            NoSnapshot::Busy => f.write_str("no snapshot: the reader has not finished with the last one; take snapshots less often"),
        }
    }
}

impl std::error::Error for NoSnapshot {}
