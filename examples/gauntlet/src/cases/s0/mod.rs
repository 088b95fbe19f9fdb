//! "The serde optimization gauntlet: Wasm and arenas".

mod alternatives;
mod arena;
mod browsers;
mod derive;
mod fallbacks;
mod handles;
mod in_place;
mod interning;
mod keeps;
mod local;
mod locality;
mod mimalloc;
mod musl;
mod parser;
mod people;
mod prelude;
mod references;
mod small;
mod strays;
mod systems;
mod traits;
mod utf8;
mod wasm;
mod words;

use crate::Case;
use crate::cases::said::times;

/// All cases, in the order of the source.
pub(crate) const CASES: &[Case] = &[
    wasm::CASE,
    arena::BUMPALO,
    arena::PRESIZED,
    systems::DLMALLOC,
    systems::TALC,
    alternatives::BUMP_SCOPE,
    alternatives::OTHERS,
    prelude::CASE,
    strays::CASE,
    handles::CASE,
    utf8::CASE,
    local::CASE,
    derive::CASE,
    traits::CASE,
    mimalloc::CASE,
    in_place::CASE,
    fallbacks::CASE,
    interning::CASE,
    small::CASE,
    keeps::CASE,
    parser::CASE,
    browsers::CASE,
    locality::CASE,
    musl::CASE,
    references::CASE,
];

/// Returns the number of events of a `Vec` that grows by pushing, from a first capacity until it
/// holds `len` values.
fn growths(first: f64, len: f64) -> f64 {
    let (mut capacity, mut events) = (first, 1.0);
    while capacity < len {
        capacity *= 2.0;
        events += 1.0;
    }
    events
}

/// Returns the number of events of a `Vec` of values of `size` bytes that serde reads from a format
/// that tells the number of values. serde reserves at most 1 MiB in advance.
fn read_growths(size: usize, len: f64) -> f64 {
    growths(len.min(((1 << 20) / size) as f64), len)
}
