//! The restriction of the list of sites. Uses names, so that it survives a reload.

use heapglass_profiler::profile::{FrameId, FunctionId, Label, ScopeId, Site};
use heapglass_profiler::table::{By, sites_of};

use crate::model::{Context, Selection};
use crate::text::clean;

/// A restriction that another view or `#` asked for.
#[derive(Clone, Debug)]
pub(super) struct SiteFilter {
    to: Restriction,
    /// Per site, `true` if it is listed.
    sites: Vec<bool>,
}

/// The kind of restriction.
#[derive(Clone, Debug)]
pub(super) enum Restriction {
    /// Sites with this function anywhere in their stack.
    Through(Named),
    /// Sites of a row by owner, function, crate, loaded image or phase.
    Group(By, String),
    /// Sites of a type in a field.
    Selection(Selection),
}

/// A function, or a place without recorded stacks, by its name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    charged: Label,
    name: String,
    short: String,
}

impl Named {
    /// Names a function or place; `None` if the profile does not know it.
    pub(super) fn new(charged: Label, cx: &Context<'_>) -> Option<Named> {
        let profile = &cx.data.profile;
        let is_known = match charged {
            Label::Function(id) => (id.0 as usize) < profile.functions().len(),
            Label::Place(scope) => (scope.0 as usize) < profile.scopes().len(),
            _ => true,
        };
        is_known.then(|| Named {
            charged,
            name: charged.name(profile).into_owned(),
            short: charged.short_name(profile).into_owned(),
        })
    }

    /// Returns the same function in other data, where it may have another number.
    fn in_data(self, cx: &Context<'_>) -> Option<Named> {
        let profile = &cx.data.profile;
        let is_named = |charged: &Label| charged.name(profile) == self.name;
        if Named::new(self.charged, cx)?.name == self.name {
            return Some(self);
        }
        let (functions, scopes) = (profile.functions().len(), profile.scopes().len());
        let charged = match self.charged {
            Label::Function(_) => (0..functions as u32)
                .map(|id| Label::Function(FunctionId(id)))
                .find(is_named),
            Label::Place(_) => (0..scopes as u32)
                .map(|scope| Label::Place(ScopeId(scope)))
                .find(is_named),
            _ => None,
        }?;
        Some(Named { charged, ..self })
    }

    fn is_on_stack(&self, site: &Site, cx: &Context<'_>) -> bool {
        let frames = cx.data.profile.frames_of(site, cx.frames);
        let is_charged = |id: &FrameId| {
            let frame = cx.data.frame(*id);
            frame.is_some_and(|frame| Label::Function(frame.function) == self.charged)
        };
        frames.iter().any(is_charged) || cx.data.profile.place_of(site) == Some(self.charged)
    }
}

impl SiteFilter {
    /// Creates the filter; `None` if the named part does not exist or has no sites. The restriction
    /// may come from other data.
    pub(super) fn new(to: Restriction, cx: &Context<'_>) -> Option<SiteFilter> {
        let profile = &cx.data.profile;
        let to = match to {
            Restriction::Through(named) => Restriction::Through(named.in_data(cx)?),
            same => same,
        };
        let sites = match &to {
            Restriction::Through(named) => {
                let sites = profile.sites().iter();
                sites.map(|site| named.is_on_stack(site, cx)).collect()
            }
            Restriction::Group(by, key) => {
                let sites = sites_of(profile, *by, key, cx.frames);
                Some(sites).filter(|sites| sites.contains(&true))?
            }
            Restriction::Selection(selection) => selection.sites(cx.data)?,
        };
        Some(SiteFilter { to, sites })
    }

    pub(super) fn restriction(self) -> Restriction {
        self.to
    }

    pub(super) fn describe(&self) -> String {
        match &self.to {
            Restriction::Through(named) => format!("through {}", clean(&named.short)),
            Restriction::Group(By::Function, key) => format!("through {}", clean(key)),
            Restriction::Group(By::Phase, key) => format!("in phase {}", clean(key)),
            Restriction::Group(by, key) => format!("of {} {}", by.name(), clean(key)),
            Restriction::Selection(selection) => selection.label.clone(),
        }
    }

    pub(super) fn admits(&self, index: usize) -> bool {
        self.sites.get(index).copied().unwrap_or(false)
    }
}
