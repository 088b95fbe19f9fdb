//! Moments of a recording at which it is known what each site held.

use crate::profile::{CheckpointKind, Measure, Number, Profile, ScopeId, ScopeKind, State};
use crate::report::page::first_few;
use crate::units::{Nanos, counted, parse_nanos, printable};
use tracking_alloc_recording::MOST_ENTRIES_OF_A_MOMENT;

/// Names that an error lists; the others are counted.
const LISTED: usize = 8;

/// Explains why a sum of recordings has no moments.
pub const NO_MOMENTS: &str = "the sum of several recordings has no moments, because each \
    program had its own; compare moments of one recording";

/// A moment at which it is known what each site held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// The start of the recording: nothing was live that the recording knows.
    Start,
    /// A checkpoint, by its index in [`Profile::checkpoints`].
    Checkpoint(usize),
    /// The peak of the whole program. Its time is that of the timeline.
    Peak,
    /// The end of the recording, or now if the program still runs.
    End,
}

impl Moment {
    /// Returns every moment of a recording except the peak, oldest first.
    pub fn all(profile: &Profile) -> impl Iterator<Item = Moment> + use<> {
        let checkpoints = (0..profile.checkpoints().len()).map(Moment::Checkpoint);
        [Moment::Start]
            .into_iter()
            .chain(checkpoints)
            .chain([Moment::End])
    }

    /// Returns the moment nearest to a time, except the peak.
    pub fn nearest(profile: &Profile, time_ns: u64) -> Moment {
        let distance = |moment: &Moment| moment.time_ns(profile).abs_diff(time_ns);
        let nearest = Moment::all(profile).min_by_key(distance);
        nearest.unwrap_or(Moment::Start)
    }

    /// Returns every moment of a recording and the peak, oldest first. The sum of several
    /// recordings has none.
    pub fn with_peak(profile: &Profile) -> Vec<Moment> {
        if profile.process().merged.is_some() {
            return Vec::new();
        }
        let mut moments: Vec<Moment> = Moment::all(profile).chain([Moment::Peak]).collect();
        moments.sort_by_key(|moment| moment.order(profile));
        moments
    }

    /// Returns the time after the start of the recording, in nanoseconds.
    pub fn time_ns(self, profile: &Profile) -> u64 {
        match self {
            Moment::Start => 0,
            Moment::Checkpoint(number) => {
                let checkpoint = profile.checkpoints().get(number);
                checkpoint.map_or(0, |checkpoint| checkpoint.time_ns)
            }
            Moment::Peak => profile.capture().peak_time_ns,
            Moment::End => profile.process().duration_ns,
        }
    }

    /// Returns the bytes that the whole process had allocated; `None` for the peak, where it is not
    /// known.
    pub fn total_bytes(self, profile: &Profile) -> Option<u64> {
        match self {
            Moment::Start => Some(0),
            Moment::Checkpoint(number) => {
                let checkpoint = profile.checkpoints().get(number);
                checkpoint.map(|checkpoint| checkpoint.total_bytes)
            }
            Moment::Peak => None,
            Moment::End => Some(profile.total_of(Measure::Total)),
        }
    }

    /// Returns the live bytes and blocks of the whole process.
    pub fn live(self, profile: &Profile) -> (u64, Number) {
        let totals = profile.totals();
        match self {
            Moment::Start => (0, Number::exact(0)),
            Moment::Checkpoint(number) => {
                let checkpoint = profile.checkpoints().get(number);
                checkpoint.map_or((0, Number::exact(0)), |moment| {
                    (moment.live_bytes, profile.blocks_at(moment))
                })
            }
            Moment::Peak => (totals.peak_bytes, profile.number("peak_blocks")),
            Moment::End => (totals.live_bytes, profile.number("live_blocks")),
        }
    }

