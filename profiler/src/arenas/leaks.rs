//! Leaks by an arena's drop: blocks of the global heap that values inside an arena owned. An arena does not drop what
//! lies in it, so a `String` in there is never freed.
//!
//! How it is worked out: rows of an arena name the scopes it handed bytes out in. The root of such a scope is a value that
//! was built in the arena when the derive says so; a value of `Profiled<T>` may as well lie on the heap and only point
//! into the arena, and that is said. A site of the global heap under that root with blocks still live at the end is a
//! leak when no value of that root can be alive: every instance is gone or was reset since. While some are alive it
//! cannot be known whose the blocks are, and that is said. Blocks that the program moved out of the values and keeps on
//! purpose look the same, and the text says so.
//!
//! Besides, values that own something and were put in through a handle are recorded with the sites of the blocks they
//! pointed to (`put_in`). Must never take an arena's own chunks for leaks, those of arenas without a name neither
//! (`chunks`).

use super::chunks::{Chunks, Holds};
use super::put_in::put_in;
use crate::fields::Fields;
use crate::profile::{ArenaEvent, Profile, ScopeId, ScopeKind, TypeId};
use crate::types::type_of;
use crate::units::{Bytes, counted, printable};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Blocks of one site that outlived the arena of the values they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The arenas (indexes into [`Profile::arenas`]) that values of the same root were built in; mostly one.
    pub arenas: Vec<usize>,
    /// Index into [`Profile::sites`].
    pub site: usize,
    /// What the blocks hold: what the stack says, else the type of the field.
    pub type_id: Option<TypeId>,
    /// The field they were allocated in (index into [`Fields::nodes`]).
    pub field: u32,
    /// Bytes live at the end.
    pub live_bytes: u64,
    /// Blocks live at the end.
    pub live_blocks: u64,
    /// Whether it can be known.
    pub certainty: Certainty,
}

/// Whether blocks are leaked for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// No value of the arena is alive: they are leaked by its drop (or reset).
    Leaked,
    /// Instances of the arena are alive, and some blocks may belong to values in them: those will be leaked.
    InstancesLive,
    /// Whether the values lie in the arena is not known: they may lie on the heap and drop what they own.
    PlaceUnknown,
    /// Values in the arena pointed to the blocks; whether they own them is not known.
    OwnerUnknown,
    /// The arena holds chunks whose blocks could not be told from others: these may be such blocks.
    ChunksUnknown,
}

impl Certainty {
    /// The word of the JSON report.
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Leaked => "leaked",
            Certainty::InstancesLive => "instances live",
            Certainty::PlaceUnknown => "place unknown",
            Certainty::OwnerUnknown => "owner unknown",
            Certainty::ChunksUnknown => "chunks unknown",
        }
    }
}

/// What is known of a root that values in arenas were built under.
#[derive(Default)]
struct Root {
    arenas: Vec<usize>,
    /// Arenas hold values of it.
    alive: bool,
}

/// All blocks of the global heap that values in arenas left behind, most bytes first.
pub fn leaks(profile: &Profile, fields: &Fields) -> Vec<Leak> {
    let mut roots: BTreeMap<ScopeId, Root> = BTreeMap::new();
    for (index, arena) in profile.arenas.iter().enumerate() {
        let dropped = arena.dropped >= arena.made;
        for row in &arena.rows {
            // Read as long as the row was written: an empty row says nothing.
            if row.total_blocks == 0 && row.past_bytes == 0 {
                continue;
            }
            for scope in root_of(profile, row.scope) {
                let root = roots.entry(scope).or_default();
                if !root.arenas.contains(&index) {
                    root.arenas.push(index);
                }
                // Bytes past the handle have no count of what is in use: they may be, while an instance lives.
                let unknown = row.past_bytes > 0 && arena.past_bytes > 0;
                root.alive |= !dropped && (row.live_blocks > 0 || row.live_bytes > 0 || unknown);
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
        if holds == Holds::Chunks {
            continue;
        }
        let in_arena = profile
            .scopes
            .get(scope.0 as usize)
            .is_some_and(|scope| scope.in_arena);
        let certainty = if !in_arena {
            Certainty::PlaceUnknown
        } else if root.alive {
            Certainty::InstancesLive
        } else if holds == Holds::Unknown
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
            type_id: type_of(profile, site).map(|(id, _)| id),
            field: fields.field_of(site.scope),
            live_bytes: site.figures.live_bytes,
            live_blocks: site.figures.live_blocks,
            certainty,
        });
    }
    let more = put_in(profile, fields, &chunks, &leaks);
    leaks.extend(more);
    leaks.sort_by_key(|leak| (Reverse(leak.live_bytes), leak.site));
    leaks
}

