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
mod kept_by_weak;
mod large_future;
mod large_variant;
mod methods;
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

pub use finding::{Confidence, Finding, FromSnapshot, Kind, Place, SavesOf};
pub use growing::Grown;
pub(crate) use text::moments;
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

/// All advice for a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// The findings, by [list](SavesOf), the largest saving of each first. Refused requests come
    /// before them, and what saves nothing after them.
    pub findings: Vec<Finding>,
    /// Growth that went on until the program stopped and was then freed, the most bytes first.
    pub grew: Vec<Grown>,
}

/// Returns the findings of [`advice`].
pub fn advise(profile: &Profile, all: bool) -> Vec<Finding> {
    advice(profile, all).findings
}

/// Returns the advice for a profile. A recording that samples has none ([`SAMPLED`]), except for
/// refused requests. Without `all`, leaves out findings that save less than 64 KiB, or less than 1
/// % of the bytes of their measure: of the peak, or of all bytes allocated. Findings that save only
/// blocks are left out by the bytes of these blocks.
pub fn advice(profile: &Profile, all: bool) -> Advice {
    if profile.capture().sampling.is_some() {
        // A finding states a saving, and estimates prove none.
        return Advice {
            findings: failed_request::find(profile),
            grew: Vec::new(),
        };
    }
    let groups = group::groups(profile);
    let least_peak = least(profile.totals().peak_bytes, all);
    let own = group::own_crates(profile);
    let mut found = failed_request::find(profile);
    for group in &groups {
        found.extend(missing_capacity::find(profile, group));
        found.extend(temporary::find(profile, group));
        found.extend(small_strings::find(profile, &own, group));
        found.extend(freed_together::find(profile, group, least_peak));
    }
    let (growing, grew) = growing::find(profile, &groups, all);
    found.extend(growing);
    found.extend(in_place::find(profile));
    found.extend(serde_data::find_buffered(profile, &groups));
    let moments = AtMoment::all(profile);
    let trees = serde_data::find_value_trees(profile, moments.first(), &groups);
    found.extend(trees);
    found.extend(from_snapshots(&moments, &groups));
    found.extend(amplification::find(profile, least_peak));
    found.retain(|finding| {
        let kind = finding.kind;
        kind.saves_nothing()
            || kind.saves_blocks_only()
            || finding.saves_bytes >= least(worth(profile, finding), all)
    });
    for at in &moments {
        inputs::name_alternatives(at, &mut found);
    }
    found.sort_by_cached_key(|finding| {
        let place = &finding.place;
        (
            finding.list(),
            Reverse(finding.size()),
            finding.kind,
            place.owner.clone(),
            place.line,
            place.type_name.clone(),
            place.field.clone(),
        )
    });
    Advice {
        findings: found,
        grew,
    }
}

/// Returns the findings that snapshots show. If two snapshots show one of the same kind at the same
/// place, what stays comes first: the one at the end, unless it saves less than half.
fn from_snapshots(moments: &[AtMoment<'_>], groups: &[Group]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for at in moments {
        let earlier = found.len();
        for finding in from_snapshot(at, groups) {
            let same = found[..earlier].iter_mut().find(|known| {
                known.kind == finding.kind
                    && known.place.sites == finding.place.sites
                    && known.place.field == finding.place.field
            });
            match same {
                Some(known) if finding.saves_bytes >= known.saves_bytes / 2 => *known = finding,
                Some(_) => {}
                None => found.push(finding),
            }
        }
    }
    found
}

/// Returns the findings that one snapshot shows.
fn from_snapshot(at: &AtMoment<'_>, groups: &[Group]) -> Vec<Finding> {
    let others = at.profile.snapshots().iter();
    let others = others.filter(|other| !std::ptr::eq(*other, at.snapshot));
    let confirmed = confirmed(at.snapshot, others);
    let mut found = large_future::find(at);
    found.extend(large_variant::find(at, groups));
    for group in groups {
        found.extend(capacity::find_unused(at, group));
        found.extend(capacity::find_empty(at, group));
        found.extend(duplicates::find(at, group));
        found.extend(small_part::find(at, group));
        found.extend(kept_by_weak::find(at, group));
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
/// when it was measured: the peak may be one of the start. What stays at the end is compared with
/// the peak: of a program that freed nearly all, the rest is a side matter.
fn worth(profile: &Profile, finding: &Finding) -> u64 {
    if finding.kind == Kind::Growing {
        growing::live_then(finding)
    } else if finding
        .snapshot
        .as_ref()
        .is_some_and(|snapshot| snapshot.at_end)
    {
        profile.totals().peak_bytes
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

/// Writes advice as one JSON object.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_json(advice: &Advice, out: impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct AdviceJson<'a> {
        format: u32,
        findings: &'a [Finding],
        grew: &'a [Grown],
    }
    let advice = AdviceJson {
        format: FORMAT,
        findings: &advice.findings,
        grew: &advice.grew,
    };
    escape::write_json(&advice, out)
}
