//! Blocks of values that were put into an arena by hand, through its handle:
//! `tracked.alloc(String::from(".."))`.
//!
//! The recording names the sites of the blocks that a value pointed to when it was put in. Only for
//! types of the standard library it is known that the value owns them. This module must never claim
//! more blocks of a site than are live at exit.

use super::leak::{Certainty, Leak};
use crate::containers::{self, ContainerType, inside_option};
use crate::profile::chunks::{Chunks, SiteBlocks};
use crate::profile::{Profile, TypeId};
use std::collections::HashMap;

/// Returns the live blocks that values put into arenas pointed to, without those that `known`
/// already contains.
pub(super) fn undropped(profile: &Profile, chunks: &Chunks<'_>, known: &[Leak]) -> Vec<Leak> {
    let fields = profile.fields();
    let mut leaks = Vec::new();
    // Blocks and bytes of a site that nothing claimed yet.
    let mut left: HashMap<usize, (u64, u64)> = HashMap::new();
    for (index, arena) in profile.arenas.iter().enumerate() {
        let alive = arena.figures.dropped < arena.figures.made && arena.figures.used_bytes > 0;
        for values in &arena.values {
            let Some(at) = values.site else { continue };
            let Some(site) = profile.sites.get(at).filter(|site| !site.marks.synthetic) else {
                continue;
            };
            if chunks.held_by(at) == SiteBlocks::Chunks || known.iter().any(|leak| leak.site == at)
            {
                continue;
            }
            let live = (site.figures.live_blocks, site.figures.live_bytes);
            let (blocks, bytes) = left.entry(at).or_insert(live);
            let live_blocks = values.count.min(*blocks);
            if live_blocks == 0 {
                continue;
            }
            let live_bytes = if live_blocks == *blocks {
                *bytes
            } else {
                values.bytes.min(*bytes)
            };
            *blocks -= live_blocks;
            *bytes -= live_bytes;
            let certainty = if !owns(profile, values.type_id) {
                Certainty::OwnerUnknown
            } else if alive {
                Certainty::InstancesLive
            } else {
                Certainty::Leaked
            };
            leaks.push(Leak {
                arenas: vec![index],
                site: at,
                type_id: Some(values.type_id),
                field: fields.field_of(values.scope),
                live_bytes,
                live_blocks,
                certainty,
            });
        }
    }
    leaks
}

/// Returns `true` if all that a value of the type points to is its own.
fn owns(profile: &Profile, type_id: TypeId) -> bool {
    profile.named_type(Some(type_id)).is_some_and(|name| {
        let container = containers::of(inside_option(&name.full));
        container.is_some_and(ContainerType::owns_one_block)
    })
}
