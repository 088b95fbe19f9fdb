//! Which rows are listed, and in which order. Deterministic: ties fall back to the report's order.

use std::cmp::Reverse;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Charged, Figures, FunctionId, Measure, ScopeId, Site};
use heapglass_profiler::report::{By, Detail, SiteLabel, sites_of};

use crate::model::{Context, Data, Pattern, Within};
use crate::text::clean;

/// The column the list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// The measure, largest first.
    #[default]
    Measure,
    /// What changed most against the base, either way.
    Change,
    /// Blocks that go with the measure.
    Blocks,
    /// Bytes live at the end.
    Live,
    /// Mean bytes of a block over all allocations.
    Mean,
    /// What was allocated.
    What,
    /// Where: the field, or the call.
    Location,
    /// The owner, with file and line.
    Owner,
}

impl Sort {
    const ALL: [Sort; 8] = [
        Sort::Measure,
        Sort::Change,
        Sort::Blocks,
        Sort::Live,
        Sort::Mean,
        Sort::What,
        Sort::Location,
        Sort::Owner,
    ];

    pub(super) fn next(self, has_base: bool) -> Sort {
        let shown = |sort: &Sort| has_base || *sort != Sort::Change;
        let mut after = Sort::ALL.into_iter().cycle().skip_while(|s| *s != self);
        after.next();
        after.find(shown).unwrap_or_default()
    }

    /// The title of the column.
    pub(super) fn name(self, measure: Measure) -> &'static str {
        match self {
            Sort::Measure => measure.name(),
            Sort::Change => "change",
            Sort::Blocks => measure.blocks(&Figures::default()).1,
            Sort::Live => "live",
            Sort::Mean => "mean",
            Sort::What => "what",
            Sort::Location => "where",
            Sort::Owner => "owner",
        }
    }
}

/// Mean bytes of a block, 0 without blocks.
pub(super) fn mean(figures: &Figures) -> u64 {
    figures
        .total_bytes
        .checked_div(figures.total_blocks)
        .unwrap_or(0)
}

/// A restriction another view or `#` asked for. By name, so that it survives a reload.
#[derive(Clone, Debug)]
pub(super) enum Only {
    /// Sites with a function anywhere in their stack.
    Through(Named),
    /// Sites of a row by owner, function, crate or loaded image: which, and for each site, whether it is one.
    Group(By, String, Vec<bool>),
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
            Charged::Group(_) => true,
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
            Charged::Group(_) => None,
            Charged::Place(_) => (0..profile.scopes.len() as u32)
                .map(|scope| Charged::Place(ScopeId(scope)))
                .find(is_it),
        }?;
        Some(Named { charged, ..self })
    }
}

impl Only {
    /// The sites of the row of that key; `None` = there are none.
    pub(super) fn group(by: By, key: String, cx: &Context<'_>) -> Option<Only> {
        let sites = sites_of(&cx.data.profile, by, &key, cx.frames);
        (sites.contains(&true)).then_some(Only::Group(by, key, sites))
    }

    pub(super) fn within(within: Within, cx: &Context<'_>) -> Option<Only> {
        let sites = within.sites(cx.data)?;
        Some(Only::Within(within, sites))
    }

    /// The same restriction in other data; `None` = what it names is not there.
    pub(super) fn in_data(self, cx: &Context<'_>) -> Option<Only> {
        match self {
            Only::Through(named) => named.in_data(cx).map(Only::Through),
            Only::Group(by, key, _) => Only::group(by, key, cx),
            Only::Within(within, _) => Only::within(within, cx),
        }
    }

    pub(super) fn describe(&self) -> String {
        let named = match self {
            Only::Through(named) => named,
            Only::Group(By::Function, key, _) => return format!("through {}", clean(key)),
            Only::Group(by, key, _) => return format!("of {} {}", by.name(), clean(key)),
            Only::Within(within, _) => return within.label.clone(),
        };
        format!("through {}", clean(&named.short))
    }

    fn admits(&self, index: u32, site: &Site, cx: &Context<'_>) -> bool {
        match self {
            Only::Within(_, sites) | Only::Group(_, _, sites) => {
                sites.get(index as usize).copied().unwrap_or(false)
            }
            Only::Through(named) => {
                let frames = cx.data.profile.frames_of(site, cx.frames);
                let mut frames = frames.iter().filter_map(|frame| cx.data.frame(*frame));
                frames.any(|frame| Charged::Function(frame.function) == named.charged)
                    || cx.data.profile.place_of(site) == Some(named.charged)
            }
        }
    }
}

