//! Finds the frame of a stack that its blocks are charged to.
//!
//! It must never be a frame of the standard library, a format or a container if anything else is on
//! the stack: nobody can change a program there.

use super::functions::Own;
use crate::profile::{Function, Group, Origin, Role};
use crate::symbols;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// The properties of a function that decide whether it owns blocks.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    origin: Origin,
    role: Role,
    /// A hash of the name of its crate.
    krate: u64,
    /// Another crate may have been given it to run.
    is_handed_over: bool,
    /// `true` if it belongs to heapglass.
    pub(super) is_own: bool,
    /// `true` if it is a function, not a replacement for a stack.
    is_named: bool,
    /// `true` if it is in a shared library.
    is_in_library: bool,
    /// `true` for a function of C or C++ that asks the allocator for its callers.
    asks_for_callers: bool,
    /// `true` if the program is an interpreter, and this is neither code of it nor of the libraries
    /// that every program has.
    is_outside: bool,
    /// `true` if only the image is known, and an offset in it.
    is_nameless: bool,
    /// `true` for the run-time library of C++.
    is_cpp_runtime: bool,
    /// `true` for the function that runs the constructors of libraries.
    is_loader: bool,
}

impl Claim {
    pub(super) fn of(function: &Function, own: &Own) -> Claim {
        let mut krate = DefaultHasher::new();
        function.krate.hash(&mut krate);
        let name = function.parsed();
        Claim {
            origin: function.origin,
            role: function.role,
            krate: krate.finish(),
            is_handed_over: symbols::is_handed_over(&name),
            is_own: function.is_own(),
            is_named: !function.name.starts_with('('),
            is_in_library: function.krate.contains(".so"),
            asks_for_callers: symbols::asks_for_callers(function, &name),
            is_outside: own
                .interpreter
                .as_ref()
                .is_some_and(|interpreter| !interpreter.owns(&function.krate)),
            is_nameless: function.origin == Origin::Unresolved,
            is_cpp_runtime: symbols::is_cpp_runtime(&function.krate),
            is_loader: symbols::is_loader(function),
        }
    }

    /// Returns `true` for a function that hands a block to its caller.
    fn hands_on(&self) -> bool {
        matches!(self.role, Role::Allocator | Role::Wrapper)
    }

    fn is_dependency(&self) -> bool {
        self.origin == Origin::Dependency && !self.is_own
    }
}

