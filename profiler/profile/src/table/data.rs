//! Rows by type and by field.
//!
//! Both are functions of the same [fields](crate::profile::fields::Fields) and the same table of
//! types, so they cannot disagree. The names of details are the keys in JSON.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{By, Detail, HeldFigures, Row, by_key};
use crate::profile::fields::Field;
use crate::profile::{
    ArenaFigures, Estimated, Figures, Label, Measure, Measured, Profile, Source, TypeId, TypeRow,
    sums,
};
use crate::units::{Bytes, counted, joined, printable, signed_bytes};

/// A part of a row, by type or by field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The key of the row of that type or field.
    pub key: String,
    /// The full name of a type.
    pub full_name: Option<String>,
    /// The source of a type: `stack`, `field`, `mixed`.
    pub from: Option<&'static str>,
    /// The figures.
    pub figures: Figures,
}

impl Part {
    pub(super) fn new(key: String, figures: Figures) -> Part {
        Part {
            key,
            full_name: None,
            from: None,
            figures,
        }
    }
}

/// A type.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct TypeDetail {
    /// The name with module paths; `None` = the row of blocks whose type is unknown.
    pub full_name: Option<String>,
    /// A note where the name does not explain the type: a buffer of serde.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// Values seen by `Profiled`; 0 where none was.
    pub values: u64,
    /// Their own size, bytes.
    pub inline_bytes: u64,
    /// [`Measure::mean_block_bytes`] of the measure by which rows are ordered.
    pub mean_block_bytes: Option<u64>,
    /// [`Profile::dominant_block`] of its blocks.
    #[serde(skip)]
    pub dominant_block: Option<RangeInclusive<u64>>,
    /// Bytes of its blocks that no value was in.
    #[serde(flatten)]
    pub slack: Option<Slack>,
    /// The figures of its blocks in the snapshot that is shown, if there is one.
    #[serde(skip)]
    pub held: Option<HeldFigures>,
    /// The newest of its values that was measured and estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// The source of the type: `stack`, `field`, `mixed`.
    pub from: Option<&'static str>,
    /// The fields its blocks were allocated in, largest total first.
    #[serde(serialize_with = "fields")]
    pub fields: Vec<Part>,
    /// The types being built when its blocks were allocated, as far as stacks tell, largest total
    /// first.
    #[serde(serialize_with = "types")]
    pub owners: Vec<Part>,
}

/// The slack that a footprint found in the values of a type. The order is that of
/// [`slack_by_type`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Slack {
    /// Bytes of their blocks, including bytes without a value.
    #[serde(skip)]
    pub of_bytes: u64,
    /// Bytes that no value was in.
    #[serde(rename = "slack_bytes")]
    pub bytes: u64,
    /// The label of the footprint.
    #[serde(rename = "slack_footprint")]
    pub footprint: String,
    /// Blocks.
    #[serde(skip)]
    pub of_blocks: u64,
}

/// A field.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FieldDetail {
    /// Index into [`Fields::nodes`](crate::profile::fields::Fields::nodes).
    #[serde(skip)]
    pub node: u32,
    /// The type of its values, as its row is called.
    #[serde(rename = "type")]
    pub type_key: Option<String>,
    /// The full name of that type.
    pub full_name: Option<String>,
    /// Number of values.
    pub values: u64,
    /// Their own size, bytes.
    pub inline_bytes: u64,
    /// The field and the places inside it.
    pub with_inner: Figures,
    /// The bytes and pieces that were allocated inside arenas for the field alone; `None` if no
    /// arena was recorded. The blocks that hold them are chunks, which have rows of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_arenas: Option<ArenaFigures>,
    /// The same with the places inside the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_arenas_with_inner: Option<ArenaFigures>,
    /// The names of the arenas whose chunks the blocks of this row are, if they are chunks; empty
    /// for arenas without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunks_of: Option<Vec<String>>,
    /// The names of the arenas whose chunks are among the blocks of the field, because no stack
    /// tells them apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mixed_with_chunks_of: Vec<String>,
    /// Values that were visited in place (`deserialize_in_place`), and the blocks and bytes that
    /// were allocated for them here.
    #[serde(flatten)]
    pub in_place: Option<InPlace>,
    /// Roots: net bytes that stayed of each value when deserializing ended, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stayed_bytes: Option<i64>,
    /// `true` if the type contains itself: inner values are counted here.
    pub recursive: bool,
    /// `true` if places inside were counted here, because they did not fit or lie too deep.
    pub folded: bool,
    /// The types of its own blocks, largest total first.
    #[serde(serialize_with = "types")]
    pub types: Vec<Part>,
}

