//! The share of intervals that hold the exact figure, over many simulated recordings with fixed
//! seeds. Only listed sites count: those that were sampled at least once.

use super::{Interval, SampledSum, Samples, of_sum};
use std::ops::RangeInclusive;

/// Random numbers: xorshift64* (Vigna).
struct Random(u64);

impl Random {
    fn below_one(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.below_one()).ln() * mean
    }
}

/// The allocations of a site, and the samples of them.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    hits: u64,
    estimate: f64,
    variance: f64,
    seen: f64,
}

/// Allocates `blocks` blocks whose sizes repeat, and takes samples as the recorder does.
fn sample(sizes: &[u64], blocks: u64, mean: f64, random: &mut Random, to: &mut Sampled) -> u64 {
    let cycle: u64 = sizes.iter().sum();
    let count = sizes.len() as u64;
    let start_of = |block: u64| {
        let inside: u64 = sizes.iter().take((block % count) as usize).sum();
        block / count * cycle + inside
    };
    let end = start_of(blocks);
    let mut at = random.exponential(mean);
    while at < end as f64 {
        let mut block = at as u64 / cycle * count;
        while start_of(block + 1) as f64 <= at {
            block += 1;
        }
        let size = sizes[(block % count) as usize] as f64;
        let p = -(-size / mean).exp_m1();
        to.hits += 1;
        to.estimate += size / p;
        to.variance += size * size * (1.0 - p) / (p * p);
        to.seen += size;
        // Exponential distances have no memory.
        at = start_of(block + 1) as f64 + random.exponential(mean);
    }
    end
}

/// The interval that a report shows.
fn shown(sampled: &Sampled, most_mean: f64) -> Interval {
    let sum = SampledSum {
        estimate: sampled.estimate.round() as u64,
        variance: (sampled.variance / most_mean).round() as u64,
        seen: sampled.seen as u64,
        ..SampledSum::default()
    };
    of_sum(sum.estimate, sum, most_mean)
}

/// Upper ends of classes of expected samples.
const CLASSES: [f64; 7] = [1.0, 3.0, 10.0, 20.0, 50.0, 200.0, f64::INFINITY];

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    listed: f64,
    held: f64,
    /// The sum of widths, in widths of the normal interval.
    widths: f64,
}

/// Sizes of blocks of a site: of equal, of similar, and of very different size.
const MIXES: [&[u64]; 6] = [
    &[16],
    &[24, 100, 48],
    &[3_000, 70_000, 24],
    &[
        64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072,
    ],
    &[400_000, 32],
    &[2_000_000, 700_000, 1000],
];

/// Checks the interval of a site, if it is listed, in the class of its expected samples.
fn add(
    classes: &mut [Class; CLASSES.len()],
    sampled: &Sampled,
    exact: u64,
    expected: f64,
    most_mean: f64,
) {
    if sampled.hits == 0 {
        return;
    }
    let class = CLASSES.iter().position(|most| expected < *most);
    let class = &mut classes[class.expect("the last has no end")];
    let Interval { low, high } = shown(sampled, most_mean);
    let high = high.expect("bytes have an upper end");
    class.listed += 1.0;
    class.held += f64::from((low..=high).contains(&exact));
    let normal = 2.0 * super::TAIL.deviations * sampled.variance.sqrt();
    if normal > 0.0 {
        class.widths += (high - low) as f64 / normal;
    }
}

/// Checks that each class with enough sites holds the exact figures in 95 % of them, less 1 % for
/// chance.
fn hold(classes: &[Class], what: &str) {
    for (class, most) in classes.iter().zip(CLASSES) {
        let held = class.held / class.listed;
        println!(
            "{what} below {most}: {} listed, {held:.4} held, width {:.3}",
            class.listed,
            class.widths / class.listed
        );
        assert!(
            class.listed < 1000.0 || held >= 0.94,
            "{what} below {most}: {held}"
        );
    }
}

