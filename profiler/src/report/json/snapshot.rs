//! Snapshots as JSON, and the holders of one.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::Entries;
use crate::profile::{Measure, Profile};
use crate::snapshot::Usable;
use crate::table::{HolderRow, HolderRowName, SnapshotAt, preorder};
use crate::units::Share;

/// A snapshot of the recording: its moment and size, and what was found.
pub(crate) struct SnapshotJson<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) at: SnapshotAt<'a>,
}

impl Serialize for SnapshotJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let snapshot = self.at.snapshot;
        let moment = snapshot.moment();
        let whole = snapshot.held().into_iter().next().unwrap_or_default();
        let peak = self.profile.totals().peak_bytes;
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("number", &self.at.number)?;
        json.serialize_entry("label", &moment.label)?;
        json.serialize_entry("time_ns", &moment.time_ns)?;
        // As the recorder counted them.
        json.serialize_entry("live_bytes", &moment.live_bytes)?;
        json.serialize_entry("live_blocks", &moment.live_blocks)?;
        json.serialize_entry(
            "share_of_peak",
            &Share::of(moment.live_bytes, peak).fraction(),
        )?;
        json.serialize_entry("pause_ns", &moment.pause_ns)?;
        json.serialize_entry("basis", snapshot.basis().name())?;
        // As the snapshot found them.
        json.serialize_entry("bytes", &snapshot.bytes())?;
        json.serialize_entry("blocks", &snapshot.blocks())?;
        let unused_bytes = Some(whole.unused_bytes).filter(|_| whole.known_bytes > 0);
        json.serialize_entry("unused_bytes", &unused_bytes)?;
        json.serialize_entry("known_bytes", &whole.known_bytes)?;
        json.serialize_entry("unknown_length_bytes", &snapshot.unknown_length_bytes())?;
        json.serialize_entry("retained_is_lower_bound", &self.at.is_cut())?;
        if let Some(usable) = snapshot.usable() {
            json.serialize_entry("usable", &UsableJson(usable))?;
        }
        if !snapshot.futures().is_empty() {
            json.serialize_entry("futures", snapshot.futures())?;
        }
        json.serialize_entry("notes", snapshot.notes())?;
        json.end()
    }
}

/// Requested and usable bytes of live blocks, by size class.
struct UsableJson<'a>(&'a Usable);

impl Serialize for UsableJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let usable = self.0;
        let classes = usable.classes.iter().map(|class| {
            Entries([
                ("block_bytes", class.block_bytes),
                ("blocks", class.blocks),
                ("requested_bytes", class.requested_bytes),
                ("usable_bytes", class.usable_bytes()),
            ])
        });
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("allocator", &usable.allocator)?;
        json.serialize_entry("requested_bytes", &usable.requested_bytes())?;
        json.serialize_entry("usable_bytes", &usable.usable_bytes())?;
        // Of blocks above 64 KiB.
        json.serialize_entry("large_blocks", &usable.large_blocks)?;
        json.serialize_entry("large_bytes", &usable.large_bytes)?;
        json.serialize_entry("classes", &classes.collect::<Vec<_>>())?;
        json.end()
    }
}

/// Holders, each below the one that holds it, the largest first.
pub(super) struct HoldersJson<'a> {
    pub(super) holders: &'a [HolderRow],
    pub(super) measure: Measure,
    /// The whole of shares.
    pub(super) whole: u64,
    pub(super) top: usize,
}

impl Serialize for HoldersJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parents: Vec<Option<usize>> = self.holders.iter().map(|row| row.parent).collect();
        let weights: Vec<u64> = self
            .holders
            .iter()
            .map(|row| row.held.of(self.measure).unwrap_or(0))
            .collect();
        let places = preorder(&parents, &weights, self.top);
        let mut position = vec![None; self.holders.len()];
        for (at, &(row, _)) in places.iter().enumerate() {
            position[row] = Some(at);
        }
        serializer.collect_seq(places.iter().map(|&(row, depth)| HolderJson {
            holders: self,
            row: &self.holders[row],
            depth,
            parent: self.holders[row].parent.and_then(|parent| position[parent]),
        }))
    }
}

/// One of several holders.
#[derive(Serialize)]
struct HeldByJson {
    key: String,
    pointers: u64,
}

struct HolderJson<'a> {
    holders: &'a HoldersJson<'a>,
    row: &'a HolderRow,
    depth: usize,
    /// Index into the rows.
    parent: Option<usize>,
}

impl Serialize for HolderJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (row, all) = (self.row, self.holders);
        let share = |value| Share::of(value, all.whole).fraction();
        let above = row.parent.map(|parent| &all.holders[parent].name);
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("key", &row.key(all.holders))?;
        json.serialize_entry("name", &row.name.below(above))?;
        json.serialize_entry("kind", row.name.kind())?;
        json.serialize_entry("depth", &self.depth)?;
        json.serialize_entry("parent", &self.parent)?;
        json.serialize_entry("share", &row.held.of(all.measure).map(share))?;
        for (key, figure) in row.held.by_key() {
            json.serialize_entry(key, &figure)?;
        }
        for (key, figure) in row.held.neighbours_by_key() {
            json.serialize_entry(key, &figure)?;
        }
        if row.held.unseen_bytes > 0 {
            json.serialize_entry("unseen_bytes", &row.held.unseen_bytes)?;
        }
        if !row.held_by.is_empty() {
            let by = row.held_by.iter();
            let by = by.filter_map(|&(by, pointers)| {
                let key = all.holders.get(by)?.key(all.holders);
                Some(HeldByJson { key, pointers })
            });
            json.serialize_entry("held_by", &by.collect::<Vec<_>>())?;
        }
        let own = &row.held.own;
        let own_unused_bytes = Some(own.unused_bytes).filter(|_| own.known_bytes > 0);
        json.serialize_entry("own_unused_bytes", &own_unused_bytes)?;
        json.serialize_entry("own_known_bytes", &own.known_bytes)?;
        match &row.name {
            HolderRowName::Place { path, type_key } => {
                json.serialize_entry("place", path)?;
                json.serialize_entry("type", type_key)?;
            }
            HolderRowName::Site(label) => {
                json.serialize_entry("what", &label.what)?;
                json.serialize_entry("where", &label.location)?;
                json.serialize_entry("owner", &label.owner)?;
                json.serialize_entry("source", &label.source)?;
            }
            _ => {}
        }
        json.serialize_entry("sites", &row.sites.len())?;
        json.end()
    }
}
