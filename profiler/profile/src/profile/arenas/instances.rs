//! The instances of an arena: the size that each of them reached.
//!
//! The recording keeps a bounded history for each arena. If that of an arena is full,
//! sizes are those of the instances in it.

use crate::profile::{Arena, ArenaEvent};
use serde::Serialize;
use std::collections::BTreeMap;

/// An instance of an arena. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArenaInstance {
    /// Its number, from 1.
    pub instance: u64,
    /// Largest usable bytes of its chunks.
    pub allocated_bytes: u64,
    /// Most bytes occupied, as far as it was reset or dropped; `None` if it is not known.
    pub occupied_bytes: Option<u64>,
    /// Chunks that it took.
    pub chunks: u64,
    /// Nanoseconds from the start to its first event: the first chunk, a reset, or its end.
    pub first_ns: u64,
    /// Nanoseconds from the start to its end; `None` if it was not dropped.
    pub dropped_ns: Option<u64>,
    /// `true` if it was dropped.
    pub dropped: bool,
}

/// The sizes of the instances of an arena: the largest usable bytes of the chunks of each. The
/// names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArenaInstances {
    /// Number of instances in the history: those that took a chunk, were reset or were dropped.
    pub known: u64,
    /// The smallest.
    pub min_allocated_bytes: u64,
    /// The median: always that of an instance. For an even number, it is the lower of the two in
    /// the middle.
    pub median_allocated_bytes: u64,
    /// The largest.
    pub most_allocated_bytes: u64,
    /// The first instances, by their numbers.
    pub first: Vec<ArenaInstance>,
}

/// Maximum number of instances that are listed.
const FIRST: usize = 8;

/// Returns the instances of an arena that are in its history, by their numbers.
pub fn each_instance(arena: &Arena) -> Vec<ArenaInstance> {
    let mut by_number: BTreeMap<u64, ArenaInstance> = BTreeMap::new();
    for moment in &arena.history {
        let new = ArenaInstance {
            instance: moment.instance,
            first_ns: moment.time_ns,
            ..ArenaInstance::default()
        };
        let instance = by_number.entry(moment.instance).or_insert(new);
        instance.allocated_bytes = instance.allocated_bytes.max(moment.allocated_bytes);
        instance.first_ns = instance.first_ns.min(moment.time_ns);
        match moment.what {
            ArenaEvent::Chunk => instance.chunks += 1,
            ArenaEvent::Reset | ArenaEvent::Drop => {
                let known = instance.occupied_bytes.unwrap_or(0);
                instance.occupied_bytes = Some(known.max(moment.occupied_bytes));
            }
        }
        if moment.what == ArenaEvent::Drop {
            instance.dropped = true;
            instance.dropped_ns = Some(moment.time_ns);
        }
    }
    by_number.into_values().collect()
}

/// Returns the sizes of the instances of an arena; `None` if the history knows none.
pub fn instances(arena: &Arena) -> Option<ArenaInstances> {
    let all = each_instance(arena);
    let mut sizes: Vec<u64> = all
        .iter()
        .map(|instance| instance.allocated_bytes)
        .collect();
    sizes.sort_unstable();
    let last = sizes.len().checked_sub(1)?;
    Some(ArenaInstances {
        known: sizes.len() as u64,
        min_allocated_bytes: sizes[0],
        median_allocated_bytes: sizes[last / 2],
        most_allocated_bytes: sizes[last],
        first: all.into_iter().take(FIRST).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ArenaMoment;

    #[test]
    fn the_size_of_an_instance_is_the_largest_that_it_reached() {
        assert_eq!(instances(&Arena::default()), None);
        let moment = |what, instance, allocated_bytes| ArenaMoment {
            what,
            instance,
            allocated_bytes,
            ..ArenaMoment::default()
        };
        let arena = Arena {
            history: vec![
                moment(ArenaEvent::Chunk, 1, 100),
                moment(ArenaEvent::Chunk, 3, 50),
                moment(ArenaEvent::Chunk, 1, 300),
                moment(ArenaEvent::Chunk, 2, 10),
                moment(ArenaEvent::Reset, 1, 200),
                moment(ArenaEvent::Drop, 1, 0),
                moment(ArenaEvent::Chunk, 4, 70),
            ],
            ..Arena::default()
        };
        let found = instances(&arena).expect("instances");
        let sizes = [
            found.min_allocated_bytes,
            found.median_allocated_bytes,
            found.most_allocated_bytes,
        ];
        assert_eq!((found.known, sizes), (4, [10, 50, 300]));
        let first: Vec<_> = found
            .first
            .iter()
            .map(|of| (of.instance, of.allocated_bytes, of.dropped))
            .collect();
        let expected = [
            (1, 300, true),
            (2, 10, false),
            (3, 50, false),
            (4, 70, false),
        ];
        assert_eq!(first, expected);
    }
}
