//! Live bytes that grow for as long as the recording shows them.
//!
//! A program that loads its data grows too, and so does a cache that fills. So growth counts only
//! if it goes on over most of the run, at every step, without slowing down. What is freed when the
//! program stops was growing all the same.

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, sum};
use crate::profile::{Measure, Profile};
use crate::units::{Bytes, Nanos, counted};

/// Least number of steps, of about the same length, each of which must show growth.
const LEAST_STEPS: usize = 6;

/// A shorter recording shows a program that starts, nanoseconds.
const SHORTEST_NS: u64 = 1_000_000_000;

/// The evidence that says what the whole process held when the growth was measured.
const LIVE_THEN: &str = "live_bytes";

/// The live bytes and blocks of a group at a moment.
#[derive(Clone, Copy)]
struct Moment {
    time_ns: u64,
    bytes: u64,
    blocks: u64,
    /// Live bytes of the whole process.
    of_process: u64,
}

impl Moment {
    /// Returns bytes for each second since an earlier moment.
    fn rate_since(&self, earlier: &Moment) -> f64 {
        let grown = self.bytes.saturating_sub(earlier.bytes) as f64;
        grown * 1e9 / self.time_ns.saturating_sub(earlier.time_ns).max(1) as f64
    }
}

/// Returns the finding for a group, if its live bytes grow.
pub(super) fn find(profile: &Profile, group: &Group) -> Option<Finding> {
    if profile.process.duration_ns < SHORTEST_NS || profile.checkpoints().len() < LEAST_STEPS {
        return None;
    }
    let steps = steps(&moments(profile, group))?;
    let (first, last) = (steps.first()?, steps.last()?);
    let middle = steps.get(steps.len() / 2)?;
    let mean = last.rate_since(first);
    let is_steady = steps.windows(2).all(|pair| {
        let rate = pair[1].rate_since(&pair[0]);
        pair[1].bytes > pair[0].bytes && rate >= mean / 4.0
    });
    let goes_on = last.rate_since(middle) >= middle.rate_since(first) * 2.0 / 3.0;
    let grown = last.bytes - first.bytes.min(last.bytes);
    // Less is within what a full cache varies by.
    let is_much = grown >= last.bytes / 10;
    if !is_steady || !goes_on || !is_much || last.blocks < 2 {
        return None;
    }
    let span_ns = last.time_ns - first.time_ns;
    let end = sum(group.sites(profile)).live_bytes;
    let then = if end < last.bytes / 2 {
        format!(" Then {} were freed.", Bytes(last.bytes - end))
    } else {
        String::new()
    };
    Some(Finding {
        kind: Kind::Growing,
        saves_bytes: grown,
        saves_blocks: last.blocks.saturating_sub(first.blocks),
        of_bytes: last.bytes,
        measure: Measure::Live,
        snapshot: None,
        holder: None,
        confidence: Confidence::AtLeast,
        place: group.place.clone(),
        evidence: vec![
            ("from_bytes", first.bytes),
            ("until_bytes", last.bytes),
            ("from_ns", first.time_ns),
            ("until_ns", last.time_ns),
            ("bytes_per_second", mean as u64),
            (LIVE_THEN, last.of_process),
            ("checkpoints", steps.len() as u64),
            ("span_ns", span_ns),
        ],
        why: format!(
            "Live bytes grew from {} to {} in {} until {}, at each of {}: {} a second.{then}",
            Bytes(first.bytes),
            Bytes(last.bytes),
            Nanos(span_ns),
            Nanos(last.time_ns),
            counted(steps.len() as u64 - 1, "step"),
            Bytes(mean as u64),
        ),
        remedy: format!(
            "Remove what is no longer needed, or limit the collection to the {} that it had.",
            Bytes(first.bytes)
        ),
    })
}

/// Returns the bytes that were live in the whole process when the growth of a finding was measured.
pub(super) fn live_then(finding: &Finding) -> u64 {
    let mut evidence = finding.evidence.iter();
    let live = evidence.find(|(key, _)| *key == LIVE_THEN);
    live.map_or(0, |(_, bytes)| *bytes)
}

/// The live bytes and blocks of the group at each checkpoint and at the end.
fn moments(profile: &Profile, group: &Group) -> Vec<Moment> {
    let held = profile.live_at_checkpoints(&group.sites).into_iter();
    let at_checkpoints = held.zip(profile.checkpoints());
    let mut moments: Vec<Moment> = at_checkpoints
        .map(|((bytes, blocks), checkpoint)| Moment {
            time_ns: checkpoint.time_ns,
            bytes,
            blocks,
            of_process: checkpoint.live_bytes,
        })
        .collect();
    let figures = sum(group.sites(profile));
    moments.push(Moment {
        time_ns: profile.process.duration_ns,
        bytes: figures.live_bytes,
        blocks: figures.live_blocks,
        of_process: profile.totals.live_bytes,
    });
    moments
}

/// Returns moments with steps of about the same length between them, over the last three fifths of
/// the time up to the largest of the late moments. Returns `None` if the group was largest long
/// before the end, or if moments are missing.
fn steps(moments: &[Moment]) -> Option<Vec<Moment>> {
    let end_ns = moments.last()?.time_ns;
    let late = moments.iter().filter(|moment| moment.time_ns > end_ns / 2);
    let last = late.max_by_key(|moment| (moment.bytes, moment.time_ns))?;
    if last.time_ns < end_ns / 5 * 4 {
        return None;
    }
    let span_ns = last.time_ns / 5 * 3;
    let step_ns = span_ns / LEAST_STEPS as u64;
    let mut steps = vec![*last];
    let up_to_last = moments
        .iter()
        .filter(|moment| moment.time_ns < last.time_ns);
    for moment in up_to_last.rev() {
        let gap_ns = steps.last()?.time_ns.saturating_sub(moment.time_ns);
        let is_inside = last.time_ns - moment.time_ns <= span_ns + step_ns / 2;
        if !is_inside {
            break;
        }
        if gap_ns > 2 * step_ns {
            return None;
        }
        if gap_ns >= step_ns / 2 {
            steps.push(*moment);
        }
    }
    steps.reverse();
    let covered_ns = last.time_ns - steps.first()?.time_ns;
    (steps.len() > LEAST_STEPS && covered_ns >= span_ns / 5 * 4).then_some(steps)
}
