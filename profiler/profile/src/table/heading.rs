//! The titles, widths and units of columns of figures: defined once, for text and for the terminal
//! UI.

use std::borrow::Cow;

use crate::profile::{Figures, Measure, State};
use crate::units::{Bytes, Count};

/// Cells of the column of shares, with the blank in front.
pub const SHARE_WIDTH: usize = 8;

/// A column of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    title: &'static str,
    width: usize,
    unit: Unit,
    /// `true` if the figure counts recorded events, so that it is an estimate if samples were
    /// taken.
    is_recorded: bool,
}

/// In what a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Count,
    /// The column has text.
    Text,
}

impl Heading {
    /// The part of the whole.
    pub const SHARE: Heading = Heading::new("share", SHARE_WIDTH - 1, Unit::Text);
    /// The part of what is shown, where [`Heading::SHARE_OF_ALL`] stands beside it.
    pub const SHARE_OF_IT: Heading = Heading::new("of it", SHARE_WIDTH - 1, Unit::Text);
    /// The part of everything recorded.
    pub const SHARE_OF_ALL: Heading = Heading::new("of all", SHARE_WIDTH - 1, Unit::Text);
    /// The change from the base.
    pub const CHANGE: Heading = Heading::new("change", 11, Unit::Text);
    /// The change of a row's own figure.
    pub const OWN_CHANGE: Heading = Heading::new("self change", 11, Unit::Text);
    /// Values of a type or of a field that were deserialized.
    pub const VALUES: Heading = Heading::new("values", 9, Unit::Count);
    /// Bytes that the values take where they stand.
    pub const INLINE: Heading = Heading::new("inline", 10, Unit::Bytes);
    /// Bytes allocated inside arenas.
    pub const IN_ARENAS: Heading = Heading::new("in arenas", 10, Unit::Bytes);
    /// Mean bytes of a block.
    pub const MEAN_BLOCK: Heading = Heading::new("mean size", 10, Unit::Bytes).recorded();
    /// Bytes that stay of an entry of a phase when it ends, or of a value that was deserialized.
    pub const STAYED: Heading = Heading::new("stayed", 10, Unit::Text).recorded();
    /// Bytes that a row of a snapshot holds: its blocks and all that would be freed with them.
    pub const HELD: Heading = Heading::new("retained", 10, Unit::Bytes);
    /// Bytes of a row's own blocks in a snapshot.
    pub const OWN: Heading = Heading::new("own", 10, Unit::Bytes);
    /// Unused capacity; a lower bound may stand there.
    pub const UNUSED: Heading = Heading::new("unused", 11, Unit::Text);
    /// The part of the bytes whose unused capacity is known.
    pub const KNOWN: Heading = Heading::new("known", SHARE_WIDTH - 1, Unit::Text);
    /// Sites, of an owner, a crate, a module or a part.
    pub const SITES: Heading = Heading::new("sites", 6, Unit::Count);
    /// Threads of one name.
    pub const THREADS: Heading = Heading::new("count", 6, Unit::Count);
    /// Bytes that a thread freed.
    pub const FREED: Heading = Heading::new("freed", 10, Unit::Bytes).recorded();
    /// The time when a value was measured.
    pub const TIME: Heading = Heading::new("time", 10, Unit::Text);
    /// The time of a phase.
    pub const ELAPSED: Heading = Heading::new("time", 10, Unit::Text);
    /// The bytes of input of a phase for each second.
    pub const BYTES_PER_SECOND: Heading = Heading::new("in/s", 12, Unit::Text);
    /// The records of a phase for each second.
    pub const RECORDS_PER_SECOND: Heading = Heading::new("rec/s", 11, Unit::Text);
    /// Heap bytes found from a value or a place in it.
    pub const EXACT: Heading = Heading::new("exact", 10, Unit::Bytes);
    /// The estimate of the crate deepsize.
    pub const ESTIMATE: Heading = Heading::new("estimate", 10, Unit::Bytes);
    /// The difference between the estimate and the exact figure.
    pub const DIFFERENCE: Heading = Heading::new("difference", 10, Unit::Text);
    /// Blocks found.
    pub const BLOCKS: Heading = Heading::new("blocks", 11, Unit::Count);
    /// Bytes in which no value was seen.
    pub const SLACK: Heading = Heading::new("slack", 10, Unit::Bytes);
    /// The change from the previous value of the same label.
    pub const GROWTH: Heading = Heading::new("change", 10, Unit::Text);
    /// Bytes that copies of shared blocks would have, one for each time that a block is met again.
    pub const SHARED: Heading = Heading::new("as copies", 10, Unit::Bytes);
    /// Heap bytes found in values of a type.
    pub const MEASURED: Heading = Heading::new("measured", 10, Unit::Bytes);
    /// The most bytes of an arena's chunks at once.
    pub const MOST_CHUNKS: Heading = Heading::new("at most", 10, Unit::Bytes);
    /// Bytes of an arena's chunks, by the name that bumpalo gives them.
    pub const ALLOCATED_BYTES: Heading = Heading::new("allocated_bytes", 15, Unit::Bytes);
    /// Bytes of an arena that pieces ever used.
    pub const TOTAL_USED: Heading = Heading::new("total used", 10, Unit::Bytes);
    /// Bytes of pieces in use.
    pub const USED_NOW: Heading = Heading::new("used now", 10, Unit::Bytes);
    /// Pieces that an arena allocated.
    pub const PIECES: Heading = Heading::new("pieces", 11, Unit::Count);
    /// Bytes copied when pieces grew.
    pub const COPIED: Heading = Heading::new("copied", 10, Unit::Bytes);
    /// Times that pieces grew.
    pub const GROWS: Heading = Heading::new("grows", 9, Unit::Count);
    /// Bytes allocated without going through the handle.
    pub const BYPASSED: Heading = Heading::new("bypassed", 10, Unit::Bytes);
    /// The number of an instance of an arena.
    pub const INSTANCE: Heading = Heading::new("instance", 10, Unit::Text);
    /// The most bytes of an instance that were occupied.
    pub const OCCUPIED: Heading = Heading::new("occupied", 10, Unit::Text);
    /// Chunks that an instance took.
    pub const CHUNKS: Heading = Heading::new("chunks", 7, Unit::Count);
    /// The moment of the first event of an instance.
    pub const FROM: Heading = Heading::new("from", 10, Unit::Text);
    /// The moment at which an instance was dropped.
    pub const UNTIL: Heading = Heading::new("dropped", 10, Unit::Text);
    /// Instances of an arena.
    pub const INSTANCES: Heading = Heading::new("live/made", 11, Unit::Text);

