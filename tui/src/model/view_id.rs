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
        self.titles().0
    }

    /// The word on its tab on a narrow screen.
    pub(crate) fn short_title(self) -> &'static str {
        self.titles().1
    }

    fn titles(self) -> (&'static str, &'static str) {
        match self {
            ViewId::Overview => ("Overview", "Home"),
            ViewId::Flamegraph => ("Flamegraph", "Flame"),
            ViewId::Types => ("Types", "Type"),
            ViewId::Fields => ("Fields", "Field"),
            ViewId::Sites => ("Sites", "Site"),
            ViewId::Threads => ("Threads", "Thread"),
            ViewId::Arenas => ("Arenas", "Arena"),
        }
    }

    /// Its place among the tabs.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// The view `by` tabs further, round the end.
    pub(crate) fn step(self, by: usize) -> ViewId {
        let at = (self.index() + by) % ViewId::ALL.len();
        ViewId::ALL.get(at).copied().unwrap_or_default()
    }
}
