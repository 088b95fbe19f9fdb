//! Continues on separate stacks: segments, as `stacker` creates them for deep recursion, and a
//! coroutine (`tests/built/unwinders.rs`).

use std::hint::black_box;
use std::ptr::null_mut;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    for _ in 0..100 {
        descend(40);
    }
    std::thread::spawn(|| {
        for _ in 0..100 {
            descend(40);
        }
    })
    .join()
    .expect("a thread");
    for _ in 0..100 {
        switch_to_coroutine();
    }
}

const BYTES: usize = 64 << 10;

/// A stack that is unmapped when it is dropped. The next one may lie at the same address.
struct Segment(*mut libc::c_void);

impl Segment {
    fn new() -> Segment {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: this is an anonymous mapping at an address that the kernel chooses. Its first
        // page is the guard page.
        unsafe {
            let place = libc::mmap(null_mut(), BYTES, protection, flags, -1, 0);
            assert_ne!(place, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(place, 4096, libc::PROT_NONE), 0);
            Segment(place)
        }
    }

    fn top(&self) -> *mut libc::c_void {
        self.0.wrapping_byte_add(BYTES)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the stack was mapped above, and no thread runs on it.
        unsafe { libc::munmap(self.0, BYTES) };
    }
}

/// A recursion that continues on another stack every tenth time.
#[inline(never)]
fn descend(left: usize) {
    if left == 0 {
        return innermost();
    }
    if left.is_multiple_of(10) {
        let segment = Segment::new();
        // SAFETY: the segment is large enough, and `go_on` does not unwind.
        unsafe { heapglass_on_stack(left - 1, go_on, segment.top()) };
    } else {
        descend(left - 1);
    }
    black_box(left);
}

#[inline(never)]
extern "C" fn go_on(left: usize) {
    descend(left);
    black_box(left);
}

#[inline(never)]
fn innermost() {
    black_box(Box::new(1u64));
}

#[inline(never)]
fn switch_to_coroutine() {
    extern "C" fn coroutine() {
        in_coroutine();
        black_box(1);
    }
    let stack = Segment::new();
    // SAFETY: both contexts outlive the switch, and the stack is mapped.
    unsafe {
        let mut here: libc::ucontext_t = std::mem::zeroed();
        let mut there: libc::ucontext_t = std::mem::zeroed();
        assert_eq!(libc::getcontext(&mut there), 0);
        there.uc_stack.ss_sp = stack.0;
        there.uc_stack.ss_size = BYTES;
        there.uc_link = &raw mut here;
        libc::makecontext(&mut there, coroutine, 0);
        assert_eq!(libc::swapcontext(&mut here, &there), 0);
    }
}

#[inline(never)]
fn in_coroutine() {
    black_box(Box::new([1u64; 2]));
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn heapglass_on_stack(argument: usize, function: extern "C" fn(usize), top: *mut libc::c_void);
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl heapglass_on_stack",
    ".type heapglass_on_stack, @function",
    "heapglass_on_stack:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size heapglass_on_stack, . - heapglass_on_stack",
);

#[cfg(not(target_arch = "x86_64"))]
unsafe fn heapglass_on_stack(
    argument: usize,
    function: extern "C" fn(usize),
    _: *mut libc::c_void,
) {
    function(argument);
}
