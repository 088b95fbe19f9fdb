//! Allocates under callers that frame pointers cannot see through: C's `qsort`, and assembly that
//! keeps data in rbp (`tests/built/unwinders.rs`).

use std::hint::black_box;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    // Few elements, because a merge sort calls back from as many stacks as its recursion has
    // branches.
    for n in 0..1000 {
        let mut numbers: Vec<u32> = (0..6).map(|m| (m * 7919 + n) % 11).collect();
        sort_in_c(&mut numbers);
        assert!(numbers.is_sorted());
    }
    for n in 0..10_000u64 {
        through_assembly(n);
    }
}

unsafe extern "C" {
    fn qsort(
        base: *mut u32,
        count: usize,
        width: usize,
        compare: extern "C" fn(*const u32, *const u32) -> i32,
    );
}

#[inline(never)]
fn sort_in_c(numbers: &mut [u32]) {
    // SAFETY: the slice is valid for its length, and `compare` orders its elements.
    unsafe {
        qsort(
            numbers.as_mut_ptr(),
            numbers.len(),
            size_of::<u32>(),
            compare,
        )
    };
    // Prevents a tail call above.
    black_box(numbers);
}

#[inline(never)]
extern "C" fn compare(left: *const u32, right: *const u32) -> i32 {
    // SAFETY: qsort passes addresses of elements.
    let (left, right) = unsafe { (*left, *right) };
    black_box(Box::new(left)).as_ref().cmp(&right) as i32
}

/// Calls back from assembly that keeps another data address in rbp each time.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn through_assembly(n: u64) {
    // The data looks like frames: each word is the address of a later one.
    let mut data = [0u64; 128];
    let base = data.as_ptr() as u64;
    data.iter_mut()
        .enumerate()
        .for_each(|(index, word)| *word = base + 8 * (index as u64 * 7 + n) % 1024);
    // SAFETY: both keep the registers that the calling convention asks them to keep, and only call
    // back.
    unsafe {
        heapglass_with_data_in_rbp(&raw const data[(n % 61) as usize * 2], called_back);
        heapglass_with_data_in_rbp_without_rules(
            &raw const data[(n % 61) as usize * 2],
            called_back_without_rules,
        );
    }
    black_box(&data);
}

#[cfg(not(target_arch = "x86_64"))]
fn through_assembly(_: u64) {}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
extern "C" fn called_back() {
    black_box(Box::new(1));
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
extern "C" fn called_back_without_rules() {
    black_box(Box::new([2; 2]));
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn heapglass_with_data_in_rbp(data: *const u64, back: extern "C" fn());
    fn heapglass_with_data_in_rbp_without_rules(data: *const u64, back: extern "C" fn());
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl heapglass_with_data_in_rbp",
    ".type heapglass_with_data_in_rbp, @function",
    "heapglass_with_data_in_rbp:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rdi",
    "call rsi",
    "pop rbp",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    ".size heapglass_with_data_in_rbp, . - heapglass_with_data_in_rbp",
    ".globl heapglass_with_data_in_rbp_without_rules",
    ".type heapglass_with_data_in_rbp_without_rules, @function",
    "heapglass_with_data_in_rbp_without_rules:",
    "push rbp",
    "mov rbp, rdi",
    "call rsi",
    "pop rbp",
    "ret",
    ".size heapglass_with_data_in_rbp_without_rules, . - heapglass_with_data_in_rbp_without_rules",
);
