//! Rows as JSON, made one by one as they are written.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::arena;
use super::place::{PlaceJson, origin};
use super::stacks::Stacks;
use crate::profile::arenas::measured;
use crate::profile::{Distribution, Figures, FrameId, Measure, Profile, ScopeId};
use crate::report::{
    Amplification, Detail, FieldDetail, Part, PhaseDetail, Row, SiteDetail, TypeDetail,
};

pub(super) struct Rows<'a> {
    pub(super) profile: &'a Profile,
    pub(super) rows: &'a [Row],
    pub(super) stacks: &'a Stacks<'a>,
    pub(super) measure: Measure,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.rows.len()))?;
        let whole = self.measure.of(&self.profile.totals);
        for (number, row) in self.rows.iter().enumerate() {
            if let Detail::Arena(detail) = &row.detail {
                let arenas = self.profile.arenas.iter();
                let whole = arenas
                    .filter_map(|arena| measured(arena, self.measure))
                    .fold(0, u64::saturating_add);
                if let Some(row) = arena::row(self.profile, row, detail, whole) {
                    sequence.serialize_element(&row)?;
                }
                continue;
            }
            let share = crate::units::Share::of(self.measure.of(&row.figures), whole).fraction();
            sequence.serialize_element(&RowJson {
                key: &row.key,
                share,
                figures: row.figures,
                detail: detail(self.profile, row, self.stacks.of_row(number)),
            })?;
        }
        sequence.end()
    }
}

#[derive(Serialize)]
struct RowJson<'a> {
    key: &'a str,
    /// Of the measure's total, 0 to 1.
    share: f64,
    #[serde(flatten)]
    figures: Figures,
    #[serde(flatten)]
    detail: DetailJson<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum DetailJson<'a> {
    Site {
        what: &'a str,
        #[serde(rename = "where")]
        location: &'a str,
        owner: &'a str,
        source: Option<&'a str>,
        #[serde(flatten)]
        place: PlaceJson<'a>,
        phase: Option<String>,
        field: Option<&'a str>,
        #[serde(rename = "type")]
        type_key: Option<&'a str>,
        /// Names of the arenas whose chunks its blocks are.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        chunk_of: Vec<&'a str>,
        marks: Vec<&'static str>,
        /// Sites that look the same and were merged.
        sites: usize,
        /// Blocks allocated by size.
        sizes: Vec<SizeJson>,
        sized_blocks: u64,
        lifetime: Option<LifetimeJson>,
        /// Live bytes at each snapshot.
        snapshot_live_bytes: Vec<u64>,
        /// Of what stands for all, an index into the table.
        stack: Option<usize>,
        stacks: &'a [usize],
    },
    Owner {
        #[serde(flatten)]
        place: PlaceJson<'a>,
        sites: usize,
    },
    Function {
        full_name: &'a str,
        #[serde(rename = "crate")]
        krate: &'a str,
        origin: &'static str,
        inclusive: Figures,
        callers: Vec<FunctionPart<'a>>,
        callees: Vec<FunctionPart<'a>>,
    },
    Code {
        sites: u64,
    },
    Type {
        full_name: Option<&'a str>,
        values: u64,
        inline_bytes: u64,
        mean_block_bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        slack_bytes: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        slack_footprint: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        estimated: Option<EstimatedJson<'a>>,
        from: Option<&'static str>,
        fields: Vec<FieldPart<'a>>,
        owners: Vec<TypePart<'a>>,
    },
    Field {
        #[serde(rename = "type")]
        type_key: Option<&'a str>,
        full_name: Option<&'a str>,
        values: u64,
        inline_bytes: u64,
        with_inner: Figures,
        #[serde(skip_serializing_if = "Option::is_none")]
        retained_bytes: Option<i64>,
        recursive: bool,
        folded: bool,
        types: Vec<TypePart<'a>>,
    },
    Thread {
        threads: u64,
    },
    Arena {},
    Phase {
        entered: u64,
        input_bytes: u64,
        records: u64,
        with_inner: Figures,
        /// Null where no phase was entered, or the recording is too old to tell.
        retained_bytes: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        per_input_byte: Option<Amplification>,
        #[serde(skip_serializing_if = "Option::is_none")]
        per_record: Option<Amplification>,
    },
}

