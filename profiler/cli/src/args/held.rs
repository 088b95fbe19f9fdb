//! Groupings and measures that include those of snapshots.

use clap::Args;
use heapglass_profiler::calltree::Levels;
use heapglass_profiler::profile::Measure;
use heapglass_profiler::table::{By, HeldMeasure};

use super::values;

/// The grouping of rows: one of the whole recording, or holders in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowsBy {
    /// Rows with the counters of the recording.
    Counted(By),
    /// The tree of holders of the heap in a snapshot.
    Holder,
}

impl RowsBy {
    /// Every grouping, in the order of the help.
    pub(crate) const ALL: [RowsBy; By::ALL.len() + 1] = {
        let mut all = [RowsBy::Holder; By::ALL.len() + 1];
        let mut at = 0;
        while at < By::ALL.len() {
            all[at] = RowsBy::Counted(By::ALL[at]);
            at += 1;
        }
        all
    };

    pub(crate) fn name(self) -> &'static str {
        match self {
            RowsBy::Counted(by) => by.name(),
            RowsBy::Holder => "holder",
        }
    }
}

/// The frames of a picture: those of the whole recording, or holders in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureBy {
    /// Frames with the counters of the recording.
    Counted(Levels),
    /// The tree of holders of the heap in a snapshot.
    Holder,
}

impl PictureBy {
    /// Every kind, in the order of the help.
    pub(crate) const ALL: [PictureBy; Levels::ALL.len() + 1] = {
        let mut all = [PictureBy::Holder; Levels::ALL.len() + 1];
        let mut at = 0;
        while at < Levels::ALL.len() {
            all[at] = PictureBy::Counted(Levels::ALL[at]);
            at += 1;
        }
        all
    };

    pub(crate) fn name(self) -> &'static str {
        match self {
            PictureBy::Counted(levels) => levels.name(),
            PictureBy::Holder => "holder",
        }
    }
}

/// A measure: a counter of the recording, or a figure of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnyMeasure {
    Counted(Measure),
    Held(HeldMeasure),
}

impl AnyMeasure {
    /// Every measure, in the order of the help.
    pub(crate) const ALL: [AnyMeasure; Measure::ALL.len() + HeldMeasure::ALL.len()] = {
        let mut all =
            [AnyMeasure::Held(HeldMeasure::Retained); Measure::ALL.len() + HeldMeasure::ALL.len()];
        let mut at = 0;
        while at < Measure::ALL.len() {
            all[at] = AnyMeasure::Counted(Measure::ALL[at]);
            at += 1;
        }
        let mut held = 0;
        while held < HeldMeasure::ALL.len() {
            all[at + held] = AnyMeasure::Held(HeldMeasure::ALL[held]);
            held += 1;
        }
        all
    };

    pub(crate) fn name(self) -> &'static str {
        match self {
            AnyMeasure::Counted(measure) => measure.name(),
            AnyMeasure::Held(measure) => measure.name(),
        }
    }
}

/// The measure to sort and draw by, with those of snapshots.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct AnyMeasureFlag {
    /// Use this measure. `peak`: bytes live at the peak. `live`: bytes live at exit. `total`:
    /// bytes allocated in total. `blocks`: number of allocations. `temporary`: bytes of
    /// temporary blocks. `copied`: bytes copied by growth. `grows`: number of growing
    /// reallocations. From a snapshot: `retained`: bytes that would be freed with the blocks.
    /// `unused`: unused capacity [default: peak; by holder, retained]
    #[arg(long = "measure", value_name = "MEASURE", value_parser = values::word(AnyMeasure::ALL, AnyMeasure::name))]
    pub(crate) measure: Option<AnyMeasure>,
}

/// The snapshot to show.
#[derive(Args, Clone, Debug)]
pub(crate) struct AtFlag {
    /// Show this snapshot: its label, its number from 1, or `last` [default: the snapshot with
    /// most live bytes]
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) at: Option<String>,
}
