//! Rows by arena as JSON.
//!
//! The keys of all rows are there: `total_*` is what was handed out inside the arena, `live_*` what of it is in use in
//! live instances, `freed_*` the rest, `grows` and `copied_bytes` growth inside it. What an arena does not tell
//! (`peak_*`, `shrinks`, `temporary_*`) is null, never 0. None of it may be added to the process's totals.

use serde::Serialize;

use crate::profile::arenas::Handed;
use crate::profile::{Arena, ArenaEvent, ArenaMoment, ArenaValues, Figures, Profile};
use crate::report::{ArenaDetail, ArenaLeak, ArenaPart, Row};
use crate::table::place;
use crate::units::Share;

/// The figures that all rows have, of what is inside arenas.
#[derive(Serialize)]
pub(super) struct InsideJson {
    total_bytes: u64,
    total_blocks: u64,
    freed_bytes: u64,
    freed_blocks: u64,
    live_bytes: u64,
    live_blocks: u64,
    peak_bytes: Option<u64>,
    peak_blocks: Option<u64>,
    grows: u64,
    shrinks: Option<u64>,
    copied_bytes: u64,
    temporary_blocks: Option<u64>,
    temporary_bytes: Option<u64>,
}

impl InsideJson {
    pub(super) fn new(figures: &Figures) -> Self {
        InsideJson {
            total_bytes: figures.total_bytes,
            total_blocks: figures.total_blocks,
            freed_bytes: figures.freed_bytes,
            freed_blocks: figures.freed_blocks,
            live_bytes: figures.live_bytes,
            live_blocks: figures.live_blocks,
            peak_bytes: None,
            peak_blocks: None,
            grows: figures.grows,
            shrinks: None,
            copied_bytes: figures.copied_bytes,
            temporary_blocks: None,
            temporary_bytes: None,
        }
    }
}

#[derive(Serialize)]
pub(super) struct ArenaJson<'a> {
    key: &'a str,
    #[serde(rename = "crate")]
    krate: &'a str,
    /// Of all arenas together, by the measure, 0 to 1; null when arenas have no such figure.
    share: Option<f64>,
    #[serde(flatten)]
    figures: InsideJson,
    made: u64,
    dropped: u64,
    /// Instances made and not dropped.
    live_instances: u64,
    resets: u64,
    chunk_bytes: u64,
    /// `chunk_bytes` as bumpalo calls it: usable bytes of chunks, not bytes handed out.
    allocated_bytes: u64,
    chunk_bytes_with_metadata: u64,
    /// `chunk_bytes_with_metadata` as bumpalo calls it.
    allocated_bytes_including_metadata: u64,
    chunks: u64,
    handed_bytes: u64,
    padding_bytes: u64,
    abandoned_bytes: u64,
    past_bytes: u64,
    tail_bytes: u64,
    /// Whether the five parts above come to `chunk_bytes`, as they must.
    parts_add_up: bool,
    most_chunk_bytes: u64,
    most_instance_bytes: u64,
    most_used_bytes: u64,
    most_chunks: u64,
    total_chunks: u64,
    total_chunk_bytes: u64,
    total_handed_bytes: u64,
    total_handed_blocks: u64,
    grows_in_place: u64,
    limit_reached: u64,
    advice: Vec<AdviceJson<'a>>,
    types: Vec<TypeJson<'a>>,
    fields: Vec<FieldJson<'a>>,
    /// What neither types nor fields tell, for want of room in the recording.
    unscoped: HandedJson,
    leaks: Vec<LeakJson<'a>>,
    /// Values put in through the handle whose drop never runs.
    undropped: Vec<UndroppedJson<'a>>,
    history: Vec<MomentJson>,
}

#[derive(Serialize)]
struct AdviceJson<'a> {
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity_bytes: Option<u64>,
}

#[derive(Serialize)]
struct TypeJson<'a> {
    key: &'a str,
    full_name: Option<&'a str>,
    #[serde(flatten)]
    handed: HandedJson,
}

#[derive(Serialize)]
struct FieldJson<'a> {
    path: &'a str,
    /// Full name of the type of its values.
    full_name: Option<&'a str>,
    #[serde(flatten)]
    handed: HandedJson,
}

#[derive(Serialize)]
struct HandedJson {
    total_bytes: u64,
    total_blocks: u64,
    live_bytes: u64,
    live_blocks: u64,
    grows: u64,
    copied_bytes: u64,
    past_bytes: u64,
}

#[derive(Serialize)]
struct LeakJson<'a> {
    text: &'a str,
    /// `leaked` for certain, else why it cannot be known: `instances live`, `place unknown`, `owner unknown`, `chunks
    /// unknown`.
    certainty: &'static str,
    /// The site: the frame it is charged to.
    site: String,
    #[serde(rename = "type")]
    type_key: Option<&'a str>,
    full_name: Option<&'a str>,
    field: Option<&'a str>,
    live_bytes: u64,
    live_blocks: u64,
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

#[derive(Serialize)]
struct MomentJson {
    what: &'static str,
    instance: u64,
    time_ns: u64,
    chunk_bytes: u64,
    used_bytes: u64,
    /// The site that allocated the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
}

