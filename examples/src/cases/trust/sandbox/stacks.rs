//! Threads with small stacks, and stacks that are not the thread's own.

use super::{Block, TALLY};
use std::ffi::c_void;
use std::ptr::null_mut;
use tracking_alloc::phase;

/// Starts a thread with `bytes` of stack and waits for its end.
fn in_thread(bytes: usize, work: extern "C" fn(*mut c_void) -> *mut c_void) {
    // SAFETY: a number or a pointer, depending on the C library. Zeros are valid for both.
    let mut thread: libc::pthread_t = unsafe { std::mem::zeroed() };
    // SAFETY: the attributes are initialized before they are used, and the thread is joined.
    unsafe {
        let mut attributes = std::mem::zeroed();
        assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
        assert_eq!(
            libc::pthread_attr_setstacksize(&mut attributes, bytes),
            0,
            "{bytes}"
        );
        let begun = libc::pthread_create(&mut thread, &attributes, work, null_mut());
        assert_eq!(begun, 0);
        libc::pthread_join(thread, null_mut());
    }
}

/// Allocates in a thread with 64 KiB of stack. If there is a path in `words`, the thread also
/// begins the recording.
pub(super) fn small(words: &[&str]) {
    static PATH: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    if let Some(path) = words.first() {
        PATH.get_or_init(|| (*path).to_owned());
    }
    extern "C" fn work(_: *mut c_void) -> *mut c_void {
        let recorder = PATH.get().map(|path| {
            tracking_alloc::Recorder::start(path).unwrap_or_else(|error| panic!("{error}"))
        });
        let mut blocks = Vec::with_capacity(100);
        let work = phase("work");
        blocks.extend((0..100).map(|n| Block::new(&TALLY, 10 + n, 8)));
        blocks.iter_mut().for_each(|block| block.resize(1_000));
        drop(Block::new(&TALLY, 100 << 10, 8));
        blocks.clear();
        drop(work);
        tracking_alloc::mark("a mark");
        drop(recorder);
        null_mut()
    }
    in_thread(64 << 10, work);
    if words.is_empty() {
        in_thread(64 << 10, work);
    }
    TALLY.print();
}

/// Allocates on a coroutine's stack in the phase `coroutine`, and on a signal stack in the phase
/// `signal`, from the main thread and from another.
pub(super) fn foreign() {
    on_foreign_stacks();
    std::thread::spawn(on_foreign_stacks)
        .join()
        .expect("a thread");
    TALLY.print();
}

fn map(bytes: usize) -> *mut c_void {
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: the kernel chooses the address of the anonymous mapping.
    let place = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    place
}

fn on_foreign_stacks() {
    const BYTES: usize = 256 << 10;
    #[cfg(target_env = "gnu")]
    extern "C" fn coroutine() {
        let _phase = phase("coroutine");
        allocates(10);
    }
    extern "C" fn handler(_: libc::c_int) {
        let _phase = phase("signal");
        allocates(20);
    }
    // SAFETY: both contexts outlive the switch, the stacks are mapped, and the handler runs inside
    // `raise` and not inside an allocation.
    unsafe {
        // musl has no contexts.
        #[cfg(target_env = "gnu")]
        {
            let mut here: libc::ucontext_t = std::mem::zeroed();
            let mut there: libc::ucontext_t = std::mem::zeroed();
            assert_eq!(libc::getcontext(&mut there), 0);
            there.uc_stack.ss_sp = map(BYTES);
            there.uc_stack.ss_size = BYTES;
            there.uc_link = &raw mut here;
            libc::makecontext(&mut there, coroutine, 0);
            assert_eq!(libc::swapcontext(&mut here, &there), 0);
        }

        let stack = libc::stack_t {
            ss_sp: map(BYTES),
            ss_flags: 0,
            ss_size: BYTES,
        };
        assert_eq!(libc::sigaltstack(&stack, null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, null_mut()), 0);
        assert_eq!(libc::raise(libc::SIGUSR1), 0);
    }
}

#[inline(never)]
fn allocates(blocks: usize) {
    let mut kept: Vec<Block> = (0..blocks).map(|n| Block::new(&TALLY, n + 1, 8)).collect();
    kept.iter_mut().for_each(|block| block.resize(50));
}
