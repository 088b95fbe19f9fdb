//! Rows as JSON, made one by one as they are written. Their details are defined in
//! [`crate::table`].

use std::ops::RangeInclusive;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::Entries;
use super::arena::ArenaJson;
use super::function::FunctionJson;
use super::stacks::Stacks;
use crate::profile::arenas::measured;
use crate::profile::{Distribution, Figures, FrameId, Measure, Profile, ScopeId, serialize_figure};
use crate::table::{
    Amplification, By, Detail, HeldFigures, PhaseDetail, Row, SiteDetail, SiteLabel, by_key,
    mark_names,
};
use crate::units::Share;

pub(super) struct Rows<'a> {
    pub(super) profile: &'a Profile,
    pub(super) rows: &'a [Row],
    pub(super) stacks: &'a Stacks<'a>,
    pub(super) by: By,
    pub(super) measure: Measure,
    pub(super) held: HeldJson<'a>,
}

/// The figures of rows in the snapshot that is shown.
#[derive(Clone, Copy, Default)]
pub(super) struct HeldJson<'a> {
    /// One for each row; empty = no snapshot is shown.
    pub(super) figures: &'a [HeldFigures],
    /// The figure that orders the rows, if a figure of the snapshot does.
    pub(super) measure: Option<Measure>,
    /// The whole of shares then.
    pub(super) whole: u64,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (profile, measure) = (self.profile, self.measure);
        let mut sequence = serializer.serialize_seq(Some(self.rows.len()))?;
        let whole = measure.of(profile.totals());
        let of_arenas = profile
            .arenas()
            .iter()
            .filter_map(|arena| measured(arena, measure));
        let whole_of_arenas = of_arenas.fold(0, u64::saturating_add);
        for (number, row) in self.rows.iter().enumerate() {
            if let Detail::Arena(detail) = &row.detail {
                if let Some(arena) = profile.arenas().get(detail.arena) {
                    sequence.serialize_element(&ArenaJson {
                        profile,
                        row,
                        detail,
                        arena,
                        whole: whole_of_arenas,
                    })?;
                }
                continue;
            }
            let held = self.held.figures.get(number);
            let share = match (held, self.held.measure) {
                (Some(held), Some(measure)) => {
                    (held.of(measure)).map(|value| Share::of(value, self.held.whole).fraction())
                }
                _ => measure.share(&row.figures, whole).map(Share::fraction),
            };
            sequence.serialize_element(&RowJson {
                key: &row.key,
                share,
                figures: FiguresJson(&row.figures, self.by),
                held,
                detail: detail(profile, row, self.stacks.of_row(number)),
            })?;
        }
        sequence.end()
    }
}

#[derive(Serialize)]
struct RowJson<'a> {
    key: &'a str,
    /// The share of the measure's total, 0 to 1; null if the figure is not known or a lower bound.
    share: Option<f64>,
    #[serde(flatten)]
    figures: FiguresJson<'a>,
    #[serde(flatten)]
    held: Option<&'a HeldFigures>,
    #[serde(flatten)]
    detail: DetailJson<'a>,
}

/// The figures that a row of this kind has.
struct FiguresJson<'a>(&'a Figures, By);

