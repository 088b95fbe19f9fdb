//! Rows of a table of the report, made again only when what they are made of changed: other data, grouping, measure or
//! frames.

use std::sync::Arc;

use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::{By, Row, rows};

use super::data::Data;

/// The rows, and what they were made of.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    made_of: Option<(Arc<Data>, By, Measure, Frames)>,
    all: Vec<Row>,
}

impl Rows {
    /// Brings the rows up to date.
    pub(crate) fn refresh(&mut self, data: &Arc<Data>, by: By, measure: Measure, frames: Frames) {
        let same = self.made_of.as_ref().is_some_and(|made| {
            Arc::ptr_eq(&made.0, data) && (made.1, made.2, made.3) == (by, measure, frames)
        });
        if !same {
            self.all = rows(&data.profile, by, measure, frames);
            self.made_of = Some((Arc::clone(data), by, measure, frames));
        }
    }

    /// The rows, in the order of the report.
    pub(crate) fn all(&self) -> &[Row] {
        &self.all
    }
}
