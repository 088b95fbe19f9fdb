//! Tables: rows by site, type, field, thread, phase or arena, and the columns that text gives them. Text and JSON are made
//! of the same rows, so they cannot disagree.
//!
//! Must keep the sum: every site is in exactly one row. (Threads are counted apart from sites, see
//! [`By::Thread`], and arenas are not sites at all, see [`By::Arena`].)

mod arena;
mod columns;
mod data;
mod names;
mod phase;
mod preorder;
mod site;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use crate::profile::{Charged, Figures, FrameId, Measure, Profile, ScopeId, StackMarks};

pub use arena::{ArenaDetail, ArenaLeak, ArenaPart};
pub(crate) use columns::{Column, NAME_WIDTH, SHARE_WIDTH, bytes_each, columns, of_measure};
pub use data::{FieldDetail, Part, TypeDetail};
pub(crate) use names::{file_and_line, function_name, place};
pub use phase::{Amplification, PhaseDetail};
pub use preorder::preorder;
pub(crate) use preorder::weighty;

/// What a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// A stack under a phase and field. Sites whose shown frames are the same lines of the same functions and whose
    /// blocks hold the same are one row.
    #[default]
    Site,
    /// What blocks hold.
    Type,
    /// A place in the data that was deserialized as `Profiled<T>`, without the places inside it.
    Field,
    /// Threads of one name. A block freed by another thread is subtracted there, so `live` and `peak` of rows need
    /// not add up; `total` and `freed` do.
    Thread,
    /// A phase, without the phases inside it.
    Phase,
    /// Arenas of one name. Figures are inside the arena, whose chunks are blocks of sites already: never add them to
    /// the totals.
    Arena,
}

impl By {
    /// Every grouping, in the order faces offer them.
    pub const ALL: [By; 6] = [
        By::Site,
        By::Type,
        By::Field,
        By::Thread,
        By::Phase,
        By::Arena,
    ];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Site => "site",
            By::Type => "type",
            By::Field => "field",
            By::Thread => "thread",
            By::Phase => "phase",
            By::Arena => "arena",
        }
    }

    /// The grouping of that name, or `None`.
    pub fn from_name(name: &str) -> Option<By> {
        By::ALL.into_iter().find(|by| by.name() == name)
    }
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    /// `function (file:line)`, a type, a field's path, a thread's name, a phase's path (`load > parse`) or an arena's name, as
    /// recorded: not safe for a terminal before [`crate::units::printable`].
    pub key: String,
    /// What was counted.
    pub figures: Figures,
    /// What the row stands for.
    pub detail: Detail,
}

/// What a row stands for.
#[derive(Clone, Debug)]
pub enum Detail {
    /// A stack under a phase and field.
    Site {
        /// The frames, outermost first.
        frames: Vec<FrameId>,
        /// The frame the site is charged to.
        owner: Option<FrameId>,
        /// The phase or field.
        scope: ScopeId,
        /// What it is charged to where no stacks were recorded.
        place: Option<Charged>,
        /// The field's path.
        field: Option<String>,
        /// What its blocks hold, as the row of that type is called.
        type_key: Option<String>,
        /// The arenas (indexes into [`Profile::arenas`]) whose chunks its blocks are; mostly none.
        chunk_of: Vec<usize>,
        /// What the walk had to do to the stack.
        marks: StackMarks,
        /// Indexes into [`Profile::sites`] of what was merged.
        sites: Vec<usize>,
    },
    /// A type.
    Type(Box<TypeDetail>),
    /// A field.
    Field(Box<FieldDetail>),
    /// Threads of one name.
    Thread {
        /// How many threads.
        count: u64,
    },
    /// A phase.
    Phase(Box<PhaseDetail>),
    /// An arena.
    Arena(Box<ArenaDetail>),
}

/// All rows, ordered by `measure` (largest first), then total bytes, then key.
pub fn rows(profile: &Profile, by: By, measure: Measure, keep_all: bool) -> Vec<Row> {
    let mut rows = match by {
        By::Site => site::rows(profile, keep_all),
        By::Type => data::by_type(profile),
        By::Field => data::by_field(profile),
        By::Thread => by_thread(profile),
        By::Phase => phase::rows(profile),
        By::Arena => return arena::rows(profile, measure),
    };
    rows.sort_by(|a, b| {
        let order = |row: &Row| {
            (
                Reverse(measure.of(&row.figures)),
                Reverse(row.figures.total_bytes),
            )
        };
        order(a).cmp(&order(b)).then_with(|| a.key.cmp(&b.key))
    });
    rows
}

fn by_thread(profile: &Profile) -> Vec<Row> {
    let row = |thread: &crate::profile::Thread| Row {
        key: if thread.name.is_empty() {
            "(unnamed)".to_owned()
        } else {
            thread.name.clone()
        },
        figures: thread.figures,
        detail: Detail::Thread {
            count: thread.count,
        },
    };
    profile.threads.iter().map(row).collect()
}
