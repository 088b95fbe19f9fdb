//! Derived code compiles without unsafe code, without a prelude and without other dependencies.

#![forbid(unsafe_code)]
#![deny(warnings)]
#![no_implicit_prelude]

/// A type with a field of each kind.
#[derive(::tracking_alloc::arena::ArenaDeserialize)]
pub struct City<'bump> {
    /// Text.
    pub name: &'bump str,
    /// Another type.
    pub kind: Kind<'bump>,
    /// May be missing.
    #[arena(default)]
    pub twin: ::std::option::Option<&'bump City<'bump>>,
}

/// An enum with variants with and without a value.
#[derive(::tracking_alloc::arena::ArenaDeserialize)]
pub enum Kind<'bump> {
    /// Without a value.
    Free,
    /// With a value.
    Of(&'bump [u8]),
}

#[::std::prelude::v1::test]
fn derived_code_needs_no_unsafe_and_no_other_dependency() {}
