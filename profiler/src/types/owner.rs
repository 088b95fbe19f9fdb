//! Whose block it is: the type of the program that is being deserialized, or cloned, around an allocation.
//!
//! It must never name a type of the standard library: a `Vec<Sailor>` that is deserialized belongs to the type with
//! the field, not to itself.

use super::call::{Call, is_whole, path_and_arguments};
use super::facts::Facts;
use crate::symbols::{segments, self_type, split_outermost};
use std::rc::Rc;

/// Traits whose implementor is made by their method.
const MAKERS: [&str; 3] = [
    "serde_core::de::Deserialize",
    "serde::de::Deserialize",
    "core::clone::Clone",
];

/// Functions of serde's traits with the type that is read last among their arguments.
const READERS: [&str; 5] = [
    "next_value",
    "next_element",
    "next_entry",
    "newtype_variant",
    "next_key",
];

/// The type being made, by what is known of the functions around, innermost first; `None` where none names one.
pub(super) fn owner(functions: impl Iterator<Item = Rc<Facts>>) -> Option<String> {
    let found = found(functions)?;
    // Our own wrapper around the value that is meant.
    match path_and_arguments(&found) {
        ("tracking_alloc::profiled::Profiled", arguments) => arguments
            .first()
            .filter(|of| is_own(of))
            .map(|&of| of.to_owned()),
        _ => Some(found),
    }
}

fn found(functions: impl Iterator<Item = Rc<Facts>>) -> Option<String> {
    // A visitor of the program whose name does not say of which type: the next reader further out does.
    let mut visited = false;
    for facts in functions {
        if let Some(made) = facts.made.as_ref().filter(|of| is_own(of)) {
            return Some(made.clone());
        }
        if let Some(read) = &facts.read {
            if is_own(read) {
                return Some(read.clone());
            }
            // `next_value<Box<Officer>>` around a visitor: it is the officer's.
            let pointed = visited.then(|| pointed_to(read)).filter(|of| is_own(of));
            if pointed.is_some() {
                return pointed;
            }
        }
        if facts.entered.is_some() {
            return facts.entered.clone();
        }
        visited |= facts.visits;
    }
    None
}

/// `X` of `<X as Deserialize>::deserialize`, of a visitor inside it, and of `<impl Deserialize for X>`.
pub(super) fn made(name: &str) -> Option<String> {
    for segment in segments(name) {
        let Some((of, implements)) = self_type(segment) else {
            continue;
        };
        if let Some(implements) = implements {
            let path = implements.split('<').next().unwrap_or(implements);
            if MAKERS.contains(&path) {
                return is_whole(of).then(|| of.to_owned());
            }
        }
        // A visitor lives in the function that it is made for.
        if of.ends_with("::__Visitor") || of.contains("::__Visitor<") {
            return made(of);
        }
        // `<impl ..>` in the middle of a path inside: the visitor's own.
        if let Some((before, _)) = split_outermost(of, " as ") {
            return made(before);
        }
    }
    None
}

/// The type that a function of serde reads: `X` of `next_value<.., X>`, `PhantomData<X>`, `from_str<X>`.
pub(super) fn read_type(name: &str) -> Option<String> {
    let call = Call::parse(name)?;
    if let Some(of) = &call.of {
        let (path, arguments) = path_and_arguments(of);
        if path == "core::marker::PhantomData" && call.name == "deserialize" {
            return arguments.first().map(|&read| read.to_owned());
        }
    }
    let serde = |path: &str| path.starts_with("serde_core::") || path.starts_with("serde::");
    if call.name == "deserialize" {
        // `PhantomData<T>`'s, without its type: the module has no other.
        let phantom = call.of.is_none() && matches!(&*call.module, "serde_core::de" | "serde::de");
        return call
            .argument(0)
            .filter(|_| phantom && call.arguments.len() == 2)
            .map(str::to_owned);
    }
    let of_serde = serde(&call.module) || call.implements.is_some_and(serde);
    if !of_serde || !READERS.contains(&call.name) {
        return None;
    }
    // `<A as MapAccess>::next_value<A, V>` and `::next_value::<V>`.
    let read = call.arguments.last().filter(|read| is_whole(read))?;
    Some((*read).to_owned())
}

/// The type that a format's own function begins to read: `Fleet` of `serde_json::de::from_slice<Fleet>`, and of
/// anything that has the visitor of a `Fleet` among its arguments.
pub(super) fn entered(name: &str) -> Option<String> {
    let call = Call::parse(name)?;
    let visitor = call.arguments.iter().rev().find_map(|argument| {
        argument
            .ends_with("::__Visitor")
            .then(|| made(argument))
            .flatten()
    });
    if let Some(visitor) = visitor.filter(|of| is_own(of)) {
        return Some(visitor);
    }
    let enters = ["from_", "take_from_", "deserialize_from", "decode_from"]
        .iter()
        .any(|start| call.name.starts_with(start));
    if !enters || call.of.is_some() {
        return None;
    }
    // Readers come first, and the format's own settings are no value.
    let krate = call.module.split("::").next().unwrap_or_default();
    let of_format = |of: &str| of.split("::").next() == Some(krate);
    let read = call
        .arguments
        .iter()
        .rev()
        .find(|of| is_whole(of) && is_own(of) && !of_format(of))?;
    Some((*read).to_owned())
}

/// What pointers and options lead to: `Officer` of `Option<Box<Officer>>`.
fn pointed_to(of: &str) -> String {
    let mut of = of;
    loop {
        let (path, arguments) = path_and_arguments(of);
        let pointer = matches!(
            path,
            "alloc::boxed::Box" | "alloc::rc::Rc" | "alloc::sync::Arc" | "core::option::Option"
        );
        match arguments.first() {
            Some(inner) if pointer => of = inner,
            _ => return of.to_owned(),
        }
    }
}

/// Whether a type is one of the program's or of a dependency's that is no part of reading.
fn is_own(of: &str) -> bool {
    let Some((krate, _)) = of.split_once("::") else {
        return false;
    };
    krate.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !matches!(
            krate,
            "core" | "alloc" | "std" | "hashbrown" | "serde" | "serde_core"
        )
}
