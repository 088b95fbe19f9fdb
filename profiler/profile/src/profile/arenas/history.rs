//! The history of an arena: all its instances together, moment by moment.

use crate::profile::{Arena, ArenaEvent};
use std::collections::HashMap;

/// All live instances of an arena at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Point {
    /// Nanoseconds after the start.
    pub time_ns: u64,
    /// Usable bytes of their chunks.
    pub allocated_bytes: u64,
    /// Bytes of those that are occupied. Read when an instance takes a chunk, is reset or dropped:
    /// what an instance occupied since its last moment is not in it.
    pub occupied_bytes: u64,
}

/// The history of an arena as points, oldest first: two a moment, before it and after it.
pub fn points(arena: &Arena) -> Vec<Point> {
    let mut moments: Vec<_> = arena.history.iter().collect();
    // Instances on several threads write as they come.
    moments.sort_by_key(|moment| moment.time_ns);
    let mut instances: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut points = Vec::with_capacity(moments.len() * 2);
    let (mut chunks, mut used) = (0_u64, 0_u64);
    for moment in moments {
        let time_ns = moment.time_ns;
        let instance = instances.entry(moment.instance).or_default();
        let mut step = |instance: &mut (u64, u64), to: (u64, u64)| {
            chunks = chunks.saturating_sub(instance.0).saturating_add(to.0);
            used = used.saturating_sub(instance.1).saturating_add(to.1);
            *instance = to;
            points.push(Point {
                time_ns,
                allocated_bytes: chunks,
                occupied_bytes: used,
            });
        };
        let before = (instance.0, moment.occupied_bytes);
        step(instance, before);
        let still = match moment.what {
            ArenaEvent::Chunk => moment.occupied_bytes,
            ArenaEvent::Reset | ArenaEvent::Drop => 0,
        };
        let after = (moment.allocated_bytes, still);
        step(instance, after);
        if moment.what == ArenaEvent::Drop {
            instances.remove(&moment.instance);
        }
    }
    points
}

/// The allocated and occupied bytes of the instance that was reset or dropped last, just before
/// that: what there is to show when no instance is live. `None` when the history does not tell.
pub fn last_full(arena: &Arena) -> Option<Point> {
    let mut moments = arena.history.iter().rev();
    let end = moments.find(|moment| moment.what != ArenaEvent::Chunk)?;
    let before = moments.find(|moment| moment.instance == end.instance)?;
    Some(Point {
        time_ns: end.time_ns,
        allocated_bytes: before.allocated_bytes,
        occupied_bytes: end.occupied_bytes,
    })
}
