//! Live bytes that grow for as long as the recording shows them.
//!
//! A program that loads its data grows too, and so does a cache that fills. So growth counts only
//! if it goes on over most of the run, at every step, without slowing down. Steps are measured in
//! bytes that the program allocates: its own pace does not depend on the machine, and a snapshot
//! that stops it for a while does not change it. What a large table allocates when it doubles is
//! left out of that pace: it is much at once, and nothing else happens meanwhile. A time without
//! growth at the end counts against growth, also if nothing is allocated then.
//!
//! A program that loads, works for a moment and ends cannot be told from one that leaks and frees
//! everything when it stops. So growth whose bytes are freed at the end is [`Grown`], a fact
//! without a saving, and no finding.

use std::cmp::Reverse;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::finding::{Confidence, Finding, Kind, Place};
use super::group::{Group, sum};
use super::least;
use crate::profile::{Measure, Profile, TypeKind};
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Nanos, counted};

/// Least number of steps, of about the same length, each of which must show growth.
const LEAST_STEPS: usize = 6;

/// Shorter growth is that of a program that starts, nanoseconds. What was freed at the end is told
/// of any run that has enough steps.
const SHORTEST_NS: u64 = 1_000_000_000;

/// Number of live blocks up to which lists and tables of a group are single large ones.
const FEW_TABLES: u64 = 4;

/// The evidence that says what the whole process held when the growth was measured.
const LIVE_THEN: &str = "live_bytes";

/// Growth that went on until shortly before the end, when most of it was freed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grown {
    /// The place.
    pub place: Place,
    /// The live bytes at the begin of the growth.
    pub from_bytes: u64,
    /// The live bytes at its end.
    pub until_bytes: u64,
    /// The moments, nanoseconds from the start of the recording.
    pub from_ns: u64,
    /// See [`from_ns`](Grown::from_ns).
    pub until_ns: u64,
    /// The bytes freed afterwards.
    pub freed_bytes: u64,
}

impl Serialize for Grown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("from_bytes", &self.from_bytes)?;
        json.serialize_entry("until_bytes", &self.until_bytes)?;
        json.serialize_entry("freed_bytes", &self.freed_bytes)?;
        json.serialize_entry("from_ns", &self.from_ns)?;
        json.serialize_entry("until_ns", &self.until_ns)?;
        self.place.serialize_into(&mut json)?;
        json.end()
    }
}

/// The live bytes and blocks of a group at a moment.
#[derive(Clone, Copy)]
struct Moment {
    time_ns: u64,
    /// Bytes that the whole process has allocated, without what tables allocated to double.
    allocated: u64,
    bytes: u64,
    blocks: u64,
    /// Live bytes of the whole process.
    of_process: u64,
}

impl Moment {
    /// Returns the growth since an earlier moment, for each byte that the process allocated.
    fn rate_since(&self, earlier: &Moment) -> f64 {
        let grown = self.bytes.saturating_sub(earlier.bytes) as f64;
        grown / self.allocated.saturating_sub(earlier.allocated).max(1) as f64
    }
}

/// The growth of a group.
struct Growth {
    first: Moment,
    last: Moment,
    steps: u64,
    /// The live bytes at the end of the recording.
    end_bytes: u64,
}

impl Growth {
    fn bytes(&self) -> u64 {
        self.last.bytes.saturating_sub(self.first.bytes)
    }

    /// Returns `true` if the program gave up most of it before it ended.
    fn is_freed(&self) -> bool {
        self.end_bytes < self.last.bytes / 2
    }
}

