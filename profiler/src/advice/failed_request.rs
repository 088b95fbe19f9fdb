//! Requests that the allocator refused.

use super::finding::{Confidence, Finding, Kind};
use super::group::place_of;
use crate::profile::{FailedRequest, Measure, Profile, State};
use crate::units::{Bytes, counted};

/// Returns a finding for each site whose requests were refused.
pub(super) fn find(profile: &Profile) -> Vec<Finding> {
    let requests = profile.failed_requests().iter().enumerate();
    let found = requests.filter_map(|(at, request)| finding(profile, request, at == 0));
    found.collect()
}

fn finding(profile: &Profile, request: &FailedRequest, is_last: bool) -> Option<Finding> {
    let size = Bytes(request.largest_bytes);
    let mut why = format!("The allocator refused a request of {size}");
    if request.count > 1 {
        why = format!(
            "The allocator refused {}, the largest of {size}",
            counted(request.count, "request")
        );
    }
    if is_last && profile.process().state == State::Ended {
        why.push_str("; after that the program ended without finishing");
    }
    why.push('.');
    Some(Finding {
        kind: Kind::FailedRequest,
        saves_bytes: 0,
        saves_blocks: 0,
        of_bytes: request.largest_bytes,
        measure: Measure::Total,
        snapshot: None,
        holder: None,
        alternative_to: None,
        confidence: Confidence::Exact,
        place: place_of(profile, request.site)?,
        evidence: vec![
            ("requests", request.count),
            ("largest_bytes", request.largest_bytes),
        ],
        why,
        remedy: "Check the size before the request. A `Vec`, `String` or `HashMap` has `try_reserve`, which \
            returns the error."
            .to_owned(),
    })
}
