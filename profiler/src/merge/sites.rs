//! The sums of the figures of sites, and the rows that have them.

use super::PEAK;
use crate::profile::{Distribution, Figures, Site};
use heapglass_profile::internal::SiteSamples;
use std::collections::BTreeMap;
use tracking_alloc_recording::{
    FailedRequestValue, RowValue, SITE_TABLE_FULL, SITE_UNATTRIBUTED, SIZE_COUNT_BITS, SIZE_PAIRS,
    Sampled, SamplesValue, SizesValue,
};

/// The sums by number of the site in the sum.
#[derive(Debug, Default)]
pub(super) struct Sites {
    sums: BTreeMap<u32, SiteSum>,
    /// The number of failed requests and the largest.
    failed: BTreeMap<u32, (u64, u64)>,
}

#[derive(Debug, Default)]
struct SiteSum {
    figures: Figures,
    distribution: Distribution,
    /// Allocated, live, and live at the peak.
    samples: [SampledSum; 3],
    least_bytes: u64,
}

/// A sum of samples. Variances are added as whole numbers, so that their order does not matter.
#[derive(Clone, Copy, Debug, Default)]
struct SampledSum {
    sampled: Sampled,
    variance: u128,
}

impl SampledSum {
    fn add(&mut self, more: Sampled) {
        self.variance = self.variance.saturating_add(more.variance.round() as u128);
        self.sampled = Sampled {
            hits: self.sampled.hits.saturating_add(more.hits),
            blocks: self.sampled.blocks.saturating_add(more.blocks),
            bytes: self.sampled.bytes.saturating_add(more.bytes),
            seen_bytes: self.sampled.seen_bytes.saturating_add(more.seen_bytes),
            variance: 0.0,
        };
    }

    fn value(self) -> Sampled {
        Sampled {
            variance: self.variance as f64,
            ..self.sampled
        }
    }
}

impl SiteSum {
    fn row(&self, site: u32) -> RowValue {
        let (figures, distribution) = (&self.figures, &self.distribution);
        // What was read while it was written may have freed more than it allocated; its live bytes
        // count as 0.
        let freed = |total: u64, live: u64| total.saturating_sub(live);
        RowValue {
            total_bytes: figures.total_bytes,
            total_blocks: figures.total_blocks,
            freed_bytes: freed(figures.total_bytes, figures.live_bytes),
            freed_blocks: freed(figures.total_blocks, figures.live_blocks),
            grows: figures.grows,
            shrinks: figures.shrinks,
            copied_bytes: figures.copied_bytes,
            temporary_blocks: figures.temporary_blocks,
            temporary_bytes: figures.temporary_bytes,
            lifetime_blocks: distribution.lifetime_blocks,
            lifetime: distribution.lifetime,
            freed_elsewhere: distribution.freed_elsewhere,
            saved_bytes: i64::try_from(figures.peak_bytes).unwrap_or(i64::MAX),
            saved_blocks: i64::try_from(figures.peak_blocks).unwrap_or(i64::MAX),
            clock: PEAK,
            site,
            reserved: 0,
        }
    }

    /// Returns the size records of a row. A row without such a record would have the class of its
    /// mean size, so there is always one.
    fn sizes(&self, row: u32) -> impl Iterator<Item = SizesValue> {
        const MOST: u64 = (1 << SIZE_COUNT_BITS) - 1;
        let classes = self.distribution.numbered_classes();
        let records = classes.len().div_ceil(SIZE_PAIRS).max(1);
        (0..records).map(move |record| {
            let mut pairs = [0; SIZE_PAIRS];
            let of_record = classes.iter().skip(record * SIZE_PAIRS);
            for (pair, (class, blocks)) in pairs.iter_mut().zip(of_record) {
                *pair = u64::from(*class) << SIZE_COUNT_BITS | (*blocks).min(MOST);
            }
            SizesValue {
                row,
                pairs,
                ..SizesValue::default()
            }
        })
    }

