//! Whose block it is: the type of the program that is being deserialized, or cloned, around an allocation.
//!
//! It must never name a type of the standard library: a `Vec<Sailor>` that is deserialized belongs to the type with
//! the field, not to itself.

use super::call::path_and_arguments;
use super::facts::Facts;
use super::reader::is_own;
use std::rc::Rc;

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