impl FieldDetail {
    /// Returns the bytes that stayed when the value was built; of several values, the mean. `None`
    /// if they are not known.
    pub fn stayed_text(&self) -> Option<String> {
        let bytes = signed_bytes(self.stayed_bytes?);
        Some(if self.values > 1 {
            format!("{bytes} stayed of each value when it was built, on average")
        } else {
            format!("{bytes} stayed when it was built")
        })
    }

    /// Says that chunks of arenas are among the blocks of the field; `None` if they are not. Free
    /// of control characters.
    pub fn mixed_text(&self) -> Option<String> {
        let arenas: Vec<String> = self
            .mixed_with_chunks_of
            .iter()
            .map(|name| printable(name).into_owned())
            .collect();
        let noun = if arenas.len() == 1 { "arena" } else { "arenas" };
        (!arenas.is_empty()).then(|| {
            format!(
                "includes chunks of {noun} {}, which hold other fields too: without stacks they are not told apart",
                joined(&arenas)
            )
        })
    }
}

/// The allocations for values of a field that were visited in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InPlace {
    /// Values that were visited in place.
    #[serde(rename = "in_place_values")]
    pub values: u64,
    /// Blocks allocated, reallocations included, without the places inside.
    #[serde(rename = "in_place_blocks")]
    pub blocks: u64,
    /// Their bytes.
    #[serde(rename = "in_place_bytes")]
    pub bytes: u64,
}

impl InPlace {
    /// Returns the allocations of a field; `None` if none of its values was visited in place.
    pub fn of(field: &Field) -> Option<InPlace> {
        (field.in_place_values > 0).then_some(InPlace {
            values: field.in_place_values,
            blocks: field.in_place.total_blocks,
            bytes: field.in_place.total_bytes,
        })
    }

    /// Spells them: `200 values visited in place; 12 blocks of 3.4 KiB allocated for them`. `None`
    /// if nothing was allocated.
    pub fn text(&self) -> Option<String> {
        (self.blocks > 0).then(|| {
            format!(
                "{} visited in place; {} of {} allocated for them",
                counted(self.values, "value"),
                counted(self.blocks, "block"),
                Bytes(self.bytes)
            )
        })
    }
}

/// A part in JSON: under which key its name stands, and which of its figures are there.
struct PartJson<'a> {
    part: &'a Part,
    name: &'static str,
    /// All figures when empty.
    measures: &'static [Measure],
}

impl Serialize for PartJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.part;
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry(self.name, &part.key)?;
        if self.name == "key" {
            json.serialize_entry("full_name", &part.full_name)?;
        }
        if part.from.is_some() {
            json.serialize_entry("from", &part.from)?;
        }
        for measure in self.measures {
            json.serialize_entry(measure.key(), &measure.of(&part.figures))?;
        }
        if self.measures.is_empty() {
            by_key(&part.figures, By::Site)
                .try_for_each(|(key, figure)| json.serialize_entry(key, &figure))?;
        }
        json.end()
    }
}

/// Writes parts, their names under a key, with some of their figures; with all of them where none
/// are named.
fn list<S: Serializer>(
    parts: &[Part],
    name: &'static str,
    measures: &'static [Measure],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let json = |part| PartJson {
        part,
        name,
        measures,
    };
    serializer.collect_seq(parts.iter().map(json))
}

/// Parts by field.
fn fields<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
    use Measure::{Live, Peak, Total};
    list(parts, "path", &[Total, Peak, Live], serializer)
}

/// Parts by type.
fn types<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
    use Measure::{Blocks, Live, Peak, Total};
    list(parts, "key", &[Total, Blocks, Peak, Live], serializer)
}

/// Parts by function.
pub(super) fn functions<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
    list(parts, "function", &[], serializer)
}

pub(super) fn by_type(profile: &Profile, measure: Measure) -> Vec<Row> {
    let slack = slack_by_type(profile);
    let row = |row: &TypeRow| {
        let name = profile.named_type(row.type_id);
        let fields = row.fields.iter().map(|(field, figures)| {
            let name = Label::Path(*field).short_name(profile).into_owned();
            Part::new(name, figures.clone())
        });
        Row {
            key: profile.type_key(row.type_id).to_owned(),
            figures: row.figures.clone(),
            detail: Detail::Type(Box::new(TypeDetail {
                full_name: name.map(|name| name.full.clone()),
                note: profile.note_of_type(row.type_id),
                values: row.values,
                inline_bytes: row.inline_bytes,
                mean_block_bytes: measure.mean_block_bytes(&row.figures),
                dominant_block: profile.dominant_block(&row.sites, &row.figures, measure),
                slack: row.type_id.and_then(|id| slack.get(&id)).cloned(),
                held: None,
                estimated: row.type_id.and_then(|id| profile.estimated(id)),
                from: name.map(|_| from(profile, row)),
                fields: fields.collect(),
                owners: owners(profile, row),
            })),
        }
    };
    profile.type_rows().iter().map(row).collect()
}

