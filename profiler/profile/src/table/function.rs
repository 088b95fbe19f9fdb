//! Rows by owner, by function, by crate and by loaded image.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use serde::Serialize;

use super::site::{asking, owner_name};
use super::{By, Detail, NO_STACK, Part, Row};
use crate::interned::Interned;
use crate::profile::ScopeId;
use crate::profile::{
    Figures, FrameId, Frames, Function, FunctionId, Group, Measure, Origin, Profile, Role, Site,
};
use crate::symbols::Interpreter;

/// A function on stacks. The names are the keys in JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FunctionDetail {
    /// The first of the functions of this name (copies of one generic function are one row);
    /// `None` = no stack.
    #[serde(skip)]
    pub function: Option<FunctionId>,
    /// The whole name. The key is the short name if no other function has it.
    pub full_name: String,
    /// The crate, or the image of native code.
    #[serde(rename = "crate")]
    pub krate: String,
    /// The origin of its code.
    pub origin: Origin,
    /// The function and everything it calls; recursion counts once.
    pub inclusive: Figures,
    /// Its callers, with the allocations of those calls, largest total first.
    #[serde(serialize_with = "super::data::functions")]
    pub callers: Vec<Part>,
    /// Its callees, with the allocations there, largest total first.
    #[serde(serialize_with = "super::data::functions")]
    pub callees: Vec<Part>,
}

/// The name of a function in full, without what tells copies of one generic function apart.
fn full_name(function: &Function) -> String {
    if function.name.is_empty() {
        "[unnamed]".to_owned()
    } else {
        function.parsed().without_arguments()
    }
}

/// Returns the key of each function's row: its short name, or the full name if two functions share
/// the short one.
fn function_keys(profile: &Profile) -> Vec<String> {
    let short = |function: &Function| {
        if function.short.is_empty() {
            full_name(function)
        } else {
            function.short.clone()
        }
    };
    let mut shared: HashMap<String, Option<String>> = HashMap::new();
    for function in &profile.functions {
        let full = full_name(function);
        let known = shared.entry(short(function));
        known
            .and_modify(|one| {
                if one.as_ref() != Some(&full) {
                    *one = None;
                }
            })
            .or_insert(Some(full));
    }
    let key = |function: &Function| {
        let short = short(function);
        match shared.get(&short) {
            Some(Some(_)) => short,
            _ => full_name(function),
        }
    };
    profile.functions.iter().map(key).collect()
}

/// Rows of sites by key, with what `detail` makes of the sites (indexes into [`Profile::sites`]) of
/// each.
///
/// `alike` tells sites of one key from others at less cost, where it can: those of which it says
/// the same have one key.
fn grouped<A: Eq + Hash>(
    profile: &Profile,
    key: fn(&Profile, &Site) -> String,
    alike: impl Fn(&Site) -> Option<A>,
    detail: impl Fn(Vec<usize>) -> Detail,
) -> Vec<Row> {
    let mut keys = Interned::new();
    let mut sums: Vec<(Figures, Vec<usize>)> = Vec::new();
    let mut known: FxHashMap<A, u32> = FxHashMap::default();
    for (index, site) in profile.counted_sites() {
        let mut number = || keys.number(key(profile, site));
        let number = match alike(site) {
            Some(alike) => *known.entry(alike).or_insert_with(number),
            None => number(),
        } as usize;
        if number == sums.len() {
            sums.push(Default::default());
        }
        let (figures, sites) = &mut sums[number];
        figures.add(&site.figures);
        sites.push(index);
    }
    let rows = keys.values.into_iter().zip(sums);
    rows.map(|(key, (figures, sites))| Row {
        key,
        figures,
        detail: detail(sites),
    })
    .collect()
}

/// Returns the frame that owns most of the measure of some sites (indexes into
/// [`Profile::sites`]); `None` if a group does.
pub fn owner_of(profile: &Profile, sites: &[usize], measure: Measure) -> Option<FrameId> {
    let size = |&&site: &&usize| (Reverse(measure.of(&profile.sites[site].figures)), site);
    let most = &profile.sites[*sites.iter().min_by_key(size)?];
    most.owner.filter(|_| most.group.is_none())
}

pub(super) fn owners(profile: &Profile, measure: Measure) -> Vec<Row> {
    let detail = |mut sites: Vec<usize>| {
        sites.sort_by_key(|&site| (Reverse(measure.of(&profile.sites[site].figures)), site));
        Detail::Owner {
            owner: owner_of(profile, &sites, measure),
            sites,
        }
    };
    // A stack without an owner is named for its scope.
    let alike = |site: &Site| Some((site.owner?, site.group, site.marks.cut, site.marks.foreign));
    grouped(profile, owner_name, alike, detail)
}

/// The allocations of a function, its callers and its callees.
#[derive(Default)]
struct Around {
    function: Option<FunctionId>,
    figures: Figures,
    inclusive: Figures,
    callers: HashMap<usize, Figures>,
    callees: HashMap<usize, Figures>,
}

