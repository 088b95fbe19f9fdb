//! Queries about the process and its threads.

use super::file::read_whole;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};
use tracking_alloc_recording::{Host, ProcessStat};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// `true` if the environment is not read, because another thread may be changing it.
static IGNORES_ENVIRONMENT: AtomicBool = AtomicBool::new(false);

/// Makes [`environment`] find nothing from now on.
pub(crate) fn ignore_environment() {
    IGNORES_ENVIRONMENT.store(true, Ordering::Relaxed);
}

/// Returns the value of an environment variable. It walks `environ`, because getenv and std take
/// locks. Variables are ignored in programs with raised privileges (AT_SECURE).
pub(crate) fn environment(name: &[u8]) -> Option<&'static [u8]> {
    if IGNORES_ENVIRONMENT.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: getauxval only reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: `environ` is null or a NULL-terminated array of NUL-terminated strings. It is read at
    // the first allocation, before another thread of the program can have changed it.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry).to_bytes();
            if let Some(value) = text
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix(b"="))
            {
                return Some(value);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// Returns the kernel's id of the calling thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Returns the calling thread's pointer, next to which its thread-local variables lie.
pub(crate) fn thread_pointer() -> u64 {
    if cfg!(miri) {
        return 0;
    }
    let pointer: u64;
    // SAFETY: on x86-64, the word at the thread pointer is the thread pointer itself. On aarch64,
    // the register is readable from user space.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly));
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Returns `true` if the calling thread is the first thread of the process.
pub(crate) fn is_main_thread() -> bool {
    thread_id() == process_id()
}

/// Returns the id of the process.
pub(crate) fn process_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::getpid() as u32 }
}

/// `true` if the recorder must make no system call for which a filter may kill the program.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Restricts the recorder to these requests to the system from now on: anonymous memory, time, and
/// waiting for locks and threads.
pub(crate) fn go_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Returns the calling thread's name, padded with NULs. It is empty while the recorder is quiet.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    if is_quiet() {
        return name;
    }
    // SAFETY: PR_GET_NAME writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// The type of a resource number: glibc has its own type for it.
