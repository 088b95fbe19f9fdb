//! Loading: a recording and the symbols of its binaries become a [`Profile`].
//!
//! The counters (`counters`, `moments`), who was recorded (`process`), stacks with names (`stacks`), and the symbols a packed
//! recording carries (`packed`) are each a function of the recording; nothing here knows how they will be shown.

mod arenas;
mod counters;
mod distribution;
mod error;
mod functions;
mod losses;
mod modules;
mod moments;
mod owner;
mod packed;
mod process;
mod scopes;
mod stacks;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use packed::pack;

use crate::profile::Profile;
use crate::symbols::{self, Progress};
use std::path::Path;
use tracking_alloc_recording::Recording;

/// How to load.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where symbols are looked for.
    pub symbols: symbols::Options,
    /// The crates that are the program's own, by name (`my_app` or `my-app`); none: those whose sources lie outside
    /// registries, git checkouts and the toolchain.
    pub own: Vec<String>,
}

impl Options {
    /// Symbols from where the binaries ran, kept in the user's cache.
    pub fn with_cache() -> Self {
        Options {
            symbols: symbols::Options {
                cache: symbols::default_cache_dir(),
                ..symbols::Options::default()
            },
            own: Vec::new(),
        }
    }
}

/// Loads the recording at `path`, finished or still being written, and names its frames.
///
/// A file that only says where the recording is being written is followed. `progress` is called on this thread while
/// symbols are read.
///
/// # Errors
/// When the file is missing, empty, foreign, truncated, altered or of another version; when [`symbols::Options::binary`]
/// is not the binary that ran.
pub fn open(
    path: &Path,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Profile, Error> {
    let (path, recording) = read(path)?;
    from_recording(&path, recording, options, progress)
}

/// Reads the recording at `path`, or the one it points to; with it the path it was read from.
fn read(path: &Path) -> Result<(std::path::PathBuf, Recording), Error> {
    match Recording::open(path) {
        Ok(recording) => Ok((path.to_owned(), recording)),
        Err(error) => match error.live_path().map(Path::new) {
            Some(live) if live.is_absolute() && live.is_file() => Recording::open(live)
                .map(|recording| (live.to_owned(), recording))
                .map_err(|error| Error::recording(live, error)),
            _ => Err(Error::recording(path, error)),
        },
    }
}

/// Makes the profile of a recording that was read.
fn from_recording(
    path: &Path,
    mut recording: Recording,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Profile, Error> {
    let mut profile = Profile {
        process: process::describe(&recording),
        ..Profile::default()
    };
    let peak = counters::find_peak(&recording);
    profile.capture = moments::capture(&recording, &peak);
    let (sites, impossible) = counters::count(&recording, &peak);
    profile.snapshots = counters::snapshots(&recording, &sites);
    let lanes_off = losses::lanes_that_do_not_add_up(&recording);
    // Counted; of a large recording they are most of it.
    for lane in &mut recording.lanes {
        (lane.rows, lane.sizes, lane.snaps) = Default::default();
    }
    let recording = &recording;
    stacks::fill(&mut profile, path, recording, sites, options, progress)?;
    profile.threads = moments::threads(recording, &peak);
    profile.timeline = moments::timeline(recording);
    profile.marks = moments::marks(recording);
    for site in &profile.sites {
        profile.totals.add(&site.figures);
    }
    losses::fill(&mut profile, recording, impossible, lanes_off);
    Ok(profile)
}
