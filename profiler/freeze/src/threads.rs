//! Stops all threads of a process.

use crate::PATIENCE;
use crate::error::Error;
use crate::frame::{ORIGINAL_RAX, RAX};
use crate::program::Program;
use crate::ptrace::{self, Event, Words};
use crate::refusals::{self, Status};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// Results of system calls: one that a signal interrupted, and one that begins again unless there
/// is a handler for the signal.
const INTERRUPTED: i64 = -libc::EINTR as i64;
const BEGINS_AGAIN: i64 = -514;
/// Calls that return `EINTR` after any stop although no signal came (signal(7)), those of sockets
/// if these have a time limit. None of them has done anything then, so they can begin again: a call
/// that has sent or received a part returns that part.
const INTERRUPTED_BY_STOPS: [i64; 20] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    libc::SYS_io_uring_enter,
];

/// Threads that are stopped. They go on when this is dropped.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) threads: Vec<StoppedThread>,
    begun: Instant,
}

/// A thread that is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoppedThread {
    pub(crate) id: i32,
    pub(crate) words: Words,
}

impl Stopped {
    /// Stops all threads of a process.
    pub(crate) fn all(program: &Program, status: &Status) -> Result<Stopped, Error> {
        let mut stopped = Stopped::none();
        let end = stopped.begun + PATIENCE;
        let mut seen = BTreeSet::new();
        // A thread that still runs may start others: until a look finds no new one.
        loop {
            let all = ids(program.process)?;
            let new: Vec<i32> = all.into_iter().filter(|id| seen.insert(*id)).collect();
            if new.is_empty() {
                break;
            }
            let mut asked = Vec::new();
            for id in new {
                if stopped.ask(id, program, status)? {
                    asked.push(id);
                }
            }
            for id in asked {
                stopped.wait(id, end)?;
            }
        }
        if stopped.threads.is_empty() {
            return Err(Error::Ended);
        }
        Ok(stopped)
    }

    /// Stops one thread, until `end` at the latest. Returns `None` if it ends.
    pub(crate) fn one(
        id: i32,
        program: &Program,
        status: &Status,
        end: Instant,
    ) -> Result<Option<Stopped>, Error> {
        let mut stopped = Stopped::none();
        if stopped.ask(id, program, status)? {
            stopped.wait(id, end)?;
        }
        Ok((!stopped.threads.is_empty()).then_some(stopped))
    }

    fn none() -> Stopped {
        Stopped {
            threads: Vec::new(),
            begun: Instant::now(),
        }
    }

    /// Begins to trace a thread and asks it to stop. Returns `false` if it is ending.
    fn ask(&self, id: i32, program: &Program, status: &Status) -> Result<bool, Error> {
        match ptrace::seize(id).and_then(|()| ptrace::interrupt(id)) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            Err(error) => {
                let of_thread = Status::of(program.process, id.cast_unsigned());
                if of_thread.is_ok_and(|of| of.is_ending()) {
                    return Ok(false);
                }
                Err(refusals::forbidden(status, error))
            }
        }
    }

    fn wait(&mut self, id: i32, end: Instant) -> Result<(), Error> {
        let failed = |error| Error::Failed {
            what: "stop a thread",
            error,
        };
        loop {
            let event = ptrace::wait_until(id, end).map_err(failed)?;
            match event {
                Some(Event::Stopped) => break,
                Some(Event::Ended) => return Ok(()),
                // It gets its signal first.
                Some(Event::Signal(signal)) => ptrace::resume(id, signal).map_err(failed)?,
                Some(_) => ptrace::resume(id, 0).map_err(failed)?,
                None => {
                    return Err(Error::Restless {
                        thread: id.cast_unsigned(),
                    });
                }
            }
        }
        let words = begin_again(id).map_err(failed)?;
        self.threads.push(StoppedThread { id, words });
        Ok(())
    }

    /// Lets all threads go on. Returns how long the first of them was stopped.
    pub(crate) fn detach(mut self) -> Duration {
        self.let_go();
        self.begun.elapsed()
    }

    fn let_go(&mut self) {
        for thread in self.threads.drain(..) {
            // An error means that it was killed. What cannot be detached here is when the tracer
            // ends.
            let _ = ptrace::detach(thread.id, 0);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Threads that did not stop in time. They stop as soon as the kernel lets them, and would stay
/// stopped until the tracer ends: somebody must look after them again and again.
#[derive(Debug, Default)]
pub(crate) struct Restless {
    ids: Vec<i32>,
}

impl Restless {
    /// Stops one thread, until `end` at the latest, and keeps it if it does not stop. Returns
    /// `None` if it ends.
    pub(crate) fn stop(
        &mut self,
        id: i32,
        program: &Program,
        status: &Status,
        end: Instant,
    ) -> Result<Option<Stopped>, Error> {
        let stopped = Stopped::one(id, program, status, end);
        if stopped.is_err() {
            self.ids.push(id);
        }
        stopped
    }

    pub(crate) fn contains(&self, id: i32) -> bool {
        self.ids.contains(&id)
    }

    /// Lets those threads go on that have stopped since.
    pub(crate) fn let_go(&mut self) {
        self.ids.retain(|id| {
            let signal = match ptrace::wait_until(*id, Instant::now()) {
                Ok(None) => return true,
                Ok(Some(Event::Signal(signal))) => signal,
                Ok(Some(Event::Ended)) | Err(_) => return false,
                Ok(Some(_)) => 0,
            };
            // An error means that it was killed.
            let _ = begin_again(*id).and_then(|_| ptrace::detach(*id, signal));
            false
        });
    }
}

/// Makes a thread that is stopped begin its system call again if only our stop has interrupted it.
/// Returns its registers.
fn begin_again(id: i32) -> io::Result<Words> {
    let mut words = ptrace::registers(id)?;
    if is_interrupted_by_us(&words) {
        words[RAX] = BEGINS_AGAIN.cast_unsigned();
        ptrace::set_registers(id, &words)?;
    }
    Ok(words)
}

/// Returns `true` if a system call returns `EINTR` because of our stop, or for a signal that has
/// not been delivered yet: the kernel returns `EINTR` all the same then if the signal has a
/// handler.
fn is_interrupted_by_us(words: &Words) -> bool {
    words[RAX].cast_signed() == INTERRUPTED
        && INTERRUPTED_BY_STOPS.contains(&words[ORIGINAL_RAX].cast_signed())
}

/// Returns the threads of a process.
pub(crate) fn ids(process: u32) -> Result<Vec<i32>, Error> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).map_err(|_| Error::NoProcess)?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| name.parse().ok()).collect())
}
