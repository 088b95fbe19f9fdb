//! The containers that functions of the standard library, and of well-known crates of containers,
//! ask memory for.
//!
//! If the name says which type a method belongs to, the type decides. If not, the module of its
//! file decides, and the order of the generic arguments there, which is the order of the impl. This
//! module must never answer for a function whose arguments mean something else: without an answer,
//! the next outer frame is asked.

use super::call::{Call, is_whole};
use super::container::{Container, array_element, in_brackets};
use crate::containers::{
    self, BOX, ContainerType, LITERAL, RAW_TABLE, RAW_TABLE_OF_STD, RAW_VEC, STRING, VEC,
};
use crate::name::path_and_arguments;

/// The container that a call is part of; `None` if its name does not say. `std`: the function is in
/// the standard library's own copy. `inner`: the container of the frames inside it.
pub(super) fn container(
    call: &Call<'_>,
    std: bool,
    inner: Option<&Container>,
) -> Option<Container> {
    let found = match &call.of {
        Some(of) => of_type(of, call, std),
        // If the type has unknown parameters, the arguments cannot be trusted either.
        None if call.method => None,
        None => of_module(call, std, inner),
    }?;
    // Paths and similar types also make buffers and handles. Only text inside them is theirs.
    let text = found.of.is_text() && found.of != &STRING;
    (!text || inner.is_some()).then_some(found)
}

/// Functions of `Box`, `Rc` and `Arc` that make a block for one value.
fn makes_one(name: &str) -> bool {
    let plain = name.strip_prefix("try_").unwrap_or(name);
    let made = [
        "new",
        "pin",
        "clone_from_ref",
        "box_new",
        "default",
        "write",
        "from_box",
        "allocate_for_ptr",
        "allocate_for_layout",
        "make_mut",
        "unwrap_or_clone",
        "map",
    ];
    made.iter().any(|made| plain.starts_with(made)) && !makes_slice(name)
}

/// Functions of `Box`, `Rc` and `Arc` that make a block for a slice.
fn makes_slice(name: &str) -> bool {
    let plain = name.strip_prefix("try_").unwrap_or(name);
    matches!(
        plain.trim_end_matches("_in"),
        "new_uninit_slice"
            | "new_zeroed_slice"
            | "allocate_for_slice"
            | "copy_from_slice"
            | "from_slice"
            | "from_iter_exact"
            | "to_rc_slice"
            | "to_arc_slice"
    )
}

fn slice_of(element: &str) -> String {
    format!("[{element}]")
}

/// The container of a kind that is neither a pointer, a buffer nor a table.
fn of_collection(of: &'static ContainerType, arguments: Vec<&str>, call: &Call<'_>) -> Container {
    match (call.name, arguments.as_slice()) {
        ("into_boxed_slice", [element]) if of == &VEC => {
            Container::new(&BOX, [slice_of(element).as_str()])
        }
        ("into_boxed_str", _) if of == &STRING => Container::new(&BOX, ["str"]),
        _ => Container::new(of, arguments),
    }
}

/// Returns the container by the type that the function is a method of.
fn of_type(of: &str, call: &Call<'_>, std: bool) -> Option<Container> {
    let (path, arguments) = path_and_arguments(of);
    // `<T as SpecFromElem>::from_elem`, `<T as ConvertVec>::to_vec`: the type is the element.
    if call
        .implements
        .is_some_and(|of| of.ends_with("::SpecFromElem") || of.ends_with("::ConvertVec"))
    {
        return Some(Container::new(&VEC, [of]));
    }
    if let Some(element) = in_brackets(of) {
        let joins = matches!(call.name, "concat" | "join" | "connect");
        return (!joins && is_whole(element)).then(|| Container::new(&VEC, [element]));
    }
    match (path, arguments.as_slice()) {
        ("alloc::collections::btree::node::Handle", [node, ..])
            if node.starts_with("alloc::collections::btree::") =>
        {
            return of_type(node, call, std);
        }
        ("alloc::collections::btree::node::NodeRef", [_, key, value, ..]) => {
            let map = of_path("alloc::collections::btree::node::LeafNode")?;
            return Some(Container::new(map, [*key, *value]));
        }
        _ => {}
    }
    let found = of_path(path);
    let (of, is_of_module) = match found {
        Some(found) => (found, false),
        None => (of_module_path(path)?, true),
    };
    let count = of.stacks.parameters;
    let has_hasher = !of.stacks.hashers.is_empty() && !is_of_module;
    let needed = match arguments.get(..count) {
        Some(needed) => needed,
        // A map or set is one even if its arguments are missing.
        None if has_hasher => &arguments[..],
        None => return None,
    };
    let more = if is_of_module { 0 } else { of.stacks.more };
    let more = arguments.iter().copied().skip(count).take(more);
    let needed = needed.iter().copied();
    match arguments.as_slice() {
        [held, ..] if of.is_pointer() => of_pointer(of, held, call, false),
        _ if of == &RAW_TABLE => Some(Container::new(table_of(std), needed)),
        _ => Some(of_collection(of, needed.chain(more).collect(), call)),
    }
}

/// Returns the container that asks for memory in the methods of a type.
pub(super) fn of_path(path: &str) -> Option<&'static ContainerType> {
    named().find(|of| of.path == path || of.stacks.also.contains(&path))
}

/// Returns the container that asks for memory in the methods of all types of a module.
fn of_module_path(path: &str) -> Option<&'static ContainerType> {
    named().find(|of| {
        let mut also = of.stacks.also.iter();
        also.any(|module| module.ends_with("::") && path.starts_with(module))
    })
}

