//! The paused copy of a program: its memory, and its end.

use super::error::Kind;
use crate::image::copied::CopyMemory;
use crate::image::maps::{self, Mapping};
use crate::image::roots::Thread;
use crate::image::unwind;
use crate::snapshot::Memory;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io;
use std::time::Duration;
use tracking_alloc_recording::{CopyRegisters, ExchangeValue};

/// The looks whether a copy has come to its last system call, and the time between two of them.
const MOST_LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(1);

/// A copy that was found to be one. It is ended as soon as this is dropped.
#[derive(Debug)]
pub(super) struct Copy {
    process: u32,
    memory: CopyMemory<Handle>,
}

/// The handle of a copy, which is ended when this is dropped.
#[derive(Debug)]
struct Handle(OwnedFd);

impl Drop for Handle {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}

impl Copy {
    /// Opens the copy that an answer names. `program` is the program's process, and `recording` the
    /// inode of its recording.
    pub(super) fn open(answer: &ExchangeValue, program: u32, recording: u64) -> Result<Copy, Kind> {
        let process = answer.copy;
        let not_a_copy = || Kind::NotACopy(process);
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(not_a_copy)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| not_a_copy())?;
        // From here on the number cannot pass to another process unnoticed: the handle is of the
        // process that had it before these questions.
        if process == program || process == std::process::id() {
            return Err(not_a_copy());
        }
        let path = |file: &str| format!("/proc/{process}/{file}");
        let is_child = fs::read_to_string(path("stat"))
            .is_ok_and(|stat| parent_and_threads(&stat) == Some((program, 1)));
        let memory = File::open(path("mem"));
        if !is_child && !maps_recording(&path("maps"), recording) {
            return Err(match memory {
                // Without rights, nothing can be told of it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => forbidden(error),
                _ => not_a_copy(),
            });
        }
        // It is a copy, so from here on it is ended, whatever comes.
        let handle = Handle(handle);
        let memory = memory.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => forbidden(error),
            io::ErrorKind::NotFound => not_a_copy(),
            _ => Kind::Memory(error),
        })?;
        Ok(Copy {
            process,
            memory: CopyMemory::new(process, memory, handle),
        })
    }

    /// Returns the memory, which ends the copy when its contents were read.
    pub(super) fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    /// Returns the mappings.
    pub(super) fn mappings(&self) -> io::Result<Vec<Mapping>> {
        let text = |file| fs::read(format!("/proc/{}/{file}", self.process));
        // A kernel may have no smaps.
        let text = text("smaps").or_else(|_| text("maps"))?;
        Ok(maps::parse(&String::from_utf8_lossy(&text)))
    }

    /// Returns the system call that the copy waits in. Waits until it does, for a short time.
    pub(super) fn waits(&self) -> Option<Waits> {
        let path = format!("/proc/{}/syscall", self.process);
        let look = || Waits::parse(&fs::read_to_string(&path).ok()?);
        for _ in 0..MOST_LOOKS {
            let waits = look();
            if waits.is_some_and(|waits| waits.words(&self.memory).is_some()) {
                return waits;
            }
            std::thread::sleep(LOOK);
        }
        look()
    }
}

/// The system call in which a copy waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) stack_pointer: u64,
    /// The address of [`CopyRegisters`], once the copy has come to its last call.
    last_argument: Option<u64>,
}

impl Waits {
    /// Parses a line of `/proc/PID/syscall`: the number, six arguments, the stack pointer and the
    /// program counter.
    fn parse(text: &str) -> Option<Waits> {
        let mut words = text.split_ascii_whitespace().rev();
        let mut next = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let _program_counter = next()?;
        Some(Waits {
            stack_pointer: next()?,
            last_argument: next(),
        })
    }

    /// Returns the words of [`CopyRegisters`] behind the first one.
    fn words(&self, memory: &dyn Memory) -> Option<[u64; CopyRegisters::AMD64.len()]> {
        let mut bytes = [0; 8 * (1 + CopyRegisters::AMD64.len())];
        memory.read(self.last_argument?, &mut bytes).ok()?;
        let (words, _) = bytes.as_chunks::<8>();
        let (magic, values) = words.split_first()?;
        let is_there = u64::from_le_bytes(*magic) == CopyRegisters::MAGIC;
        let values: &[[u8; 8]; CopyRegisters::AMD64.len()] = values.try_into().ok()?;
        is_there.then(|| values.map(u64::from_le_bytes))
    }

