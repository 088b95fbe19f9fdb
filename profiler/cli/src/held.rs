//! The choice between counters of a recording and figures of a snapshot.

use std::path::Path;

use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::table::{By, HeldMeasure, SnapshotAt, not_in_snapshots, snapshot_at};

use crate::args::{AnyMeasure, RowsBy};
use crate::error::Error;

/// The figures that a command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Counters of the recording.
    Counted(By, Measure),
    /// Rows with figures of a snapshot.
    Held(By, HeldMeasure),
    /// Holders in a snapshot.
    Holders(HeldMeasure),
}

impl Shown {
    /// Returns the figures for a grouping and a measure.
    ///
    /// # Errors
    /// Returns an error if the two do not go together.
    pub(crate) fn new(by: RowsBy, measure: Option<AnyMeasure>) -> Result<Shown, Error> {
        match (by, measure) {
            (RowsBy::Holder, None) => Ok(Shown::Holders(HeldMeasure::default())),
            (RowsBy::Holder, Some(AnyMeasure::Held(measure))) => Ok(Shown::Holders(measure)),
            (RowsBy::Holder, Some(AnyMeasure::Counted(measure))) => {
                Err(Error::misuse(format_args!(
                    "--measure {} does not work with --by holder, which shows a snapshot; use --measure retained or --measure unused",
                    measure.name()
                )))
            }
            (RowsBy::Counted(by), Some(AnyMeasure::Held(measure))) => match not_in_snapshots(by) {
                Some(why) => Err(Error::misuse(format_args!(
                    "--measure {} does not work with --by {}: {why}; use --by holder, site or type",
                    measure.name(),
                    by.name()
                ))),
                None => Ok(Shown::Held(by, measure)),
            },
            (RowsBy::Counted(by), Some(AnyMeasure::Counted(measure))) => {
                Ok(Shown::Counted(by, measure))
            }
            (RowsBy::Counted(by), None) => Ok(Shown::Counted(by, Measure::default())),
        }
    }
}

/// Returns the snapshot that `--at` names, or the one with most live bytes.
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
