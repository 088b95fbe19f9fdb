//! Strings that are short enough to be stored inline.

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, can_change, is_owned_cow, own_crates, sum};
use crate::profile::{Measure, Profile, Site};
use crate::units::Share;

/// Inline limits of the usual string types, bytes. Those up to 24 are as large as a `String`.
const LIMITS: [(u64, &str); 6] = [
    (12, "within_12"),
    (15, "within_15"),
    (22, "within_22"),
    (23, "within_23"),
    (24, "within_24"),
    (30, "within_30"),
];

/// The limit of the types that are as large as a `String`, bytes.
const INLINE: u64 = 24;

/// Returns the finding for a group of strings.
///
/// The blocks of capacities up to the limit go away, and the value itself becomes no larger. A
/// string may be shorter than its capacity, so more may go.
pub(super) fn find(profile: &Profile, group: &Group) -> Option<Finding> {
    let (full, _) = group.container(profile)?;
    if full != "alloc::string::String" {
        return None;
    }
    let own = own_crates(profile);
    // An owned `Cow` is no `String` that could be replaced, and may borrow instead.
    let sites: Vec<&Site> = group
        .sites(profile)
        .filter(|site| can_change(profile, &own, site) && !is_owned_cow(profile, site))
        .collect();
    let figures = sum(sites.iter().copied());
    let (mut saves_bytes, mut saves_blocks) = (0_u64, 0_u64);
    let mut within = LIMITS.map(|(_, key)| (key, 0_u64));
    let mut confidence = Confidence::Exact;
    for site in &sites {
        let (mut small, mut small_bytes) = (0_u128, 0_u128);
        for (sizes, blocks) in site.distribution.classes() {
            for ((limit, _), (_, count)) in LIMITS.iter().zip(&mut within) {
                if sizes.end() <= limit {
                    *count = count.saturating_add(blocks);
                }
            }
            if *sizes.end() <= INLINE {
                small += u128::from(blocks);
                small_bytes += u128::from(blocks) * u128::from(*sizes.end());
            }
        }
        let total = u128::from(site.figures.total_blocks);
        if small == 0 || total == 0 || site.figures.peak_blocks == 0 {
            continue;
        }
        if small >= total {
            saves_blocks = saves_blocks.saturating_add(site.figures.peak_blocks);
            saves_bytes = saves_bytes.saturating_add(site.figures.peak_bytes);
            continue;
        }
        // The recording knows sizes of all blocks of a site, not of those live at the peak.
        confidence = Confidence::Estimate;
        let part = |of: u128| {
            let peak = u128::from(site.figures.peak_blocks);
            u64::try_from(peak.saturating_mul(of) / total).unwrap_or(u64::MAX)
        };
        saves_blocks = saves_blocks.saturating_add(part(small));
        saves_bytes = saves_bytes.saturating_add(part(small_bytes).min(site.figures.peak_bytes));
    }
    if saves_bytes == 0 {
        return None;
    }
    let small = within[4].1;
    Some(Finding {
        kind: Kind::SmallStrings,
        saves_bytes,
        saves_blocks,
        of_bytes: figures.peak_bytes,
        measure: Measure::Peak,
        snapshot: None,
        holder: None,
        confidence,
        place: group.place.clone(),
        evidence: within
            .into_iter()
            .chain([("strings", figures.total_blocks)])
            .collect(),
        why: format!(
            "{} of its strings had at most {INLINE} bytes.",
            Share::of(small, figures.total_blocks)
        ),
        remedy: format!(
            "Use a string type that stores up to {INLINE} bytes inline, such as \
             `compact_str::CompactString`, instead of `String`."
        ),
    })
}
