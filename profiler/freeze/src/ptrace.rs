//! System calls about other processes, mostly requests of ptrace(2).
//!
//! A thread that traces must make all requests itself. None of these functions allocates,
//! but for [`filter`].

use std::io;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// Registers that the kernel tells: `user_regs_struct`.
pub(crate) const REGISTERS: usize = 27;
/// The size of a set of signals in the kernel.
const SET_BYTES: usize = 8;
/// The registers with the states of vectors.
const NOTE_EXTENDED: usize = 0x202;
const GET_RSEQ: u32 = 0x420f;
const GET_DISPATCH: u32 = 0x4211;
const GET_FILTER: u32 = 0x420c;
/// Bytes of an instruction of a filter of system calls.
const INSTRUCTION_BYTES: usize = 8;
/// The bit of a signal that tells a stop at a system call from `SIGTRAP`.
const IS_SYSTEM_CALL: i32 = 0x80;
/// The first pauses between two looks at a thread, and the longest.
const SHORT: Duration = Duration::from_micros(20);
const LONG: Duration = Duration::from_millis(1);

/// Registers of a thread, as the kernel orders them.
pub(crate) type Words = [u64; REGISTERS];

/// The reason why a traced thread reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has ended.
    Ended,
    /// It stopped because it was told to, or with its whole process.
    Stopped,
    /// It enters or leaves a system call.
    SystemCall,
    /// It has made a process.
    Clone,
    /// It gets a signal.
    Signal(i32),
    Other,
}

impl Event {
    fn of(status: i32) -> Event {
        if !libc::WIFSTOPPED(status) {
            return Event::Ended;
        }
        match (status >> 16, libc::WSTOPSIG(status)) {
            (libc::PTRACE_EVENT_STOP, _) => Event::Stopped,
            (libc::PTRACE_EVENT_CLONE, _) => Event::Clone,
            (0, signal) if signal == libc::SIGTRAP | IS_SYSTEM_CALL => Event::SystemCall,
            (0, signal) => Event::Signal(signal),
            _ => Event::Other,
        }
    }
}

/// Tests that end a tracer at a given request.
#[cfg(test)]
pub(crate) mod killed {
    use std::cell::Cell;

    thread_local! {
        /// Requests that this thread makes before it counts as killed.
        static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
    }

    pub(crate) fn after(requests: u32) {
        LEFT.set(requests);
    }

    pub(crate) fn is_killed() -> bool {
        LEFT.get() == 0
    }

    /// Counts a request. Returns `true` if the thread counts as killed.
    pub(super) fn count() -> bool {
        let left = LEFT.get();
        if left != u32::MAX {
            LEFT.set(left.saturating_sub(1));
        }
        left == 0
    }
}

fn request(kind: u32, thread: i32, address: usize, data: usize) -> io::Result<usize> {
    #[cfg(test)]
    if killed::count() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    // SAFETY: what a request reads or writes here is in `data`, which its caller borrows from a
    // value of the size that the kernel documents.
    let result =
        unsafe { libc::ptrace(kind, thread, null_mut::<u8>().wrapping_add(address), data) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as usize)
}

/// Begins to trace a thread, without stopping it.
pub(crate) fn seize(thread: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, thread, 0, 0).map(drop)
}

/// Asks a thread to stop.
pub(crate) fn interrupt(thread: i32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, thread, 0, 0).map(drop)
}

pub(crate) fn set_options(thread: i32, options: i32) -> io::Result<()> {
    request(libc::PTRACE_SETOPTIONS, thread, 0, options as usize).map(drop)
}

/// Lets a thread run, with a signal or 0.
pub(crate) fn resume(thread: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_CONT, thread, 0, signal as usize).map(drop)
}

/// Lets a thread run until it enters or leaves a system call.
pub(crate) fn resume_to_system_call(thread: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, thread, 0, signal as usize).map(drop)
}

/// Lets a thread run, with a signal or 0, and ends the tracing.
pub(crate) fn detach(thread: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, thread, 0, signal as usize).map(drop)
}

pub(crate) fn registers(thread: i32) -> io::Result<Words> {
    let mut words = [0; REGISTERS];
    request(libc::PTRACE_GETREGS, thread, 0, words.as_mut_ptr() as usize)?;
    Ok(words)
}

pub(crate) fn set_registers(thread: i32, words: &Words) -> io::Result<()> {
    request(libc::PTRACE_SETREGS, thread, 0, words.as_ptr() as usize).map(drop)
}

/// Returns the signals that a thread blocks.
pub(crate) fn signal_mask(thread: i32) -> io::Result<u64> {
    let mut mask = 0_u64;
    let place = &raw mut mask as usize;
    request(libc::PTRACE_GETSIGMASK, thread, SET_BYTES, place)?;
    Ok(mask)
}

