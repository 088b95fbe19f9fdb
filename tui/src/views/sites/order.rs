//! Which sites are listed, and in which order. Deterministic: ties fall back to the profile's order.

use std::cmp::Reverse;

use heapglass_profiler::profile::{Charged, Figures, FunctionId, Measure, ScopeId, Site};

use crate::model::{Context, Data, Pattern, Within};
use crate::text::clean;

/// The column the list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// The measure, largest first.
    #[default]
    Measure,
    /// Blocks that go with the measure.
    Blocks,
    /// Bytes live at the end.
    Live,
    /// Mean bytes of a block over all allocations.
    Mean,
    /// The owner's name.
    Function,
    /// The owner's file and line.
    Place,
}

impl Sort {
    const ALL: [Sort; 6] = [
        Sort::Measure,
        Sort::Blocks,
        Sort::Live,
        Sort::Mean,
        Sort::Function,
        Sort::Place,
    ];

    pub(super) fn next(self) -> Sort {
        let at = Sort::ALL.iter().position(|s| *s == self).unwrap_or(0);
        Sort::ALL
            .get((at + 1) % Sort::ALL.len())
            .copied()
            .unwrap_or_default()
    }

    /// The title of the column.
    pub(super) fn name(self, measure: Measure) -> &'static str {
        match self {
            Sort::Measure => measure.name(),
            Sort::Blocks => measure.blocks(&Figures::default()).1,
            Sort::Live => "live",
            Sort::Mean => "mean",
            Sort::Function => "site",
            Sort::Place => "file:line",
        }
    }
}

/// Mean bytes of a block, 0 without blocks.
pub(super) fn mean(site: &Site) -> u64 {
    site.figures
        .total_bytes
        .checked_div(site.figures.total_blocks)
        .unwrap_or(0)
}

/// A restriction another view or `#` asked for. By name, so that it survives a reload.
#[derive(Clone, Debug)]
pub(super) enum Only {
    /// Sites with a function anywhere in their stack.
    Through(Named),
    /// Sites charged to a function.
    Owned(Named),
    /// Sites of a type in a field: for each site, whether it is one.
    Within(Within, Vec<bool>),
}

/// A function, or a place where no stacks were recorded, by its name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    charged: Charged,
    name: String,
    short: String,
}

impl Named {
    pub(super) fn new(charged: Charged, cx: &Context<'_>) -> Option<Named> {
        let profile = &cx.data.profile;
        let known = match charged {
            Charged::Function(id) => (id.0 as usize) < profile.functions.len(),
            Charged::Place(scope) => (scope.0 as usize) < profile.scopes.len(),
        };
        known.then(|| Named {
            charged,
            name: charged.name(profile).into_owned(),
            short: charged.short_name(profile).into_owned(),
        })
    }

    /// The same one in other data, where it may have another number.
    fn in_data(self, cx: &Context<'_>) -> Option<Named> {
        let profile = &cx.data.profile;
        let is_it = |charged: &Charged| charged.name(profile) == self.name;
        if Named::new(self.charged, cx)?.name == self.name {
            return Some(self);
        }
        let charged = match self.charged {
            Charged::Function(_) => (0..profile.functions.len() as u32)
                .map(|id| Charged::Function(FunctionId(id)))
                .find(is_it),
            Charged::Place(_) => (0..profile.scopes.len() as u32)
                .map(|scope| Charged::Place(ScopeId(scope)))
                .find(is_it),
        }?;
        Some(Named { charged, ..self })
    }
}

impl Only {
    pub(super) fn within(within: Within, cx: &Context<'_>) -> Option<Only> {
        let sites = within.sites(cx.data)?;
        Some(Only::Within(within, sites))
    }

