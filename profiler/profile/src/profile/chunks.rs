//! The sites of the process that allocate chunks of arenas: recorded for named arenas, found by
//! their stacks for all others.

use crate::name::{begins_with, path};
use crate::profile::{ArenaEvent, Function, FunctionId, Origin, Profile, Site, Stack};
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
        let functions = chunk_sites
            .filter_map(|site| own_function(profile, site))
            .filter(|(_, function)| !in_arena_crate(function))
            .map(|(id, _)| id)
            .collect();
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

/// The sites (indexes into [`Profile::sites`]) that allocated chunks, with the arenas (indexes into
/// [`Profile::arenas`]) that the chunks belong to.
#[derive(Debug, Default)]
pub(super) struct ChunkSites {
    /// Sites that allocate nothing but chunks of named arenas.
    pub(super) named: HashMap<usize, Vec<usize>>,
    /// Sites without a stack: all that was allocated in their scope, chunks and other blocks.
    pub(super) mixed: HashMap<usize, Vec<usize>>,
}

/// Returns the sites that allocated chunks of named arenas.
pub(super) fn chunk_sites(profile: &Profile) -> ChunkSites {
    let mut found = ChunkSites::default();
    let mut by_stack: HashMap<Stack, Vec<usize>> = HashMap::new();
    let add = |arenas: &mut Vec<usize>, arena| {
        if !arenas.contains(&arena) {
            arenas.push(arena);
        }
    };
    for (arena, record) in profile.arenas.iter().enumerate() {
        let chunks = record
            .history
            .iter()
            .filter(|moment| moment.what == ArenaEvent::Chunk);
        for index in chunks.filter_map(|moment| moment.site) {
            match profile.sites.get(index) {
                Some(site) if profile.has_stack(site) => {
                    add(found.named.entry(index).or_default(), arena);
                    add(by_stack.entry(site.stack).or_default(), arena);
                }
                Some(_) => add(found.mixed.entry(index).or_default(), arena),
                None => {}
            }
        }
    }
    // The history is bounded, and need not name all scopes in which an arena grew. The same code
    // allocates chunks in each of them.
    if !by_stack.is_empty() {
        for (index, site) in profile.sites.iter().enumerate() {
            if let Some(arenas) = by_stack.get(&site.stack) {
                found.named.entry(index).or_insert_with(|| arenas.clone());
            }
        }
    }
    found
}

/// Returns the arenas (indexes into [`Profile::arenas`]) whose chunks each site (index into
/// [`Profile::sites`]) allocated, if all its blocks are chunks. The list is empty for arenas
/// without a name.
pub(super) fn sites_of_chunks(profile: &Profile) -> HashMap<usize, Vec<usize>> {
    let mut all = profile.chunk_sites().clone();
    let chunks = Chunks::of(profile);
    let sites = (0..profile.sites.len()).filter(|index| !all.contains_key(index));
    let unnamed: Vec<usize> = sites
        .filter(|index| chunks.held_by(*index) == SiteBlocks::Chunks)
        .collect();
    all.extend(unnamed.into_iter().map(|index| (index, Vec::new())));
    all
}

/// Returns the name of the row that has the chunks of some arenas: `(arena cities: chunks)`. As
/// recorded: not safe for a terminal before [`crate::units::printable`].
pub(super) fn chunks_row(profile: &Profile, arenas: &[usize]) -> String {
    match arenas {
        [] => "(arenas without a name: chunks)".to_owned(),
        _ => format!("({}: chunks)", named(profile, arenas, str::to_owned)),
    }
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
