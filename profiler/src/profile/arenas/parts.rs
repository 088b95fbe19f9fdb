//! The parts of an arena's chunks, and the check that they add up.
//!
//! This module must never hide an arena whose parts do not add up: one of its figures is wrong, and
//! frontends say so.

use crate::profile::{Arena, ArenaValue};
use crate::units::{Bytes, printable};

/// A part of the allocated bytes of live instances.
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
    fn facts(self) -> (&'static str, char, fn(&ArenaValue) -> u64) {
        match self {
            Part::Used => ("used", '#', |arena| arena.used_bytes),
            Part::Padding => ("padding", '+', |arena| arena.padding_bytes),
            Part::Abandoned => ("abandoned", 'x', |arena| arena.abandoned_bytes),
            Part::Bypassed => ("bypassed", '>', |arena| arena.bypassed_bytes),
            Part::UnusedTail => ("unused tail", '.', |arena| arena.unused_tail_bytes),
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

    /// Returns the bytes of the part in an arena.
    pub fn of(self, arena: &Arena) -> u64 {
        self.facts().2(&arena.figures)
    }
}

/// Divides `cells` among the parts. The shares add up to `cells`, and every part that is not empty
/// gets at least one cell while there is room. An arena without chunks gets no cells.
pub fn bar(arena: &Arena, cells: usize) -> [(Part, usize); 5] {
    let values = Part::ALL.map(|part| u128::from(part.of(arena)));
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

/// Returns a sentence if the parts of an arena do not add up to its allocated bytes; `None` if they
/// do.
pub fn imbalance(arena: &Arena) -> Option<String> {
    let parts = Part::ALL.map(|part| u128::from(part.of(arena)));
    let parts: u128 = parts.iter().sum();
    if parts == u128::from(arena.figures.allocated_bytes) {
        return None;
    }
    let parts = u64::try_from(parts).unwrap_or(u64::MAX);
    Some(format!(
        "Arena {}: its parts add up to {parts} bytes ({}), but its chunks to {} ({}): its figures \
         cannot be trusted",
        printable(&arena.name),
        Bytes(parts),
        arena.figures.allocated_bytes,
        Bytes(arena.figures.allocated_bytes),
    ))
}
