//! What a stack says its block holds: from the allocator outward, through the standard library, up to the first
//! frame of the program or of a dependency.
//!
//! The innermost container begins; one further out takes its place only when it is made of it (a `String` of a
//! `Vec<u8>`), so a `Vec<String>` never claims the bytes of the strings that are made while it is filled. Without
//! debug information nothing is said: the names of a symbol table alone are those of functions that survived
//! inlining, and would give plausible, wrong types.

use super::call::{Call, path_and_arguments};
use super::container::{Container, Kind};
use super::{owner, rules};
use crate::profile::{Function, Origin};
use crate::symbols::is_allocator_shim;

/// A frame, as much of it as types need.
#[derive(Clone, Copy, Debug)]
pub struct StackFrame<'a> {
    /// The function.
    pub function: &'a Function,
    /// Whether the compiler inlined it into the next outer frame.
    pub inlined: bool,
    /// Whether debug information describes it: a symbol table knows no files.
    pub has_file: bool,
}

/// What a stack says its block holds: full names, not yet spelled one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The container that asked for the block.
    pub container: String,
    /// What one element is; an entry of a map is `(K, V)`.
    pub element: Option<String>,
    /// The type being deserialized, or cloned, when it asked.
    pub owner: Option<String>,
}

/// The hook and the allocator are within this many frames, inlined ones included.
const MAX_HOOK: usize = 48;
/// Frames of an allocator of the program's own, around or inside ours, up to the compiler's shim.
const MAX_FOREIGN: usize = 8;

/// What the block of a stack holds, frames given innermost first; `None` where the stack does not tell.
pub fn contents(stack: &[StackFrame<'_>]) -> Option<Told> {
    let stack = stack.get(hook_frames(stack)..)?;
    let end = stack
        .iter()
        .position(|frame| !is_looked_through(frame.function))
        .unwrap_or(stack.len());
    let (inside, outside) = stack.split_at_checked(end)?;
    // The program's own code must be described, or its inlined callees are missing from the stack.
    if outside.first().is_some_and(|frame| {
        !frame.has_file && matches!(frame.function.origin, Origin::User | Origin::Dependency)
    }) {
        return None;
    }
    let mut found: Option<Container> = None;
    let mut buffer = false;
    // Whether the container last met was called by the next outer one itself.
    let mut direct = true;
    for frame in inside {
        let function = frame.function;
        let std = function.origin == Origin::Std;
        buffer |= is_buffer(&function.name);
        let outer = Call::parse(&function.name)
            .filter(|_| frame.has_file)
            .and_then(|call| rules::container(&call, std, found.as_ref()));
        match (outer, &found) {
            (Some(outer), Some(inner)) => match inner.within(&outer, direct) {
                Some(container) => {
                    found = Some(container);
                    direct = true;
                }
                None => break,
            },
            (Some(outer), None) => {
                found = Some(outer);
                direct = true;
            }
            (None, _) => direct &= is_machinery(&function.name),
        }
        if !frame.inlined
            && let Some(found) = &mut found
        {
            found.shared = true;
        }
    }
    let container = match found {
        Some(container) => container,
        None if buffer => from_serde(outside)?,
        None => return None,
    };
    Some(Told {
        container: container.name(),
        element: container.element(),
        owner: owner::owner(outside),
    })
}

/// The standard library, and crates of containers.
fn is_looked_through(function: &Function) -> bool {
    match function.origin {
        Origin::Std => true,
        Origin::Dependency => rules::CONTAINER_CRATES.contains(&function.krate.as_str()),
        _ => false,
    }
}

/// How many frames at the inner end are heapglass, the program's allocators and the shims between.
fn hook_frames(stack: &[StackFrame<'_>]) -> usize {
    let mut end = 0;
    let mut below_collections = false;
    for (at, frame) in stack.iter().enumerate().take(MAX_HOOK) {
        let function = frame.function;
        if is_allocator_shim(&function.name) || is_allocation(&function.name) {
            below_collections = true;
            end = at + 1;
        } else if is_hook(function) {
            end = at + 1;
        } else if below_collections || at - end >= MAX_FOREIGN || is_collection(function) {
            break;
        }
    }
    end
}

/// heapglass itself, or an allocator of the program's.
fn is_hook(function: &Function) -> bool {
    matches!(
        function.krate.as_str(),
        "tracking_alloc" | "tracking_alloc_recording"
    ) || function.name.contains("GlobalAlloc>::")
}

/// What every collection calls to allocate.
fn is_allocation(name: &str) -> bool {
    let path = name.trim_start_matches('<');
    [
        "alloc::alloc::",
        "std::alloc::",
        "std::sys::alloc::",
        "core::alloc::",
    ]
    .iter()
    .any(|start| path.starts_with(start))
        || name.contains(" as core::alloc::Allocator>::")
}

/// A function of the standard library that may be a collection's.
fn is_collection(function: &Function) -> bool {
    let path = function.name.trim_start_matches('<');
    function.origin == Origin::Std
        && !["core::", "std::thread::local"]
            .iter()
            .any(|start| path.starts_with(start))
}

/// Innards of containers, with nothing of others between them and the container.
fn is_machinery(name: &str) -> bool {
    let path = name.trim_start_matches('<');
    let closure = name
        .rsplit("::")
        .next()
        .is_some_and(|last| last.starts_with('{'));
    closure
        || is_buffer(name)
        || is_allocation(name)
        || ["alloc::collections::btree::", "hashbrown::raw::"]
            .iter()
            .any(|start| path.starts_with(start))
}

/// The buffer below `Vec` and its like where it does not know its type.
fn is_buffer(name: &str) -> bool {
    name.trim_start_matches('<').starts_with("alloc::raw_vec::")
}

/// A growing buffer whose own frames tell no type, in the middle of a serde access: what is being read is it.
fn from_serde(outside: &[StackFrame<'_>]) -> Option<Container> {
    let read = outside
        .iter()
        .find_map(|frame| owner::read_type(&frame.function.name))?;
    let (path, arguments) = path_and_arguments(&read);
    let first = arguments.first().copied();
    match path {
        "alloc::vec::Vec" => Some(Container::new(Kind::Vec, [first?])),
        "alloc::collections::vec_deque::VecDeque" => Some(Container::new(Kind::VecDeque, [first?])),
        "alloc::string::String" => Some(Container::new(Kind::Text(super::container::STRING), [])),
        _ => None,
    }
}
