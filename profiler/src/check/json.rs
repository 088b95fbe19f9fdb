//! The results of limits as JSON for scripts: keys are never renamed or dropped within one
//! [`FORMAT`].

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::Check;
use crate::report::escape;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Writes the check as one JSON object. `status` of a check is `passed`, `failed` or `unsure`
/// (within `error_bound`, or within the spread of several recordings: no failure); `base` is what
/// it is compared with, null of a limit.
///
/// # Errors
/// Returns the errors of `out`.
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
