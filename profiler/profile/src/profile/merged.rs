//! The sum of several recordings: what went into it, and what cannot be summed up.

use super::Profile;
use crate::units::{Bytes, counted, joined};
use serde::Serialize;
use tracking_alloc_recording::{MergedPartValue, state};

/// The recordings of which a merged recording is the sum. The names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Merged {
    /// Number of recordings.
    pub recordings: u64,
    /// Number of recordings that their programs had not finished.
    pub unfinished: u64,
    /// The start of the last recording, nanoseconds since the Unix epoch.
    pub last_started_unix_ns: u64,
    /// The smallest of the means of samples, if the recordings have samples.
    pub least_sample_bytes: u64,
    /// The largest of them.
    pub most_sample_bytes: u64,
    /// Number of marks that are left out.
    pub left_out_marks: u64,
    /// Number of snapshots that are left out.
    pub left_out_snapshots: u64,
    /// Number of measured values that are left out.
    pub left_out_footprints: u64,
}

impl Merged {
    /// Sums up the parts of a merged recording.
    pub(crate) fn of(parts: &[MergedPartValue]) -> Merged {
        let sum = |count: fn(&MergedPartValue) -> u32| {
            let counts = parts.iter().map(|part| u64::from(count(part)));
            counts.fold(0, u64::saturating_add)
        };
        let means = parts.iter().map(|part| part.sample_bytes);
        let unfinished = parts.iter().filter(|part| part.state != state::FINISHED);
        let started = parts.iter().map(|part| part.started_unix_ns);
        Merged {
            recordings: parts.len() as u64,
            unfinished: unfinished.count() as u64,
            last_started_unix_ns: started.max().unwrap_or(0),
            least_sample_bytes: means.clone().min().unwrap_or(0),
            most_sample_bytes: means.max().unwrap_or(0),
            left_out_marks: sum(|part| part.marks),
            left_out_snapshots: sum(|part| part.snapshots),
            left_out_footprints: sum(|part| part.footprints),
        }
    }

    /// Returns the sentences that must stand next to the figures.
    pub(super) fn sentences(&self) -> Vec<String> {
        let unfinished = match self.unfinished {
            0 => String::new(),
            1 => " (1 recording not finished by its program)".to_owned(),
            some => format!(
                " ({} not finished by their programs)",
                counted(some, "recording")
            ),
        };
        let mut sentences = vec![format!(
            "All figures are sums of {}{unfinished}. The peaks are sums of peaks, which the programs \
             reached at different times.",
            counted(self.recordings, "recording"),
        )];
        if self.least_sample_bytes != self.most_sample_bytes {
            sentences.push(format!(
                "The recordings have samples with different means, {} to {}; intervals are those of \
                 the largest.",
                Bytes(self.least_sample_bytes),
                Bytes(self.most_sample_bytes)
            ));
        }
        let counts = [
            (self.left_out_marks, "mark"),
            (self.left_out_snapshots, "snapshot"),
            (self.left_out_footprints, "measured value"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut left_out: Vec<String> = counts.map(|(count, what)| counted(count, what)).collect();
        let others = [
            "timelines",
            "checkpoints",
            "resident memory",
            "histories of arenas",
        ];
        left_out.extend(others.map(str::to_owned));
        sentences.push(format!(
            "Left out, because they are of single programs: {}.",
            joined(&left_out)
        ));
        sentences
    }
}

impl Profile {
    /// Returns the words for the figures at the peak: `the peak`, or `the sum of peaks`.
    pub fn the_peak(&self) -> &'static str {
        match self.process.merged {
            Some(_) => "the sum of peaks",
            None => "the peak",
        }
    }

    /// Returns the words for the moment of the peak. A sum has several.
    pub fn peak_moment(&self) -> &'static str {
        match self.process.merged {
            Some(_) => "the peaks",
            None => "the peak",
        }
    }
}
