//! A library that calls back. With `--cfg other`, it has the same machine code under other names;
//! with `--cfg shifted`, it has other code.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(shifted)]
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn shifts(numbers: &mut [u64; 4]) {
    for number in numbers {
        // SAFETY: a word of the slice.
        unsafe { core::ptr::write_volatile(number, number.wrapping_mul(31) ^ 0x1234_5678) };
    }
}

/// The difference between two builds of one program: a name and data.
#[cfg(not(other))]
#[unsafe(no_mangle)]
static NAME_OF_FIRST: [u8; 8] = *b"library1";
#[cfg(other)]
#[unsafe(no_mangle)]
static NAME_OF_OTHER: [u8; 8] = *b"library2";

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn enter(allocate: extern "C" fn(usize), bytes: usize) -> usize {
    #[cfg(shifted)]
    shifts(&mut [bytes as u64; 4]);
    allocate(bytes);
    // This prevents a tail call.
    core::hint::black_box(bytes)
}
