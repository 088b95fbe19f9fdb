//! Memory, mappings and instructions of a process.

use crate::error::Error;
use crate::frame::{FS_BASE, Instructions, RIP, RSP};
use crate::ptrace::Words;
use crate::refusals::{self, Status};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// `syscall; ret`, and `mov $15, %rax; syscall`.
const SYSTEM_CALL: &[u8] = b"\x0f\x05\xc3";
const SIGRETURN: &[u8] = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
/// Bytes of code that are searched at a time, and of all mappings.
const WINDOW: u64 = 1 << 20;
const MOST_SEARCHED: u64 = 512 << 20;

/// The start of the name of the library's file.
pub(crate) const LIBRARY: &str = "libheapglass_preload";

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    range: Range<u64>,
    is_code: bool,
    /// It can be written, and belongs to the process alone.
    is_own: bool,
    /// The place in the file, and the device and inode of the file: 0 if there is none.
    offset: u64,
    file: (u64, u64),
    name: String,
}

/// A file with code in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadedFile {
    pub(crate) range: Range<u64>,
    file: (u64, u64),
    /// The file name, without its folder.
    pub(crate) name: String,
    has_code: bool,
}

impl LoadedFile {
    /// Returns `true` for glibc.
    pub(crate) fn is_libc(&self) -> bool {
        self.name == "libc.so.6" || self.name.starts_with("libc-2.")
    }

    /// Returns `true` for the loader of glibc.
    pub(crate) fn is_loader(&self) -> bool {
        self.name.starts_with("ld-linux") || self.name.starts_with("ld-2.")
    }

    /// Returns `true` for the file name of heapglass's library, as a file or as memory.
    pub(crate) fn is_ours(&self) -> bool {
        let name = self.name.strip_prefix("memfd:").unwrap_or(&self.name);
        name.starts_with(LIBRARY)
    }
}

impl Mapping {
    fn parse(line: &str) -> Option<Mapping> {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let mut fields = rest.splitn(5, ' ');
        let rights = fields.next()?.as_bytes();
        let offset = hex(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let inode = fields.next()?.parse().ok()?;
        let name = fields.next().unwrap_or_default();
        Some(Mapping {
            range: hex(start)?..hex(end)?,
            is_code: rights.first() == Some(&b'r') && rights.get(2) == Some(&b'x'),
            is_own: rights.starts_with(b"rw") && rights.get(3) == Some(&b'p'),
            offset,
            file: (hex(major)? << 32 | hex(minor)?, inode),
            name: name.trim_start().to_owned(),
        })
    }

    /// Returns the file name without its folder. A file that was replaced since is still loaded.
    fn file_name(&self) -> &str {
        let path = self.name.trim_end_matches(" (deleted)");
        path.rsplit('/').next().unwrap_or_default()
    }
}

/// A process that can be read and written.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) process: u32,
    memory: File,
    mappings: Vec<Mapping>,
}

