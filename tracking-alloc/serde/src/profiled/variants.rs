//! Whether an enum's list of names is in the order of its variants' numbers: formats without names
//! tell the number only, and an `alias` is a name more than there are variants.
//!
//! The type knows how many variants it has and says so when it is asked for one beyond the last:
//! its identifier is deserialized from a number that cannot be, and the message has the count. Done
//! once for a list of names.

use super::known;
use super::tree::{Node, Text};
use serde::de::value::U64Deserializer;
use serde::de::{self, DeserializeSeed, Expected, Unexpected};
use std::any::type_name;
use std::fmt;

/// Returns `true` if number and place in `names` are the same for the enum whose identifier `S`
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
        // It takes any number for a variant.
        Ok(_) => None,
    }
}

/// Another seed like the one in use, when that is a `PhantomData`, as those of derived enums are.
fn another<S>() -> Option<S> {
    if !type_name::<S>().starts_with("core::marker::PhantomData<") || size_of::<S>() != 0 {
        return None;
    }
    // SAFETY: `S` is a `PhantomData`, by its name and size: all its values are alike, need no drop,
    // and can be made by anybody.
    Some(unsafe { std::mem::zeroed() })
}

/// The count in "variant index 0 <= i < 3".
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
