//! Strings that are short enough to be stored inline.

use std::collections::HashSet;

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, can_change, is_inside, is_owned_cow, sum};
use super::methods::stores_texts_inline;
use crate::containers::STRING;
use crate::profile::{Measure, Profile, Site};
use crate::units::{Share, capital};

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

/// The strings of one site, as far as events tell. A string that grows counts once, with the
/// capacity that it ends with.
struct Strings<'a> {
    site: &'a Site,
    /// Strings, and not the steps in which they grew.
    made: u64,
}

impl Strings<'_> {
    fn of(site: &Site) -> Strings<'_> {
        let figures = &site.figures;
        let steps = figures.grows.saturating_add(figures.shrinks);
        // A string that another site made and this one grew is one of this site, too.
        let made = figures.total_blocks.saturating_sub(steps);
        Strings {
            site,
            made: made.max(figures.peak_blocks),
        }
    }

    /// Returns the blocks of up to so many bytes and the sum of their bytes. Steps of growth count.
    fn blocks_within(&self, limit: u64) -> (u64, u128) {
        let classes = self.site.distribution.classes();
        let small = classes.filter(|(sizes, _)| *sizes.end() <= limit);
        small.fold((0, 0), |(count, bytes), (sizes, blocks)| {
            let own = u128::from(blocks) * u128::from(*sizes.end());
            (blocks.saturating_add(count), own.saturating_add(bytes))
        })
    }

    /// Returns the number of strings that ended with a capacity of up to so many bytes, at least.
    ///
    /// A step of growth leaves at most one small block, and a string that ends with more has at
    /// least one block that is larger.
    fn ended_within(&self, limit: u64) -> u64 {
        let (small, _) = self.blocks_within(limit);
        let figures = &self.site.figures;
        if figures.grows == 0 || small >= figures.total_blocks {
            return small.min(self.made);
        }
        let larger = figures.total_blocks.saturating_sub(small);
        let not_left = small.saturating_sub(figures.grows);
        not_left
            .max(self.made.saturating_sub(larger))
            .min(self.made)
    }

    /// Returns the blocks and bytes of the strings of the peak that fit inline, and `true` if that
    /// is exact.
    fn inline_at_peak(&self) -> (u64, u64, bool) {
        let figures = &self.site.figures;
        let (peak_blocks, peak_bytes) = (figures.peak_blocks, figures.peak_bytes);
        let (small, small_bytes) = self.blocks_within(INLINE);
        if small >= figures.total_blocks {
            return (peak_blocks, peak_bytes, true);
        }
        // The recording knows sizes of all blocks of a site, not of those live at the peak.
        let part = |of: u128, whole: u64| {
            u128::from(peak_blocks).saturating_mul(of) / u128::from(whole.max(1))
        };
        let about = part(u128::from(self.ended_within(INLINE)), self.made);
        let blocks = u64::try_from(about)
            .unwrap_or(u64::MAX)
            .min(self.most_at_peak());
        let bytes = small_bytes.saturating_mul(u128::from(blocks)) / u128::from(small.max(1));
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        (blocks, bytes.min(peak_bytes), false)
    }

    /// Returns the most strings of the peak that can fit inline: even if all others have the
    /// largest size of all, the sum of their bytes is not reached with more.
    fn most_at_peak(&self) -> u64 {
        let largest = self.site.distribution.classes().last();
        let largest = largest.map_or(0, |(sizes, _)| u128::from(*sizes.end()));
        let blocks = u128::from(self.site.figures.peak_blocks);
        let missing = largest
            .saturating_mul(blocks)
            .saturating_sub(u128::from(self.site.figures.peak_bytes));
        let each = largest.saturating_sub(u128::from(INLINE));
        let most = missing.checked_div(each).unwrap_or(blocks);
        u64::try_from(most.min(blocks)).unwrap_or(u64::MAX)
    }
}

/// Returns the finding for a group of strings.
///
/// The blocks of capacities up to the limit go away, and the value itself becomes no larger. A
/// string may be shorter than its capacity, so more may go.
pub(super) fn find(profile: &Profile, own: &HashSet<&str>, group: &Group) -> Option<Finding> {
    let (full, _) = group.container(profile)?;
    if full != STRING.path {
        return None;
    }
    // An owned `Cow` is no `String` that could be replaced, and may borrow instead. Types that
    // store short texts inline are not to be replaced either.
    let is_replaced = |site: &&Site| {
        can_change(profile, own, site)
            && !is_owned_cow(profile, site)
            && !is_inside(profile, site, stores_texts_inline)
    };
    let sites: Vec<&Site> = group.sites(profile).filter(is_replaced).collect();
    let figures = sum(sites.iter().copied());
    let (mut saves_bytes, mut saves_blocks, mut made) = (0_u64, 0_u64, 0_u64);
    let mut within = LIMITS.map(|(_, key)| (key, 0_u64));
    let mut confidence = Confidence::Exact;
    for site in &sites {
        let strings = Strings::of(site);
        made = made.saturating_add(strings.made);
        for ((limit, _), (_, count)) in LIMITS.iter().zip(&mut within) {
            *count = count.saturating_add(strings.ended_within(*limit));
        }
        let (blocks, bytes, is_exact) = strings.inline_at_peak();
        if blocks > 0 && !is_exact {
            confidence = Confidence::Estimate;
        }
        saves_blocks = saves_blocks.saturating_add(blocks);
        saves_bytes = saves_bytes.saturating_add(bytes);
    }
    if saves_bytes == 0 {
        return None;
    }
    Some(Finding {
        kind: Kind::SmallStrings,
        saves_bytes,
        saves_blocks,
        of_bytes: figures.peak_bytes,
        measure: Measure::Peak,
        snapshot: None,
        holder: None,
        alternative_to: None,
        confidence,
        place: group.place.clone(),
        evidence: within.into_iter().chain([("strings", made)]).collect(),
        why: format!(
            "{}{} of its strings that were live at the peak had at most {INLINE} bytes.",
            capital(confidence.words()),
            Share::of(saves_blocks, figures.peak_blocks)
        ),
        remedy: format!(
            "Use a string type that stores up to {INLINE} bytes inline, such as \
             `compact_str::CompactString`, instead of `String`."
        ),
    })
}
