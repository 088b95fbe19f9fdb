//! Arenas: the contents of the chunks that a global allocator sees as single blocks.

use crate::profile::{ScopeId, TypeId};
use serde::Serialize;

pub use tracking_alloc_recording::ArenaValue;

/// Arenas of one name, all instances together.
///
/// Of live instances, always: `allocated_bytes = used_bytes + padding_bytes + abandoned_bytes +
/// bypassed_bytes + unused_tail_bytes`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Arena {
    /// The name that the program gave it.
    pub name: String,
    /// The crate it comes from: `bumpalo`.
    pub krate: String,
    /// The figures of the recording. Its string numbers have no meaning here.
    pub figures: ArenaValue,
    /// The allocations by scope.
    pub rows: Vec<ArenaRow>,
    /// Its history, oldest first.
    pub history: Vec<ArenaMoment>,
    /// Values put into it through its handle whose drop never runs, and the blocks they pointed
    /// to.
    pub values: Vec<ArenaValues>,
}

/// Values of one type put into an arena by one scope, whose drop never runs; or the blocks of one
/// site that they pointed to when they were put in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaValues {
    /// The phase and field that put them in.
    pub scope: ScopeId,
    /// Their type.
    pub type_id: TypeId,
    /// Its short name.
    pub type_name: String,
    /// Index into [`Profile::sites`](crate::profile::Profile::sites) of the site of the blocks;
    /// `None` = this counts the values.
    pub site: Option<usize>,
    /// Values, or blocks.
    pub count: u64,
    /// Their own bytes.
    pub bytes: u64,
}

/// The allocations of an arena under one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaRow {
    /// The phase and field.
    pub scope: ScopeId,
    /// The allocations there.
    pub inside: ArenaFigures,
}

/// The allocations inside an arena. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArenaFigures {
    /// Bytes ever allocated; a growth counts with its new size.
    pub total_bytes: u64,
    /// Number of pieces allocated.
    pub total_blocks: u64,
    /// Bytes in use in live instances.
    pub live_bytes: u64,
    /// Pieces in use in live instances.
    pub live_blocks: u64,
    /// Bytes copied by growth that could not be in place.
    pub copied_bytes: u64,
    /// Bytes ever used without the handle, less those that came back.
    pub bypassed_bytes: u64,
    /// Growths.
    pub grows: u64,
}

impl ArenaFigures {
    /// Returns the bytes ever allocated, through the handle or without it.
    pub fn bytes(&self) -> u64 {
        self.total_bytes.saturating_add(self.bypassed_bytes)
    }

    /// Adds `other`, column by column. Saturates: a hostile recording may claim any figures.
    pub fn add(&mut self, other: &ArenaFigures) {
        self.total_bytes = self.total_bytes.saturating_add(other.total_bytes);
        self.total_blocks = self.total_blocks.saturating_add(other.total_blocks);
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
        self.live_blocks = self.live_blocks.saturating_add(other.live_blocks);
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
        self.bypassed_bytes = self.bypassed_bytes.saturating_add(other.bypassed_bytes);
        self.grows = self.grows.saturating_add(other.grows);
    }
}

/// A moment in the life of an arena. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArenaMoment {
    /// The kind of event.
    pub what: ArenaEvent,
    /// Number of the instance, from 1.
    pub instance: u64,
    /// Nanoseconds after the start.
    pub time_ns: u64,
    /// Usable bytes of the instance's chunks after it.
    pub allocated_bytes: u64,
    /// Bytes occupied before it: all but the unused tail.
    pub occupied_bytes: u64,
    /// Index into [`Profile::sites`](crate::profile::Profile::sites) of the site that allocated
    /// the chunk.
    #[serde(skip)]
    pub site: Option<usize>,
}

/// An event of an arena. The names are those of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ArenaEvent {
    /// The arena took a chunk.
    #[default]
    Chunk,
    /// The arena was reset.
    Reset,
    /// The arena was dropped.
    Drop,
}
