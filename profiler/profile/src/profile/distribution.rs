//! The sizes and lifetimes of the blocks of a site.
//!
//! This module must always say for which part of the blocks a figure is known: neither sizes nor
//! lifetimes are known for all blocks.

use super::{Figures, Measure, Profile};
use crate::units::{Bytes, Count, Share};
use smallvec::SmallVec;
use std::ops::RangeInclusive;
use tracking_alloc_recording::{class_bounds, size_class};

/// Size classes that text names; the others are counted.
const NAMED: usize = 3;

/// Sizes and lifetimes of the blocks of one site, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Distribution {
    /// Blocks allocated of each size class ([`class_bounds`]); a realloc counts with its new size.
    /// Fewer than [`Figures::total_blocks`] where sizes were not recorded. Classes rise; mostly
    /// there is one, which needs no memory of its own.
    pub(crate) sizes: SmallVec<[(u16, u64); 1]>,
    /// Sum of the lifetimes of blocks that the thread freed which had allocated them: its
    /// allocations, reallocs included, from the block's allocation to its free. A realloc ends no
    /// lifetime; the free counts at the last site.
    pub lifetime: u64,
    /// Number of blocks in that sum. Small blocks (up to 16 bytes) do not keep the time of their
    /// allocation.
    pub lifetime_blocks: u64,
    /// Blocks above 16 bytes that another thread freed.
    pub freed_elsewhere: u64,
}

impl Distribution {
    /// Adds `other` to `self`. Saturates: a hostile recording may claim any figures.
    pub fn add(&mut self, other: &Distribution) {
        for (class, blocks) in &other.sizes {
            self.add_size(*class, *blocks);
        }
        self.lifetime = self.lifetime.saturating_add(other.lifetime);
        self.lifetime_blocks = self.lifetime_blocks.saturating_add(other.lifetime_blocks);
        self.freed_elsewhere = self.freed_elsewhere.saturating_add(other.freed_elsewhere);
    }

    /// Adds blocks of one size.
    pub fn add_blocks(&mut self, bytes: u64, blocks: u64) {
        self.add_size(size_class(bytes), blocks);
    }

    pub(crate) fn add_size(&mut self, class: u16, blocks: u64) {
        match self.sizes.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(at) => self.sizes[at].1 = self.sizes[at].1.saturating_add(blocks),
            Err(at) => self.sizes.insert(at, (class, blocks)),
        }
    }

    /// Returns the number of each size class and its blocks, the smallest first.
    pub fn numbered_classes(&self) -> &[(u16, u64)] {
        &self.sizes
    }

    /// The size classes, smallest first: the sizes that belong to one, bytes, and its blocks.
    pub fn classes(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        self.sizes.iter().map(|(class, blocks)| {
            let (low, high) = class_bounds(*class);
            (low..=high, *blocks)
        })
    }

    /// Blocks whose size is known.
    pub fn sized_blocks(&self) -> u64 {
        let blocks = self.sizes.iter().map(|(_, blocks)| *blocks);
        blocks.fold(0, u64::saturating_add)
    }

    /// Returns the number of freed blocks whose allocating thread is known.
    pub fn known_blocks(&self) -> u64 {
        self.lifetime_blocks.saturating_add(self.freed_elsewhere)
    }

    /// Returns the mean lifetime in allocations of the thread; `None` if it is known for no block.
    pub fn mean_lifetime(&self) -> Option<f64> {
        (self.lifetime_blocks > 0).then(|| self.lifetime as f64 / self.lifetime_blocks as f64)
    }

    /// Returns the share of the freed blocks whose allocating thread is known. Reallocated blocks
    /// count as freed. `figures` are the figures of the same blocks.
    pub fn known_share(&self, figures: &Figures) -> Share {
        Share::of(self.known_blocks(), figures.freed_blocks)
    }

    /// Returns the share of blocks that another thread freed, among those whose allocating thread
    /// is known.
    pub fn freed_elsewhere_share(&self) -> Share {
        Share::of(self.freed_elsewhere, self.known_blocks())
    }

    /// For people: sizes, the most frequent first, lifetime, what another thread freed. `figures`
    /// are those of the same blocks.
    pub(super) fn details(&self, figures: &Figures) -> Vec<String> {
        let mut details = Vec::new();
        if !self.sizes.is_empty() {
            details.push(self.sizes_text(figures));
        }
        let known = self.known_share(figures);
        if let Some(mean) = self.mean_lifetime() {
            let mean = if mean < 100.0 {
                format!("{mean:.1}")
            } else {
                Count(mean.round() as u64).to_string()
            };
            details.push(format!("lifetime {mean} allocations (of {known} of freed)"));
        }
        if self.freed_elsewhere > 0 {
            details.push(format!("freed elsewhere {}", self.freed_elsewhere_share()));
        }
        details
    }

    fn sizes_text(&self, figures: &Figures) -> String {
        if figures.samples().is_some() {
            return self.sampled_sizes_text();
        }
        let mut classes: Vec<(RangeInclusive<u64>, u64)> = self.classes().collect();
        classes.sort_by_key(|(_, blocks)| std::cmp::Reverse(*blocks));
        let mut named: Vec<String> = classes
            .iter()
            .take(NAMED)
            .map(|(bytes, blocks)| format!("{} ({})", sizes_of_class(bytes), Count(*blocks)))
            .collect();
        if classes.len() > NAMED {
            named.push(format!("{} more", classes.len() - NAMED));
        }
        let total_blocks = figures.total_blocks;
        let unknown = total_blocks.saturating_sub(self.sized_blocks());
        if unknown > 0 {
            named.push(format!("unknown ({})", Count(unknown)));
        }
        if named.len() > 1 && total_blocks > 0 {
            let mean = figures.total_bytes as f64 / total_blocks as f64;
            named.push(format!("mean {}", Bytes(mean.round() as u64)));
        }
        format!("sizes {}", named.join(", "))
    }

    /// The sizes without numbers of blocks, the smallest first: small blocks may never have been
    /// sampled.
    fn sampled_sizes_text(&self) -> String {
        let classes = self.classes().take(NAMED);
        let mut named: Vec<String> = classes.map(|(bytes, _)| sizes_of_class(&bytes)).collect();
        let more = self.classes().count().saturating_sub(NAMED);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        format!("sampled sizes {}", named.join(", "))
    }
}