    /// Returns the registers of the thread that made the copy. Returns `None` if they are not where
    /// they should be: below the functions of the program on the stack of a thread.
    pub(super) fn registers(
        &self,
        memory: &dyn Memory,
        threads: &[Thread],
    ) -> Option<unwind::Registers> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        let mut registers = unwind::Registers::default();
        for (number, value) in CopyRegisters::AMD64.iter().zip(self.words(memory)?) {
            registers[*number] = Some(value);
        }
        let pointer = registers[unwind::STACK_POINTER]?;
        let mut stacks = threads.iter().map(|thread| &thread.stack);
        let is_there = self.stack_pointer <= pointer
            && stacks.any(|of| of.contains(&self.stack_pointer) && of.contains(&pointer));
        is_there.then_some(registers)
    }
}

fn forbidden(error: io::Error) -> Kind {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let yama = scope.ok().and_then(|scope| scope.trim().parse().ok());
    Kind::Forbidden {
        yama: yama.unwrap_or(0),
        error,
    }
}

/// Returns the parent of a process.
pub(super) fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(parent_and_threads(&stat)?.0)
}

/// Returns the parent and the number of threads in the text of `/proc/PID/stat`.
fn parent_and_threads(stat: &str) -> Option<(u32, u32)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let parent = fields.nth(1)?.parse().ok()?;
    let threads = fields.nth(15)?.parse().ok()?;
    Some((parent, threads))
}

/// Returns `true` if a process has the recording mapped. A program that has ended is the parent of
/// nobody, and its copy still has.
fn maps_recording(maps: &str, inode: u64) -> bool {
    let text = fs::read(maps).unwrap_or_default();
    let mappings = maps::parse(&String::from_utf8_lossy(&text));
    let mut shared = mappings.iter().filter(|mapping| !mapping.is_private);
    shared.any(|mapping| mapping.inode == inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_and_threads_are_found_behind_any_name() {
        let own = fs::read_to_string("/proc/self/stat").expect("a line");
        let (parent, threads) = parent_and_threads(&own).expect("both");
        assert_eq!(parent, std::os::unix::process::parent_id());
        assert!(threads >= 1);
        assert_eq!(parent_and_threads("1 (a) b) S 7 "), None);
    }

    /// Memory in which words begin at an address.
    struct Words(u64, Vec<u64>);

    impl Memory for Words {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            let bytes: Vec<u8> = self.1.iter().flat_map(|word| word.to_le_bytes()).collect();
            let from = address.checked_sub(self.0).map(|from| from as usize);
            let from = from.and_then(|from| bytes.get(from..from + buffer.len()));
            buffer.copy_from_slice(from.ok_or(io::ErrorKind::NotFound)?);
            Ok(())
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn registers_count_only_on_the_stack_of_a_thread() {
        let line = "271 0x7f30 0x1 0x7f40 0x0 0x8 0x7e00 0x7d00 0x401000\n";
        let waits = Waits::parse(line).expect("a call");
        let last_argument = Some(0x7e00);
        assert_eq!(
            (waits.stack_pointer, waits.last_argument),
            (0x7d00, last_argument)
        );
        let elsewhere = Waits::parse("-1 0x7d00 0x401000\n").expect("a stack pointer");
        assert_eq!(
            (elsewhere.stack_pointer, elsewhere.last_argument),
            (0x7d00, None)
        );
        assert_eq!(Waits::parse("running\n"), None);
        let thread = Thread {
            stack: 0x7000..0x8000,
            ..Thread::default()
        };
        let registers = |magic, pointer| {
            let words = vec![magic, 1, 2, 3, 4, 5, 6, pointer, 0x40_2000];
            waits.registers(&Words(0x7e00, words), std::slice::from_ref(&thread))
        };
        let known = registers(CopyRegisters::MAGIC, 0x7e80).expect("registers");
        assert_eq!((known[3], known[6], known[15]), (Some(1), Some(2), Some(6)));
        assert_eq!((known[7], known[16]), (Some(0x7e80), Some(0x40_2000)));
        assert_eq!(known[0], None);
        // Another stack, other functions, other memory.
        for (magic, pointer) in [
            (CopyRegisters::MAGIC, 0x8000),
            (CopyRegisters::MAGIC, 0x7c00),
            (0, 0x7e80),
        ] {
            assert_eq!(registers(magic, pointer), None);
        }
        let nothing = Words(0, Vec::new());
        assert_eq!(waits.registers(&nothing, &[thread]), None);
    }

    #[test]
    fn a_process_that_is_no_copy_is_left_alone() {
        let mut other = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .expect("it starts");
        for process in [other.id(), std::process::id(), 0, u32::MAX, 1] {
            let answer = ExchangeValue {
                copy: process,
                ..ExchangeValue::default()
            };
            assert!(Copy::open(&answer, 1, 1).is_err(), "{process}");
        }
        assert!(other.try_wait().expect("asked").is_none());
        let _ = other.kill();
        let _ = other.wait();
    }
}