/// The row of an arena; `whole` is what all of them count for by the measure. `None` when the profile has no such arena.
pub(super) fn row<'a>(
    profile: &'a Profile,
    row: &'a Row,
    detail: &'a ArenaDetail,
    whole: u64,
) -> Option<ArenaJson<'a>> {
    let arena = profile.arenas.get(detail.arena)?;
    // Taken apart whole, so that a new figure cannot be forgotten here.
    let Arena {
        name: _,
        krate,
        made,
        dropped,
        resets,
        chunk_bytes,
        chunk_bytes_with_metadata,
        chunks,
        handed_bytes,
        padding_bytes,
        abandoned_bytes,
        past_bytes,
        tail_bytes,
        most_chunk_bytes,
        most_instance_bytes,
        most_used_bytes,
        most_chunks,
        total_chunks,
        total_chunk_bytes,
        total_handed_bytes,
        total_handed_blocks,
        grows: _,
        grows_in_place,
        copied_bytes: _,
        limit_reached,
        rows: _,
        history,
        values,
    } = arena;
    Some(ArenaJson {
        key: &row.key,
        krate,
        share: detail
            .measured
            .map(|measured| Share::of(measured, whole).fraction()),
        figures: InsideJson::new(&row.figures),
        made: *made,
        dropped: *dropped,
        live_instances: made.saturating_sub(*dropped),
        resets: *resets,
        chunk_bytes: *chunk_bytes,
        allocated_bytes: *chunk_bytes,
        chunk_bytes_with_metadata: *chunk_bytes_with_metadata,
        allocated_bytes_including_metadata: *chunk_bytes_with_metadata,
        chunks: *chunks,
        handed_bytes: *handed_bytes,
        padding_bytes: *padding_bytes,
        abandoned_bytes: *abandoned_bytes,
        past_bytes: *past_bytes,
        tail_bytes: *tail_bytes,
        parts_add_up: detail.imbalance.is_none(),
        most_chunk_bytes: *most_chunk_bytes,
        most_instance_bytes: *most_instance_bytes,
        most_used_bytes: *most_used_bytes,
        most_chunks: *most_chunks,
        total_chunks: *total_chunks,
        total_chunk_bytes: *total_chunk_bytes,
        total_handed_bytes: *total_handed_bytes,
        total_handed_blocks: *total_handed_blocks,
        grows_in_place: *grows_in_place,
        limit_reached: *limit_reached,
        advice: detail
            .advice
            .iter()
            .map(|advice| AdviceJson {
                kind: advice.kind.name(),
                text: &advice.text,
                capacity_bytes: advice.capacity_bytes,
            })
            .collect(),
        types: detail.types.iter().map(type_json).collect(),
        fields: detail.fields.iter().map(field_json).collect(),
        unscoped: handed(&detail.unscoped),
        leaks: detail
            .leaks
            .iter()
            .map(|leak| leak_json(profile, leak))
            .collect(),
        undropped: values
            .iter()
            .filter(|values| values.site.is_none())
            .map(|values| undropped_json(profile, values))
            .collect(),
        history: history
            .iter()
            .map(|moment| moment_json(profile, moment))
            .collect(),
    })
}

fn type_json(part: &ArenaPart) -> TypeJson<'_> {
    TypeJson {
        key: &part.key,
        full_name: part.full_name.as_deref(),
        handed: handed(&part.handed),
    }
}

fn field_json(part: &ArenaPart) -> FieldJson<'_> {
    FieldJson {
        path: &part.key,
        full_name: part.full_name.as_deref(),
        handed: handed(&part.handed),
    }
}

fn handed(handed: &Handed) -> HandedJson {
    let Handed {
        total_bytes,
        total_blocks,
        live_bytes,
        live_blocks,
        copied_bytes,
        past_bytes,
        grows,
    } = *handed;
    HandedJson {
        total_bytes,
        total_blocks,
        live_bytes,
        live_blocks,
        grows,
        copied_bytes,
        past_bytes,
    }
}

fn leak_json<'a>(profile: &Profile, leak: &'a ArenaLeak) -> LeakJson<'a> {
    LeakJson {
        text: &leak.text,
        certainty: leak.leak.certainty.name(),
        site: site(profile, leak.leak.site),
        type_key: leak.type_key.as_deref(),
        full_name: leak.full_name.as_deref(),
        field: leak.field.as_deref(),
        live_bytes: leak.leak.live_bytes,
        live_blocks: leak.leak.live_blocks,
    }
}

fn undropped_json<'a>(profile: &'a Profile, values: &'a ArenaValues) -> UndroppedJson<'a> {
    let name = profile.types.get(values.type_id.0 as usize);
    UndroppedJson {
        type_key: &values.type_name,
        full_name: name.map(|name| name.full.as_str()),
        values: values.count,
        bytes: values.bytes,
    }
}

fn moment_json(profile: &Profile, moment: &ArenaMoment) -> MomentJson {
    MomentJson {
        what: match moment.what {
            ArenaEvent::Chunk => "chunk",
            ArenaEvent::Reset => "reset",
            ArenaEvent::Drop => "drop",
        },
        instance: moment.instance,
        time_ns: moment.time_ns,
        chunk_bytes: moment.chunk_bytes,
        used_bytes: moment.used_bytes,
        site: moment
            .site
            .filter(|&site| site < profile.sites.len())
            .map(|at| site(profile, at)),
    }
}

/// `function (file:line)` of the frame a site is charged to.
fn site(profile: &Profile, site: usize) -> String {
    let site = profile.sites.get(site);
    let owner = site.and_then(|site| site.owner);
    owner.map_or_else(|| "(no stack)".to_owned(), |frame| place(profile, frame))
}