    /// Returns what orders moments: the peak comes after a checkpoint of the same time, and the end
    /// after both.
    pub(super) fn order(self, profile: &Profile) -> (u64, usize) {
        let number = match self {
            Moment::Start => 0,
            Moment::Checkpoint(number) => number + 1,
            Moment::Peak => usize::MAX - 1,
            Moment::End => usize::MAX,
        };
        (self.time_ns(profile), number)
    }

    /// Returns the name of the moment for people: `mark "warm" at 5.20 s`, `the end at 17.85 s`.
    pub fn name(self, profile: &Profile) -> String {
        let time = Nanos(self.time_ns(profile));
        match self {
            Moment::Start => "the start".to_owned(),
            Moment::Peak => format!("the peak at {time}"),
            Moment::End => match profile.process().state {
                State::Running => format!("now, at {time}"),
                _ => format!("the end at {time}"),
            },
            Moment::Checkpoint(number) => {
                let checkpoint = profile.checkpoints().get(number);
                let name = checkpoint
                    .map(|checkpoint| printable(&checkpoint.name))
                    .unwrap_or_default();
                match checkpoint.map(|checkpoint| checkpoint.kind) {
                    Some(CheckpointKind::Mark) => format!("mark \"{name}\" at {time}"),
                    Some(CheckpointKind::Phase) => {
                        format!("the end of phase \"{name}\" at {time}")
                    }
                    _ => format!("checkpoint at {time}"),
                }
            }
        }
    }
}

/// The moment that was found for a wanted one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The moment.
    pub moment: Moment,
    /// The text that was asked for.
    pub wanted: String,
    /// Nanoseconds from the wanted time to the moment, negative if the moment is before it. 0 if
    /// it is the moment that was asked for.
    pub distance_ns: i64,
}

impl Found {
    /// Returns a moment that was chosen by itself.
    pub fn exact(moment: Moment) -> Found {
        Found {
            moment,
            wanted: String::new(),
            distance_ns: 0,
        }
    }

    /// Returns the name of the moment, and how far it is from what was asked for.
    pub fn text(&self, profile: &Profile) -> String {
        let name = self.moment.name(profile);
        if self.distance_ns == 0 {
            return name;
        }
        let distance = Nanos(self.distance_ns.unsigned_abs());
        let side = if self.distance_ns < 0 {
            "before"
        } else {
            "after"
        };
        format!("{name}, {distance} {side} {}", printable(&self.wanted))
    }
}

/// The side of a comparison. Where a name stands for several moments, the earlier side takes the
/// first one, the later side the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The earlier moment.
    From,
    /// The later moment.
    To,
}

impl Side {
    fn choose<T>(self, mut all: impl DoubleEndedIterator<Item = T>) -> Option<T> {
        match self {
            Side::From => all.next(),
            Side::To => all.next_back(),
        }
    }
}

