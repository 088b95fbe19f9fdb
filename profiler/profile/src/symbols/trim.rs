//! The part of a stack that is worth showing: without the allocator's machinery at the inner end,
//! and without the start-up of the run-time at the outer end. It must never hide the user's own
//! code, and never be empty.
//!
//! `malloc`, its relatives and the allocators of C++ are machinery wherever they are innermost. Every
//! report and every export takes its frames from here.

use std::ops::Range;

use crate::name::FunctionName;
use crate::profile::{Function, Origin, Role};

/// Paths of functions between a collection and the allocator. Those of heapglass are known by
/// crate.
const MACHINERY: &[&str] = &[
    "alloc::alloc::",
    "alloc::raw_vec::",
    "alloc::boxed::box_new",
    "core::alloc::",
    "hashbrown::raw::",
    "std::alloc::",
    "std::sys::alloc::",
    "__rustc::",
];

/// Traits of allocators. Their methods are machinery, whoever implements them.
const ALLOCATORS: &[&str] = &[
    "core::alloc::global::GlobalAlloc",
    "core::alloc::GlobalAlloc",
    "core::alloc::Allocator",
];

/// Paths of functions that run before `main` or a thread's closure.
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

/// Maximum number of meaningless frames between two that have a meaning.
const MAX_GAP: usize = 4;

/// The properties of a function that trimming needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    machinery: bool,
    glue: bool,
    start_up: bool,
    call: bool,
    nameless: bool,
}

impl Part {
    /// Returns the properties of a function, by its name and origin.
    pub(crate) fn of(function: &Function) -> Part {
        let name = function.parsed();
        let origin = function.origin;
        Part {
            machinery: name.begins_with(MACHINERY)
                || function.is_own()
                || name.is_allocator_shim()
                || asks_for_callers(function, &name)
                || name.implements().any(|of| ALLOCATORS.contains(&of)),
            // Closures and thread-local access between frames of machinery.
            glue: origin == Origin::Std && name.begins_with(&["core::", "std::thread::local::"]),
            start_up: match origin {
                Origin::Native => NATIVE_START_UP.contains(&&*function.name),
                Origin::Std => name.begins_with(START_UP),
                _ => false,
            },
            call: origin == Origin::Std && name.is_call(),
            nameless: matches!(origin, Origin::Unresolved | Origin::Native),
        }
    }
}

/// Returns `true` for functions of C and C++ that ask the allocator for whoever called them:
/// `malloc`, `operator new`, `xmalloc`, `std::allocator`.
pub(crate) fn asks_for_callers(function: &Function, name: &FunctionName<'_>) -> bool {
    function.role == Role::Allocator || name.is_cpp_allocator()
}

/// The frames to show of a stack given outermost first: never empty unless the stack is.
///
/// Kept at the inner end: the innermost function of a collection (`Vec::push`, `String::clone`,
/// `Box::new`).
pub(crate) fn trim(stack: &[Part]) -> Range<usize> {
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
        // There is only machinery. Its innermost frame is the least wrong answer.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Language;
    use crate::symbols::role;

    /// Returns what is shown of a stack of C and C++, given outermost first.
    fn shown<'a>(stack: &[&'a str]) -> Vec<&'a str> {
        let part = |name: &&str| {
            let function = Function {
                name: (*name).to_owned(),
                language: Language::Cpp,
                origin: Origin::Native,
                ..Function::default()
            };
            let name = function.parsed();
            let is_std = name.is_native_allocator() || name.is_native_std();
            let mut described = Function {
                origin: if is_std { Origin::Std } else { Origin::Native },
                ..function.clone()
            };
            described.role = role(&described, &name);
            Part::of(&described)
        };
        let parts: Vec<Part> = stack.iter().map(part).collect();
        stack[trim(&parts)].to_vec()
    }

    #[test]
    fn allocators_of_c_and_cpp_are_left_out_where_they_are_innermost() {
        let new = "operator new(unsigned long)";
        assert_eq!(shown(&["work", "make", "malloc"]), ["work", "make"]);
        assert_eq!(shown(&["work", "make", new, "malloc"]), ["work", "make"]);
        let push = "std::vector<int, std::allocator<int> >::push_back(int const&)";
        let allocate = "std::__new_allocator<int>::allocate(unsigned long, void const*)";
        assert_eq!(shown(&["work", push, allocate, new]), ["work", push]);
        assert_eq!(
            shown(&["work", "make", "xmalloc", "malloc"]),
            ["work", "make"]
        );
        assert_eq!(shown(&["work", "strdup", "malloc"]), ["work", "strdup"]);
        // A hook of the program's own inside the allocator is the program's code.
        assert_eq!(
            shown(&["work", "malloc", "hook"]),
            ["work", "malloc", "hook"]
        );
        assert_eq!(shown(&[new, "malloc"]), ["malloc"], "never empty");
    }
}
