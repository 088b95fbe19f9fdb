//! The figures of a snapshot: retained bytes and unused capacity, and the moment they are of.
//!
//! These figures are of the snapshot's own moment. They must never be added to the counters of the
//! recording, or be shown without that moment.

use std::cmp::Reverse;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::profile::{Measure, Profile};
use crate::snapshot::{Held, HolderName, Snapshot};
use crate::units::{Bytes, Count, Nanos, Share, counted, printable};

/// A snapshot of a recording, and its place among the others.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SnapshotAt<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// Its number in the recording, from 1.
    pub number: usize,
    /// Number of snapshots in the recording.
    pub count: usize,
}

/// Explains how a recording gets a snapshot.
const HOW_TO_TAKE: &str =
    "the recording has no snapshot; take one with `heapglass run --snapshot -- COMMAND`";

/// Returns a snapshot of a recording: the one with most live bytes, or the one that `at` names by
/// its label, its number from 1, or `last`. If several have one label, the largest is returned.
///
/// # Errors
/// Returns a sentence that says why there is none and what to do.
pub fn snapshot_at<'a>(profile: &'a Profile, at: Option<&str>) -> Result<SnapshotAt<'a>, String> {
    let all: Vec<SnapshotAt<'a>> = all_snapshots(profile).collect();
    let largest = |of: &dyn Fn(&&SnapshotAt<'a>) -> bool| {
        let live_bytes = |one: &&SnapshotAt<'a>| one.snapshot.moment().live_bytes;
        let some = all.iter().filter(of);
        some.max_by_key(|one| (live_bytes(one), Reverse(one.number)))
            .copied()
    };
    let Some(at) = at else {
        return largest(&|_| true).ok_or_else(|| HOW_TO_TAKE.to_owned());
    };
    let labelled = largest(&|one| one.snapshot.moment().label == at);
    let numbered = || {
        let number = at.parse::<usize>().ok()?;
        all.get(number.checked_sub(1)?).copied()
    };
    let last = || all.last().filter(|_| at == "last").copied();
    labelled.or_else(numbered).or_else(last).ok_or_else(|| {
        if all.is_empty() {
            return HOW_TO_TAKE.to_owned();
        }
        let mut names: Vec<String> = all.iter().take(10).map(|one| one.name()).collect();
        if all.len() > names.len() {
            names.push(format!("{} more", all.len() - names.len()));
        }
        let (at, names) = (printable(at), names.join(", "));
        format!("no snapshot {at}; the recording has {names}")
    })
}

/// Returns all snapshots of a recording, in the order in which they were taken.
pub fn all_snapshots(profile: &Profile) -> impl ExactSizeIterator<Item = SnapshotAt<'_>> {
    let count = profile.snapshots().len();
    let all = profile.snapshots().iter().enumerate();
    all.map(move |(index, snapshot)| SnapshotAt {
        snapshot,
        number: index + 1,
        count,
    })
}

impl SnapshotAt<'_> {
    /// Returns its number and label for people: `2 (peak)`.
    pub fn name(&self) -> String {
        match printable(&self.snapshot.moment().label) {
            label if label.is_empty() => self.number.to_string(),
            label => format!("{} ({label})", self.number),
        }
    }

    /// Returns its moment and size for people: `at 92.1 ms, 24.6 MiB live, 98.0 % of the peak`. Of a
    /// program that was not recorded, neither its start nor its peak is known.
    pub fn moment(&self, profile: &Profile) -> String {
        let moment = self.snapshot.moment();
        let (time, live) = (Nanos(moment.time_ns), Bytes(moment.live_bytes));
        if !profile.process.state.is_recorded() {
            return format!("{live} live");
        }
        let share = Share::of(moment.live_bytes, profile.totals.peak_bytes);
        format!("at {time}, {live} live, {share} of the peak")
    }

    /// Returns what was known of the blocks, for people.
    pub fn basis(&self) -> &'static str {
        self.snapshot.basis().text()
    }

    /// Returns the sentences that a reader must know before trusting the figures: what was found,
    /// lost or bounded.
    pub fn notes(&self) -> Vec<String> {
        let snapshot = self.snapshot;
        let mut notes = Vec::new();
        let moment = snapshot.moment();
        if snapshot.bytes() != moment.live_bytes || snapshot.blocks() != moment.live_blocks {
            notes.push(format!(
                "The snapshot found {} bytes in {}. The recorder counted {} bytes in {}.",
                Count(snapshot.bytes()),
                counted(snapshot.blocks(), "block"),
                Count(moment.live_bytes),
                counted(moment.live_blocks, "block"),
            ));
        }
        let all = snapshot.notes().iter();
        notes.extend(all.map(|note| printable(note).into_owned()));
        notes
    }

    /// Returns the whole of a measure: all bytes that were found are retained. It is 0 for measures
    /// of counters.
    pub fn whole(&self, measure: Measure) -> u64 {
        let held = self.snapshot.held();
        held.first().map_or(0, |whole| match measure {
            Measure::Retained => whole.bytes,
            Measure::Unused => whole.unused_bytes,
            _ => 0,
        })
    }

    /// Returns `true` if small holders were summed up, so that retained bytes of rows are lower
    /// bounds.
    pub fn is_cut(&self) -> bool {
        let mut holders = self.snapshot.holders().iter();
        holders.any(|holder| holder.name == HolderName::Others)
    }
}

