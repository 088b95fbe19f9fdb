//! Rows of a table of the report, made again only when what they are made of changed: other data, grouping, measure or
//! frames.

use std::sync::Arc;

use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::{By, Row, rows};

use super::context::Context;
use super::data::Data;

/// The rows, and what they were made of.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    made_of: Option<(Arc<Data>, By, Measure, Frames)>,
    all: Vec<Arc<Row>>,
}

impl Rows {
    /// The rows of the present data, in the order of the report.
    pub(crate) fn refresh(&mut self, cx: &Context<'_>, by: By) -> &[Arc<Row>] {
        let same = self.made_of.as_ref().is_some_and(|made| {
            Arc::ptr_eq(&made.0, cx.data) && (made.1, made.2, made.3) == (by, cx.measure, cx.frames)
        });
        if !same {
            let rows = rows(&cx.data.profile, by, cx.measure, cx.frames);
            self.all = rows.into_iter().map(Arc::new).collect();
            self.made_of = Some((Arc::clone(cx.data), by, cx.measure, cx.frames));
        }
        &self.all
    }
}