/// Returns the containers that stacks name.
fn named() -> impl Iterator<Item = &'static ContainerType> {
    containers::all().filter(|of| of.stacks.is_named)
}

/// `Box`, `Rc` and `Arc` of what they hold, or of an element of it.
fn of_pointer(
    of: &'static ContainerType,
    held: &str,
    call: &Call<'_>,
    is_element: bool,
) -> Option<Container> {
    if makes_slice(call.name) && (is_element || !held.starts_with('[')) {
        return Some(Container::new(of, [slice_of(held).as_str()]));
    }
    // `vec![a, b]`: the box of an array that becomes the buffer of a `Vec`.
    if of == &BOX && call.name == "new_uninit" && array_element(held).is_some() {
        return Some(Container::new(&LITERAL, [held]));
    }
    let names_all = held.starts_with('[')
        || held == "str"
        || matches!(call.name, "from" | "clone" | "from_iter");
    // They also call, poll and print their value. Blocks made there are not theirs.
    let asks = makes_one(call.name) || !is_element && (makes_slice(call.name) || names_all);
    // An error made of a string: the box holds that value, and is another block.
    let is_dyn = held.starts_with("dyn ") || held.starts_with("(dyn ");
    (asks && !is_dyn).then(|| Container::new(of, [held]))
}

fn table_of(std: bool) -> &'static ContainerType {
    if std { &RAW_TABLE_OF_STD } else { &RAW_TABLE }
}

/// Returns the container by the module of a function without a type: free functions, and all
/// functions of builds without linkage names.
fn of_module(call: &Call<'_>, std: bool, inner: Option<&Container>) -> Option<Container> {
    let is_in = |module: &str| {
        let rest = call.module.strip_prefix(module);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let of = named().find(|of| {
        let also = of.stacks.also.iter().copied();
        let mut of_types = also
            .chain([of.path])
            .filter_map(|path| path.rsplit_once("::"))
            // Classes of C++ are in one namespace, whose name is that of Rust's library.
            .filter(|(module, _)| *module != "std");
        of.stacks.modules.iter().any(|module| is_in(module))
            || of_types.any(|(module, _)| is_in(module))
    })?;
    let is_except = |except: &&str| {
        let function = except.rsplit_once("::");
        is_in(except) || function.is_some_and(|(module, name)| name == call.name && is_in(module))
    };
    if of.stacks.except.iter().any(is_except) {
        return None;
    }
    // Reads into the bytes of a string, and other functions.
    let reads = matches!(call.name, "append_to_string" | "default_read_to_string");
    if is_in("std::io") && !(reads && inner.is_some()) {
        return None;
    }
    if of.is_pointer() {
        return pointer_of_module(of, call, inner);
    }
    // Without its type a buffer or table has one argument, the allocator.
    if of == &RAW_VEC || of == &RAW_TABLE {
        let element = call.argument(0).filter(|element| !is_allocator(element))?;
        let (of, is_typed) = if of == &RAW_VEC {
            (of, call.name.starts_with("with_capacity"))
        } else {
            (table_of(std), element.starts_with('('))
        };
        return (is_typed || call.arguments.len() >= 2).then(|| Container::new(of, [element]));
    }
    let count = of.stacks.parameters;
    let needed: Option<Vec<&str>> = (0..count).map(|at| call.argument(at)).collect();
    let hasher = call
        .argument(count)
        .filter(|_| !of.stacks.hashers.is_empty() && names_hasher(call.name));
    let arguments = needed?.into_iter().chain(hasher);
    Some(of_collection(of, arguments.collect(), call))
}

/// `Box`, `Rc` and `Arc` by the module of a function.
fn pointer_of_module(
    of: &'static ContainerType,
    call: &Call<'_>,
    inner: Option<&Container>,
) -> Option<Container> {
    if matches!(call.name, "from" | "clone" | "from_iter") {
        // Many functions have these names. The container inside says which one it is.
        let inner = inner?;
        let vector = inner.of == &VEC || inner.of == &RAW_VEC;
        let bytes = inner.arguments.first().is_some_and(|held| held == "[u8]") && inner.of == of;
        return match call.argument(0) {
            Some(element) if vector && of == &BOX => {
                Some(Container::new(of, [slice_of(element).as_str()]))
            }
            // From `&str` or `String`.
            None if call.arguments.is_empty() && (bytes || inner.of == &STRING) => {
                Some(Container::new(of, ["str"]))
            }
            _ => None,
        };
    }
    let held = call.argument(0).filter(|held| !is_allocator(held))?;
    of_pointer(of, held, call, true)
}

/// Returns `true` if the argument after key and value is the hasher, not an argument of the
/// function itself.
fn names_hasher(name: &str) -> bool {
    matches!(
        name,
        "insert"
            | "reserve"
            | "try_reserve"
            | "reserve_rehash"
            | "extend"
            | "from_iter"
            | "with_capacity_and_hasher"
            | "clone"
            | "entry"
            | "entry_ref"
            | "rustc_entry"
            | "shrink_to"
            | "shrink_to_fit"
            | "find_or_find_insert_index"
            | "insert_unique_unchecked"
            | "insert_full"
            | "replace"
            | "get_or_insert_with"
    )
}

/// The allocators that stand where an element would.
fn is_allocator(name: &str) -> bool {
    name.trim_start_matches('&').ends_with("::Global")
}
