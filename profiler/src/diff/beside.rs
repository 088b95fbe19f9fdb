//! Lookup of one recording in another, row by row and frame by frame: a view of the second
//! recording shows the figures of the first.

use std::collections::HashMap;

use super::merged::MatchedPaths;
use super::{Change, DiffOptions, Identity, Matched, Recording, one_sided};
use crate::calltree::{CallTree, NodeId};
use crate::profile::{Frames, Measure, Profile};
use crate::table::By;

/// The rows of one grouping in both recordings, by what they say.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    rows: HashMap<Identity, RowBeside>,
    /// Rows that only the first recording has.
    removed: RemovedRows,
    /// One recording alone has phases or fields: sites are matched by owner.
    by_owner: bool,
}

/// A row of the second recording, with its figure in the first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RowBeside {
    /// The measure.
    pub change: Change,
    /// `true` if the first recording has no such row.
    pub is_added: bool,
    /// Number of rows of the second recording that differ only in line numbers, or that share the
    /// owner if only owners can be compared. `change` is the change of all of them together.
    pub rows: usize,
}

/// Rows that only the first recording has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedRows {
    /// Number of rows.
    pub rows: usize,
    /// Their sum in the first recording, by the measure.
    pub value: u64,
}

impl Beside {
    /// Returns the rows that only the first recording has.
    pub fn removed(&self) -> RemovedRows {
        self.removed
    }

    /// Matches the rows of two recordings. Figures are not divided: `options.per` is not looked at.
    pub fn new(base: &Profile, new: &Profile, options: DiffOptions, frames: Frames) -> Self {
        let [base, new] = [base, new].map(|profile| [Recording { name: "", profile }]);
        let mut beside = Beside {
            by_owner: options.by == By::Site && one_sided(&base, &new).is_some(),
            ..Beside::default()
        };
        let matched = Matched::new([&base, &new], options.by, frames);
        for (row, change) in matched.by(options.measure, None) {
            let Some(change) = change else {
                continue;
            };
            if row.rows[1] == 0 {
                beside.removed.rows += 1;
                let value = change.base.median.value;
                beside.removed.value = beside.removed.value.saturating_add(value);
                continue;
            }
            let known = RowBeside {
                change,
                is_added: row.rows[0] == 0,
                rows: row.rows[1],
            };
            beside.rows.insert(row.identity, known);
        }
        beside
    }

    /// The row that says that; `None` when there is no such figure.
    pub fn row(&self, identity: &Identity) -> Option<&RowBeside> {
        if self.by_owner {
            return self.rows.get(&identity.clone().by_owner());
        }
        self.rows.get(identity)
    }
}

/// Returns the figure in `base` of each frame of `new`, by its [`NodeId`], with everything below
/// it: the figure of the same path of names, where a renamed call counts as the same; 0 if there is
/// none.
pub fn beside_tree(
    base: (&CallTree, &Profile),
    new: (&CallTree, &Profile),
    measure: Measure,
) -> Vec<u64> {
    let merged = MatchedPaths::new([base, new]).by(measure);
    let of = |id: &NodeId| merged.node(*id).totals[0];
    merged.places.iter().map(of).collect()
}