fn from(profile: &Profile, row: &TypeRow) -> &'static str {
    if !profile.process.state.is_recorded() {
        "memory"
    } else if row.from_fields == row.figures {
        // A type without blocks is known from the values seen in fields.
        "field"
    } else if row.from_fields == Figures::default() {
        "stack"
    } else {
        "mixed"
    }
}

fn owners(profile: &Profile, row: &TypeRow) -> Vec<Part> {
    let owned = row.sites.iter().filter_map(|&site| {
        let site = profile.sites.get(site)?;
        Some((site.contents?.owner?, site.figures.clone()))
    });
    sums(owned)
        .into_iter()
        .map(|(owner, figures)| part(profile, Some(owner), None, figures))
        .collect()
}

fn part(
    profile: &Profile,
    id: Option<TypeId>,
    from: Option<&'static str>,
    figures: Figures,
) -> Part {
    let name = profile.named_type(id);
    Part {
        full_name: name.map(|name| name.full.clone()),
        from,
        ..Part::new(profile.type_key(id).to_owned(), figures)
    }
}

/// For each type, of the newest footprint of each label, the one with most bytes of it: two values
/// may share blocks, so several are never added up. Of equal ones the one with more slack, then the
/// last label, so that the answer is the same each time.
pub fn slack_by_type(profile: &Profile) -> HashMap<TypeId, Slack> {
    let exact = profile
        .measured()
        .iter()
        .filter(|one| !one.footprint.estimate);
    // Oldest first: the last one of a label stays.
    let newest: HashMap<&str, &Measured> = exact
        .map(|one| (one.footprint.label.as_str(), one))
        .collect();
    let mut most: HashMap<TypeId, Slack> = HashMap::new();
    for (label, measured) in newest {
        let mut by_type: HashMap<TypeId, Slack> = HashMap::new();
        for place in measured
            .places
            .iter()
            .filter(|place| place.node.figures.blocks > 0)
        {
            if let Some(id) = place.node.value_type {
                let found = by_type.entry(id).or_default();
                found.of_bytes = found
                    .of_bytes
                    .saturating_add(place.node.figures.block_bytes);
                found.bytes = found.bytes.saturating_add(place.node.slack_bytes());
                found.of_blocks = found.of_blocks.saturating_add(place.node.figures.blocks);
            }
        }
        for (id, mut found) in by_type {
            found.footprint = label.to_owned();
            let known = most.entry(id).or_default();
            *known = std::mem::take(known).max(found);
        }
    }
    most
}

pub(super) fn by_field(profile: &Profile) -> Vec<Row> {
    let has_arenas = !profile.arenas.is_empty();
    let names = |arenas: &[usize]| -> Vec<String> {
        let arenas = arenas.iter().filter_map(|&arena| profile.arenas.get(arena));
        arenas.map(|arena| arena.name.clone()).collect()
    };
    let row = |(number, field): (u32, &Field)| {
        let name = profile.named_type(field.value_type);
        Row {
            key: field.path.clone(),
            figures: field.own.clone(),
            detail: Detail::Field(Box::new(FieldDetail {
                node: number,
                type_key: name.map(|_| profile.type_key(field.value_type).to_owned()),
                full_name: name.map(|name| name.full.clone()),
                values: field.values,
                inline_bytes: field.inline_bytes,
                with_inner: field.with_inner.clone(),
                in_arenas: has_arenas.then_some(field.in_arenas),
                in_arenas_with_inner: has_arenas.then_some(field.in_arenas_with_inner),
                chunks_of: field.chunks_of.as_deref().map(names),
                mixed_with_chunks_of: names(&field.mixed_with_chunks_of),
                in_place: InPlace::of(field),
                stayed_bytes: field.stayed_of_each(),
                recursive: field.recursive,
                folded: field.folded,
                types: types_of(profile, field),
            })),
        }
    };
    (0..).zip(&profile.fields().nodes).map(row).collect()
}

/// Returns the types of a field's blocks.
fn types_of(profile: &Profile, field: &Field) -> Vec<Part> {
    let sites = || {
        let site = |&site: &usize| profile.sites.get(site);
        field.sites.iter().filter_map(site)
    };
    let mut sources: HashMap<Option<TypeId>, &'static str> = HashMap::new();
    for site in sites() {
        let Some((id, source)) = profile.type_of(site) else {
            continue;
        };
        let source = match source {
            Source::Stack => "stack",
            Source::Field => "field",
            Source::Memory => "memory",
        };
        let known = sources.entry(Some(id)).or_insert(source);
        if *known != source {
            *known = "mixed";
        }
    }
    let typed = sites().map(|site| (profile.type_id_of(site), site.figures.clone()));
    sums(typed)
        .into_iter()
        .map(|(id, figures)| part(profile, id, sources.get(&id).copied(), figures))
        .collect()
}
