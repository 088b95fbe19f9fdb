//! The rows of two sides, matched once by what they say. A measure is a view of them.

use std::collections::HashMap;

use super::{
    Amount, Change, DiffOptions, Identity, Input, Per, Recording, RowChange, RowKind, Verdict,
    compared, count, distances, one_sided,
};
use crate::profile::{Figures, Frames, Measure, Profile, arenas};
use crate::table::{By, Detail, Row, owner_of, rows};

/// The rows of all recordings of two sides, by one grouping.
pub(crate) struct Matched<'a> {
    sides: [&'a [Recording<'a>]; 2],
    by: By,
    rows: Vec<MatchedRow>,
}

/// Rows that say the same.
struct MatchedRow {
    identity: Identity,
    /// The rows of each recording of each side.
    members: [Vec<Vec<Row>>; 2],
}

/// A row by one measure.
pub(super) struct RowMatch {
    pub(super) identity: Identity,
    /// The figures and the measure in each recording of each side.
    sides: [Vec<Cell>; 2],
    /// Number of rows of each side that it stands for.
    pub(super) rows: [usize; 2],
}

#[derive(Clone, Default)]
struct Cell {
    figures: Figures,
    /// `None` where there is no such figure, or no input to divide by.
    amount: Option<Amount>,
}

/// The rows of a comparison.
#[derive(Default)]
pub(crate) struct Changed {
    pub(crate) rows: Vec<RowChange>,
    pub(crate) equal_rows: usize,
    pub(super) other_rows: usize,
    pub(super) rows_without_figure: usize,
    pub(super) other_rows_without_figure: usize,
}

impl<'a> Matched<'a> {
    /// Matches the rows. Sites of which one side alone has phases or fields are matched by owner.
    pub(crate) fn new(sides: [&'a [Recording<'a>]; 2], by: By, frames: Frames) -> Matched<'a> {
        let are_sites_alike = by != By::Site || one_sided(sides[0], sides[1]).is_none();
        let mut matched: Vec<MatchedRow> = Vec::new();
        let mut known: HashMap<Identity, usize> = HashMap::new();
        for (side, recordings) in sides.into_iter().enumerate() {
            for (number, recording) in recordings.iter().enumerate() {
                for row in rows(recording.profile, by, Measure::default(), frames) {
                    let mut identity = Identity::of(recording.profile, &row);
                    if !are_sites_alike {
                        identity = identity.by_owner();
                    }
                    let at = match known.get(&identity) {
                        Some(&at) => at,
                        None => {
                            known.insert(identity.clone(), matched.len());
                            let members = sides.map(|side| vec![Vec::new(); side.len()]);
                            matched.push(MatchedRow { identity, members });
                            matched.len() - 1
                        }
                    };
                    matched[at].members[side][number].push(row);
                }
            }
        }
        Matched {
            sides,
            by,
            rows: matched,
        }
    }

    /// Returns the rows by a measure, divided by the input where `per` says so.
    pub(super) fn by(
        &self,
        measure: Measure,
        per: Option<Per>,
    ) -> impl Iterator<Item = (RowMatch, Option<Change>)> {
        let options = DiffOptions {
            by: self.by,
            measure,
            per,
        };
        self.rows.iter().map(move |row| {
            let row = row.by(self.sides, options);
            let change = row.change(self.sides, options);
            (row, change)
        })
    }

    /// Returns the rows that differ by a measure, the largest difference first.
    pub(crate) fn changed(&self, measure: Measure, per: Option<Per>) -> Changed {
        let mut found = Changed::default();
        for (row, change) in self.by(measure, per) {
            found.take(row, change);
        }
        found.rows.sort_by(|a, b| {
            let size = |row: &RowChange| row.change.difference().abs();
            let by_size = size(b).total_cmp(&size(a));
            by_size.then_with(|| a.identity.parts().cmp(&b.identity.parts()))
        });
        found
    }
}

