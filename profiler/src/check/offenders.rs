//! The largest sites of a figure over its limit: rows by site, with field and line.

use std::cmp::Reverse;

use serde::Serialize;

use super::subject::{DEPENDENCY, Subject, is_match};
use crate::diff::{RowChange, Verdict};
use crate::profile::{Frames, Measure, Profile};
use crate::table::{By, Detail, Row, SiteDetail, SiteLabel, rows};

/// Number of offenders that are named.
const MOST: usize = 5;

/// A row by site. The names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Offender {
    /// The figure of the row. Compared with a base, the growth over the base; if figures are
    /// divided by the input, at the input of this recording.
    pub value: u64,
    /// The names of the allocation, its place and its owner.
    #[serde(flatten)]
    pub label: SiteLabel,
    /// The field's path.
    pub field: Option<String>,
}

/// The largest sites of what is limited.
pub(super) fn largest(profile: &Profile, measure: Measure, subject: &Subject) -> Vec<Offender> {
    let sites = rows(profile, By::Site, measure, Frames::Folded);
    let types = match subject {
        Subject::Rows(By::Type, pattern) => rows(profile, By::Type, measure, Frames::Folded)
            .into_iter()
            .filter(|row| is_match(row, pattern))
            .map(|row| row.key)
            .collect(),
        _ => Vec::new(),
    };
    let offender = |row: &Row| {
        let Detail::Site(detail) = &row.detail else {
            return None;
        };
        let value = measure.of(&row.figures);
        let is_meant = value > 0 && is_of(profile, detail, subject, &types);
        is_meant.then(|| Offender {
            value,
            label: detail.label.clone(),
            field: detail.field.clone(),
        })
    };
    sites.iter().filter_map(offender).take(MOST).collect()
}

fn is_of(profile: &Profile, detail: &SiteDetail, subject: &Subject, types: &[String]) -> bool {
    let Subject::Rows(by, pattern) = subject else {
        return true;
    };
    match by {
        By::Phase => {
            let phases = profile.phases();
            let is_meant = |phase| pattern.matches(&phases.path(profile, phase));
            is_meant(detail.phase) || phases.around(detail.phase).into_iter().any(is_meant)
        }
        By::Owner => {
            let owner = &detail.label.owner;
            let bare = owner.strip_suffix(DEPENDENCY).unwrap_or(owner);
            pattern.matches(owner) || pattern.matches(bare)
        }
        By::Type => {
            let key = detail.type_key.as_ref();
            key.is_some_and(|key| types.contains(key))
        }
        _ => {
            let field = detail.field.as_ref();
            field.is_some_and(|field| pattern.matches(field))
        }
    }
}

/// The sites that grew most.
pub(super) fn grown(sites: &[RowChange]) -> Vec<Offender> {
    let mut grown: Vec<Offender> = sites
        .iter()
        .filter(|row| row.change.verdict == Verdict::More)
        .map(|row| {
            // Where figures are divided, what the larger share of each record makes at this
            // recording's input.
            let more = row.change.difference() * row.change.new.median.count as f64;
            let more = row
                .change
                .exact_difference()
                .unwrap_or(more.round() as i128);
            Offender {
                value: u64::try_from(more).unwrap_or(0),
                label: SiteLabel {
                    what: row.identity.name.clone(),
                    location: row.identity.location.clone(),
                    phase: String::new(),
                    owner: row.identity.owner.clone(),
                    source: row.identity.source.clone(),
                },
                field: None,
            }
        })
        .collect();
    grown.sort_by_key(|offender| Reverse(offender.value));
    grown.truncate(MOST);
    grown
}