impl Serialize for FiguresJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FiguresJson(figures, by) = self;
        let mut json = serializer.serialize_map(None)?;
        for (key, figure) in by_key(figures, *by) {
            serialize_figure(&mut json, key, figure, figures.interval(key))?;
        }
        json.end()
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum DetailJson<'a> {
    Site(Box<SiteJson<'a>>),
    Owner {
        #[serde(flatten)]
        place: FunctionJson<'a>,
        sites: usize,
    },
    Phase {
        #[serde(flatten)]
        detail: &'a PhaseDetail,
        #[serde(skip_serializing_if = "Option::is_none")]
        per_input_byte: Option<Amplification>,
        #[serde(skip_serializing_if = "Option::is_none")]
        per_record: Option<Amplification>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_per_second: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        records_per_second: Option<f64>,
    },
    /// The detail of the table.
    Other(&'a Detail),
}

#[derive(Serialize)]
struct SiteJson<'a> {
    #[serde(flatten)]
    label: &'a SiteLabel,
    #[serde(flatten)]
    place: FunctionJson<'a>,
    phase: Option<String>,
    field: Option<&'a str>,
    #[serde(rename = "type")]
    type_key: Option<&'a str>,
    /// Names of the arenas whose chunks its blocks are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chunk_of: Vec<&'a str>,
    marks: Vec<&'static str>,
    /// Sites that read the same and were merged.
    sites: usize,
    /// Blocks allocated by size.
    sizes: Vec<Entries<3>>,
    sized_blocks: u64,
    lifetime: Option<LifetimeJson>,
    /// The mean in time, as an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime_about_ns: Option<u64>,
    /// No block lived longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime_at_most_ns: Option<u64>,
    /// Live bytes at each checkpoint.
    checkpoint_live_bytes: Vec<u64>,
    /// Index into the table of the stack that represents all.
    stack: Option<usize>,
    stacks: &'a [usize],
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

/// Blocks of `min_bytes` to `max_bytes`.
fn size((bytes, blocks): (RangeInclusive<u64>, u64)) -> Entries<3> {
    Entries([
        ("min_bytes", *bytes.start()),
        ("max_bytes", *bytes.end()),
        ("blocks", blocks),
    ])
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

/// Returns the details of a row; rows of arenas are written separately.
fn detail<'a>(profile: &'a Profile, row: &'a Row, stacks: &'a [usize]) -> DetailJson<'a> {
    match &row.detail {
        Detail::Site(detail) => DetailJson::Site(Box::new(site(profile, row, detail, stacks))),
        Detail::Owner { owner, sites } => DetailJson::Owner {
            place: place(profile, row, *owner),
            sites: sites.len(),
        },
        Detail::Phase(detail) => DetailJson::Phase {
            detail,
            per_input_byte: detail.per_input_byte(),
            per_record: detail.per_record(),
            bytes_per_second: detail.bytes_per_second(),
            records_per_second: detail.records_per_second(),
        },
        other => DetailJson::Other(other),
    }
}

fn place<'a>(profile: &'a Profile, row: &'a Row, owner: Option<FrameId>) -> FunctionJson<'a> {
    let frame = owner.and_then(|owner| profile.frames().get(owner.0 as usize));
    FunctionJson::new(profile, frame, &row.key)
}

fn site<'a>(
    profile: &'a Profile,
    row: &'a Row,
    detail: &'a SiteDetail,
    stacks: &'a [usize],
) -> SiteJson<'a> {
    let phase = detail.phase;
    let distribution = profile.distribution(&detail.sites);
    let in_time = profile.lifetime(&detail.sites, &row.figures, &distribution);
    let synthetic = detail.marks.synthetic.then_some("synthetic");
    let arenas = detail.chunk_of.iter();
    let arenas = arenas.filter_map(|&arena| profile.arenas().get(arena));
    SiteJson {
        label: &detail.label,
        place: place(profile, row, detail.owner),
        phase: (phase != ScopeId(0)).then(|| profile.phases().path(profile, phase)),
        field: detail.field.as_deref(),
        type_key: detail.type_key.as_deref(),
        chunk_of: arenas.map(|arena| arena.name.as_str()).collect(),
        marks: mark_names(detail.marks).chain(synthetic).collect(),
        sites: detail.sites.len(),
        sizes: distribution.classes().map(size).collect(),
        sized_blocks: distribution.sized_blocks(),
        lifetime: lifetime(&distribution, &row.figures),
        lifetime_about_ns: in_time.about_ns,
        lifetime_at_most_ns: in_time.at_most_ns,
        checkpoint_live_bytes: profile.live_bytes_at_checkpoints(&detail.sites),
        stack: stacks.first().copied(),
        stacks,
    }
}
