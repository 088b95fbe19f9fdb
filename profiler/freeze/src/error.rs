//! The reasons why a process is left alone, and what to do.

use std::fmt;
use std::io;

/// The reason why a process was not frozen. It goes on as before.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The platform is none of those that this crate knows.
    Unsupported,
    /// There is no such process.
    NoProcess,
    /// The process is the one that asks.
    Itself,
    /// The number is that of a thread of another process.
    ThreadOf(u32),
    /// The process is a thread of the kernel.
    Kernel,
    /// The process, or its first thread, has ended.
    Ended,
    /// The program is for another processor, or of 32 bits.
    OtherMachine,
    /// Another process traces it.
    Traced {
        /// The process that traces.
        by: u32,
        /// The name of that process.
        name: String,
    },
    /// The process belongs to another user.
    OtherUser {
        /// The user of the process.
        user: u32,
    },
    /// The kernel's setting of Yama forbids it.
    Yama(u8),
    /// The process may not be traced for another reason.
    Forbidden(io::Error),
    /// A thread did not stop.
    Restless {
        /// The thread's ID.
        thread: u32,
    },
    /// Nobody can attach on this platform.
    CannotAttach,
    /// A signal has stopped the process.
    Suspended {
        /// The process.
        process: u32,
    },
    /// The process has no glibc in which a library can be loaded.
    NoGlibc {
        /// The reason: `musl`, `static` or another.
        what: &'static str,
    },
    /// A filter of system calls or a shadow stack may kill the program.
    Sandboxed(String),
    /// The same while the program is recorded, so that it cannot be made to finish the recording.
    StaysAttached(String),
    /// The kernel does not tell what a filter of system calls forbids.
    UnknownFilter {
        /// The calls that the filter must allow.
        calls: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// No thread is safe to use.
    NoThread {
        /// The reason.
        why: &'static str,
    },
    /// The program sees no `/proc`, by which it would load a library from memory.
    NoFolder,
    /// The loader of the program refused the library.
    NotLoaded(String),
    /// The library in the program is of another version.
    OtherVersion,
    /// Another command makes such calls in the program.
    Busy,
    /// The library is not in the program.
    NotAttached,
    /// A call in the program took too long. It goes on by itself.
    Late,
    /// The copy could not be made.
    NoCopy(io::Error),
    /// A request to the kernel failed.
    Failed {
        /// The request, such as "stop a thread".
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported => f.write_str(
                "the memory of a program that was not recorded can be copied on Linux for x86-64 only; record the program with `heapglass run`",
            ),
            Error::NoProcess => f.write_str(
                "there is no such process; if it runs in a container, use its process ID on this side (`docker top`, `ps`)",
            ),
            Error::Itself => f.write_str("heapglass does not read itself"),
            Error::ThreadOf(process) => write!(f, "it is a thread of process {process}; name that one"),
            Error::Kernel => f.write_str("it is a thread of the kernel, which has no heap"),
            Error::Ended => f.write_str(
                "it has ended, or its first thread has; nothing of its heap can be read",
            ),
            Error::OtherMachine => f.write_str(
                "it is no program for x86-64 with 64 bits; only those can be read",
            ),
            Error::Traced { by, name } => write!(
                f,
                "process {by} ({name}) traces it, and only one can; end that one first"
            ),
            Error::OtherUser { user } => write!(
                f,
                "it belongs to the user with the ID {user}; run heapglass as that user or as root"
            ),
            Error::Yama(1) => f.write_str(
                "the kernel lets users trace only their children (kernel.yama.ptrace_scope is 1); run heapglass as root, or allow it once: `sudo setcap cap_sys_ptrace+ep $(which heapglass)`, or for all: `sudo sysctl kernel.yama.ptrace_scope=0`",
            ),
            Error::Yama(2) => f.write_str(
                "the kernel lets only administrators trace (kernel.yama.ptrace_scope is 2); run heapglass as root, or allow it once: `sudo setcap cap_sys_ptrace+ep $(which heapglass)`",
            ),
            Error::Yama(scope) => write!(
                f,
                "the kernel lets nobody trace (kernel.yama.ptrace_scope is {scope}, which lasts until the next start); let the kernel write a core file (`kill -ABRT` ends the program) and use `heapglass snapshot CORE`"
            ),
            Error::Forbidden(error) => write!(
                f,
                "it may not be traced: {error}; run heapglass as root; in a container, start the container with `--cap-add SYS_PTRACE`, or run heapglass on the host"
            ),
            Error::Restless { thread } => write!(
                f,
                "its thread {thread} did not stop in time: it waits in the kernel, for a disk or for a new process to start; nothing was changed, try again"
            ),
            Error::CannotAttach => f.write_str(
                "attaching works on Linux for x86-64 only; start the program with `heapglass run`",
            ),
            Error::Suspended { process } => write!(
                f,
                "a signal has stopped it, and its threads may hold locks; let it go on first: `kill -CONT {process}`"
            ),
            Error::NoGlibc { what: "musl" } => f.write_str(
                "it uses musl, and the library that records needs glibc; take a snapshot instead: `heapglass snapshot PID`",
            ),
            Error::NoGlibc { what: "static" } => f.write_str(
                "it loads no glibc (it is linked statically, or is a Go program), so no library can be loaded into it; take a snapshot instead: `heapglass snapshot PID`",
            ),
            Error::NoGlibc { .. } => f.write_str(
                "its glibc has no function that loads a library; take a snapshot instead: `heapglass snapshot PID`",
            ),
            Error::Sandboxed(why) => write!(
                f,
                "{why}; nothing was done; take a snapshot instead (`heapglass snapshot PID`), or start the program without it"
            ),
            Error::StaysAttached(why) => write!(
                f,
                "{why}; nothing was done; the recording goes on, and is finished when the program exits"
            ),
            Error::UnknownFilter { calls, error } => write!(
                f,
                "it has a filter of system calls (seccomp), and only root may read whether that would kill it ({error}); nothing was done; run heapglass as root, or use --force if the filter allows {calls}"
            ),
            Error::NoThread { why } => write!(
                f,
                "no thread is safe to use now: {why}; nothing was changed, try again"
            ),
            Error::NoFolder => f.write_str(
                "it sees other files than this command, and no /proc, so it cannot load the library from memory; mount /proc there (`mount -t proc proc /proc`), or take a snapshot: `heapglass snapshot PID`",
            ),
            Error::NotLoaded(why) => write!(f, "its loader refused the library: {why}"),
            Error::OtherVersion => f.write_str(
                "the library in the program is of another version of heapglass; use that version, or restart the program",
            ),
            Error::NotAttached => f.write_str(
                "nobody is attached to it; if it has become another program (`exec`), its recording ended with that",
            ),
            Error::Busy => f.write_str(
                "another command attaches to it or detaches from it just now; try again",
            ),
            Error::Late => f.write_str(
                "the call in the program takes long; it goes on by itself, and nothing is undone half way",
            ),
            Error::NoCopy(error) => write!(
                f,
                "it could not be copied: {error}; raise the limit of processes (pids.max, RLIMIT_NPROC) or of memory (overcommit), or use --no-copy, which stops the program while its memory is read"
            ),
            Error::Failed { what, error } => write!(f, "cannot {what}: {error}"),
        }
    }
}

impl std::error::Error for Error {}
