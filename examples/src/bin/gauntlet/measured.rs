//! What was measured of a variant: from the lines its processes printed and the recording it left.

use heapglass_examples::gauntlet::Shown;
use heapglass_profiler::profile::{Figures, Profile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One row of the table.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Measured {
    pub(crate) case: String,
    pub(crate) variant: String,
    pub(crate) with: String,
    pub(crate) allocator: String,
    /// Median of the fastest tenth of each process, nanoseconds, and how far the processes lie apart.
    pub(crate) time_ns: Option<u64>,
    pub(crate) time_spread: Option<f64>,
    /// Counted inside the window, by the names of the report's JSON.
    pub(crate) figures: BTreeMap<String, u64>,
    pub(crate) rss_bytes: u64,
    pub(crate) usable_bytes: Option<i64>,
    /// Share of the time spent in the allocator, one event in 1,024 timed.
    pub(crate) allocator_share: Option<f64>,
    pub(crate) input_bytes: u64,
    pub(crate) records: u64,
    pub(crate) notes: BTreeMap<String, f64>,
    pub(crate) recording: Option<PathBuf>,
    /// Why there is nothing, if so.
    pub(crate) failed: Option<String>,
}

impl Measured {
    /// Takes over what the counted process said.
    pub(crate) fn counted(&mut self, shown: Shown) {
        self.rss_bytes = shown.peak_rss_bytes.saturating_sub(shown.before_rss_bytes);
        self.input_bytes = shown.input_bytes;
        self.records = shown.records;
        self.figures.extend(shown.counted);
        self.notes.extend(shown.notes);
    }

    /// Takes over the figures of the window between the marks of a recording.
    pub(crate) fn recorded(&mut self, profile: &Profile) -> Result<(), String> {
        let mark = |name: &str| {
            let mark = profile.marks.iter().find(|mark| mark.name == name);
            mark.map(|mark| mark.figures)
                .ok_or_else(|| format!("its recording has no mark {name:?}"))
        };
        let (begin, end) = (mark("begin")?, mark("end")?);
        self.figures.extend(
            window(&begin, &end)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        Ok(())
    }

    /// Takes over what the closely watched process said.
    pub(crate) fn looked_at(&mut self, shown: &Shown) {
        self.usable_bytes = shown.usable_bytes;
        let time: u64 = shown.times_ns.iter().sum();
        self.allocator_share = shown
            .allocator_ns
            .filter(|_| time > 0)
            .map(|allocator| (allocator as f64 / time as f64).min(1.0));
    }

    /// Takes over the times of the timed processes.
    pub(crate) fn timed(&mut self, mut processes: Vec<u64>) {
        processes.sort_unstable();
        let (Some(least), Some(most)) = (processes.first(), processes.last()) else {
            return;
        };
        let median = processes[processes.len() / 2];
        self.time_spread = Some((most - least) as f64 / median.max(1) as f64);
        self.time_ns = Some(median);
    }

    /// A figure by its name in the table.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        match name {
            "time_ns" => self.time_ns.map(|time| time as f64),
            "rss_bytes" => Some(self.rss_bytes as f64),
            "usable_bytes" => self.usable_bytes.map(|bytes| bytes as f64),
            "allocator_share" => self.allocator_share,
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

/// The time of one process: the median of its times.
pub(crate) fn median(times: &[u64]) -> Option<u64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// What happened between two marks.
fn window(begin: &Figures, end: &Figures) -> [(&'static str, u64); 9] {
    let between = |of: fn(&Figures) -> u64| of(end).saturating_sub(of(begin));
    [
        ("total_bytes", between(|figures| figures.total_bytes)),
        ("total_blocks", between(|figures| figures.total_blocks)),
        ("live_bytes", between(|figures| figures.live_bytes)),
        ("live_blocks", between(|figures| figures.live_blocks)),
        // The mark's peak is that of the window; what lived before it is not the window's.
        (
            "peak_bytes",
            end.peak_bytes.saturating_sub(begin.live_bytes),
        ),
        (
            "peak_blocks",
            end.peak_blocks.saturating_sub(begin.live_blocks),
        ),
        ("grows", between(|figures| figures.grows)),
        ("shrinks", between(|figures| figures.shrinks)),
        ("copied_bytes", between(|figures| figures.copied_bytes)),
    ]
}