impl Profile {
    /// Sizes and lifetimes of all blocks of some sites, by their indexes.
    pub fn distribution(&self, sites: &[usize]) -> Distribution {
        let mut sum = Distribution::default();
        let sites = sites.iter().filter_map(|site| self.sites.get(*site));
        sites.for_each(|site| sum.add(&site.distribution));
        sum
    }

    /// The sizes that the largest block of some sites may have had, bytes, if it explains most of
    /// what they hold by a measure of bytes: more than half, and there are other blocks. `figures`
    /// are those of the same sites.
    pub fn dominant_block(
        &self,
        sites: &[usize],
        figures: &Figures,
        measure: Measure,
    ) -> Option<RangeInclusive<u64>> {
        let (bytes, blocks) = (measure.of(figures), measure.blocks(figures).0);
        if blocks.value < 2 || !matches!(measure, Measure::Peak | Measure::Live | Measure::Total) {
            return None;
        }
        let of_site = |site: &usize| self.sites.get(*site)?.distribution.sizes.last().copied();
        let (class, _) = sites.iter().filter_map(of_site).max()?;
        let (low, high) = class_bounds(class);
        (low <= bytes && low > bytes / 2).then_some(low..=high)
    }
}

/// Spells [`Profile::dominant_block`]: `largest block 16.0-20.0 MiB`.
pub fn dominant_block_text(bytes: &RangeInclusive<u64>) -> String {
    format!("largest block {}", sizes_of_class(bytes))
}

/// `24 B`, `33-40 B`, `1.0-1.3 KiB`
fn sizes_of_class(bytes: &RangeInclusive<u64>) -> String {
    let high = Bytes(*bytes.end()).to_string();
    if bytes.start() == bytes.end() {
        return high;
    }
    let low = Bytes(*bytes.start()).to_string();
    let unit = high.split_once(' ').map_or("", |(_, unit)| unit);
    let low = low.strip_suffix(unit).unwrap_or(&low).trim_end();
    format!("{low}-{high}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(pairs: &[(u64, u64)]) -> Distribution {
        let mut sizes = Distribution::default();
        for (bytes, blocks) in pairs {
            sizes.add_blocks(*bytes, *blocks);
        }
        sizes
    }

    #[test]
    fn sums_of_sites_are_the_sums_of_their_blocks() {
        let mut sum = Distribution {
            lifetime: 9,
            lifetime_blocks: 2,
            freed_elsewhere: 1,
            ..sizes(&[(24, 3), (40, 1)])
        };
        sum.add(&Distribution {
            lifetime: 3,
            lifetime_blocks: 2,
            freed_elsewhere: 3,
            ..sizes(&[(24, 2), (5000, 7)])
        });
        let classes: Vec<_> = sum.classes().collect();
        assert_eq!(classes, [(24..=24, 5), (33..=40, 1), (4097..=5120, 7)]);
        assert_eq!((sum.sized_blocks(), sum.known_blocks()), (13, 8));
        assert_eq!(sum.mean_lifetime(), Some(12.0 / 4.0));
        assert_eq!(sum.freed_elsewhere_share(), Share::of(4, 8));
    }

    #[test]
    fn text_names_the_most_frequent_sizes_and_what_is_not_known() {
        let figures = Figures {
            total_blocks: 16,
            total_bytes: 16 * 200 - 3,
            freed_blocks: 10,
            ..Figures::default()
        };
        let known = Distribution {
            lifetime: 27,
            lifetime_blocks: 6,
            freed_elsewhere: 2,
            ..sizes(&[(8, 1), (24, 2), (40, 7), (1 << 20, 1), (1100, 4)])
        };
        assert_eq!(
            known.details(&figures),
            [
                "sizes 33-40 B (7), 1.0-1.3 KiB (4), 24 B (2), 2 more, unknown (1), mean 200 B",
                "lifetime 4.5 allocations (of 80.0 % of freed)",
                "freed elsewhere 25.0 %",
            ]
        );
        assert_eq!(sizes_of_class(&(786_433..=1_048_576)), "768.0 KiB-1.0 MiB");
        let of_mean = |lifetime: u64| Distribution {
            lifetime,
            lifetime_blocks: 10,
            ..Distribution::default()
        };
        let told = [999, 1_000, 12_345_678].map(|lifetime| of_mean(lifetime).details(&figures));
        let expected = ["99.9", "100", "1,234,568"];
        for (told, mean) in told.iter().zip(expected) {
            assert_eq!(
                *told,
                [format!("lifetime {mean} allocations (of 100.0 % of freed)")]
            );
        }
        assert!(Distribution::default().details(&figures).is_empty());
        let elsewhere = Distribution {
            freed_elsewhere: 5,
            ..Distribution::default()
        };
        assert_eq!(elsewhere.details(&figures), ["freed elsewhere 100.0 %"]);
    }
}
