//! The sites of the process that allocate chunks of arenas: recorded for named arenas, found by
//! their stacks for all others.

use crate::name::{begins_with, path};
use crate::profile::{ArenaEvent, Function, FunctionId, Origin, Profile, Site};
use crate::units::joined;
use std::collections::{HashMap, HashSet};

/// Crates of arenas, by the name their functions have. Nothing but chunks is asked of the allocator
/// by their own code.
const ARENA_CRATES: [&str; 2] = ["bumpalo", "bump_scope"];

/// The kind of a site's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteBlocks {
    /// Chunks of an arena, whether it has a name or not.
    Chunks,
    /// Something else.
    Values,
    /// The stack does not tell, or tells a function that also allocates chunks of a named arena.
    Unknown,
}

/// The known chunks.
pub(super) struct Chunks<'a> {
    profile: &'a Profile,
    sites: &'a HashMap<usize, Vec<usize>>,
    /// Functions that allocated chunks of named arenas of the program's own making.
    functions: HashSet<FunctionId>,
}

impl<'a> Chunks<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let sites = profile.chunk_sites();
        let chunk_sites = sites.keys().filter_map(|&site| profile.sites.get(site));
        let functions = chunk_sites.filter_map(|site| own_function(profile, site));
        let functions = functions.filter(|(_, function)| !in_arena_crate(function));
        let functions = functions.map(|(id, _)| id).collect();
        Chunks {
            profile,
            sites,
            functions,
        }
    }

    /// Returns the kind of a site's blocks (index into [`Profile::sites`]).
    pub(super) fn held_by(&self, index: usize) -> SiteBlocks {
        let Some(site) = self.profile.sites.get(index) else {
            return SiteBlocks::Unknown;
        };
        if self.sites.contains_key(&index) {
            return SiteBlocks::Chunks;
        }
        let Some((own, _)) = own_function(self.profile, site) else {
            return SiteBlocks::Unknown;
        };
        let asked = functions(self.profile, site).next();
        if asked.is_some_and(|(_, asked)| in_arena_crate(asked) && !is_collection(asked)) {
            SiteBlocks::Chunks
        } else if self.functions.contains(&own) {
            SiteBlocks::Unknown
        } else {
            SiteBlocks::Values
        }
    }
}

/// The functions of a stack that ask for a block or hand on that wish, innermost first.
fn functions<'a>(
    profile: &'a Profile,
    site: &Site,
) -> impl Iterator<Item = (FunctionId, &'a Function)> {
    profile
        .innermost_first(site)
        .filter_map(|id| profile.lookup(id))
        .map(|(frame, function)| (frame.function, function))
        .filter(|(_, function)| !is_machinery(function))
}

/// The innermost function of a stack that is not the standard library's; `None` when it has no
/// name, or there is none.
fn own_function<'a>(profile: &'a Profile, site: &Site) -> Option<(FunctionId, &'a Function)> {
    functions(profile, site)
        .find(|(_, function)| function.origin != Origin::Std)
        .filter(|(_, function)| function.origin != Origin::Unresolved)
}

/// Between the code that asks for a block and the allocator.
fn is_machinery(function: &Function) -> bool {
    function.is_own()
        || function.krate == "core"
        || begins_with(path(&function.name), &["alloc::alloc::", "__rust"])
        || (in_arena_crate(function) && function.name.contains("alloc::Global"))
}

fn in_arena_crate(function: &Function) -> bool {
    ARENA_CRATES.contains(&function.krate.as_str())
}

/// Collections may hold closures of theirs that clone a value of the program's.
fn is_collection(function: &Function) -> bool {
    ["collections", "boxed"]
        .iter()
        .any(|module| function.name.contains(&format!("::{module}::")))
}

/// The arenas (indexes into [`Profile::arenas`]) that each site (index into [`Profile::sites`])
/// allocates chunks for.
pub(in crate::profile) fn chunk_sites(profile: &Profile) -> HashMap<usize, Vec<usize>> {
    let mut sites: HashMap<usize, Vec<usize>> = HashMap::new();
    for (arena, record) in profile.arenas.iter().enumerate() {
        for moment in &record.history {
            if let Some(site) = moment.site.filter(|_| moment.what == ArenaEvent::Chunk) {
                let arenas = sites.entry(site).or_default();
                if !arenas.contains(&arena) {
                    arenas.push(arena);
                }
            }
        }
    }
    sites
}

/// `arena cities`, `arenas cities and lines`.
pub(super) fn named(profile: &Profile, arenas: &[usize], name: impl Fn(&str) -> String) -> String {
    let arenas = arenas.iter().filter_map(|&arena| profile.arenas.get(arena));
    let names: Vec<String> = arenas.map(|arena| name(&arena.name)).collect();
    let noun = if names.len() == 1 { "arena" } else { "arenas" };
    format!("{noun} {}", joined(&names))
}

/// `chunk of arena cities`, for a site of [`Profile::chunk_sites`]. As recorded: not safe for a
/// terminal before [`crate::units::printable`].
pub fn chunk_label(profile: &Profile, arenas: &[usize]) -> String {
    format!("chunk of {}", named(profile, arenas, str::to_owned))
}
