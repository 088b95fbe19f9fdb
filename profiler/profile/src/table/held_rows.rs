//! Rows of any grouping with what they hold in a snapshot.

use std::collections::HashMap;

use super::held::HeldFigures;
use super::{By, Detail, Row, function, rows};
use crate::profile::fields::NO_FIELD;
use crate::profile::{Frames, Measure, Profile};
use crate::snapshot::Snapshot;

/// A row with what it holds in a snapshot.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldRow {
    /// The row, with the counters of the recording.
    pub row: Row,
    /// Its figures in the snapshot.
    pub held: HeldFigures,
}

/// Returns the rows of a grouping with what they hold in a snapshot, ordered by a measure, largest
/// first. Rows without blocks in the snapshot are left out.
///
/// Threads and arenas have no such rows: see [`crate::question::RULES`].
pub(crate) fn held_rows(
    profile: &Profile,
    snapshot: &Snapshot,
    by: By,
    measure: Measure,
    frames: Frames,
) -> Vec<HeldRow> {
    let rows = rows(profile, by, Measure::Live, frames);
    let held = held_by(profile, snapshot, by, &rows, frames);
    let mut held: Vec<HeldRow> = rows
        .into_iter()
        .zip(held)
        .filter(|(_, held)| held.own.blocks > 0)
        .map(|(row, held)| HeldRow { row, held })
        .collect();
    held.sort_by(|a, b| {
        let size = |row: &HeldRow| (row.held.of(measure), row.held.retained_bytes);
        let by_size = size(b).cmp(&size(a));
        by_size.then_with(|| a.row.names().cmp(&b.row.names()))
    });
    held
}

/// Returns what each of some rows of a profile holds in a snapshot.
pub fn held_by(
    profile: &Profile,
    snapshot: &Snapshot,
    by: By,
    rows: &[Row],
    frames: Frames,
) -> Vec<HeldFigures> {
    let groups: Vec<usize> = (0..rows.len()).collect();
    held_by_groups(profile, snapshot, by, rows, &groups, frames)
}

/// Returns what groups of rows hold in a snapshot, the group of each row in `groups`. What rows of
/// one group hold of each other counts once.
pub fn held_by_groups(
    profile: &Profile,
    snapshot: &Snapshot,
    by: By,
    rows: &[Row],
    groups: &[usize],
    frames: Frames,
) -> Vec<HeldFigures> {
    let row_of = rows_of_sites(profile, by, rows, frames);
    let group = |site: u32| {
        let row = row_of.get(site as usize).copied().flatten()?;
        groups.get(row).copied()
    };
    let count = groups.iter().max().map_or(0, |last| last + 1);
    let retained = snapshot.retained(count, group);
    let mut held: Vec<HeldFigures> = retained
        .into_iter()
        .map(|retained| HeldFigures {
            retained_bytes: retained.bytes,
            unseen_bytes: retained.unseen_bytes,
            ..HeldFigures::default()
        })
        .collect();
    for of_site in snapshot.by_site(profile.sites.len()) {
        if let Some(group) = of_site.site.and_then(group) {
            held[group].own.add(&of_site);
        }
    }
    for figures in &mut held {
        figures.filled = figures.own.clone();
    }
    held
}

/// Returns the row of each site.
pub(super) fn rows_of_sites(
    profile: &Profile,
    by: By,
    rows: &[Row],
    frames: Frames,
) -> Vec<Option<usize>> {
    let mut row_of = vec![None; profile.sites.len()];
    let mut by_key: HashMap<&str, usize> = HashMap::new();
    for (number, row) in rows.iter().enumerate() {
        let sites = match &row.detail {
            Detail::Site(detail) => &detail.sites,
            Detail::Owner { sites, .. } => sites,
            _ => {
                by_key.insert(&row.key, number);
                continue;
            }
        };
        for &site in sites {
            row_of[site] = Some(number);
        }
    }
    if by_key.is_empty() {
        return row_of;
    }
    let (fields, phases) = (profile.fields(), profile.phases());
    let functions = match by {
        By::Function => function::keys_of_sites(profile, frames),
        _ => Vec::new(),
    };
    for (index, site) in profile.counted_sites() {
        let found = match by {
            By::Function => by_key.get(functions[index].as_str()),
            By::Crate => by_key.get(function::crate_key(profile, site).as_str()),
            By::Module => by_key.get(function::module_key(profile, site).as_str()),
            By::Type => by_key.get(profile.type_key(profile.type_id_of(site))),
            By::Field => {
                let field = fields.get(fields.field_of_site(index));
                by_key.get(field.map_or(NO_FIELD, |field| &field.path))
            }
            By::Phase => by_key.get(phases.path(profile, phases.phase_of(site.scope)).as_str()),
            By::Site | By::Owner | By::Thread | By::Arena | By::Holder => None,
        };
        row_of[index] = found.copied();
    }
    row_of
}
