//! Makes a stopped thread call functions of its program.
//!
//! The thread makes the calls on a stack of its own, with all signals blocked. After each call it
//! waits for the next one, and if none comes, it restores itself by a frame of a signal (see
//! [`frame`](crate::frame)). So if heapglass is killed at any instant, the call is finished and the
//! thread goes on where it was. No child process is needed for that.

use crate::call::Caller;
use crate::error::Error;
use crate::frame::{self, ARGUMENTS, FLAGS, Instructions, ORIGINAL_RAX, RBX, RIP, RSP};
use crate::program::Program;
use crate::ptrace::{self, Event, Words};
use crate::refusals::Status;
use crate::threads::{Restless, Stopped, StoppedThread};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the memory that the calls use: one page of code, and the stack.
const CODE_BYTES: u64 = 4096;
const STACK_BYTES: u64 = 1 << 20;
/// Bytes of a text that is read.
const MOST_TEXT: usize = 4096;

/// `call *16(%rbx)`, then the result and a mark are stored; `ppoll` for the time at 24; then all
/// registers are restored by `rt_sigreturn`.
///
/// NOTE: `ppoll`, because the kernel notes for `nanosleep` how the call goes on that a stop
/// interrupted, in the place of the note for the call that our stop interrupted.
const CODE: &[u8] = b"\xff\x53\x10\
    \x48\x89\x43\x08\
    \x48\xc7\x03\x01\x00\x00\x00\
    \x31\xff\x31\xf6\
    \x48\x8d\x53\x18\
    \x45\x31\xd2\
    \xb8\x0f\x01\x00\x00\
    \x0f\x05\
    \x48\x8b\x63\x28\
    \xb8\x0f\x00\x00\x00\
    \x0f\x05";
/// Places in the data.
const DONE: u64 = 0;
const RESULT: u64 = 8;
const FUNCTION: u64 = 16;
const TIME: u64 = 24;
const FRAME: u64 = 40;
const NAME: u64 = 64;

/// The flag of a file in memory that can never be run as a program (`MFD_NOEXEC_SEAL`).
const NO_PROGRAM: u32 = 8;

/// Time that a thread waits after a call before it restores itself. Tests kill heapglass then.
const NEXT_CALL: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 10_000 });
/// The pause between two looks whether a call is done.
const CALL_LOOKS: Duration = Duration::from_micros(100);
/// The longest time that a call may take before heapglass leaves the thread alone, which then goes
/// on by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// A thread that makes calls. Between two calls it is as it was when it was stopped.
pub(crate) struct Calls<'a> {
    program: &'a Program,
    status: &'a Status,
    stopped: &'a Stopped,
    restless: Restless,
    at: Instructions,
    thread: StoppedThread,
    code: u64,
    data: u64,
    /// The frame that restores the thread, at the end of the stack.
    frame: u64,
    /// The state of its vector registers, and its signals.
    state: Vec<u8>,
    mask: u64,
    /// The thread is not where it was stopped, and restores itself.
    is_lost: bool,
}

/// Signals that are not blocked during a call, because the thread itself raises them: a handler of
/// the program may make use of them. `SIGILL`, `SIGTRAP`, `SIGBUS`, `SIGFPE` and `SIGSEGV`.
const OWN_SIGNALS: u64 = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10;
/// Flags of the processor: single steps, and the direction of strings.
const NO_FLAGS: u64 = 0x100 | 0x400;