/// Returns the findings for all groups whose live bytes grow and stay, and what grew until the
/// program stopped and was then freed, the most bytes first. Without `all`, leaves out of the
/// latter what a finding would leave out as small.
pub(super) fn find(profile: &Profile, groups: &[Group], all: bool) -> (Vec<Finding>, Vec<Grown>) {
    let grown = grown(profile, groups);
    let (mut freed, stays): (Vec<_>, Vec<_>) =
        grown.into_iter().partition(|(_, growth)| growth.is_freed());
    freed.retain(|(_, growth)| growth.bytes() >= least(growth.last.of_process, all));
    let mut freed: Vec<Grown> = freed
        .into_iter()
        .map(|(group, growth)| Grown {
            place: group.place.clone(),
            from_bytes: growth.first.bytes,
            until_bytes: growth.last.bytes,
            from_ns: growth.first.time_ns,
            until_ns: growth.last.time_ns,
            freed_bytes: growth.last.bytes - growth.end_bytes,
        })
        .collect();
    freed.sort_by_cached_key(|grown| {
        let place = &grown.place;
        let bytes = grown.until_bytes.saturating_sub(grown.from_bytes);
        (Reverse(bytes), place.owner.clone(), place.line)
    });
    let is_long = profile.process().duration_ns >= SHORTEST_NS;
    let findings = stays.iter().filter(|_| is_long);
    let findings = findings.map(|(group, growth)| finding(group, growth));
    (findings.collect(), freed)
}

/// Returns the groups that grow, and the tables that grow with them.
fn grown<'a>(profile: &Profile, groups: &'a [Group]) -> Vec<(&'a Group, Growth)> {
    if profile.checkpoints().len() < LEAST_STEPS {
        return Vec::new();
    }
    let mut all: Vec<Vec<Moment>> = groups.iter().map(|group| moments(profile, group)).collect();
    leave_doubling_out(profile, groups, &mut all);
    let mut found: Vec<(&Group, Growth)> = Vec::new();
    for (group, moments) in groups.iter().zip(&all) {
        let others = groups.iter().zip(&all);
        found.extend(steady(others, group, moments).map(|growth| (group, growth)));
    }
    // A table doubles, so it never grows steadily.
    let tables = groups.iter().zip(&all).filter(|(group, _)| {
        let grows = |(other, _): &(&Group, Growth)| other.place.owner == group.place.owner;
        let is_known = found.iter().any(|(known, _)| std::ptr::eq(*known, *group));
        !is_known && found.iter().any(grows) && is_table(profile, group)
    });
    let tables: Vec<_> = tables
        .filter_map(|(group, moments)| Some((group, doubling(moments)?)))
        .collect();
    found.extend(tables);
    found
}

/// Returns `true` if the blocks of a group are lists or tables.
fn is_table(profile: &Profile, group: &Group) -> bool {
    let container = group.container(profile);
    container.is_some_and(|(_, kind)| matches!(kind, TypeKind::Sequence | TypeKind::Map))
}

/// Leaves what single large lists and tables allocated when they doubled out of what the process
/// had allocated at each moment.
fn leave_doubling_out(profile: &Profile, groups: &[Group], all: &mut [Vec<Moment>]) {
    let count = all.first().map_or(0, Vec::len);
    // By moment, since the one before.
    let mut doubled = vec![0_u64; count];
    for (_, moments) in (groups.iter().zip(&*all)).filter(|(group, _)| is_table(profile, group)) {
        for (at, pair) in moments.windows(2).enumerate() {
            let [before, after] = [pair[0], pair[1]];
            if after.blocks <= FEW_TABLES && after.bytes >= before.bytes + before.bytes / 2 {
                doubled[at + 1] = doubled[at + 1].saturating_add(after.bytes);
            }
        }
    }
    for moments in all {
        let (mut before, mut left_out) = (0, 0_u64);
        for (moment, doubled) in moments.iter_mut().zip(&doubled) {
            let since = moment.allocated.saturating_sub(before);
            before = moment.allocated;
            left_out = left_out.saturating_add((*doubled).min(since));
            moment.allocated = moment.allocated.saturating_sub(left_out);
        }
    }
}

