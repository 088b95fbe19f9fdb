//! Many recordings as tables for DuckDB, Spark and other readers of Parquet.
//!
//! [`Tables`] has the rows of recordings of one [`Place`]: one date and one service. It takes one
//! profile at a time and keeps no more than the rows of one row group, so memory does not grow with
//! the number of recordings. The columns are listed in `rows.rs`, and the book explains them.
//!
//! A row of samples is a row of the report by site with `--frames trimmed`, so the samples of a
//! recording add up to its totals.
//!
//! ```
//! use heapglass_profiler::export::parquet::{Labels, Place, Tables};
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let labels = Labels::new([("host".to_owned(), "web-1".to_owned())])?;
//! let place = Place::of(profile.process(), &labels).expect("a recording with a clock");
//! assert!(place.folder().ends_with("service=shop"));
//! let mut tables = Tables::new(|_table| Ok(Vec::new()))?;
//! tables.add(&profile, &labels)?;
//! for (table, file) in tables.finish()? {
//!     println!("{}: {} bytes", table.name(), file.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod column;
mod place;
mod rows;

use std::io::{self, Write};

use parquet::errors::ParquetError;

pub use place::{Labels, Place, file_name, recording_id};

use crate::profile::Profile;
use column::TableWriter;
use rows::{PhaseRow, RecordingRow, Rows, SampleRow, StackRow};

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Table {
    /// Recordings, with their totals, labels and notes.
    Recordings,
    /// Call sites, with their figures.
    Samples,
    /// Phases, with their input, time and figures.
    Phases,
    /// Stacks of the samples, each once in a recording.
    Stacks,
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 4] = [
        Table::Recordings,
        Table::Samples,
        Table::Phases,
        Table::Stacks,
    ];

    /// Returns the name of the table, with which the names of its files begin.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The tables of recordings of one date and service, while they are written.
pub struct Tables<W: Write + Send> {
    recordings: TableWriter<W, RecordingRow>,
    samples: TableWriter<W, SampleRow>,
    phases: TableWriter<W, PhaseRow>,
    stacks: TableWriter<W, StackRow>,
}

impl<W: Write + Send> std::fmt::Debug for Tables<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

impl<W: Write + Send> Tables<W> {
    /// Begins the tables. `file` opens the file of each.
    ///
    /// # Errors
    /// Returns the errors of `file` and of the files.
    pub fn new(mut file: impl FnMut(Table) -> io::Result<W>) -> io::Result<Tables<W>> {
        Ok(Tables {
            recordings: TableWriter::new(file(Table::Recordings)?, rows::of_recordings())?,
            samples: TableWriter::new(file(Table::Samples)?, rows::of_samples())?,
            phases: TableWriter::new(file(Table::Phases)?, rows::of_phases())?,
            stacks: TableWriter::new(file(Table::Stacks)?, rows::of_stacks())?,
        })
    }

    /// Adds the rows of a recording.
    ///
    /// # Errors
    /// Returns the errors of the files.
    pub fn add(&mut self, profile: &Profile, labels: &Labels) -> io::Result<()> {
        let rows = Rows::of(profile, labels);
        self.recordings.add(&rows.recording)?;
        rows.samples(|sample| self.samples.add(sample))?;
        rows.phases(|phase| self.phases.add(phase))?;
        rows.stacks(|stack| self.stacks.add(stack))
    }

    /// Writes what is left, and returns the files with their tables.
    ///
    /// # Errors
    /// Returns the errors of the files.
    pub fn finish(self) -> io::Result<[(Table, W); 4]> {
        Ok([
            (Table::Recordings, self.recordings.finish()?),
            (Table::Samples, self.samples.finish()?),
            (Table::Phases, self.phases.finish()?),
            (Table::Stacks, self.stacks.finish()?),
        ])
    }
}

/// An error of a table as one of output, so that a full disk stays one.
fn error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