/// Simulates recordings, and checks each class.
fn simulate(means: &[f64], runs: u64, sites: u64) -> [Class; CLASSES.len()] {
    let most_mean = means.iter().copied().fold(0.0, f64::max);
    let mut classes = [Class::default(); CLASSES.len()];
    for run in 1..=runs {
        let mut random = Random(run.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for site in 0..sites {
            let sizes = MIXES[(site % MIXES.len() as u64) as usize];
            let mean_size = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
            // Most sites of a large program allocate little: from 0.01 to 1,000 samples.
            let wanted = 10_f64.powf(-2.0 + 5.0 * (site as f64 / sites as f64));
            let bytes = wanted * most_mean / means.len() as f64;
            let blocks = (bytes / mean_size).ceil() as u64;
            let (mut sampled, mut exact, mut expected) = (Sampled::default(), 0, 0.0);
            for mean in means {
                exact += sample(sizes, blocks, *mean, &mut random, &mut sampled);
                let p = |size: &u64| -(-(*size as f64) / mean).exp_m1();
                expected += blocks as f64 * sizes.iter().map(p).sum::<f64>() / sizes.len() as f64;
            }
            add(&mut classes, &sampled, exact, expected, most_mean);
        }
    }
    classes
}

const MEAN: f64 = 524_288.0;

#[test]
fn intervals_hold_the_exact_figure_in_every_class_of_expected_samples() {
    for means in [
        &[MEAN][..],
        &[64.0 * 1024.0],
        // Three changes.
        &[MEAN, MEAN / 8.0, 4.0 * MEAN, MEAN / 2.0],
    ] {
        let classes = simulate(means, 200, 300);
        hold(&classes, &format!("{means:?}"));
        assert!(classes.iter().all(|class| class.listed >= 1000.0));
    }
}

/// Samples an exact recording 200 times, as if its program ran again.
#[test]
#[ignore = "needs an exact recording, named by HEAPGLASS_RECORDING"]
fn intervals_hold_at_the_sites_of_a_recording() {
    let recording = std::env::var_os("HEAPGLASS_RECORDING").expect("HEAPGLASS_RECORDING");
    let profile = crate::open(recording.as_ref(), &crate::OpenOptions::default(), &|_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let middle = |bounds: RangeInclusive<u64>| bounds.start().midpoint(*bounds.end()).max(1);
    let sites: Vec<Vec<(u64, u64)>> = profile
        .sites()
        .iter()
        .map(|site| site.distribution.classes())
        .map(|classes| {
            classes
                .map(|(bounds, blocks)| (middle(bounds), blocks))
                .collect()
        })
        .collect();
    println!("{} sites", sites.len());
    for mean in [MEAN, MEAN / 8.0] {
        let mut classes = [Class::default(); CLASSES.len()];
        for run in 1..=200_u64 {
            let mut random = Random(run.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            for site in &sites {
                let (mut sampled, mut exact, mut expected) = (Sampled::default(), 0, 0.0);
                for (size, blocks) in site {
                    exact += sample(&[*size], *blocks, mean, &mut random, &mut sampled);
                    expected += *blocks as f64 * -(-(*size as f64) / mean).exp_m1();
                }
                add(&mut classes, &sampled, exact, expected, mean);
            }
        }
        hold(&classes, &format!("mean {mean}"));
    }
}

#[test]
fn intervals_of_many_samples_are_hardly_wider_than_normal_ones() {
    // Sizes of which each block is sampled have hardly any variance: the unseen sample is all there
    // is.
    let classes = simulate(&[MEAN], 50, 300);
    for (class, most) in classes.iter().zip(CLASSES).skip(5) {
        let width = class.widths / class.listed;
        assert!(width <= 1.15, "below {most}: {width}");
    }
}

#[test]
fn intervals_of_few_samples_are_those_of_the_prototype() {
    let small = |hits: u64| {
        let bytes = (hits as f64 * MEAN) as u64;
        let sum = SampledSum {
            estimate: bytes,
            variance: bytes,
            seen: 64 * hits,
            ..SampledSum::default()
        };
        let Interval { low, high } = of_sum(bytes, sum, MEAN);
        let high = high.expect("bytes have an upper end");
        (low as f64 / MEAN, high as f64 / MEAN)
    };
    let expected = [
        (0, 0.0, 3.69),
        (1, 0.0, 5.57),
        (2, 0.05, 7.22),
        (3, 0.41, 8.77),
        (10, 4.79, 18.39),
        (100, 81.4, 121.6),
        (10_000, 9_804.9, 10_198.0),
    ];
    for (hits, low, high) in expected {
        let (found_low, found_high) = small(hits);
        assert!(
            (found_low - low).abs() < 0.01 * low + 0.01,
            "{hits}: {found_low}"
        );
        assert!(
            (found_high - high).abs() < 0.01 * high,
            "{hits}: {found_high}"
        );
    }
}

#[test]
fn figures_from_before_the_first_sample_are_certain() {
    // 803 temporary blocks of 16 bytes were counted before samples began. One sample stands for
    // 1,000 blocks more, and its block is live.
    let (mean, exact) = (16 * 1000, 803);
    let one = SampledSum {
        estimate: mean,
        variance: mean,
        seen: 16,
        blocks: 1000,
        hits: 1,
    };
    let samples = Samples {
        mean,
        least_bytes: 16,
        most_bytes: 0,
        total: one,
        live: one,
        peak: SampledSum::default(),
    };
    let low = |key, value| samples.interval(key, value).low;
    assert!(low("total_blocks", exact + 1000) > exact);
    assert!(low("temporary_blocks", exact + 1000) >= exact);
    assert!(low("temporary_bytes", 16 * (exact + 1000)) >= 16 * exact);
    assert_eq!(low("peak_blocks", exact), exact);
    assert_eq!(low("live_bytes", mean), 16);
    assert_eq!(low("live_blocks", 1000), 1);
    // Of a sum without records of its samples, no more is certain than that there is a block.
    let unknown = Samples::at_most(mean, [mean; 3]);
    assert_eq!(unknown.interval("live_blocks", 2).low, 1);
    assert_eq!(unknown.interval("live_blocks", 0).low, 0);
}

#[test]
fn blocks_have_a_lower_bound_alone_which_is_never_below_the_number_of_samples() {
    // Ten blocks of 64 KiB were sampled, for 85 that there are by the estimate. Any number of
    // smaller ones may not have been.
    let large = SampledSum {
        estimate: 10 << 19,
        variance: 10 << 19,
        seen: 10 << 16,
        blocks: 85,
        hits: 10,
    };
    let mut samples = Samples {
        mean: 1 << 19,
        least_bytes: 1 << 16,
        most_bytes: 0,
        total: large,
        live: SampledSum {
            blocks: 26,
            hits: 3,
            ..large
        },
        peak: SampledSum::default(),
    };
    let of = |samples: &Samples, key, value| samples.interval(key, value);
    let total = of(&samples, "total_blocks", 85);
    assert_eq!(total.high, None);
    assert!((10..85).contains(&total.low), "{total:?}");
    for key in [
        "freed_blocks",
        "grows",
        "shrinks",
        "temporary_blocks",
        "peak_blocks",
    ] {
        assert_eq!(
            of(&samples, key, 0),
            Interval { low: 0, high: None },
            "{key}"
        );
        assert_eq!(
            of(&samples, key, 1),
            Interval { low: 1, high: None },
            "{key}"
        );
    }
    assert!(of(&samples, "live_blocks", 26).low >= 3);
    assert!(of(&samples, "freed_blocks", 59).low >= 7);
    // One tiny block stands for so many that nothing more is certain than what was sampled.
    samples.add(&Samples {
        mean: 1 << 19,
        least_bytes: 1,
        total: SampledSum {
            estimate: 1 << 19,
            variance: 1 << 19,
            seen: 1,
            blocks: 1 << 19,
            hits: 1,
        },
        ..Samples::default()
    });
    assert_eq!(of(&samples, "total_blocks", 85 + (1 << 19)).low, 11);
}

#[test]
fn a_row_without_samples_is_bounded_in_bytes_and_unknown_in_blocks() {
    let none = Samples::none(1 << 19);
    let bytes = none.interval("peak_bytes", 0);
    assert_eq!(bytes.low, 0);
    let means = bytes.high.expect("an upper end") as f64 / f64::from(1 << 19);
    assert!((3.6..3.8).contains(&means), "{means}");
    let counted = Samples {
        most_bytes: 1000,
        ..none
    };
    assert_eq!(
        counted.interval("peak_bytes", 0),
        Interval {
            low: 0,
            high: Some(1000)
        },
        "no more than was allocated"
    );
    assert_eq!(
        none.interval("peak_blocks", 0),
        Interval { low: 0, high: None }
    );
}
