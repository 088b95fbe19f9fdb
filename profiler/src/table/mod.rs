//! Tables: rows by site, type, field, thread, phase or arena, and their columns in text. Text and
//! JSON use the same rows, so they cannot disagree.
//!
//! [`holders`] and [`held_rows`] are of a snapshot: who holds the heap at one moment, and what rows
//! retain then.
//!
//! This module must keep the sum: every site is in exactly one row. Threads are counted apart from
//! sites, see [`By::Thread`], and arenas are not sites at all, see [`By::Arena`].
//!
//! ```
//! use heapglass_profiler::profile::{Frames, Measure};
//! use heapglass_profiler::table::{By, Detail, rows};
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let types = rows(&profile, By::Type, Measure::Peak, Frames::Folded);
//! let sum: u64 = types.iter().map(|row| row.figures.peak_bytes).sum();
//! assert_eq!(sum, profile.totals().peak_bytes);
//! assert_eq!(types[0].key, "String");
//! if let Detail::Type(detail) = &types[0].detail {
//!     println!("{} values of {} bytes in all", detail.values, detail.inline_bytes);
//! }
//! ```

mod arena;
mod columns;
mod data;
mod failed_request;
mod figures;
mod function;
mod heading;
mod held;
mod held_rows;
mod holder;
mod names;
mod phase;
mod preorder;
mod rates;
mod site;
#[cfg(test)]
mod tests;
mod thread;
mod type_name;

use serde::Serialize;

use crate::profile::{Figures, FrameId, Frames, Measure, Profile};

pub(crate) use arena::charged_frame;
pub use arena::{ArenaDetail, ArenaLeak, ArenaPart};
pub(crate) use columns::{
    Column, cells, columns, field_columns, fitting, held_columns, site_columns, titles,
};
pub use data::{FieldDetail, InPlace, Part, Slack, TypeDetail, slack_by_type};
pub(crate) use failed_request::{failed_requests, fatal_request};
pub(crate) use figures::by_key;
pub(crate) use function::libraries;
pub use function::{FunctionDetail, sites_of};
pub use heading::Heading;
pub(crate) use heading::SHARE_WIDTH;
pub(crate) use held::neighbours_text;
pub use held::{HeldFigures, HeldMeasure, SnapshotAt, all_snapshots, snapshot_at};
pub(crate) use held_rows::held_by;
#[cfg(feature = "flamegraph")]
pub(crate) use held_rows::held_by_groups;
pub use held_rows::{HeldRow, held_rows, not_in_snapshots};
pub use holder::{HolderRow, HolderRowName, holders, holders_of};
pub(crate) use holder::{NOT_REACHED, NOT_SEEN, SEVERAL, SMALL};
pub(crate) use names::{NO_STACK, place, program_name};
pub use phase::{Amplification, PhaseDetail};
pub use preorder::preorder;
pub(crate) use preorder::weighty;
#[cfg(feature = "flamegraph")]
pub(crate) use rates::{bytes_each, bytes_per_second, per_second};
pub use site::{SiteDetail, SiteLabel, stack_numbers};
pub(crate) use site::{asking, label_of, mark_names};
pub use thread::ThreadDetail;
pub use type_name::without_arguments;

/// The grouping of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum By {
    /// The allocated type, the place in the data or the call, and the line that owns it. Sites that
    /// would read the same form one row.
    #[default]
    Site,
    /// The function that owns the blocks: of the program, or of the nearest dependency.
    Owner,
    /// A function on the stack: the blocks it asked for itself, and those of everything it calls.
    Function,
    /// The crate whose code asked. Requests of the standard library count for its caller.
    Crate,
    /// The loaded image (executable or library) whose code asked.
    Module,
    /// The type that blocks hold.
    Type,
    /// A place in the data that was deserialized as `Profiled<T>`, without the places inside it.
    Field,
    /// Threads of one name, or of names that differ in their numbers alone. Another thread may free
    /// a block, so live bytes belong to no thread: rows count what each thread allocated and what
    /// it freed.
    Thread,
    /// A phase, without the phases inside it.
    Phase,
    /// Arenas of one name. Figures are inside the arena. Its chunks are already blocks of sites, so
    /// never add these figures to the totals.
    Arena,
}

