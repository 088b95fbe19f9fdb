//! Arenas: the contents of the chunks that the global allocator sees as single blocks, and advice
//! about them.
//!
//! Figures here are *inside* an arena: its chunks are already blocks of the process, so these
//! figures must never be added to the totals of the process. This module knows no frontend: the
//! report, the SVG and the terminal UI all read these tables.

mod advice;
mod chunks;
mod history;
mod inside;
mod instances;
mod leak;
mod leaks;
mod measured;
mod parts;
mod record;
mod undropped;

pub use advice::{Advice, AdviceKind, advice};
pub use chunks::chunk_label;
pub(super) use chunks::chunk_sites;
pub use history::{Point, last_full, points};
pub use inside::{by_field, by_type, unscoped};
pub use instances::{ArenaInstance, ArenaInstances, instances};
pub use leak::{Certainty, Leak, leak_text};
pub(super) use leaks::leaks;
pub use measured::{measured, measured_inside, measured_inside_title, measured_title};
pub use parts::{Part, bar, imbalance};
pub use record::{Arena, ArenaEvent, ArenaFigures, ArenaMoment, ArenaRow, ArenaValue, ArenaValues};

/// Explains how a program names an arena, for recordings without one.
pub const HOW_TO_NAME: [&str; 2] = [
    "No arenas were recorded: only their chunks, as blocks. Name one to look inside:",
    "let cities = tracking_alloc::arena::Tracked::new(\"cities\", &bump);",
];
