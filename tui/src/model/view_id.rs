//! The identifiers of the views.

/// The views, in the order of their tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewId {
    /// Totals, timeline and top owners.
    #[default]
    Overview,
    /// Stacks as an icicle of frames, width by the measure.
    Flamegraph,
    /// Types of blocks, as a table, and measured live values.
    Types,
    /// Fields of the deserialized data, as a tree.
    Fields,
    /// Sites, as a table, with stack and source.
    Sites,
    /// Threads, merged by name.
    Threads,
    /// Arenas, and the contents of their chunks.
    Arenas,
    /// The heap at each moment that the recording keeps, and the growth between two.
    Time,
    /// Live blocks: what grows, and what is left at exit.
    Leaks,
    /// The holders of the heap in a snapshot, as a tree.
    Heap,
    /// Changes that save memory.
    Advice,
    /// Phases of the program, as a tree.
    Phases,
}

impl ViewId {
    /// Every view, in the order of the tabs.
    pub const ALL: [ViewId; 12] = [
        ViewId::Overview,
        ViewId::Flamegraph,
        ViewId::Types,
        ViewId::Fields,
        ViewId::Sites,
        ViewId::Threads,
        ViewId::Arenas,
        ViewId::Time,
        ViewId::Leaks,
        ViewId::Heap,
        ViewId::Advice,
        ViewId::Phases,
    ];

    /// Returns the title on the tab.
    pub fn title(self) -> &'static str {
        self.titles().0
    }

    /// Returns the title on the tab for a narrow screen.
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
            ViewId::Time => ("Time", "Time"),
            ViewId::Leaks => ("Leaks", "Leak"),
            ViewId::Heap => ("Heap", "Heap"),
            ViewId::Advice => ("Advice", "Advice"),
            ViewId::Phases => ("Phases", "Phase"),
        }
    }

    /// Returns the key that shows the view: a digit, or a letter once there are no more digits.
    pub(crate) fn key(self) -> char {
        match self {
            ViewId::Overview => '1',
            ViewId::Flamegraph => '2',
            ViewId::Types => '3',
            ViewId::Fields => '4',
            ViewId::Sites => '5',
            ViewId::Threads => '6',
            ViewId::Arenas => '7',
            ViewId::Time => '8',
            ViewId::Leaks => '9',
            ViewId::Heap => '0',
            ViewId::Advice => 'A',
            ViewId::Phases => 'P',
        }
    }

    /// Returns the position among the tabs.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Returns the view that is `by` tabs further, wrapping around.
    pub(crate) fn step(self, by: usize) -> ViewId {
        let at = (self.index() + by) % ViewId::ALL.len();
        ViewId::ALL.get(at).copied().unwrap_or_default()
    }
}
