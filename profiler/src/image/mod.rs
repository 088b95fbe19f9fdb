//! The memory of a program that nobody recorded: its blocks, its roots, and their types.
//!
//! An [`Image`] is the memory of a program at one moment, with its mappings, threads and files. A
//! core file is one, read by [`Image::of_core`], and so is a copy of a running process, made by
//! [`Image::of_process`]. [`Image::snapshot`] finds the blocks of the allocator in it and analyses
//! them like those of a recorded program. The blocks have no sites: nobody knows which code
//! allocated them.
//!
//! | module | what |
//! |---|---|
//! | `core` | reads core files |
//! | `process` | copies running processes, or stops them |
//! | `copied` | the memory of copies, also of those that recorded programs make |
//! | `elf` | program headers of loaded files |
//! | `files` | the files that are loaded |
//! | `glibc` | finds the blocks of glibc's malloc |
//! | `maps` | mappings, and what the headers of loaded files say |
//! | `roots` | the memory outside the heap that may point into it |
//! | `unwind` | the functions on the stack of each thread |
//! | `take` | makes a snapshot of all this |
//!
//! All that is read belongs to another process and may be anything: every size and list is bounded.
//! A wrong heap is worse than none, so what does not add up is an error.

pub(crate) mod copied;
mod core;
mod elf;
mod error;
mod files;
mod glibc;
pub(crate) mod maps;
mod process;
pub(crate) mod roots;
mod take;
#[cfg(test)]
mod tests;
pub(crate) mod unwind;

pub use error::Error;
pub use heapglass_freeze::{Way, end_all as end_copies};
pub use process::snapshot as snapshot_of_process;
pub use take::{Progress, Taken};

use crate::snapshot::Memory;
use files::LoadedFile;
use maps::Mapping;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The memory of a program at one moment.
pub struct Image {
    path: PathBuf,
    memory: Box<dyn Memory + Send>,
    /// In the order of their addresses; none overlap.
    mappings: Vec<Mapping>,
    threads: Vec<Thread>,
    /// The loaded files, the executable first.
    files: Vec<LoadedFile>,
    process: u32,
    /// The process whose memory this is: the program or its copy. `None` for a core.
    memory_process: Option<u32>,
    /// An allocator that is linked into the executable.
    other_allocator: Option<&'static str>,
    /// The time for which a running program was stopped. `None` for a core.
    pause: Option<Duration>,
    is_copy: bool,
    notes: Vec<String>,
}

/// A thread of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Thread {
    id: u32,
    /// It is empty if the image does not tell it.
    name: String,
    registers: Registers,
    /// The thread pointer (`fs_base` on x86-64).
    thread_pointer: u64,
}

/// The registers of a thread that unwinding needs, by their numbers in DWARF for x86-64: 7 is the
/// stack pointer, and 16 the program counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Registers([u64; 17]);

