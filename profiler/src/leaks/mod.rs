//! Blocks that are live, and whether they should be: what grows while a program runs, and what is
//! left when it ends.
//!
//! No row is called a leak by itself. A row says what is live, how much of it was added in the
//! second half of the recording, how old it is, and which of its blocks nothing reached in two
//! snapshots. What belongs to the start of the program or to its statics is kept apart.
//!
//! ```
//! use heapglass_profiler::leaks::{Kind, leaks};
//!
//! # let profile = heapglass_fixture::real("server");
//! let leaks = leaks(&profile);
//! let bytes: u64 = leaks.rows.iter().map(|row| row.figures.live_bytes).sum();
//! assert_eq!(bytes, profile.totals().live_bytes);
//! for row in leaks.of(Kind::Program) {
//!     println!("{} {:+}", row.label.owner, row.grown.difference().0);
//! }
//! ```

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::growth::{Grown, Moment};
use crate::profile::{Age, Figures, Frames, FunctionId, Group, Measure, Profile, Site, State};
use crate::snapshot::{NotReached, Snapshot, confirmed};
use crate::table::{By, Detail, SiteLabel, holders, rows};

/// The live blocks of a recording.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Leaks {
    /// The earlier moment of the growth: the one nearest to half of the recording. `None` for the
    /// sum of several recordings, which has no moments.
    pub since: Option<Moment>,
    /// `true` if two snapshots tell which blocks nothing reaches.
    pub has_unreachable: bool,
    /// Rows by site with live bytes: those of the program first, then those of statics and of the
    /// start.
    pub rows: Vec<LeakRow>,
}

/// The live blocks of sites that read the same.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeakRow {
    /// The reason to expect that they stay.
    pub kind: Kind,
    /// The names of the row.
    pub label: SiteLabel,
    /// Indexes into [`Profile::sites`].
    pub sites: Vec<usize>,
    /// The figures.
    pub figures: Figures,
    /// Live bytes and blocks at [`Leaks::since`] and at the end. Without that moment, those at the
    /// end twice, because no growth is known.
    pub grown: Grown,
    /// The age of the blocks.
    pub age: Age,
    /// Bytes that nothing reached in two snapshots. They are those of the last one.
    pub unreachable_bytes: u64,
}

/// The reason to expect that blocks stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// None: the program should free them.
    #[default]
    Program,
    /// A static holds them: they were allocated while it was initialized, or the last snapshot
    /// shows it.
    Static,
    /// The standard library needs them to start the program and its threads.
    Start,
}

impl Kind {
    /// Every kind, in the order of rows.
    pub const ALL: [Kind; 3] = [Kind::Program, Kind::Static, Kind::Start];

    /// Returns the name of the group for people.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Program => "program",
            Kind::Static => "statics",
            Kind::Start => "start-up",
        }
    }
}

impl Leaks {
    /// Returns the rows of a kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &LeakRow> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }

    /// Returns the live bytes and blocks of a kind.
    pub fn live(&self, kind: Kind) -> (u64, u64) {
        let figures = self.of(kind).map(|row| &row.figures);
        figures.fold((0, 0), |(bytes, blocks): (u64, u64), figures| {
            (
                bytes.saturating_add(figures.live_bytes),
                blocks.saturating_add(figures.live_blocks),
            )
        })
    }
}

/// Returns the live blocks of a recording.
pub fn leaks(profile: &Profile) -> Leaks {
    let is_by_growth = profile.process().state == State::Running;
    let has_moments = profile.process().merged.is_none();
    let since = has_moments.then(|| Moment::nearest(profile, profile.process().duration_ns / 2));
    let of_statics = sites_of_statics(profile);
    let initializers = initializers(profile);
    let unreachable = unreachable(profile.snapshots());
    let bytes_of = |site: &usize| {
        let known = unreachable.as_ref()?.get(&(*site as u32));
        known.copied()
    };
    let live = rows(profile, By::Site, Measure::Live, Frames::Folded)
        .into_iter()
        .filter(|row| row.figures.live_bytes > 0);
    let mut rows: Vec<LeakRow> = live
        .filter_map(|row| {
            let Detail::Site(detail) = row.detail else {
                return None;
            };
            let figures = row.figures;
            let to = (figures.live_bytes, figures.live_blocks);
            let held = profile.live_at_checkpoints(&detail.sites);
            let from = match since {
                Some(Moment::Checkpoint(at)) => held.get(at).copied().unwrap_or_default(),
                Some(_) => (0, 0),
                None => to,
            };
            let unreachable = detail.sites.iter().filter_map(bytes_of);
            Some(LeakRow {
                kind: kind(profile, &detail.sites, &of_statics, &initializers),
                grown: Grown { from, to },
                age: profile.age_of(&held, &figures),
                unreachable_bytes: unreachable.fold(0, u64::saturating_add),
                label: detail.label,
                sites: detail.sites,
                figures,
            })
        })
        .collect();
    // Equal rows keep the order of the report.
    rows.sort_by_key(|row| {
        let grown = row.grown.difference().0;
        let size = if is_by_growth {
            grown
        } else {
            i64::try_from(row.figures.live_bytes).unwrap_or(i64::MAX)
        };
        (row.kind, Reverse(size))
    });
    Leaks {
        since,
        has_unreachable: unreachable.is_some(),
        rows,
    }
}

