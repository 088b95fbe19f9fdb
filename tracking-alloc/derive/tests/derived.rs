//! Derived code needs no unsafe code, no prelude and no other dependency: it compiles here.

#![forbid(unsafe_code)]
#![deny(warnings)]
#![no_implicit_prelude]

#[derive(::tracking_alloc::arena::ArenaDeserialize)]
pub struct City<'bump> {
    pub name: &'bump str,
    pub kind: Kind<'bump>,
    #[arena(default)]
    pub twin: ::std::option::Option<&'bump City<'bump>>,
}

#[derive(::tracking_alloc::arena::ArenaDeserialize)]
pub enum Kind<'bump> {
    Free,
    Of(&'bump [u8]),
}

#[::std::prelude::v1::test]
fn derived_code_needs_no_unsafe_and_no_other_dependency() {}
