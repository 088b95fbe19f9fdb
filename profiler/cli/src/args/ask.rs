//! The question that a command asks of a recording. Which questions have an answer is one table of
//! the profiler: [`heapglass_profiler::question::RULES`].

use std::path::Path;

use clap::Args;
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::question::{Form, Kind, check};
use heapglass_profiler::table::{By, SnapshotAt, snapshot_at};

use super::values;
use crate::error::Error;

/// The grouping, the measure and the snapshot of rows.
#[derive(Args, Clone, Debug)]
pub(crate) struct Ask {
    /// Group rows by this [default: site]. `site`: the call site. `owner`: the function that owns
    /// the blocks. `type`: the type that the blocks hold. `field`: the field path in data
    /// deserialized as Profiled<T>. `function`: the function, self and inclusive. `crate`: the
    /// crate. `module`: the loaded image. `thread`: the thread. `phase`: the phase. `arena`: the
    /// arena, with figures of what it holds. `holder`: who holds the heap in a snapshot, as a tree
    #[arg(long, value_name = "BY", value_parser = values::word(By::ALL, By::name))]
    pub(crate) by: Option<By>,
    #[command(flatten)]
    pub(crate) figures: AskFigures,
}

/// The measure and the snapshot.
#[derive(Args, Clone, Debug)]
pub(crate) struct AskFigures {
    /// Use this measure. `peak`: bytes live at the peak. `live`: bytes live at exit. `total`:
    /// bytes allocated in total. `blocks`: number of allocations. `temporary`: bytes of
    /// temporary blocks. `copied`: bytes copied by growth. `grows`: number of growing
    /// reallocations. From a snapshot: `retained`: bytes that would be freed with the blocks.
    /// `unused`: unused capacity [default: peak; by holder, retained]
    #[arg(long, value_name = "MEASURE", value_parser = values::word(Measure::ALL, Measure::name))]
    pub(crate) measure: Option<Measure>,
    /// Show this snapshot: its label, its number from 1, or `last` [default: the snapshot with
    /// most live bytes]
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) at: Option<String>,
}

/// A grouping and a measure that have an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) by: By,
    pub(crate) measure: Measure,
    /// The figures that are meant.
    pub(crate) kind: Kind,
}

impl Ask {
    /// Returns the grouping and the measure of rows.
    pub(crate) fn asked(&self) -> Asked {
        self.figures.asked(self.by.unwrap_or_default())
    }

    /// Returns them if there are such rows.
    ///
    /// # Errors
    /// Returns the reason if there are none.
    pub(crate) fn rows(&self) -> Result<Asked, Error> {
        self.asked().checked(Form::Rows)
    }
}

impl AskFigures {
    /// Returns the grouping and the measure of what is grouped by `by`.
    pub(crate) fn asked(&self, by: By) -> Asked {
        let measure = self
            .measure
            .unwrap_or_else(|| Kind::of(by, Measure::default()).default_measure());
        Asked {
            by,
            measure,
            kind: Kind::of(by, measure),
        }
    }

    /// Returns the snapshot that `--at` names, or the one with most live bytes.
    ///
    /// # Errors
    /// Returns an error if the recording has no such snapshot.
    pub(crate) fn snapshot_of<'a>(
        &self,
        profile: &'a Profile,
        file: &Path,
    ) -> Result<SnapshotAt<'a>, Error> {
        snapshot_of(profile, file, self.at.as_deref())
    }
}

impl Asked {
    /// Returns the question if it has an answer of that form.
    ///
    /// # Errors
    /// Returns the reason if it has none.
    pub(crate) fn checked(self, form: Form) -> Result<Asked, Error> {
        check(self.kind, form, self.by, self.measure).map_err(Error::misuse)?;
        Ok(self)
    }

    /// Returns `true` if the figures are those of a snapshot.
    pub(crate) fn is_of_snapshot(self) -> bool {
        self.kind == Kind::Snapshot
    }
}

/// Returns a snapshot by its name, or the one with most live bytes.
///
/// # Errors
/// Returns an error if the recording has no such snapshot.
pub(crate) fn snapshot_of<'a>(
    profile: &'a Profile,
    file: &Path,
    at: Option<&str>,
) -> Result<SnapshotAt<'a>, Error> {
    snapshot_at(profile, at).map_err(Error::wrap(file.display()))
}