    fn samples(&self, row: u32) -> Option<SamplesValue> {
        let [allocated, live, saved] = self.samples.map(SampledSum::value);
        if allocated.hits == 0 && saved.hits == 0 {
            return None;
        }
        Some(SamplesValue {
            row,
            allocated,
            freed: allocated.minus(live),
            saved,
            clock: PEAK,
            least_bytes: self.least_bytes,
            ..SamplesValue::default()
        })
    }
}

/// The rows of the only lane.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The sum of all rows.
    pub(super) all: RowValue,
    pub(super) table_full: RowValue,
    pub(super) unattributed: RowValue,
    pub(super) rows: Vec<RowValue>,
    pub(super) sizes: Vec<SizesValue>,
    pub(super) samples: Vec<SamplesValue>,
}

impl Sites {
    /// Adds the figures of a site, with the samples behind them.
    pub(super) fn add(&mut self, number: u32, site: &Site, samples: SiteSamples) {
        let sum = self.sums.entry(number).or_default();
        sum.figures.add(&site.figures);
        sum.distribution.add(&site.distribution);
        let all = [samples.allocated, samples.live, samples.at_peak];
        for (sum, more) in sum.samples.iter_mut().zip(all) {
            sum.add(more);
        }
        let least = [sum.least_bytes, samples.least_bytes];
        let least = least.into_iter().filter(|bytes| *bytes > 0).min();
        sum.least_bytes = least.unwrap_or(0);
    }

    /// Adds refused requests of a site.
    pub(super) fn add_failed(&mut self, number: u32, count: u64, largest_bytes: u64) {
        let (sum, largest) = self.failed.entry(number).or_default();
        *sum = sum.saturating_add(count);
        *largest = largest_bytes.max(*largest);
    }

    /// Returns the rows of the sites in an order of their numbers.
    pub(super) fn rows(&self, order: &[u32]) -> Rows {
        let mut rows = Rows::default();
        for (site, number) in (0..).zip(order) {
            let Some(sum) = self.sums.get(number) else {
                continue;
            };
            let row = sum.row(site);
            add(&mut rows.all, &row);
            match site {
                SITE_TABLE_FULL => rows.table_full = row,
                SITE_UNATTRIBUTED => rows.unattributed = row,
                _ => {
                    let index = rows.rows.len() as u32;
                    rows.rows.push(row);
                    rows.sizes.extend(sum.sizes(index));
                    rows.samples.extend(sum.samples(index));
                }
            }
        }
        rows
    }

    /// Returns the refused requests, the most frequent first.
    pub(super) fn failed(&self, order: &[u32]) -> Vec<FailedRequestValue> {
        let failed = (0..).zip(order).filter_map(|(site, number)| {
            let (count, largest_bytes) = *self.failed.get(number)?;
            Some(FailedRequestValue {
                site,
                count,
                largest_bytes,
                ..FailedRequestValue::default()
            })
        });
        let mut failed: Vec<FailedRequestValue> = failed.collect();
        failed.sort_by_key(|request| std::cmp::Reverse(request.count));
        failed
    }
}

fn add(all: &mut RowValue, row: &RowValue) {
    let sums = all.sums().zip(row.sums(), u64::saturating_add);
    *all = RowValue {
        total_bytes: sums.total_bytes,
        total_blocks: sums.total_blocks,
        freed_bytes: sums.freed_bytes,
        freed_blocks: sums.freed_blocks,
        grows: sums.grows,
        shrinks: sums.shrinks,
        copied_bytes: sums.copied_bytes,
        temporary_blocks: sums.temporary_blocks,
        temporary_bytes: sums.temporary_bytes,
        saved_bytes: all.saved_bytes.saturating_add(row.saved_bytes),
        saved_blocks: all.saved_blocks.saturating_add(row.saved_blocks),
        clock: PEAK,
        ..*all
    };
}
