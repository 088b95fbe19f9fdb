//! The figures of arenas and of their contents by each measure: one definition for every frontend.
//!
//! An arena does not free its pieces one by one, so nothing inside it is temporary. There is no
//! such figure, and no frontend may show one: neither 0 nor another figure in its place.

use crate::profile::{Arena, ArenaFigures, ArenaValue, Measure};

/// The getter and the title of a figure; `None` = there is no such figure.
type Figure<T> = Option<(fn(&T) -> u64, &'static str)>;

fn of_arena(measure: Measure) -> Figure<ArenaValue> {
    Some(match measure {
        Measure::Peak => (
            |arena| arena.most_allocated_bytes,
            "most allocated_bytes at once",
        ),
        Measure::Live => (|arena| arena.allocated_bytes, "allocated_bytes at the end"),
        Measure::Total => (|arena| arena.total_used_bytes, "bytes used in total"),
        Measure::Blocks => (|arena| arena.total_used_blocks, "pieces in total"),
        Measure::Temporary | Measure::Retained | Measure::Unused => return None,
        Measure::Copied => (|arena| arena.copied_bytes, "bytes copied by growth"),
        Measure::Grows => (|arena| arena.grows, "growths"),
    })
}

fn of_inside(measure: Measure) -> Figure<ArenaFigures> {
    Some(match measure {
        Measure::Peak | Measure::Total => (|inside| inside.total_bytes, "the bytes used in total"),
        Measure::Live => (|inside| inside.live_bytes, "the bytes used now"),
        Measure::Blocks => (|inside| inside.total_blocks, "the pieces in total"),
        Measure::Temporary | Measure::Retained | Measure::Unused => return None,
        Measure::Copied => (|inside| inside.copied_bytes, "the bytes copied by growth"),
        Measure::Grows => (|inside| inside.grows, "the growths"),
    })
}

/// Returns the figure of an arena for a measure: for `peak` the most allocated bytes held at once,
/// for `live` the allocated bytes held now, else the allocations. `None` = arenas have no such
/// figure.
pub fn measured(arena: &Arena, measure: Measure) -> Option<u64> {
    of_arena(measure).map(|(figure, _)| figure(&arena.figures))
}

/// Returns the title of [`measured`].
pub fn measured_title(measure: Measure) -> Option<&'static str> {
    of_arena(measure).map(|(_, title)| title)
}

/// Returns the figure of a type or field inside an arena for a measure. Arenas keep no peak for
/// these, so `peak` gives the allocated bytes, under that title. `None` = there is no such figure.
pub fn measured_inside(inside: &ArenaFigures, measure: Measure) -> Option<u64> {
    of_inside(measure).map(|(figure, _)| figure(inside))
}

/// Returns the title of [`measured_inside`].
pub fn measured_inside_title(measure: Measure) -> Option<&'static str> {
    of_inside(measure).map(|(_, title)| title)
}
