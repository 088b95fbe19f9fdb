//! Arenas: the contents of the chunks that the global allocator sees as single blocks, and advice
//! about them.
//!
//! Figures here are *inside* an arena: its chunks are already blocks of the process, so these
//! figures must never be added to the totals of the process. This module knows no frontend: the
//! report, the SVG and the terminal UI all read these tables.

mod advice;
mod history;
mod inside;
mod instances;
mod leak;
mod leaks;
mod parts;
mod undropped;

pub use super::arena_measures::{measured, measured_inside, measured_inside_title, measured_title};
pub use super::arena_record::{
    Arena, ArenaEvent, ArenaFigures, ArenaMoment, ArenaRow, ArenaValue, ArenaValues,
};
pub use super::chunks::chunk_label;
pub use advice::{Advice, AdviceKind, advice};
pub use history::{Point, last_full, points};
pub use inside::{by_field, by_type, unscoped};
pub use instances::{ArenaInstance, ArenaInstances, each_instance, instances};
pub use leak::{Certainty, Leak, leak_text};
pub(super) use leaks::leaks;
pub use parts::{Breakdown, Part, Whose, bar, imbalance};

/// Explains how a program names an arena, for recordings without one.
pub const HOW_TO_NAME: [&str; 2] = [
    "No arenas were recorded: only their chunks, as blocks. Name one to look inside:",
    "let cities = tracking_alloc::arena::Tracked::new(\"cities\", &bump);",
];