    /// Bytes at the later of two moments less those at the earlier one.
    pub const GROWN: Heading = Heading::new("growth", 11, Unit::Text).recorded();
    /// The growth in blocks.
    pub const GROWN_BLOCKS: Heading = Heading::new("blocks", 11, Unit::Text).recorded();
    /// The growth in bytes for each second.
    pub const GROWN_RATE: Heading = Heading::new("a second", 13, Unit::Text).recorded();
    /// Bytes at the earlier of two moments.
    pub const THEN: Heading = Heading::new("then", 10, Unit::Bytes).recorded();
    /// Bytes at the later of two moments.
    pub const NOW: Heading = Heading::new("now", 10, Unit::Bytes).recorded();
    /// Bytes allocated for each second.
    pub const ALLOCATED_RATE: Heading = Heading::new("new/s", 12, Unit::Text).recorded();
    /// Blocks allocated for each second.
    pub const ALLOCATED_BLOCKS_RATE: Heading = Heading::new("blocks/s", 10, Unit::Text).recorded();
    /// A bound of the median age of live blocks.
    pub const AGE: Heading = Heading::new("age", 10, Unit::Text);
    /// Bytes that nothing reached in two snapshots.
    pub const UNREACHED: Heading = Heading::new("unreached", 10, Unit::Bytes);
    /// Bytes that a change saves.
    pub const SAVES: Heading = Heading::new("saves", 10, Unit::Bytes);
    /// Blocks that a change saves.
    pub const SAVES_BLOCKS: Heading = Heading::new("blocks", 11, Unit::Count);
    /// Bytes that a phase allocated for each byte of its input.
    pub const TOTAL_PER_BYTE: Heading = Heading::new("total/in", 9, Unit::Text).recorded();
    /// Bytes that a phase allocated for each of its records.
    pub const TOTAL_PER_RECORD: Heading = Heading::new("total/rec", 10, Unit::Text).recorded();
    /// Times that a phase was entered.
    pub const ENTERED: Heading = Heading::new("entered", 9, Unit::Count);

