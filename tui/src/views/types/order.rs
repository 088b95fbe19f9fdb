//! Which types are listed, and in which order. Deterministic: ties fall back to the measure, then to the full name.

use std::cmp::Reverse;

use heapglass_profiler::profile::{Figures, Measure, TypeRow};

use crate::model::{Context, Pattern, type_key};

/// The column the table is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// The measure, largest first.
    #[default]
    Measure,
    /// Values seen by `Profiled`.
    Values,
    /// The values' own size.
    Inline,
    /// Blocks that go with the measure.
    Blocks,
    /// Mean bytes of a block over all allocations.
    Mean,
    /// The name as shown.
    Name,
}

impl Sort {
    const ALL: [Sort; 6] = [
        Sort::Measure,
        Sort::Values,
        Sort::Inline,
        Sort::Blocks,
        Sort::Mean,
        Sort::Name,
    ];

    pub(super) fn next(self) -> Sort {
        let at = Sort::ALL.iter().position(|s| *s == self).unwrap_or(0);
        Sort::ALL
            .get((at + 1) % Sort::ALL.len())
            .copied()
            .unwrap_or_default()
    }

    /// The title of the column.
    pub(super) fn name(self, measure: Measure) -> &'static str {
        match self {
            Sort::Measure => measure.name(),
            Sort::Values => "values",
            Sort::Inline => "inline",
            Sort::Blocks => measure.blocks(&Figures::default()).1,
            Sort::Mean => "mean",
            Sort::Name => "type",
        }
    }
}

/// Indexes of the types that `filter` admits, in order.
pub(super) fn listed(
    cx: &Context<'_>,
    sort: Sort,
    reversed: bool,
    filter: Option<&Pattern>,
) -> Vec<usize> {
    let data = cx.data;
    let admitted = |row: &TypeRow| {
        filter.is_none_or(|filter| {
            let full = data.type_name(row.type_id).map(|name| name.full.as_str());
            filter.is_match(&data.type_label(row.type_id))
                || full.is_some_and(|f| filter.is_match(f))
        })
    };
    let mut rows: Vec<(usize, &TypeRow)> = data
        .profile
        .type_rows()
        .iter()
        .enumerate()
        .filter(|(_, row)| admitted(row))
        .collect();
    let column = |row: &TypeRow| match sort {
        Sort::Measure | Sort::Name => 0,
        Sort::Values => row.values,
        Sort::Inline => row.inline_bytes,
        Sort::Blocks => cx.measure.blocks(&row.figures).0,
        Sort::Mean => row.mean_block_bytes(),
    };
    rows.sort_by_cached_key(|(_, row)| {
        let label = (sort == Sort::Name).then(|| data.type_label(row.type_id).into_owned());
        (
            label,
            Reverse(column(row)),
            Reverse(cx.measure.of(&row.figures)),
            type_key(data, row.type_id),
        )
    });
    if reversed {
        rows.reverse();
    }
    rows.into_iter().map(|(index, _)| index).collect()
}