/// Returns the kind of a row: that of all its sites, else [`Kind::Program`].
fn kind(
    profile: &Profile,
    sites: &[usize],
    of_statics: &HashSet<u32>,
    initializers: &HashSet<FunctionId>,
) -> Kind {
    let mut kinds = sites.iter().filter_map(|&index| {
        let site = profile.sites().get(index)?;
        Some(match site.group {
            Some(Group::Runtime) => Kind::Start,
            _ if of_statics.contains(&(index as u32)) => Kind::Static,
            _ if initializes_static(profile, site, initializers) => Kind::Static,
            _ => Kind::Program,
        })
    });
    let first = kinds.next().unwrap_or_default();
    if kinds.all(|kind| kind == first) {
        first
    } else {
        Kind::Program
    }
}

/// Returns `true` if a static, or a thread-local, was being initialized when a site asked.
fn initializes_static(profile: &Profile, site: &Site, initializers: &HashSet<FunctionId>) -> bool {
    let mut frames = profile.innermost_first(site);
    frames.any(|frame| {
        let frame = profile.frames().get(frame.0 as usize);
        frame.is_some_and(|frame| initializers.contains(&frame.function))
    })
}

/// Returns the functions that initialize a static or a thread-local.
fn initializers(profile: &Profile) -> HashSet<FunctionId> {
    const INITIALIZERS: [&str; 5] = [
        "OnceLock<T>::initialize",
        "lazy_lock::LazyLock<",
        "once_cell::imp::OnceCell<T>::initialize",
        "lazy_static::lazy::Lazy<T>::get",
        "thread_local::native::lazy::Storage<",
    ];
    let functions = (0..).map(FunctionId).zip(profile.functions());
    functions
        .filter(|(_, function)| INITIALIZERS.iter().any(|part| function.name.contains(part)))
        .map(|(id, _)| id)
        .collect()
}

/// Returns the sites whose blocks are held by statics alone in the last snapshot, with everything
/// that these hold.
fn sites_of_statics(profile: &Profile) -> HashSet<u32> {
    let Some(snapshot) = profile.snapshots().last() else {
        return HashSet::new();
    };
    let rows = holders(profile, snapshot);
    let mut of_statics: HashSet<u32> = HashSet::new();
    let mut of_others: HashSet<u32> = HashSet::new();
    let mut is_of_static = Vec::with_capacity(rows.len());
    for row in &rows {
        let is_static = match row.parent {
            Some(parent) => is_of_static.get(parent).copied().unwrap_or(false),
            None => row.name.is_statics(),
        };
        is_of_static.push(is_static);
        let sites = if is_static {
            &mut of_statics
        } else {
            &mut of_others
        };
        sites.extend(&row.sites);
    }
    of_statics.retain(|site| !of_others.contains(site));
    of_statics
}

/// Returns the bytes of each site that nothing reached in the last snapshot, nor in an earlier one.
/// `None` if there are no two snapshots.
fn unreachable(snapshots: &[Snapshot]) -> Option<HashMap<u32, u64>> {
    let (last, earlier) = snapshots.split_last()?;
    if earlier.is_empty() {
        return None;
    }
    let mut by_site: HashMap<u32, u64> = HashMap::new();
    let blocks = confirmed(last, earlier.iter());
    let with_site = |block: &&NotReached| Some((block.site?, block.bytes));
    for (site, bytes) in blocks.iter().filter_map(with_site) {
        let sum = by_site.entry(site).or_default();
        *sum = sum.saturating_add(bytes);
    }
    Some(by_site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Merged, Process};
    use heapglass_fixture::made;

    #[test]
    fn a_sum_of_recordings_has_no_growth() {
        let mut profile = Profile::default();
        assert_eq!(leaks(&profile).since, Some(Moment::Start));
        *profile.parts().process = made!(Process {
            merged: Some(Merged::default()),
        });
        assert_eq!(leaks(&profile).since, None);
    }
}
