//! Rows by arena as JSON.
//!
//! The keys of all rows are there: `total_*` is what was allocated inside the arena, `live_*` what of it is in use in
//! live instances, `freed_*` the rest, `grows` and `copied_bytes` growth inside it. What an arena does not tell
//! (`peak_*`, `shrinks`, `temporary_*`) is null, never 0. None of it may be added to the process's totals.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::profile::arenas::{ArenaFigures, imbalance, unscoped};
use crate::profile::{Arena, ArenaMoment, ArenaValue, Profile};
use crate::report::{ArenaDetail, Row};
use crate::table::{by_key, charged_frame};
use crate::units::Share;

/// What the keys of all rows leave out. Instances are live that were made and not dropped; `allocated_bytes` is
/// `chunk_bytes` as bumpalo calls it: usable bytes of chunks, not the bytes allocated inside them.
fn figures(arena: &ArenaValue) -> [(&'static str, u64); 24] {
    let with_metadata = arena.chunk_bytes_with_metadata;
    [
        ("made", arena.made),
        ("dropped", arena.dropped),
        ("live_instances", arena.made.saturating_sub(arena.dropped)),
        ("resets", arena.resets),
        ("chunk_bytes", arena.chunk_bytes),
        ("allocated_bytes", arena.chunk_bytes),
        ("chunk_bytes_with_metadata", with_metadata),
        ("allocated_bytes_including_metadata", with_metadata),
        ("chunks", arena.chunks),
        ("handed_bytes", arena.handed_bytes),
        ("padding_bytes", arena.padding_bytes),
        ("abandoned_bytes", arena.abandoned_bytes),
        ("past_bytes", arena.past_bytes),
        ("tail_bytes", arena.tail_bytes),
        ("most_chunk_bytes", arena.most_chunk_bytes),
        ("most_instance_bytes", arena.most_instance_bytes),
        ("most_used_bytes", arena.most_used_bytes),
        ("most_chunks", arena.most_chunks),
        ("total_chunks", arena.total_chunks),
        ("total_chunk_bytes", arena.total_chunk_bytes),
        ("total_handed_bytes", arena.total_handed_bytes),
        ("total_handed_blocks", arena.total_handed_blocks),
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
        for (key, figure) in by_key(self.row.figures, true) {
            json.serialize_entry(key, &figure)?;
        }
        for (key, figure) in figures(&arena.figures) {
            json.serialize_entry(key, &figure)?;
        }
        // Whether the five parts come to `chunk_bytes`, as they must.
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
    /// How many were put in.
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
        let site = moment.site.filter(|&site| site < profile.sites.len());
        let site = site.map(|site| charged_frame(profile, site));
        MomentJson { moment, site }
    });
    history.collect()
}
