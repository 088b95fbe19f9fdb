//! C++'s `operator new` and `operator delete` of an allocator that has its own, as jemalloc,
//! tcmalloc and mimalloc do as shared libraries: they do not call `malloc`.
//!
//! The loader knows nothing of these functions of ours, because they have no names that it looks
//! for: libstdc++'s call `malloc`, which is recorded anyway. So the slots that lead to those of the
//! allocator are directed here. On x86-64 only.

use crate::asks_first::asks_first;
use crate::by_pointer::by_pointer;
use crate::exported::{made, passes, release_by};
use crate::images;
use crate::inner::{self, Function};
use crate::slots::{self, OPERATORS};
use libc::{c_void, size_t};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

/// `true` if the allocator has these functions.
static ARE_FOUND: AtomicBool = AtomicBool::new(false);

/// Returns `true` if [`find`] found them.
pub(crate) fn are_found() -> bool {
    ARE_FOUND.load(Acquire)
}

/// The last argument of functions that return null instead of throwing. Nobody reads it.
static NO_THROW: u8 = 0;

/// Defines a pointer to each function of the allocator, and a list of them with ours.
macro_rules! operators {
    ($($name:ident)*) => {
        #[expect(non_upper_case_globals, reason = "named for the function behind the pointer")]
        mod pointers {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> =
                AtomicPtr::new(std::ptr::null_mut());)*
        }

        fn all() -> [(&'static CStr, &'static AtomicPtr<c_void>, *const ()); OPERATORS] {
            [$((
                // SAFETY: the string ends with its only NUL.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
                &pointers::$name,
                here::$name as *const (),
            )),*]
        }
    };
}

operators! {
    _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t
    _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
    _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm
    _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
    _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
    _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
    _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
}

/// Looks for the functions, unless the allocator is libc's, which has none.
pub(crate) fn find() {
    // Calls inside an executable take no slots.
    if inner::is_libc() || images::is_in_executable(inner::of_program()) {
        return;
    }
    for (name, pointer, _) in all() {
        if let Some(function) = inner::beside_malloc(name) {
            pointer.store(function, Release);
        }
    }
    // What is made by the allocator must be seen when it is freed, or it would be a false leak.
    let needed = [
        &pointers::_Znwm,
        &pointers::_ZnwmRKSt9nothrow_t,
        &pointers::_ZnamRKSt9nothrow_t,
        &pointers::_ZnwmSt11align_val_tRKSt9nothrow_t,
        &pointers::_ZnamSt11align_val_tRKSt9nothrow_t,
        &pointers::_ZdlPv,
        &pointers::_ZdaPv,
    ];
    let are_there = needed
        .iter()
        .all(|pointer| !pointer.load(Relaxed).is_null());
    ARE_FOUND.store(are_there, Release);
    if are_there {
        slots::set_operators(functions);
    }
}

/// Returns the functions, for the search for their slots.
fn functions() -> [Function; OPERATORS] {
    all().map(|(name, pointer, here)| {
        let elsewhere = pointer.load(Acquire).addr();
        Function {
            name,
            own: if elsewhere != 0 { here.addr() } else { 0 },
            elsewhere: [elsewhere; 2],
        }
    })
}

/// The functions that are called instead.
#[expect(non_snake_case, reason = "named for the functions of the allocator")]
mod here {
    use super::*;

    /// Defines how the functions of the allocator are called.
    macro_rules! inner {
        ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
            mod inner {
                use super::*;
                $(by_pointer! { pub(super) $name($($argument: $type),*) -> $result })*
            }
        };
    }

    /// Defines functions that return null if there is no memory.
    macro_rules! make {
        ($($name:ident($($argument:ident: $type:ty),*);)*) => {
            inner! { $($name(bytes: size_t, $($argument: $type),*) -> *mut c_void;)* }
            $(pub(super) unsafe extern "C" fn $name(
                bytes: size_t,
                $($argument: $type),*
            ) -> *mut c_void {
                let is_passed = passes(bytes);
                // SAFETY: the caller's promises are passed on.
                let block = unsafe { inner::$name(bytes, $($argument),*) };
                if is_passed { block } else { made(block, bytes) }
            })*
        };
    }

    make! {
        _ZnwmRKSt9nothrow_t(no_throw: *const u8);
        _ZnamRKSt9nothrow_t(no_throw: *const u8);
        _ZnwmSt11align_val_tRKSt9nothrow_t(alignment: size_t, no_throw: *const u8);
        _ZnamSt11align_val_tRKSt9nothrow_t(alignment: size_t, no_throw: *const u8);
    }

    /// Defines functions that throw an exception if there is no memory. It must not pass through
    /// our code. So the block is made by the function that returns null instead; if it does, or if
    /// the allocation needs no report, the allocator's own function is jumped to.
    macro_rules! throwing {
        ($($name:ident by $asked:ident($($alignment:ident)?): $no_throw:ident;)*) => {
            $(asks_first! {
                pub(super) fn $name { $asked, else pointers::$name }
            }

            unsafe extern "C" fn $asked(bytes: size_t $(, $alignment: size_t)?) -> *mut c_void {
                if passes(bytes) {
                    return std::ptr::null_mut();
                }
                // SAFETY: the caller's promises are passed on.
                let block = unsafe { inner::$no_throw(bytes, $($alignment,)? &raw const NO_THROW) };
                made(block, bytes)
            })*
        };
    }

    throwing! {
        _Znwm by new(): _ZnwmRKSt9nothrow_t;
        _Znam by new_list(): _ZnamRKSt9nothrow_t;
        _ZnwmSt11align_val_t by new_aligned(alignment): _ZnwmSt11align_val_tRKSt9nothrow_t;
        _ZnamSt11align_val_t by new_list_aligned(alignment): _ZnamSt11align_val_tRKSt9nothrow_t;
    }

    /// Defines functions that free a block. Their other arguments are words.
    macro_rules! free {
        ($($name:ident($($argument:ident),*);)*) => {
            mod freeing {
                use super::*;
                $(by_pointer! { pub(super) $name(block: *mut c_void $(, $argument: size_t)*) -> () })*
            }
            $(pub(super) unsafe extern "C" fn $name(block: *mut c_void $(, $argument: size_t)*) {
                // SAFETY: the caller's promises are passed on.
                unsafe { release_by(block, |block| freeing::$name(block $(, $argument)*)) }
            })*
        };
    }

    free! {
        _ZdlPv();
        _ZdaPv();
        _ZdlPvm(bytes);
        _ZdaPvm(bytes);
        _ZdlPvSt11align_val_t(alignment);
        _ZdaPvSt11align_val_t(alignment);
        _ZdlPvmSt11align_val_t(bytes, alignment);
        _ZdaPvmSt11align_val_t(bytes, alignment);
        _ZdlPvRKSt9nothrow_t(no_throw);
        _ZdaPvRKSt9nothrow_t(no_throw);
        _ZdlPvSt11align_val_tRKSt9nothrow_t(alignment, no_throw);
        _ZdaPvSt11align_val_tRKSt9nothrow_t(alignment, no_throw);
    }
}
