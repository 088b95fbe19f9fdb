//! Windows of time: the difference of two moments of one recording that is still being written.
//!
//! `diff` compares recordings of different runs by what their rows say. Here both moments are of
//! the same recording, so sites are matched by their numbers in it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::profile::{Figures, Profile, State};
use crate::table::program_name;

/// The counters of every site at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Start and process ID of the recording.
    recording: (u64, u32),
    unix_ns: u64,
    /// By number of the site in the recording, rising.
    sites: Vec<(u32, Figures)>,
}

/// The figures that a window has of live blocks. Those of allocations are always what was allocated
/// in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Since {
    /// The change of live blocks, which may be negative: `seconds=N` of Go's profiles.
    Change,
    /// The blocks live at its end: `delta_heap` of Pyroscope.
    Allocations,
}

/// A window of time, from an earlier moment of a recording to that of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The moment at which it begins.
    pub begin: &'a Moment,
    /// The time at which the profile was read.
    pub end: SystemTime,
    /// The figures of live blocks.
    pub since: Since,
}

impl Moment {
    /// Keeps the counters of a profile that was read at `time`.
    pub fn of(profile: &Profile, time: SystemTime) -> Self {
        let sites = profile.numbered_sites();
        Moment {
            recording: identity(profile),
            unix_ns: since_epoch_ns(time),
            sites: sites
                .map(|(number, site)| (number, site.figures.clone()))
                .collect(),
        }
    }

    /// Returns the start of the recording, when nothing was counted.
    pub fn start_of(profile: &Profile) -> Self {
        Moment {
            recording: identity(profile),
            unix_ns: profile.process.started_unix_ns,
            sites: Vec::new(),
        }
    }

    /// Returns `true` if the profile is of the same recording.
    pub fn is_of(&self, profile: &Profile) -> bool {
        self.recording == identity(profile)
    }
}

impl Window<'_> {
    /// Returns the figures that the site with this index had when the window began.
    pub(super) fn before(&self, profile: &Profile, site: usize) -> Figures {
        let number = profile.site_numbers.get(site);
        let found = number.and_then(|number| {
            let sites = &self.begin.sites;
            let at = sites.binary_search_by_key(number, |(number, _)| *number);
            Some(sites[at.ok()?].1.clone())
        });
        found.unwrap_or_default()
    }

    /// Returns its begin, since the Unix epoch, and its length. It ends with the recording if that
    /// has ended in the window.
    pub(super) fn unix_ns(&self, profile: &Profile) -> (u64, u64) {
        let begin = self.begin.unix_ns;
        let process = &profile.process;
        let last = process.started_unix_ns.saturating_add(process.duration_ns);
        let end = match process.state {
            State::Running => since_epoch_ns(self.end),
            _ if last <= begin => since_epoch_ns(self.end),
            _ => since_epoch_ns(self.end).min(last),
        };
        (begin, end.saturating_sub(begin))
    }

    /// Says what the figures are.
    pub(super) fn describe(&self, profile: &Profile) -> String {
        let (_, duration_ns) = self.unix_ns(profile);
        let seconds = duration_ns as f64 / 1e9;
        let live = match self.since {
            Since::Change => "live blocks are their change",
            Since::Allocations => "live blocks are those at its end",
        };
        format!(
            "{}: allocations in {seconds:.2} s; {live}",
            program_name(profile)
        )
    }
}

fn identity(profile: &Profile) -> (u64, u32) {
    (profile.process.started_unix_ns, profile.process.pid)
}

fn since_epoch_ns(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
