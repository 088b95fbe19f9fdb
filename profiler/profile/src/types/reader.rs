//! The types that functions make or read, by their names.

use super::call::{Call, is_whole};
use super::spell::{normal, short};
use crate::containers::{self, ContainerType};
use crate::name::{FunctionName, Part, Segment, begins_with, path_and_arguments, segments};
use crate::profile::OWN_CRATES;

/// Traits with a method that makes a value of the implementing type.
const MAKERS: [&str; 3] = [
    "serde_core::de::Deserialize",
    "serde::de::Deserialize",
    "core::clone::Clone",
];

/// Functions of serde's traits. The last of their arguments is the type that they read.
const READERS: [&str; 5] = [
    "next_value",
    "next_element",
    "next_entry",
    "newtype_variant",
    "next_key",
];

/// Visitors inside visitors. Names of hostile binaries may have any number.
const MOST_VISITORS: usize = 8;

/// `X` of `<X as Deserialize>::deserialize`, of a visitor inside it, and of
/// `<impl Deserialize for X>`.
pub(super) fn made(name: &FunctionName<'_>) -> Option<String> {
    made_in(name.segments(), 0)
}

fn made_in(path: &[Segment<'_>], depth: usize) -> Option<String> {
    for segment in path {
        let Part::Impl { of, implements, .. } = segment.part else {
            continue;
        };
        if implements.is_some_and(|of| MAKERS.contains(&path_and_arguments(of).0)) {
            return is_whole(of).then(|| of.to_owned());
        }
        if depth < MOST_VISITORS && is_visitor(of) {
            return made_in(&segments(of), depth + 1);
        }
    }
    None
}

/// Returns `true` for the visitor of a derive. It lives in the function that it is made for.
fn is_visitor(of: &str) -> bool {
    of.contains("::__Visitor")
        && segments(of)
            .iter()
            .any(|segment| segment.plain == "__Visitor")
}

/// The type that a function of serde reads: `X` of `next_value<.., X>` and `PhantomData<X>`.
pub(super) fn read_type(name: &FunctionName<'_>) -> Option<String> {
    let call = Call::of(name)?;
    if let Some(of) = &call.of {
        let (path, arguments) = path_and_arguments(of);
        if path == "core::marker::PhantomData" && call.name == "deserialize" {
            return arguments.first().map(|&read| read.to_owned());
        }
    }
    let serde = |path: &str| begins_with(path, &["serde_core::", "serde::"]);
    if call.name == "deserialize" {
        // Without its type, this is the method of `PhantomData<T>`, as the module has no other.
        let phantom = call.of.is_none() && matches!(call.module, "serde_core::de" | "serde::de");
        return call
            .argument(0)
            .filter(|_| phantom && call.arguments.len() == 2)
            .map(str::to_owned);
    }
    let of_serde = serde(call.module) || call.implements.is_some_and(serde);
    if !of_serde || !READERS.contains(&call.name) {
        return None;
    }
    // `<A as MapAccess>::next_value<A, V>` and `::next_value::<V>`.
    let read = call.arguments.last().filter(|read| is_whole(read))?;
    Some((*read).to_owned())
}

/// The type that a format's own function begins to read: `Fleet` of
/// `serde_json::de::from_slice<Fleet>`, and of anything that has the visitor of a `Fleet` among its
/// arguments.
pub(super) fn entered(name: &FunctionName<'_>) -> Option<String> {
    let call = Call::of(name)?;
    let mut visitors = call.arguments.iter().rev();
    let visitor = visitors.find_map(|of| {
        of.ends_with("::__Visitor")
            .then(|| made_in(&segments(of), 0))?
    });
    if let Some(visitor) = visitor.filter(|of| is_own(of)) {
        return Some(visitor);
    }
    if !begins_to_read(&call) {
        return None;
    }
    // Readers come first, and the format's own settings are not values.
    let krate = call.module.split("::").next().unwrap_or_default();
    let of_format = |of: &str| of.split("::").next() == Some(krate);
    let read = call
        .arguments
        .iter()
        .rev()
        .find(|of| is_whole(of) && is_own(of) && !of_format(of))?;
    Some((*read).to_owned())
}

/// Returns `true` if a format begins to read with a function, by its name: `from_slice`,
/// `decode_from_std_read`.
fn begins_to_read(call: &Call<'_>) -> bool {
    let starts = ["from_", "take_from_", "deserialize_from", "decode_from"];
    call.of.is_none() && begins_with(call.name, &starts)
}

/// The short name of the type that a function deserializes: a method of `Deserialize`, a visitor or
/// a reader of serde's traits. `None` for types of the standard library that are not containers.
pub(crate) fn deserialized(name: &FunctionName<'_>) -> Option<String> {
    let cloned = name.implements().any(|of| of == "core::clone::Clone");
    let of = made(name).filter(|_| !cloned).or_else(|| read_type(name))?;
    let of = unwrapped(&of);
    let container = containers::of(of);
    let is_collection = container.is_some_and(ContainerType::is_collection);
    (is_own(of) || is_collection).then(|| short(&normal(of)))
}

/// The short name of the type that a function returns which begins to read a format: `Catalog` of
/// `from_str<Catalog>`. It is the last argument.
pub(crate) fn read_by(name: &FunctionName<'_>) -> Option<String> {
    let call = Call::of(name)?;
    if !begins_to_read(&call) {
        return None;
    }
    let read = call.arguments.last().filter(|of| is_whole(of))?;
    let closure = read.contains("{closure") || read.contains("Visitor");
    (!closure).then(|| short(&normal(unwrapped(read))))
}

/// Returns `true` for the path of our own wrapper, whichever of our crates defines it.
pub(super) fn is_profiled(path: &str) -> bool {
    let Some((krate, rest)) = path.split_once("::") else {
        return false;
    };
    rest == "profiled::Profiled" && OWN_CRATES.contains(&krate)
}

/// The value inside our own wrapper.
pub(super) fn unwrapped(of: &str) -> &str {
    match path_and_arguments(of) {
        (path, arguments) if is_profiled(path) && !arguments.is_empty() => arguments[0],
        _ => of,
    }
}

/// Returns `true` if a type belongs to the program or a dependency, and is not part of reading.
pub(super) fn is_own(of: &str) -> bool {
    let Some((krate, _)) = of.split_once("::") else {
        return false;
    };
    krate.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !matches!(
            krate,
            "core" | "alloc" | "std" | "hashbrown" | "serde" | "serde_core"
        )
}
