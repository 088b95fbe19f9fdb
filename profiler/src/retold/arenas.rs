//! By arena: each arena, the fields of the data inside it, and the type of what was handed out.
//!
//! Widths are bytes inside arenas, of blocks that are counted elsewhere already. Must keep the sum: what rows do
//! not tell has a frame of its own, and the frames of what is live come to the chunk bytes.

use super::{Retold, Told, What};
use crate::profile::arenas::{Part, unscoped};
use crate::profile::{
    Arena, ArenaRow, Figures, FrameId, Measure, Profile, ScopeId, Site, StackMarks,
};

impl Retold {
    /// The arenas of a profile, or one of them (index into [`Profile::arenas`]), by a measure that
    /// [arenas have](crate::flamegraph::is_of_arenas).
    pub fn by_arena(profile: &Profile, only: Option<usize>, measure: Measure) -> Retold {
        let mut told = Told::new(profile);
        for (index, arena) in profile.arenas.iter().enumerate() {
            if only.is_none_or(|only| only == index) {
                told.arena(index, arena, measure);
            }
        }
        told.retold
    }
}

impl Told<'_> {
    fn arena(&mut self, index: usize, arena: &Arena, measure: Measure) {
        let root = self.frame(What::Arena(index));
        for row in &arena.rows {
            let mut stack = vec![root];
            let field = self.fields.field_of(row.scope);
            stack.extend(self.path(field));
            let scope = self.profile.scopes.get(row.scope.0 as usize);
            let id = scope.and_then(|scope| scope.value_type);
            // What went past the handle went past it here, whenever that was.
            if measure == Measure::Total && row.past_bytes > 0 {
                let mut past = stack.clone();
                past.push(self.frame(What::Note("(past the handle)")));
                self.add(past, row.scope, bytes(row.past_bytes, measure));
            }
            if id.is_some() {
                stack.push(self.frame(What::Type(id)));
            }
            self.add(stack, row.scope, figures(row));
        }
        let rest = unscoped(arena);
        let rest = Figures {
            total_bytes: rest.total_bytes,
            total_blocks: rest.total_blocks,
            live_bytes: rest.live_bytes,
            ..Figures::default()
        };
        if measure.of(&rest) > 0 {
            let note = self.frame(What::Note("(no row: the recording had no room)"));
            self.add(vec![root, note], ScopeId(0), rest);
        }
        if measure != Measure::Live {
            return;
        }
        for part in Part::ALL.into_iter().filter(|part| *part != Part::Handed) {
            let note = self.frame(What::Note(match part {
                Part::Padding => "(padding)",
                Part::Abandoned => "(abandoned)",
                Part::Past => "(past the handle)",
                Part::Tail | Part::Handed => "(tail)",
            }));
            self.add(vec![root, note], ScopeId(0), bytes(part.of(arena), measure));
        }
    }

    fn add(&mut self, stack: Vec<FrameId>, scope: ScopeId, figures: Figures) {
        self.retold.profile.totals.add(&figures);
        self.retold.profile.sites.push(Site {
            shown: 0..stack.len(),
            owner: stack.len().checked_sub(1),
            stack,
            scope,
            contents: None,
            marks: StackMarks::default(),
            figures,
        });
    }
}

fn figures(row: &ArenaRow) -> Figures {
    Figures {
        total_bytes: row.total_bytes,
        total_blocks: row.total_blocks,
        live_bytes: row.live_bytes,
        live_blocks: row.live_blocks,
        ..Figures::default()
    }
}

/// Bytes of no pieces.
fn bytes(bytes: u64, measure: Measure) -> Figures {
    let mut figures = Figures::default();
    match measure {
        Measure::Live => figures.live_bytes = bytes,
        _ => figures.total_bytes = bytes,
    }
    figures
}
