//! Loading: a recording and the symbols of its binaries become a [`Profile`].
//!
//! The counters (`counters`, `moments`), the process (`process`), stacks with names (`stacks`), and
//! the symbols that a packed recording carries (`packed`) are each a function of the recording.
//! This module does not know how they will be shown.

mod arenas;
mod beside;
mod counters;
mod distribution;
mod error;
mod frames;
mod functions;
mod generated;
mod losses;
mod modules;
mod moments;
mod names;
mod owner;
mod packed;
mod process;
mod reader;
mod scope_tree;
mod stacks;
#[cfg(test)]
mod tests;
mod walks;

pub use beside::{Beside, snapshots_so_far};
pub use counters::SiteSamples;
pub use error::Error;
pub use generated::{FoundNames, find_generated_names};
pub use moments::thread_sums;
pub use packed::{PackedSum, pack};

use crate::containers::DeclaredContainer;
use crate::parallel::is_alone;
use crate::profile::{Process, Profile, StackNode, State};
use crate::snapshot::Snapshot;
use crate::symbols::{self, Progress, SymbolOptions};
use counters::CountedSites;
use error::Kind;
use modules::Modules;
use names::{Addresses, Names};
use stacks::StackCache;
use std::convert::Infallible;
use std::fs::File;
use std::mem::take;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tracking_alloc_recording::Recording;

/// Options of [`open`]: where to look for symbols, and whose code is whose.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The places to look for symbols.
    pub symbols: SymbolOptions,
    /// Names of the program's own crates (`my_app` or `my-app`). If empty, these are the crates
    /// whose sources lie outside registries, git checkouts and the toolchain.
    pub own: Vec<String>,
    /// Names of functions that hand blocks to their callers and own nothing, in addition to the
    /// known ones. `*` stands for any text.
    pub wrappers: Vec<String>,
    /// Containers that the program declares, for the snapshots that a reader takes.
    pub containers: Vec<DeclaredContainer>,
}

impl OpenOptions {
    /// Returns options that look for symbols where the binaries ran, and cache them for the user.
    pub fn with_cache() -> Self {
        OpenOptions {
            symbols: SymbolOptions {
                cache: symbols::default_cache_dir(),
                ..SymbolOptions::default()
            },
            ..OpenOptions::default()
        }
    }
}

