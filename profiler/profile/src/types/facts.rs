//! Facts about single functions, by their names. Each is found once, as thousands of stacks share
//! their functions. This module knows no stacks.

use super::call::Call;
use super::cpp;
use super::merged;
use super::reader;
use crate::containers::is_container_crate;
use crate::name::FunctionName;
use crate::profile::{Function, Origin};

/// The facts about a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// `true` for heapglass itself, and for an allocator of the program.
    pub(super) hook: bool,
    /// `true` for functions between collections and allocators: `alloc::alloc::realloc`,
    /// `__rust_alloc`.
    pub(super) allocation: bool,
    /// `true` for functions of the standard library that may belong to a collection.
    pub(super) collection: bool,
    /// `true` for the standard library and crates of containers.
    pub(super) looked_through: bool,
    /// `true` for a method of such a type by its name, whatever file the debug information gives.
    pub(super) named_for_itself: bool,
    /// `true` if it makes the buffer of a new vector or string, of any element.
    pub(super) new_buffer: bool,
    /// `true` for the buffer below `Vec` and similar types, which does not know its element.
    pub(super) buffer: bool,
    /// `true` for innards of containers. No code of others runs between them and the container.
    pub(super) machinery: bool,
    /// The type that a `Deserialize`, its visitor or a `Clone` makes.
    pub(super) made: Option<String>,
    /// The type that is being read: `next_value<X>`.
    pub(super) read: Option<String>,
    /// The type that a format begins to read: `from_slice<X>`.
    pub(super) entered: Option<String>,
    /// `true` for a visitor's method in the program.
    pub(super) visits: bool,
    /// `true` if any of the four fields above is set.
    pub(super) says_owner: bool,
    /// `true` if its type is the owner wherever the function stands on a stack.
    pub(super) decides_owner: bool,
}

impl Facts {
    pub(super) fn of(function: &Function) -> Facts {
        let name = function.parsed();
        if !name.is_rust() {
            // Below a preloaded library, malloc may have no shim of the compiler around it.
            return Facts {
                hook: name.is_native_allocator(),
                looked_through: name.is_native_std(),
                named_for_itself: true,
                machinery: cpp::is_allocator(&name),
                ..Facts::default()
            };
        }
        let std = function.origin == Origin::Std;
        let closure = name.last().is_some_and(|last| last.text.starts_with('{'));
        let allocation = name.is_allocator_shim()
            || name.begins_with(&[
                "alloc::alloc::",
                "std::alloc::",
                "std::sys::alloc::",
                "core::alloc::",
            ])
            || name.implements().any(|of| of == "core::alloc::Allocator");
        let buffer = name.begins_with(&["alloc::raw_vec::"]);
        let is_visit = || {
            let mut inside = name.segments().iter().skip(1);
            inside.any(|segment| segment.plain.starts_with("visit_"))
        };
        let known = is_container_crate(&function.krate);
        let made = reader::made(&name);
        let read = reader::read_type(&name);
        let entered = (function.origin == Origin::Dependency)
            .then(|| reader::entered(&name))
            .flatten();
        let visits = function.origin == Origin::User && is_visit();
        let is_own = |of: &Option<String>| of.as_deref().is_some_and(reader::is_own);
        Facts {
            hook: function.is_own() || name.implements().any(|of| of.ends_with("GlobalAlloc")),
            allocation,
            collection: std && !name.begins_with(&["core::", "std::thread::local"]),
            looked_through: std || (function.origin == Origin::Dependency && known),
            named_for_itself: is_method_of_containers(&name),
            new_buffer: merged::is_new_buffer(&name),
            buffer,
            machinery: closure
                || buffer
                || allocation
                || name.begins_with(&["alloc::collections::btree::", "hashbrown::raw::"]),
            says_owner: made.is_some() || read.is_some() || entered.is_some() || visits,
            decides_owner: is_own(&made) || is_own(&read) || entered.is_some(),
            made,
            read,
            entered,
            visits,
        }
    }
}

/// Returns `true` for a method of a type of the standard library or of a crate of containers.
fn is_method_of_containers(name: &FunctionName<'_>) -> bool {
    let known = |path: &str| {
        let krate = path.split("::").next().unwrap_or_default();
        matches!(krate, "alloc" | "core" | "std") || is_container_crate(krate)
    };
    Call::of(name)
        .is_some_and(|call| call.method && known(name.path()) && call.implements.is_none_or(known))
}
