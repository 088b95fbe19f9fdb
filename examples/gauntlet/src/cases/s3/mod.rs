//! "Allocating less: really thin Rust cloud apps".

mod airlines;
mod allocators;
mod arc;
mod borrow;
mod dispatch;
mod errors;
mod futures;
mod json_rust;
mod keys;
mod maps;
mod nested;
mod no_copy;
#[cfg(feature = "peers")]
mod no_copy_arrow;
mod no_copy_scroll;
mod regions;
mod small;
mod tcmalloc;
mod thin;
mod tools;
mod whole;

use crate::Case;

/// All cases, in the order of the source.
pub(crate) const CASES: &[Case] = &[
    maps::CASE,
    tools::CASE,
    nested::CASE,
    small::CASE,
    arc::CASE,
    dispatch::CASE,
    airlines::CASE,
    json_rust::CASE,
    allocators::CASE,
    no_copy::CASE,
    borrow::CASE,
    regions::CASE,
    futures::CASE,
    whole::CASE,
    tcmalloc::CASE,
    errors::CASE,
    keys::CASE,
];
