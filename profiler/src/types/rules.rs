//! The containers that functions of the standard library, and of well-known crates of containers,
//! ask memory for.
//!
//! If the name says which type a method belongs to, the type decides. If not, the module of its
//! file decides, and the order of the generic arguments there, which is the order of the impl. This
//! module must never answer for a function whose arguments mean something else: without an answer,
//! the next outer frame is asked.

use super::call::{Call, is_whole};
use super::container::{
    BROWN_MAP, C_STRING, Container, Kind, STD_MAP, STRING, TYPES, array_element, in_brackets,
};
use crate::name::path_and_arguments;

/// Crates whose frames are looked through like the standard library's.
pub(super) const CONTAINER_CRATES: [&str; 5] = [
    "hashbrown",
    "indexmap",
    "smallvec",
    "bumpalo",
    "allocator_api2",
];

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
    let text = matches!(found.kind, Kind::Text(path) if path != STRING);
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
fn of_collection(kind: Kind, arguments: Vec<&str>, call: &Call<'_>) -> Container {
    match (kind, call.name, arguments.as_slice()) {
        (Kind::Vec, "into_boxed_slice", [element]) => {
            Container::new(Kind::Box, [slice_of(element).as_str()])
        }
        (Kind::Text(STRING), "into_boxed_str", _) => Container::new(Kind::Box, ["str"]),
        _ => Container::new(kind, arguments),
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
        return Some(Container::new(Kind::Vec, [of]));
    }
    if let Some(element) = in_brackets(of) {
        let joins = matches!(call.name, "concat" | "join" | "connect");
        return (!joins && is_whole(element)).then(|| Container::new(Kind::Vec, [element]));
    }
    match (path, arguments.as_slice()) {
        ("smallvec::SmallVec", _) => return Some(Container::new(Kind::Other, [of])),
        ("bumpalo::Bump", _) => return Some(Container::new(Kind::Other, ["bumpalo::Bump"])),
        ("alloc::collections::btree::node::Handle", [node, ..])
            if node.starts_with("alloc::collections::btree::") =>
        {
            return of_type(node, call, std);
        }
        ("alloc::collections::btree::node::NodeRef", [_, key, value, ..]) => {
            return Some(Container::new(Kind::BTreeMap, [*key, *value]));
        }
        _ => {}
    }
    let is_path = |known: &str| path == known || known.ends_with("::") && path.starts_with(known);
    let &(known, kind) = TYPES.iter().find(|(known, _)| is_path(known))?;
    let count = kind.parameters();
    let has_hasher = kind.has_hasher() && !known.ends_with("::");
    let needed = match arguments.get(..count) {
        Some(needed) => needed,
        // A map or set is one even if its arguments are missing.
        None if has_hasher => &arguments[..],
        None => return None,
    };
    let needed = needed.iter().copied();
    match (kind, arguments.as_slice()) {
        (Kind::Box | Kind::Rc | Kind::Arc, [held, ..]) => of_pointer(kind, held, call, false),
        (Kind::Table(_), _) => Some(Container::new(Kind::Table(map_of(std)), needed)),
        _ => {
            let hasher = arguments.get(count).copied().filter(|_| has_hasher);
            Some(of_collection(kind, needed.chain(hasher).collect(), call))
        }
    }
}

/// `Box`, `Rc` and `Arc` of what they hold, or of an element of it.
fn of_pointer(kind: Kind, held: &str, call: &Call<'_>, is_element: bool) -> Option<Container> {
    if makes_slice(call.name) && (is_element || !held.starts_with('[')) {
        return Some(Container::new(kind, [slice_of(held).as_str()]));
    }
    // `vec![a, b]`: the box of an array that becomes the buffer of a `Vec`.
    if kind == Kind::Box && call.name == "new_uninit" && array_element(held).is_some() {
        return Some(Container::new(Kind::Literal, [held]));
    }
    let names_all = held.starts_with('[')
        || held == "str"
        || matches!(call.name, "from" | "clone" | "from_iter");
    // They also call, poll and print their value. Blocks made there are not theirs.
    let asks = makes_one(call.name) || !is_element && (makes_slice(call.name) || names_all);
    // An error made of a string: the box holds that value, and is another block.
    let is_dyn = held.starts_with("dyn ") || held.starts_with("(dyn ");
    (asks && !is_dyn).then(|| Container::new(kind, [held]))
}