/// Loads the recording at `path`, finished or still being written, and names its frames.
///
/// `progress` is called on this thread while symbols are read.
///
/// ```
/// use heapglass_profile::profile::State;
/// use heapglass_profile::{OpenOptions, open};
///
/// # let file = heapglass_fixture::recording("shop-profiled");
/// # let path = file.as_ref();
/// let progress = |at: heapglass_profile::Progress<'_>| {
///     eprintln!("{}: {} of {}", at.module, at.done, at.total);
/// };
/// let profile = open(path, &OpenOptions::default(), &progress)?;
/// assert_eq!(profile.process().program, "shop");
/// assert_eq!(profile.process().state, State::Finished);
/// # Ok::<(), heapglass_profile::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the file is missing, empty, foreign, truncated, altered or of another
/// version, or if [`SymbolOptions::binary`] is not the binary that ran.
pub fn open(
    path: &Path,
    options: &OpenOptions,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Profile, Error> {
    Session::new(options.clone()).load(path, progress, None)
}

/// Takes a profile whose functions have no names yet.
pub type Early<'a> = &'a (dyn Fn(Profile) + Sync);

/// Time to wait for names before a profile is shown without them.
const PATIENCE: Duration = Duration::from_millis(200);

/// Loads a recording again and again, while its program still runs: names are only looked up when
/// there are new ones, and only new stacks are read.
#[derive(Default)]
pub struct Session {
    options: OpenOptions,
    known: Option<Known>,
}

/// The state of a recording that goes on.
struct Known {
    addresses: Addresses,
    names: Names,
    stacks: StackCache,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut session = f.debug_struct("Session");
        session
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a session that has loaded nothing.
    pub fn new(options: OpenOptions) -> Self {
        Session {
            options,
            known: None,
        }
    }

    /// Returns its options.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Loads a recording as [`open`] does. If names take long, `early` gets the profile without
    /// them, on another thread. All figures of that profile are those of the profile with names.
    ///
    /// # Errors
    /// Returns the errors of [`open`].
    pub fn load(
        &mut self,
        path: &Path,
        progress: &dyn Fn(Progress<'_>),
        early: Option<Early<'_>>,
    ) -> Result<Profile, Error> {
        let mut recording = read(path)?;
        if recording.snapshots.is_none() {
            recording.snapshots = beside::read(path);
        }
        self.load_recording(recording, path, progress, early)
    }

    /// Loads a recording from an open file, as [`load`](Session::load) does. `path` is its name in
    /// messages.
    ///
    /// # Errors
    /// Returns the errors of [`open`].
    pub fn load_file(&mut self, file: &File, path: &Path) -> Result<Profile, Error> {
        let recording =
            Recording::read(file).map_err(|error| Error::new(path, Kind::Recording(error)))?;
        self.load_recording(recording, path, &|_| (), None)
    }

    fn load_recording(
        &mut self,
        mut recording: Recording,
        path: &Path,
        progress: &dyn Fn(Progress<'_>),
        early: Option<Early<'_>>,
    ) -> Result<Profile, Error> {
        let snapshots = snapshots(&mut recording, path)?;
        let options = &self.options;
        let addresses = Addresses::of(&mut recording);
        let mut known = self.known.take();
        let same = known
            .as_mut()
            .filter(|known| known.addresses == addresses)
            .map(|known| take(&mut known.names));
        let is_same = same.is_some();
        let of = &addresses;
        let find = |same: Option<Names>| match same {
            Some(names) => Ok(names),
            None => Names::find(of, path, options, progress),
        };
        let (names, unnamed) = if is_alone() {
            (find(same), Unnamed::of(recording, snapshots))
        } else {
            std::thread::scope(|scope| {
                let (naming, named) = mpsc::channel::<Infallible>();
                let counting = scope.spawn(move || {
                    let unnamed = Unnamed::of(recording, snapshots);
                    if let Some(early) = early
                        && named.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout)
                    {
                        early(unnamed.early(of, options));
                    }
                    unnamed
                });
                let names = find(same);
                drop(naming);
                let unnamed = counting.join();
                (names, unnamed.unwrap_or_else(|panic| resume_unwind(panic)))
            })
        };
        let names = names?;
        // A finished recording is loaded again to find names that were missing.
        let goes_on = unnamed.profile.process.state == State::Running;
        let holds = |known: &Known| {
            let before = (&known.addresses, &known.names);
            goes_on && (is_same || names.begin_with(of, before))
        };
        let known = known.filter(holds);
        let mut stacks = known.map(|known| known.stacks).unwrap_or_default();
        let kept = goes_on.then_some(&mut stacks);
        let profile = unnamed.named((&of.modules, &names), options, kept);
        self.known = goes_on.then_some(Known {
            addresses,
            names,
            stacks,
        });
        Ok(profile)
    }
}

/// Reads which process the recording at `path` is of, without symbols: far quicker than [`open`].
///
/// # Errors
/// Returns an error if the file is missing, empty, foreign, truncated, altered or of another
/// version.
pub fn read_process(path: &Path) -> Result<Process, Error> {
    Ok(process::describe(&read(path)?))
}

fn read(path: &Path) -> Result<Recording, Error> {
    Recording::open(path).map_err(|error| Error::new(path, Kind::Recording(error)))
}

/// Takes the snapshots that a recording carries.
fn snapshots(recording: &mut Recording, path: &Path) -> Result<Vec<Snapshot>, Error> {
    let bytes = recording.snapshots.take();
    let snapshots = bytes
        .map(|bytes| Snapshot::parse(&bytes))
        .transpose()
        .map_err(|what| Error::new(path, Kind::Snapshots(what)))?;
    Ok(snapshots.unwrap_or_default())
}

/// A recording with its figures, for the sum of several.
pub struct Counted {
    /// The recording, without the rows of its lanes.
    pub recording: Recording,
    /// Its figures, without names.
    pub profile: Profile,
    /// The samples behind the figures of each site; empty if every event was recorded.
    pub samples: Vec<SiteSamples>,
}

impl Counted {
    /// Reads a recording and counts.
    ///
    /// # Errors
    /// Returns the errors of [`open`], except those of symbols.
    pub fn open(path: &Path) -> Result<Counted, Error> {
        let mut recording = read(path)?;
        let snapshots = snapshots(&mut recording, path)?;
        let peak = counters::find_peak(&recording);
        let counted = CountedSites::of(&recording, &peak);
        let samples = counters::samples(&recording, &peak, &counted);
        // The profile takes them.
        let stacks = recording.stacks.clone();
        let Unnamed {
            mut recording,
            profile,
            ..
        } = Unnamed::counted(recording, snapshots, &peak, counted);
        recording.stacks = stacks;
        Ok(Counted {
            recording,
            profile,
            samples,
        })
    }
}

/// The contents of a recording without names.
struct Unnamed {
    recording: Recording,
    sites: CountedSites,
    /// With the tree that its stacks are, and the figures of its sites.
    profile: Profile,
    lanes: Vec<moments::LaneRows>,
}

impl Unnamed {
    /// Counts.
    fn of(recording: Recording, snapshots: Vec<Snapshot>) -> Self {
        let peak = counters::find_peak(&recording);
        let counted = CountedSites::of(&recording, &peak);
        Unnamed::counted(recording, snapshots, &peak, counted)
    }

    /// Counts the rows of these sites.
    fn counted(
        mut recording: Recording,
        snapshots: Vec<Snapshot>,
        peak: &counters::Peak,
        counted: CountedSites,
    ) -> Self {
        let mut profile = Profile {
            process: process::describe(&recording),
            snapshots,
            ..Profile::default()
        };
        profile.capture = moments::capture(&recording, peak);
        profile.checkpoints = counters::checkpoints(&recording, &counted);
        // What is not needed again: of a large recording it is most.
        for lane in &mut recording.lanes {
            lane.checkpoints = Vec::new();
        }
        for snapshot in &mut profile.snapshots {
            snapshot.renumber(|number| counted.position(number).map(|site| site as u32));
        }
        profile.site_numbers.clone_from(&counted.numbers);
        let (sites, impossible) = counters::count(&recording, peak, &counted);
        if let Some(sampling) = &profile.capture.sampling {
            profile.totals.estimate_from(sampling.most_sample_bytes);
            // While the program runs, the exact figure is a little older than the others.
            if profile.process.state == State::Finished
                && let Some(samples) = &mut profile.totals.samples
            {
                samples.most_bytes = sampling.total_bytes;
            }
        }
        for site in &sites {
            profile.totals.add(&site.figures);
        }
        for snapshot in &mut profile.snapshots {
            snapshot.compare_with_peak(profile.totals.peak_bytes);
        }
        profile.sites = sites;
        profile.failed_requests = counters::refused(&recording, &counted);
        profile.failed_request_count = recording.header.failed_requests;
        losses::fill(&mut profile, &recording, impossible);
        let lanes = moments::lane_rows(&recording, &counted);
        for lane in &mut recording.lanes {
            (lane.rows, lane.sizes) = Default::default();
        }
        profile.threads = moments::threads(&recording);
        profile.timeline = moments::timeline(&recording);
        profile.marks = moments::marks(&recording);
        let nodes = take(&mut recording.stacks)
            .into_iter()
            .map(|node| StackNode {
                parent: node.parent,
                piece: node.frame,
            });
        profile.stacks.nodes = nodes.collect();
        Unnamed {
            recording,
            sites: counted,
            profile,
            lanes,
        }
    }

    /// The profile with names.
    fn named(
        self,
        names: (&Modules, &Names),
        options: &OpenOptions,
        kept: Option<&mut StackCache>,
    ) -> Profile {
        let mut profile = self.profile;
        let recorded = (&self.recording, &self.sites);
        stacks::fill(&mut profile, recorded, names, options, kept);
        moments::split_backtraces(&mut profile, &self.lanes);
        profile
    }

    /// The profile before there are names.
    fn early(&self, of: &Addresses, options: &OpenOptions) -> Profile {
        let mut profile = self.profile.clone();
        let recorded = (&self.recording, &self.sites);
        let names = (&of.modules, &Names::none(of));
        stacks::fill(&mut profile, recorded, names, options, None);
        // A note already says that names are missing.
        profile.lost.unresolved_frames = 0;
        profile
    }
}