impl MatchedRow {
    fn by(&self, sides: [&[Recording<'_>]; 2], options: DiffOptions) -> RowMatch {
        let cells = |side: usize| -> Vec<Cell> {
            let members = self.members[side].iter().zip(sides[side]);
            let cells = members.map(|(rows, one)| {
                let mut cell = Cell {
                    figures: Figures::default(),
                    amount: no_amount(one.profile, options),
                };
                for row in rows {
                    cell.figures.add(&row.figures);
                    let amount = row_amount(one.profile, row, options);
                    cell.amount = match (cell.amount, amount) {
                        (Some(known), Some(more)) => Some(known.plus(more)),
                        _ => amount,
                    };
                }
                cell
            });
            cells.collect()
        };
        RowMatch {
            identity: Identity {
                source: self.source(sides, options.measure),
                ..self.identity.clone()
            },
            sides: [cells(0), cells(1)],
            rows: [0, 1].map(|side| self.members[side].iter().map(Vec::len).sum()),
        }
    }

    /// Returns the place of most of the measure. Where that is in the newer build is where to look.
    fn source(&self, sides: [&[Recording<'_>]; 2], measure: Measure) -> Option<String> {
        // Rows without a place have none by any measure.
        let of_side = |side: usize| {
            let mut members = self.members[side].iter().zip(sides[side]);
            let (rows, one) = members.find(|(rows, _)| !rows.is_empty())?;
            let most = rows.iter().min_by(|a, b| a.order(b, measure))?;
            match &most.detail {
                Detail::Site(detail) => detail.label.source.clone(),
                Detail::Owner { sites, .. } => {
                    let owner = owner_of(one.profile, sites, measure)?;
                    one.profile.source_of(owner)
                }
                _ => None,
            }
        };
        of_side(1).or_else(|| of_side(0))
    }
}

impl RowMatch {
    /// Returns the measure on both sides; `None` where a recording has no such figure.
    fn change(&self, sides: [&[Recording<'_>]; 2], options: DiffOptions) -> Option<Change> {
        let amounts = |side: usize| -> Option<Vec<Amount>> {
            let amounts = self.sides[side].iter().map(|cell| cell.amount);
            amounts.collect()
        };
        // Arenas count every piece of their own: their peaks are exact.
        let is_bounded = options.measure == Measure::Peak && options.by != By::Arena;
        let change = compared(sides, [amounts(0)?, amounts(1)?], is_bounded);
        if options.by == By::Arena {
            return Some(change);
        }
        let off = [0, 1].map(|side| {
            let cells = self.sides[side].iter().zip(sides[side]);
            let off = cells.filter_map(|(cell, one)| distances(&cell.figures, one, options));
            off.reduce(|(low, high), (other_low, other_high)| {
                (low.max(other_low), high.max(other_high))
            })
        });
        Some(match off {
            [None, None] => change,
            [base, new] => change.of_estimates(base.unwrap_or_default(), new.unwrap_or_default()),
        })
    }
}

impl Changed {
    fn take(&mut self, row: RowMatch, change: Option<Change>) {
        let kind = match row.rows {
            [0, _] => RowKind::Added,
            [_, 0] => RowKind::Removed,
            _ => RowKind::Changed,
        };
        let [base, new] = [0, 1].map(|side| -> Vec<Figures> {
            let cells = row.sides[side].iter().filter(|_| row.rows[side] > 0);
            cells.map(|cell| cell.figures.clone()).collect()
        });
        // A row of one side that holds none of the measure differs too.
        let differs =
            kind != RowKind::Changed || base.iter().chain(&new).any(|figures| *figures != base[0]);
        match change {
            None => {
                self.rows_without_figure += 1;
                self.other_rows_without_figure += usize::from(differs);
            }
            Some(change) if change.verdict != Verdict::Equal => self.rows.push(RowChange {
                identity: row.identity,
                kind,
                change,
                base,
                new,
            }),
            Some(_) => {
                self.equal_rows += 1;
                self.other_rows += usize::from(differs);
            }
        }
    }
}

/// Returns the figure of a row by the measure.
fn row_amount(profile: &Profile, row: &Row, options: DiffOptions) -> Option<Amount> {
    let measure = options.measure;
    if let (Detail::Phase(detail), Some(per)) = (&row.detail, options.per) {
        // As the report divides: the phase with the phases inside it, by the phase's own input.
        let input = Input {
            input_bytes: detail.input_bytes,
            records: detail.records,
        };
        let count = per.count(input)?;
        return Some(Amount::new(measure.shown(&detail.with_inner), count));
    }
    let value = match &row.detail {
        Detail::Arena(detail) => arenas::measured(profile.arenas().get(detail.arena)?, measure)?,
        _ => measure.shown(&row.figures),
    };
    Some(Amount::new(value, count(profile, options.per)?))
}

/// Returns the figure of a missing row.
fn no_amount(profile: &Profile, options: DiffOptions) -> Option<Amount> {
    let per = options.per.filter(|_| options.by != By::Phase);
    Some(Amount::new(0, count(profile, per)?))
}