    /// The same restriction in other data; `None` = what it names is not there.
    pub(super) fn in_data(self, cx: &Context<'_>) -> Option<Only> {
        match self {
            Only::Through(named) => named.in_data(cx).map(Only::Through),
            Only::Owned(named) => named.in_data(cx).map(Only::Owned),
            Only::Within(within, _) => Only::within(within, cx),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (how, named) = match self {
            Only::Through(named) => ("through", named),
            Only::Owned(named) => ("charged to", named),
            Only::Within(within, _) => return within.label.clone(),
        };
        format!("{how} {}", clean(&named.short))
    }

    fn admits(&self, index: u32, site: &Site, cx: &Context<'_>) -> bool {
        match self {
            Only::Within(_, sites) => sites.get(index as usize).copied().unwrap_or(false),
            Only::Owned(named) => cx.data.profile.charged_to(site) == Some(named.charged),
            Only::Through(named) => {
                let frames = cx.data.frames(site, cx.all_frames).iter();
                let mut frames = frames.filter_map(|frame| cx.data.frame(*frame));
                frames.any(|frame| Charged::Function(frame.function) == named.charged)
                    || cx.data.profile.place_of(site) == Some(named.charged)
            }
        }
    }
}

/// The listed sites.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Indices into the profile's sites.
    pub(super) sites: Vec<u32>,
    /// What they make up together, in the measure.
    pub(super) value: u64,
}

impl Listing {
    pub(super) fn new(
        cx: &Context<'_>,
        sort: Sort,
        reversed: bool,
        filter: Option<&Pattern>,
        only: Option<&Only>,
    ) -> Listing {
        let data = cx.data;
        // A frame is in many stacks: ask the regex once for each.
        let matching: Option<Vec<bool>> = filter.map(|filter| {
            let functions = data.matching(filter);
            let function = |id: FunctionId| functions.get(id.0 as usize).copied().unwrap_or(false);
            let file =
                |file: &Option<String>| file.as_ref().is_some_and(|file| filter.is_match(file));
            data.profile
                .frames
                .iter()
                .map(|frame| function(frame.function) || file(&frame.file))
                .collect()
        });
        let admitted = |index: u32, site: &Site| {
            only.is_none_or(|only| only.admits(index, site, cx))
                && matching.as_ref().is_none_or(|matching| {
                    let frames = data.frames(site, cx.all_frames);
                    let place = data.profile.place_of(site);
                    frames
                        .iter()
                        .any(|f| matching.get(f.0 as usize).copied().unwrap_or(false))
                        || place.is_some_and(|place| {
                            filter.is_some_and(|filter| filter.is_match(&place.name(&data.profile)))
                        })
                })
        };
        let mut sites: Vec<(u32, &Site)> = (0..)
            .zip(&data.profile.sites)
            .filter(|(index, site)| admitted(*index, site))
            .collect();
        let value = sites
            .iter()
            .map(|(_, site)| cx.measure.of(&site.figures))
            .fold(0_u64, u64::saturating_add);
        let name = |site: &Site| {
            let charged = data.profile.charged_to(site);
            charged.map(|charged| charged.name(&data.profile))
        };
        let place = |site: &Site| {
            let frame = site.charged().and_then(|frame| data.frame(frame));
            frame.map(|frame| (frame.file.as_deref(), frame.line))
        };
        let measure = |site: &Site| Reverse(cx.measure.of(&site.figures));
        match sort {
            Sort::Measure => sites.sort_by_key(|(_, s)| measure(s)),
            Sort::Blocks => {
                sites.sort_by_key(|(_, s)| (Reverse(cx.measure.blocks(&s.figures).0), measure(s)))
            }
            Sort::Live => sites.sort_by_key(|(_, s)| (Reverse(s.figures.live_bytes), measure(s))),
            Sort::Mean => sites.sort_by_key(|(_, s)| (Reverse(mean(s)), measure(s))),
            Sort::Function => sites.sort_by_key(|(_, s)| (name(s), measure(s))),
            Sort::Place => sites.sort_by_key(|(_, s)| (place(s), measure(s))),
        }
        if reversed {
            sites.reverse();
        }
        Listing {
            sites: sites.into_iter().map(|(index, _)| index).collect(),
            value,
        }
    }
}

/// Whether site `index` of `new` has the stack and scope of `old`, a site of the data before.
pub(super) fn same_site(old_data: Option<&Data>, old: &Site, new: &Data, index: u32) -> bool {
    let (Some(old_data), Some(site)) = (old_data, new.site(index)) else {
        return false;
    };
    let address = |data: &Data, frame| {
        data.frame(frame)
            .map(|f| (f.module, f.offset, f.line, f.inlined))
    };
    site.stack.len() == old.stack.len()
        && site.scope == old.scope
        && site
            .stack
            .iter()
            .zip(&old.stack)
            .all(|(a, b)| address(new, *a) == address(old_data, *b))
}
