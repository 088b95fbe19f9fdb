//! Finds out if an enum's list of names is in the order of its variants' numbers. Formats without
//! names give only the number, and with an `alias` there are more names than variants.
//!
//! A type knows the number of its variants and reports it if a variant beyond the last is
//! requested. So its identifier is deserialized from an impossible number, and the error message
//! contains the count. This is done once for a list of names.

use super::known;
use super::tree::{Node, Text};
use serde::de::value::U64Deserializer;
use serde::de::{self, DeserializeSeed, Expected, Unexpected};
use std::any::type_name;
use std::fmt;

/// Returns `true` if a variant's number is its index in `names`, for the enum whose identifier `S`
/// reads.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn are_in_order<'de, S: DeserializeSeed<'de>>(
    node: &'static Node,
    names: &'static [&'static str],
) -> bool {
    node.is_order(names)
        .unwrap_or_else(|| ask::<S>(node, names))
}

#[cold]
#[inline(never)]
fn ask<'de, S: DeserializeSeed<'de>>(node: &'static Node, names: &'static [&'static str]) -> bool {
    let ordered = known::is_std::<S::Value>() || count::<S>() == Some(names.len());
    node.settle_order(names, ordered);
    ordered
}

/// Returns the number of variants that the identifier knows.
fn count<'de, S: DeserializeSeed<'de>>() -> Option<usize> {
    let no_such_variant = U64Deserializer::new(u64::MAX);
    match another::<S>()?.deserialize(no_such_variant) {
        Err(Answer(count)) => count,
        // It accepts any number as a variant.
        Ok(_) => None,
    }
}

/// Returns another seed like the one in use, if that is a `PhantomData`, as for derived enums.
fn another<S>() -> Option<S> {
    if !type_name::<S>().starts_with("core::marker::PhantomData<") || size_of::<S>() != 0 {
        return None;
    }
    // SAFETY: `S` is a `PhantomData`, by its name and size. All its values are equal, need no drop,
    // and can be created by anyone.
    Some(unsafe { std::mem::zeroed() })
}

/// The count in the message "variant index 0 <= i < 3".
#[derive(Debug)]
struct Answer(Option<usize>);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no variant")
    }
}

impl std::error::Error for Answer {}

impl de::Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Answer(None)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = Text::of(expected);
        let count = message.as_str().strip_prefix("variant index 0 <= i < ");
        let digits = count.and_then(|count| count.split(|c: char| !c.is_ascii_digit()).next());
        Answer(digits.and_then(|digits| digits.parse().ok()))
    }
}
