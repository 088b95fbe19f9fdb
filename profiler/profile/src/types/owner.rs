//! Owners of blocks: the type of the program that is deserialized or cloned around an allocation.
//!
//! This module must never name a type of the standard library: a `Vec<Sailor>` that is deserialized
//! belongs to the type with the field, not to itself.

use super::facts::Facts;
use super::reader::{is_own, is_profiled, unwrapped};
use crate::containers::{self, ContainerType};
use crate::name::path_and_arguments;
use std::rc::Rc;

/// The type that is made around an allocation, given the facts about the functions there, innermost
/// first; `None` if no function names one.
pub(super) fn owner(functions: impl Iterator<Item = Rc<Facts>>) -> Option<String> {
    let found = found(functions)?;
    let of = unwrapped(&found);
    // `Profiled` is only read through.
    (is_own(of) && !is_profiled(of)).then(|| of.to_owned())
}

fn found(functions: impl Iterator<Item = Rc<Facts>>) -> Option<String> {
    // The name of a visitor of the program may not say its type. The next reader further out does.
    let mut visited = false;
    for facts in functions {
        if let Some(made) = facts.made.as_ref().filter(|of| is_own(of)) {
            return Some(made.clone());
        }
        if let Some(read) = &facts.read {
            if is_own(read) {
                return Some(read.clone());
            }
            // `next_value<Box<Officer>>` around a visitor: the visitor is that of `Officer`.
            if visited
                && let pointed = pointed_to(read)
                && is_own(pointed)
            {
                return Some(pointed.to_owned());
            }
        }
        if facts.entered.is_some() {
            return facts.entered.clone();
        }
        visited |= facts.visits;
    }
    None
}

/// Returns the type that pointers and options lead to: `Officer` of `Option<Box<Officer>>`.
fn pointed_to(mut of: &str) -> &str {
    let is_pointer = |path: &str| {
        path == "core::option::Option"
            || containers::by_path(path).is_some_and(ContainerType::is_pointer)
    };
    loop {
        let (path, arguments) = path_and_arguments(of);
        match arguments.first() {
            Some(inner) if is_pointer(path) => of = inner,
            _ => return of,
        }
    }
}
