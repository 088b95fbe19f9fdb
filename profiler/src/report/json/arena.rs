//! Rows by arena as JSON.
//!
//! All rows have all keys: `total_*` is the bytes that pieces ever used, `live_*` the part that
//! live instances still use, `freed_*` the rest, and `grows` and `copied_bytes` the growth inside
//! the arena. Figures that an arena does not know (`peak_*`, `shrinks`, `temporary_*`) are null,
//! never 0. No figure may be added to the totals of the process.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::profile::arenas::{ArenaFigures, Breakdown, Whose, imbalance, instances, unscoped};
use crate::profile::{Arena, ArenaMoment, ArenaValue, Profile};
use crate::table::By;
use crate::table::{ArenaDetail, Row};
use crate::table::{by_key, charged_frame};
use crate::units::Share;

/// Returns the figures that the keys of all rows leave out. Instances are live if they were made
/// and not dropped. `allocated_bytes` is the usable bytes of chunks, as bumpalo defines it; pieces
/// use `used_bytes` of them.
fn figures(arena: &ArenaValue) -> [(&'static str, u64); 17] {
    let with_metadata = arena.allocated_bytes_including_metadata;
    [
        ("made", arena.made),
        ("dropped", arena.dropped),
        ("live_instances", arena.made.saturating_sub(arena.dropped)),
        ("resets", arena.resets),
        ("allocated_bytes", arena.allocated_bytes),
        ("allocated_bytes_including_metadata", with_metadata),
        ("chunks", arena.chunks),
        ("most_allocated_bytes", arena.most_allocated_bytes),
        ("most_instance_bytes", arena.most_instance_bytes),
        ("most_occupied_bytes", arena.most_occupied_bytes),
        ("most_chunks", arena.most_chunks),
        ("total_chunks", arena.total_chunks),
        ("total_allocated_bytes", arena.total_allocated_bytes),
        ("total_used_bytes", arena.total_used_bytes),
        ("total_used_blocks", arena.total_used_blocks),
        ("grows_in_place", arena.grows_in_place),
        ("limit_reached", arena.limit_reached),
    ]
}

/// The row of an arena; `whole` is what all of them count for by the measure.
pub(super) struct ArenaJson<'a> {
    pub(super) profile: &'a Profile,
    pub(super) row: &'a Row,
    pub(super) detail: &'a ArenaDetail,
    pub(super) arena: &'a Arena,
    pub(super) whole: u64,
}

impl Serialize for ArenaJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (profile, detail, arena) = (self.profile, self.detail, self.arena);
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("key", &self.row.key)?;
        json.serialize_entry("crate", &arena.krate)?;
        // Of all arenas together, by the measure, 0 to 1; null when arenas have no such figure.
        let share = |measured: u64| Share::of(measured, self.whole).fraction();
        json.serialize_entry("share", &detail.measured.map(share))?;
        for (key, figure) in by_key(&self.row.figures, By::Arena) {
            json.serialize_entry(key, &figure)?;
        }
        for (key, figure) in figures(&arena.figures) {
            json.serialize_entry(key, &figure)?;
        }
        // The parts of live instances; null when none is live.
        let live = Breakdown::of(arena, Whose::Live);
        for (key, figure) in [
            ("used_bytes", live.map(|live| live.used_bytes)),
            ("padding_bytes", live.map(|live| live.padding_bytes)),
            ("abandoned_bytes", live.map(|live| live.abandoned_bytes)),
            ("bypassed_bytes", live.map(|live| live.bypassed_bytes)),
            ("unused_tail_bytes", live.map(|live| live.unused_tail_bytes)),
        ] {
            json.serialize_entry(key, &figure)?;
        }
        // The parts of the largest instance at its fullest, and of dropped ones when they were
        // dropped; null when there are none.
        json.serialize_entry("largest", &Breakdown::of(arena, Whose::Largest))?;
        json.serialize_entry("at_drop", &Breakdown::of(arena, Whose::Dropped))?;
        // The sizes of single instances; null when the recording has no history of them.
        json.serialize_entry("instances", &instances(arena))?;
        // Whether the five parts come to `allocated_bytes`, as they must.
        json.serialize_entry("parts_add_up", &imbalance(arena).is_none())?;
        json.serialize_entry("advice", &detail.advice)?;
        json.serialize_entry("types", &detail.types)?;
        json.serialize_entry("fields", &fields(detail))?;
        // What neither types nor fields tell, for want of room in the recording.
        json.serialize_entry("unscoped", &unscoped(arena))?;
        json.serialize_entry("leaks", &detail.leaks)?;
        // Values put in through the handle whose drop never runs.
        json.serialize_entry("undropped", &undropped(profile, arena))?;
        json.serialize_entry("history", &history(profile, arena))?;
        json.end()
    }
}

#[derive(Serialize)]
struct FieldJson<'a> {
    path: &'a str,
    /// Full name of the type of its values.
    full_name: Option<&'a str>,
    #[serde(flatten)]
    inside: ArenaFigures,
}

fn fields(detail: &ArenaDetail) -> Vec<FieldJson<'_>> {
    let fields = detail.fields.iter().map(|part| FieldJson {
        path: &part.key,
        full_name: part.full_name.as_deref(),
        inside: part.inside,
    });
    fields.collect()
}

#[derive(Serialize)]
struct UndroppedJson<'a> {
    #[serde(rename = "type")]
    type_key: &'a str,
    full_name: Option<&'a str>,
    /// Number of values put in.
    values: u64,
    /// Their own bytes, in the arena.
    bytes: u64,
}

fn undropped<'a>(profile: &'a Profile, arena: &'a Arena) -> Vec<UndroppedJson<'a>> {
    let values = arena.values.iter().filter(|values| values.site.is_none());
    let json = values.map(|values| UndroppedJson {
        type_key: &values.type_name,
        full_name: super::full_name(profile, Some(values.type_id)),
        values: values.count,
        bytes: values.bytes,
    });
    json.collect()
}

#[derive(Serialize)]
struct MomentJson<'a> {
    #[serde(flatten)]
    moment: &'a ArenaMoment,
    /// The site that allocated the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
}

fn history<'a>(profile: &Profile, arena: &'a Arena) -> Vec<MomentJson<'a>> {
    let history = arena.history.iter().map(|moment| {
        let site = moment.site.filter(|&site| site < profile.sites().len());
        let site = site.map(|site| charged_frame(profile, site));
        MomentJson { moment, site }
    });
    history.collect()
}
