//! What columns of figures are called, how wide they are and in which unit they count: defined once, for text and for the
//! terminal UI.

use crate::profile::{Figures, Measure};
use crate::units::{Bytes, Count};

/// Cells of the column of shares, with the blank in front.
pub(crate) const SHARE_WIDTH: usize = 8;

/// A column of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// The part of the whole.
    Share,
    /// The part of what is shown, where [`Heading::ShareOfAll`] stands beside it.
    ShareOfIt,
    /// The part of everything recorded.
    ShareOfAll,
    /// The figure of a measure.
    Of(Measure),
    /// The same without what is inside a field, or called by a function.
    Own(Measure),
    /// The same with it.
    Inclusive(Measure),
    /// The blocks that go with a measure of bytes.
    BlocksOf(Measure),
    /// What there is more or less than in the base.
    Change,
    /// The same of a row's own figure.
    OwnChange,
    /// Values of a type or of a field that were deserialized.
    Values,
    /// Bytes that the values take where they stand.
    Inline,
    /// Mean bytes of a block.
    MeanBlock,
    /// Bytes that stay when deserializing ends.
    Retained,
    /// Sites, of an owner or of a part.
    Sites,
    /// Stacks of a function, crate or module.
    Stacks,
    /// Threads of one name.
    Threads,
    /// When a value was measured.
    Time,
    /// Heap bytes found from a value or a place in it.
    Exact,
    /// What the crate deepsize says of the value.
    Estimate,
    /// How far the estimate is from the exact figure.
    Difference,
    /// Blocks found.
    Blocks,
    /// Bytes in which no value was seen.
    Slack,
    /// What a value has more or less than the one of its label before.
    Growth,
    /// Bytes of shared blocks met again.
    Shared,
    /// Heap bytes found in values of a type.
    Measured,
    /// The most bytes of an arena's chunks at once.
    MostChunks,
    /// Bytes of an arena's chunks, by the name that bumpalo gives them.
    AllocatedBytes,
    /// Bytes that an arena allocated for pieces.
    Allocated,
    /// Bytes of pieces in use.
    InUse,
    /// Pieces that an arena allocated.
    Pieces,
    /// Bytes copied when pieces grew.
    Copied,
    /// Times that pieces grew.
    Grows,
    /// Bytes allocated without going through the handle.
    Bypassed,
    /// Instances of an arena.
    Instances,
    /// A heading of one table alone.
    Other {
        /// What it is called.
        title: &'static str,
        /// Cells of the column.
        width: usize,
    },
}

/// In what a figure counts.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Count,
    /// The column has text.
    Text,
}

impl Heading {
    /// What the column is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.column().0
    }

    /// Cells of the column.
    #[must_use]
    pub fn width(self) -> usize {
        self.column().1
    }

    /// A figure in the column's unit: `1.2 MiB`, `20,000`. In a column of text, whose cells say more, the bare number.
    #[must_use]
    pub fn spell(self, value: u64) -> String {
        match self.column().2 {
            Unit::Bytes => Bytes(value).to_string(),
            Unit::Count => Count(value).to_string(),
            Unit::Text => value.to_string(),
        }
    }

    fn column(self) -> (&'static str, usize, Unit) {
        use Unit::{Bytes, Count, Text};
        let of_measure = |title, measure: Measure| match measure.is_bytes() {
            true => (title, 10, Bytes),
            false => (title, 11, Count),
        };
        match self {
            Heading::Share => ("share", SHARE_WIDTH - 1, Text),
            Heading::ShareOfIt => ("of it", SHARE_WIDTH - 1, Text),
            Heading::ShareOfAll => ("of all", SHARE_WIDTH - 1, Text),
            Heading::Of(measure) => of_measure(measure.name(), measure),
            Heading::Own(measure) => of_measure("self", measure),
            Heading::Inclusive(measure) => of_measure("inclusive", measure),
            Heading::BlocksOf(measure) => (measure.blocks(&Figures::default()).1, 11, Count),
            Heading::Change => ("change", 11, Text),
            Heading::OwnChange => ("self change", 11, Text),
            Heading::Values => ("values", 9, Count),
            Heading::Inline => ("inline", 10, Bytes),
            Heading::MeanBlock => ("mean block", 10, Bytes),
            Heading::Retained => ("retained", 10, Text),
            Heading::Sites => ("sites", 6, Count),
            Heading::Stacks => ("stacks", 7, Count),
            Heading::Threads => ("count", 6, Count),
            Heading::Time => ("time", 10, Text),
            Heading::Exact => ("exact", 10, Bytes),
            Heading::Estimate => ("estimate", 10, Bytes),
            Heading::Difference => ("difference", 10, Text),
            Heading::Blocks => ("blocks", 11, Count),
            Heading::Slack => ("slack", 10, Bytes),
            Heading::Growth => ("change", 10, Text),
            Heading::Shared => ("shared", 10, Bytes),
            Heading::Measured => ("measured", 10, Bytes),
            Heading::MostChunks => ("at most", 10, Bytes),
            Heading::AllocatedBytes => ("allocated_bytes", 15, Bytes),
            Heading::Allocated => ("allocated", 10, Bytes),
            Heading::InUse => ("in use", 10, Bytes),
            Heading::Pieces => ("pieces", 11, Count),
            Heading::Copied => ("copied", 10, Bytes),
            Heading::Grows => ("grows", 9, Count),
            Heading::Bypassed => ("bypassed", 10, Bytes),
            Heading::Instances => ("live/made", 11, Text),
            Heading::Other { title, width } => (title, width, Text),
        }
    }
}
