//! Advice: changes that save memory, each with the bytes and blocks that it saves.
//!
//! A finding must be true of the recording, and its saving must hold when the change is made: it is
//! exact, a bound, or called an estimate. Doubtful advice is left out. Savings may overlap, so they
//! must never be added up.
//!
//! ```
//! use heapglass_profiler::advice::advise;
//!
//! # let profile = heapglass_fixture::real("demo");
//! for finding in advise(&profile, false) {
//!     println!("{}: {} bytes", finding.kind.name(), finding.saves_bytes);
//! }
//! ```

mod amplification;
mod at_moment;
mod capacity;
mod duplicates;
mod failed_request;
mod finding;
mod freed_together;
mod group;
mod growing;
mod in_place;
mod inputs;
mod large_future;
mod missing_capacity;
mod pages;
mod rounding;
mod serde_data;
mod small_map;
mod small_part;
mod small_strings;
mod temporary;
mod text;
mod unreachable;

use std::cmp::Reverse;
use std::io::{self, Write};

use serde::Serialize;

pub use finding::{Confidence, Finding, FromSnapshot, Kind, Place};
#[cfg(feature = "flamegraph")]
pub(crate) use text::moment;
pub use text::{OVERLAP, Texts, write_summary, write_text};

use at_moment::AtMoment;
use group::Group;

use crate::profile::Profile;
use crate::report::escape;
use crate::snapshot::confirmed;

/// The version of the JSON. A change that renames or removes a key increments it.
pub const FORMAT: u32 = 1;

/// Smaller findings are not listed, bytes.
const SMALLEST: u64 = 64 * 1024;

/// Findings must save at least one in this number of all bytes of their measure.
const WORTH_ONE_IN: u64 = 100;

/// Explains why a recording that samples has no findings.
pub const SAMPLED: &str =
    "findings need every event, and this recording has samples; record in mode `exact`";

/// Returns the findings for a profile, the largest saving first. A recording that samples has none
/// ([`SAMPLED`]), except for refused requests. Without `all`, leaves out findings
/// that save less than 64 KiB, or less than 1 % of the bytes of their measure: of the peak, or of
/// all bytes allocated. Findings that save only blocks are left out by the bytes of these blocks.
pub fn advise(profile: &Profile, all: bool) -> Vec<Finding> {
    if profile.capture.sampling.is_some() {
        // A finding states a saving, and estimates prove none.
        return failed_request::find(profile);
    }
    let groups = group::groups(profile);
    let least_peak = least(profile.totals().peak_bytes, all);
    let mut found = failed_request::find(profile);
    for group in &groups {
        found.extend(missing_capacity::find(profile, group));
        found.extend(temporary::find(profile, group));
        found.extend(growing::find(profile, group));
        found.extend(small_strings::find(profile, group));
        found.extend(freed_together::find(profile, group, least_peak));
    }
    found.extend(in_place::find(profile));
    found.extend(serde_data::find_buffered(profile, &groups));
    let at = AtMoment::of(profile);
    let trees = serde_data::find_value_trees(profile, at.as_ref(), &groups);
    found.extend(trees);
    if let Some(at) = &at {
        found.extend(from_snapshot(at, &groups));
    }
    found.extend(amplification::find(profile, &groups, least_peak));
    found.retain(|finding| {
        let kind = finding.kind;
        kind.saves_nothing()
            || kind.saves_blocks_only()
            || finding.saves_bytes >= least(worth(profile, finding), all)
    });
    found.sort_by_cached_key(|finding| {
        let place = &finding.place;
        (
            Reverse(finding.size()),
            finding.kind,
            place.owner.clone(),
            place.line,
            place.type_name.clone(),
            place.field.clone(),
        )
    });
    found
}

/// Returns the findings that the snapshot with most live bytes shows.
fn from_snapshot(at: &AtMoment<'_>, groups: &[Group]) -> Vec<Finding> {
    let others = at.profile.snapshots().iter();
    let others = others.filter(|other| !std::ptr::eq(*other, at.snapshot));
    let confirmed = confirmed(at.snapshot, others);
    let mut found = large_future::find(at);
    for group in groups {
        found.extend(capacity::find_unused(at, group));
        found.extend(capacity::find_empty(at, group));
        found.extend(duplicates::find(at, group));
        found.extend(small_part::find(at, group));
        found.extend(inputs::find_kept(at, group));
        found.extend(inputs::find_borrow(at, groups, group));
        found.extend(pages::find_untouched(at, group));
        found.extend(pages::find_pinned(at, group));
        found.extend(unreachable::find(at, group, &confirmed));
        found.extend(small_map::find(at, group));
        found.extend(rounding::find(at, group));
    }
    found
}

/// Returns the bytes of which a finding must save a part. Growth is compared with what was live
/// when it was measured: the peak may be one of the start.
fn worth(profile: &Profile, finding: &Finding) -> u64 {
    if finding.kind == Kind::Growing {
        growing::live_then(finding)
    } else {
        finding.whole(profile)
    }
}

/// The smallest saving that is worth a finding, of so many bytes.
fn least(whole: u64, all: bool) -> u64 {
    if all {
        1
    } else {
        SMALLEST.max(whole / WORTH_ONE_IN)
    }
}

/// Writes findings as one JSON object.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_json(findings: &[Finding], out: impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Advice<'a> {
        format: u32,
        findings: &'a [Finding],
    }
    let advice = Advice {
        format: FORMAT,
        findings,
    };
    escape::write_json(&advice, out)
}