pub(super) fn functions(profile: &Profile, measure: Measure, frames: Frames) -> Vec<Row> {
    let mut keys = Interned::new();
    let mut sums: Vec<Around> = Vec::new();
    // Copies of one generic function are one row.
    let mut rows: Vec<usize> = Vec::with_capacity(profile.functions.len());
    for (number, name) in (0..).zip(function_keys(profile)) {
        let row = keys.number(name) as usize;
        if row == sums.len() {
            sums.push(Around {
                function: Some(FunctionId(number)),
                ..Around::default()
            });
        }
        rows.push(row);
    }
    for (_, site) in profile.counted_sites() {
        let path = path(profile, site, frames);
        let row = |function: &FunctionId| rows.get(function.0 as usize).copied();
        let mut path: Vec<usize> = path.iter().filter_map(row).collect();
        if let Some(group @ Group::Backtrace) = site.group {
            let row = keys.number(group.name().to_owned()) as usize;
            if row == sums.len() {
                sums.push(Around::default());
            }
            path.push(row);
        }
        let last = match path.last() {
            Some(&last) => &mut sums[last],
            None => keys.entry(&mut sums, NO_STACK.to_owned()),
        };
        last.figures.add(&site.figures);
        // Recursion counts once, for a function and for a pair of them.
        let mut seen: HashSet<usize> = HashSet::new();
        let mut pairs: HashSet<(usize, usize)> = HashSet::new();
        for (at, &row) in path.iter().enumerate() {
            if seen.insert(row) {
                sums[row].inclusive.add(&site.figures);
            }
            let caller = at.checked_sub(1).map(|at| path[at]);
            if let Some(caller) = caller.filter(|&caller| caller != row)
                && pairs.insert((caller, row))
            {
                let callers = &mut sums[row].callers;
                callers.entry(caller).or_default().add(&site.figures);
                let callees = &mut sums[caller].callees;
                callees.entry(row).or_default().add(&site.figures);
            }
        }
    }
    let keys = keys.values;
    let parts = |of: HashMap<usize, Figures>| {
        let mut parts: Vec<Part> = of
            .into_iter()
            .map(|(row, figures)| Part::new(keys[row].clone(), figures))
            .collect();
        parts.sort_by_cached_key(|part| (Reverse(part.figures.total_bytes), part.key.clone()));
        parts
    };
    let mut rows: Vec<Row> = keys
        .iter()
        .zip(sums)
        .filter(|(key, around)| {
            let counted = around.figures.total_blocks > 0 || around.inclusive.total_blocks > 0;
            *key == NO_STACK || counted
        })
        .map(|(key, around)| {
            let function = around
                .function
                .and_then(|id| profile.functions.get(id.0 as usize));
            Row {
                key: key.clone(),
                figures: around.figures,
                detail: Detail::Function(Box::new(FunctionDetail {
                    function: around.function,
                    full_name: function.map(full_name).unwrap_or_default(),
                    krate: function
                        .map(|function| function.krate.clone())
                        .unwrap_or_default(),
                    origin: function.map_or(Origin::Unresolved, |function| function.origin),
                    inclusive: around.inclusive,
                    callers: parts(around.callers),
                    callees: parts(around.callees),
                })),
            }
        })
        .collect();
    // Rows that asked for nothing themselves are still in the order of what they called.
    rows.sort_by_key(|row| match &row.detail {
        Detail::Function(detail) => Reverse(measure.of(&detail.inclusive)),
        _ => Reverse(0),
    });
    rows
}

/// Returns the key of the row of each site: the function that asked for its blocks.
pub(super) fn keys_of_sites(profile: &Profile, frames: Frames) -> Vec<String> {
    let keys = function_keys(profile);
    let key = |site: &Site| {
        if let Some(group @ Group::Backtrace) = site.group {
            return group.name().to_owned();
        }
        let path = path(profile, site, frames);
        let mut innermost = path.iter().rev();
        let key = innermost.find_map(|function| keys.get(function.0 as usize));
        key.map_or_else(|| NO_STACK.to_owned(), String::clone)
    };
    profile.sites.iter().map(key).collect()
}

/// The functions of a site, outermost first: those that its stack shows. Folded, what the standard
/// library does for the function that asked (`Vec::reserve`, `String::from`) is that function's
/// own.
fn path(profile: &Profile, site: &Site, frames: Frames) -> Vec<FunctionId> {
    let mut shown = profile.frames_of(site, frames);
    if site.group == Some(Group::Backtrace) {
        // What works for a backtrace is one row.
        let is_backtrace = |id: &FrameId| {
            let found = profile.lookup(*id);
            found.is_some_and(|(_, function)| function.role == Role::Backtrace)
        };
        let asked = shown.iter().position(is_backtrace).unwrap_or(shown.len());
        shown.truncate(asked);
    }
    if frames == Frames::Folded
        && let Some(asking) = asking(profile, site)
        && let Some(at) = shown.iter().rposition(|&frame| frame == asking)
    {
        shown.truncate(at + 1);
    }
    let frames = shown.iter();
    frames
        .filter_map(|id| profile.frames.get(id.0 as usize))
        .map(|frame| frame.function)
        .collect()
}

