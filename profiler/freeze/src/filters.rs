//! Filters of system calls (seccomp) of a process: which of the calls that a recording or its end
//! needs would kill the program, or fail.
//!
//! Each container of Docker has a filter, so to have one is no reason to refuse. The kernel tells
//! administrators the code of the filters, which is run here for each call.

use crate::PATIENCE;
use crate::error::Error;
use crate::program::Program;
use crate::ptrace;
use crate::refusals::Status;
use crate::threads::{self, Stopped};
use std::io;
use std::time::Instant;

/// An instruction: its code, both distances of a jump, and a value.
type Instruction = [u8; 8];

/// The most filters that a thread is asked for.
const MOST_FILTERS: usize = 1024;

/// The fate of a call, in the order of the numbers of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// The process is killed, or gets a signal that usually kills it.
    Kills,
    /// The call fails, or somebody else decides.
    Refuses,
    Allows,
}

impl Action {
    fn of(value: u32) -> Action {
        const ALLOW: u32 = 0x7fff_0000;
        const LOG: u32 = 0x7ffc_0000;
        const TRACE: u32 = 0x7ff0_0000;
        const ASK: u32 = 0x7fc0_0000;
        const ERROR: u32 = 0x0005_0000;
        match value & 0xffff_0000 {
            ALLOW | LOG => Action::Allows,
            TRACE | ASK | ERROR => Action::Refuses,
            _ => Action::Kills,
        }
    }
}

/// The purpose for which a program is made to call functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A recording begins. `needs_memory` if the library is loaded from memory.
    Attach { needs_memory: bool },
    /// A recording is finished.
    Detach,
}

