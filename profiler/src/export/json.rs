//! The JSON of the report, as documented there.

use std::io::{self, Write};

use super::Options;
use crate::profile::Profile;
use crate::report;

pub(super) fn write(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let report = report::Options {
        by: options.by,
        measure: options.measure,
        frames: options.frames,
        recording: options.recording,
        ..report::Options::default()
    };
    report::write_json(profile, &report, out)
}
