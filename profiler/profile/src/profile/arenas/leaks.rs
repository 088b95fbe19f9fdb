//! Leaks by an arena's drop: blocks of the global heap that values inside an arena owned. An arena
//! does not drop its contents, so a `String` in an arena is never freed.
//!
//! The rows of an arena name the scopes in which it allocated bytes. If the derive says so, the
//! root of such a scope is a value that was built in the arena. A value of `Profiled<T>` may also
//! lie on the heap and only point into the arena; the text says so. A site of the global heap under
//! that root, with blocks still live at exit, is a leak if no value of that root can be alive:
//! every instance is gone or was reset since. While some instances are alive, the owner of the
//! blocks is unknown, and the text says so. Blocks that the program moved out of the values and
//! keeps on purpose look the same, and the text says so.
//!
//! Values that own something and were put in through a handle are recorded with the sites of the
//! blocks that they pointed to (`undropped`). This module must never report the chunks of an arena
//! as leaks, not even those of arenas without a name (`chunks`).

use super::leak::{Certainty, Leak};
use super::undropped::undropped;
use crate::profile::chunks::{Chunks, SiteBlocks};
use crate::profile::{ArenaEvent, Profile, ScopeId, ScopeKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The facts about a root that values in arenas were built under.
#[derive(Default)]
struct Root {
    arenas: Vec<usize>,
    /// Arenas hold values of it.
    alive: bool,
}

/// All blocks of the global heap that values in arenas left behind, most bytes first.
pub(in crate::profile) fn leaks(profile: &Profile) -> Vec<Leak> {
    let fields = profile.fields();
    let mut roots: BTreeMap<ScopeId, Root> = BTreeMap::new();
    for (index, arena) in profile.arenas.iter().enumerate() {
        let dropped = arena.figures.dropped >= arena.figures.made;
        for row in &arena.rows {
            // Read as long as the row was written: an empty row says nothing.
            let inside = &row.inside;
            if inside.total_blocks == 0 && inside.bypassed_bytes == 0 {
                continue;
            }
            for scope in root_of(profile, row.scope) {
                let root = roots.entry(scope).or_default();
                if !root.arenas.contains(&index) {
                    root.arenas.push(index);
                }
                // Bytes that bypassed the handle have no count of what is in use: they may be,
                // while an instance lives.
                let unknown = inside.bypassed_bytes > 0 && arena.figures.bypassed_bytes > 0;
                root.alive |=
                    !dropped && (inside.live_blocks > 0 || inside.live_bytes > 0 || unknown);
            }
        }
    }
    let chunks = Chunks::of(profile);
    let mut leaks: Vec<Leak> = Vec::new();
    for (index, site) in profile.sites.iter().enumerate() {
        if site.figures.live_blocks == 0 || site.marks.synthetic {
            continue;
        }
        let mut around = root_of(profile, site.scope);
        let Some((scope, root)) = around.find_map(|scope| Some((scope, roots.get(&scope)?))) else {
            continue;
        };
        let holds = chunks.held_by(index);
        if holds == SiteBlocks::Chunks {
            continue;
        }
        let scope = profile.scopes.get(scope.0 as usize);
        let in_arena = scope.is_some_and(|scope| scope.in_arena);
        let certainty = if !in_arena {
            Certainty::PlaceUnknown
        } else if root.alive {
            Certainty::InstancesLive
        } else if holds == SiteBlocks::Unknown
            || root
                .arenas
                .iter()
                .any(|&arena| chunks_unknown(profile, arena))
        {
            Certainty::ChunksUnknown
        } else {
            Certainty::Leaked
        };
        leaks.push(Leak {
            arenas: root.arenas.clone(),
            site: index,
            type_id: profile.type_id_of(site),
            field: fields.field_of(site.scope),
            live_bytes: site.figures.live_bytes,
            live_blocks: site.figures.live_blocks,
            certainty,
        });
    }
    let more = undropped(profile, &chunks, &leaks);
    leaks.extend(more);
    leaks.sort_by_key(|leak| (Reverse(leak.live_bytes), leak.site));
    leaks
}

/// Returns `true` if the arena holds chunks whose blocks are unknown.
fn chunks_unknown(profile: &Profile, arena: usize) -> bool {
    profile.arenas.get(arena).is_some_and(|arena| {
        let known = arena
            .history
            .iter()
            .filter(|moment| moment.what == ArenaEvent::Chunk && moment.site.is_some())
            .count();
        arena.figures.chunks > 0 && (known as u64) < arena.figures.total_chunks
    })
}

/// The roots around a scope, the innermost first.
fn root_of(profile: &Profile, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
    let around = profile.scopes_around(scope);
    let roots = around.filter(|(_, scope)| scope.kind == ScopeKind::Root);
    roots.map(|(id, _)| id)
}
