//! Makes a stopped thread call the kernel.

use crate::error::Error;
use crate::frame::{self, ARGUMENTS, Frames, Instructions, ORIGINAL_RAX, RAX, RIP, RSP};
use crate::program::Program;
use crate::ptrace::{self, Event, Words};
use crate::refusals::Status;
use crate::threads::{Stopped, StoppedThread};
use std::io;

/// Bytes of the buffer for the state of vector registers.
const MOST_STATE: usize = 1 << 16;
/// The result of a call that must begin again because something interrupted it, and how often.
const AGAIN: i64 = -513;
const MOST_TRIES: u32 = 64;

/// The reason why no thread can make calls for us, if nothing else is known.
pub(crate) const NO_ROOM: &str = "no thread is on a stack of its own with enough space";

/// Returns `true` if a thread can make calls for us. Nothing is written for that.
pub(crate) fn is_usable(thread: &StoppedThread, program: &Program, at: Instructions) -> bool {
    frames_for(thread, program, at).is_some()
}

/// Returns the signals that a thread blocks and its frames, if the thread is safe to use.
fn frames_for(
    thread: &StoppedThread,
    program: &Program,
    at: Instructions,
) -> Option<(u64, Frames)> {
    let words = &thread.words;
    // No system call is inside a restartable sequence.
    if words[ORIGINAL_RAX].cast_signed() < 0 {
        let description = ptrace::restartable_sequences(thread.id);
        if program.is_in_sequence(words, description) {
            return None;
        }
    }
    if ptrace::dispatches_system_calls(thread.id) {
        return None;
    }
    let mut state = vec![0; MOST_STATE];
    let bytes = ptrace::extended_state(thread.id, &mut state).ok()?;
    state.truncate(bytes);
    let mask = ptrace::signal_mask(thread.id).ok()?;
    let frames = frame::frames(words, mask, &state, at)?;
    let room = program.stack_below(words);
    let has_room = room.start <= frames.range.start && frames.range.end <= room.end;
    has_room.then_some((mask, frames))
}

/// A thread that can make calls for us, with frames on its stack that restore it.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    program: &'a Program,
    thread: StoppedThread,
    mask: u64,
    at: Instructions,
    frames: Frames,
    /// The bytes that were there before the frames.
    before: Vec<u8>,
}

impl<'a> Caller<'a> {
    /// Prepares the first thread that is safe to use. Returns the reason if there is none.
    pub(crate) fn among(
        stopped: &Stopped,
        program: &'a Program,
        at: Instructions,
        is_forced: bool,
    ) -> Result<Caller<'a>, &'static str> {
        let mut why = NO_ROOM;
        for thread in &stopped.threads {
            let status = Status::of(program.process, thread.id.cast_unsigned());
            let forbidden = status
                .ok()
                .and_then(|status| status.forbids_calls(is_forced));
            if let Some(forbidden) = forbidden {
                why = forbidden;
                continue;
            }
            if let Some(caller) = Caller::of(thread, program, at) {
                return Ok(caller);
            }
        }
        Err(why)
    }

