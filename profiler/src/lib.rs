//! Reads heapglass recordings and turns them into a [`Profile`](profile::Profile): the one waist that report,
//! SVG and terminal UI are functions of.
#![forbid(unsafe_code)]

pub mod calltree;
pub mod flamegraph;
mod load;
pub mod profile;
pub mod report;
#[doc(hidden)]
pub mod sample;
pub mod symbols;
pub mod types;
pub mod units;

pub use load::{Error, Options, open, pack};
pub use profile::{arenas, fields};
