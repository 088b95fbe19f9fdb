//! The thread that traces: it stops a process, copies it, and ends the copy when it is told to.
//!
//! The kernel lets only the thread that traces make requests, and kills the copy when that thread
//! ends.

use crate::call::{self, Below, Caller};
use crate::error::Error;
use crate::frame::Instructions;
use crate::program::Program;
use crate::ptrace::{self, Blocked, Event};
use crate::refusals::{self, Status};
use crate::threads::{self, Stopped};
use crate::{Frozen, PATIENCE as OF_ONE, Thread, Way};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that traces, until it is told to end.
#[derive(Debug)]
pub(crate) struct Tracer {
    thread: JoinHandle<Duration>,
    end: Sender<()>,
}

/// The threads that trace, each with what ends it.
static TRACERS: Mutex<BTreeMap<u64, Sender<()>>> = Mutex::new(BTreeMap::new());

/// The longest time that [`end_all`] waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// An entry of [`TRACERS`].
struct Entry(u64);

impl Entry {
    fn new(end: Sender<()>) -> Entry {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        tracers().insert(number, end);
        Entry(number)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        tracers().remove(&self.0);
    }
}

fn tracers() -> MutexGuard<'static, BTreeMap<u64, Sender<()>>> {
    TRACERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all copies and lets all processes go on.
pub(crate) fn end_all() {
    let begun = Instant::now();
    for end in tracers().values() {
        // An error means that it has ended.
        let _ = end.send(());
    }
    while !tracers().is_empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Tracer {
    /// Ends the copy, or lets the process go on. Returns how long the process was stopped for this.
    pub(crate) fn end(self) -> Duration {
        let _ = self.end.send(());
        self.thread.join().unwrap_or_default()
    }
}

/// The answer of a tracer: everything of [`Frozen`] but itself.
type Told = Result<Frozen, Error>;

pub(crate) fn freeze(process: u32, way: Way) -> Result<Frozen, Error> {
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    // Until the process goes on, no signal comes between. The new thread inherits the mask.
    let blocked = Blocked::all();
    let entry = Entry::new(end.clone());
    let thread = std::thread::Builder::new()
        .name("tracer".to_owned())
        .spawn(move || {
            let stopped = trace(process, way, &tell, &ended);
            drop(entry);
            stopped
        });
    let failed = |error| Error::Failed {
        what: "start a thread",
        error,
    };
    let thread = thread.map_err(failed)?;
    let frozen = told.recv();
    drop(blocked);
    let mut frozen = match frozen {
        Ok(frozen) => frozen?,
        Err(error) => return Err(failed(std::io::Error::other(error))),
    };
    frozen.tracer = Some(Tracer { thread, end });
    Ok(frozen)
}

/// Stops or copies a process, tells about it, and waits for the end.
fn trace(process: u32, way: Way, tell: &Sender<Told>, end: &Receiver<()>) -> Duration {
    match begin(process, way) {
        Ok((frozen, held)) => {
            if tell.send(Ok(frozen)).is_ok() {
                let _ = end.recv();
            }
            held.end()
        }
        Err(error) => {
            let _ = tell.send(Err(error));
            Duration::ZERO
        }
    }
}

/// A process or a copy that is to be let go.
#[derive(Debug)]
pub(crate) enum Held {
    Stopped(Stopped),
    Copy(Copy),
}

impl Held {
    pub(crate) fn end(self) -> Duration {
        match self {
            Held::Stopped(stopped) => stopped.detach(),
            Held::Copy(copy) => {
                copy.end();
                Duration::ZERO
            }
        }
    }
}

/// A copy of a process.
#[derive(Debug)]
pub(crate) struct Copy {
    process: i32,
    /// Its ID for the program.
    inner: i64,
    program: Program,
    status: Status,
    at: Instructions,
}

/// Stops or copies a process. Only this thread can undo it.
pub(crate) fn begin(process: u32, way: Way) -> Result<(Frozen, Held), Error> {
    let status = refusals::check(process)?;
    let program = Program::open(process, &status)?;
    let mut why_stopped = None;
    let mut at = None;
    if way == Way::Copy {
        why_stopped = status.forbids_calls(false);
        if why_stopped.is_none() {
            at = program.instructions();
            why_stopped = at
                .is_none()
                .then_some("its libc has no instructions to return from a signal");
        }
    }
    let stopped = Stopped::all(&program, &status)?;
    let threads = described(&stopped);
    let mut copied = None;
    if let Some(at) = at {
        match Caller::among(&stopped, &program, at, false) {
            Ok(caller) => {
                let arguments = [0, caller.stack_of_copy(), 0, 0, 0, 0];
                let (copy, inner) = caller.make(libc::SYS_clone, arguments)?;
                copied = Some((copy, inner, caller.below()));
            }
            Err(why) => why_stopped = Some(why),
        }
    }
    let frozen = |memory, pause, is_copy| Frozen {
        threads: named(process, threads),
        memory,
        pause,
        why_stopped: why_stopped.map(str::to_owned),
        tracer: None,
        is_copy,
    };
    let (Some((copy, inner, below)), Some(at)) = (copied, at) else {
        let frozen = frozen(process, Duration::ZERO, false);
        return Ok((frozen, Held::Stopped(stopped)));
    };
    let pause = stopped.detach();
    let copy = Copy {
        process: copy,
        inner,
        program,
        status,
        at,
    };
    copy.prepare(&below);
    let memory = copy.process.cast_unsigned();
    Ok((frozen(memory, pause, true), Held::Copy(copy)))
}

impl Copy {
    /// Makes the copy ready to be read. It closes its files, and what the frames were written over
    /// is there again.
    fn prepare(&self, below: &Below) {
        // If it does not work, files are open until the copy ends.
        let _ = call::close_files(self.process, self.at);
        if let Ok(memory) = Program::open(self.process.cast_unsigned(), &self.status) {
            below.put_into(&memory);
        }
    }

    /// Kills the copy and makes the program remove what is left of it.
    fn end(&self) {
        ptrace::kill(self.process);
        loop {
            match ptrace::wait(self.process) {
                Ok(Event::Ended) => break,
                Ok(_) => {}
                // A tracer that was killed itself.
                Err(_) => return,
            }
        }
        let Ok(threads) = threads::ids(self.program.process) else {
            return;
        };
        let all = (libc::__WALL | libc::WNOHANG) as u32;
        let arguments = [self.inner.cast_unsigned(), 0, u64::from(all), 0, 0, 0];
        for id in threads {
            let end = Instant::now() + OF_ONE;
            let Ok(Some(stopped)) = Stopped::one(id, &self.program, &self.status, end) else {
                continue;
            };
            if let Ok(caller) = Caller::among(&stopped, &self.program, self.at, false) {
                // An error means that the program was killed.
                let _ = caller.call(libc::SYS_wait4, arguments);
                return;
            }
        }
    }
}

/// Returns the threads of a process without their names, which are read when they go on.
fn described(stopped: &Stopped) -> Vec<Thread> {
    let threads = stopped.threads.iter().map(|thread| Thread {
        id: thread.id.cast_unsigned(),
        name: String::new(),
        registers: thread.words,
    });
    threads.collect()
}

fn named(process: u32, mut threads: Vec<Thread>) -> Vec<Thread> {
    for thread in &mut threads {
        thread.name = refusals::name(&format!("/proc/{process}/task/{}/comm", thread.id));
    }
    threads
}