impl<'a> Calls<'a> {
    pub(crate) fn begin(
        program: &'a Program,
        status: &'a Status,
        stopped: &'a Stopped,
        restless: Restless,
        at: Instructions,
    ) -> Result<Calls<'a>, Error> {
        let thread = stopped.threads[0];
        let failed = |error| Error::Failed {
            what: "read the registers of a thread",
            error,
        };
        let mut state = vec![0; 1 << 16];
        let bytes = ptrace::extended_state(thread.id, &mut state).map_err(failed)?;
        state.truncate(bytes);
        let mut calls = Calls {
            program,
            status,
            stopped,
            restless,
            at,
            thread,
            code: 0,
            data: 0,
            frame: 0,
            mask: ptrace::signal_mask(thread.id).map_err(failed)?,
            state,
            is_lost: false,
        };
        calls.code = calls.map(CODE_BYTES, libc::PROT_READ | libc::PROT_EXEC)?;
        let prepared = calls.prepare();
        if prepared.is_err() {
            calls.end();
        }
        prepared?;
        Ok(calls)
    }

    /// Writes the code, and the frame that restores the thread.
    fn prepare(&mut self) -> Result<(), Error> {
        self.data = self.map(STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE)?;
        self.put(self.code, CODE)?;
        self.write_frame()
    }

    fn write_frame(&mut self) -> Result<(), Error> {
        let end = self.data + STACK_BYTES;
        let words = &self.thread.words;
        let frame = frame::restoring(words, self.mask, &self.state, end, self.at);
        let (place, bytes) = frame.ok_or(Error::NoThread {
            why: "the state of their registers is not known",
        })?;
        self.frame = place;
        self.put(place, &bytes)
    }

    /// Returns the thread that makes the calls.
    pub(crate) fn thread(&self) -> i32 {
        self.thread.id
    }

    /// Stops another thread. Returns `None` if it ends.
    pub(crate) fn stop_other(
        &mut self,
        id: i32,
        program: &Program,
        end: Instant,
    ) -> Result<Option<Stopped>, Error> {
        self.restless.let_go();
        self.restless.stop(id, program, self.status, end)
    }

    /// Returns `true` if the thread could not be stopped after a call. It makes no more calls, and
    /// restores itself.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the program with the mappings that it has now.
    pub(crate) fn program_now(&self) -> Result<Program, Error> {
        Program::open(self.program.process, self.status)
    }

    /// Changes the registers with which the thread goes on. `change` returns `true` if it did.
    pub(crate) fn change_registers(
        &mut self,
        change: impl FnOnce(&mut Words) -> bool,
    ) -> Result<(), Error> {
        if change(&mut self.thread.words) {
            self.write_frame()?;
            ptrace::set_registers(self.thread.id, &self.thread.words).map_err(call_failed)?;
        }
        Ok(())
    }

    fn map(&self, bytes: u64, rights: i32) -> Result<u64, Error> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let arguments = [0, bytes, rights as u64, kind as u64, u64::MAX, 0];
        self.system_call(libc::SYS_mmap, arguments)
    }

    /// Makes a system call.
    fn system_call(&self, number: i64, arguments: [u64; 6]) -> Result<u64, Error> {
        // The filters of system calls were read before, or somebody wants it all the same.
        let caller = Caller::among(self.stopped, self.program, self.at, true)
            .map_err(|why| Error::NoThread { why })?;
        let result = caller.call(number, arguments)?;
        if (-4095..0).contains(&result) {
            return Err(Error::Failed {
                what: "prepare the call in the program",
                error: io::Error::from_raw_os_error(-result as i32),
            });
        }
        Ok(result.cast_unsigned())
    }

    fn put(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = self.program.write(address, bytes);
        written.map_err(|error| Error::Failed {
            what: "write to its memory",
            error,
        })
    }

    /// Returns the address of a place in the memory of the calls.
    pub(crate) fn place(&self, place: u64) -> u64 {
        self.data + place
    }

    /// Reads a word of the program.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        self.program.word(address)
    }

    /// Writes an argument, and returns its address.
    pub(crate) fn write(&self, place: u64, bytes: &[u8]) -> Result<u64, Error> {
        self.put(self.place(place), bytes)?;
        Ok(self.place(place))
    }

    /// Makes a file in the memory of the program. Returns its descriptor.
    pub(crate) fn memory(&self, name: &str) -> Result<u64, Error> {
        let name = self.write(NAME, &[name.as_bytes(), b"\0"].concat())?;
        let make = |flags: u32| {
            let arguments = [name, flags.into(), 0, 0, 0, 0];
            self.system_call(libc::SYS_memfd_create, arguments)
        };
        // A library is loaded from it, but it is never a program, which `vm.memfd_noexec` may
        // forbid. Kernels before 6.3 do not know the difference.
        match make(libc::MFD_CLOEXEC | NO_PROGRAM) {
            Err(Error::Failed { error, .. }) if error.raw_os_error() == Some(libc::EINVAL) => {
                make(libc::MFD_CLOEXEC)
            }
            made => made,
        }
    }

    /// Gives a file in the memory of the program the bytes of a file of ours.
    pub(crate) fn fill(&self, number: u64, file: &Path) -> Result<(), Error> {
        let path = format!("/proc/{}/fd/{number}", self.program.process);
        let copied = fs::read(file).and_then(|bytes| {
            let mut memory = File::options().write(true).open(path)?;
            memory.write_all(&bytes)
        });
        copied.map_err(|error| Error::Failed {
            what: "copy the library into its memory",
            error,
        })
    }

    /// Closes a file of the program.
    pub(crate) fn close(&self, number: u64) -> Result<(), Error> {
        if self.is_lost {
            return Err(Error::Late);
        }
        let arguments = [number, 0, 0, 0, 0, 0];
        self.system_call(libc::SYS_close, arguments).map(drop)
    }

    /// Calls a function, and returns its result.
    pub(crate) fn call(&mut self, function: u64, arguments: [u64; 2]) -> Result<u64, Error> {
        let mut data = [0; 6];
        data[FUNCTION as usize / 8] = function;
        data[TIME as usize / 8] = NEXT_CALL.as_secs();
        data[TIME as usize / 8 + 1] = NEXT_CALL.subsec_nanos().into();
        data[FRAME as usize / 8] = self.frame + 8;
        let bytes: Vec<u8> = data
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        self.put(self.data, &bytes)?;
        let mut words = self.thread.words;
        words[RIP] = self.code;
        words[RSP] = (self.frame - 256) & !15;
        words[RBX] = self.data;
        words[ORIGINAL_RAX] = u64::MAX;
        words[FLAGS] &= !NO_FLAGS;
        for (place, argument) in ARGUMENTS.into_iter().zip(arguments) {
            words[place] = argument;
        }
        let thread = self.thread.id;
        // Until the thread is restored, it is not where it was.
        self.is_lost = true;
        let begun = ptrace::set_registers(thread, &words)
            .and_then(|()| ptrace::set_signal_mask(thread, !OWN_SIGNALS))
            .and_then(|()| ptrace::resume(thread, 0));
        begun.map_err(call_failed)?;
        self.until_done()?;
        let result = self.word(self.data + RESULT).ok_or(Error::NoProcess)?;
        self.restore()?;
        self.is_lost = false;
        Ok(result)
    }

    fn until_done(&mut self) -> Result<(), Error> {
        let end = Instant::now() + LONGEST;
        let thread = self.thread.id;
        loop {
            self.restless.let_go();
            if self.word(self.data + DONE).ok_or(Error::NoProcess)? == 1 {
                return Ok(());
            }
            let now = Instant::now();
            if now >= end {
                return Err(Error::Late);
            }
            match ptrace::wait_until(thread, now + CALL_LOOKS).map_err(call_failed)? {
                None => {}
                Some(Event::Ended) => return Err(Error::NoProcess),
                Some(Event::Signal(signal)) => {
                    ptrace::resume(thread, signal).map_err(call_failed)?;
                }
                Some(_) => ptrace::resume(thread, 0).map_err(call_failed)?,
            }
        }
    }

    /// Stops the thread, which waits after its call, and puts its registers back.
    fn restore(&self) -> Result<(), Error> {
        let thread = self.thread.id;
        let stopped = ptrace::interrupt(thread).and_then(|()| ptrace::until_stopped(thread));
        stopped.map_err(|error| match error.raw_os_error() {
            Some(libc::ESRCH) => Error::NoProcess,
            _ => call_failed(error),
        })?;
        let words = ptrace::registers(thread).map_err(call_failed)?;
        if !(self.code..self.code + CODE_BYTES).contains(&words[RIP]) {
            // It has waited long enough and restored itself.
            return Err(Error::Late);
        }
        ptrace::set_extended_state(thread, &self.state)
            .and_then(|()| ptrace::set_signal_mask(thread, self.mask))
            .and_then(|()| ptrace::set_registers(thread, &self.thread.words))
            .map_err(call_failed)
    }

    /// Reads a text of the program.
    pub(crate) fn text(&self, address: u64) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < MOST_TEXT {
            let mut byte = [0];
            let is_read = self.program.read(address + bytes.len() as u64, &mut byte);
            if is_read.is_err() || byte == [0] {
                break;
            }
            bytes.push(byte[0]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Removes the memory for the calls. A thread that still uses it keeps it.
    pub(crate) fn end(&self) {
        if self.is_lost {
            return;
        }
        for (start, bytes) in [(self.code, CODE_BYTES), (self.data, STACK_BYTES)] {
            if start != 0 {
                // Otherwise it stays, and does no harm.
                let _ = self.system_call(libc::SYS_munmap, [start, bytes, 0, 0, 0, 0]);
            }
        }
        // System calls put the registers back as they were at first, with addresses of functions
        // that were replaced since. If this fails, the thread has ended.
        let _ = ptrace::set_registers(self.thread.id, &self.thread.words);
    }
}

pub(crate) fn call_failed(error: io::Error) -> Error {
    Error::Failed {
        what: "make a thread call a function",
        error,
    }
}
