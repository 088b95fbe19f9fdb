//! Runs work in a child process and watches it from outside: the system calls that it makes for
//! memory, and its resident anonymous memory.
//!
//! In the child, only the work itself may allocate, because the child's heap is watched.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// System calls that take, return or change memory, by name.
const CALLS: [(&str, libc::c_long); 5] = [
    ("brk_calls", libc::SYS_brk),
    ("mmap_calls", libc::SYS_mmap),
    ("munmap_calls", libc::SYS_munmap),
    ("mremap_calls", libc::SYS_mremap),
    ("madvise_calls", libc::SYS_madvise),
];
/// The calls of brk that return memory.
const SHRINKS: &str = "brk_shrink_calls";

/// Maximum number of stages that the work can report.
const STAGES: usize = 4;

/// The memory that the child shares with its parent. The child writes its own measurements there.
struct Stages([AtomicU64; STAGES]);

/// A handle that the work calls to keep its resident set.
pub(super) struct Stage<'a>(&'a Stages);

impl Stage<'_> {
    /// Keeps the current resident set under this number.
    pub(super) fn keep(&self, number: usize) {
        if let Some(kept) = self.0.0.get(number) {
            kept.store(resident_bytes(), Relaxed);
        }
    }
}

/// The measurements of a child.
#[derive(Debug)]
pub(super) struct Seen {
    /// The numbers of its calls by name; `None` if processes may not be traced.
    pub(super) calls: Option<Vec<(&'static str, u64)>>,
    /// Its resident set at each stage, bytes.
    pub(super) resident_bytes: [u64; STAGES],
}

/// Runs work in a child, which has a copy of the current memory. Returns `None` if no child can be
/// created, or if it failed.
pub(super) fn watched(work: impl FnOnce(&Stage<'_>)) -> Option<Seen> {
    let (access, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping touches nothing that exists.
    let page = unsafe { libc::mmap(null_mut(), size_of::<Stages>(), access, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is zeroed, aligned to a page, as large as the type, and exists until the
    // end of this function.
    let stages = unsafe { &*page.cast::<Stages>() };
    // SAFETY: this process has one thread; the child does its work and ends without unwinding into
    // what follows.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the child asks its parent to trace it, and waits for it.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0_usize, 0_usize) == 0 {
                libc::raise(libc::SIGSTOP);
            }
        }
        let worked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&Stage(stages))));
        // SAFETY: ends this process without running any exit handler of the parent.
        unsafe { libc::_exit(i32::from(worked.is_err())) };
    }
    let calls = (child > 0).then(|| follow(child)).flatten();
    let resident_bytes = std::array::from_fn(|number| {
        let kept = stages.0.get(number);
        kept.map_or(0, |kept| kept.load(Relaxed))
    });
    // SAFETY: nothing refers to the mapping any more.
    unsafe { libc::munmap(page, size_of::<Stages>()) };
    let (worked, calls) = calls?;
    worked.then_some(Seen {
        calls,
        resident_bytes,
    })
}

/// `true` if the work finished, and the numbers of its calls by name.
type Followed = (bool, Option<Vec<(&'static str, u64)>>);

/// Counts a child's calls until it ends.
fn follow(child: libc::pid_t) -> Option<Followed> {
    let mut counts = [0_u64; CALLS.len()];
    let (mut shrinks, mut program_break) = (0, 0);
    let mut traced = false;
    loop {
        let mut status = 0;
        // SAFETY: waits for our own child; `status` is ours.
        if unsafe { libc::waitpid(child, &mut status, 0) } != child {
            return None;
        }
        if !libc::WIFSTOPPED(status) {
            let worked = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
            let named = CALLS
                .iter()
                .zip(counts)
                .map(|((name, _), count)| (*name, count))
                .chain([(SHRINKS, shrinks)]);
            return Some((worked, traced.then(|| named.collect())));
        }
        let signal = libc::WSTOPSIG(status);
        let pass_on = match signal {
            // The child stops itself when it is ready.
            libc::SIGSTOP if !traced => {
                traced = true;
                let options = (libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL) as usize;
                // SAFETY: the child is stopped and ours.
                unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, child, 0_usize, options) };
                0
            }
            signal if signal == libc::SIGTRAP | 0x80 => {
                if let Some((call, argument)) = entered(child) {
                    let known = |(_, number): &(&str, libc::c_long)| *number as u64 == call;
                    if let Some(at) = CALLS.iter().position(known)
                        && let Some(count) = counts.get_mut(at)
                    {
                        *count += 1;
                    }
                    if call == libc::SYS_brk as u64 {
                        shrinks += u64::from(argument < program_break);
                        program_break = argument;
                    }
                }
                0
            }
            signal => signal,
        };
        // SAFETY: the child is stopped and ours; it runs until its next call.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, child, 0_usize, pass_on as usize) };
    }
}

/// Returns the call that a stopped child is about to make, and its first argument; `None` if it
/// returns from a call.
fn entered(child: libc::pid_t) -> Option<(u64, u64)> {
    // SAFETY: all-zero bytes are a valid value.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of_val(&info);
    // SAFETY: the child is stopped and ours; the kernel writes at most `size` bytes to `info`.
    let told = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, child, size, &raw mut info) };
    // SAFETY: the kernel says that this is a stop at a call's entry, and filled in its fields.
    (told > 0 && info.op == libc::PTRACE_SYSCALL_INFO_ENTRY).then(|| unsafe {
        let [argument, ..] = info.u.entry.args;
        (info.u.entry.nr, argument)
    })
}

/// Returns the resident anonymous memory, bytes, counted by the kernel page by page; 0 if the
/// kernel does not report it. File pages are excluded: a child starts with none of them resident,
/// so its code would count too.
fn resident_bytes() -> u64 {
    let mut text = [0_u8; 4096];
    // SAFETY: opens a file, reads no more than the buffer holds, and closes it.
    let length = unsafe {
        let file = libc::open(
            c"/proc/self/smaps_rollup".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let text = text
        .get(..usize::try_from(length).unwrap_or(0))
        .unwrap_or_default();
    let mut words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let kib = words
        .by_ref()
        .find(|word| *word == b"Anonymous:")
        .and_then(|_| words.next())
        .and_then(|kib| std::str::from_utf8(kib).ok()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
