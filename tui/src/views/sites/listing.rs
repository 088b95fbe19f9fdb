//! Which rows are listed. Deterministic: ties fall back to the report's order.

use std::cmp::Reverse;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Figures, FunctionId, Site};
use heapglass_profiler::report::{Detail, SiteLabel};

use super::filter::SiteFilter;
use crate::model::{Context, Data, Pattern};

/// A row of the list: sites that read the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    /// What a reader sees of it.
    pub(super) label: SiteLabel,
    /// The sum of its sites.
    pub(super) figures: Figures,
    /// Indices into the profile's sites, most of the measure first.
    pub(super) sites: Vec<u32>,
    /// Whether these are all sites of the row of the report: what the base says of that row is true of this one.
    pub(super) is_whole: bool,
}

impl Listed {
    /// The row that the base may have too; `None` of a part of one.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.is_whole.then(|| Identity::of_label(&self.label))
    }
}

/// The rows that both filters admit, by the measure.
pub(super) fn listed(
    cx: &Context<'_>,
    pattern: Option<&Pattern>,
    filter: Option<&SiteFilter>,
) -> Vec<Listed> {
    let data = cx.data;
    let by_stack = by_stack(cx, pattern);
    let mut rows: Vec<Listed> = Vec::new();
    for row in data.site_rows().iter() {
        let Detail::Site(detail) = &row.detail else {
            continue;
        };
        let label = &detail.label;
        // What stands in the row is matched too: type, field, owner, line.
        let mut texts = [&label.what, &label.location, &label.owner]
            .into_iter()
            .chain(&label.source);
        let by_label = pattern.is_some_and(|pattern| texts.any(|text| pattern.is_match(text)));
        let mut listed = Listed {
            label: label.clone(),
            ..Listed::default()
        };
        for &index in &detail.sites {
            let Some(site) = data.profile.sites.get(index) else {
                continue;
            };
            let is_admitted = filter.is_none_or(|filter| filter.admits(index));
            if is_admitted && (by_label || by_stack(site)) {
                listed.figures.add(&site.figures);
                listed.sites.push(index as u32);
            }
        }
        listed.is_whole = listed.sites.len() == detail.sites.len();
        if !listed.sites.is_empty() {
            let value = |site: &Site| Reverse(cx.measure.of(&site.figures));
            listed
                .sites
                .sort_by_key(|index| data.site(*index).map(value));
            rows.push(listed);
        }
    }
    rows.sort_by_key(|row| {
        let value = cx.measure.of(&row.figures);
        (Reverse(value), Reverse(row.figures.total_bytes))
    });
    rows
}

/// Whether a stack, or the place of a site without one, matches the pattern; every one does without a pattern.
fn by_stack<'a>(
    cx: &'a Context<'_>,
    pattern: Option<&'a Pattern>,
) -> impl Fn(&Site) -> bool + use<'a> {
    let profile = &cx.data.profile;
    // A frame is in many stacks: the regex is asked once for each.
    let frames: Option<Vec<bool>> = pattern.map(|pattern| {
        let functions = cx.data.matching(pattern);
        let function = |id: FunctionId| functions.get(id.0 as usize).copied().unwrap_or(false);
        let file = |file: &Option<String>| file.as_ref().is_some_and(|file| pattern.is_match(file));
        let frames = profile.frames.iter();
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

/// The number in `new` of site `index` of the data before: of the same stack and scope.
pub(super) fn same_site(old: &Data, index: u32, new: &Data) -> Option<u32> {
    let site = old.site(index)?;
    if old.is_early {
        // The same counters, without names: stacks had other frames.
        return new
            .site(index)
            .is_some_and(|same| same.scope == site.scope)
            .then_some(index);
    }
    let stack: Vec<_> = addresses(old, site).collect();
    // A recording only grows: a site keeps its place in the profile as long as its stack is the same.
    let mut all = std::iter::once(index).chain(0..new.profile.sites.len() as u32);
    all.find(|&index| {
        new.site(index).is_some_and(|same| {
            same.scope == site.scope && addresses(new, same).eq(stack.iter().copied())
        })
    })
}

/// What tells the frames of a site from others, innermost first.
fn addresses<'a>(data: &'a Data, site: &'a Site) -> impl Iterator<Item = impl PartialEq + Copy> {
    data.profile.innermost_first(site).map(|frame| {
        let frame = data.frame(frame);
        frame.map(|frame| (frame.module, frame.offset, frame.line, frame.inlined))
    })
}
