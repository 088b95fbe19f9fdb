//! The allocator behind this library: glibc's, or that of another preloaded library or of the
//! executable.
//!
//! Each function is called through a pointer. At first, all pointers lead to a function that looks
//! up the real ones. This happens at the first call, which may come before the constructor of this
//! library, so no block is made by one allocator and freed by another.

use crate::by_pointer::by_pointer;
use libc::{c_int, c_void, size_t};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

unsafe extern "C" {
    fn __libc_malloc(bytes: size_t) -> *mut c_void;
    fn __libc_calloc(count: size_t, bytes: size_t) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: size_t) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: size_t, bytes: size_t) -> *mut c_void;
    fn __libc_valloc(bytes: size_t) -> *mut c_void;
    fn __libc_pvalloc(bytes: size_t) -> *mut c_void;
}

/// Used until the real function is known. Nothing calls it that early.
unsafe extern "C" fn no_memory(_: *mut *mut c_void, _: size_t, _: size_t) -> c_int {
    libc::ENOMEM
}

/// Used until the real function is known. Nothing asks for a size that early.
unsafe extern "C" fn unknown_size(_block: *mut c_void) -> size_t {
    0
}

/// Defines one pointer for each function of an allocator, with the function that calls it, and the
/// list of all of them.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $of_libc:ident;)*) => {
        $(by_pointer! {
            /// Calls the function of the allocator behind this library.
            pub(crate) $name($($argument: $type),*) -> $result
        })*

        #[expect(non_upper_case_globals, reason = "named for the function behind the pointer")]
        mod pointers {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> =
                AtomicPtr::new(first::$name as *const () as *mut c_void);)*
        }

        /// The functions to which the pointers lead at first.
        mod first {
            use super::*;
            $(pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                find();
                // SAFETY: the caller's promises are passed on.
                unsafe { super::$name($($argument),*) }
            })*
        }

        /// Each function: its name, the pointer to it, and glibc's own one under another name.
        fn all() -> [(&'static CStr, &'static AtomicPtr<c_void>, *mut c_void); FUNCTIONS] {
            [$((
                // SAFETY: the string ends with its only NUL.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
                &pointers::$name,
                $of_libc as *const () as *mut c_void,
            )),*]
        }
    };
}

functions! {
    malloc(bytes: size_t) -> *mut c_void, __libc_malloc;
    calloc(count: size_t, bytes: size_t) -> *mut c_void, __libc_calloc;
    realloc(block: *mut c_void, bytes: size_t) -> *mut c_void, __libc_realloc;
    free(block: *mut c_void) -> (), __libc_free;
    memalign(alignment: size_t, bytes: size_t) -> *mut c_void, __libc_memalign;
    aligned_alloc(alignment: size_t, bytes: size_t) -> *mut c_void, __libc_memalign;
    posix_memalign(block: *mut *mut c_void, alignment: size_t, bytes: size_t) -> c_int, no_memory;
    valloc(bytes: size_t) -> *mut c_void, __libc_valloc;
    pvalloc(bytes: size_t) -> *mut c_void, __libc_pvalloc;
    malloc_usable_size(block: *mut c_void) -> size_t, unknown_size;
}

static IS_LIBC: AtomicBool = AtomicBool::new(true);
static IS_IN_FRONT: AtomicBool = AtomicBool::new(false);
static IS_FOUND: AtomicBool = AtomicBool::new(false);

/// Returns the address of a function of glibc's. tcmalloc has functions with the names of glibc's
/// allocator, `__libc_malloc` too.
pub(crate) fn of_libc() -> usize {
    libc::gnu_get_libc_version as *const () as usize
}

/// Returns the address of the program's `malloc`, after [`find`].
pub(crate) fn of_program() -> usize {
    pointers::malloc.load(Acquire).addr()
}

/// Returns a function that the loader prefers, if it is in the same file as the program's `malloc`.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "operators of C++ are directed on x86-64 only")
)]
pub(crate) fn beside_malloc(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (image, is_defined) = place_of(found)?;
    let (allocator, _) = place_of(pointers::malloc.load(Acquire))?;
    (image == allocator && is_defined).then_some(found)
}

/// Returns `true` if the allocator is glibc's.
pub(crate) fn is_libc() -> bool {
    IS_LIBC.load(Relaxed)
}

/// Returns `true` if the loader prefers another `malloc` to ours: that of the executable, or of a
/// library that is preloaded before this one.
pub(crate) fn is_in_front() -> bool {
    IS_IN_FRONT.load(Relaxed)
}

/// A function of this library, and the addresses at which calls of it may arrive elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) name: &'static CStr,
    pub(crate) own: usize,
    pub(crate) elsewhere: [usize; 2],
}

/// The number of functions.
pub(crate) const FUNCTIONS: usize = 10;

/// Returns the functions. `own` finds a function of this library.
pub(crate) fn functions(own: impl Fn(&CStr) -> usize) -> [Function; FUNCTIONS] {
    all().map(|(name, pointer, of_libc)| Function {
        name,
        own: own(name),
        elsewhere: [pointer.load(Relaxed).addr(), of_libc.addr()],
    })
}

/// Finds the functions, unless that was done.
#[cold]
#[inline(never)]
pub(crate) fn find() {
    if IS_FOUND.swap(true, AcqRel) {
        return;
    }
    let _errno = crate::Errno::keep();
    // The loader itself may allocate during the look-up.
    for (_, pointer, of_libc) in all() {
        pointer.store(of_libc, Relaxed);
    }
    let in_front = preferred(c"malloc");
    IS_IN_FRONT.store(in_front.is_some(), Relaxed);
    for (name, pointer, _) in all() {
        let found = in_front
            .and_then(|_| preferred(name))
            .unwrap_or_else(|| crate::next(name));
        if !found.is_null() {
            pointer.store(found, Release);
        }
    }
    let image = |address| place_of(address).map(|(image, _)| image);
    let of_libc = std::ptr::with_exposed_provenance(of_libc());
    let is_libc = image(pointers::malloc.load(Relaxed)) == image(of_libc);
    IS_LIBC.store(is_libc, Relaxed);
}

/// Returns the definition of a function that the loader prefers to ours, if there is one.
fn preferred(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (image, is_defined) = place_of(found)?;
    let (own_image, _) = place_of(find as *const () as *const c_void)?;
    // NOTE: in an executable at a fixed address, the address of a function of a library is that of
    // a stub in the executable, which calls the function.
    (image != own_image && is_defined).then_some(found)
}

/// Returns the image of an address, and if a symbol is defined there.
fn place_of(address: *const c_void) -> Option<(*mut c_void, bool)> {
    const SYMBOL: c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            place: *mut libc::Dl_info,
            symbol: *mut *const libc::Elf64_Sym,
            wanted: c_int,
        ) -> c_int;
    }
    let mut symbol = std::ptr::null();
    // SAFETY: all zeros are a valid value. dladdr1 writes the place and the symbol, which is null
    // or in a loaded image.
    unsafe {
        let mut place: libc::Dl_info = std::mem::zeroed();
        if address.is_null() || dladdr1(address, &mut place, &mut symbol, SYMBOL) == 0 {
            return None;
        }
        let is_defined = symbol.as_ref().is_some_and(|symbol| symbol.st_shndx != 0);
        Some((place.dli_fbase, is_defined))
    }
}
