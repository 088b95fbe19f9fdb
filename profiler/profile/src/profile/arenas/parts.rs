//! The parts of an arena's chunks, and the check that they add up.
//!
//! This module must never hide an arena whose parts do not add up: one of its figures is wrong, and
//! frontends say so.

use crate::profile::Arena;
use crate::units::{Bytes, printable};
use serde::Serialize;

/// The parts of the chunks of one or more instances: `allocated_bytes` is the sum of the others.
/// The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Breakdown {
    /// Usable bytes of the chunks.
    pub allocated_bytes: u64,
    /// Bytes used by pieces that went through the handle.
    pub used_bytes: u64,
    /// Bytes lost to alignment.
    pub padding_bytes: u64,
    /// Bytes given up by growth or release inside the arena.
    pub abandoned_bytes: u64,
    /// Bytes used without the handle.
    pub bypassed_bytes: u64,
    /// Bytes not used.
    pub unused_tail_bytes: u64,
}

/// The instances whose parts are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose {
    /// All instances that are live.
    Live,
    /// The largest instance at its fullest, whether it is live or not.
    Largest,
    /// All instances that were dropped, each as it was then.
    Dropped,
}

impl Whose {
    /// Every one.
    pub const ALL: [Whose; 3] = [Whose::Live, Whose::Largest, Whose::Dropped];
}

impl Breakdown {
    /// Returns the parts of an arena's instances; `None` if there are no such instances, or their
    /// parts are not known.
    pub fn of(arena: &Arena, whose: Whose) -> Option<Breakdown> {
        let figures = &arena.figures;
        let (breakdown, is_any) = match whose {
            Whose::Live => (
                Breakdown {
                    allocated_bytes: figures.allocated_bytes,
                    used_bytes: figures.used_bytes,
                    padding_bytes: figures.padding_bytes,
                    abandoned_bytes: figures.abandoned_bytes,
                    bypassed_bytes: figures.bypassed_bytes,
                    unused_tail_bytes: figures.unused_tail_bytes,
                },
                figures.made > figures.dropped,
            ),
            Whose::Largest => (
                Breakdown {
                    allocated_bytes: figures.largest_allocated_bytes,
                    used_bytes: figures.largest_used_bytes,
                    padding_bytes: figures.largest_padding_bytes,
                    abandoned_bytes: figures.largest_abandoned_bytes,
                    bypassed_bytes: figures.largest_bypassed_bytes,
                    unused_tail_bytes: figures.largest_unused_tail_bytes,
                },
                false,
            ),
            Whose::Dropped => (
                Breakdown {
                    allocated_bytes: figures.dropped_allocated_bytes,
                    used_bytes: figures.dropped_used_bytes,
                    padding_bytes: figures.dropped_padding_bytes,
                    abandoned_bytes: figures.dropped_abandoned_bytes,
                    bypassed_bytes: figures.dropped_bypassed_bytes,
                    unused_tail_bytes: figures.dropped_unused_tail_bytes,
                },
                figures.dropped > 0,
            ),
        };
        (is_any || breakdown != Breakdown::default()).then_some(breakdown)
    }

    /// Returns the parts that a bar shows: of the live instances if they have chunks, else of the
    /// largest one.
    pub fn shown(arena: &Arena) -> Option<(Whose, Breakdown)> {
        [Whose::Live, Whose::Largest]
            .into_iter()
            .filter_map(|whose| Some((whose, Breakdown::of(arena, whose)?)))
            .find(|(_, breakdown)| breakdown.allocated_bytes > 0)
    }

    /// Returns the sum of the parts.
    fn sum(&self) -> u128 {
        let parts = Part::ALL.map(|part| u128::from(part.of(self)));
        parts.iter().sum()
    }
}

/// A part of the chunks of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// Used by pieces that went through the handle.
    Used,
    /// Lost to alignment.
    Padding,
    /// Given up by growth inside the arena.
    Abandoned,
    /// Used without the handle.
    Bypassed,
    /// Not used yet.
    UnusedTail,
}

impl Part {
    /// Every part, in the order bars show them.
    pub const ALL: [Part; 5] = [
        Part::Used,
        Part::Padding,
        Part::Abandoned,
        Part::Bypassed,
        Part::UnusedTail,
    ];

    /// Returns its name in frontends, its character in a bar of text, and the getter of its bytes.
    fn facts(self) -> (&'static str, char, fn(&Breakdown) -> u64) {
        match self {
            Part::Used => ("used", '#', |of| of.used_bytes),
            Part::Padding => ("padding", '+', |of| of.padding_bytes),
            Part::Abandoned => ("abandoned", 'x', |of| of.abandoned_bytes),
            Part::Bypassed => ("bypassed", '>', |of| of.bypassed_bytes),
            Part::UnusedTail => ("unused tail", '.', |of| of.unused_tail_bytes),
        }
    }

    /// Returns the name of the part in frontends.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Returns the character of the part in a bar of text.
    pub fn mark(self) -> char {
        self.facts().1
    }

    /// Returns the bytes of the part.
    pub fn of(self, breakdown: &Breakdown) -> u64 {
        self.facts().2(breakdown)
    }
}

/// Divides `cells` among the parts. The shares add up to `cells`, and every part that is not empty
/// gets at least one cell while there is room. Without chunks there are no cells.
pub fn bar(breakdown: &Breakdown, cells: usize) -> [(Part, usize); 5] {
    let values = Part::ALL.map(|part| u128::from(part.of(breakdown)));
    let whole: u128 = values.iter().sum();
    if whole == 0 {
        return Part::ALL.map(|part| (part, 0));
    }
    let exact = |value: u128| value * cells as u128;
    let mut shares = values.map(|value| (exact(value) / whole) as usize);
    // The largest rests first; ties to the earlier part.
    let mut order: Vec<usize> = (0..5).collect();
    order.sort_by_key(|&part| std::cmp::Reverse(exact(values[part]) % whole));
    let left = cells - shares.iter().sum::<usize>();
    for &part in order.iter().take(left) {
        shares[part] += 1;
    }
    for part in 0..5 {
        let widest = (0..5).max_by_key(|&part| shares[part]).unwrap_or(0);
        if values[part] > 0 && shares[part] == 0 && shares[widest] > 1 {
            shares[widest] -= 1;
            shares[part] = 1;
        }
    }
    std::array::from_fn(|i| (Part::ALL[i], shares[i]))
}

/// Returns a sentence if the parts of an arena's instances do not add up to their allocated bytes;
/// `None` if they do.
pub fn imbalance(arena: &Arena) -> Option<String> {
    let known = Whose::ALL
        .into_iter()
        .filter_map(|whose| Breakdown::of(arena, whose));
    let broken = known
        .map(|breakdown| (breakdown.sum(), breakdown.allocated_bytes))
        .find(|(parts, allocated_bytes)| *parts != u128::from(*allocated_bytes));
    let (parts, allocated_bytes) = broken?;
    let parts = u64::try_from(parts).unwrap_or(u64::MAX);
    Some(format!(
        "Arena {}: its parts add up to {parts} bytes ({}), but its chunks to {allocated_bytes} ({}): its figures \
         cannot be trusted",
        printable(&arena.name),
        Bytes(parts),
        Bytes(allocated_bytes),
    ))
}