    const fn new(title: &'static str, width: usize, unit: Unit) -> Heading {
        Heading {
            title,
            width,
            unit,
            is_recorded: false,
        }
    }

    const fn recorded(self) -> Heading {
        Heading {
            is_recorded: true,
            ..self
        }
    }

    /// The interval of an estimate.
    pub const INTERVAL: Heading = Heading::new("95 % interval", 20, Unit::Text);

    /// The heading of a column of text in one table alone.
    pub(crate) const fn text(title: &'static str, width: usize) -> Heading {
        Heading::new(title, width, Unit::Text)
    }

    /// Returns the heading of a measure.
    #[must_use]
    pub fn of(measure: Measure) -> Heading {
        Heading::in_unit_of(measure, measure.name())
    }

    /// Returns the heading of a measure for a recording in that state.
    #[must_use]
    pub fn of_in(measure: Measure, state: State) -> Heading {
        let heading = Heading::in_unit_of(measure, measure.name_in(state));
        Heading {
            width: heading.width.max(heading.title.len()),
            ..heading
        }
    }

    /// Returns the heading of a measure without the contents of a field, or without the callees of
    /// a function.
    #[must_use]
    pub fn own(measure: Measure) -> Heading {
        Heading::in_unit_of(measure, "self")
    }

    /// Returns the heading of a measure with the contents or the callees.
    #[must_use]
    pub fn inclusive(measure: Measure) -> Heading {
        Heading::in_unit_of(measure, "inclusive")
    }

    fn in_unit_of(measure: Measure, title: &'static str) -> Heading {
        if measure.is_bytes() {
            Heading::new(title, 10, Unit::Bytes).recorded()
        } else {
            Heading::new(title, 11, Unit::Count).recorded()
        }
    }

    /// Returns the heading of the blocks that go with a measure of bytes.
    #[must_use]
    pub fn blocks_of(measure: Measure) -> Heading {
        Heading::new(measure.blocks(&Figures::default()).1, 11, Unit::Count).recorded()
    }

    /// Returns the title of the column.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.title
    }

    /// Returns the title of the column; if its figures are estimates, with `~` in front, and with
    /// `>=` if they count blocks or events, which are lower bounds then.
    #[must_use]
    pub fn title_of(self, are_estimates: bool) -> Cow<'static, str> {
        if !are_estimates || !self.is_recorded {
            return Cow::Borrowed(self.title);
        }
        let mark = if self.unit == Unit::Count { ">=" } else { "~" };
        Cow::Owned(format!("{mark}{}", self.title))
    }

    /// Returns the width of the column in cells.
    #[must_use]
    pub fn width(self) -> usize {
        self.width
    }

    /// Formats a figure in the column's unit: `1.2 MiB`, `20,000`. In a column of text, whose cells
    /// say more, this is the bare number.
    #[must_use]
    pub fn spell(self, value: u64) -> String {
        match self.unit {
            Unit::Bytes => Bytes(value).to_string(),
            Unit::Count => Count(value).to_string(),
            Unit::Text => value.to_string(),
        }
    }
}