impl Purpose {
    /// Returns the calls that are made, with the arguments that filters look at.
    fn calls(self) -> Vec<Call> {
        match self {
            Purpose::Attach { needs_memory } => calls_of_recording(needs_memory),
            Purpose::Detach => calls_of_end(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Purpose::Attach { .. } => "a recording",
            Purpose::Detach => "detach",
        }
    }

    fn forbidden(self, why: String) -> Error {
        match self {
            Purpose::Attach { .. } => Error::Sandboxed(why),
            Purpose::Detach => Error::StaysAttached(why),
        }
    }

    fn unknown(self, error: io::Error) -> Error {
        let calls = match self {
            Purpose::Attach { .. } => "memfd_create, mmap, mprotect, openat, fallocate and madvise",
            Purpose::Detach => {
                "mmap, munmap, ppoll, membarrier, mprotect, madvise, and openat for reading"
            }
        };
        Error::UnknownFilter { calls, error }
    }
}

/// A system call that the program is made to make.
struct Call {
    name: &'static str,
    number: i64,
    arguments: [u64; 6],
    /// The purpose is missed if it fails. Otherwise it may fail, but must not kill.
    is_needed: bool,
}

const CODE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
const DATA: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const NONE: u64 = libc::PROT_NONE as u64;
const READ_ONLY: u64 = libc::PROT_READ as u64;
const OWN: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
const READ: u64 = libc::O_CLOEXEC as u64;
const HERE: u64 = libc::AT_FDCWD as u64;

macro_rules! calls {
    ($is_needed:literal: $($name:ident($($argument:expr),*);)*) => {
        [$({
            let mut arguments = [0; 6];
            let given: &[u64] = &[$($argument),*];
            arguments[..given.len()].copy_from_slice(given);
            Call {
                name: stringify!($name),
                number: numbers::$name,
                arguments,
                is_needed: $is_needed,
            }
        }),*]
    };
}

/// Returns the calls of the loader and of the recorder.
fn calls_of_recording(needs_memory: bool) -> Vec<Call> {
    // A part of a library, as the loader maps it.
    const SEGMENT: u64 = (libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_DENYWRITE) as u64;
    const OPEN: u64 = (libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC) as u64;
    let needed = calls! { true:
        mmap(0, 4096, CODE, OWN, u64::MAX);
        mmap(0, 4096, CODE, libc::MAP_PRIVATE as u64, 3);
        mmap(0, 4096, DATA, OWN, u64::MAX);
        mmap(0, 4096, DATA, libc::MAP_SHARED as u64, 3);
        mmap(0, 4096, NONE, OWN, u64::MAX);
        mmap(4096, 4096, READ_ONLY, SEGMENT, 3);
        mmap(4096, 4096, CODE, SEGMENT, 3);
        mmap(4096, 4096, DATA, SEGMENT, 3);
        mmap(4096, 4096, DATA, OWN | libc::MAP_FIXED as u64, u64::MAX);
        mmap(0, 4096, DATA, OWN | libc::MAP_NORESERVE as u64, u64::MAX);
        munmap(0, 4096);
        mprotect(0, 4096, DATA);
        mprotect(0, 4096, READ_ONLY);
        openat(HERE, 0, READ);
        openat(HERE, 0, OPEN, 0o600);
        read(3);
        pread64(3);
        newfstatat(3);
        close(3);
        madvise(0, 4096, libc::MADV_WIPEONFORK as u64);
        rt_sigprocmask();
        rt_sigreturn();
        ppoll();
        fallocate(3);
    };
    let others = calls! { false:
        madvise(0, 4096, libc::MADV_DONTDUMP as u64);
        madvise(0, 4096, libc::MADV_NOHUGEPAGE as u64);
        madvise(0, 4096, libc::MADV_DONTNEED as u64);
        madvise(0, 4096, libc::MADV_POPULATE_WRITE as u64);
        mmap(0, 4096, READ_ONLY, libc::MAP_PRIVATE as u64, 3);
        mmap(0, 4096, NONE, OWN | libc::MAP_NORESERVE as u64, u64::MAX);
        mprotect(0, 4096, NONE);
        openat(HERE, 0, (libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC) as u64);
        mkdirat(HERE);
        symlinkat();
        fstat(3);
        brk();
        futex();
        sched_yield();
        clock_gettime();
        getpid();
        gettid();
        getcwd();
        prctl(libc::PR_GET_NAME as u64);
        prctl(libc::PR_GET_DUMPABLE as u64);
        prctl(libc::PR_GET_SECCOMP as u64);
        prctl(libc::PR_GET_NO_NEW_PRIVS as u64);
        prlimit64();
        readlinkat(HERE);
        fstatfs(3);
        ftruncate(3);
        pwrite64(3);
        renameat2();
        linkat();
        unlinkat();
        membarrier();
        process_vm_readv();
        sched_getaffinity();
        rt_sigaction();
        write(2);
    };
    let memory = calls! { true: memfd_create(0, libc::MFD_CLOEXEC.into()); };
    let memory = memory.into_iter().filter(|_| needs_memory);
    needed.into_iter().chain(others).chain(memory).collect()
}

/// Returns the calls that finish a recording, and direct the calls of the program back. The file
/// may grow once more. The recording and the program are right without what a filter refuses of
/// that.
fn calls_of_end() -> Vec<Call> {
    let needed = calls! { true:
        mmap(0, 4096, CODE, OWN, u64::MAX);
        mmap(0, 4096, DATA, OWN, u64::MAX);
        munmap(0, 4096);
        ppoll();
        rt_sigreturn();
    };
    let others = calls! { false:
        rt_sigprocmask();
        futex();
        sched_yield();
        clock_gettime();
        getpid();
        gettid();
        membarrier();
        openat(HERE, 0, READ);
        pread64(3);
        close(3);
        mprotect(0, 4096, DATA);
        mprotect(0, 4096, READ_ONLY);
        madvise(0, 4096, libc::MADV_POPULATE_WRITE as u64);
        openat(HERE, 0, (libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC) as u64);
        newfstatat(3);
        prlimit64();
        fallocate(3);
        mmap(0, 4096, DATA, libc::MAP_SHARED as u64, 3);
    };
    needed.into_iter().chain(others).collect()
}

/// The numbers of the calls, by their names.
#[expect(non_upper_case_globals, reason = "named for the calls")]
mod numbers {
    macro_rules! numbers {
        ($($name:ident $number:ident)*) => {
            $(pub(super) const $name: i64 = libc::$number;)*
        };
    }
    numbers! {
        mmap SYS_mmap munmap SYS_munmap mprotect SYS_mprotect openat SYS_openat read SYS_read
        pread64 SYS_pread64 newfstatat SYS_newfstatat close SYS_close madvise SYS_madvise
        rt_sigprocmask SYS_rt_sigprocmask rt_sigreturn SYS_rt_sigreturn ppoll SYS_ppoll
        fallocate SYS_fallocate memfd_create SYS_memfd_create brk SYS_brk futex SYS_futex
        sched_yield SYS_sched_yield clock_gettime SYS_clock_gettime getpid SYS_getpid
        gettid SYS_gettid getcwd SYS_getcwd prctl SYS_prctl prlimit64 SYS_prlimit64
        readlinkat SYS_readlinkat fstatfs SYS_fstatfs ftruncate SYS_ftruncate
        pwrite64 SYS_pwrite64 renameat2 SYS_renameat2 linkat SYS_linkat unlinkat SYS_unlinkat
        membarrier SYS_membarrier process_vm_readv SYS_process_vm_readv
        sched_getaffinity SYS_sched_getaffinity mkdirat SYS_mkdirat symlinkat SYS_symlinkat
        fstat SYS_fstat rt_sigaction SYS_rt_sigaction write SYS_write
    }
}

/// Checks that no thread of a process has a filter that forbids what is needed: each thread has
/// filters of its own, and each will record. `is_forced` if filters do not matter.
pub(crate) fn check(
    program: &Program,
    status: &Status,
    is_forced: bool,
    purpose: Purpose,
) -> Result<(), Error> {
    let calls = purpose.calls();
    let mut known: Vec<Vec<Instruction>> = Vec::new();
    for id in threads::ids(program.process)? {
        // An error means that it has ended.
        let Ok(of_thread) = Status::of(program.process, id.cast_unsigned()) else {
            continue;
        };
        if let Some(why) = of_thread.forbids_calls(true) {
            return Err(purpose.forbidden(why.to_owned()));
        }
        if is_forced || !of_thread.has_filter() {
            continue;
        }
        if of_thread.is_strict() {
            let why = "it may make four system calls only (strict seccomp)";
            return Err(purpose.forbidden(why.to_owned()));
        }
        let end = Instant::now() + PATIENCE;
        let Some(stopped) = Stopped::one(id, program, status, end)? else {
            continue;
        };
        let filters = filters_of(id);
        drop(stopped);
        for filter in filters.map_err(|error| purpose.unknown(error))? {
            // Usually all threads have the same ones.
            if !known.contains(&filter) {
                examine(&filter, &calls, purpose)?;
                known.push(filter);
            }
        }
    }
    Ok(())
}

/// Reads the filters of a thread that is stopped.
fn filters_of(thread: i32) -> io::Result<Vec<Vec<Instruction>>> {
    let mut filters = Vec::new();
    for number in 0..MOST_FILTERS {
        match ptrace::filter(thread, number)? {
            Some(filter) => filters.push(filter),
            None => return Ok(filters),
        }
    }
    Err(io::ErrorKind::QuotaExceeded.into())
}

fn examine(filter: &[Instruction], calls: &[Call], purpose: Purpose) -> Result<(), Error> {
    let needs_it = format!("which {} needs", purpose.name());
    for call in calls {
        let name = call.name;
        let action = run(filter, &data(call.number, &call.arguments)).map(Action::of);
        let why = match action {
            Some(Action::Allows) => continue,
            Some(Action::Refuses) if !call.is_needed => continue,
            Some(Action::Refuses) => {
                format!("its filter of system calls (seccomp) refuses {name}, {needs_it}")
            }
            Some(Action::Kills) => {
                format!("its filter of system calls (seccomp) would kill it for {name}, {needs_it}")
            }
            None => format!(
                "nobody can tell whether its filter of system calls (seccomp) would kill it for {name}, {needs_it}"
            ),
        };
        return Err(purpose.forbidden(why));
    }
    Ok(())
}

/// Bytes of what a filter sees: the number, the machine, the instruction pointer, six arguments.
const DATA_BYTES: usize = 64;
const MACHINE: u32 = 0xc000_003e;

fn data(number: i64, arguments: &[u64; 6]) -> [u8; DATA_BYTES] {
    let mut data = [0; DATA_BYTES];
    data[..4].copy_from_slice(&(number as u32).to_le_bytes());
    data[4..8].copy_from_slice(&MACHINE.to_le_bytes());
    for (place, argument) in data[16..].chunks_mut(8).zip(arguments) {
        place.copy_from_slice(&argument.to_le_bytes());
    }
    data
}

/// Runs a filter. Returns its result, or `None` if it cannot be told.
fn run(filter: &[Instruction], data: &[u8; DATA_BYTES]) -> Option<u32> {
    let (mut value, mut index, mut memory) = (0_u32, 0_u32, [0_u32; 16]);
    let mut at = 0;
    loop {
        let [low, high, yes, no, constant @ ..] = *filter.get(at)?;
        let constant = u32::from_le_bytes(constant);
        let code = u16::from_le_bytes([low, high]);
        at += 1;
        let operand = if code & 8 == 0 { constant } else { index };
        match code & 7 {
            // Loads into the value, and into the index.
            kind @ (0 | 1) => {
                let loaded = match code & 0xe0 {
                    0x00 => constant,
                    0x20 => u32::from_le_bytes(*data.get(constant as usize..)?.first_chunk()?),
                    0x60 => *memory.get(constant as usize)?,
                    0x80 => DATA_BYTES as u32,
                    _ => return None,
                };
                *(if kind == 0 { &mut value } else { &mut index }) = loaded;
            }
            2 => *memory.get_mut(constant as usize)? = value,
            3 => *memory.get_mut(constant as usize)? = index,
            4 => value = compute(code & 0xf0, value, operand)?,
            5 if code & 0xf0 == 0 => at = at.checked_add(constant as usize)?,
            5 => {
                let is_so = match code & 0xf0 {
                    0x10 => value == operand,
                    0x20 => value > operand,
                    0x30 => value >= operand,
                    0x40 => value & operand != 0,
                    _ => return None,
                };
                at += usize::from(if is_so { yes } else { no });
            }
            6 if code & 0x18 == 0 => return Some(constant),
            6 => return Some(value),
            // Copies between the value and the index.
            _ if code & 0xf8 == 0 => index = value,
            _ => value = index,
        }
    }
}

fn compute(operation: u16, value: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        0x00 => value.wrapping_add(operand),
        0x10 => value.wrapping_sub(operand),
        0x20 => value.wrapping_mul(operand),
        // The kernel ends a filter that divides by zero with 0, which kills.
        0x30 => value.checked_div(operand)?,
        0x40 => value | operand,
        0x50 => value & operand,
        // By 32 or more it cannot be told, because kernels differ.
        0x60 => value.checked_shl(operand)?,
        0x70 => value.checked_shr(operand)?,
        0x80 => value.wrapping_neg(),
        0x90 => value.checked_rem(operand)?,
        0xa0 => value ^ operand,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: u16, yes: u8, no: u8, constant: u32) -> Instruction {
        let [low, high] = code.to_le_bytes();
        let [a, b, c, d] = constant.to_le_bytes();
        [low, high, yes, no, a, b, c, d]
    }