/// A row of the list: sites that read the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    /// What a reader sees of it.
    pub(super) label: SiteLabel,
    /// What its sites came to.
    pub(super) figures: Figures,
    /// Indices into the profile's sites, most of the measure first.
    pub(super) sites: Vec<u32>,
    /// Whether these are all sites of the row of the report: what is said of that row holds here.
    pub(super) is_whole: bool,
}

impl Listed {
    /// The row that the base may have too; `None` of a part of one.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.is_whole.then(|| Identity::of_label(&self.label))
    }
}

/// The listed rows.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) rows: Vec<Listed>,
    /// What they make up together, in the measure.
    pub(super) value: u64,
    /// How many there would be without restriction.
    pub(super) all: usize,
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
        let by_stack = |site: &Site| {
            matching.as_ref().is_none_or(|matching| {
                let frames = data.profile.frames_of(site, cx.frames);
                let place = data.profile.place_of(site);
                frames
                    .iter()
                    .any(|f| matching.get(f.0 as usize).copied().unwrap_or(false))
                    || place.is_some_and(|place| {
                        filter.is_some_and(|filter| filter.is_match(&place.name(&data.profile)))
                    })
            })
        };
        // What stands in the row is matched too: type, field, owner, line.
        let by_label = |label: &SiteLabel| {
            filter.is_some_and(|filter| {
                [&label.what, &label.location, &label.owner]
                    .into_iter()
                    .chain(&label.source)
                    .any(|text| filter.is_match(text))
            })
        };
        let measure = cx.measure;
        let mut rows: Vec<Listed> = Vec::new();
        for row in data.site_rows() {
            let Detail::Site(detail) = &row.detail else {
                continue;
            };
            let (label, sites) = (&detail.label, &detail.sites);
            let named = by_label(label);
            let mut listed = Listed {
                label: label.clone(),
                ..Listed::default()
            };
            for &index in sites {
                let Some(site) = data.profile.sites.get(index) else {
                    continue;
                };
                let index = index as u32;
                let admitted = only.is_none_or(|only| only.admits(index, site, cx));
                if admitted && (named || by_stack(site)) {
                    listed.figures.add(&site.figures);
                    listed.sites.push(index);
                }
            }
            listed.is_whole = listed.sites.len() == sites.len();
            if !listed.sites.is_empty() {
                let weight = |index: &u32| {
                    let site = data.site(*index);
                    Reverse(site.map_or(0, |site| measure.of(&site.figures)))
                };
                listed.sites.sort_by_key(weight);
                rows.push(listed);
            }
        }
        let value = rows
            .iter()
            .map(|row| measure.of(&row.figures))
            .fold(0_u64, u64::saturating_add);
        let by_measure = |row: &Listed| {
            (
                Reverse(measure.of(&row.figures)),
                Reverse(row.figures.total_bytes),
            )
        };
        match sort {
            Sort::Measure => rows.sort_by_key(by_measure),
            Sort::Change => {
                let beside = cx.beside(By::Site);
                let change = |row: &Listed| {
                    let row = beside.as_ref()?.row(&row.identity()?)?;
                    Some(row.change.exact_difference()?.unsigned_abs())
                };
                rows.sort_by_cached_key(|row| (Reverse(change(row)), by_measure(row)));
            }
            Sort::Blocks => {
                rows.sort_by_key(|row| (Reverse(measure.blocks(&row.figures).0), by_measure(row)))
            }
            Sort::Live => {
                rows.sort_by_key(|row| (Reverse(row.figures.live_bytes), by_measure(row)))
            }
            Sort::Mean => rows.sort_by_key(|row| (Reverse(mean(&row.figures)), by_measure(row))),
            Sort::What => rows.sort_by_cached_key(|row| (row.label.what.clone(), by_measure(row))),
            Sort::Location => {
                rows.sort_by_cached_key(|row| (row.label.location.clone(), by_measure(row)))
            }
            Sort::Owner => {
                rows.sort_by_cached_key(|row| (row.label.owner_and_source(), by_measure(row)))
            }
        }
        if reversed {
            rows.reverse();
        }
        Listing {
            rows,
            value,
            all: data.site_rows().len(),
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
    let stack = |data: &Data, site| -> Vec<_> {
        let stack = data.profile.innermost_first(site);
        stack.map(|frame| address(data, frame)).collect()
    };
    site.scope == old.scope && stack(new, site) == stack(old_data, old)
}
