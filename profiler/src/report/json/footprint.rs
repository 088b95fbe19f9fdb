//! Footprints as JSON: exact ones with their places and the nearest estimate, and estimates marked
//! as such.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::full_name;
use crate::profile::{Measured, Place, Profile, TypeId};

/// A value that the program had measured. `exact` false = an estimate, without what only addresses
/// tell. `number` is which of its label and kind, from 1; `live_bytes` are of the whole process
/// then, `bytes` of heap blocks; `change_bytes` are more than in the one before it.
pub(super) struct FootprintJson<'a> {
    pub(super) profile: &'a Profile,
    pub(super) measured: &'a Measured,
}

impl Serialize for FootprintJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (profile, measured) = (self.profile, self.measured);
        let footprint = &measured.footprint;
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("label", &footprint.label)?;
        json.serialize_entry("type", &short_name(profile, footprint.value_type))?;
        json.serialize_entry("full_name", &full_name(profile, footprint.value_type))?;
        json.serialize_entry("exact", &!footprint.estimate)?;
        json.serialize_entry("time_ns", &footprint.time_ns)?;
        json.serialize_entry("number", &measured.number)?;
        json.serialize_entry("live_bytes", &footprint.live_bytes)?;
        json.serialize_entry("bytes", &measured.bytes)?;
        json.serialize_entry("inline_bytes", &measured.inline_bytes)?;
        json.serialize_entry("change_bytes", &measured.change_bytes)?;
        if footprint.estimate {
            return json.end();
        }
        json.serialize_entry("blocks", &measured.blocks)?;
        // Null when the inner allocator does not tell.
        json.serialize_entry("usable_bytes", &measured.usable_bytes)?;
        json.serialize_entry("slack_bytes", &measured.slack_bytes)?;
        json.serialize_entry("shared_blocks", &measured.shared_blocks)?;
        json.serialize_entry("shared_bytes", &measured.shared_bytes)?;
        // Places that did not fit and were counted at their parent.
        json.serialize_entry("folded", &footprint.folded)?;
        // Values that could not be looked into; above 0, the figures are a lower bound.
        json.serialize_entry("hidden_values", &footprint.hidden_values)?;
        json.serialize_entry("estimate", &measured.estimate)?;
        let places: Vec<_> = measured
            .places
            .iter()
            .map(|place| NodeJson { profile, place })
            .collect();
        json.serialize_entry("nodes", &places)?;
        json.end()
    }
}

struct NodeJson<'a> {
    profile: &'a Profile,
    place: &'a Place,
}

impl Serialize for NodeJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (place, node) = (self.place, &self.place.node);
        let figures = &node.figures;
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("path", &place.path)?;
        json.serialize_entry("type", &short_name(self.profile, node.value_type))?;
        json.serialize_entry("full_name", &full_name(self.profile, node.value_type))?;
        json.serialize_entry("values", &figures.count)?;
        json.serialize_entry("inline_bytes", &figures.inline_bytes)?;
        json.serialize_entry("blocks", &figures.blocks)?;
        json.serialize_entry("bytes", &figures.block_bytes)?;
        json.serialize_entry("with_inner_bytes", &place.with_inner_bytes)?;
        let usable_bytes = Some(figures.usable_bytes).filter(|&bytes| bytes > 0);
        json.serialize_entry("usable_bytes", &usable_bytes)?;
        json.serialize_entry("used_bytes", &figures.used_bytes)?;
        json.serialize_entry("slack_bytes", &node.slack_bytes())?;
        json.serialize_entry("shared_blocks", &figures.shared_blocks)?;
        json.serialize_entry("shared_bytes", &figures.shared_bytes)?;
        json.end()
    }
}

fn short_name(profile: &Profile, id: Option<TypeId>) -> Option<&str> {
    profile.named_type(id).map(|name| name.short.as_str())
}
