//! The allocations of an arena, by type and by field.
//!
//! This module must keep the sum: every row of an arena is in exactly one type and one field.
//! Allocations that no row counts are [`unscoped`].

use crate::profile::fields::Fields;
use crate::profile::{Arena, ArenaFigures, ArenaRow, Profile, TypeId};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// Groups the allocations of an arena by the `key` of its rows, most bytes first.
fn grouped<K: Copy + Eq + Hash + Ord>(
    arena: &Arena,
    key: impl Fn(&ArenaRow) -> K,
) -> Vec<(K, ArenaFigures)> {
    let mut sums: HashMap<K, ArenaFigures> = HashMap::new();
    for row in &arena.rows {
        let sum = sums.entry(key(row)).or_default();
        sum.add(&row.inside);
    }
    sums.retain(|_, inside| *inside != ArenaFigures::default());
    let mut sums: Vec<(K, ArenaFigures)> = sums.into_iter().collect();
    sums.sort_by_key(|(key, inside)| {
        let bytes = (inside.total_bytes, inside.live_bytes, inside.bypassed_bytes);
        (Reverse(bytes), *key)
    });
    sums
}

/// Returns the allocations of an arena by the type of the field that was being filled, most bytes
/// first; `None` = outside all fields.
pub fn by_type(profile: &Profile, arena: &Arena) -> Vec<(Option<TypeId>, ArenaFigures)> {
    let type_of = |row: &ArenaRow| {
        let id = profile.scopes.get(row.scope.0 as usize)?.value_type;
        id.filter(|id| (id.0 as usize) < profile.types.len())
    };
    grouped(arena, type_of)
}

/// Returns the allocations of an arena by field (index into [`Fields::nodes`]; 0 = outside all
/// fields), without the places inside it, most bytes first.
pub fn by_field(fields: &Fields, arena: &Arena) -> Vec<(u32, ArenaFigures)> {
    grouped(arena, |row| fields.field_of(row.scope))
}

/// Returns the allocations of an arena that none of its rows counts, because the recording had no
/// room for them. All zero if nothing is missing. A figure is also 0 if the rows add up to more
/// than the arena.
pub fn unscoped(arena: &Arena) -> ArenaFigures {
    let figures = &arena.figures;
    let mut rows = ArenaFigures::default();
    for row in &arena.rows {
        rows.add(&row.inside);
    }
    ArenaFigures {
        total_bytes: figures.total_used_bytes.saturating_sub(rows.total_bytes),
        total_blocks: figures.total_used_blocks.saturating_sub(rows.total_blocks),
        live_bytes: figures.used_bytes.saturating_sub(rows.live_bytes),
        live_blocks: 0,
        copied_bytes: figures.copied_bytes.saturating_sub(rows.copied_bytes),
        bypassed_bytes: 0,
        grows: figures.grows.saturating_sub(rows.grows),
    }
}
