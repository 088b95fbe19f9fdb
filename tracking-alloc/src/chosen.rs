//! An inner allocator that is chosen when the program starts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// An allocator that `HEAPGLASS_ALLOCATOR` chooses at the first allocation.
///
/// The choices are `glibc`, which is the system's allocator under any libc and the default, and
/// `jemalloc` and `mimalloc` with the features of these names. `heapglass compare-allocators` runs
/// a program with each of them. While nothing is chosen, each call costs one more load and a jump.
///
/// ```
/// use tracking_alloc::{Chosen, TrackingAlloc};
///
/// #[global_allocator]
/// static ALLOC: TrackingAlloc<Chosen> = TrackingAlloc::chosen();
///
/// assert_eq!(vec![1; 3].len(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Chosen;

const SYSTEM: u8 = 1;
#[cfg(all(unix, feature = "jemalloc"))]
const JEMALLOC: u8 = 2;
#[cfg(all(unix, feature = "mimalloc"))]
const MIMALLOC: u8 = 3;

static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Chosen {
    /// Returns the allocator for [`TrackingAlloc::chosen`](crate::TrackingAlloc::chosen).
    pub(crate) const fn new() -> Self {
        Chosen
    }

    /// Returns `true` if the system's allocator is chosen.
    pub(crate) fn is_system() -> bool {
        chosen() == SYSTEM
    }

    /// Returns the full name of the allocator that is chosen.
    pub(crate) fn name() -> &'static str {
        match chosen() {
            #[cfg(all(unix, feature = "jemalloc"))]
            JEMALLOC => std::any::type_name::<tikv_jemallocator::Jemalloc>(),
            #[cfg(all(unix, feature = "mimalloc"))]
            MIMALLOC => std::any::type_name::<mimalloc::MiMalloc>(),
            _ => std::any::type_name::<System>(),
        }
    }
}

#[inline]
fn chosen() -> u8 {
    match CHOSEN.load(Relaxed) {
        0 => choose(),
        chosen => chosen,
    }
}

#[cold]
fn choose() -> u8 {
    let (chosen, is_known) = match named() {
        #[cfg(all(unix, feature = "jemalloc"))]
        b"jemalloc" => (JEMALLOC, true),
        #[cfg(all(unix, feature = "mimalloc"))]
        b"mimalloc" => (MIMALLOC, true),
        b"" | b"glibc" => (SYSTEM, true),
        _ => (SYSTEM, false),
    };
    // Two threads that are first at once read the same environment.
    if CHOSEN.swap(chosen, Relaxed) == 0 && !is_known {
        complain();
    }
    chosen
}

/// Returns the value of the variable. std would allocate.
#[cfg(unix)]
fn named() -> &'static [u8] {
    unsafe extern "C" {
        // Programs with raised privileges ignore the variable.
        #[cfg_attr(target_os = "linux", link_name = "secure_getenv")]
        fn getenv(name: *const std::ffi::c_char) -> *const std::ffi::c_char;
    }
    // SAFETY: the name ends with a NUL, and so does the value. Nothing changes the environment
    // before the first allocation of a Rust program.
    unsafe {
        let value = getenv(c"HEAPGLASS_ALLOCATOR".as_ptr());
        if value.is_null() {
            b""
        } else {
            std::ffi::CStr::from_ptr(value).to_bytes()
        }
    }
}

#[cfg(not(unix))]
fn named() -> &'static [u8] {
    b""
}

/// Says on standard error which names are known. std would allocate.
fn complain() {
    #[cfg(unix)]
    {
        unsafe extern "C" {
            fn write(file: std::ffi::c_int, bytes: *const u8, count: usize) -> isize;
        }
        let known: &[&str] = &[
            "tracking-alloc: unknown HEAPGLASS_ALLOCATOR; this program knows glibc",
            if cfg!(feature = "jemalloc") {
                ", jemalloc"
            } else {
                ""
            },
            if cfg!(feature = "mimalloc") {
                ", mimalloc"
            } else {
                ""
            },
            "; using the system's allocator\n",
        ];
        for part in known {
            // SAFETY: the bytes are a string's.
            let _ = unsafe { write(2, part.as_ptr(), part.len()) };
        }
    }
}

macro_rules! forward {
    ($method:ident($($argument:expr),*)) => {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match chosen() {
                #[cfg(all(unix, feature = "jemalloc"))]
                JEMALLOC => tikv_jemallocator::Jemalloc.$method($($argument),*),
                #[cfg(all(unix, feature = "mimalloc"))]
                MIMALLOC => mimalloc::MiMalloc.$method($($argument),*),
                _ => System.$method($($argument),*),
            }
        }
    };
}

// SAFETY: every call goes to the same allocator, which is chosen before the first block is handed
// out.
unsafe impl GlobalAlloc for Chosen {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        forward!(alloc(layout))
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        forward!(alloc_zeroed(layout))
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        forward!(dealloc(block, layout));
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        forward!(realloc(block, layout, new_size))
    }
}
