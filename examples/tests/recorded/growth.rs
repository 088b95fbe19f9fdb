//! Growth: a leak behind a larger start is named while the program runs; after it freed everything,
//! its growth is a fact without a saving. Programs whose memory only moves are not accused.

use crate::common::Target;
use heapglass_profiler::advice::{Finding, Kind, advice, advise};
use heapglass_profiler::growth::{Moment, Side, growth, moment};
use heapglass_profiler::profile::{CheckpointKind, Profile, State};
use heapglass_profiler::table::By;
use heapglass_profiler::{OpenOptions, open};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn opened(target: &Target) -> Profile {
    open(&target.recording(), &OpenOptions::default(), &|_| ()).expect("a recording")
}

fn growing(profile: &Profile) -> Vec<Finding> {
    let findings = advise(profile, false).into_iter();
    findings
        .filter(|finding| finding.kind == Kind::Growing)
        .collect()
}

/// Checks that the leak is named first, and that it grew most since the mark.
fn assert_leak_is_named(profile: &Profile, to: &str) {
    let named = if profile.process().state == State::Running {
        let found = growing(profile).into_iter();
        let mut found = found.map(|finding| (finding.place, finding.saves_bytes));
        found.next()
    } else {
        assert_eq!(growing(profile), []);
        let grown = advice(profile, false).grew.into_iter();
        let mut grown = grown.map(|grown| (grown.place, grown.until_bytes - grown.from_bytes));
        grown.next()
    };
    let (place, bytes) = named.unwrap_or_else(|| {
        let moments = profile.checkpoints();
        panic!("no growth in {moments:#?}")
    });
    assert!(place.owner.ends_with("growth::entry"), "{place:#?}");
    assert!(bytes > 100 << 10, "{place:#?}");
    let from = moment(profile, "warm", Side::From).expect("a mark");
    assert_eq!(from.distance_ns, 0, "{from:?}");
    let to = moment(profile, to, Side::To).expect("a moment");
    assert_eq!(to.distance_ns, 0, "{to:?}");
    let growth = growth(profile, from, to, By::Owner).expect("growth");
    let row = growth.rows.first().expect("a row");
    assert!(row.identity.name.ends_with("growth::entry"), "{row:#?}");
    let (bytes, blocks) = row.difference();
    assert_eq!(bytes, blocks * 2048, "{row:#?}");
    assert!(blocks > 200, "{row:#?}");
    // The start was larger.
    let peak = profile.totals().peak_bytes;
    assert!(peak > 2 * growth.total.to.0, "{peak} {:?}", growth.total);
}

#[test]
fn a_leak_behind_a_larger_start_is_named_while_the_program_runs_and_after_an_orderly_end() {
    // Checkpoints are due by time. On a busy machine too few are at even steps of what is
    // allocated, unless the program runs for longer.
    let mut all = ["1500", "3000", "6000"].into_iter();
    while let Some(steps) = all.next() {
        if leak_is_named(steps, all.len() == 0) {
            return;
        }
    }
}

/// Runs the leaking program for so many steps. Returns `false` if there is no finding and
/// this is not the last try.
fn leak_is_named(steps: &str, is_last: bool) -> bool {
    let mut target = Target::case(&["growth", "leak", steps]);
    let mut child = target
        .command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut lines = output.lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "half"), "the program works");
    let running = opened(&target);
    assert_eq!(running.process().state, State::Running);
    assert!(lines.count() > 0 && child.wait().expect("the end").success());
    let ended = opened(&target);
    assert_eq!(ended.process().state, State::Finished);
    if !is_last && (growing(&running).is_empty() || advice(&ended, false).grew.is_empty()) {
        return false;
    }
    assert_leak_is_named(&running, "end");
    let is_left = |site: &&heapglass_profiler::profile::Site| site.figures.live_bytes > 100 << 10;
    assert_eq!(ended.sites().iter().filter(is_left).count(), 0);
    assert_leak_is_named(&ended, "stopping");
    true
}

#[test]
fn a_plateau_a_bounded_cache_and_a_large_start_are_no_growth() {
    for kind in ["plateau", "cache", "waves", "slowing", "startup"] {
        let mut target = Target::case(&["growth", kind, "700"]);
        target.succeed();
        let profile = opened(&target);
        assert!(!profile.checkpoints().is_empty(), "{kind}");
        assert_eq!(growing(&profile), [], "{kind}");
        assert_eq!(advice(&profile, false).grew, [], "{kind}");
    }
}

