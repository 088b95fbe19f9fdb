//! The thirteen figures that every row carries, and the measures a frontend can order by.
//!
//! One definition for report, SVG, TUI and JSON: the serialized names are the JSON keys.

use super::State;
use super::estimate::{Interval, Number, Samples};
use crate::units::{Bytes, Count, Share};
use rustc_hash::FxHashMap;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use std::cmp::Reverse;
use std::hash::Hash;

/// Defines a struct of figures, with its addition and the list of its keys.
macro_rules! figures {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: u64,)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
            /// The samples behind the figures; `None` if they are no estimates, as nearly always.
            #[serde(skip)]
            pub(crate) samples: Option<Box<Samples>>,
        }

        impl $name {
            /// Adds `other` to `self`, column by column. Saturates: a hostile recording may claim
            /// any figures.
            pub fn add(&mut self, other: &$name) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
                if let Some(samples) = &other.samples {
                    self.samples.get_or_insert_default().add(samples);
                }
            }
        }

        /// All figures, in the order they are written.
        pub const FIGURES: [Figure; [$(stringify!($field)),*].len()] =
            [$((stringify!($field), |figures| figures.$field)),*];
    };
}

figures! {
    /// The counts of one row: a site, a thread, a phase or the whole process.
    ///
    /// `total_*` counts every allocation and, in full, the new size of every realloc; `freed_*`
    /// counts frees and the old side of every realloc, as DHAT and heaptrack do. `peak_*` is the
    /// row's value at the moment of the global maximum (t-gmax), never the row's own maximum, so
    /// rows add up.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
    pub struct Figures {
        /// Bytes allocated.
        pub total_bytes: u64,
        /// Blocks allocated.
        pub total_blocks: u64,
        /// Bytes given back.
        pub freed_bytes: u64,
        /// Blocks given back.
        pub freed_blocks: u64,
        /// Bytes not given back at the end of the recording (or now, when the program still runs).
        pub live_bytes: u64,
        /// Blocks not given back.
        pub live_blocks: u64,
        /// Bytes live at the moment of the global maximum.
        pub peak_bytes: u64,
        /// Blocks live at that moment.
        pub peak_blocks: u64,
        /// Reallocs to the same or a larger size.
        pub grows: u64,
        /// Reallocs to a smaller size.
        pub shrinks: u64,
        /// `min(old, new)` bytes of every realloc that moved its block: an upper bound of what was
        /// copied.
        pub copied_bytes: u64,
        /// Blocks freed by their thread before it allocated another one.
        pub temporary_blocks: u64,
        /// Bytes of those blocks.
        pub temporary_bytes: u64,
    }
}

/// Each figure under its key; of an estimate also the ends of its interval, as `peak_bytes_low` and
/// `peak_bytes_high`. The upper end is null for blocks and other events.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        for (key, figure) in FIGURES {
            serialize_figure(&mut json, key, Some(figure(self)), self.interval(key))?;
        }
        json.end()
    }
}

/// Writes a figure, and the ends of its interval if it is an estimate.
pub fn serialize_figure<M: SerializeMap>(
    json: &mut M,
    key: &str,
    figure: Option<u64>,
    interval: Option<Interval>,
) -> Result<(), M::Error> {
    json.serialize_entry(key, &figure)?;
    if let Some(Interval { low, high }) = interval {
        json.serialize_entry(&format!("{key}_low"), &figure.map(|_| low))?;
        json.serialize_entry(&format!("{key}_high"), &figure.and(high))?;
    }
    Ok(())
}

impl Figures {
    /// Returns the samples behind the figures; `None` if every event was recorded.
    pub fn samples(&self) -> Option<&Samples> {
        self.samples.as_deref()
    }

    /// Returns figures of which only an estimate of live bytes is known.
    pub fn estimated_live(live_bytes: u64, mean: u64) -> Figures {
        Figures {
            live_bytes,
            samples: Some(Box::new(Samples::at_most(mean, [0, live_bytes, 0]))),
            ..Figures::default()
        }
    }

    /// Returns the interval of the figure with a key, `peak_bytes` for one. `None` if it is exact.
    pub fn interval(&self, key: &str) -> Option<Interval> {
        let samples = self.samples()?;
        let (_, figure) = FIGURES.into_iter().find(|(known, _)| *known == key)?;
        Some(samples.interval(key, figure(self)))
    }

    /// Returns the number of blocks or events with a key, `peak_blocks` for one: a lower bound if
    /// samples were taken.
    pub fn number(&self, key: &str) -> Number {
        let figure = FIGURES.into_iter().find(|(known, _)| *known == key);
        self.number_of(key, figure.map_or(0, |(_, figure)| figure(self)))
    }

    /// Returns the most bytes that reallocations copied.
    pub fn most_copied_bytes(&self) -> u64 {
        // The upper end of an estimate is a bound, the estimate itself is none.
        let high = self.interval("copied_bytes").and_then(|ends| ends.high);
        high.unwrap_or(self.copied_bytes)
    }

