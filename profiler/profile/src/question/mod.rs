//! The one question that every frontend asks of a profile: the figures of the whole recording, of a
//! stretch of it or of a snapshot; grouped by something; ordered by a measure.
//!
//! [`RULES`] is the one table that says which questions have no answer, and why. [`check`] looks a
//! question up in it, so no frontend refuses a combination by itself. A new measure, grouping or
//! moment is one variant, and one line of the table for what it has no answer to.
//!
//! ```
//! use heapglass_profile::profile::Measure;
//! use heapglass_profile::question::{Answer, Of, Question, rows};
//! use heapglass_profile::table::By;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let question = Question {
//!     by: By::Type,
//!     ..Question::default()
//! };
//! let Answer::Counted(types) = rows(&profile, &question)? else {
//!     unreachable!("the figures are of the whole recording");
//! };
//! assert_eq!(types[0].key, "String");
//! // Any thread may free a block: only a snapshot knows what blocks retain, and of no thread.
//! let question = Question {
//!     by: By::Thread,
//!     measure: Measure::Retained,
//!     ..Question::default()
//! };
//! assert!(rows(&profile, &question).is_err());
//! # Ok::<(), String>(())
//! ```

mod rules;

use crate::calltree::{CallTree, CallTreeOptions, Levels};
use crate::profile::{Frames, Measure, Profile, ScopeId};
use crate::table::{self, By, HeldRow, HolderRow, Row, SnapshotAt, held_rows, holders, holders_by};

pub use rules::{Form, Kind, RULES, Rule, check};

/// The part of a recording that a question is about.
///
/// A moment of a recording is a profile of its own ([`Profile::at_checkpoint`]), and the growth
/// between two is the difference of two profiles, so neither is a part.
#[derive(Clone, Copy, Debug, Default)]
pub enum Of<'a> {
    /// The counters of the whole recording.
    #[default]
    Whole,
    /// The heap in a snapshot.
    Snapshot(SnapshotAt<'a>),
}

impl Of<'_> {
    /// Returns the kind of figures that there are.
    pub fn kind(&self) -> Kind {
        match self {
            Of::Whole => Kind::Counters,
            Of::Snapshot(_) => Kind::Snapshot,
        }
    }
}

/// A question to a profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// The part of the recording that it is about.
    pub of: Of<'a>,
    /// The grouping of rows.
    pub by: By,
    /// The measure that orders rows.
    pub measure: Measure,
    /// The frames of a stack that count.
    pub frames: Frames,
    /// The part and the direction of a tree of counters. Rows do not depend on it.
    pub shape: Shape,
}

/// The part and the direction of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Grow from the allocation outward instead of from `main` inward.
    pub inverted: bool,
    /// Draw the root at the bottom and what is inside it above, in a picture alone. Pages and the
    /// terminal UI have the root at the top, as pictures have by default.
    pub upwards: bool,
    /// Show phases as the outermost frames.
    pub scopes: bool,
    /// Only sites of this phase or field and of what lies inside it.
    pub within: Option<ScopeId>,
    /// By arena, show only this one, an index into [`Profile::arenas`].
    pub arena: Option<usize>,
}

/// The question whose answer is the tree with these options.
impl From<CallTreeOptions> for Question<'static> {
    fn from(options: CallTreeOptions) -> Self {
        Question {
            of: Of::Whole,
            by: match options.levels {
                Levels::Stack => By::Site,
                Levels::Field => By::Field,
                Levels::Type => By::Type,
                Levels::Arena => By::Arena,
            },
            measure: options.measure,
            frames: options.frames,
            shape: Shape {
                inverted: options.inverted,
                upwards: false,
                scopes: options.scopes,
                within: options.within,
                arena: options.arena,
            },
        }
    }
}

/// The rows that answer a question, the largest by its measure first.
#[derive(Clone, Debug)]
pub enum Answer<'a> {
    /// Rows with counters.
    Counted(Vec<Row>),
    /// Rows with what they hold in this snapshot.
    Held(SnapshotAt<'a>, Vec<HeldRow>),
    /// Holders in this snapshot, parents before children.
    Holders(SnapshotAt<'a>, Vec<HolderRow>),
}

/// Answers a question with rows.
///
/// # Errors
/// Returns the sentence of [`RULES`] that says why there is no answer.
pub fn rows<'a>(profile: &Profile, question: &Question<'a>) -> Result<Answer<'a>, String> {
    let &Question {
        of,
        by,
        measure,
        frames,
        ..
    } = question;
    check(of.kind(), Form::Rows, by, measure)?;
    Ok(match (of, by) {
        (Of::Whole, _) => Answer::Counted(table::rows(profile, by, measure, frames)),
        (Of::Snapshot(at), By::Holder) => Answer::Holders(at, holders(profile, at.snapshot)),
        (Of::Snapshot(at), _) => {
            Answer::Held(at, held_rows(profile, at.snapshot, by, measure, frames))
        }
    })
}

/// The tree that answers a question.
#[derive(Clone, Debug)]
pub enum Tree<'a> {
    /// A tree with counters, and the options that it was built by.
    Counted(CallTree, CallTreeOptions),
    /// Holders in this snapshot: with [`By::Holder`] all, else the rows of the grouping by what
    /// holds them.
    Holders(SnapshotAt<'a>, Vec<HolderRow>),
}

/// Answers a question with a tree. By site it is that of stacks.
///
/// # Errors
/// Returns the sentence of [`RULES`] that says why there is no answer.
pub fn tree<'a>(profile: &Profile, question: &Question<'a>) -> Result<Tree<'a>, String> {
    let &Question {
        of,
        by,
        measure,
        frames,
        shape,
    } = question;
    check(of.kind(), Form::Tree, by, measure)?;
    Ok(match (of, by) {
        (Of::Whole, _) => {
            let options = CallTreeOptions {
                levels: levels(by),
                arena: shape.arena,
                measure,
                inverted: shape.inverted,
                frames,
                scopes: shape.scopes,
                within: shape.within,
            };
            Tree::Counted(CallTree::sorted(profile, &options), options)
        }
        (Of::Snapshot(at), By::Holder) => Tree::Holders(at, holders(profile, at.snapshot)),
        (Of::Snapshot(at), _) => Tree::Holders(at, holders_by(profile, at.snapshot, by, frames)),
    })
}

/// Returns the frames of a tree of counters by a grouping.
pub fn levels(by: By) -> Levels {
    match by {
        By::Field => Levels::Field,
        By::Type => Levels::Type,
        By::Arena => Levels::Arena,
        _ => Levels::Stack,
    }
}
