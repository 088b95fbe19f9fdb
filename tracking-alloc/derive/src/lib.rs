//! `#[derive(ArenaDeserialize)]`: deserializes every level of a type into an arena.
//!
//! Use it through `tracking_alloc::arena`, which has examples. Derived code contains no `unsafe`,
//! refers only to `tracking_alloc`, and works with every arena and every serde format.
//!
//! # On the type
//!
//! | attribute | meaning |
//! |---|---|
//! | `#[arena(rename = "..")]` | the name passed to the format |
//! | `#[arena(rename_all = "..")]` | the case of fields or variants, as in serde: `camelCase`, `kebab-case`, .. |
//! | `#[arena(transparent)]` | read a struct with one field like that field |
//! | `#[arena(crate = "..")]` | the path of `tracking_alloc`, if the dependency is renamed |
//!
//! # On a field, or on a variant where noted
//!
//! | attribute | meaning |
//! |---|---|
//! | `#[arena(rename = "..")]` | the name in the input (variants too) |
//! | `#[arena(alias = "..")]` | a further name; may be repeated (variants too) |
//! | `#[arena(default)]`, `#[arena(default = "path")]` | the value of a missing field |
//! | `#[arena(skip)]` | do not read the field; it always has its default |
//! | `#[arena(deserialize_with = "path")]` | read by `fn(deserializer, arena) -> Result<_, D::Error>` |
//! | `#[arena(global)]` | may own global memory: read by serde's `Deserialize`, and leaked if the arena is its owner |
//!
//! # Lifetimes
//!
//! The type's lifetime is the arena's. A type may also have a lifetime `'de`, which is the input's;
//! `&'de str` borrows from the input.

#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod attributes;
mod case;
mod container;
mod enums;
mod fields;
mod global;
mod structs;

use container::Container;
use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error};

/// Derives `tracking_alloc::arena::ArenaDeserialize`. See the crate for its attributes.
///
/// A field whose type owns global memory (`Box`, `String`, `Vec`, `HashMap`, ..) is an error. An
/// arena never drops its contents, so that memory would leak.
#[proc_macro_derive(ArenaDeserialize, attributes(arena))]
pub fn derive_arena_deserialize(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    derive(&input)
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Returns the impl, or the error in the type.
fn derive(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let container = Container::read(input)?;
    let (read, scalars) = match &input.data {
        Data::Struct(data) => structs::body(&container, data)?,
        Data::Enum(data) => enums::body(&container, data)?,
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span,
                "a union cannot be deserialized: nothing says which of its fields was read",
            ));
        }
    };
    Ok(container.implement(&read, &scalars))
}
