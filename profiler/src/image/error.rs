//! The reasons why there is no snapshot of an image, and what to do.

use crate::units::Bytes;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The reason why an image cannot be read: one line, which begins with its path
/// or with the number of the process.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Read(io::Error),
    /// The process was not stopped or copied.
    Process(heapglass_freeze::Error),
    /// The memory of a process cannot be read.
    Memory(io::Error),
    /// The file is something else.
    NotACore,
    /// The name of the format, and the command that unpacks it.
    Compressed {
        format: &'static str,
        command: &'static str,
    },
    OtherMachine(u16),
    /// A part of the core that is in its headers is not what it should be.
    Damaged(&'static str),
    Truncated {
        missing_bytes: u64,
        all_bytes: u64,
    },
    /// No anonymous memory is in the core.
    Filtered,
    /// The file that stands for the executable is of another build.
    OtherBinary {
        binary: PathBuf,
        why: String,
    },
    Allocator(Why),
    TooManyBlocks,
}

/// The reason why the blocks of an allocator are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// There is no arena of glibc's malloc.
    NoArena,
    /// Another allocator is in the program.
    Other(&'static str),
    /// Memory of the heap is not in the image.
    Missing(Range<u64>),
    /// Something does not add up: a sentence.
    Contradiction(String),
}

impl Error {
    pub(super) fn new(path: &Path, kind: Kind) -> Error {
        let path = path.to_owned();
        Error { path, kind }
    }

    /// Returns `true` if the blocks may add up at another moment.
    pub(super) fn is_momentary(&self) -> bool {
        let is_momentary = |why: &Why| matches!(why, Why::Missing(_) | Why::Contradiction(_));
        matches!(&self.kind, Kind::Allocator(why) if is_momentary(why))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path}: ")?;
        match &self.kind {
            Kind::Read(error) => write!(f, "the core file cannot be read: {error}"),
            Kind::Process(error) => error.fmt(f),
            Kind::Memory(error) => write!(
                f,
                "its memory cannot be read: {error}; it may have been killed meanwhile"
            ),
            Kind::NotACore => f.write_str("the file is no core file"),
            Kind::Compressed { format, command } => write!(
                f,
                "the core file is compressed ({format}); unpack it first: {command}"
            ),
            Kind::OtherMachine(machine) => write!(
                f,
                "the core file is of another processor (ELF machine {machine}); only cores of x86-64 can be read"
            ),
            Kind::Damaged(what) => write!(f, "the core file is damaged: {what}"),
            Kind::Truncated {
                missing_bytes,
                all_bytes,
            } => write!(
                f,
                "the core file is truncated: {} of {} are missing; raise the limit that cut it (`ulimit -c unlimited`, or ProcessSizeMax and ExternalSizeMax in coredump.conf)",
                Bytes(*missing_bytes),
                Bytes(*all_bytes)
            ),
            Kind::Filtered => f.write_str(
                "the core file has no private memory of the program, so no heap; set bit 0 of /proc/PID/coredump_filter (the default is 0x33) before the next one is written",
            ),
            Kind::OtherBinary { binary, why } => write!(
                f,
                "{} is not the executable that ran: {why}",
                binary.display()
            ),
            Kind::Allocator(why) => why.fmt(f),
            Kind::TooManyBlocks => f.write_str(
                "the program has more blocks than a snapshot can hold (536 million)",
            ),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoArena => f.write_str(
                "no heap of glibc's malloc was found: the program has another allocator, or has not allocated; blocks of other allocators are not known without a recording",
            ),
            Why::Other(allocator) => write!(
                f,
                "the program's allocator is {allocator}, whose blocks are not known without a recording: record the program with `heapglass run`"
            ),
            Why::Missing(range) => write!(
                f,
                "memory of the heap is not there ({:#x} to {:#x}): the coredump_filter, MADV_DONTDUMP or MADV_DONTFORK left it out",
                range.start, range.end
            ),
            Why::Contradiction(what) => write!(
                f,
                "the blocks of glibc's malloc do not add up, so none are listed: {what}; the heap may be corrupted, or the program was inside malloc"
            ),
        }
    }
}

impl std::error::Error for Error {}
