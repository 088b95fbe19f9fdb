//! Makes a running program record itself: loads the library that records into it, and calls it.

pub use heapglass_freeze::{Answer, Error, Settings};

use crate::image::{maps, unwind, unwound};
use crate::snapshot::Memory;
use heapglass_freeze::{Caution, Registers, Walked};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// Loads the library into a process and starts a recording. With `is_forced`, also if a filter of
/// system calls may kill the program for it.
///
/// # Errors
/// Returns an error if the process must be left alone, cannot be traced, or has no thread that is
/// safe to use. It goes on as before.
pub fn attach(process: u32, settings: &Settings<'_>, is_forced: bool) -> Result<Answer, Error> {
    let stacks = Stacks::of(process);
    let walk = &|registers: &Registers| stacks.walk(registers);
    heapglass_freeze::attach(process, settings, Caution { is_forced, walk })
}

/// Finishes the recording of [`attach`].
///
/// # Errors
/// The same as for [`attach`]. Also if the library is not loaded.
pub fn detach(process: u32, is_forced: bool) -> Result<Answer, Error> {
    let stacks = Stacks::of(process);
    let walk = &|registers: &Registers| stacks.walk(registers);
    heapglass_freeze::detach(process, Caution { is_forced, walk })
}

/// The stacks of threads of a running program.
struct Stacks {
    process: u32,
    memory: Option<ProgramMemory>,
    rules: Mutex<unwind::KnownRules>,
}

struct ProgramMemory(File);

impl Memory for ProgramMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, address)
    }
}

impl Stacks {
    fn of(process: u32) -> Stacks {
        Stacks {
            process,
            // Without it, no stack is walked. Whoever attaches says why it cannot be opened.
            memory: File::open(format!("/proc/{process}/mem"))
                .ok()
                .map(ProgramMemory),
            rules: Mutex::default(),
        }
    }

    fn walk(&self, registers: &Registers) -> Walked {
        let maps = fs::read(format!("/proc/{}/maps", self.process)).unwrap_or_default();
        let Some(memory) = &self.memory else {
            return Walked::default();
        };
        let mappings = maps::parse(&String::from_utf8_lossy(&maps));
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let walked = unwind::walk(&mappings, memory, unwound(registers), &mut rules);
        Walked {
            code: walked.frames.iter().map(|frame| frame.lookup).collect(),
            is_complete: walked.is_complete,
            has_signal: walked.has_signal,
        }
    }
}
