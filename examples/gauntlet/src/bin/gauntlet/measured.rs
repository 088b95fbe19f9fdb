//! The measurement of a variant, from the lines that its processes printed and the recording that
//! they left.

use heapglass_gauntlet::{Case, Shown};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Cases, each with the rows of its variants.
pub(crate) type Rows = Vec<(&'static Case, Vec<Measured>)>;

/// One row of the table.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Measured {
    pub(crate) case: String,
    pub(crate) variant: String,
    pub(crate) with: String,
    pub(crate) allocator: String,
    /// Median of the processes' times, nanoseconds, without an instrument. `time_spread` is their
    /// range as a share of it.
    pub(crate) time_ns: Option<u64>,
    pub(crate) time_spread: Option<f64>,
    /// The processes' times, by round.
    #[serde(skip)]
    pub(crate) rounds_ns: Vec<u64>,
    /// The time divided by the baseline's time in this run.
    pub(crate) time_ratio: Option<f64>,
    /// The time of one run under the instrument, nanoseconds.
    pub(crate) counted_ns: Option<u64>,
    /// Figures counted inside the window, by the names of the report's JSON.
    pub(crate) figures: BTreeMap<String, u64>,
    pub(crate) rss_bytes: u64,
    pub(crate) usable_bytes: Option<i64>,
    /// Share of the time spent in the allocator, from one event in 1,024.
    pub(crate) allocator_share: Option<f64>,
    /// Machine code of the work, bytes; a lower bound.
    pub(crate) code_bytes: Option<u64>,
    pub(crate) input_bytes: u64,
    pub(crate) records: u64,
    pub(crate) notes: BTreeMap<String, f64>,
    pub(crate) recording: Option<PathBuf>,
    /// The reason why there are no figures, if the variant failed.
    pub(crate) failed: Option<String>,
}

impl Measured {
    /// Adds the output of the counted process.
    pub(crate) fn counted(&mut self, shown: Shown) {
        self.rss_bytes = shown.peak_rss_bytes.saturating_sub(shown.before_rss_bytes);
        self.input_bytes = shown.input_bytes;
        self.records = shown.records;
        self.counted_ns = shown.times_ns.first().copied();
        self.figures.extend(shown.counted);
        self.notes.extend(shown.notes);
    }

    /// Adds the output of the process of the share pass.
    pub(crate) fn take_share(&mut self, shown: &Shown) {
        self.usable_bytes = shown.usable_bytes;
        self.code_bytes = shown.code_bytes;
        let time: u64 = shown.times_ns.iter().sum();
        let time = time.saturating_sub(shown.overhead_ns);
        self.allocator_share = shown
            .allocator_ns
            .filter(|_| time > 0)
            .map(|allocator| allocator as f64 / time as f64)
            // A share above 1 is noise, and so would be a share cut to 1.
            .filter(|share| *share <= 1.0);
    }

    /// Adds the notes of a timed process. The notes of the last process stay; each is a median
    /// itself.
    pub(crate) fn noted(&mut self, shown: &Shown) {
        let times = shown.notes.iter().filter(|(name, _)| name.ends_with("_ns"));
        self.notes
            .extend(times.map(|(name, value)| (name.clone(), *value)));
    }

    /// Adds the times of the timed processes.
    pub(crate) fn timed(&mut self, mut processes: Vec<u64>) {
        self.rounds_ns.clone_from(&processes);
        processes.sort_unstable();
        let (Some(least), Some(most)) = (processes.first(), processes.last()) else {
            return;
        };
        let median = processes[processes.len() / 2];
        // A single process has no spread.
        self.time_spread =
            (processes.len() > 1).then(|| (most - least) as f64 / median.max(1) as f64);
        self.time_ns = Some(median);
    }

    /// Returns a figure by its name in the table.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        match name {
            "time_ns" => self.time_ns.map(|time| time as f64),
            "counted_ns" => self.counted_ns.map(|time| time as f64),
            "rss_bytes" => Some(self.rss_bytes as f64),
            "usable_bytes" => self.usable_bytes.map(|bytes| bytes as f64),
            "allocator_share" => self.allocator_share,
            "code_bytes" => self.code_bytes.map(|bytes| bytes as f64),
            "input_bytes" => Some(self.input_bytes as f64),
            "records" => Some(self.records as f64),
            _ => self
                .notes
                .get(name)
                .copied()
                .or_else(|| self.figures.get(name).map(|value| *value as f64)),
        }
    }
}

/// Returns the time of one process: a tenth of its times are at most this long. Disturbances of the
/// machine only make work longer, so the shorter times are those of the work itself.
pub(crate) fn undisturbed(times: &[u64]) -> Option<u64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 10).copied()
}