/// Finds the moment nearest to a wanted one: the name of a mark, or of an outermost phase, which
/// stands for its end; a time after the start such as `12s`, `1.5 s`, `300ms` or `2min`; `start`,
/// `peak` or `end`.
///
/// # Errors
/// Returns a sentence with the possible names if the text is none of these.
pub fn moment(profile: &Profile, wanted: &str, side: Side) -> Result<Found, String> {
    if profile.process().merged.is_some() {
        return Err(NO_MOMENTS.to_owned());
    }
    let wanted = wanted.trim();
    let named = |kind: CheckpointKind| {
        let checkpoints = profile.checkpoints().iter().enumerate();
        checkpoints.filter(move |(_, of)| of.kind == kind && of.name == wanted)
    };
    let found = |moment, distance_ns| Found {
        moment,
        wanted: wanted.to_owned(),
        distance_ns,
    };
    let mut marks = profile.marks().iter().filter(|mark| mark.name == wanted);
    if let Some(mark) = side.choose(marks.by_ref()) {
        // The checkpoint of a mark is taken right before the mark reads its time.
        let is_its = |time_ns: u64| {
            let is_between = |other: u64| time_ns < other && other < mark.time_ns;
            let mut others = profile.marks().iter();
            time_ns <= mark.time_ns && !others.any(|other| is_between(other.time_ns))
        };
        let own = side.choose(named(CheckpointKind::Mark).filter(|(_, of)| is_its(of.time_ns)));
        if let Some((number, _)) = own {
            return Ok(found(Moment::Checkpoint(number), 0));
        }
        let (moment, distance_ns) = nearest(profile, mark.time_ns);
        return Ok(found(moment, distance_ns));
    }
    if let Some((number, _)) = side.choose(named(CheckpointKind::Phase)) {
        return Ok(found(Moment::Checkpoint(number), 0));
    }
    match wanted {
        "start" => return Ok(found(Moment::Start, 0)),
        "peak" => return Ok(found(Moment::Peak, 0)),
        "end" => return Ok(found(Moment::End, 0)),
        _ => {}
    }
    if let Some(time_ns) = parse_nanos(wanted) {
        let (moment, distance_ns) = nearest(profile, time_ns);
        return Ok(found(moment, distance_ns));
    }
    if let Some(entered) = entered_often(profile, wanted) {
        return Err(format!(
            "phase `{}` was entered {}: too often for the end of one entry to be a moment; {}",
            printable(wanted),
            counted(entered, "time"),
            choices(profile)
        ));
    }
    Err(format!(
        "`{}` is neither a mark or phase of this recording nor a time such as 12s; {}",
        printable(wanted),
        choices(profile)
    ))
}

/// Returns how many times an outermost phase was entered, if no end of it is a moment for that
/// reason.
fn entered_often(profile: &Profile, name: &str) -> Option<u64> {
    let phases = profile.phases();
    let scopes = (1..).map(ScopeId).zip(profile.scopes().iter().skip(1));
    scopes
        .filter(|(id, scope)| {
            scope.kind == ScopeKind::Phase && phases.parent(*id) == ScopeId(0) && scope.name == name
        })
        .map(|(_, scope)| scope.entered)
        .find(|&entered| entered > MOST_ENTRIES_OF_A_MOMENT)
}

/// Returns the moment nearest to a time, and its distance.
fn nearest(profile: &Profile, time_ns: u64) -> (Moment, i64) {
    let nearest = Moment::nearest(profile, time_ns);
    let distance = i128::from(nearest.time_ns(profile)) - i128::from(time_ns);
    (nearest, i64::try_from(distance).unwrap_or(i64::MAX))
}

/// Lists what `--from` and `--to` take.
pub(super) fn choices(profile: &Profile) -> String {
    let mut names: Vec<&str> = Vec::new();
    let marks = profile.marks().iter().map(|mark| mark.name.as_str());
    let phases = profile
        .checkpoints()
        .iter()
        .filter(|checkpoint| checkpoint.kind == CheckpointKind::Phase);
    for name in marks.chain(phases.map(|phase| phase.name.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<String> = names
        .into_iter()
        .chain(["start", "peak", "end"])
        .map(|name| printable(name).into_owned())
        .collect();
    let times = profile
        .checkpoints()
        .iter()
        .map(|checkpoint| Nanos(checkpoint.time_ns).to_string());
    format!(
        "names: {}; checkpoints: {}",
        first_few(names.into_iter(), LISTED),
        match times.len() {
            0 => "none".to_owned(),
            _ => first_few(times, LISTED),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Merged, Process};
    use heapglass_fixture::made;

    #[test]
    fn a_sum_of_recordings_has_no_moments() {
        let mut profile = Profile::default();
        assert_eq!(Moment::with_peak(&profile).len(), 3);
        *profile.parts().process = made!(Process {
            merged: Some(Merged::default()),
        });
        assert_eq!(Moment::with_peak(&profile), []);
        assert_eq!(
            moment(&profile, "end", Side::To),
            Err(NO_MOMENTS.to_owned())
        );
    }
}