/// Blocks of `min_bytes` to `max_bytes`.
#[derive(Serialize)]
struct SizeJson {
    min_bytes: u64,
    max_bytes: u64,
    blocks: u64,
}

/// In allocations of the thread.
#[derive(Serialize)]
struct LifetimeJson {
    /// null when no block was freed by its own thread.
    mean: Option<f64>,
    blocks: u64,
    freed_elsewhere: u64,
    freed_elsewhere_share: f64,
    known_share: f64,
}

fn sizes(of: &Distribution) -> Vec<SizeJson> {
    let size = |(bytes, blocks): (RangeInclusive<u64>, u64)| SizeJson {
        min_bytes: *bytes.start(),
        max_bytes: *bytes.end(),
        blocks,
    };
    of.classes().map(size).collect()
}

fn lifetime(of: &Distribution, figures: &Figures) -> Option<LifetimeJson> {
    (of.known_blocks() > 0).then(|| LifetimeJson {
        mean: of.mean_lifetime(),
        blocks: of.lifetime_blocks,
        freed_elsewhere: of.freed_elsewhere,
        freed_elsewhere_share: of.freed_elsewhere_share().fraction(),
        known_share: of.known_share(figures).fraction(),
    })
}

/// What a type has in one field.
#[derive(Serialize)]
struct FieldPart<'a> {
    path: &'a str,
    total_bytes: u64,
    peak_bytes: u64,
    live_bytes: u64,
}

/// What a function has of another one's.
#[derive(Serialize)]
struct FunctionPart<'a> {
    function: &'a str,
    #[serde(flatten)]
    figures: Figures,
}

fn function_part(part: &Part) -> FunctionPart<'_> {
    FunctionPart {
        function: &part.key,
        figures: part.figures,
    }
}

/// What one type has in a row.
#[derive(Serialize)]
struct TypePart<'a> {
    key: &'a str,
    full_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    total_bytes: u64,
    total_blocks: u64,
    peak_bytes: u64,
    live_bytes: u64,
}

fn field_part(part: &Part) -> FieldPart<'_> {
    FieldPart {
        path: &part.key,
        total_bytes: part.figures.total_bytes,
        peak_bytes: part.figures.peak_bytes,
        live_bytes: part.figures.live_bytes,
    }
}

fn type_part(part: &Part) -> TypePart<'_> {
    TypePart {
        key: &part.key,
        full_name: part.full_name.as_deref(),
        from: part.from,
        total_bytes: part.figures.total_bytes,
        total_blocks: part.figures.total_blocks,
        peak_bytes: part.figures.peak_bytes,
        live_bytes: part.figures.live_bytes,
    }
}

