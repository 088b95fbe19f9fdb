//! What became of limits, as JSON for scripts: keys are never renamed or dropped within one [`FORMAT`].

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Check, Outcome};
use crate::diff::Per;
use crate::report::escape;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Writes the check as one JSON object. `status` of a check is `passed`, `failed` or `unsure` (within `error_bound`, or
/// within the spread of several recordings: no failure); `base` is what it is compared with, null of a limit.
///
/// # Errors
/// What `out` returned.
pub fn write_json(check: &Check, out: impl Write) -> io::Result<()> {
    escape::write_json(check, out)
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failed = self.failed().count();
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("format", &FORMAT)?;
        json.serialize_entry("recording", &self.recording)?;
        json.serialize_entry("passed", &(failed == 0))?;
        json.serialize_entry("failed", &failed)?;
        json.serialize_entry("warnings", &self.warnings)?;
        json.serialize_entry("checks", &self.outcomes)?;
        json.end()
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("subject", &self.subject)?;
        json.serialize_entry("measure", &self.measure)?;
        json.serialize_entry("measure_key", self.measure.key())?;
        json.serialize_entry("per", &self.per.map(Per::key))?;
        json.serialize_entry("status", &self.status)?;
        json.serialize_entry("value", &self.value)?;
        json.serialize_entry("most", &self.most)?;
        json.serialize_entry("base", &self.base)?;
        json.serialize_entry("error_bound", &self.bound)?;
        json.serialize_entry("offenders", &self.offenders)?;
        json.end()
    }
}
