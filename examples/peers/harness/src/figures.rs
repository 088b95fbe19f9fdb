//! The arithmetic: computes the figures of a table from the samples of runs.

use serde::Serialize;

/// One run of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// The round; its programs ran one after another.
    pub(crate) round: usize,
    /// Nanoseconds of the work.
    pub(crate) ns: f64,
    /// Peak resident set of the process.
    pub(crate) peak_rss_kib: f64,
    /// Size of the files that the profiler wrote.
    pub(crate) output_bytes: Option<f64>,
    /// Time from the end of the work to the finished report.
    pub(crate) report_ms: Option<f64>,
}

/// The load of a workload, which is the same for all programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Allocations, reallocations and frees.
    pub(crate) events: u64,
    /// Number of threads that can work at the same time on this machine.
    pub(crate) concurrency: usize,
}

/// The median of some figures, and the smallest and the largest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The figures of one program on one workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    pub(crate) runs: usize,
    pub(crate) ns: Spread,
    /// Ratio to the base, of single rounds.
    pub(crate) ratio: Option<Spread>,
    /// Additional time of an event compared with the base, on its own thread: the median of the
    /// rounds.
    pub(crate) added_ns_per_event: Option<f64>,
    pub(crate) peak_rss_kib: f64,
    pub(crate) peak_rss_ratio: Option<f64>,
    pub(crate) output_bytes: Option<f64>,
    pub(crate) report_ms: Option<f64>,
}

/// Returns the median; for an even number of values, the mean of the two in the middle. `None`
/// without values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

fn spread(median: f64, values: &[f64]) -> Spread {
    Spread {
        median,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Returns the times of a program and its base, for the rounds in which both ran.
fn pairs(samples: &[Sample], base: &[Sample]) -> Vec<(f64, f64)> {
    let pair = |sample: &Sample| {
        let base = base.iter().find(|base| base.round == sample.round)?;
        Some((sample.ns, base.ns))
    };
    samples.iter().filter_map(pair).collect()
}

/// Returns the ratio of a program to its base: the median of the rounds, with the smallest and the
/// largest. `None` if there is no round in which both ran.
pub(crate) fn ratio(samples: &[Sample], base: &[Sample]) -> Option<Spread> {
    let pairs = pairs(samples, base);
    let ratios: Vec<f64> = pairs.iter().map(|(ns, base_ns)| ns / base_ns).collect();
    Some(spread(median(ratios.iter().copied())?, &ratios))
}

/// Returns the nanoseconds by which an event takes longer: the median of the rounds. Threads that
/// work at the same time spend this time at the same time.
pub(crate) fn added_ns_per_event(samples: &[Sample], base: &[Sample], load: Load) -> Option<f64> {
    if load.events == 0 {
        return None;
    }
    let pairs = pairs(samples, base);
    let added = median(pairs.iter().map(|(ns, base_ns)| ns - base_ns))?;
    Some(added * load.concurrency as f64 / load.events as f64)
}

/// Returns the figures of some runs; without a base, only those that need none. `None` without
/// runs.
pub(crate) fn figures(
    samples: &[Sample],
    base: Option<&[Sample]>,
    load: Option<Load>,
) -> Option<Figures> {
    let times: Vec<f64> = samples.iter().map(|sample| sample.ns).collect();
    let ns = median(times.iter().copied())?;
    let rss = median(samples.iter().map(|sample| sample.peak_rss_kib))?;
    let base_rss = base.and_then(|base| median(base.iter().map(|sample| sample.peak_rss_kib)));
    Some(Figures {
        runs: samples.len(),
        ns: spread(ns, &times),
        ratio: base.and_then(|base| ratio(samples, base)),
        added_ns_per_event: base
            .zip(load)
            .and_then(|(base, load)| added_ns_per_event(samples, base, load)),
        peak_rss_kib: rss,
        peak_rss_ratio: base_rss.map(|base| rss / base),
        output_bytes: median(samples.iter().filter_map(|sample| sample.output_bytes)),
        report_ms: median(samples.iter().filter_map(|sample| sample.report_ms)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: &[f64]) -> Vec<Sample> {
        let sample = |(round, ns): (usize, &f64)| Sample {
            round,
            ns: *ns,
            peak_rss_kib: 2.0 * ns,
            output_bytes: None,
            report_ms: Some(ns / 10.0),
        };
        times.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        assert_eq!(median([]), None);
        assert_eq!(median([7.0]), Some(7.0));
        assert_eq!(median([9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median([9.0, 1.0, 5.0, 2.0]), Some(3.5));
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_and_lies_in_their_spread() {
        let found = ratio(
            &samples(&[20.0, 33.0, 120.0]),
            &samples(&[10.0, 11.0, 30.0]),
        );
        let expected = Spread {
            median: 3.0,
            min: 2.0,
            max: 4.0,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_run_is_compared_with_the_base_of_its_own_round() {
        let once = Sample {
            round: 1,
            ..samples(&[44.0])[0]
        };
        let found = ratio(&[once], &samples(&[10.0, 22.0, 40.0])).expect("both ran");
        assert_eq!((found.median, found.min, found.max), (2.0, 2.0, 2.0));
        assert_eq!(ratio(&[once], &samples(&[10.0])), None);
        assert_eq!(ratio(&[], &samples(&[10.0])), None);
    }

    #[test]
    fn nanoseconds_per_event_are_those_of_the_thread_it_happens_on() {
        let base = samples(&[1_000.0, 1_000.0, 2_000.0]);
        let added = |times: &[f64], events, concurrency| {
            let load = Load {
                events,
                concurrency,
            };
            added_ns_per_event(&samples(times), &base, load)
        };
        // 2,000, 1,500 and 7,000 ns more.
        assert_eq!(added(&[3_000.0, 2_500.0, 9_000.0], 100, 1), Some(20.0));
        assert_eq!(added(&[3_000.0, 2_500.0, 9_000.0], 100, 4), Some(80.0));
        assert_eq!(added(&[900.0], 100, 1), Some(-1.0));
        assert_eq!(added(&[900.0], 0, 1), None);
        assert_eq!(added(&[], 100, 1), None);
    }

    #[test]
    fn figures_without_a_base_have_no_ratios_and_without_runs_there_are_none() {
        assert_eq!(figures(&[], None, None), None);
        let alone = figures(&samples(&[30.0, 10.0, 20.0]), None, None).expect("it ran");
        assert_eq!((alone.runs, alone.ns.median), (3, 20.0));
        assert_eq!((alone.ns.min, alone.ns.max), (10.0, 30.0));
        assert_eq!((alone.ratio, alone.peak_rss_ratio), (None, None));
        assert_eq!(
            (alone.report_ms, alone.output_bytes, alone.peak_rss_kib),
            (Some(2.0), None, 40.0)
        );
        let load = Load {
            events: 4,
            concurrency: 2,
        };
        let base = samples(&[10.0]);
        let beside = figures(&samples(&[30.0]), Some(&base), Some(load)).expect("it ran");
        assert_eq!(beside.peak_rss_ratio, Some(3.0));
        assert_eq!(beside.added_ns_per_event, Some(10.0));
        assert_eq!(beside.ratio.map(|ratio| ratio.median), Some(3.0));
    }
}
