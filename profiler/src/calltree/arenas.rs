//! What lies inside arenas: each arena, the fields of the data inside it, and the type of what was allocated.
//!
//! Figures are bytes inside arenas, of blocks that are counted elsewhere already. Must keep the sum: what rows do not tell
//! has a node of its own, and the nodes of what is live come to the chunk bytes.

use super::label::{Label, MarkKind};
use crate::profile::arenas::{Part, unscoped};
use crate::profile::{Arena, ArenaFigures, Figures, Measure, Profile, ScopeId};

/// Bytes inside an arena that have one path.
pub(super) struct Inside {
    pub(super) path: Vec<Label>,
    pub(super) scope: ScopeId,
    pub(super) figures: Figures,
}

/// What is inside all arenas, or inside one of them (index into [`Profile::arenas`]).
pub(super) fn blocks_inside(
    profile: &Profile,
    only: Option<usize>,
    measure: Measure,
) -> Vec<Inside> {
    let mut all = Vec::new();
    for (index, arena) in profile.arenas.iter().enumerate() {
        if only.is_none_or(|only| only == index) {
            inside(profile, index as u32, arena, measure, &mut all);
        }
    }
    all
}

fn inside(profile: &Profile, index: u32, arena: &Arena, measure: Measure, all: &mut Vec<Inside>) {
    let root = Label::Arena(index);
    let mut add = |path: Vec<Label>, scope: ScopeId, figures: Figures| {
        all.push(Inside {
            path,
            scope,
            figures,
        });
    };
    let fields = profile.fields();
    for row in &arena.rows {
        let mut path = vec![root];
        let of_field = fields.path_to(fields.field_of(row.scope));
        path.extend(of_field.into_iter().map(Label::Field));
        // What bypassed the handle did so here, whenever that was.
        if measure == Measure::Total && row.inside.past_bytes > 0 {
            let bypassed = Label::Mark(MarkKind::Part(Part::Bypassed));
            let path = [&path[..], &[bypassed]].concat();
            add(path, row.scope, bytes(row.inside.past_bytes, measure));
        }
        let scope = profile.scopes.get(row.scope.0 as usize);
        let id = scope.and_then(|scope| scope.value_type);
        path.extend(id.map(|id| Label::Type(Some(id))));
        add(path, row.scope, figures(&row.inside));
    }
    let mut add = |mark: MarkKind, figures: Figures| {
        add(vec![root, Label::Mark(mark)], ScopeId(0), figures);
    };
    let rest = figures(&unscoped(arena));
    if measure.of(&rest) > 0 {
        add(MarkKind::NoRow, rest);
    }
    if measure == Measure::Live {
        let parts = Part::ALL.into_iter();
        for part in parts.filter(|part| *part != Part::Allocated) {
            add(MarkKind::Part(part), bytes(part.of(arena), measure));
        }
    }
}

/// What was allocated and is in use.
fn figures(inside: &ArenaFigures) -> Figures {
    Figures {
        total_bytes: inside.total_bytes,
        total_blocks: inside.total_blocks,
        live_bytes: inside.live_bytes,
        live_blocks: inside.live_blocks,
        ..Figures::default()
    }
}

/// Bytes without a count of blocks.
fn bytes(bytes: u64, measure: Measure) -> Figures {
    let mut figures = Figures::default();
    match measure {
        Measure::Live => figures.live_bytes = bytes,
        _ => figures.total_bytes = bytes,
    }
    figures
}
