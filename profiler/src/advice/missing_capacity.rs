//! Growth that `with_capacity(n)` would avoid.
//!
//! Only containers that the program's own code fills count, and only growth that moved a block: a
//! block that grows in place costs nothing.

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, calls, constructor, is_formatted, sum};
use super::methods::grows_by_realloc;
use crate::profile::{Measure, Profile, Site};
use crate::units::{Bytes, Count};

/// Returns the finding for a group, if its containers grew.
///
/// Each grow is a block that one block of the final capacity would replace. Its old size is saved;
/// the recording knows the sum of old sizes of those that moved, so the bytes are a lower bound.
pub(super) fn find(profile: &Profile, group: &Group) -> Option<Finding> {
    let (full, _) = group.container(profile)?;
    if !grows_by_realloc(full) {
        return None;
    }
    let name = constructor(full);
    let sites: Vec<&Site> = group
        .own_sites(profile)
        .filter(|site| site.figures.grows > 0 && site.figures.shrinks == 0)
        .collect();
    let figures = sum(sites.iter().copied());
    if figures.copied_bytes == 0 {
        return None;
    }
    let largest = sites
        .iter()
        .filter_map(|site| site.distribution.classes().last());
    let largest = largest.map(|(sizes, _)| *sizes.end()).max().unwrap_or(0);
    let remedy = if sites.iter().any(|site| is_formatted(profile, site)) {
        "Write into a `String::with_capacity(n)` with `write!` instead of `format!`.".to_owned()
    } else if sites.iter().any(|site| calls(profile, site, "from_iter")) {
        format!(
            "Make a `{name}::with_capacity(n)` and `extend` it instead of `collect`, where the \
             length, or a limit for it, is known."
        )
    } else {
        format!(
            "Make it with `{name}::with_capacity(n)` where the length, or a limit for it, is known."
        )
    };
    Some(Finding {
        kind: Kind::MissingCapacity,
        saves_bytes: figures.copied_bytes,
        saves_blocks: figures.grows,
        of_bytes: sum(group.sites(profile)).total_bytes,
        measure: Measure::Total,
        snapshot: None,
        holder: None,
        alternative_to: None,
        confidence: Confidence::AtLeast,
        place: group.place.clone(),
        evidence: vec![
            ("grows", figures.grows),
            ("copied_bytes", figures.copied_bytes),
            ("largest_block_bytes", largest),
        ],
        why: format!(
            "It grew {} and copied {}; its largest block had at most {}.",
            if figures.grows == 1 {
                "once".to_owned()
            } else {
                format!("{} times", Count(figures.grows))
            },
            Bytes(figures.copied_bytes),
            Bytes(largest),
        ),
        remedy,
    })
}