/// Returns the growth of a group at every step. `others` = all groups, this one too.
fn steady<'a>(
    others: impl Iterator<Item = (&'a Group, &'a Vec<Moment>)>,
    group: &Group,
    moments: &[Moment],
) -> Option<Growth> {
    let steps = steps(moments)?;
    let (first, last) = (steps.first()?, steps.last()?);
    let middle = steps.get(steps.len() / 2)?;
    let mean = last.rate_since(first);
    let is_steady = steps.windows(2).all(|pair| {
        let rate = pair[1].rate_since(&pair[0]);
        pair[1].bytes > pair[0].bytes && rate >= mean / 4.0
    });
    let goes_on = last.rate_since(middle) >= middle.rate_since(first) * 2.0 / 3.0;
    let growth = Growth {
        first: *first,
        last: *last,
        steps: steps.len() as u64 - 1,
        end_bytes: moments.last()?.bytes,
    };
    // Less is within what a full cache varies by.
    let is_much = growth.bytes() >= last.bytes / 10;
    if !is_steady || !goes_on || !is_much || last.blocks < 2 {
        return None;
    }
    let given_up = given_up(others, group, (first, last));
    (given_up < growth.bytes() / 2).then_some(growth)
}

/// Returns the growth of lists and tables that double. They never shrink before the end, and more
/// than once they grew by a half and more, at last in the second half of what was allocated.
fn doubling(moments: &[Moment]) -> Option<Growth> {
    let end = moments.last()?;
    let is_late =
        |moment: &&Moment| moment.time_ns > end.time_ns / 2 && moment.allocated > end.allocated / 2;
    let last = *moments
        .iter()
        .filter(is_late)
        .max_by_key(|moment| (moment.bytes, moment.time_ns))?;
    let up_to_last = moments
        .iter()
        .filter(|moment| moment.time_ns <= last.time_ns);
    let mut first: Option<Moment> = None;
    let (mut before, mut doubled, mut doubled_late) = (None::<Moment>, 0_u64, false);
    for moment in up_to_last.filter(|moment| moment.bytes > 0) {
        first.get_or_insert(*moment);
        if let Some(before) = before {
            if moment.bytes < before.bytes {
                return None;
            }
            if moment.bytes >= before.bytes + before.bytes / 2 {
                doubled += 1;
                doubled_late = moment.allocated > last.allocated / 2;
            }
        }
        before = Some(*moment);
    }
    let growth = Growth {
        first: first?,
        last,
        steps: doubled,
        end_bytes: end.bytes,
    };
    (doubled >= 2 && doubled_late).then_some(growth)
}

fn finding(group: &Group, growth: &Growth) -> Finding {
    let Growth { first, last, .. } = growth;
    let span_ns = last.time_ns.saturating_sub(first.time_ns);
    let per_second = growth.bytes() as f64 * 1e9 / span_ns.max(1) as f64;
    Finding {
        kind: Kind::Growing,
        saves_bytes: growth.bytes(),
        saves_blocks: last.blocks.saturating_sub(first.blocks),
        of_bytes: last.bytes,
        measure: Measure::Live,
        snapshot: None,
        holder: None,
        alternative_to: None,
        confidence: Confidence::AtLeast,
        place: group.place.clone(),
        evidence: vec![
            ("from_bytes", first.bytes),
            ("until_bytes", last.bytes),
            ("from_ns", first.time_ns),
            ("until_ns", last.time_ns),
            ("bytes_per_second", per_second as u64),
            (LIVE_THEN, last.of_process),
            ("checkpoints", growth.steps + 1),
            ("span_ns", span_ns),
        ],
        why: format!(
            "Live bytes grew from {} to {} in {} until {}, at each of {}: {} a second.",
            Bytes(first.bytes),
            Bytes(last.bytes),
            Nanos(span_ns),
            Nanos(last.time_ns),
            counted(growth.steps, "step"),
            Bytes(per_second as u64),
        ),
        remedy: format!(
            "Remove what is no longer needed, or limit the collection to the {} that it had.",
            Bytes(first.bytes)
        ),
    }
}

/// Returns the bytes that were live in the whole process when the growth of a finding was measured.
pub(super) fn live_then(finding: &Finding) -> u64 {
    let mut evidence = finding.evidence.iter();
    let live = evidence.find(|(key, _)| *key == LIVE_THEN);
    live.map_or(0, |(_, bytes)| *bytes)
}

