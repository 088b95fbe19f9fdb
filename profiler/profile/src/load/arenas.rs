//! Arenas of a recording, with their rows and their history.

use super::counters::CountedSites;
use crate::profile::{
    Arena, ArenaEvent, ArenaFigures, ArenaMoment, ArenaRow, ArenaValues, ScopeId, TypeName,
};
use crate::types::Types;
use tracking_alloc_recording::{Recording, arena_event};

/// All arenas, by name. `sites` says where a site of the recording stands in the profile.
pub(super) fn arenas(recording: &Recording, sites: &CountedSites, types: &mut Types) -> Vec<Arena> {
    let mut arenas: Vec<Arena> = recording
        .arenas
        .iter()
        .map(|arena| Arena {
            name: recording.string(arena.name).unwrap_or_default(),
            krate: recording.string(arena.krate).unwrap_or_default(),
            figures: *arena,
            ..Arena::default()
        })
        .collect();
    for row in &recording.arena_rows {
        let Some(arena) = arenas.get_mut(row.arena as usize) else {
            continue;
        };
        arena.rows.push(ArenaRow {
            scope: ScopeId(row.scope),
            inside: ArenaFigures {
                total_bytes: row.total_bytes,
                total_blocks: row.total_blocks,
                // Read while it is written a row may be below zero for a moment.
                live_bytes: row.live_bytes.max(0) as u64,
                live_blocks: row.live_blocks.max(0) as u64,
                copied_bytes: row.copied_bytes,
                // A net of what bypassed the handle and came back there, which may have been in
                // another scope.
                bypassed_bytes: (row.bypassed_bytes as i64).max(0) as u64,
                grows: row.grows,
            },
        });
    }
    for chunk in &recording.arena_chunks {
        let Some(arena) = arenas.get_mut(chunk.arena as usize) else {
            continue;
        };
        let what = match chunk.what {
            arena_event::CHUNK => ArenaEvent::Chunk,
            arena_event::RESET => ArenaEvent::Reset,
            arena_event::DROP => ArenaEvent::Drop,
            // Not written yet.
            _ => continue,
        };
        arena.history.push(ArenaMoment {
            what,
            instance: chunk.instance,
            time_ns: chunk.time_ns,
            allocated_bytes: chunk.allocated_bytes,
            occupied_bytes: chunk.occupied_bytes,
            site: sites.position(chunk.site).filter(|_| chunk.site != 0),
        });
    }
    for values in &recording.arena_values {
        let site = sites.position(values.site).filter(|_| values.site != 0);
        if site.is_none() && values.site != 0 {
            // Blocks of a site that nothing was counted for are not values.
            continue;
        }
        let (Some(arena), Some(name)) = (
            arenas.get_mut(values.arena as usize),
            recording.string(values.type_name),
        ) else {
            continue;
        };
        arena.values.push(ArenaValues {
            scope: ScopeId(values.scope),
            type_id: types.number(&name),
            type_name: TypeName::new(&name).short,
            site,
            count: values.count,
            bytes: values.bytes,
        });
    }
    arenas
}
