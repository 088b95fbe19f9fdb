//! The settings of a recording of a running program, and the answer of the program.

use std::path::Path;
use std::time::Duration;

/// The settings of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The library that records.
    pub library: &'a Path,
    /// The path of the recording, for the program. If there is a file, the recording gets a suffix.
    pub recording: &'a [u8],
    /// `true`: take samples. `false`: record every event.
    pub samples: bool,
    /// The mean number of bytes from one sample to the next; 0 = the default.
    pub sample_bytes: u64,
    /// The maximum size of the recording; 0 = the default.
    pub max_bytes: u64,
}

/// The way to call functions of a running program.
#[derive(Clone, Copy)]
pub struct Caution<'a> {
    /// Call them even if a filter of system calls may kill the program for it.
    pub is_forced: bool,
    /// Walks the stack of a thread that is stopped. Without it, only threads that wait are used.
    pub walk: &'a (dyn Fn(&Registers) -> Walked + Sync),
}

impl Caution<'_> {
    /// Nothing is forced, and no stack is walked.
    pub const PLAIN: Caution<'static> = Caution {
        is_forced: false,
        walk: &|_| Walked::default(),
    };
}

impl std::fmt::Debug for Caution<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Caution");
        debug
            .field("is_forced", &self.is_forced)
            .finish_non_exhaustive()
    }
}

/// The registers of a thread, in the order of [`Thread::registers`](crate::Thread::registers).
pub type Registers = [u64; 27];

/// The functions on the stack of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// An address in the code of each function, the innermost first.
    pub code: Vec<u64>,
    /// The last function is the one with which the thread began.
    pub is_complete: bool,
    /// A signal has interrupted one of the functions.
    pub has_signal: bool,
}

/// The answer of the library in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0 if it was done.
    pub code: i32,
    /// The path of the recording if it was done, otherwise the reason.
    pub text: String,
    /// The thread that made the calls.
    pub thread: u32,
    /// The time for which that thread was stopped.
    pub pause: Duration,
    /// Threads that could not be stopped in time. Inside a loop, such a thread may go on calling
    /// the allocator past the recording.
    pub unchanged_threads: u32,
}
