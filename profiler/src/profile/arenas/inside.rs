//! What an arena allocated, by type and by field.
//!
//! Must keep the sum: every row of an arena is in exactly one type and one field, and what no row tells is told by
//! [`unscoped`].

use crate::profile::fields::Fields;
use crate::profile::{Arena, ArenaRow, Profile, TypeId};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// What was allocated inside an arena. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArenaFigures {
    /// Bytes ever allocated; a growth counts with its new size.
    pub total_bytes: u64,
    /// How often.
    pub total_blocks: u64,
    /// Bytes in use in live instances.
    pub live_bytes: u64,
    /// Pieces in use in live instances.
    pub live_blocks: u64,
    /// Bytes copied by growth that could not be in place.
    pub copied_bytes: u64,
    /// Bytes used without the handle.
    pub past_bytes: u64,
    /// Growths.
    pub grows: u64,
}

impl ArenaFigures {
    /// Adds `other`, column by column. Saturates: a hostile recording may claim any figures.
    pub fn add(&mut self, other: &ArenaFigures) {
        self.total_bytes = self.total_bytes.saturating_add(other.total_bytes);
        self.total_blocks = self.total_blocks.saturating_add(other.total_blocks);
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
        self.live_blocks = self.live_blocks.saturating_add(other.live_blocks);
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
        self.past_bytes = self.past_bytes.saturating_add(other.past_bytes);
        self.grows = self.grows.saturating_add(other.grows);
    }

    /// What one row says.
    pub fn of(row: &ArenaRow) -> ArenaFigures {
        ArenaFigures {
            total_bytes: row.total_bytes,
            total_blocks: row.total_blocks,
            live_bytes: row.live_bytes,
            live_blocks: row.live_blocks,
            copied_bytes: row.copied_bytes,
            past_bytes: row.past_bytes,
            grows: row.grows,
        }
    }
}

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

/// What an arena allocated by the type of the field it was for, most bytes first.
pub fn by_type(profile: &Profile, arena: &Arena) -> Vec<TypeInside> {
    let mut types: HashMap<Option<TypeId>, ArenaFigures> = HashMap::new();
    for row in &arena.rows {
        let type_id = profile
            .scopes
            .get(row.scope.0 as usize)
            .and_then(|scope| scope.value_type)
            .filter(|id| (id.0 as usize) < profile.types.len());
        types
            .entry(type_id)
            .or_default()
            .add(&ArenaFigures::of(row));
    }
    let mut types: Vec<TypeInside> = types
        .into_iter()
        .filter(|(_, inside)| *inside != ArenaFigures::default())
        .map(|(type_id, inside)| TypeInside { type_id, inside })
        .collect();
    types.sort_by_key(|row| (order(&row.inside), row.type_id));
    types
}

/// What an arena allocated by field, most bytes first.
pub fn by_field(fields: &Fields, arena: &Arena) -> Vec<FieldInside> {
    let mut rows: HashMap<u32, ArenaFigures> = HashMap::new();
    for row in &arena.rows {
        let field = fields.field_of(row.scope);
        rows.entry(field).or_default().add(&ArenaFigures::of(row));
    }
    let mut rows: Vec<FieldInside> = rows
        .into_iter()
        .filter(|(_, inside)| *inside != ArenaFigures::default())
        .map(|(field, inside)| FieldInside { field, inside })
        .collect();
    rows.sort_by_key(|row| (order(&row.inside), row.field));
    rows
}

fn order(inside: &ArenaFigures) -> Reverse<(u64, u64, u64)> {
    Reverse((inside.total_bytes, inside.live_bytes, inside.past_bytes))
}

/// What the arena allocated that no row of it tells: rows that found no room. All zero when nothing is missing;
/// figures in which the rows come to more than the arena are 0 too.
pub fn unscoped(arena: &Arena) -> ArenaFigures {
    let mut rows = ArenaFigures::default();
    for row in &arena.rows {
        rows.add(&ArenaFigures::of(row));
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