/// The frame that owns the blocks of a stack given outermost first, of those shown; or the group
/// that does.
pub(super) fn owner(stack: &[Claim], shown: Range<usize>) -> (Option<usize>, Option<Group>) {
    let find = |within: Range<usize>, wanted: &dyn Fn(&Claim) -> bool| {
        let inside = stack.get(within.clone()).unwrap_or_default();
        Some(within.start + inside.iter().rposition(wanted)?)
    };
    let last_own = find(shown.clone(), &|claim| claim.origin == Origin::User);
    let last = shown.clone().next_back();
    // Whoever panics did not ask for the debug information of all images. A backtrace that the
    // program takes is the program's: an error that stores one, for example. An allocator of the
    // program's own may be inside.
    if let Some(backtrace) = stack.iter().position(|claim| claim.role == Role::Backtrace)
        && stack[..backtrace]
            .iter()
            .any(|claim| claim.role == Role::Panic)
    {
        let asked = find(
            shown.start..backtrace.clamp(shown.start, shown.end),
            &|claim| claim.origin == Origin::User,
        );
        return (asked.or(last), Some(Group::Backtrace));
    }
    // A hook of the program's own works for the program.
    if let Some(panic) = stack.iter().position(|claim| claim.role == Role::Panic)
        && last_own.is_none_or(|own| own < panic)
    {
        return (last_own.or(last), Some(Group::Panic));
    }
    // The line that began it: neither that of a derive, nor of a visitor that a format called.
    let began = find(shown.clone(), &|claim| {
        claim.origin == Origin::User && claim.role != Role::Callback && !claim.hands_on()
    });
    if began.is_some() {
        return (began, None);
    }
    let named = |claim: &Claim| claim.is_dependency() && claim.role != Role::Service;
    // What a format calls back is the program's only where no other crate called the format.
    let asking = match last_own {
        Some(_) => {
            let first = stack.iter().position(|claim| claim.role == Role::Callback);
            let end = first.unwrap_or(shown.end).clamp(shown.start, shown.end);
            find(shown.start..end, &named)
        }
        None => {
            let working = working_crate(stack.get(shown.clone()).unwrap_or_default(), named);
            find(shown.clone(), &|claim| {
                named(claim) && Some(claim.krate) == working
            })
        }
    };
    let nearest = asking
        .or(last_own)
        .or_else(|| find(shown.clone(), &Claim::is_dependency));
    if nearest.is_some() {
        return (nearest, None);
    }
    // Only `malloc` of a preloaded library has a caller that is neither Rust's nor the program's by
    // name. The executable owns before the libraries do.
    let asked = stack.get(shown.end).or(stack.last());
    if asked.is_some_and(|asked| asked.asks_for_callers) {
        // What the run-time of C++ asks for before the program begins is nobody's: its pool for
        // exceptions.
        let loader = stack[..shown.end].iter().rposition(|claim| claim.is_loader);
        let since = loader.map(|loader| &stack[loader + 1..shown.end]);
        if since.is_some_and(|since| {
            !since.is_empty() && since.iter().all(|claim| claim.is_cpp_runtime)
        }) {
            return (shown.clone().next_back(), Some(Group::Runtime));
        }
        let is_native = |claim: &Claim| matches!(claim.origin, Origin::Unresolved | Origin::Native);
        let is_code = |claim: &Claim| is_native(claim) && !claim.hands_on();
        let code = find(shown.clone(), &|claim| is_code(claim) && claim.is_outside)
            .and_then(|at| outermost_named(stack, shown.clone(), at))
            .or_else(|| {
                find(shown.clone(), &|claim| {
                    is_code(claim) && !claim.is_in_library
                })
            })
            .or_else(|| find(shown.clone(), &is_code))
            .or_else(|| find(shown.clone(), &is_native));
        if code.is_some() {
            return (code, None);
        }
    }
    let std = stack.iter().any(|claim| claim.origin == Origin::Std);
    let named = stack.iter().any(|claim| claim.is_named);
    (last, (std && named).then_some(Group::Runtime))
}

/// The frame at an index if it has a name; else the nearest one around it that has, of the same
/// image: a library without symbols is known by the functions that it exports.
fn outermost_named(stack: &[Claim], shown: Range<usize>, at: usize) -> Option<usize> {
    let image = stack.get(at)?.krate;
    let around = stack.get(shown.start..=at)?.iter().rev();
    let same = around.take_while(|claim| claim.krate == image);
    let named = same.take_while(|claim| claim.is_nameless).count();
    let outer = at.checked_sub(named).filter(|outer| *outer >= shown.start);
    Some(
        outer
            .filter(|outer| stack[*outer].krate == image && !stack[*outer].hands_on())
            .unwrap_or(at),
    )
}