    /// Returns the number of reallocations.
    pub fn reallocs(&self) -> Number {
        self.number_of("reallocs", self.grows.saturating_add(self.shrinks))
    }

    fn number_of(&self, key: &str, value: u64) -> Number {
        match self.samples() {
            Some(samples) => Number {
                value: samples.interval(key, value).low,
                is_lower_bound: true,
            },
            None => Number::exact(value),
        }
    }

    /// Makes figures estimates that no sample is behind, if they are none yet: what was never
    /// sampled is not known to be 0.
    pub(crate) fn estimate_from(&mut self, mean: u64) {
        self.samples
            .get_or_insert_with(|| Box::new(Samples::none(mean)));
    }

    /// Returns `true` if a sum reached its limit: only what a damaged recording claims does.
    pub(crate) fn saturated(&self) -> bool {
        FIGURES.iter().any(|(_, figure)| figure(self) == u64::MAX)
    }
}

/// Figures by key, added up, the largest total first.
pub fn sums<K: Copy + Eq + Hash + Ord>(
    figures: impl Iterator<Item = (K, Figures)>,
) -> Vec<(K, Figures)> {
    let mut sums: FxHashMap<K, Figures> = FxHashMap::default();
    for (key, figures) in figures {
        sums.entry(key).or_default().add(&figures);
    }
    let mut sums: Vec<(K, Figures)> = sums.into_iter().collect();
    sums.sort_by_key(|(key, figures)| (Reverse(figures.total_bytes), *key));
    sums
}

/// A figure of a row: its key, and how it is read.
pub type Figure = (&'static str, fn(&Figures) -> u64);

/// A figure by which a frontend orders and sizes its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Bytes live at the global maximum.
    #[default]
    Peak,
    /// Bytes live at exit.
    Live,
    /// Bytes allocated.
    Total,
    /// Blocks allocated.
    Blocks,
    /// Bytes of blocks freed by their thread before it allocated another one.
    Temporary,
    /// Bytes copied by reallocs that moved.
    Copied,
    /// Reallocs to the same or a larger size.
    Grows,
    /// Of a snapshot: bytes of the blocks, and of all blocks that would be freed with them.
    Retained,
    /// Of a snapshot: unused capacity of containers, and nothing else.
    Unused,
}

impl Measure {
    /// Every measure, in the order frontends offer them.
    pub const ALL: [Measure; 9] = [
        Measure::Peak,
        Measure::Live,
        Measure::Total,
        Measure::Blocks,
        Measure::Temporary,
        Measure::Copied,
        Measure::Grows,
        Measure::Retained,
        Measure::Unused,
    ];

    /// The measures of counters, in the order frontends offer them.
    pub const COUNTED: [Measure; 7] = {
        let [counted @ .., _, _] = Measure::ALL;
        counted
    };

    /// The measures of snapshots, in the order frontends offer them.
    pub const OF_SNAPSHOTS: [Measure; 2] = {
        let [.., retained, unused] = Measure::ALL;
        [retained, unused]
    };

    /// Its word on the command line, the key of its figure, and a heading.
    fn names(self) -> [&'static str; 3] {
        match self {
            Measure::Peak => ["peak", "peak_bytes", "bytes live at the peak"],
            Measure::Live => ["live", "live_bytes", "bytes live at the end"],
            Measure::Total => ["total", "total_bytes", "bytes allocated"],
            Measure::Blocks => ["blocks", "total_blocks", "blocks allocated"],
            Measure::Temporary => ["temporary", "temporary_bytes", "temporary bytes"],
            Measure::Copied => ["copied", "copied_bytes", "bytes copied by growth"],
            Measure::Grows => ["grows", "grows", "grows"],
            Measure::Retained => ["retained", "retained_bytes", "bytes retained"],
            Measure::Unused => ["unused", "unused_bytes", "bytes of unused capacity"],
        }
    }

