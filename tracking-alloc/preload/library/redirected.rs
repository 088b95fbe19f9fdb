//! Functions that are called instead of those of [`linked`](crate::linked) allocators. Their frames
//! are skipped by the name of this crate.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each function passes on what its caller promised to the function of that name"
)]

use crate::exported::{made, passes, release_by, resize_by};
use crate::linked::{FUNCTIONS, Hook, inner};
use libc::{c_int, c_void, size_t};

macro_rules! make {
    ($($name:ident($($argument:ident: $type:ty),*), $bytes:expr;)*) => {
        $(unsafe extern "C" fn $name($($argument: $type),*) -> *mut c_void {
            if passes($bytes) {
                return unsafe { inner::$name($($argument),*) };
            }
            made(unsafe { inner::$name($($argument),*) }, $bytes)
        })*
    };
}

make! {
    mi_malloc(bytes: size_t), bytes;
    mi_zalloc(bytes: size_t), bytes;
    mi_calloc(count: size_t, bytes: size_t), count.saturating_mul(bytes);
    mi_malloc_aligned(bytes: size_t, alignment: size_t), bytes;
    mi_zalloc_aligned(bytes: size_t, alignment: size_t), bytes;
    _rjem_malloc(bytes: size_t), bytes;
    _rjem_calloc(count: size_t, bytes: size_t), count.saturating_mul(bytes);
    _rjem_mallocx(bytes: size_t, flags: c_int), bytes;
}

macro_rules! resize {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(unsafe extern "C" fn $name(
            block: *mut c_void,
            bytes: size_t,
            $($argument: $type),*
        ) -> *mut c_void {
            let resize = |block, bytes| unsafe { inner::$name(block, bytes, $($argument),*) };
            unsafe { resize_by(block, bytes, resize) }
        })*
    };
}

resize! {
    mi_realloc();
    mi_realloc_aligned(alignment: size_t);
    _rjem_realloc();
    _rjem_rallocx(flags: c_int);
}

macro_rules! free {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(unsafe extern "C" fn $name(block: *mut c_void, $($argument: $type),*) {
            unsafe { release_by(block, |block| inner::$name(block, $($argument),*)) }
        })*
    };
}

free! {
    mi_free();
    _rjem_free();
    _rjem_dallocx(flags: c_int);
    _rjem_sdallocx(bytes: size_t, flags: c_int);
}

/// Returns all functions by name.
pub(crate) fn all() -> [Hook; FUNCTIONS] {
    macro_rules! list {
        ($($name:ident,)*) => {
            [$((stringify!($name), $name as *const ())),*]
        };
    }
    list![
        mi_malloc,
        mi_zalloc,
        mi_calloc,
        mi_realloc,
        mi_malloc_aligned,
        mi_zalloc_aligned,
        mi_realloc_aligned,
        mi_free,
        _rjem_malloc,
        _rjem_calloc,
        _rjem_realloc,
        _rjem_mallocx,
        _rjem_rallocx,
        _rjem_free,
        _rjem_dallocx,
        _rjem_sdallocx,
    ]
}
