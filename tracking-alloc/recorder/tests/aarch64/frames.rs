//! Functions with frames as LLVM lays them out. `make` builds them.

#![no_std]
#![crate_type = "cdylib"]

unsafe extern "C" {
    safe fn outside(place: *const u8, bytes: usize) -> usize;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
extern "C" fn leaf(n: usize) -> usize {
    n * 7 + 3
}

#[unsafe(no_mangle)]
extern "C" fn plain(n: usize) -> usize {
    outside(core::ptr::null(), n) + 1
}

#[unsafe(no_mangle)]
extern "C" fn large(n: usize) -> usize {
    let place = [1u8; 100_000];
    outside(place.as_ptr(), n) + usize::from(place[n % 9])
}

#[repr(align(256))]
struct Aligned([u8; 512]);

#[unsafe(no_mangle)]
extern "C" fn realigned(n: usize) -> usize {
    let place = Aligned([1; 512]);
    outside(place.0.as_ptr(), n) + usize::from(place.0[n % 9])
}

#[unsafe(no_mangle)]
extern "C" fn registers(words: &[usize; 12], numbers: &[f64; 8]) -> f64 {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *words;
    let [p, q, r, s, t, u, v, w] = *numbers;
    outside(core::ptr::null(), a);
    let sum = a ^ b & c ^ d & e ^ f & g ^ h & i ^ j & k ^ l;
    sum as f64 + p * q + r * s + t * u + v * w
}

#[unsafe(no_mangle)]
extern "C" fn sometimes(n: &usize) -> usize {
    if *n == 0 {
        return 0;
    }
    outside(core::ptr::null(), *n) + outside(core::ptr::null(), *n + 1)
}