fn map_of(std: bool) -> &'static str {
    if std { STD_MAP } else { BROWN_MAP }
}

/// Modules in addition to those of [`TYPES`], with the container that asks for memory in functions
/// there.
const MODULES: &[(&str, Kind)] = &[
    ("alloc::slice", Kind::Vec),
    ("alloc::collections::btree::append", Kind::BTreeMap),
    ("alloc::collections::btree::fix", Kind::BTreeMap),
    ("alloc::collections::btree::split", Kind::BTreeMap),
    ("alloc::str", Kind::Text(STRING)),
    ("alloc::fmt", Kind::Text(STRING)),
    ("std::io", Kind::Text(STRING)),
    ("std::ffi::c_str", Kind::Text(C_STRING)),
    ("smallvec", Kind::Other),
    ("bumpalo", Kind::Other),
];

/// Returns the container by the module of a function without a type: free functions, and all
/// functions of builds without linkage names.
fn of_module(call: &Call<'_>, std: bool, inner: Option<&Container>) -> Option<Container> {
    let is_in = |module: &str| {
        let rest = call.module.strip_prefix(module);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let of_types = TYPES
        .iter()
        .filter_map(|&(of, kind)| Some((of.rsplit_once("::")?.0, kind)));
    let mut modules = MODULES.iter().copied().chain(of_types);
    let (module, kind) = modules.find(|(module, _)| is_in(module))?;
    let first = || call.argument(0);
    match (module, call.name) {
        // Iterator first.
        ("alloc::vec", "from_iter_in_place" | "splice" | "drain" | "drop") => return None,
        ("alloc::vec", _) if is_in("alloc::vec::splice") || is_in("alloc::vec::drain") => {
            return None;
        }
        ("alloc::slice", "concat" | "join" | "connect") => return None,
        // Reads into the bytes of a string.
        ("std::io", "append_to_string" | "default_read_to_string") if inner.is_some() => {}
        ("std::io", _) => return None,
        ("smallvec", _) => {
            let full = format!("smallvec::SmallVec<{}>", first()?);
            return Some(Container::new(kind, [full.as_str()]));
        }
        ("bumpalo", _) => {
            let bump = !is_in("bumpalo::collections");
            return bump.then(|| Container::new(kind, ["bumpalo::Bump"]));
        }
        _ => {}
    }
    match kind {
        Kind::Box | Kind::Rc | Kind::Arc => pointer_of_module(kind, call, inner),
        // Without its type a buffer or table has one argument, the allocator.
        Kind::Buffer | Kind::Table(_) => {
            let element = first().filter(|element| !is_allocator(element))?;
            let (kind, is_typed) = match kind {
                Kind::Buffer => (kind, call.name.starts_with("with_capacity")),
                _ => (Kind::Table(map_of(std)), element.starts_with('(')),
            };
            (is_typed || call.arguments.len() >= 2).then(|| Container::new(kind, [element]))
        }
        _ => {
            let count = kind.parameters();
            let needed: Option<Vec<&str>> = (0..count).map(|at| call.argument(at)).collect();
            let hasher = call.argument(count);
            let hasher = hasher.filter(|_| kind.has_hasher() && names_hasher(call.name));
            let arguments = needed?.into_iter().chain(hasher);
            Some(of_collection(kind, arguments.collect(), call))
        }
    }
}

/// `Box`, `Rc` and `Arc` by the module of a function.
fn pointer_of_module(kind: Kind, call: &Call<'_>, inner: Option<&Container>) -> Option<Container> {
    if matches!(call.name, "from" | "clone" | "from_iter") {
        // Many functions have these names. The container inside says which one it is.
        let inner = inner?;
        let vector = matches!(inner.kind, Kind::Vec | Kind::Buffer);
        let bytes =
            inner.arguments.first().is_some_and(|held| held == "[u8]") && inner.kind == kind;
        return match call.argument(0) {
            Some(element) if vector && kind == Kind::Box => {
                Some(Container::new(kind, [slice_of(element).as_str()]))
            }
            // From `&str` or `String`.
            None if call.arguments.is_empty() && (bytes || inner.kind == Kind::Text(STRING)) => {
                Some(Container::new(kind, ["str"]))
            }
            _ => None,
        };
    }
    let held = call.argument(0).filter(|held| !is_allocator(held))?;
    of_pointer(kind, held, call, true)
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
