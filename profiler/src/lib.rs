//! Reads heapglass recordings and turns them into a [`Profile`](profile::Profile). The report, the
//! SVG, the terminal UI and the exports are functions of the profile.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod calltree;
pub mod check;
pub mod diff;
pub mod export;
pub mod flamegraph;
mod interned;
mod load;
mod name;
mod parallel;
pub mod profile;
pub mod report;
pub mod symbols;
pub mod table;
pub mod types;
pub mod units;

#[cfg(test)]
extern crate self as heapglass_profiler;
#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;

pub use load::{Early, Error, Options, Session, open, pack};
pub use profile::{arenas, fields};
