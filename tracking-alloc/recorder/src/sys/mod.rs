//! The system calls that the hook may use.
//!
//! Nothing here may call a libc function that locks, allocates or is a cancellation point. `errno`
//! belongs to the caller and is kept by [`Errno`].

mod chunked;
mod clock;
pub(crate) mod copy;
mod file;
mod lines;
mod load;
mod lock;
mod memory;
mod process;
mod smaps;
mod stack;
mod thread_stack;

pub(crate) use chunked::{CHUNK, Chunked};
pub use clock::sleep;
pub(crate) use clock::{Patience, now_ns, thread_cpu_ns, ticks, unix_ns, yield_now};
pub(crate) use file::{File, FileId, answer, file_id, read_whole};
pub(crate) use lines::{Lines, Next, mapping_range, number};
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use load::pair_at;
pub(crate) use load::two_words_at;
pub use load::word_at;
pub use load::words;
pub(crate) use lock::{Guard, Lock};
pub use memory::map_private;
pub(crate) use memory::{
    Bump, PAGE, WrittenPages, count_own, forget_kept, give_back, map_kept, own_bytes, populate,
    read_own_memory, recycle, uncount_own,
};
pub(crate) use process::{
    entry, environment, fence_all_threads, go_quiet, host, ignore_environment, is_main_thread,
    is_quiet, lasting_code, limit, memory_left, process_id, random_number, read_link,
    register_fence, resident_set, start_functions, start_ticks, thread_id, thread_name,
    thread_pointer, wait_for_stores, write_stderr,
};
pub(crate) use smaps::is_wiped_on_fork;
pub(crate) use stack::{KeptStack, on_own_stack};
pub(crate) use thread_stack::{Stack, thread_stack};

/// Returns the size of this system's pages, in bytes.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: this only reads the auxiliary vector.
    let bytes = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
    if bytes.is_power_of_two() {
        bytes.max(PAGE)
    } else {
        PAGE
    }
}

/// Keeps the target's `errno` during a cold path.
pub(crate) struct Errno(i32);

impl Errno {
    pub(crate) fn keep() -> Self {
        // SAFETY: the address is this thread's errno, valid as long as the thread runs.
        Errno(unsafe { *libc::__errno_location() })
    }

    /// Returns the current value, without restoring the kept one.
    pub(crate) fn current() -> i32 {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 }
    }
}
