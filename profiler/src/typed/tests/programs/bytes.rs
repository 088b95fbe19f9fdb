//! Slices of large buffers, laid out as those of the crate `bytes`. Writes its memory to a file.
//! Arguments: the file, the number of slices.

mod watch;

use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

pub mod bytes {
    use super::*;

    pub struct Vtable {
        pub name: &'static str,
    }
    pub static SHARED: Vtable = Vtable { name: "shared" };

    #[repr(C)]
    pub struct Bytes {
        pub ptr: *const u8,
        pub len: usize,
        pub data: AtomicPtr<()>,
        pub vtable: &'static Vtable,
    }
    // SAFETY: the bytes that it points to are never written again.
    unsafe impl Send for Bytes {}

    pub struct Shared {
        pub buf: *mut u8,
        pub cap: usize,
        pub ref_cnt: AtomicUsize,
    }
}

static SLICES: Mutex<Vec<bytes::Bytes>> = Mutex::new(Vec::new());

fn slice(number: usize) -> bytes::Bytes {
    let mut buffer = ManuallyDrop::new(vec![number as u8; 16 << 10]);
    let (buf, cap) = (buffer.as_mut_ptr(), buffer.capacity());
    let shared = bytes::Shared { buf, cap, ref_cnt: AtomicUsize::new(1) };
    let data = AtomicPtr::new(Box::into_raw(Box::new(shared)).cast());
    bytes::Bytes { ptr: buf, len: 16, data, vtable: &bytes::SHARED }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let size: usize = arguments[2].parse().unwrap();
    *SLICES.lock().unwrap() = (0..size).map(slice).collect();
    println!("slices {size}");
    watch::dump(&arguments[1]);
    for slice in &*SLICES.lock().unwrap() {
        assert_eq!(slice.vtable.name, "shared");
        // The compiler must not take the values apart.
        std::hint::black_box((slice.ptr, slice.len));
        let shared: *mut bytes::Shared = slice.data.load(Ordering::Relaxed).cast();
        // SAFETY: the boxed value is never freed.
        std::hint::black_box(unsafe { ((*shared).buf, (*shared).cap, &(*shared).ref_cnt) });
    }
}