/// What a row has besides its figures; rows of arenas are written apart.
fn detail<'a>(profile: &'a Profile, row: &'a Row, stacks: &'a [usize]) -> DetailJson<'a> {
    let place_of = |owner: Option<FrameId>| {
        let frame = owner.and_then(|owner| profile.frames.get(owner.0 as usize));
        PlaceJson::new(profile, frame, &row.key)
    };
    match &row.detail {
        Detail::Site(detail) => {
            let SiteDetail {
                label,
                owner,
                phase,
                field,
                type_key,
                chunk_of,
                marks,
                sites,
                ..
            } = &**detail;
            let marks = [
                (marks.cut, "cut"),
                (marks.foreign, "foreign stack"),
                (marks.deep, "deep"),
                (marks.folded, "folded"),
                (marks.synthetic, "synthetic"),
            ];
            let phases = profile.phases();
            let distribution = profile.distribution(sites);
            DetailJson::Site {
                what: &label.what,
                location: &label.location,
                owner: &label.owner,
                source: label.source.as_deref(),
                place: place_of(*owner),
                phase: (*phase != ScopeId(0)).then(|| phases.path(profile, *phase)),
                field: field.as_deref(),
                type_key: type_key.as_deref(),
                chunk_of: chunk_of
                    .iter()
                    .filter_map(|&arena| profile.arenas.get(arena))
                    .map(|arena| arena.name.as_str())
                    .collect(),
                marks: marks
                    .into_iter()
                    .filter_map(|(set, name)| set.then_some(name))
                    .collect(),
                sites: sites.len(),
                sizes: sizes(&distribution),
                sized_blocks: distribution.sized_blocks(),
                lifetime: lifetime(&distribution, &row.figures),
                snapshot_live_bytes: profile.live_bytes_at_snapshots(sites),
                stack: stacks.first().copied(),
                stacks,
            }
        }
        Detail::Owner { owner, sites } => DetailJson::Owner {
            place: place_of(*owner),
            sites: sites.len(),
        },
        Detail::Function(detail) => DetailJson::Function {
            full_name: &detail.full_name,
            krate: &detail.krate,
            origin: origin(detail.origin),
            inclusive: detail.inclusive,
            callers: detail.callers.iter().map(function_part).collect(),
            callees: detail.callees.iter().map(function_part).collect(),
        },
        Detail::Code { sites } => DetailJson::Code { sites: *sites },
        Detail::Type(detail) => type_row(detail),
        Detail::Field(detail) => field_row(detail),
        Detail::Thread { count } => DetailJson::Thread { threads: *count },
        Detail::Phase(detail) => phase_row(detail),
        Detail::Arena(_) => DetailJson::Arena {},
    }
}

/// A measured value of a type: heap bytes that were found, and those that deepsize estimates.
#[derive(Serialize)]
struct EstimatedJson<'a> {
    footprint: &'a str,
    bytes: u64,
    estimate_bytes: u64,
}

fn type_row(detail: &TypeDetail) -> DetailJson<'_> {
    DetailJson::Type {
        full_name: detail.full_name.as_deref(),
        values: detail.values,
        inline_bytes: detail.inline_bytes,
        mean_block_bytes: detail.mean_block_bytes,
        slack_bytes: detail.slack.as_ref().map(|(bytes, _)| *bytes),
        slack_footprint: detail.slack.as_ref().map(|(_, label)| label.as_str()),
        estimated: detail.estimated.as_ref().map(|estimated| EstimatedJson {
            footprint: &estimated.label,
            bytes: estimated.bytes,
            estimate_bytes: estimated.estimate.bytes,
        }),
        from: detail.from,
        fields: detail.fields.iter().map(field_part).collect(),
        owners: detail.owners.iter().map(type_part).collect(),
    }
}

fn field_row(detail: &FieldDetail) -> DetailJson<'_> {
    let names = detail.value_type.as_ref();
    DetailJson::Field {
        type_key: names.map(|(key, _)| key.as_str()),
        full_name: names.map(|(_, full)| full.as_str()),
        values: detail.values,
        inline_bytes: detail.inline_bytes,
        with_inner: detail.with_inner,
        retained_bytes: detail.retained_bytes,
        recursive: detail.recursive,
        folded: detail.folded,
        types: detail.types.iter().map(type_part).collect(),
    }
}

fn phase_row(detail: &PhaseDetail) -> DetailJson<'_> {
    DetailJson::Phase {
        entered: detail.entered,
        input_bytes: detail.input_bytes,
        records: detail.records,
        with_inner: detail.with_inner,
        retained_bytes: detail.retained_bytes,
        per_input_byte: detail.per_input_byte(),
        per_record: detail.per_record(),
    }
}