/// Whether the arena holds chunks and it is not known which blocks they are.
fn chunks_unknown(profile: &Profile, arena: usize) -> bool {
    profile.arenas.get(arena).is_some_and(|arena| {
        let known = arena
            .history
            .iter()
            .filter(|moment| moment.what == ArenaEvent::Chunk && moment.site.is_some())
            .count();
        arena.chunks > 0 && (known as u64) < arena.total_chunks
    })
}

/// The roots around a scope, the innermost first.
fn root_of(profile: &Profile, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
    let mut at = Some(scope);
    std::iter::from_fn(move || {
        let this = at?;
        let scope = profile.scopes.get(this.0 as usize)?;
        // Parents come before children; anything else is a damaged recording, and might be a circle.
        at = (scope.parent < this.0).then_some(ScopeId(scope.parent));
        Some((this, scope.kind))
    })
    .filter(|(_, kind)| *kind == ScopeKind::Root)
    .map(|(scope, _)| scope)
}

/// A sentence for people without its stop, free of control characters: `String at City.name: 24,000 blocks (1.2 MiB) of
/// the global heap leaked by the arena's drop: ..`
pub fn leak_text(profile: &Profile, fields: &Fields, leak: &Leak) -> String {
    let what = leak
        .type_id
        .and_then(|id| profile.types.get(id.0 as usize))
        .map_or("Blocks".into(), |name| printable(&name.short));
    let place = fields
        .nodes
        .get(leak.field as usize)
        .filter(|_| leak.field != 0)
        .map_or_else(String::new, |field| {
            format!(" at {}", printable(&field.path))
        });
    let names: Vec<String> = leak
        .arenas
        .iter()
        .filter_map(|&arena| profile.arenas.get(arena))
        .map(|arena| printable(&arena.name).into_owned())
        .collect();
    let arenas = match names.as_slice() {
        [one] => format!("arena {one}"),
        several => format!("arenas {}", super::joined(several)),
    };
    let blocks = counted(leak.live_blocks, "block");
    let bytes = Bytes(leak.live_bytes);
    let start = format!("{what}{place}: {blocks} ({bytes}) of the global heap");
    match leak.certainty {
        Certainty::Leaked => {
            format!(
                "{start} leaked by the arena's drop, unless the program moved them out: {arenas} does not drop the values \
                 in it"
            )
        }
        Certainty::InstancesLive => format!(
            "{start} in values of {arenas}: the arena's drop leaks them. While instances live it cannot be known how many \
             are leaked already"
        ),
        Certainty::PlaceUnknown => format!(
            "{start} in values that point into {arenas}: leaked by the arena's drop if the values lie in it too, theirs to \
             free if they lie on the heap"
        ),
        Certainty::OwnerUnknown => format!(
            "{start} that values in {arenas} point to: leaked by the arena's drop if those values own them"
        ),
        Certainty::ChunksUnknown => format!(
            "{start} leaked by the drop or reset of {arenas}, or chunks of an arena: it cannot be known, because the sites \
             of all its chunks are not"
        ),
    }
}
