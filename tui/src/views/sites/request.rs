//! The request for a list, and the list that answers it. A list is made on another thread if the
//! profile is large, so a request has all that decides the list.

use std::sync::Arc;

use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::units::Count;
use ratatui::layout::Size;

use super::filter::{Restriction, SiteFilter};
use super::listing::{Listed, listed};
use super::render;
use crate::model::{Context, Data, Pattern};
use crate::widgets::Sort;

/// Everything that decides the rows of a list and their order.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) data: Arc<Data>,
    pub(super) measure: Measure,
    pub(super) frames: Frames,
    pub(super) sort: Sort,
    pub(super) pattern: Option<Pattern>,
    pub(super) restriction: Option<Restriction>,
}

/// A list, with the request that it answers.
#[derive(Debug)]
pub(super) struct Listing {
    /// The request. Without a restriction if its part of the profile does not exist.
    pub(super) request: Request,
    pub(super) rows: Vec<Listed>,
    /// Description of pattern and restriction, with the number of rows and their share; `None` if
    /// all rows are listed.
    pub(super) found: Option<String>,
}

impl Request {
    /// Returns `true` if the request is for the data, the measure and the frames of `cx`.
    pub(super) fn is_for(&self, cx: &Context<'_>) -> bool {
        Arc::ptr_eq(&self.data, cx.data) && (self.measure, self.frames) == (cx.measure, cx.frames)
    }

    /// Returns `cx` with the data, the measure and the frames of the request.
    pub(super) fn context<'a>(&'a self, cx: &Context<'a>) -> Context<'a> {
        Context {
            data: &self.data,
            measure: self.measure,
            frames: self.frames,
            ..*cx
        }
    }

    /// Makes the list. Slow for a large profile.
    pub(super) fn list(mut self) -> Listing {
        // The order does not depend on the screen.
        let cx = Context {
            data: &self.data,
            measure: self.measure,
            frames: self.frames,
            body: Size::default(),
            source_roots: &[],
            has_colour: false,
            is_zoomed: false,
        };
        let filter = self
            .restriction
            .take()
            .and_then(|restriction| SiteFilter::new(restriction, &cx));
        let mut rows = listed(&cx, self.pattern.as_ref(), filter.as_ref());
        render::table(self.sort, &cx, &[]).sort(&mut rows);
        let found = describe(&cx, self.pattern.as_ref(), filter.as_ref(), &rows);
        Listing {
            request: Request {
                restriction: filter.map(SiteFilter::restriction),
                ..self
            },
            rows,
            found,
        }
    }
}

/// Describes what pattern and filter left; `None` without both.
fn describe(
    cx: &Context<'_>,
    pattern: Option<&Pattern>,
    filter: Option<&SiteFilter>,
    rows: &[Listed],
) -> Option<String> {
    let filter = filter.map(SiteFilter::describe);
    let pattern = pattern.map(Pattern::label);
    let texts: Vec<String> = filter.into_iter().chain(pattern).collect();
    if texts.is_empty() {
        return None;
    }
    let all = cx.data.site_rows().len();
    let value = cx.sum(rows.iter().map(|row| &row.figures));
    Some(format!(
        "{}: {} of {} rows, {} of all",
        texts.join(" and "),
        Count(rows.len() as u64),
        Count(all as u64),
        cx.share(value)
    ))
}
