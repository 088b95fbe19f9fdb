//! Which views there are.

/// The views, in the order of their tabs and digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewId {
    /// Totals, timeline and top owners.
    #[default]
    Overview,
    /// Stacks as an icicle of frames, width by the measure.
    Flamegraph,
    /// What blocks hold, as a table, and live values that were measured.
    Types,
    /// The places in the data that was deserialized, as a tree.
    Fields,
    /// Where blocks came from, as a table, with stack and source.
    Sites,
    /// Threads, merged by name.
    Threads,
    /// Arenas, and what lies inside their chunks.
    Arenas,
}

impl ViewId {
    /// Every view, in the order of the tabs.
    pub const ALL: [ViewId; 7] = [
        ViewId::Overview,
        ViewId::Flamegraph,
        ViewId::Types,
        ViewId::Fields,
        ViewId::Sites,
        ViewId::Threads,
        ViewId::Arenas,
    ];

    /// The word on its tab.
    pub fn title(self) -> &'static str {
        match self {
            ViewId::Overview => "Overview",
            ViewId::Flamegraph => "Flamegraph",
            ViewId::Types => "Types",
            ViewId::Fields => "Fields",
            ViewId::Sites => "Sites",
            ViewId::Threads => "Threads",
            ViewId::Arenas => "Arenas",
        }
    }

    /// The word on its tab where there is little room.
    pub(crate) fn short_title(self) -> &'static str {
        match self {
            ViewId::Overview => "Home",
            ViewId::Flamegraph => "Flame",
            ViewId::Types => "Type",
            ViewId::Fields => "Field",
            ViewId::Sites => "Site",
            ViewId::Threads => "Thread",
            ViewId::Arenas => "Arena",
        }
    }

    /// The view `by` tabs further, round the end.
    pub(crate) fn step(self, by: usize) -> ViewId {
        let at = ViewId::ALL.iter().position(|v| *v == self).unwrap_or(0);
        ViewId::ALL
            .get((at + by) % ViewId::ALL.len())
            .copied()
            .unwrap_or_default()
    }
}
