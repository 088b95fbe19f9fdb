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
mod parallel;
pub mod profile;
pub mod report;
pub mod symbols;
pub mod table;
mod types;
pub mod units;

pub use load::{Early, Error, OpenOptions, Session, open, pack};
pub use profile::{arenas, fields};
