//! What arenas, and what is inside them, count for by each measure: one definition for every frontend.
//!
//! An arena hands out bytes that are not freed one by one, so nothing inside it is temporary: there is no such figure,
//! and no frontend may show one, neither 0 nor another one in its place.

use super::inside::ArenaFigures;
use crate::profile::{Arena, Measure};
use std::cmp::Reverse;

/// What an arena counts for by a measure: by `peak` the most chunk bytes held at once, by `live` the chunk bytes held
/// now, else what was allocated. `None` = arenas have no such figure.
pub fn measured(arena: &Arena, measure: Measure) -> Option<u64> {
    match measure {
        Measure::Peak => Some(arena.most_chunk_bytes),
        Measure::Live => Some(arena.chunk_bytes),
        Measure::Total => Some(arena.total_handed_bytes),
        Measure::Blocks => Some(arena.total_handed_blocks),
        Measure::Temporary => None,
        Measure::Copied => Some(arena.copied_bytes),
        Measure::Grows => Some(arena.grows),
    }
}

/// What [`measured`] is called.
pub fn measured_title(measure: Measure) -> Option<&'static str> {
    match measure {
        Measure::Peak => Some("most allocated_bytes at once"),
        Measure::Live => Some("allocated_bytes at the end"),
        Measure::Total => Some("bytes allocated"),
        Measure::Blocks => Some("pieces allocated"),
        Measure::Temporary => None,
        Measure::Copied => Some("bytes copied by growth"),
        Measure::Grows => Some("growths"),
    }
}

/// What a type or field inside an arena counts for by a measure. No peak is kept there: by `peak` it is what was
/// allocated, and called that. `None` = there is no such figure.
pub fn measured_inside(inside: &ArenaFigures, measure: Measure) -> Option<u64> {
    match measure {
        Measure::Peak | Measure::Total => Some(inside.total_bytes),
        Measure::Live => Some(inside.live_bytes),
        Measure::Blocks => Some(inside.total_blocks),
        Measure::Temporary => None,
        Measure::Copied => Some(inside.copied_bytes),
        Measure::Grows => Some(inside.grows),
    }
}

/// What [`measured_inside`] is called.
pub fn measured_inside_title(measure: Measure) -> Option<&'static str> {
    match measure {
        Measure::Peak | Measure::Total => Some("the bytes allocated"),
        Measure::Live => Some("the bytes in use"),
        Measure::Blocks => Some("the pieces allocated"),
        Measure::Temporary => None,
        Measure::Copied => Some("the bytes copied by growth"),
        Measure::Grows => Some("the growths"),
    }
}

/// Indexes of arenas, largest first: by the measure, then by what was allocated, then by name.
pub fn ordered(arenas: &[Arena], measure: Measure) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arenas.len()).collect();
    order.sort_by_key(|&at| {
        let arena = &arenas[at];
        let measured = Reverse(measured(arena, measure));
        (measured, Reverse(arena.total_handed_bytes), &arena.name)
    });
    order
}
