//! Samples held to the truth: the same programs recorded exactly and by samples. An exact figure
//! lies in its printed interval, and no number of blocks is below its bound.

use std::collections::BTreeMap;

use crate::common::Target;
use heapglass_examples::cases::SKEWED_KINDS;
use heapglass_profiler::profile::{Figures, Frames, Measure, Profile};
use heapglass_profiler::table::{By, rows};
use heapglass_profiler::{OpenOptions, open};
use serde_json::Value;

/// Means of samples.
const MEANS: [u64; 2] = [512 << 10, 64 << 10];

/// The part of intervals that hold: 95 %, less 2 % for chance.
const HELD: f64 = 0.93;
/// The part of lower bounds that hold: 97.5 %, less 1 % for chance.
const BOUNDED: f64 = 0.965;

/// The number of intervals that held the exact figure.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    rows: u64,
    held: u64,
    /// Rows whose exact figure is below the lower end.
    below: u64,
}

impl Tally {
    fn part(self, of: u64) -> f64 {
        of as f64 / self.rows.max(1) as f64
    }
}

/// Records the program of a kind, by samples if a mean and a seed are given.
fn recorded(
    (kind, blocks): (usize, u64),
    samples: Option<(u64, u64)>,
    options: &OpenOptions,
) -> Profile {
    let mut target = Target::case(&["skewed", &kind.to_string(), &blocks.to_string()]);
    if let Some((mean, seed)) = samples {
        target = target
            .env("HEAPGLASS_MODE", "sample")
            .env("HEAPGLASS_SAMPLE_BYTES", &mean.to_string())
            .env("HEAPGLASS_SEED", &seed.to_string());
    }
    target.succeed();
    open(&target.recording(), options, &|_| ()).expect("a recording")
}

/// Returns the figures of the sites of the program.
fn of_sites(profile: &Profile) -> BTreeMap<String, Figures> {
    let rows = rows(profile, By::Function, Measure::Total, Frames::Folded).into_iter();
    let rows = rows.filter(|row| row.key.contains("site_") || row.key.contains("grow_site"));
    rows.map(|row| (row.key, row.figures)).collect()
}

fn json(figures: &Figures) -> Value {
    serde_json::to_value(figures).expect("JSON")
}

/// Compares each figure that has an interval with the exact one.
fn compare(figures: &Figures, exact: &Figures, tallies: &mut BTreeMap<String, Tally>) {
    let (sampled, exact) = (json(figures), json(exact));
    for (key, exact) in exact.as_object().expect("figures") {
        let exact = exact.as_u64().expect("a figure");
        let end = |end: &str| &sampled[format!("{key}{end}")];
        let low = end("_low").as_u64().expect("a lower end");
        let high = end("_high").as_u64();
        // Any number of small blocks may never have been sampled.
        assert_eq!(high.is_some(), key.ends_with("_bytes"), "{key}: {sampled}");
        let tally = tallies.entry(key.clone()).or_default();
        tally.rows += 1;
        tally.below += u64::from(exact < low);
        tally.held += u64::from(exact >= low && high.is_none_or(|high| exact <= high));
    }
}

/// Checks each figure with enough rows.
fn hold(tallies: &BTreeMap<String, Tally>, what: &str) {
    for (key, tally) in tallies {
        let (held, bounded) = (tally.part(tally.held), 1.0 - tally.part(tally.below));
        println!("{what} {key}: {tally:?}, {held:.3} held, {bounded:.3} above the lower end");
        if tally.rows >= 100 {
            assert!(held >= HELD, "{what} {key}: {held:.3} of {tally:?}");
            let is_bound = !key.ends_with("_bytes");
            assert!(
                !is_bound || bounded >= BOUNDED,
                "{what} {key}: {bounded:.3} of {tally:?}"
            );
        }
    }
}

#[test]
fn exact_figures_lie_in_the_intervals_of_samples_and_above_the_bounds_of_blocks() {
    // `examples/truth/samples` has more.
    let (seeds, blocks) = match std::env::var("HEAPGLASS_SAMPLE_SEEDS") {
        Ok(seeds) => (seeds.parse().expect("a number of seeds"), 60_000),
        Err(_) => (1, 20_000),
    };
    let cache = tempfile::tempdir().expect("a folder");
    let mut options = OpenOptions::default();
    options.symbols.cache = Some(cache.path().to_owned());
    let mut of_all: BTreeMap<String, Tally> = BTreeMap::new();
    let mut unlisted = Tally::default();
    for kind in 0..SKEWED_KINDS {
        let exact = recorded((kind, blocks), None, &options);
        let exact = of_sites(&exact);
        for mean in MEANS {
            let mut of_kind: BTreeMap<String, Tally> = BTreeMap::new();
            for seed in 0..seeds {
                let sampled = recorded((kind, blocks), Some((mean, seed * 7 + 1)), &options);
                let most = sampled.capture().sampling.as_ref().expect("samples");
                let most = most.most_unlisted_bytes();
                let found = of_sites(&sampled);
                for (key, figures) in &found {
                    let exact = exact.get(key).expect("a site that allocated");
                    compare(figures, exact, &mut of_kind);
                    compare(figures, exact, &mut of_all);
                }
                let missing = exact.iter().filter(|(key, _)| !found.contains_key(*key));
                for (_, figures) in missing {
                    unlisted.rows += 1;
                    unlisted.held += u64::from(figures.total_bytes <= most);
                }
            }
            hold(&of_kind, &format!("kind {kind}, mean {mean},"));
        }
    }
    hold(&of_all, "all kinds:");
    println!("places that are not listed: {unlisted:?}");
    assert!(unlisted.part(unlisted.held) >= HELD, "{unlisted:?}");
}

#[test]
fn a_recording_without_any_sample_knows_bounds_and_no_numbers() {
    let options = OpenOptions::default();
    let exact = recorded((0, 20_000), None, &options);
    let sampled = recorded((0, 20_000), Some((1 << 40, 1)), &options);
    let totals = sampled.totals();
    assert_eq!(totals.samples().map(|samples| samples.hits()), Some(0));
    let mut tallies = BTreeMap::new();
    compare(totals, exact.totals(), &mut tallies);
    // The bytes allocated are counted, in both.
    tallies.remove("total_bytes");
    assert!(tallies.values().all(|tally| tally.held == 1), "{tallies:?}");
    // Where rows exist without a sample, they have the same bounds.
    for row in rows(&sampled, By::Phase, Measure::Peak, Frames::Folded) {
        assert!(
            row.figures
                .interval("peak_bytes")
                .is_some_and(|of| of.high > Some(0))
        );
    }
}