/// Returns the bytes that other groups with values of the same type gave up between two moments. A
/// queue that is filled at one place and refilled at another has the same bytes, but the second
/// place grows for as long as blocks of the first are left.
fn given_up<'a>(
    others: impl Iterator<Item = (&'a Group, &'a Vec<Moment>)>,
    group: &Group,
    span: (&Moment, &Moment),
) -> u64 {
    if group.place.type_name.is_none() {
        return 0;
    }
    let others = others.filter(|(other, _)| {
        other.place.type_name == group.place.type_name && !std::ptr::eq(*other, group)
    });
    let given_up = others.map(|(_, moments)| {
        let bytes_at = |time_ns| {
            let moment = moments.iter().find(|moment| moment.time_ns == time_ns);
            moment.map_or(0, |moment| moment.bytes)
        };
        bytes_at(span.0.time_ns).saturating_sub(bytes_at(span.1.time_ns))
    });
    given_up.sum()
}

/// The time at which the program ended: without that for which it waited until the snapshot of its
/// end was read.
fn end_ns(profile: &Profile) -> u64 {
    let last_checkpoint = profile.checkpoints().last();
    let after = last_checkpoint.map_or(0, |checkpoint| checkpoint.time_ns);
    let snapshots = profile.snapshots().iter().map(Snapshot::moment);
    let at_exit = snapshots.filter(|moment| moment.is_exit() && moment.time_ns >= after);
    let at_exit = at_exit.map(|moment| moment.time_ns).max();
    at_exit.unwrap_or(profile.process().duration_ns)
}

/// The live bytes and blocks of the group at each checkpoint and at the end.
fn moments(profile: &Profile, group: &Group) -> Vec<Moment> {
    let held = profile.live_at_checkpoints(&group.sites).into_iter();
    let at_checkpoints = held.zip(profile.checkpoints());
    let mut moments: Vec<Moment> = at_checkpoints
        .map(|((bytes, blocks), checkpoint)| Moment {
            time_ns: checkpoint.time_ns,
            allocated: checkpoint.total_bytes,
            bytes,
            blocks,
            of_process: checkpoint.live_bytes,
        })
        .collect();
    let figures = sum(group.sites(profile));
    moments.push(Moment {
        time_ns: end_ns(profile),
        allocated: profile.totals().total_bytes,
        bytes: figures.live_bytes,
        blocks: figures.live_blocks,
        of_process: profile.totals().live_bytes,
    });
    moments
}

/// Returns moments with steps of about the same length between them, over the last three fifths of
/// what was allocated up to the largest of the late moments. Returns `None` if the group was
/// largest long before the end, or if moments are missing.
fn steps(moments: &[Moment]) -> Option<Vec<Moment>> {
    let [.., before_end, end] = moments else {
        return None;
    };
    // No checkpoint was due: nothing was allocated for a long time, or just before the end.
    if before_end.time_ns < end.time_ns / 5 * 4 {
        return None;
    }
    let late = moments
        .iter()
        .filter(|moment| moment.time_ns > end.time_ns / 2);
    let last = late.max_by_key(|moment| (moment.bytes, moment.time_ns))?;
    if last.time_ns < end.time_ns / 5 * 4 || last.allocated < end.allocated / 5 * 4 {
        return None;
    }
    let span = last.allocated / 5 * 3;
    let step = span / LEAST_STEPS as u64;
    let mut steps = vec![*last];
    let up_to_last = moments
        .iter()
        .filter(|moment| moment.time_ns < last.time_ns);
    for moment in up_to_last.rev() {
        let gap = steps.last()?.allocated.saturating_sub(moment.allocated);
        let is_inside = last.allocated.saturating_sub(moment.allocated) <= span + step / 2;
        if !is_inside {
            break;
        }
        if gap > 2 * step {
            return None;
        }
        if gap >= step / 2 {
            steps.push(*moment);
        }
    }
    steps.reverse();
    let covered = last.allocated.saturating_sub(steps.first()?.allocated);
    (steps.len() > LEAST_STEPS && covered >= span / 5 * 4).then_some(steps)
}
