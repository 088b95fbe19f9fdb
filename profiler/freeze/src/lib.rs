//! Stops a running process and copies it, so that its memory at one moment can be read; or makes it
//! load a library and record itself.
//!
//! [`freeze`] stops all threads of a process by ptrace(2), makes one of them call `clone`, and lets
//! all of them go on. The copy never runs: `/proc/COPY/mem` has the memory of that moment. When
//! [`Frozen`] is dropped, the copy is killed, and a thread of the process calls `wait4` to remove
//! what is left of it. The program has no new signal handler, library or file.
//!
//! This is the only crate of heapglass with unsafe code outside the recorder's. It works on Linux
//! for x86-64. Elsewhere, it compiles and returns [`Error::Unsupported`].
//!
//! # A reader that dies does not hurt the program
//!
//! A thread that is let go with foreign registers would crash. So before its registers are changed,
//! the frame of a signal is written below its stack: `syscall; ret` returns from there to libc's
//! call of `rt_sigreturn`, which restores all registers, those of vectors, and the signal mask. If
//! heapglass is killed at any instant, the kernel detaches the threads, and the thread restores
//! itself. The copy has a frame of its own: should it ever run, it ends by `exit_group`. Ctrl-C
//! does not come between, because signals are blocked in the thread that traces and in the one that
//! asked.
//!
//! | risk | what is done about it |
//! |---|---|
//! | The copy's end is a signal to the program (`SIGCHLD`). | It has no exit signal, and the program calls `wait4` for it, with `__WALL`. If heapglass was killed, the copy's entry in the table of processes is left until the program ends. |
//! | A signal comes while a thread makes our call. | The thread blocks all signals meanwhile; they stay pending. |
//! | A system call was interrupted. | Its thread stops again where the kernel begins such calls again, and gets its registers there. Calls that return `EINTR` after any stop (`epoll_wait`, `sigtimedwait`, `semop`, `io_uring_enter`, sockets with a time limit) begin again too; a time limit then begins anew. |
//! | The stack is small, or is memory of something else (coroutines). | Only a thread on the stack that the kernel or libc made for it is used, and only if there is enough space. |
//! | A thread is inside a restartable sequence (`rseq`), has a shadow stack, or passes its system calls on to the program (Wine). | Another one is used. |
//! | A filter of system calls kills the program for `clone`. | Under any filter nothing is called: the process is stopped while its memory is read. |
//! | The copy keeps files and sockets open. | It closes them: `close_range` is the one call that it makes. |
//! | The kernel cannot stop a thread (it waits for a disk). | After [`PATIENCE`], all are let go with an error. |
//!
//! The program is paused for the time that the kernel takes to copy page tables.
//!
//! | module | what |
//! |---|---|
//! | `refusals` | what is known of a process before it is touched, and why it is left alone |
//! | `ptrace` | the system calls, with all unsafe code |
//! | `threads` | stops all threads |
//! | `frame` | the frame that restores a thread |
//! | `program` | memory, mappings and instructions of a process |
//! | `call` | makes a stopped thread call the kernel |
//! | `attach`, `inject`, `image`, `replace` | loads a library and calls its functions |
//! | `choice`, `filters` | the thread that makes the calls, and filters of system calls |
//! | `calls` | makes a stopped thread call functions |
//! | `tracer` | the thread that traces |

mod attach;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod call;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod choice;
mod error;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod filters;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod frame;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod image;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod inject;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod program;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ptrace;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod refusals;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod replace;
mod settings;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;

#[cfg(test)]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tests;

pub use attach::{attach, detach};
pub use error::Error;
pub use settings::{Answer, Caution, Registers, Settings, Walked};

use std::time::Duration;

/// The longest time that threads may take to stop.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The way to get at the memory of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// A copy is made if that is safe; otherwise as [`Way::Stop`].
    #[default]
    Copy,
    /// The process is stopped while its memory is read.
    Stop,
}

/// A thread at the moment of the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The thread's ID.
    pub id: u32,
    /// The thread's name, as the kernel has it.
    pub name: String,
    /// The registers in the order of `user_regs_struct` of x86-64: `r15` is the first, `rip` has
    /// the number 16, `rsp` 19, and `fs_base` 21.
    pub registers: [u64; 27],
}

/// A process at one moment.
#[derive(Debug)]
pub struct Frozen {
    threads: Vec<Thread>,
    /// The process that has the memory: the copy, or the program itself.
    memory: u32,
    pause: Duration,
    /// The reason why there is no copy, if one was asked for.
    why_stopped: Option<String>,
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    tracer: Option<tracer::Tracer>,
    is_copy: bool,
}

impl Frozen {
    /// Returns the threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns the process whose folder in `/proc` has the memory of the moment.
    pub fn memory(&self) -> u32 {
        self.memory
    }

    /// Returns `true` if the memory is that of a copy, and the program goes on.
    pub fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// Returns the reason why the process is stopped instead of copied, if a copy was asked for.
    pub fn why_stopped(&self) -> Option<&str> {
        self.why_stopped.as_deref()
    }

    /// Ends the copy, or lets the process go on. Returns how long the program was paused.
    pub fn end(mut self) -> Duration {
        self.finish()
    }

    /// Returns the time for which the program was paused. It is zero for a process that is still
    /// stopped.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn finish(&mut self) -> Duration {
        if let Some(tracer) = self.tracer.take() {
            self.pause += tracer.end();
        }
        self.pause
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn finish(&mut self) -> Duration {
        self.pause
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Ends all copies of this process's and lets all stopped processes go on, as if each [`Frozen`]
/// had been dropped. Call it before a signal ends this process: otherwise an entry of each copy is
/// left in the table of processes until its program ends.
pub fn end_all() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    tracer::end_all();
}

/// Stops a process and copies it.
///
/// # Errors
/// Returns an error if the process must be left alone or cannot be traced. It goes on as before.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn freeze(process: u32, way: Way) -> Result<Frozen, Error> {
    tracer::freeze(process, way)
}

/// Stops a process and copies it.
///
/// # Errors
/// Returns [`Error::Unsupported`] on this platform.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn freeze(_process: u32, _way: Way) -> Result<Frozen, Error> {
    Err(Error::Unsupported)
}
