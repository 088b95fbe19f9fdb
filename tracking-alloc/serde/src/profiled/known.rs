//! Types recognized by their names: types whose values cannot allocate, and serde's own helpers.
//!
//! PERF: `type_name` is a constant of each instantiation, so these tests fold away when optimized.
//! A name that is not recognized costs a row of its own, but never makes a figure wrong.

use super::tree::{Type, TypeOf};
use serde::de::DeserializeSeed;
use std::any::type_name;
use std::mem::needs_drop;

/// Returns `true` for types whose values are deserialized without allocating. They get no place of
/// their own.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_plain<T>() -> bool {
    !needs_drop::<T>() && is_plain_name(type_name::<T>())
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn is_plain_name(name: &str) -> bool {
    let inside = |wrapper: &str| name.strip_prefix(wrapper)?.strip_suffix('>');
    let bare = inside("core::option::Option<").unwrap_or(name);
    is_number(bare)
        || matches!(bare, "bool" | "char" | "&str" | "&[u8]")
        // Types of 128 bits have a row of their own.
        || inside("core::num::nonzero::NonZero<")
            .is_some_and(|name| is_number(name) && !name.ends_with("128"))
        || matches!(
            name,
            "core::time::Duration"
                | "std::time::SystemTime"
                | "serde_core::de::ignored_any::IgnoredAny"
                | "serde::de::ignored_any::IgnoredAny"
        )
        || name.starts_with("core::marker::PhantomData<")
        || is_field_name(name)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn is_number(name: &str) -> bool {
    let bits = name.strip_prefix("u").or_else(|| name.strip_prefix("i"));
    matches!(bits, Some("8" | "16" | "32" | "64" | "128" | "size")) || matches!(name, "f32" | "f64")
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn is_field_name(name: &str) -> bool {
    name.ends_with("::__Field") || name.ends_with("::__Field<'_>")
}

/// Returns `true` for the identifier of a derived struct's field.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_field<K>() -> bool {
    is_field_name(type_name::<K>())
}

/// Returns `true` for an identifier that keeps unknown names, because the struct has a flattened
/// field.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_flatten_key<K>() -> bool {
    needs_drop::<K>() && is_field::<K>()
}

/// Returns `true` for serde's private buffer, used for flatten, untagged and tagged enums, alone or
/// after a tag.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_buffer<T>() -> bool {
    let name = type_name::<T>();
    needs_drop::<T>()
        && ((name.starts_with("serde") && ends_as_buffer(name))
            || (name.starts_with('(') && ends_as_buffer(name.trim_end_matches(')'))))
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn ends_as_buffer(name: &str) -> bool {
    // `serde::private::de::content`, `serde::__private::de::content`,
    // `serde_core::private::content`.
    name.ends_with("::content::Content") || name.ends_with("::content::Content<'_>")
}

/// Returns `true` for the seed of an adjacently tagged enum's content. Its value is the enum
/// itself, which is not a recursion.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_content_seed<S>() -> bool {
    let name = type_name::<S>();
    // PERF: nearly all seeds are a `PhantomData`. A search does not fold away.
    !name.starts_with("core::marker::PhantomData<")
        && (name.ends_with("::__Seed") || name.contains("::__Seed<"))
}

/// Returns the type that a seed deserializes, or `None` if it cannot allocate.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn seeded<'de, S: DeserializeSeed<'de>>() -> Option<TypeOf> {
    if is_plain::<S::Value>() {
        return None;
    }
    let name = type_name::<S::Value>();
    if name == "()" {
        in_place(type_name::<S>())?;
        return Some(type_in_place::<S>);
    }
    Some(Type::of::<S::Value>)
}

fn type_in_place<S>() -> Type {
    in_place(type_name::<S>()).unwrap_or_default()
}

/// Returns the type that serde's `InPlaceSeed<T>` overwrites in place. The `()` of any other seed
/// gets a place, because the seed may keep what it reads.
#[cfg_attr(not(debug_assertions), inline(always))]
fn in_place(seed: &'static str) -> Option<Type> {
    let inner = seed
        .split_once("InPlaceSeed<")
        .filter(|(before, _)| before.starts_with("serde"))
        .and_then(|(_, rest)| rest.strip_suffix('>'))
        .map(|inner| inner.strip_prefix("'_, ").unwrap_or(inner));
    let name = match inner {
        Some(inner) => (!is_plain_name(inner)).then_some(inner),
        None => (seed != "core::marker::PhantomData<()>").then_some("()"),
    };
    name.map(|name| Type {
        name,
        bytes: 0,
        is_in_place: inner.is_some(),
    })
}

/// Returns `true` if a visitor creates an array. The elements of an array are one place, those of
/// other tuples are not.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_array<T, V>() -> bool {
    let name = type_name::<T>();
    name.starts_with('[') || (name == "()" && type_name::<V>().ends_with("]>"))
}

/// Returns `true` if a deserializer is already wrapped: a `Profiled` inside a `Profiled` has no
/// effect of its own.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_ours<D>() -> bool {
    type_name::<D>().starts_with(concat!(
        env!("CARGO_CRATE_NAME"),
        "::profiled::deserializer::"
    ))
}

/// Returns `true` if an identifier names variants of an enum of the standard library. These have no
/// aliases, because serde itself defines their identifiers.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn is_std<T>() -> bool {
    let name = type_name::<T>();
    ["serde_core::de::impls::", "serde::de::impls::"]
        .iter()
        .any(|home| name.starts_with(home))
}
