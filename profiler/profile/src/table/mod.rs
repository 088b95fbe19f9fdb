//! Tables: rows by site, type, field, thread, phase or arena, and their columns in text. Text and
//! JSON use the same rows, so they cannot disagree.
//!
//! [`HolderRow`] and [`HeldRow`] are of a snapshot: who holds the heap at one moment, and what rows
//! retain then. [`crate::question::rows`] has both.
//!
//! This module must keep the sum: every site is in exactly one row. Threads are counted apart from
//! sites, see [`By::Thread`], and arenas are not sites at all, see [`By::Arena`].
//!
//! ```
//! use heapglass_profile::profile::{Frames, Measure};
//! use heapglass_profile::table::{By, Detail, rows};
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

use std::cmp::Ordering;

use serde::Serialize;

use crate::profile::{Figures, FrameId, Frames, Measure, Profile};

pub use arena::{ArenaDetail, ArenaLeak, ArenaPart, charged_frame};
pub use columns::{
    Column, cells, columns, field_columns, fitting, held_columns, site_columns, titles,
};
pub use data::{FieldDetail, InPlace, Part, Slack, TypeDetail, slack_by_type};
pub use failed_request::{failed_requests, fatal_request};
pub use figures::by_key;
pub use function::{FunctionDetail, libraries, owner_of, sites_of};
pub use heading::{Heading, SHARE_WIDTH};
pub use held::{HeldFigures, SnapshotAt, all_snapshots, neighbours_text, snapshot_at};
pub(crate) use held_rows::held_rows;
pub use held_rows::{HeldRow, held_by, held_by_groups};
pub(crate) use holder::holders_by;
pub use holder::{
    HolderRow, HolderRowName, NOT_REACHED, NOT_SEEN, SEVERAL, SMALL, holders, holders_of,
};
pub use names::{NO_STACK, place, program_name};
pub use phase::{Amplification, PhaseDetail};
pub use preorder::{preorder, weighty};
pub use rates::{bytes_each, bytes_per_second, per_second};
pub use site::{SiteDetail, SiteLabel, asking, label_of, mark_names, stack_numbers};
pub use thread::ThreadDetail;
pub use type_name::{
    clip, shortened_types, shorter_paths, without_arguments, without_folders, without_modules,
};

/// The grouping of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
    /// The holders of the heap in a snapshot, as a tree.
    Holder,
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

    /// Every grouping, in the order frontends offer them: those of counters first.
    pub const ALL: [By; 11] = [
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
        By::Holder,
    ];

    /// The groupings of counters, in the order frontends offer them.
    pub const COUNTED: [By; 10] = match By::ALL {
        [counted @ .., By::Holder] => counted,
        _ => panic!("holders are last"),
    };

    /// Returns the word of the command line.
    pub fn name(self) -> &'static str {
        self.into()
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
    /// Returns the order of two rows by a measure: the largest first, then the one with most total
    /// bytes, then by name.
    pub fn order(&self, other: &Row, measure: Measure) -> Ordering {
        let size = |row: &Row| (measure.shown(&row.figures), row.figures.total_bytes);
        let by_size = size(other).cmp(&size(self));
        by_size.then_with(|| self.names().cmp(&other.names()))
    }

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

impl Row {
    /// Makes figures estimates that no sample is behind.
    fn estimate_from(&mut self, mean: u64) {
        self.figures.estimate_from(mean);
        match &mut self.detail {
            Detail::Function(detail) => detail.inclusive.estimate_from(mean),
            Detail::Field(detail) => detail.with_inner.estimate_from(mean),
            Detail::Phase(detail) => detail.with_inner.estimate_from(mean),
            _ => {}
        }
    }
}

/// All rows with the counters of the recording, ordered by `measure` (largest first; see
/// [`By::measure`]), then total bytes, then key.
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
        By::Holder => Vec::new(),
    };
    if let Some(mean) = profile.sample_mean() {
        // A phase, for one, is a row even if no sample was taken in it.
        rows.iter_mut().for_each(|row| row.estimate_from(mean));
    }
    rows.sort_by(|a, b| a.order(b, measure));
    rows
}
