//! Which sites of the process allocate chunks of arenas.

use crate::profile::{ArenaEvent, Profile};
use std::collections::HashMap;

/// The arenas (indexes into [`Profile::arenas`]) that each site (index into [`Profile::sites`]) allocates chunks for.
pub fn chunk_sites(profile: &Profile) -> HashMap<usize, Vec<usize>> {
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

/// `chunk of arena cities`, for a site of [`chunk_sites`]. As recorded: not safe for a terminal before
/// [`crate::units::printable`].
pub fn chunk_label(profile: &Profile, arenas: &[usize]) -> String {
    let names: Vec<String> = arenas
        .iter()
        .filter_map(|&arena| profile.arenas.get(arena))
        .map(|arena| arena.name.clone())
        .collect();
    let noun = if names.len() == 1 { "arena" } else { "arenas" };
    format!("chunk of {noun} {}", super::joined(&names))
}