/// The crate that a thread of a dependency's works for: the one that its stack begins in, whatever
/// that calls, up to where it runs what another crate handed to it.
fn working_crate(stack: &[Claim], named: impl Fn(&Claim) -> bool) -> Option<u64> {
    let mut working = None;
    let mut caller = None;
    for claim in stack.iter().filter(|claim| named(claim)) {
        if working.is_none() || (claim.is_handed_over && caller != Some(claim.krate)) {
            working = Some(claim.krate);
        }
        caller = Some(claim.krate);
    }
    working
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Interpreter;

    fn function(name: &str, krate: &str, origin: Origin, role: Role) -> Function {
        Function {
            name: name.into(),
            krate: krate.into(),
            origin,
            role,
            ..Function::default()
        }
    }

    fn of(stack: &[Function]) -> (Option<usize>, Option<Group>) {
        let own = Own::default();
        let stack: Vec<Claim> = stack
            .iter()
            .map(|function| Claim::of(function, &own))
            .collect();
        owner(&stack, 0..stack.len())
    }

    #[test]
    fn the_line_that_began_to_read_owns_what_a_derive_allocates() {
        let stack = [
            function("app::main", "app", Origin::User, Role::Plain),
            function(
                "serde_json::from_str",
                "serde_json",
                Origin::Dependency,
                Role::Service,
            ),
            function("app::_::visit_map", "app", Origin::User, Role::Callback),
            function("Vec::push", "alloc", Origin::Std, Role::Plain),
        ];
        assert_eq!(of(&stack), (Some(0), None));
        assert_eq!(
            of(&stack[1..]),
            (Some(1), None),
            "nothing else of the program"
        );
        let axum = function(
            "axum::Json::from_bytes",
            "axum",
            Origin::Dependency,
            Role::Plain,
        );
        let [_, format, visitor, push] = stack;
        assert_eq!(
            of(&[axum, format, visitor, push]),
            (Some(0), None),
            "who asked"
        );
    }

    #[test]
    fn a_thread_of_a_dependency_is_owned_by_the_nearest_frame_of_the_crate_that_it_begins_in() {
        let stack = [
            function(
                "ignore::Worker::run",
                "ignore",
                Origin::Dependency,
                Role::Plain,
            ),
            function(
                "ignore::read_dir",
                "ignore",
                Origin::Dependency,
                Role::Plain,
            ),
            function(
                "hashbrown::insert",
                "hashbrown",
                Origin::Dependency,
                Role::Service,
            ),
            function("Vec::push", "alloc", Origin::Std, Role::Plain),
        ];
        assert_eq!(of(&stack), (Some(1), None));
        assert_eq!(of(&stack[2..]), (Some(0), None), "better than std");
        let deque = function(
            "crossbeam_deque::Buffer::alloc",
            "crossbeam_deque",
            Origin::Dependency,
            Role::Plain,
        );
        let task = [
            function(
                "tokio::Core::poll",
                "tokio",
                Origin::Dependency,
                Role::Plain,
            ),
            function(
                "<hyper::Connection as core::future::future::Future>::poll",
                "hyper",
                Origin::Dependency,
                Role::Plain,
            ),
            function("hyper::read", "hyper", Origin::Dependency, Role::Plain),
            deque.clone(),
            function(
                "crossbeam_deque::Buffer::alloc::{{closure}}",
                "crossbeam_deque",
                Origin::Dependency,
                Role::Plain,
            ),
        ];
        assert_eq!(of(&task), (Some(2), None), "what it was given to run");
        let [run, read_dir, insert, push] = stack;
        assert_eq!(
            of(&[insert.clone(), run, read_dir, deque, push]),
            (Some(2), None),
            "a format or a container begins nothing"
        );
    }

    #[test]
    fn a_backtrace_of_a_panic_is_a_group_and_one_that_the_program_takes_is_not() {
        let main = function("app::main", "app", Origin::User, Role::Plain);
        let error = function(
            "anyhow::Error::new",
            "anyhow",
            Origin::Dependency,
            Role::Plain,
        );
        let walk = function(
            "std::backtrace_rs::backtrace::libunwind::trace",
            "std",
            Origin::Std,
            Role::Backtrace,
        );
        let unwinder = function(
            "_Unwind_Backtrace",
            "libgcc_s.so.1",
            Origin::Native,
            Role::Plain,
        );
        let allocator = function("app::Counting::alloc", "app", Origin::User, Role::Plain);
        let panic = function(
            "std::panicking::default_hook",
            "std",
            Origin::Std,
            Role::Panic,
        );
        let stack = [main, panic, walk, unwinder, allocator];
        assert_eq!(of(&stack), (Some(0), Some(Group::Backtrace)));
        assert_eq!(of(&stack[1..4]), (Some(2), Some(Group::Backtrace)));
        let [main, _, walk, unwinder, _] = stack;
        assert_eq!(of(&[main, error, walk, unwinder]), (Some(0), None));
    }

    #[test]
    fn a_wrapper_owns_nothing_where_another_function_can() {
        let native = |name, role| function(name, "prog", Origin::User, role);
        let main = native("main", Role::Plain);
        let copy = native("xstrdup", Role::Wrapper);
        assert_eq!(of(&[main, copy.clone()]), (Some(0), None));
        assert_eq!(of(&[copy]), (Some(0), None), "nothing else can");
    }

    #[test]
    fn the_pool_of_the_run_time_of_cpp_is_of_the_start() {
        let malloc = function("malloc", "libc.so.6", Origin::Std, Role::Allocator);
        let pool = function("x", "libstdc++.so.6.0.30", Origin::Unresolved, Role::Plain);
        let init = function(
            "call_init",
            "ld-linux-x86-64.so.2",
            Origin::Native,
            Role::Plain,
        );
        let main = function("main", "prog", Origin::Native, Role::Plain);
        let of = |stack: &[&Function]| {
            let stack: Vec<Claim> = stack
                .iter()
                .map(|of| Claim::of(of, &Own::default()))
                .collect();
            owner(&stack, 0..stack.len() - 1)
        };
        assert_eq!(
            of(&[&init, &pool, &malloc]),
            (Some(1), Some(Group::Runtime))
        );
        assert_eq!(of(&[&main, &pool, &malloc]), (Some(0), None));
        assert_eq!(of(&[&init, &main, &malloc]).1, None);
    }

    #[test]
    fn an_interpreter_owns_nothing_where_a_library_that_it_loaded_can() {
        let own = Own {
            interpreter: Interpreter::of("python3.11"),
            ..Own::default()
        };
        let native = |name: &str, krate| function(name, krate, Origin::Native, Role::Plain);
        let nameless = |krate| function("x", krate, Origin::Unresolved, Role::Plain);
        let mut malloc = function("malloc", "libc.so.6", Origin::Std, Role::Allocator);
        malloc.language = crate::profile::Language::Cpp;
        let of = |stack: &[Function]| {
            let stack: Vec<Claim> = stack.iter().map(|of| Claim::of(of, &own)).collect();
            owner(&stack, 0..stack.len() - 1).0
        };
        let main = native("Py_RunMain", "python3.11");
        let dumps = native("dumps", "orjson.so");
        let hidden = nameless("orjson.so");
        let bytes = native("PyBytes_FromStringAndSize", "python3.11");
        let read = native("getdelim", "libc.so.6");
        for (stack, expected) in [
            (vec![&main, &dumps, &bytes, &malloc], 1),
            (vec![&main, &dumps, &hidden, &hidden, &malloc], 1),
            (vec![&main, &hidden, &hidden, &bytes, &malloc], 2),
            (vec![&main, &dumps, &read, &malloc], 1),
            (vec![&main, &bytes, &malloc], 1),
        ] {
            let stack: Vec<Function> = stack.into_iter().cloned().collect();
            assert_eq!(of(&stack), Some(expected), "{stack:?}");
        }
    }

    #[test]
    fn std_alone_is_a_group_and_so_is_a_panic_but_not_a_hook_of_the_program() {
        let std = function("std::thread::Thread::new", "std", Origin::Std, Role::Plain);
        assert_eq!(
            of(std::slice::from_ref(&std)),
            (Some(0), Some(Group::Runtime))
        );
        let main = function("app::main", "app", Origin::User, Role::Plain);
        let panic = function(
            "std::panicking::default_hook",
            "std",
            Origin::Std,
            Role::Panic,
        );
        let hook = function("app::hook", "app", Origin::User, Role::Plain);
        let stack = [main, panic, hook];
        assert_eq!(of(&stack[..2]), (Some(0), Some(Group::Panic)));
        assert_eq!(of(&stack), (Some(2), None));
        assert_eq!(of(&[]), (None, None));
    }
}