pub(crate) fn set_signal_mask(thread: i32, mask: u64) -> io::Result<()> {
    let place = &raw const mask as usize;
    request(libc::PTRACE_SETSIGMASK, thread, SET_BYTES, place).map(drop)
}

/// Returns the ID of the process that a thread has made.
pub(crate) fn made(thread: i32) -> io::Result<i32> {
    let mut process: libc::c_ulong = 0;
    let place = &raw mut process as usize;
    request(libc::PTRACE_GETEVENTMSG, thread, 0, place)?;
    i32::try_from(process).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Reads the state of the vector registers into a buffer, and returns its bytes.
pub(crate) fn extended_state(thread: i32, buffer: &mut [u8]) -> io::Result<usize> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let place = &raw mut part as usize;
    request(libc::PTRACE_GETREGSET, thread, NOTE_EXTENDED, place)?;
    Ok(part.iov_len)
}

/// Sets the state of the vector registers, which [`extended_state`] has read.
pub(crate) fn set_extended_state(thread: i32, state: &[u8]) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: state.as_ptr().cast_mut().cast(),
        iov_len: state.len(),
    };
    let place = &raw mut part as usize;
    request(libc::PTRACE_SETREGSET, thread, NOTE_EXTENDED, place).map(drop)
}

/// Returns the address of a thread's `struct rseq`; 0 if it has none, or if the kernel does not
/// tell.
pub(crate) fn restartable_sequences(thread: i32) -> u64 {
    let mut words = [0_u64; 3];
    let (bytes, place) = (size_of_val(&words), words.as_mut_ptr() as usize);
    let is_told = request(GET_RSEQ, thread, bytes, place).is_ok();
    if is_told { words[0] } else { 0 }
}

/// Returns `true` if the kernel passes system calls of a thread on to its program.
pub(crate) fn dispatches_system_calls(thread: i32) -> bool {
    let mut words = [0_u64; 4];
    let (bytes, place) = (size_of_val(&words), words.as_mut_ptr() as usize);
    let is_told = request(GET_DISPATCH, thread, bytes, place).is_ok();
    is_told && words[0] != 0
}

/// Reads one of the filters of system calls of a thread: its instructions. Returns `None` after the
/// last one.
///
/// # Errors
/// Returns an error if the kernel does not tell. It tells only administrators.
pub(crate) fn filter(
    thread: i32,
    number: usize,
) -> io::Result<Option<Vec<[u8; INSTRUCTION_BYTES]>>> {
    let count = match request(GET_FILTER, thread, number, 0) {
        Ok(count) => count,
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut code = vec![[0; INSTRUCTION_BYTES]; count];
    request(GET_FILTER, thread, number, code.as_mut_ptr() as usize)?;
    Ok(Some(code))
}

/// Waits until a thread reports.
pub(crate) fn wait(thread: i32) -> io::Result<Event> {
    loop {
        match wait_with(thread, 0) {
            Ok(Some(event)) => return Ok(event),
            Err(error) if is_interrupted(&error) => {}
            Ok(None) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => return Err(error),
        }
    }
}

fn is_interrupted(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINTR)
}

/// Waits until a thread stops that was asked to. It gets its signals meanwhile.
///
/// # Errors
/// Returns an error if the thread has ended.
pub(crate) fn until_stopped(thread: i32) -> io::Result<()> {
    loop {
        match wait(thread)? {
            Event::Stopped => return Ok(()),
            Event::Ended => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            Event::Signal(signal) => resume(thread, signal)?,
            _ => resume(thread, 0)?,
        }
    }
}

/// Waits until a thread reports. Returns `None` if it does not before `end`.
pub(crate) fn wait_until(thread: i32, end: Instant) -> io::Result<Option<Event>> {
    let mut pause = SHORT;
    loop {
        match wait_with(thread, libc::WNOHANG) {
            Ok(None) => {}
            Err(error) if is_interrupted(&error) => {}
            other => return other,
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = LONG.min(2 * pause);
    }
}

fn wait_with(thread: i32, flags: i32) -> io::Result<Option<Event>> {
    #[cfg(test)]
    if killed::count() {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    let mut status = 0;
    // SAFETY: the kernel writes one number.
    let found = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | flags) };
    match found {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(Some(Event::of(status))),
    }
}

/// Kills a process that this thread traces, so its number cannot have passed to another one.
pub(crate) fn kill(process: i32) {
    #[cfg(test)]
    if killed::count() {
        return;
    }
    // SAFETY: this touches no memory.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// The user that this process acts as.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: this touches no memory and always succeeds.
    unsafe { libc::geteuid() }
}

/// While it lives, no signal is delivered to this thread, nor to those that it starts meanwhile.
#[derive(Debug)]
pub(crate) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub(crate) fn all() -> Blocked {
        // SAFETY: a set of signals is a number of words, for which zeros are valid.
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
        // SAFETY: both are sets of signals that live as long as the calls.
        unsafe {
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        }
        Blocked { before }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is the one that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, null_mut()) };
    }
}