    const LOAD: u16 = 0x20;
    const IS: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;

    /// A filter that does something for one call, if a word of its data has a value.
    fn filter(number: i64, word: u32, has: u32, does: u32) -> Vec<Instruction> {
        vec![
            code(LOAD, 0, 0, 0),
            code(IS, 0, 3, number as u32),
            code(LOAD, 0, 0, word),
            code(IS, 0, 1, has),
            code(RETURN, 0, 0, does),
            code(RETURN, 0, 0, ALLOW),
        ]
    }

    #[test]
    fn a_filter_is_run_for_each_call_with_its_arguments() {
        let of =
            |filter: &[Instruction], purpose: Purpose| examine(filter, &purpose.calls(), purpose);
        let attach = |needs_memory| Purpose::Attach { needs_memory };
        let examined = |filter: &[Instruction]| of(filter, attach(false));
        let says = |filter: &[Instruction]| examined(filter).expect_err("a refusal").to_string();
        assert!(examined(&[code(RETURN, 0, 0, ALLOW)]).is_ok());
        // Calls that are not made.
        assert!(examined(&filter(libc::SYS_fork, 0, libc::SYS_fork as u32, 0)).is_ok());
        let memory = libc::SYS_memfd_create;
        assert!(examined(&filter(memory, 0, memory as u32, 0)).is_ok());
        let with_memory = of(&filter(memory, 0, memory as u32, 0), attach(true));
        assert!(with_memory.is_err());
        // Code in memory of its own: the third argument is at 32.
        let rights = (libc::PROT_READ | libc::PROT_EXEC) as u32;
        let text = says(&filter(libc::SYS_mmap, 32, rights, 0x8000_0000));
        assert!(text.contains("would kill it for mmap"), "{text}");
        assert!(examined(&filter(libc::SYS_mmap, 32, 7, 0x8000_0000)).is_ok());
        // One that fails, and one that may fail.
        let error = 0x0005_0001;
        let open = libc::SYS_openat;
        let text = says(&filter(open, 0, open as u32, error));
        assert!(text.contains("refuses openat"), "{text}");
        let barrier = libc::SYS_membarrier;
        assert!(examined(&filter(barrier, 0, barrier as u32, error)).is_ok());
        assert!(examined(&filter(barrier, 0, barrier as u32, 0x0003_0000)).is_err());
        // One that ends without a result.
        let text = says(&[code(LOAD, 0, 0, 0)]);
        assert!(text.contains("nobody can tell"), "{text}");
        assert!(examined(&[code(LOAD, 0, 0, 200), code(RETURN, 0, 0, ALLOW)]).is_err());
    }

