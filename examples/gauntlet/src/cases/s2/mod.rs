//! "The impact of memory allocators on performance".

mod calls;
mod capacity;
mod chunks;
mod given;
mod inner;
mod invisible;
mod large;
mod nightly;
mod noise;
mod small_vec;
mod threads;
mod verbose;

use crate::Case;

/// All cases, in the order of the source.
pub(crate) const CASES: &[Case] = &[
    invisible::CASE,
    inner::CASE,
    verbose::CASE,
    chunks::CASE,
    threads::CASE,
    large::CASE,
    small_vec::CASE,
    capacity::CASE,
    noise::CASE,
    calls::CASE,
    nightly::CASE,
    given::CASE,
];