    /// Writes the frames if the thread is safe to use.
    fn of(thread: &StoppedThread, program: &'a Program, at: Instructions) -> Option<Caller<'a>> {
        let (mask, frames) = frames_for(thread, program, at)?;
        let mut before = vec![0; frames.bytes.len()];
        program.read(frames.range.start, &mut before).ok()?;
        program.write(frames.range.start, &frames.bytes).ok()?;
        Some(Caller {
            program,
            thread: *thread,
            mask,
            at,
            frames,
            before,
        })
    }

    /// Returns the stack pointer of a copy of the thread, with which it ends itself.
    pub(crate) fn stack_of_copy(&self) -> u64 {
        self.frames.copy
    }

    /// Makes a call that makes a process. Returns the process, which is stopped and is killed if
    /// this thread ends; and its ID for the program.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, or if the program was killed meanwhile.
    pub(crate) fn make(&self, number: i64, arguments: [u64; 6]) -> Result<(i32, i64), Error> {
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE;
        let mut made = None;
        let result = self.call_with(options, number, arguments, &mut made)?;
        match made {
            Some(made) if result > 0 => Ok((made, result)),
            _ => Err(Error::NoCopy(io::Error::from_raw_os_error(
                i32::try_from(-result).unwrap_or(libc::EIO),
            ))),
        }
    }

    /// Makes a call and returns its result.
    ///
    /// # Errors
    /// Returns an error if the program was killed meanwhile.
    pub(crate) fn call(&self, number: i64, arguments: [u64; 6]) -> Result<i64, Error> {
        let options = libc::PTRACE_O_TRACESYSGOOD;
        self.call_with(options, number, arguments, &mut None)
    }

    fn call_with(
        &self,
        options: i32,
        number: i64,
        arguments: [u64; 6],
        made: &mut Option<i32>,
    ) -> Result<i64, Error> {
        let mut words = arguments_of(&self.thread.words, self.at, number, arguments);
        words[RSP] = self.frames.own;
        // From here on until the registers are restored, nothing allocates, and only the kernel is
        // asked. If this thread is killed, the program's thread restores itself.
        let result = self.inject(options, &words, made);
        let result = result.map_err(|error| Error::Failed {
            what: "make a thread call the kernel",
            error,
        })?;
        // After an error the thread still needs the frame.
        self.below().put_into(self.program);
        Ok(result)
    }

    fn inject(&self, options: i32, words: &Words, made: &mut Option<i32>) -> io::Result<i64> {
        let thread = self.thread.id;
        ptrace::set_options(thread, options)?;
        // The frame restores the mask too. So the registers come first, and at the end last.
        ptrace::set_registers(thread, words)?;
        ptrace::set_signal_mask(thread, u64::MAX)?;
        let result = until_result(thread, made)?;
        // Here the kernel begins interrupted calls again, as it would have without us.
        ptrace::interrupt(thread)?;
        ptrace::resume(thread, 0)?;
        ptrace::until_stopped(thread)?;
        ptrace::set_signal_mask(thread, self.mask)?;
        ptrace::set_registers(thread, &self.thread.words)?;
        Ok(result)
    }

    /// Returns the bytes that were below the stack before the frames.
    pub(crate) fn below(&self) -> Below {
        Below {
            address: self.frames.range.start,
            bytes: self.before.clone(),
        }
    }
}

/// Bytes below a stack. The program does not need them, but whoever looks for pointers reads them.
#[derive(Debug)]
pub(crate) struct Below {
    address: u64,
    bytes: Vec<u8>,
}

impl Below {
    /// Puts the bytes back, in the program or in its copy.
    pub(crate) fn put_into(&self, program: &Program) {
        // If the program was killed, there is nothing to restore.
        let _ = program.write(self.address, &self.bytes);
    }
}

/// Returns registers for a call.
fn arguments_of(words: &Words, at: Instructions, number: i64, arguments: [u64; 6]) -> Words {
    let mut words = *words;
    words[RIP] = at.system_call;
    words[RAX] = number.cast_unsigned();
    // Otherwise the kernel would begin the call again that was interrupted.
    words[ORIGINAL_RAX] = u64::MAX;
    for (place, argument) in ARGUMENTS.into_iter().zip(arguments) {
        words[place] = argument;
    }
    words
}

/// Lets a thread make the call that its registers have, and returns the result. A process that it
/// makes is stopped, and is killed if this thread ends.
fn until_result(thread: i32, made: &mut Option<i32>) -> io::Result<i64> {
    let mut is_inside = false;
    let mut tries = 0;
    ptrace::resume_to_system_call(thread, 0)?;
    loop {
        let mut signal = 0;
        match ptrace::wait(thread)? {
            Event::Ended => return Err(io::ErrorKind::NotFound.into()),
            Event::SystemCall if is_inside => {
                let result = ptrace::registers(thread)?[RAX].cast_signed();
                tries += 1;
                if result != AGAIN || tries > MOST_TRIES {
                    return Ok(result);
                }
                is_inside = false;
            }
            Event::SystemCall => is_inside = true,
            Event::Clone => {
                let process = ptrace::made(thread)?;
                // It stops before its first instruction.
                ptrace::wait(process)?;
                ptrace::set_options(
                    process,
                    libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD,
                )?;
                *made = Some(process);
            }
            Event::Signal(other) => signal = other,
            Event::Stopped | Event::Other => {}
        }
        ptrace::resume_to_system_call(thread, signal)?;
    }
}

/// Makes a copy close its files, so that those that the program closes are closed. Linux before 5.9
/// cannot; there they are open until the copy ends.
pub(crate) fn close_files(copy: i32, at: Instructions) -> io::Result<()> {
    let words = ptrace::registers(copy)?;
    let all = [0, u64::from(u32::MAX), 0, 0, 0, 0];
    let words = arguments_of(&words, at, libc::SYS_close_range, all);
    ptrace::set_registers(copy, &words)?;
    until_result(copy, &mut None).map(drop)
}
