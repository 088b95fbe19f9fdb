//! Growth as JSON, for scripts: keys are never renamed or dropped within one [`FORMAT`].

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Found, Grown, Growth, GrowthRow, Moment};
use crate::report::escape;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Writes the growth as one JSON object. Rates are null if there is no time between the moments.
/// `allocated_bytes` is null if one of them is the peak. Blocks of a recording with samples are
/// null, with lower bounds in `from_blocks_low` and `to_blocks_low`.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_json(
    growth: &Growth<'_>,
    recording: Option<&str>,
    top: Option<usize>,
    out: impl Write,
) -> io::Result<()> {
    let json = GrowthJson {
        growth,
        recording,
        top,
    };
    escape::write_json(&json, out)
}

struct GrowthJson<'a> {
    growth: &'a Growth<'a>,
    recording: Option<&'a str>,
    /// Maximum number of rows.
    top: Option<usize>,
}

impl Serialize for GrowthJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let growth = self.growth;
        let shown = self.top.unwrap_or(usize::MAX).min(growth.rows.len());
        let rows: Vec<RowJson<'_>> = growth.rows[..shown]
            .iter()
            .map(|row| RowJson(growth, row))
            .collect();
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("format", &FORMAT)?;
        json.serialize_entry("recording", &self.recording)?;
        json.serialize_entry("program", &growth.profile.process().program)?;
        json.serialize_entry("mode", &growth.profile.capture().mode)?;
        json.serialize_entry("warnings", growth.profile.losses())?;
        json.serialize_entry("from", &FoundJson(growth, &growth.from))?;
        json.serialize_entry("to", &FoundJson(growth, &growth.to))?;
        json.serialize_entry("span_ns", &growth.span_ns())?;
        let allocated = growth.allocated_bytes();
        json.serialize_entry("allocated_bytes", &allocated)?;
        let allocated = allocated.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let rate = allocated.and_then(|bytes| growth.per_second(bytes));
        json.serialize_entry("allocated_bytes_per_second", &rate)?;
        serialize_grown(&mut json, growth, &growth.total)?;
        json.serialize_entry("by", growth.by.name())?;
        json.serialize_entry("equal_rows", &growth.equal_rows)?;
        json.serialize_entry("elided_rows", &(growth.rows.len() - shown))?;
        json.serialize_entry("rows", &rows)?;
        json.end()
    }
}

/// A moment, with the text that asked for it and its distance.
struct FoundJson<'a>(&'a Growth<'a>, &'a Found);

impl Serialize for FoundJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FoundJson(growth, found) = *self;
        let profile = growth.profile;
        let mut json = serializer.serialize_map(None)?;
        match found.moment {
            Moment::Start => json.serialize_entry("kind", "start")?,
            Moment::Peak => json.serialize_entry("kind", "peak")?,
            Moment::End => json.serialize_entry("kind", "end")?,
            Moment::Checkpoint(number) => {
                let checkpoint = profile.checkpoints().get(number);
                let kind = checkpoint.map(|checkpoint| checkpoint.kind);
                json.serialize_entry("kind", &kind)?;
                let name = checkpoint.map(|checkpoint| &checkpoint.name);
                json.serialize_entry("name", &name.filter(|name| !name.is_empty()))?;
            }
        }
        json.serialize_entry("time_ns", &found.moment.time_ns(profile))?;
        json.serialize_entry("wanted", &found.wanted)?;
        json.serialize_entry("distance_ns", &found.distance_ns)?;
        json.end()
    }
}

struct RowJson<'a>(&'a Growth<'a>, &'a GrowthRow);

impl Serialize for RowJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RowJson(growth, row) = *self;
        let identity = &row.identity;
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("key", &identity.name)?;
        if let Some(full) = &identity.full_name {
            json.serialize_entry("full_name", full)?;
        }
        for (key, text) in [("where", &identity.location), ("owner", &identity.owner)] {
            if !text.is_empty() {
                json.serialize_entry(key, text)?;
            }
        }
        if let Some(source) = &identity.source {
            json.serialize_entry("source", source)?;
        }
        serialize_grown(&mut json, growth, &row.grown)?;
        json.end()
    }
}

fn serialize_grown<M: SerializeMap>(
    json: &mut M,
    growth: &Growth<'_>,
    grown: &Grown,
) -> Result<(), M::Error> {
    let (bytes, blocks) = grown.difference();
    let is_known = growth.knows_blocks();
    json.serialize_entry("from_bytes", &grown.from.0)?;
    json.serialize_entry("from_blocks", &is_known.then_some(grown.from.1))?;
    json.serialize_entry("to_bytes", &grown.to.0)?;
    json.serialize_entry("to_blocks", &is_known.then_some(grown.to.1))?;
    if !is_known {
        json.serialize_entry("from_blocks_low", &grown.from.1)?;
        json.serialize_entry("to_blocks_low", &grown.to.1)?;
    }
    let blocks = is_known.then_some(blocks);
    json.serialize_entry("difference_bytes", &bytes)?;
    json.serialize_entry("difference_blocks", &blocks)?;
    json.serialize_entry("bytes_per_second", &growth.per_second(bytes))?;
    let rate = blocks.and_then(|blocks| growth.per_second(blocks));
    json.serialize_entry("blocks_per_second", &rate)
}
