//! Rates of a running program: what was allocated between two readings of its recording.

use std::collections::HashMap;

use super::text::count_per_second;
use crate::profile::Profile;
use crate::table::{Row, bytes_per_second};

/// The bytes and blocks that each row of a grouping had allocated when the recording was read.
#[derive(Clone, Debug, Default)]
pub struct Allocated {
    time_ns: u64,
    /// By the key of the row.
    rows: HashMap<String, (u64, u64)>,
}

/// Bytes and blocks allocated for each second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rate {
    /// Bytes for each second.
    pub bytes: f64,
    /// Blocks for each second.
    pub blocks: f64,
}

impl Allocated {
    /// Returns what each of these rows of a profile had allocated.
    pub fn of<'r>(profile: &Profile, rows: impl IntoIterator<Item = &'r Row>) -> Allocated {
        let figures = rows.into_iter().map(|row| {
            let allocated = (row.figures.total_bytes, row.figures.total_blocks);
            (row.key.clone(), allocated)
        });
        Allocated {
            time_ns: profile.process().duration_ns,
            rows: figures.collect(),
        }
    }

    /// Returns what each row allocated for each second since an earlier reading. Leaves out rows
    /// that allocated nothing. `None` if there is no time between the two.
    pub fn rates_since(&self, earlier: &Allocated) -> Option<HashMap<String, Rate>> {
        let span_ns = self.time_ns.checked_sub(earlier.time_ns)?;
        if span_ns == 0 {
            return None;
        }
        let each_second = |figure: u64| figure as f64 * 1e9 / span_ns as f64;
        let rates = self.rows.iter().filter_map(|(key, &(bytes, blocks))| {
            let before = earlier.rows.get(key).copied().unwrap_or_default();
            let more = (
                bytes.saturating_sub(before.0),
                blocks.saturating_sub(before.1),
            );
            let rate = Rate {
                bytes: each_second(more.0),
                blocks: each_second(more.1),
            };
            (more != (0, 0)).then(|| (key.clone(), rate))
        });
        Some(rates.collect())
    }
}

impl Rate {
    /// Spells the bytes: `1.2 MiB/s`.
    pub fn bytes_text(&self) -> String {
        bytes_per_second(self.bytes)
    }

    /// Spells the blocks: `20,000`.
    pub fn blocks_text(&self) -> String {
        count_per_second(self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(time_ns: u64, rows: &[(&str, u64, u64)]) -> Allocated {
        let rows = rows.iter();
        Allocated {
            time_ns,
            rows: rows
                .map(|(key, bytes, blocks)| ((*key).to_owned(), (*bytes, *blocks)))
                .collect(),
        }
    }

    #[test]
    fn rates_are_of_the_time_between_two_readings() {
        let earlier = reading(1_000_000_000, &[("a", 100, 1), ("b", 5, 5)]);
        let later = reading(
            1_500_000_000,
            &[("a", 1_124, 3), ("b", 5, 5), ("c", 10, 10)],
        );
        let rates = later.rates_since(&earlier).expect("time");
        assert_eq!(rates["a"].bytes_text(), "2.0 KiB/s");
        assert_eq!(rates["c"].blocks_text(), "20");
        assert!(!rates.contains_key("b"), "nothing new");
        assert!(earlier.rates_since(&later).is_none());
        assert!(earlier.rates_since(&earlier).is_none());
    }
}