/// The crate whose code asked.
pub(super) fn crate_key(profile: &Profile, site: &Site) -> String {
    if let Some(group @ (Group::Runtime | Group::Backtrace)) = site.group {
        return group.name().to_owned();
    }
    let function = asking_frame(profile, site).and_then(|id| Some(profile.lookup(id)?.1));
    match function {
        Some(function) if !function.krate.is_empty() => function.krate.clone(),
        Some(function) => function.name.clone(),
        None => NO_STACK.to_owned(),
    }
}

/// The loaded image whose code asked.
pub(super) fn module_key(profile: &Profile, site: &Site) -> String {
    // The unwinder calls back, so it would be the image that asks.
    if let Some(group @ Group::Backtrace) = site.group {
        return group.name().to_owned();
    }
    // An interpreter asks for the library that it runs.
    let is_interpreter = Interpreter::of(&profile.process.program).is_some();
    let id = site
        .owner
        .filter(|_| is_interpreter)
        .or_else(|| asking_frame(profile, site));
    let frame = id.and_then(|id| profile.frames.get(id.0 as usize));
    let module = frame.and_then(|frame| profile.modules.get(frame.module as usize));
    match module.filter(|_| !site.marks.synthetic && profile.has_stack(site)) {
        Some(module) if !module.path.is_empty() => module.path.clone(),
        _ => NO_STACK.to_owned(),
    }
}

/// Returns the loaded images other than the executable whose code asked for blocks live at the
/// peak, the largest first: path and figures.
pub fn libraries(profile: &Profile) -> Vec<(String, Figures)> {
    let executable = &profile.process.executable;
    let rows = super::rows(profile, By::Module, Measure::Peak, Frames::Folded);
    let is_library = |row: &Row| {
        let is_image = row.key != NO_STACK && row.key != Group::Backtrace.name();
        row.figures.peak_bytes > 0 && row.key != *executable && is_image
    };
    let libraries = rows.into_iter().filter(is_library);
    libraries.map(|row| (row.key, row.figures)).collect()
}

/// Returns for each site whether it belongs to the row of that key. Sites belong to a function that
/// is on their stack, and to a phase that is around them. Answered for owners, functions, crates,
/// modules and phases: in the rows of any other grouping no site is.
pub fn sites_of(profile: &Profile, by: By, key: &str, frames: Frames) -> Vec<bool> {
    let named: Vec<bool> = match by {
        By::Function => (function_keys(profile).iter())
            .map(|name| name == key)
            .collect(),
        _ => Vec::new(),
    };
    let in_phase = match by {
        By::Phase => scopes_in(profile, key),
        _ => Vec::new(),
    };
    let calls = |site: &Site| {
        if site.group == Some(Group::Backtrace) && key == Group::Backtrace.name() {
            return true;
        }
        let path = path(profile, site, frames);
        let is_named = |function: &FunctionId| named.get(function.0 as usize) == Some(&true);
        path.iter().any(is_named) || (path.is_empty() && key == NO_STACK)
    };
    let is_in = |site: &Site| match by {
        By::Owner => owner_name(profile, site) == key,
        By::Function => calls(site),
        By::Crate => crate_key(profile, site) == key,
        By::Module => module_key(profile, site) == key,
        By::Phase => in_phase.get(site.scope.0 as usize) == Some(&true),
        _ => false,
    };
    profile.sites.iter().map(is_in).collect()
}

/// Returns for each scope whether a phase of this path is around it, or is its own.
fn scopes_in(profile: &Profile, path: &str) -> Vec<bool> {
    let phases = profile.phases();
    let mut is_in: Vec<bool> = Vec::with_capacity(profile.scopes.len().max(1));
    for scope in (0..profile.scopes.len().max(1) as u32).map(ScopeId) {
        let own = phases.phase_of(scope);
        let known = if own == scope {
            // The root is around no phase, and parents come before children.
            let parent = phases.parent(own).0 as usize;
            let is_inside = parent > 0 && is_in.get(parent) == Some(&true);
            is_inside || phases.path(profile, own) == path
        } else {
            is_in.get(own.0 as usize) == Some(&true)
        };
        is_in.push(known);
    }
    is_in
}

/// Rows of crates or of loaded images, by what `key` says of a site.
pub(super) fn by_code(profile: &Profile, key: fn(&Profile, &Site) -> String) -> Vec<Row> {
    let detail = |sites: Vec<usize>| Detail::Code {
        sites: sites.len() as u64,
    };
    grouped(profile, key, |_| None::<()>, detail)
}

/// The frame whose code asked; the innermost of all where the standard library alone is on the
/// stack.
fn asking_frame(profile: &Profile, site: &Site) -> Option<FrameId> {
    asking(profile, site).or_else(|| profile.shown_stack(site).last().copied())
}
