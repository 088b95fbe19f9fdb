//! Which container a function of the standard library (or of a well-known crate of containers) asks memory for.
//!
//! The type a method belongs to decides where the name tells it; else the module its file is in, and the order of
//! the generic arguments there, which is the order of the impl's. It must never answer for a function whose
//! arguments mean something else: no answer, and the next outer frame is asked.

use super::call::{Call, is_whole, path_and_arguments};
use super::container::{
    BROWN_MAP, BROWN_SET, C_STRING, Container, Kind, OS_STRING, PATH_BUF, STD_MAP, STD_SET, STRING,
    array_element,
};

/// Crates whose frames are looked through like the standard library's.
pub(super) const CONTAINER_CRATES: [&str; 5] = [
    "hashbrown",
    "indexmap",
    "smallvec",
    "bumpalo",
    "allocator_api2",
];

/// The container that a call is part of; `None`: it does not say. `std` = it is in the standard library's own copy;
/// `inner` = what the frames inside it are of.
pub(super) fn container(
    call: &Call<'_>,
    std: bool,
    inner: Option<&Container>,
) -> Option<Container> {
    let found = match &call.of {
        Some(of) => of_type(of, call, std),
        // The type has parameters nobody tells: the arguments cannot be trusted either.
        None if call.method => None,
        None => of_module(call, std, inner),
    }?;
    // Paths and the like also make other things (buffers, handles): only what is text inside is theirs.
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

/// Functions of theirs that make a block for a slice.
fn makes_slice(name: &str) -> bool {
    let plain = name.strip_prefix("try_").unwrap_or(name);
    matches!(
        plain.trim_end_matches("_in"),
        "new_uninit_slice"
            | "new_zeroed_slice"
            | "allocate_for_slice"
            | "allocate_for_slice_in"
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

/// By the type the function is a method of.
fn of_type(of: &str, call: &Call<'_>, std: bool) -> Option<Container> {
    let (path, arguments) = path_and_arguments(of);
    let first = arguments.first().copied();
    let pair = || match arguments.as_slice() {
        [key, value, ..] => Some([*key, *value]),
        _ => None,
    };
    // `<T as SpecFromElem>::from_elem`, `<T as ConvertVec>::to_vec`: the type is the element.
    if call
        .implements
        .is_some_and(|of| of.ends_with("::SpecFromElem") || of.ends_with("::ConvertVec"))
    {
        return Some(Container::new(Kind::Vec, [of]));
    }
    if let Some(element) = of.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let joins = matches!(call.name, "concat" | "join" | "connect");
        return (!joins && is_whole(element)).then(|| Container::new(Kind::Vec, [element]));
    }
    let container = match path {
        "str" => Container::new(Kind::Text(STRING), []),
        "alloc::vec::Vec" if call.name == "into_boxed_slice" => {
            Container::new(Kind::Box, [slice_of(first?).as_str()])
        }
        "alloc::vec::Vec" => Container::new(Kind::Vec, [first?]),
        "alloc::raw_vec::RawVec" => Container::new(Kind::Buffer, [first?]),
        "alloc::collections::vec_deque::VecDeque" => Container::new(Kind::VecDeque, [first?]),
        "alloc::collections::binary_heap::BinaryHeap" => Container::new(Kind::BinaryHeap, [first?]),
        "alloc::collections::linked_list::LinkedList" => Container::new(Kind::LinkedList, [first?]),
        "alloc::string::String" if call.name == "into_boxed_str" => {
            Container::new(Kind::Box, ["str"])
        }
        "alloc::string::String" => Container::new(Kind::Text(STRING), []),
        "alloc::ffi::c_str::CString" | "core::ffi::c_str::CStr" => {
            Container::new(Kind::Text(C_STRING), [])
        }
        "std::ffi::os_str::OsString" | "std::ffi::os_str::OsStr" => {
            Container::new(Kind::Text(OS_STRING), [])
        }
        "std::path::PathBuf" | "std::path::Path" => Container::new(Kind::Text(PATH_BUF), []),
        _ if path.starts_with("std::sys::os_str::") => Container::new(Kind::Text(OS_STRING), []),
        "alloc::boxed::Box"
        | "alloc::rc::Rc"
        | "alloc::rc::UniqueRc"
        | "alloc::rc::UniqueRcUninit"
        | "alloc::sync::Arc"
        | "alloc::sync::UniqueArcUninit" => {
            let kind = match path {
                "alloc::boxed::Box" => Kind::Box,
                _ if path.starts_with("alloc::rc::") => Kind::Rc,
                _ => Kind::Arc,
            };
            return of_pointer(kind, first?, call);
        }
        "hashbrown::raw::RawTable" => Container::new(Kind::Table(map_of(std)), [first?]),
        "std::collections::hash::map::HashMap" | "hashbrown::map::HashMap" => {
            let map = if path == STD_MAP { STD_MAP } else { BROWN_MAP };
            Container::new(Kind::Map(map), arguments.iter().copied().take(3))
        }
        "std::collections::hash::set::HashSet" | "hashbrown::set::HashSet" => {
            let set = if path == STD_SET { STD_SET } else { BROWN_SET };
            Container::new(Kind::Set(set), arguments.iter().copied().take(2))
        }
        "indexmap::map::IndexMap" => {
            Container::new(Kind::IndexMap, arguments.iter().copied().take(3))
        }
        "indexmap::set::IndexSet" => {
            Container::new(Kind::IndexSet, arguments.iter().copied().take(2))
        }
        "smallvec::SmallVec" => Container::new(Kind::Other, [of]),
        "bumpalo::Bump" => Container::new(Kind::Other, ["bumpalo::Bump"]),
        _ if path.starts_with("std::collections::hash::map::") => {
            Container::new(Kind::Map(STD_MAP), pair()?)
        }
        _ if path.starts_with("hashbrown::map::")
            || path.starts_with("hashbrown::rustc_entry::") =>
        {
            Container::new(Kind::Map(BROWN_MAP), pair()?)
        }
        _ if path.starts_with("indexmap::map::") || path.starts_with("indexmap::inner::") => {
            Container::new(Kind::IndexMap, pair()?)
        }
        _ => return of_tree(path, &arguments),
    };
    Some(container)
}

/// `Box`, `Rc` and `Arc` by their type.
fn of_pointer(kind: Kind, held: &str, call: &Call<'_>) -> Option<Container> {
    let names_all = held.starts_with('[')
        || held == "str"
        || matches!(call.name, "from" | "clone" | "from_iter");
    if makes_slice(call.name) && !held.starts_with('[') {
        return Some(Container::new(kind, [slice_of(held).as_str()]));
    }
    if let Some(literal) = literal(kind, held, call) {
        return Some(literal);
    }
    // What else they do (calling, polling, printing what is inside) is no business of theirs.
    let asks = makes_one(call.name) || makes_slice(call.name) || names_all;
    // Errors made of strings: the box is of what is in it, and another block.
    (asks && !held.starts_with("dyn ") && !held.starts_with("(dyn "))
        .then(|| Container::new(kind, [held]))
}

/// What `vec![a, b]` calls: the box of an array that becomes the buffer of a `Vec`.
fn literal(kind: Kind, held: &str, call: &Call<'_>) -> Option<Container> {
    let array = kind == Kind::Box && call.name == "new_uninit" && array_element(held).is_some();
    array.then(|| Container::new(Kind::Literal, [held]))
}

/// B-trees and their innards.
fn of_tree(path: &str, arguments: &[&str]) -> Option<Container> {
    let inside = path.strip_prefix("alloc::collections::btree::")?;
    match inside {
        "set::BTreeSet" => Some(Container::new(Kind::BTreeSet, [*arguments.first()?])),
        "node::NodeRef" => Some(Container::new(
            Kind::BTreeMap,
            [*arguments.get(1)?, *arguments.get(2)?],
        )),
        "node::Handle" => {
            let (path, arguments) = path_and_arguments(arguments.first()?);
            of_tree(path, &arguments)
        }
        "map::BTreeMap" | "node::LeafNode" | "node::InternalNode" => Some(Container::new(
            Kind::BTreeMap,
            [*arguments.first()?, *arguments.get(1)?],
        )),
        _ if inside.starts_with("map::entry::") => Some(Container::new(
            Kind::BTreeMap,
            [*arguments.first()?, *arguments.get(1)?],
        )),
        _ => None,
    }
}

fn map_of(std: bool) -> &'static str {
    if std { STD_MAP } else { BROWN_MAP }
}

/// By the module a function is in, where there is no type: free functions, and all functions of builds without
/// linkage names.
fn of_module(call: &Call<'_>, std: bool, inner: Option<&Container>) -> Option<Container> {
    let first = || call.argument(0);
    let pair = || Some([call.argument(0)?, call.argument(1)?]);
    let module = &*call.module;
    let under = |prefix: &str| {
        module
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    if under("alloc::vec") {
        return match call.name {
            // Iterator first.
            "from_iter_in_place" | "splice" | "drain" | "drop" => None,
            _ if under("alloc::vec::splice") || under("alloc::vec::drain") => None,
            "into_boxed_slice" => Some(Container::new(Kind::Box, [slice_of(first()?).as_str()])),
            _ => Some(Container::new(Kind::Vec, [first()?])),
        };
    }
    if under("alloc::raw_vec") {
        // The buffer without its type has one argument, the allocator.
        let typed = call.arguments.len() >= 2 || call.name.starts_with("with_capacity");
        let element = first().filter(|element| typed && !is_allocator(element))?;
        return Some(Container::new(Kind::Buffer, [element]));
    }
    if under("alloc::collections::vec_deque") {
        return Some(Container::new(Kind::VecDeque, [first()?]));
    }
    if under("alloc::collections::binary_heap") {
        return Some(Container::new(Kind::BinaryHeap, [first()?]));
    }
    if under("alloc::collections::linked_list") {
        return Some(Container::new(Kind::LinkedList, [first()?]));
    }
    if under("alloc::collections::btree::set") {
        return Some(Container::new(Kind::BTreeSet, [first()?]));
    }
    if ["map", "node", "append", "fix", "split"]
        .iter()
        .any(|part| under(&format!("alloc::collections::btree::{part}")))
    {
        return Some(Container::new(Kind::BTreeMap, pair()?));
    }
    if under("alloc::string") || under("alloc::str") || under("alloc::fmt") {
        return Some(match call.name {
            "into_boxed_str" => Container::new(Kind::Box, ["str"]),
            _ => Container::new(Kind::Text(STRING), []),
        });
    }
    if under("alloc::slice") {
        return match call.name {
            "concat" | "join" | "connect" => None,
            _ => Some(Container::new(Kind::Vec, [first()?])),
        };
    }
    if under("alloc::boxed") || under("alloc::rc") || under("alloc::sync") {
        let kind = match module.split("::").nth(1) {
            Some("boxed") => Kind::Box,
            Some("rc") => Kind::Rc,
            _ => Kind::Arc,
        };
        return pointer_of_module(kind, call, inner);
    }
    if under("alloc::ffi::c_str") || under("std::ffi::c_str") {
        return Some(Container::new(Kind::Text(C_STRING), []));
    }
    if under("std::ffi::os_str") || under("std::sys::os_str") {
        return Some(Container::new(Kind::Text(OS_STRING), []));
    }
    if under("std::io") {
        // Reads into the bytes of a string.
        let string = matches!(call.name, "append_to_string" | "default_read_to_string");
        return (string && inner.is_some()).then(|| Container::new(Kind::Text(STRING), []));
    }
    if under("std::path") {
        return Some(Container::new(Kind::Text(PATH_BUF), []));
    }
    if under("hashbrown::raw") {
        let element = first().filter(|element| !is_allocator(element))?;
        let typed = call.arguments.len() >= 2 || element.starts_with('(');
        return typed.then(|| Container::new(Kind::Table(map_of(std)), [element]));
    }
    let hasher = |at: usize| call.argument(at).filter(|_| has_hasher(call.name));
    let map = |kind| {
        let [key, value] = pair()?;
        Some(Container::new(
            kind,
            [key, value].into_iter().chain(hasher(2)),
        ))
    };
    let set = |kind| {
        Some(Container::new(
            kind,
            [first()?].into_iter().chain(hasher(1)),
        ))
    };
    if under("std::collections::hash::map") {
        return map(Kind::Map(STD_MAP));
    }
    if under("std::collections::hash::set") {
        return set(Kind::Set(STD_SET));
    }
    if under("hashbrown::map") || under("hashbrown::rustc_entry") {
        return map(Kind::Map(BROWN_MAP));
    }
    if under("hashbrown::set") {
        return set(Kind::Set(BROWN_SET));
    }
    if under("indexmap::map") || under("indexmap::inner") {
        return map(Kind::IndexMap);
    }
    if under("indexmap::set") {
        return set(Kind::IndexSet);
    }
    if under("smallvec") {
        let held = first()?;
        return Some(Container::new(
            Kind::Other,
            [format!("smallvec::SmallVec<{held}>").as_str()],
        ));
    }
    (under("bumpalo") && !under("bumpalo::collections"))
        .then(|| Container::new(Kind::Other, ["bumpalo::Bump"]))
}

/// `Box`, `Rc` and `Arc` by the module of a function.
fn pointer_of_module(kind: Kind, call: &Call<'_>, inner: Option<&Container>) -> Option<Container> {
    if matches!(call.name, "from" | "clone" | "from_iter") {
        // Which of many these are, what they are made of has to say.
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
    if makes_slice(call.name) {
        return Some(Container::new(kind, [slice_of(held).as_str()]));
    }
    if let Some(literal) = literal(kind, held, call) {
        return Some(literal);
    }
    let one = makes_one(call.name) && !held.starts_with("dyn ") && !held.starts_with("(dyn ");
    one.then(|| Container::new(kind, [held]))
}

/// Whether the argument after key and value is the hasher: not where a function has one of its own there.
fn has_hasher(name: &str) -> bool {
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
