//! The widths of the columns of names in lists of sites.

use std::collections::HashMap;

use heapglass_profiler::table::SiteLabel;

use crate::text::{clean, fit_owner, width};

/// Minimum width of the column of places.
pub(crate) const LOCATION: usize = 8;

/// Minimum width of all names for a column of places that the owner makes room for.
const LEAST: usize = 36;

/// Returns `true` if two rows read the same without their places.
fn differ_only_in_location(rows: &[(&SiteLabel, u64)]) -> bool {
    let mut seen = HashMap::new();
    rows.iter().any(|(label, _)| {
        let names = (&label.what, &label.owner, &label.source);
        *seen.entry(names).or_insert(&label.location) != &label.location
    })
}

/// The widths of the columns of names of a list of sites, from the labels and values of its
/// visible rows.
pub(crate) struct NameWidths {
    pub(crate) what: usize,
    /// Width of the column; 0 if it does not fit.
    pub(crate) location: usize,
    pub(crate) owner: usize,
}

impl NameWidths {
    /// Keeps the owner and its line, which say what to change, up to three fifths of the width. The
    /// type and the place share the rest by need, and the owner gets what they leave. If not all
    /// names fit, those of rows with next to nothing take only the width that the others leave.
    pub(crate) fn of(rows: &[(&SiteLabel, u64)], all: usize) -> NameWidths {
        let most = all * 3 / 5;
        // The phase goes first: it shows where there is room.
        let with_phases = rows
            .iter()
            .map(|(label, _)| width(&clean(&label.location)))
            .max()
            .unwrap_or(0);
        let needs = |least: u64| {
            let (mut what, mut location, mut owner) = (12, 5, 5);
            let rows = rows.iter().filter(|(_, value)| *value >= least);
            for label in rows.map(|(label, _)| label) {
                let named = label.owner_and_source();
                what = what.max(width(&clean(&label.what)));
                location = location.max(width(&clean(label.place())));
                owner = owner.max(width(&fit_owner(&clean(&named), most)));
            }
            (what, location, owner)
        };
        let (all_what, all_location, all_owner) = needs(0);
        let (what, location, owner) = if all_what + all_location + all_owner + 2 > all {
            let largest = rows.iter().map(|(_, value)| *value).max().unwrap_or(0);
            needs(largest.div_ceil(100))
        } else {
            (all_what, all_location, all_owner)
        };
        let names = all.saturating_sub(owner.min(most) + 2);
        let mut shown = location.min((names * 2 / 5).max(names.saturating_sub(what)));
        let has_location = |(label, _): &(&SiteLabel, u64)| !label.location.is_empty();
        let has_locations = rows.is_empty() || rows.iter().any(has_location);
        if shown < location.min(LOCATION) || !has_locations {
            shown = 0;
        }
        let mut what = what.min(names.saturating_sub(shown));
        if shown == 0 && all >= LEAST && differ_only_in_location(rows) {
            shown = location.min(LOCATION);
            what = what.min((all - shown) * 3 / 8);
        }
        let mut rest = names.saturating_sub(what + shown);
        let more = all_what.saturating_sub(what).min(rest / 2);
        what += more;
        rest -= more;
        if shown > 0 {
            let location = all_location.max(with_phases);
            shown += location.saturating_sub(shown).min(rest / 2);
        }
        let gaps = if shown > 0 { 2 } else { 1 };
        NameWidths {
            what,
            location: shown,
            owner: all.saturating_sub(what + shown + gaps),
        }
    }
}
