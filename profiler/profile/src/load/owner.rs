//! Finds the frame of a stack that its blocks are charged to.
//!
//! It must never be a frame of the standard library, a format or a container if anything else is on
//! the stack: nobody can change a program there.

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
}

impl Claim {
    pub(super) fn of(function: &Function) -> Claim {
        let mut krate = DefaultHasher::new();
        function.krate.hash(&mut krate);
        Claim {
            origin: function.origin,
            role: function.role,
            krate: krate.finish(),
            is_handed_over: symbols::is_handed_over(&function.parsed()),
            is_own: function.is_own(),
            is_named: !function.name.starts_with('('),
            is_in_library: function.krate.contains(".so"),
        }
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
        claim.origin == Origin::User && claim.role != Role::Callback
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
    if last.is_some_and(|at| stack[at].role == Role::Allocator) {
        let is_code = |claim: &Claim| matches!(claim.origin, Origin::Unresolved | Origin::Native);
        let code = find(shown.clone(), &|claim| {
            is_code(claim) && !claim.is_in_library
        })
        .or_else(|| find(shown.clone(), &is_code));
        if code.is_some() {
            return (code, None);
        }
    }
    let std = stack.iter().any(|claim| claim.origin == Origin::Std);
    let named = stack.iter().any(|claim| claim.is_named);
    (last, (std && named).then_some(Group::Runtime))
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
        let stack: Vec<Claim> = stack.iter().map(Claim::of).collect();
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
