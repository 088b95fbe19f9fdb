//! The rows of the list. Deterministic: rows with equal values keep the order of the report.

use std::cmp::Reverse;
use std::sync::{Arc, LazyLock};

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Figures, FunctionId, Site};
use heapglass_profiler::table::{Detail, Row, SiteLabel};

use super::filter::SiteFilter;
use crate::model::{Context, Pattern};

/// A row of the list: sites with the same label.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// The row of the report.
    row: Arc<Row>,
    /// The sum of the sites.
    pub(super) figures: Figures,
    /// Indices into the sites of the profile, sorted by the measure.
    pub(super) sites: Vec<u32>,
    /// `true` if these are all sites of the report's row, so that the comparison of that row with
    /// the base applies to this one.
    pub(super) is_whole: bool,
}

impl Listed {
    /// Returns the identity of the row in the base; `None` if this is only a part of the report's
    /// row.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.is_whole.then(|| Identity::of_label(self.label()))
    }

    /// Returns the number of different stacks of the report's row, with folded frames; `None` if
    /// this is only a part of that row.
    pub(super) fn stacks(&self) -> Option<u64> {
        match &self.row.detail {
            Detail::Site(detail) if self.is_whole => Some(detail.stacks),
            _ => None,
        }
    }

    /// Returns the label of the sites.
    pub(super) fn label(&self) -> &SiteLabel {
        static NONE: LazyLock<SiteLabel> = LazyLock::new(SiteLabel::default);
        match &self.row.detail {
            Detail::Site(detail) => &detail.label,
            // Only rows by site are listed.
            _ => &NONE,
        }
    }
}

/// Returns the rows that both filters admit, sorted by the measure.
pub(super) fn listed(
    cx: &Context<'_>,
    pattern: Option<&Pattern>,
    filter: Option<&SiteFilter>,
) -> Vec<Listed> {
    let data = cx.data;
    let by_stack = by_stack(cx, pattern);
    let has_filter = pattern.is_some() || filter.is_some();
    let mut rows: Vec<Listed> = Vec::new();
    for row in data.site_rows().iter() {
        let Detail::Site(detail) = &row.detail else {
            continue;
        };
        let label = &detail.label;
        // The pattern also matches the text of the row: type, field, owner and line.
        let mut texts = [&label.what, &label.location, &label.owner]
            .into_iter()
            .chain(&label.source);
        let by_label = pattern.is_some_and(|pattern| texts.any(|text| pattern.is_match(text)));
        let mut listed = Listed {
            row: Arc::clone(row),
            figures: row.figures.clone(),
            sites: Vec::with_capacity(detail.sites.len()),
            is_whole: false,
        };
        if has_filter {
            listed.figures = Figures::default();
        } else {
            listed
                .sites
                .extend(detail.sites.iter().map(|index| *index as u32));
        }
        for &index in detail.sites.iter().filter(|_| has_filter) {
            let Some(site) = data.profile.sites().get(index) else {
                continue;
            };
            let is_admitted = filter.is_none_or(|filter| filter.admits(index));
            if is_admitted && (by_label || by_stack(site)) {
                listed.figures.add(&site.figures);
                listed.sites.push(index as u32);
            }
        }
        listed.is_whole = listed.sites.len() == detail.sites.len();
        if listed.sites.len() > 1 {
            let value = |site: &Site| Reverse(cx.measure.of(&site.figures));
            listed
                .sites
                .sort_by_key(|index| data.site(*index).map(value));
        }
        if !listed.sites.is_empty() {
            rows.push(listed);
        }
    }
    rows.sort_by_key(|row| {
        let value = cx.measure.shown(&row.figures);
        (Reverse(value), Reverse(row.figures.total_bytes))
    });
    rows
}

/// Returns `true` if the pattern matches a stack, or the place of a site without a stack. Without a
/// pattern, every site matches.
fn by_stack<'a>(
    cx: &'a Context<'_>,
    pattern: Option<&'a Pattern>,
) -> impl Fn(&Site) -> bool + use<'a> {
    let profile = &cx.data.profile;
    // Many stacks share a frame, so match each frame once.
    let frames: Option<Vec<bool>> = pattern.map(|pattern| {
        let functions = cx.data.matching(pattern);
        let function = |id: FunctionId| functions.get(id.0 as usize).copied().unwrap_or(false);
        let file = |file: &Option<String>| file.as_ref().is_some_and(|file| pattern.is_match(file));
        let frames = profile.frames().iter();
        let matches = frames.map(|frame| function(frame.function) || file(&frame.file));
        matches.collect()
    });
    move |site| {
        let (Some(pattern), Some(matching)) = (pattern, &frames) else {
            return true;
        };
        let frames = profile.frames_of(site, cx.frames);
        let mut matches = frames.iter().map(|frame| matching.get(frame.0 as usize));
        let place = || profile.place_of(site);
        matches.any(|matches| matches == Some(&true))
            || place().is_some_and(|place| pattern.is_match(&place.name(profile)))
    }
}