impl By {
    /// Returns the measure that rows of this kind use in place of `wanted`: threads have no live
    /// bytes.
    #[must_use]
    pub fn measure(self, wanted: Measure) -> Measure {
        match (self, wanted) {
            (By::Thread, Measure::Peak | Measure::Live) => Measure::Total,
            _ => wanted,
        }
    }

    /// Every grouping, in the order frontends offer them.
    pub const ALL: [By; 10] = [
        By::Site,
        By::Owner,
        By::Type,
        By::Field,
        By::Function,
        By::Crate,
        By::Module,
        By::Thread,
        By::Phase,
        By::Arena,
    ];

    /// Returns the word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Site => "site",
            By::Owner => "owner",
            By::Function => "function",
            By::Crate => "crate",
            By::Module => "module",
            By::Type => "type",
            By::Field => "field",
            By::Thread => "thread",
            By::Phase => "phase",
            By::Arena => "arena",
        }
    }
}

/// One row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// `function (file:line)`, a type, a field's path, a thread's name, a phase's path
    /// (`load > parse`) or an arena's name, as recorded: not safe for a terminal before
    /// [`crate::units::printable`].
    pub key: String,
    /// The figures.
    pub figures: Figures,
    /// The details of the row.
    pub detail: Detail,
}

impl Row {
    /// The key, and what tells rows of one key apart, for their order.
    fn names(&self) -> [&str; 3] {
        match &self.detail {
            Detail::Site(detail) => [&self.key, &detail.label.what, &detail.label.location],
            _ => [&self.key, "", ""],
        }
    }
}

/// The details of a row. In JSON, the skipped parts need the profile; the report adds them.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Detail {
    /// Stacks that read the same.
    #[serde(skip)]
    Site(Box<SiteDetail>),
    /// A function that owns blocks.
    #[serde(skip)]
    Owner {
        /// Its frame with most of the measure.
        owner: Option<FrameId>,
        /// Indexes into [`Profile::sites`].
        sites: Vec<usize>,
    },
    /// A function on the stack.
    Function(Box<FunctionDetail>),
    /// A crate or a loaded image.
    Code {
        /// Number of sites.
        sites: u64,
    },
    /// A type.
    Type(Box<TypeDetail>),
    /// A field.
    Field(Box<FieldDetail>),
    /// Threads of one name, or of names that differ in their numbers alone.
    Thread(Box<ThreadDetail>),
    /// A phase.
    Phase(Box<PhaseDetail>),
    /// An arena.
    #[serde(skip)]
    Arena(Box<ArenaDetail>),
}

/// All rows, ordered by `measure` (largest first; see [`By::measure`]), then total bytes, then key.
///
/// `frames` tells sites apart: folded, those that read the same are one row; else those of the same
/// stack are.
pub fn rows(profile: &Profile, by: By, measure: Measure, frames: Frames) -> Vec<Row> {
    let measure = by.measure(measure);
    let mut rows = match by {
        By::Site => site::rows(profile, measure, frames),
        By::Owner => function::owners(profile, measure),
        By::Function => function::functions(profile, measure, frames),
        By::Crate => function::by_code(profile, function::crate_key),
        By::Module => function::by_code(profile, function::module_key),
        By::Type => data::by_type(profile, measure),
        By::Field => data::by_field(profile),
        By::Thread => thread::rows(profile),
        By::Phase => phase::rows(profile),
        By::Arena => return arena::rows(profile, measure),
    };
    let size = |row: &Row| (measure.of(&row.figures), row.figures.total_bytes);
    rows.sort_by(|a, b| {
        let by_size = size(b).cmp(&size(a));
        by_size.then_with(|| a.names().cmp(&b.names()))
    });
    rows
}
