//! Arenas: what lies inside the chunks that the global allocator sees as single blocks, and what to do about it.
//!
//! Figures here are *inside* an arena: its chunks are blocks of the process already, so they must never be added to the
//! process's totals. Knows no face: report, SVG and terminal UI all read these tables.

mod advice;
mod chunks;
mod history;
mod inside;
mod leaks;
mod measured;
mod parts;
mod put_in;
#[cfg(test)]
mod tests;

pub use advice::{Advice, AdviceKind, advice};
pub use chunks::{chunk_label, chunk_sites};
pub use history::{Point, last_full, points};
pub use inside::{FieldInside, Handed, TypeInside, by_field, by_type, unscoped};
pub use leaks::{Certainty, Leak, leak_text, leaks};
pub use measured::{measured, measured_inside, measured_inside_title, measured_title, ordered};
pub use parts::{Part, bar, imbalance};

/// How a program gives an arena a name, for faces of a recording without one.
pub const HOW_TO_NAME: [&str; 2] = [
    "No arenas were recorded: only their chunks, as blocks. Name one to look inside:",
    "let cities = tracking_alloc::arena::Tracked::new(\"cities\", &bump);",
];

/// A list of names as a sentence has them: `a`, `a and b`, `a, b and c`.
pub(crate) fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