impl Program {
    /// Opens the memory of a process, which the kernel allows to those who may trace it.
    pub(crate) fn open(process: u32, status: &Status) -> Result<Program, Error> {
        let refused = |error| refusals::forbidden(status, error);
        let path = format!("/proc/{process}/mem");
        let memory = File::options().read(true).write(true).open(path);
        let maps = fs::read(format!("/proc/{process}/maps")).map_err(refused)?;
        let mappings = String::from_utf8_lossy(&maps);
        Ok(Program {
            process,
            memory: memory.map_err(refused)?,
            mappings: mappings.lines().filter_map(Mapping::parse).collect(),
        })
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(bytes, address)
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Returns the end of the mapping of an address, or the address if there is none.
    pub(crate) fn end_of_mapping(&self, address: u64) -> u64 {
        let mut mappings = self.mappings.iter();
        let found = mappings.find(|of| of.range.contains(&address));
        found.map_or(address, |of| of.range.end)
    }

    /// Returns the files that are loaded as code. One that is only mapped to be read, as debuggers
    /// do, is none, whatever its name. Two files with the same name are two.
    pub(crate) fn loaded(&self) -> Vec<LoadedFile> {
        let mut all: Vec<LoadedFile> = Vec::new();
        for mapping in self.mappings.iter().filter(|of| of.file.1 != 0) {
            let last = all.last_mut().filter(|last| last.file == mapping.file);
            match last {
                Some(last) if mapping.offset != 0 => {
                    last.range.end = mapping.range.end;
                    last.has_code |= mapping.is_code;
                }
                _ => all.push(LoadedFile {
                    range: mapping.range.clone(),
                    file: mapping.file,
                    name: mapping.file_name().to_owned(),
                    has_code: mapping.is_code,
                }),
            }
        }
        all.retain(|file| file.has_code);
        all
    }

    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Finds the instructions with which a thread can be made to call the kernel and to go on.
    pub(crate) fn instructions(&self) -> Option<Instructions> {
        let code = self.mappings.iter().filter(|mapping| mapping.is_code);
        let code: Vec<&Mapping> = code.filter(|of| of.name != "[vsyscall]").collect();
        let is_libc = |of: &&&Mapping| of.name.contains("libc");
        let (first, rest): (Vec<&Mapping>, Vec<&Mapping>) =
            code.iter().partition(|mapping| is_libc(mapping));
        let mut left = MOST_SEARCHED;
        let mut found = Instructions::default();
        let mut buffer = Vec::new();
        for mapping in first.into_iter().chain(rest) {
            let starts = mapping.range.clone().step_by(WINDOW as usize);
            for start in starts {
                let end = mapping
                    .range
                    .end
                    .min(start + WINDOW + SIGRETURN.len() as u64);
                left = left.saturating_sub(end - start);
                buffer.resize((end - start) as usize, 0);
                if left == 0 || self.read(start, &mut buffer).is_err() {
                    break;
                }
                let find = |code: &[u8]| {
                    let mut windows = buffer.windows(code.len());
                    windows.position(|bytes| bytes == code)
                };
                for (place, code) in [
                    (&mut found.system_call, SYSTEM_CALL),
                    (&mut found.sigreturn, SIGRETURN),
                ] {
                    if *place == 0 {
                        *place = find(code).map_or(0, |at| start + at as u64);
                    }
                }
                if found.system_call != 0 && found.sigreturn != 0 {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Returns the memory below the stack pointer of a thread that is part of a stack which the
    /// kernel or libc made for it. It is empty if that is not sure.
    ///
    /// libc puts the description of a thread, to which its thread pointer leads, at the end of the
    /// stack that it maps for it. Its first word is its own address. Other runtimes (Go) have their
    /// stacks between other memory.
    pub(crate) fn stack_below(&self, words: &Words) -> Range<u64> {
        let pointer = words[RSP];
        let mut own = self.mappings.iter().filter(|mapping| mapping.is_own);
        let stack = own.find(|mapping| mapping.range.contains(&pointer));
        let thread = words[FS_BASE];
        let is_stack = |of: &&Mapping| {
            of.name == "[stack]"
                || of.name.is_empty()
                    && (pointer..of.range.end).contains(&thread)
                    && self.word(thread) == Some(thread)
        };
        stack
            .filter(is_stack)
            .map_or(0..0, |of| of.range.start..pointer)
    }

    /// Returns `true` if a thread may be inside a restartable sequence. `description` is the
    /// address of its `struct rseq`, or 0.
    pub(crate) fn is_in_sequence(&self, words: &Words, description: u64) -> bool {
        if description == 0 {
            return false;
        }
        let Some(sequence) = self.word(description + 8) else {
            return true;
        };
        if sequence == 0 {
            return false;
        }
        let start = self.word(sequence.wrapping_add(8));
        let bytes = self.word(sequence.wrapping_add(16));
        let (Some(start), Some(bytes)) = (start, bytes) else {
            return true;
        };
        words[RIP].wrapping_sub(start) < bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(line: &str) -> Mapping {
        Mapping::parse(line).expect("a mapping")
    }

    #[test]
    fn a_file_is_loaded_if_it_has_code_and_names_alone_do_not_tell() {
        let program = Program {
            process: 1,
            memory: tempfile::tempfile().expect("a file"),
            mappings: vec![
                // Somebody reads the file of another libc.
                mapping("1000-9000 r--p 00000000 08:01 4 /other/libc.so.6"),
                mapping("10000-11000 r--p 00000000 08:01 5                  /lib/libc.so.6"),
                mapping("11000-13000 r-xp 00001000 08:01 5                  /lib/libc.so.6"),
                mapping("13000-14000 rw-p 00003000 08:01 5                  /lib/libc.so.6"),
                mapping("14000-15000 rw-p 00000000 00:00 0 "),
                mapping("20000-21000 r-xp 00000000 00:01 6 /memfd:libx.so (deleted)"),
                mapping("30000-31000 r-xp 00000000 00:00 0                  [vdso]"),
            ],
        };
        let loaded = program.loaded();
        let found = loaded.iter().map(|of| (of.name.as_str(), of.range.clone()));
        let expected = [
            ("libc.so.6", 0x10000..0x14000),
            ("memfd:libx.so", 0x20000..0x21000),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_stacks_of_the_kernel_and_of_libc_have_room() {
        let memory = tempfile::tempfile().expect("a file");
        for thread in [0x1ff00, 0x3ff00, 0x5ff00_u64] {
            let is_written = memory.write_all_at(&thread.to_le_bytes(), thread);
            is_written.expect("written");
        }
        let program = Program {
            process: 1,
            memory,
            mappings: vec![
                mapping("1000-2000 r-xp 00000000 08:01 5 /lib/libc.so.6"),
                mapping("10000-20000 rw-p 00000000 00:00 0 [heap]"),
                mapping("30000-40000 rw-p 00000000 00:00 0"),
                mapping("50000-60000 rw-s 00000000 00:01 7 /dev/shm/x"),
                mapping("70000-80000 rw-p 00000000 00:00 0          [stack]"),
            ],
        };
        assert!(program.mappings[0].is_code && !program.mappings[0].is_own);
        let below = |pointer, thread| {
            let mut words = [0; crate::ptrace::REGISTERS];
            (words[RSP], words[FS_BASE]) = (pointer, thread);
            program.stack_below(&words)
        };
        assert_eq!(below(0x7f000, 0), 0x70000..0x7f000);
        assert_eq!(below(0x38000, 0x3ff00), 0x30000..0x38000);
        // A coroutine's stack, somewhere in the heap or in a mapping of its own.
        for (pointer, thread) in [
            (0x18000, 0x3ff00),
            (0x18000, 0x1ff00),
            (0x38000, 0x7f000),
            (0x38000, 0x3fe00),
            (0x38000, 0x37000),
            (0x58000, 0x5ff00),
            (0x90000, 0),
        ] {
            assert!(below(pointer, thread).is_empty(), "{pointer:x}");
        }
    }
}