    #[test]
    fn a_program_that_forbids_itself_to_open_files_can_still_be_detached_from() {
        let purpose = Purpose::Detach;
        let examined = |filter: &[Instruction]| examine(filter, &purpose.calls(), purpose);
        let for_call = |number: i64, does| filter(number, 0, number as u32, does);
        let (error, kills) = (0x0005_0001, 0x8000_0000);
        for refused in [libc::SYS_openat, libc::SYS_fallocate, libc::SYS_mprotect] {
            assert!(examined(&for_call(refused, error)).is_ok(), "{refused}");
            assert!(examined(&for_call(refused, kills)).is_err(), "{refused}");
        }
        // Only the loader makes these, and what begins a recording.
        for killing in [libc::SYS_read, libc::SYS_renameat2, libc::SYS_memfd_create] {
            assert!(examined(&for_call(killing, kills)).is_ok(), "{killing}");
        }
        let refused = examined(&for_call(libc::SYS_mmap, error));
        let text = refused.expect_err("a refusal").to_string();
        let says = "refuses mmap, which detach needs; nothing was done; the recording goes on";
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn each_way_in_which_the_loader_and_the_recorder_use_a_call_is_examined() {
        let purpose = Purpose::Attach {
            needs_memory: false,
        };
        let is_refused = |number, word, has| {
            let filter = filter(number, word, has, 0);
            examine(&filter, &purpose.calls(), purpose).is_err()
        };
        // Arguments: the first is at 16, the third at 32, the fourth at 40.
        for (number, word, has) in [
            (libc::SYS_madvise, 32, libc::MADV_NOHUGEPAGE),
            (libc::SYS_madvise, 32, libc::MADV_DONTNEED),
            (libc::SYS_madvise, 32, libc::MADV_POPULATE_WRITE),
            (libc::SYS_mmap, 32, libc::PROT_NONE),
            (
                libc::SYS_mmap,
                40,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            ),
            (
                libc::SYS_mmap,
                40,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            ),
            (
                libc::SYS_mmap,
                40,
                libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_DENYWRITE,
            ),
            (libc::SYS_mprotect, 32, libc::PROT_NONE),
            (libc::SYS_prctl, 16, libc::PR_GET_DUMPABLE),
            (libc::SYS_prctl, 16, libc::PR_GET_SECCOMP),
        ] {
            assert!(is_refused(number, word, has as u32), "{number} {has}");
        }
        for number in [libc::SYS_mkdirat, libc::SYS_symlinkat, libc::SYS_fstat] {
            assert!(is_refused(number, 0, number as u32), "{number}");
        }
    }

    #[test]
    fn filters_compute_as_in_the_kernel() {
        let program = [
            // value = number; index = value; value = (value * 3 + index) ^ 5, kept and returned.
            code(0x20, 0, 0, 0),
            code(0x07, 0, 0, 0),
            code(0x24, 0, 0, 3),
            code(0x0c, 0, 0, 0),
            code(0xa4, 0, 0, 5),
            code(0x02, 0, 0, 9),
            code(0x00, 0, 0, 0),
            code(0x60, 0, 0, 9),
            code(0x05, 0, 0, 1),
            code(RETURN, 0, 0, 1),
            code(0x16, 0, 0, 0),
        ];
        assert_eq!(run(&program, &data(10, &[0; 6])), Some(40 ^ 5));
        let divides = [code(0x34, 0, 0, 0), code(RETURN, 0, 0, ALLOW)];
        assert_eq!(run(&divides, &data(10, &[0; 6])), None);
        // A constant is shifted by the number.
        for (shift, expected) in [(0x6c, 1 << 31), (0x7c, 1)] {
            let shifts = [
                code(0x20, 0, 0, 0),
                code(0x07, 0, 0, 0),
                code(0x00, 0, 0, 1 << 31 | 1),
                code(shift, 0, 0, 0),
                code(0x16, 0, 0, 0),
            ];
            assert_eq!(run(&shifts, &data(31, &[0; 6])), Some(expected));
            assert_eq!(run(&shifts, &data(32, &[0; 6])), None);
        }
    }
}