#[test]
fn marks_and_ends_of_outermost_phases_are_checkpoints_and_the_first_ones_stay() {
    let mut target = Target::case(&["growth", "leak", "450"]);
    target.succeed();
    let profile = opened(&target);
    let named = |kind: CheckpointKind| -> Vec<&str> {
        let checkpoints = profile.checkpoints().iter();
        checkpoints
            .filter(|checkpoint| checkpoint.kind == kind)
            .map(|checkpoint| checkpoint.name.as_str())
            .collect()
    };
    assert_eq!(named(CheckpointKind::Mark), ["warm", "stopping"]);
    assert_eq!(named(CheckpointKind::Phase), ["load"]);
    assert!(profile.checkpoints().is_sorted_by_key(|of| of.time_ns));
    let start = moment(&profile, "start", Side::From).expect("the start");
    assert_eq!(start.moment, Moment::Start);
    let near = moment(&profile, "1s", Side::To).expect("a time");
    // The nearest one is at most as far as two neighbours are from each other.
    let mut times = vec![0];
    times.extend(profile.checkpoints().iter().map(|of| of.time_ns));
    times.push(profile.process().duration_ns);
    let widest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
    let second = 1_000_000_000_u64;
    let beyond = second.saturating_sub(profile.process().duration_ns);
    assert!(
        near.distance_ns.unsigned_abs() <= widest.unwrap_or(0).max(beyond),
        "{near:?} {times:?}"
    );
    let error = moment(&profile, "wram", Side::To).expect_err("no such mark");
    assert!(
        error.contains("warm, stopping, load, start, peak, end"),
        "{error}"
    );
}

#[test]
fn the_phase_of_requests_takes_no_checkpoint_from_those_due_by_time() {
    let mut target = Target::case(&["growth", "requests", "1500"]);
    target.succeed();
    let profile = opened(&target);
    let requests = profile
        .scopes()
        .iter()
        .find(|scope| scope.name == "request");
    assert!(requests.expect("a phase").entered > 20);
    let of = |kind| {
        let checkpoints = profile.checkpoints().iter();
        checkpoints.filter(move |checkpoint| checkpoint.kind == kind)
    };
    let named: Vec<&str> = of(CheckpointKind::Phase)
        .map(|of| of.name.as_str())
        .collect();
    assert_eq!(named, ["load"]);
    assert!(of(CheckpointKind::Time).count() >= 8);
    assert!(of(CheckpointKind::Time).all(|of| of.name.is_empty()));
    let spans = profile.phase_spans();
    assert_eq!(spans.len(), 1, "{spans:?}");
    let error = moment(&profile, "request", Side::To).expect_err("no moment");
    assert!(error.contains("phase `request` was entered"), "{error}");
}

#[test]
fn thousands_of_marks_and_phases_leave_at_most_64_checkpoints_with_the_first_and_late_ones() {
    let mut target = Target::case(&["checkpoints", "20000"]);
    target.succeed();
    let profile = opened(&target);
    let checkpoints = profile.checkpoints();
    let number = checkpoints.len();
    assert!((32..=64).contains(&number), "{number}");
    let of = |kind| checkpoints.iter().filter(move |of| of.kind == kind);
    let marks = of(CheckpointKind::Mark).count();
    assert!(
        marks >= of(CheckpointKind::Phase).count(),
        "{checkpoints:#?}"
    );
    let end_ns = profile.process().duration_ns;
    assert!(checkpoints[0].time_ns < end_ns / 10, "{checkpoints:#?}");
    assert!(
        checkpoints[number - 1].time_ns > end_ns / 10 * 8,
        "{checkpoints:#?}"
    );
    // What each checkpoint holds is what the program held: one block for each mark so far.
    for (number, checkpoint) in checkpoints.iter().enumerate() {
        if checkpoint.kind == CheckpointKind::Mark {
            let then = profile.at_checkpoint(number).expect("a checkpoint");
            let mut sites = then.sites().iter();
            let kept = sites.find(|site| {
                let figures = site.figures.clone();
                figures.live_blocks > 0 && figures.live_bytes == 24 * figures.live_blocks
            });
            let blocks = kept.map_or(0, |site| site.figures.live_blocks);
            let name: u64 = checkpoint.name.parse().expect("a number");
            assert_eq!(blocks, name + 1, "{checkpoint:?}");
        }
    }
}
