//! The contents of arenas: each arena, the fields of the data inside it, and the allocated types.
//!
//! Figures are bytes inside arenas, of blocks that are already counted elsewhere. This module must
//! keep the sum: allocations that no row names have a node of their own, and the nodes of live
//! bytes add up to the allocated bytes.

use crate::profile::arenas::{Breakdown, Part, Whose, unscoped};
use crate::profile::{ArenaFigures, Figures, Label, MarkKind, Measure, Profile, ScopeId};

/// Calls `add` with all that is inside arenas, or inside one of them (index into
/// [`Profile::arenas`]): path, scope and figures.
pub(super) fn each_inside(
    profile: &Profile,
    only: Option<usize>,
    measure: Measure,
    mut add: impl FnMut(&[Label], ScopeId, Figures),
) {
    let fields = profile.fields();
    for (index, arena) in profile.arenas.iter().enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        let root = Label::Arena(index as u32);
        for row in &arena.rows {
            let mut path = vec![root];
            let of_field = fields.path_to(fields.field_of(row.scope));
            path.extend(of_field.into_iter().map(Label::Field));
            // What bypassed the handle did so here, whenever that was.
            if measure == Measure::Total && row.inside.bypassed_bytes > 0 {
                path.push(Label::Mark(MarkKind::Part(Part::Bypassed)));
                add(&path, row.scope, bytes(row.inside.bypassed_bytes, measure));
                path.pop();
            }
            let scope = profile.scopes.get(row.scope.0 as usize);
            let id = scope.and_then(|scope| scope.value_type);
            path.extend(id.map(|id| Label::Type(Some(id))));
            add(&path, row.scope, figures(&row.inside));
        }
        let mut add = |mark, figures| add(&[root, Label::Mark(mark)], ScopeId(0), figures);
        let rest = figures(&unscoped(arena));
        if measure.of(&rest) > 0 {
            add(MarkKind::NoRow, rest);
        }
        let live = Breakdown::of(arena, Whose::Live);
        if let Some(live) = live.filter(|_| measure == Measure::Live) {
            let parts = Part::ALL.into_iter();
            for part in parts.filter(|part| *part != Part::Used) {
                add(MarkKind::Part(part), bytes(part.of(&live), measure));
            }
        }
    }
}

/// Returns figures of the allocated bytes and of the bytes in use.
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
