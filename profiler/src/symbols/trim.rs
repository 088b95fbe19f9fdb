//! The part of a stack worth showing: without the allocator's machinery at the inner end and the run-time's start-up
//! at the outer one. It must never hide the user's own code, nor leave nothing.

use std::ops::Range;

use super::classify::is_allocator_shim;
use super::short::{last_segment, strip_generics};
use crate::profile::{Function, Origin};

/// Paths of what stands between a collection and the allocator, and of heapglass itself.
const MACHINERY: &[&str] = &[
    "alloc::alloc::",
    "alloc::raw_vec::",
    "alloc::boxed::box_new",
    "core::alloc::",
    "hashbrown::raw::",
    "std::alloc::",
    "std::sys::alloc::",
    "tracking_alloc::",
    "tracking_alloc_recording::",
    "__rustc::",
];

/// Paths of what runs before `main` or a thread's closure.
const START_UP: &[&str] = &[
    "std::rt::",
    "std::sys::backtrace::__rust_begin_short_backtrace",
    "std::sys_common::backtrace::__rust_begin_short_backtrace",
    "std::panicking::",
    "std::panic::",
    "std::thread::lifecycle::",
    "std::thread::spawnhook::",
    "std::thread::Builder",
    "std::sys::thread::",
    "std::sys::pal::",
    "std::sys_common::thread",
    "__rust_try",
    "test::",
];

/// Functions of the C run-time that run before `main` or a thread's closure.
const NATIVE_START_UP: &[&str] = &[
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "main",
    "start_thread",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "__GI___clone3",
    "_dl_start",
    "_dl_start_user",
    "call_init",
    "__libc_csu_init",
];

/// How many frames of no meaning of their own may stand between two that have one.
const MAX_GAP: usize = 4;

/// What trimming asks of a function.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    machinery: bool,
    glue: bool,
    start_up: bool,
    call: bool,
    nameless: bool,
}

impl Part {
    /// What a function is by its name and origin.
    pub fn of(function: &Function) -> Part {
        Part {
            machinery: is_machinery(function),
            glue: is_glue(function),
            start_up: is_start_up(function),
            call: is_call(function),
            nameless: matches!(function.origin, Origin::Unresolved | Origin::Native),
        }
    }
}

/// The frames to show of a stack given outermost first: never empty unless the stack is.
///
/// Kept at the inner end: the innermost function of a collection (`Vec::push`, `String::clone`, `Box::new`).
pub fn trim(stack: &[Part]) -> Range<usize> {
    let Some(last) = stack.len().checked_sub(1) else {
        return 0..0;
    };
    let mut end = stack.len();
    while end > 0 {
        let machinery = stack[..end]
            .iter()
            .rev()
            .take(MAX_GAP + 1)
            .position(|part| part.machinery);
        match machinery {
            Some(gap) if stack[end - gap..end].iter().all(|part| part.glue) => end -= gap + 1,
            _ => break,
        }
    }
    if end == 0 {
        // Nothing but machinery: its innermost frame is the least wrong answer.
        return last..stack.len();
    }

    let mut start = 0;
    let mut started = false;
    while start + 1 < end {
        let part = stack[start];
        if part.start_up {
            started = true;
        } else if !(started && part.call) {
            // A stripped C library leaves nameless frames around the ones we know.
            let known = stack[start + 1..end]
                .iter()
                .take(MAX_GAP)
                .any(|part| part.start_up);
            if !(part.nameless && known) {
                break;
            }
        }
        start += 1;
    }
    start..end
}

/// The path a name begins with, whether or not it is in brackets: `alloc::raw_vec::..` of `<alloc::raw_vec::..>::f`.
fn path(function: &Function) -> &str {
    function
        .name
        .trim_start_matches(['<', '&'])
        .trim_start_matches("mut ")
}

fn is_machinery(function: &Function) -> bool {
    let path = path(function);
    MACHINERY.iter().any(|prefix| path.starts_with(prefix))
        || function.is_own()
        || is_allocator_shim(&function.name)
        // Whoever implements it, a global allocator's method is machinery.
        || function.name.contains(" as core::alloc::global::GlobalAlloc>::")
        || function.name.contains(" as core::alloc::GlobalAlloc>::")
        || function.name.contains(" as core::alloc::Allocator>::")
}

/// Closures and thread-local access between frames of machinery.
fn is_glue(function: &Function) -> bool {
    let path = path(function);
    function.origin == Origin::Std
        && (path.starts_with("core::") || path.starts_with("std::thread::local::"))
}

fn is_start_up(function: &Function) -> bool {
    match function.origin {
        Origin::Native => NATIVE_START_UP.iter().any(|&name| name == function.name),
        Origin::Std => START_UP
            .iter()
            .any(|prefix| path(function).starts_with(prefix)),
        _ => false,
    }
}

/// The call of a closure or function pointer by the standard library.
fn is_call(function: &Function) -> bool {
    let called = strip_generics(last_segment(&function.name));
    let called = called.split("{{").next().unwrap_or(called);
    function.origin == Origin::Std
        && (matches!(called, "call_once" | "call_mut" | "call")
            || function.name.contains("FnOnce::call_once"))
}