    /// Returns the word of the command line: `peak`, `live`, ...
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Returns the key of its figure in JSON: `peak_bytes`, `total_blocks`, ...
    pub fn key(self) -> &'static str {
        self.names()[1]
    }

    /// Returns a heading for people, for a recording that has ended.
    pub fn title(self) -> &'static str {
        self.names()[2]
    }

    /// Returns the word for people, for a recording in that state: that of the command line, or
    /// `sum of peaks`.
    pub fn name_in(self, state: State) -> &'static str {
        match (self, state) {
            (Measure::Peak, State::Merged) => "sum of peaks",
            _ => self.name(),
        }
    }

    /// Returns a heading for people, for a recording in that state. A program that still runs has
    /// no figures at its exit.
    pub fn title_in(self, state: State) -> &'static str {
        match (self, state) {
            (Measure::Live, State::Running) => "bytes live now",
            (Measure::Live, State::Copied) => "bytes live when packed",
            (Measure::Peak, State::Merged) => "sums of peaks",
            (Measure::Peak | Measure::Live | Measure::Total, State::NotRecorded) => "bytes found",
            (Measure::Live, State::Merged) => "bytes live at the ends, summed up",
            _ => self.title(),
        }
    }

    /// Returns `true` if the measure is a figure of a snapshot, `false` if it is a counter of the
    /// recording.
    pub fn is_of_snapshots(self) -> bool {
        matches!(self, Measure::Retained | Measure::Unused)
    }

    /// Returns `true` if the measure counts bytes, `false` if it counts blocks or events.
    pub fn is_bytes(self) -> bool {
        !matches!(self, Measure::Blocks | Measure::Grows)
    }

    /// Formats a figure in the unit of the measure, for people: bytes, or a count.
    pub fn amount(self, value: u64) -> String {
        if self.is_bytes() {
            Bytes(value).to_string()
        } else {
            Count(value).to_string()
        }
    }

    /// Formats a difference in the unit of the measure, with its sign: `+1.8 MiB`, `-12`, `0 B`.
    pub fn difference(self, difference: i128) -> String {
        let size = u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX);
        let sign = match difference {
            0 => "",
            1.. => "+",
            _ => "-",
        };
        format!("{sign}{}", self.amount(size))
    }

    /// Returns the count that goes with the measure, and its noun: blocks, or events for a measure
    /// that does not count blocks.
    pub fn blocks(self, figures: &Figures) -> (Number, &'static str) {
        let key = match self {
            Measure::Peak => "peak_blocks",
            Measure::Live => "live_blocks",
            Measure::Total | Measure::Blocks => "total_blocks",
            Measure::Temporary => "temporary_blocks",
            // Counters have no such blocks.
            Measure::Retained | Measure::Unused => return (Number::exact(0), "blocks"),
            Measure::Copied | Measure::Grows => return (figures.reallocs(), "reallocs"),
        };
        (figures.number(key), "blocks")
    }

    /// Returns the mean size of the blocks that this measure counts, bytes. Copied bytes and
    /// reallocations have no blocks of their own: like [`Measure::Peak`], they use the blocks live
    /// at the peak. `None` if there are no blocks, or if their number is not known because samples
    /// were taken.
    pub fn mean_block_bytes(self, figures: &Figures) -> Option<u64> {
        if figures.samples().is_some() {
            return None;
        }
        let (bytes, blocks) = match self {
            Measure::Peak | Measure::Copied | Measure::Grows => {
                (figures.peak_bytes, figures.peak_blocks)
            }
            Measure::Live => (figures.live_bytes, figures.live_blocks),
            Measure::Total | Measure::Blocks => (figures.total_bytes, figures.total_blocks),
            Measure::Temporary => (figures.temporary_bytes, figures.temporary_blocks),
            Measure::Retained | Measure::Unused => return None,
        };
        bytes.checked_div(blocks)
    }

    /// Returns the figure of this measure. It is 0 for measures of snapshots: no counter has them.
    pub fn of(self, figures: &Figures) -> u64 {
        match self {
            Measure::Peak => figures.peak_bytes,
            Measure::Live => figures.live_bytes,
            Measure::Total => figures.total_bytes,
            Measure::Blocks => figures.total_blocks,
            Measure::Temporary => figures.temporary_bytes,
            Measure::Copied => figures.copied_bytes,
            Measure::Grows => figures.grows,
            Measure::Retained | Measure::Unused => 0,
        }
    }

    /// Returns the figure of this measure that people are shown: bytes, or the number of blocks or
    /// events that is certain.
    pub fn shown(self, figures: &Figures) -> u64 {
        if self.is_bytes() || figures.samples().is_none() {
            self.of(figures)
        } else {
            figures.number(self.key()).value
        }
    }

    /// Returns the part of `whole` that figures are by this measure. `None` if both are lower
    /// bounds, whose ratio says nothing.
    pub fn share(self, figures: &Figures, whole: u64) -> Option<Share> {
        let is_known = self.is_bytes() || figures.samples().is_none();
        is_known.then(|| Share::of(self.of(figures), whole))
    }

    /// Formats the figure of this measure for people: `1.2 MiB`, `12`, `>=12`.
    pub fn text(self, figures: &Figures) -> String {
        if self.is_bytes() {
            self.amount(self.of(figures))
        } else {
            figures.number(self.key()).to_string()
        }
    }

    /// Returns the interval of the figure of this measure. `None` if it is exact.
    pub fn interval(self, figures: &Figures) -> Option<Interval> {
        figures.interval(self.key())
    }

    /// Formats the ends of an interval: `1.1 .. 2.0 MiB`, `at most 2.0 MiB`, `at least 12`.
    pub fn ends(self, Interval { low, high }: Interval) -> String {
        let low = self.amount(low);
        let Some(high) = high else {
            return format!("at least {low}");
        };
        let high = self.amount(high);
        if low == self.amount(0) {
            return format!("at most {high}");
        }
        match (low.split_once(' '), high.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => {
                format!("{number} .. {high}")
            }
            _ => format!("{low} .. {high}"),
        }
    }

    /// Returns the measure of counters with that name, or `None`.
    pub fn from_name(name: &str) -> Option<Measure> {
        Measure::COUNTED.into_iter().find(|m| m.name() == name)
    }
}