/// The figures of a row in a snapshot. The names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldFigures {
    /// Bytes of the row's blocks, and of all blocks that would be freed with them.
    pub retained_bytes: u64,
    /// Bytes of blocks whose owner was not seen and to which the row's blocks, or those that they
    /// retain, point: the row may retain them too.
    pub unseen_bytes: u64,
    /// The row's own blocks.
    pub own: Held,
    /// The blocks whose unused capacity the row shows: of a row by site, its own; of a holder, all
    /// that it retains.
    pub filled: Held,
}

impl HeldFigures {
    /// Returns the figure of a measure; `None` where it is not known, and for measures of counters.
    pub fn of(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Retained => Some(self.retained_bytes),
            Measure::Unused => Some(self.filled.unused_bytes).filter(|_| {
                // Nothing is known of no blocks at all, too, but nothing is unused in them.
                self.filled.known_bytes > 0 || self.filled.bytes == 0
            }),
            _ => None,
        }
    }

    /// Returns `true` if the row may retain much more than [`retained_bytes`]: what it points to
    /// has no owner that was seen.
    ///
    /// [`retained_bytes`]: HeldFigures::retained_bytes
    pub fn retained_is_bound(&self) -> bool {
        // A few bytes more change no figure that is shown.
        self.unseen_bytes > self.retained_bytes / 100
    }

    /// Spells the retained bytes: `1.2 KiB`, `>=1.2 KiB` if the row may retain much more.
    pub fn retained_text(&self) -> String {
        let bound = if self.retained_is_bound() { ">=" } else { "" };
        format!("{bound}{}", Bytes(self.retained_bytes))
    }

    /// Spells the unused capacity: `1.2 KiB`, `>=1.2 KiB` if it is not known of all blocks. `None`
    /// if nothing is known of them.
    pub fn unused_text(&self) -> Option<String> {
        let unused = self.of(Measure::Unused)?;
        let is_bound = self.filled.known_bytes < self.filled.bytes;
        match (is_bound, Bytes(unused)) {
            // A bound that says nothing.
            (true, Bytes(0)) => None,
            (true, unused) => Some(format!(">={unused}")),
            (false, unused) => Some(unused.to_string()),
        }
    }

    /// Returns the figures under their keys in JSON.
    pub fn by_key(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("retained_bytes", Some(self.retained_bytes)),
            ("own_bytes", Some(self.own.bytes)),
            ("own_blocks", Some(self.own.blocks)),
            // Null where it is known of no block.
            ("unused_bytes", self.of(Measure::Unused)),
            ("known_bytes", Some(self.filled.known_bytes)),
        ]
    }
}

/// Spells the neighbours of a row: `neighbours (1,234): 12.0 % within a line, 88.0 % within a page,
/// 45.0 % backwards`. `None` if there are none.
pub fn neighbours_text(held: &HeldFigures) -> Option<String> {
    let found = &held.own.neighbours;
    let share = |part: u64| Share::of(part, found.pairs);
    (found.pairs > 0).then(|| {
        format!(
            "neighbours ({}): {} within a line, {} within a page, {} backwards",
            Count(found.pairs),
            share(found.line),
            share(found.page),
            share(found.backwards)
        )
    })
}

impl HeldFigures {
    /// Returns the neighbours under their keys in JSON; nothing if there are none.
    pub fn neighbours_by_key(&self) -> Vec<(&'static str, u64)> {
        let found = &self.own.neighbours;
        if found.pairs == 0 {
            return Vec::new();
        }
        vec![
            ("neighbour_pairs", found.pairs),
            ("neighbour_line_pairs", found.line),
            ("neighbour_page_pairs", found.page),
            ("neighbour_backward_pairs", found.backwards),
        ]
    }
}

impl Serialize for HeldFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        for (key, figure) in self.by_key() {
            json.serialize_entry(key, &figure)?;
        }
        for (key, figure) in self.neighbours_by_key() {
            json.serialize_entry(key, &figure)?;
        }
        if self.unseen_bytes > 0 {
            json.serialize_entry("unseen_bytes", &self.unseen_bytes)?;
        }
        json.end()
    }
}
