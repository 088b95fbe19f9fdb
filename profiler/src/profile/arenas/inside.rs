//! What an arena allocated, by type and by field.
//!
//! Must keep the sum: every row of an arena is in exactly one type and one field, and what no row counts is
//! [`unscoped`].

use crate::profile::fields::Fields;
use crate::profile::{Arena, ArenaFigures, ArenaRow, Profile, TypeId};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// A type inside an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInside {
    /// The type of the field that was being filled; `None` = allocated outside all fields.
    pub type_id: Option<TypeId>,
    /// What was allocated for it.
    pub inside: ArenaFigures,
}

/// A field inside an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInside {
    /// Index into [`Fields::nodes`]; 0 = allocated outside all fields.
    pub field: u32,
    /// What was allocated for it, without the places inside it.
    pub inside: ArenaFigures,
}

/// What an arena allocated by what `key` says of a row, most bytes first.
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
        let bytes = (inside.total_bytes, inside.live_bytes, inside.past_bytes);
        (Reverse(bytes), *key)
    });
    sums
}

/// What an arena allocated by the type of the field it was for, most bytes first.
pub fn by_type(profile: &Profile, arena: &Arena) -> Vec<TypeInside> {
    let type_of = |row: &ArenaRow| {
        let id = profile.scopes.get(row.scope.0 as usize)?.value_type;
        id.filter(|id| (id.0 as usize) < profile.types.len())
    };
    let types = grouped(arena, type_of).into_iter();
    types
        .map(|(type_id, inside)| TypeInside { type_id, inside })
        .collect()
}

/// What an arena allocated by field, most bytes first.
pub fn by_field(fields: &Fields, arena: &Arena) -> Vec<FieldInside> {
    let rows = grouped(arena, |row| fields.field_of(row.scope)).into_iter();
    rows.map(|(field, inside)| FieldInside { field, inside })
        .collect()
}

/// What the arena allocated that no row of it tells: rows that found no room. All zero when nothing is missing;
/// figures in which the rows come to more than the arena are 0 too.
pub fn unscoped(arena: &Arena) -> ArenaFigures {
    let mut rows = ArenaFigures::default();
    for row in &arena.rows {
        rows.add(&row.inside);
    }
    ArenaFigures {
        total_bytes: arena.total_handed_bytes.saturating_sub(rows.total_bytes),
        total_blocks: arena.total_handed_blocks.saturating_sub(rows.total_blocks),
        live_bytes: arena.handed_bytes.saturating_sub(rows.live_bytes),
        live_blocks: 0,
        copied_bytes: arena.copied_bytes.saturating_sub(rows.copied_bytes),
        past_bytes: 0,
        grows: arena.grows.saturating_sub(rows.grows),
    }
}
