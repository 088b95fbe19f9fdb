//! Rows by arena: all instances of one name, with their contents.
//!
//! Figures are *inside* the arena: its chunks are already blocks of the process, so these rows must
//! never be added to the totals of the process, nor compared with them.

use std::cmp::Reverse;
use std::collections::HashSet;

use serde::Serialize;

use super::{Detail, NO_STACK, Row, place};
use crate::profile::arenas::{
    Advice, ArenaFigures, Certainty, Leak, advice, by_field, by_type, leak_text, measured,
};
use crate::profile::fields::Fields;
use crate::profile::{Arena, Figures, Measure, Profile, TypeId, UNKNOWN, sharing_a_name};

/// An arena.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArenaDetail {
    /// Index into [`Profile::arenas`].
    pub arena: usize,
    /// Its [figure](measured) for the measure; `None` = arenas have no such figure.
    pub measured: Option<u64>,
    /// The allocations by type, most bytes first.
    pub types: Vec<ArenaPart>,
    /// The allocations by field, most bytes first.
    pub fields: Vec<ArenaPart>,
    /// Advice to make it cheaper.
    pub advice: Vec<Advice>,
    /// Blocks of the global heap that its values left behind, most bytes first.
    pub leaks: Vec<ArenaLeak>,
}

/// A part of an arena, by type or by field. The names are the keys in JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ArenaPart {
    /// A type's short name (the full one where two of the arena share the short one), or a field's
    /// path.
    pub key: String,
    /// The full name of the type; for a field, of the type of its values.
    pub full_name: Option<String>,
    /// The allocations for this part.
    #[serde(flatten)]
    pub inside: ArenaFigures,
}

/// A leak, named. The names are the keys in JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ArenaLeak {
    /// A sentence without its stop, free of control characters.
    pub text: String,
    /// `leaked` if it is certain, else the reason why it is not.
    pub certainty: Certainty,
    /// The frame that the site is charged to.
    pub site: String,
    /// Short name of what the blocks hold.
    #[serde(rename = "type")]
    pub type_key: Option<String>,
    /// Its full name.
    pub full_name: Option<String>,
    /// The path of the field.
    pub field: Option<String>,
    /// Bytes live at exit.
    pub live_bytes: u64,
    /// Blocks live at exit.
    pub live_blocks: u64,
}

/// All arenas, largest first: by the measure, then by what was allocated, then by name.
pub(super) fn rows(profile: &Profile, measure: Measure) -> Vec<Row> {
    let fields = profile.fields();
    let row = |&index: &usize| {
        let arena = &profile.arenas[index];
        let detail = ArenaDetail {
            arena: index,
            measured: measured(arena, measure),
            types: types(profile, arena),
            fields: places(profile, fields, arena),
            advice: advice(arena, fields, profile.process.state),
            leaks: profile
                .leaks()
                .iter()
                .filter(|leak| leak.arenas.contains(&index))
                .map(|leak| named(profile, fields, leak))
                .collect(),
        };
        Row {
            key: arena.name.clone(),
            figures: figures(arena),
            detail: Detail::Arena(Box::new(detail)),
        }
    };
    let mut order: Vec<usize> = (0..profile.arenas.len()).collect();
    order.sort_by_key(|&index| {
        let arena = &profile.arenas[index];
        let total_bytes = Reverse(arena.figures.total_used_bytes);
        (Reverse(measured(arena, measure)), total_bytes, &arena.name)
    });
    order.iter().map(row).collect()
}

/// The figures that there are inside an arena: what was allocated, taken back (freed, abandoned,
/// reset, dropped), and is in use. An arena tells no peak of what it allocated, and nothing of
/// shrinks and temporary pieces: those are 0 here, null in JSON and shown nowhere.
fn figures(arena: &Arena) -> Figures {
    let figures = &arena.figures;
    let live_blocks = arena.rows.iter().fold(0, |sum: u64, row| {
        sum.saturating_add(row.inside.live_blocks)
    });
    Figures {
        total_bytes: figures.total_used_bytes,
        total_blocks: figures.total_used_blocks,
        freed_bytes: figures.total_used_bytes.saturating_sub(figures.used_bytes),
        freed_blocks: figures.total_used_blocks.saturating_sub(live_blocks),
        live_bytes: figures.used_bytes,
        live_blocks,
        grows: figures.grows,
        copied_bytes: figures.copied_bytes,
        ..Figures::default()
    }
}

fn types(profile: &Profile, arena: &Arena) -> Vec<ArenaPart> {
    let rows = by_type(profile, arena);
    let ids = rows.iter().filter_map(|&(id, _)| id);
    let of_one_name: HashSet<TypeId> = sharing_a_name(profile, ids).flatten().collect();
    let part = |&(id, inside): &(Option<TypeId>, ArenaFigures)| {
        let name = profile.named_type(id);
        let key = name.map_or(UNKNOWN, |name| match id {
            Some(id) if of_one_name.contains(&id) => &name.full,
            _ => &name.short,
        });
        ArenaPart {
            key: key.to_owned(),
            full_name: name.map(|name| name.full.clone()),
            inside,
        }
    };
    rows.iter().map(part).collect()
}

fn places(profile: &Profile, fields: &Fields, arena: &Arena) -> Vec<ArenaPart> {
    by_field(fields, arena)
        .into_iter()
        .filter_map(|(field, inside)| {
            let field = fields.nodes.get(field as usize)?;
            let name = profile.named_type(field.value_type);
            Some(ArenaPart {
                key: field.path.clone(),
                full_name: name.map(|name| name.full.clone()),
                inside,
            })
        })
        .collect()
}

fn named(profile: &Profile, fields: &Fields, leak: &Leak) -> ArenaLeak {
    let name = profile.named_type(leak.type_id);
    ArenaLeak {
        text: leak_text(profile, leak),
        certainty: leak.certainty,
        site: charged_frame(profile, leak.site),
        type_key: name.map(|name| name.short.clone()),
        full_name: name.map(|name| name.full.clone()),
        field: fields.get(leak.field).map(|field| field.path.clone()),
        live_bytes: leak.live_bytes,
        live_blocks: leak.live_blocks,
    }
}

/// `function (file:line)` of the frame that a site (index into [`Profile::sites`]) is charged to.
pub fn charged_frame(profile: &Profile, site: usize) -> String {
    let charged = profile.sites.get(site).and_then(|site| site.owner);
    charged.map_or_else(|| NO_STACK.to_owned(), |frame| place(profile, frame))
}
