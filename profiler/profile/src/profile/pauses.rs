//! The times in which a recording was paused: new blocks were not recorded then.

use super::Process;
use crate::units::{Nanos, counted, joined};
use serde::Serialize;

/// More pauses than this are only counted in the sentence.
const PAUSES_NAMED: usize = 3;

/// The pauses of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pauses {
    /// Number of pauses.
    pub count: u64,
    /// Nanoseconds in pauses.
    pub paused_ns: u64,
    /// The first pauses, oldest first. A recording keeps 32.
    pub first: Vec<Pause>,
    /// `true` if the recording was paused when it was read, or when it ended.
    pub is_open: bool,
}

/// One pause. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pause {
    /// Nanoseconds from the start of the recording to its beginning.
    pub begin_ns: u64,
    /// Nanoseconds from the start of the recording to its end; `None` if it had not ended.
    pub end_ns: Option<u64>,
}

impl Process {
    /// Returns the time for which new blocks were recorded, in nanoseconds.
    pub fn recorded_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.pauses.paused_ns)
    }

    /// Returns the duration of the recording, and the part of it that was recorded if that is less:
    /// `2.00 s of 5.00 s`.
    pub fn duration(&self) -> String {
        let all = Nanos(self.duration_ns);
        if self.pauses.count == 0 {
            all.to_string()
        } else {
            format!("{} of {all}", Nanos(self.recorded_ns()))
        }
    }

    /// Returns the sentences that say when nothing was recorded.
    pub(super) fn unrecorded(&self) -> Option<String> {
        let pauses = &self.pauses;
        if pauses.count == 0 {
            return None;
        }
        let named = pauses.first.iter().take(PAUSES_NAMED);
        let mut when: Vec<String> = named.map(|pause| self.when(*pause)).collect();
        let more = pauses.count.saturating_sub(when.len() as u64);
        if more > 0 {
            let what = if when.is_empty() {
                "pause"
            } else {
                "more pause"
            };
            when.push(format!("in {}", counted(more, what)));
        }
        let when = joined(&when);
        let sum = if pauses.count > 1 {
            format!(" ({} in total)", Nanos(pauses.paused_ns))
        } else {
            String::new()
        };
        Some(format!(
            "Paused {when}{sum}: blocks allocated then are not recorded, so totals, peak and live \
             are those of the recorded time."
        ))
    }

    fn when(&self, pause: Pause) -> String {
        let begin = Nanos(pause.begin_ns);
        let end = pause.end_ns.filter(|end| *end < self.duration_ns);
        // A recording that begins with a pause needs a few microseconds to begin.
        let is_first = pause.begin_ns < 1_000_000 && pause.begin_ns < self.duration_ns / 100;
        match end {
            Some(end) if is_first => format!("until {}", Nanos(end)),
            Some(end) => format!("from {begin} to {}", Nanos(end)),
            None if is_first => "from the beginning to the end".to_owned(),
            None => format!("from {begin} on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn paused(pauses: &[(u64, Option<u64>)], count: u64) -> Process {
        let first = pauses.iter().map(|(begin_ns, end_ns)| Pause {
            begin_ns: *begin_ns,
            end_ns: *end_ns,
        });
        Process {
            duration_ns: 10 * S,
            pauses: Pauses {
                count,
                paused_ns: 4 * S,
                first: first.collect(),
                ..Pauses::default()
            },
            ..Process::default()
        }
    }

    #[test]
    fn pauses_are_said_with_their_times() {
        assert_eq!(paused(&[], 0).unrecorded(), None);
        for (pauses, count, expected) in [
            (&[(5_000, Some(2 * S))][..], 1, "until 2.00 s:"),
            (&[(5_000, None)], 1, "from the beginning to the end:"),
            (&[(2 * S, Some(3 * S))], 1, "from 2.00 s to 3.00 s:"),
            (&[(2 * S, None)], 1, "from 2.00 s on:"),
            (&[(2 * S, Some(10 * S))], 1, "from 2.00 s on:"),
            (
                &[(0, Some(S)), (6 * S, None)],
                2,
                "until 1.00 s and from 6.00 s on (4.00 s in total):",
            ),
            (
                &[(S, Some(2 * S)); 32],
                1_000,
                "from 1.00 s to 2.00 s, from 1.00 s to 2.00 s, from 1.00 s to 2.00 s and in 997 \
                 more pauses (4.00 s in total):",
            ),
        ] {
            let said = paused(pauses, count).unrecorded().expect("a sentence");
            assert!(said.starts_with(&format!("Paused {expected}")), "{said}");
        }
        assert_eq!(paused(&[(S, None)], 1).duration(), "6.00 s of 10.00 s");
    }
}
