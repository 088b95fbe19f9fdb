//! Whose block it is: the type of the program that is being deserialized, or cloned, around an allocation.
//!
//! It must never name a type of the standard library: a `Vec<Sailor>` that is deserialized belongs to the type with
//! the field, not to itself.

use super::call::{Call, is_whole, path_and_arguments};
use super::stack::StackFrame;
use crate::symbols::{segments, self_type, split_outermost};

/// Traits whose implementor is made by their method.
const MAKERS: [&str; 3] = [
    "serde_core::de::Deserialize",
    "serde::de::Deserialize",
    "core::clone::Clone",
];

/// Functions of serde with the type that is read among their arguments.
const READERS: [&str; 6] = [
    "next_value",
    "next_element",
    "next_entry",
    "newtype_variant",
    "next_key",
    "deserialize",
];

/// The type being made, frames given innermost first; `None` where no frame names one.
pub(super) fn owner(stack: &[StackFrame<'_>]) -> Option<String> {
    stack.iter().find_map(|frame| {
        made(&frame.function.name)
            .or_else(|| read_type(&frame.function.name))
            .filter(|of| is_own(of))
    })
}

/// `X` of `<X as Deserialize>::deserialize`, of a visitor inside it, and of `<impl Deserialize for X>`.
fn made(name: &str) -> Option<String> {
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
    let of_serde = serde(&call.module) || call.implements.is_some_and(serde);
    if !of_serde || !READERS.contains(&call.name) {
        return None;
    }
    match call.name {
        // `PhantomData<T>`'s, without its type.
        "deserialize" if call.of.is_none() && call.arguments.len() == 2 => {
            call.argument(0).map(str::to_owned)
        }
        "deserialize" => None,
        // `<A as MapAccess>::next_value<A, V>` and `::next_value::<V>`.
        _ => call
            .arguments
            .last()
            .filter(|read| is_whole(read))
            .map(|&read| read.to_owned()),
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