/// The place of each register in `user_regs_struct`, by its number in DWARF, and of `fs_base`.
const REGISTERS: [usize; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
const FS_BASE: usize = 21;

/// Returns the registers that unwinding needs, by their numbers in DWARF, from `user_regs_struct`
/// of x86-64.
pub(crate) fn unwound(words: &[u64; 27]) -> unwind::Registers {
    REGISTERS.map(|place| Some(words[place]))
}

impl Thread {
    /// Returns a thread with the registers that `user_regs_struct` of x86-64 has, in its order.
    fn new(id: u32, name: String, register: impl Fn(usize) -> u64) -> Thread {
        Thread {
            id,
            name,
            registers: Registers(REGISTERS.map(&register)),
            thread_pointer: register(FS_BASE),
        }
    }
}

/// The address at which the registers of the first thread are read as memory, and the distance to
/// those of the next one. It is in the kernel's half, where no program has memory.
const REGISTERS_AT: u64 = 0xffff_8000_0000_0000;
const REGISTERS_STEP: u64 = 256;

impl Registers {
    const BYTES: u64 = 17 * 8;

    fn stack_pointer(&self) -> u64 {
        self.0[7]
    }

    /// Returns where the registers of a thread are read as memory.
    fn range(thread: usize) -> Range<u64> {
        let start = REGISTERS_AT + thread as u64 * REGISTERS_STEP;
        start..start + Registers::BYTES
    }

    /// Reads some of them as memory at an offset.
    fn read(&self, offset: usize, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.map(u64::to_le_bytes).concat();
        let bytes = bytes
            .get(offset..)
            .and_then(|bytes| bytes.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Image {
    /// Opens a core file, as the kernel or `gcore` writes it. `binary` is the executable, if it is
    /// no longer at the path that the core names.
    ///
    /// # Errors
    /// Returns an error if the file is no core file of x86-64, if it is compressed or truncated, or
    /// if it lacks what a snapshot needs.
    pub fn of_core(path: &Path, binary: Option<&Path>) -> Result<Image, Error> {
        core::open(path, binary).map_err(|kind| Error::new(path, kind))
    }

    /// Copies a running process, or stops it while its memory is read. `binary` is a file with the
    /// executable's debug information, if that is elsewhere.
    ///
    /// # Errors
    /// Returns an error if the process must be left alone, or if its memory cannot be read.
    pub fn of_process(process: u32, way: Way, binary: Option<&Path>) -> Result<Image, Error> {
        process::take(process, way, binary)
    }

    /// Returns `true` if a file may be a core file, compressed or not.
    pub fn is_core(path: &Path) -> bool {
        core::may_be(path)
    }

    /// Returns the path of the executable in the program's file system. It is empty if it is not
    /// known.
    pub fn executable(&self) -> &str {
        self.files.first().map_or("", |file| &file.path)
    }

    /// Returns the process ID; 0 if it is not known.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns `true` if the memory is that of a running program's copy.
    pub fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// Returns the mappings of a running program, with the flags that tell which memory is the
    /// recorder's.
    pub(crate) fn mappings_with_flags(&self) -> Vec<Mapping> {
        let smaps = self
            .memory_process
            .and_then(|process| std::fs::read(format!("/proc/{process}/smaps")).ok());
        // A kernel may have no smaps. A program that goes on may have other mappings by now.
        let now = smaps.map(|text| maps::parse(&String::from_utf8_lossy(&text)));
        let now = now.unwrap_or_default();
        let mut mappings = self.mappings.clone();
        for mapping in &mut mappings {
            let flags = maps::at(&now, mapping.range.start);
            let flags = flags.filter(|now| now.range == mapping.range);
            mapping.is_recorders |= flags.is_some_and(|now| now.is_recorders);
        }
        mappings
    }

    /// Returns notes about how the memory was read.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the time for which a running program was stopped.
    pub(crate) fn pause(&self) -> Duration {
        self.pause.unwrap_or_default()
    }

    /// Returns the mapping that an address lies in.
    fn mapping(&self, address: u64) -> Option<&Mapping> {
        maps::at(&self.mappings, address)
    }

    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read(address, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

impl Memory for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let Some(offset) = address.checked_sub(REGISTERS_AT) else {
            return self.memory.read(address, buffer);
        };
        let thread = usize::try_from(offset / REGISTERS_STEP).ok();
        let thread = thread.and_then(|thread| self.threads.get(thread));
        let thread = thread.ok_or(io::ErrorKind::InvalidInput)?;
        thread
            .registers
            .read((offset % REGISTERS_STEP) as usize, buffer)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("path", &self.path)
            .field("mappings", &self.mappings.len())
            .field("threads", &self.threads.len())
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// Returns the number of four bytes at an offset of some bytes; 0 beyond them.
fn number_at(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    number.map_or(0, |number| u32::from_le_bytes(*number))
}

/// Returns the word at an offset of some bytes; 0 beyond them.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>);
    word.map_or(0, |word| u64::from_le_bytes(*word))
}