#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// Returns a limit of the process, or `None` if there is no limit or it cannot be determined.
pub(crate) fn limit(resource: Resource) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid rlimit to write into.
    let is_known = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    (is_known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Returns the start time of this process in clock ticks, or 0 if /proc is not available.
pub(crate) fn start_ticks() -> u64 {
    let mut buffer = [0u8; 1024];
    let text = read_whole(c"/proc/self/stat", &mut buffer).unwrap_or_default();
    ProcessStat::parse(text).map_or(0, |stat| stat.start_ticks)
}

/// Returns the resident set in bytes, from `/proc/self/statm`, or 0 if it cannot be read.
pub(crate) fn resident_set() -> u64 {
    memory_field(1).unwrap_or(0)
}

/// Returns the bytes left by the limits of address space (`RLIMIT_AS`) and of private memory
/// (`RLIMIT_DATA`), whichever is less. Returns `u64::MAX` if there is no such limit. Returns `None`
/// if there is a limit but the used memory cannot be determined.
pub(crate) fn memory_left() -> Option<u64> {
    let left = |resource, field| match limit(resource) {
        Some(limit) => Some(limit.saturating_sub(memory_field(field)?)),
        None => Some(u64::MAX),
    };
    // The last field is private memory and stacks, which is slightly more than what counts for the
    // limit.
    Some(left(libc::RLIMIT_AS, 0)?.min(left(libc::RLIMIT_DATA, 5)?))
}

/// Returns a field of `/proc/self/statm`, in bytes.
fn memory_field(index: usize) -> Option<u64> {
    let mut buffer = [0u8; 128];
    let text = read_whole(c"/proc/self/statm", &mut buffer).ok()?;
    let pages = str::from_utf8(text).ok()?.split_whitespace().nth(index)?;
    let pages: u64 = pages.parse().ok()?;
    Some(pages.wrapping_mul(super::page_bytes() as u64))
}

/// Returns a number that differs between processes: from the random bytes that the kernel gives
/// each program, and the clock, because forked processes share those bytes.
pub(crate) fn random_number() -> u64 {
    // SAFETY: the kernel's value is 0 or the address of 16 bytes, which need not be aligned.
    let given = unsafe {
        let place = libc::getauxval(libc::AT_RANDOM) as usize;
        let place: *const u64 = std::ptr::with_exposed_provenance(place);
        if place.is_null() {
            0
        } else {
            place.read_unaligned()
        }
    };
    given ^ super::now_ns().wrapping_mul(crate::hash::GOLDEN) ^ u64::from(process_id()) << 32
}

/// Returns the address of the program's entry point.
pub(crate) fn entry() -> u64 {
    // SAFETY: this only reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_ENTRY) }
}

/// Returns two exported functions of the C library. They lie next to the functions that call `main`
/// and the functions of threads.
pub(crate) fn start_functions() -> [u64; 2] {
    unsafe extern "C" {
        fn __libc_start_main();
    }
    [
        __libc_start_main as *const () as u64,
        libc::pthread_create as *const () as u64,
    ]
}

/// Returns addresses in code that stays loaded as long as the process runs: in the executable, in
/// the C library, and in heapglass itself.
pub(crate) fn lasting_code() -> [u64; 3] {
    [
        entry(),
        libc::getauxval as *const () as u64,
        lasting_code as *const () as u64,
    ]
}

/// Writes one line, given in pieces, to standard error. Errors are ignored.
pub(crate) fn write_stderr(pieces: &[&[u8]]) {
    let _errno = super::Errno::keep();
    for piece in pieces {
        // SAFETY: the piece is valid for its length.
        unsafe { libc::syscall(libc::SYS_write, 2, piece.as_ptr(), piece.len()) };
    }
}

const MEMBARRIER_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
static FENCE: AtomicBool = AtomicBool::new(false);

/// Registers the process so that [`fence_all_threads`] may be used.
pub(crate) fn register_fence() {
    if is_quiet() {
        return;
    }
    // SAFETY: the arguments are plain numbers. An old kernel returns ENOSYS.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_membarrier,
            MEMBARRIER_REGISTER_PRIVATE_EXPEDITED,
            0,
            0,
        )
    };
    FENCE.store(answer == 0, Ordering::Relaxed);
}

/// Runs a memory barrier on every running thread of this process. Returns `false` if the kernel
/// cannot do this.
pub(crate) fn fence_all_threads() -> bool {
    // SAFETY: as above.
    FENCE.load(Ordering::Relaxed)
        && unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) } == 0
}

/// While the recorder is quiet, waits until earlier stores of other threads are visible, and
/// returns `true`. No processor delays a store for so long, and a processor that switches to
/// another thread delays none. If the recorder is not quiet, returns `false`.
pub(crate) fn wait_for_stores() -> bool {
    const WAIT_NS: u64 = 10_000_000;
    if !is_quiet() {
        return false;
    }
    let until = super::now_ns() + WAIT_NS;
    while super::now_ns() < until {
        std::hint::spin_loop();
    }
    std::sync::atomic::fence(Ordering::SeqCst);
    true
}

/// Returns the boot id and PID namespace of this process, as far as they are known.
pub(crate) fn host() -> Host {
    let (mut boot_id, mut pid_namespace) = ([0u8; 64], [0u8; 64]);
    let boot_id = read_whole(c"/proc/sys/kernel/random/boot_id", &mut boot_id);
    let pid_namespace = read_link(c"/proc/self/ns/pid", &mut pid_namespace);
    Host::parse(
        boot_id.unwrap_or_default(),
        pid_namespace.unwrap_or_default(),
    )
}

/// Returns the target of a symbolic link.
pub(crate) fn read_link<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path is NUL-terminated and the buffer valid for its length.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    buffer.get(..usize::try_from(length).ok()?)
}
