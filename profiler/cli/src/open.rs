//! Opens recordings for every command, and shows progress if that takes long.

use std::fmt::Display;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::Path;

use heapglass_profiler::diff::Recording;
#[cfg(feature = "parquet")]
use heapglass_profiler::profile::Process;
use heapglass_profiler::profile::Profile;
use heapglass_profiler::snapshot::Snapshot;
use heapglass_profiler::units::printable;
use heapglass_profiler::{Early, OpenOptions, Progress, Session};
use tracking_alloc_recording::VERSION;

use crate::args::Symbols;
use crate::error::Error;
use crate::files::leftovers::{Kind, Leftover};
use crate::files::{header, live};
use crate::progress::Working;
use crate::terminal::has_terminal;

/// Loads and symbolizes a recording, with a progress line on a terminal.
///
/// # Errors
/// Returns an error if the recording cannot be read, or if `--binary` is not the binary that ran.
pub(crate) fn open(path: &Path, symbols: &Symbols) -> Result<Profile, Error> {
    with_progress(path, symbols, heapglass_profiler::open)
}

/// Reads which process a recording is of.
///
/// # Errors
/// Returns an error if the recording cannot be read.
#[cfg(feature = "parquet")]
pub(crate) fn read_process(path: &Path) -> Result<Process, Error> {
    heapglass_profiler::read_process(path).map_err(|error| explain(path, error))
}

/// Returns the recording with everything that it needs, as bytes.
///
/// # Errors
/// Returns the errors of [`open`].
pub(crate) fn pack(path: &Path, symbols: &Symbols) -> Result<Vec<u8>, Error> {
    with_progress(path, symbols, heapglass_profiler::pack)
}

type Load<T> =
    fn(&Path, &OpenOptions, &dyn Fn(Progress<'_>)) -> Result<T, heapglass_profiler::Error>;

fn with_progress<T>(path: &Path, symbols: &Symbols, load: Load<T>) -> Result<T, Error> {
    let working = Working::new(format_args!("reading {}", path.display()));
    let show = |progress: Progress<'_>| working.show(sentence(progress));
    let options = options(symbols);
    let cache = options.symbols.cache.clone();
    let _unfinished = cache.map(|cache| Leftover::new(cache, Kind::UnfinishedSymbols));
    load(path, &options, &show).map_err(|error| explain(path, error))
}

/// One side of a comparison: recordings with their paths.
pub(crate) struct Side(Vec<(String, Profile)>);

impl Side {
    /// Loads and symbolizes the recordings, like [`open`].
    ///
    /// # Errors
    /// Returns the error of [`open`] for the first recording that fails.
    pub(crate) fn open(paths: &[&Path], symbols: &Symbols) -> Result<Side, Error> {
        let one = |path: &&Path| Ok((path.display().to_string(), open(path, symbols)?));
        paths.iter().map(one).collect::<Result<_, _>>().map(Side)
    }

    pub(crate) fn profiles(&self) -> Vec<&Profile> {
        self.0.iter().map(|(_, profile)| profile).collect()
    }

    pub(crate) fn recordings(&self) -> Vec<Recording<'_>> {
        let all = self.0.iter();
        all.map(|(name, profile)| Recording { name, profile })
            .collect()
    }
}

/// Loads and symbolizes a recording. Reports each step to `progress`. If names take long, `early`
/// first receives the profile without names.
///
/// # Errors
/// Returns the errors of [`open`].
pub(crate) fn open_quietly(
    session: &mut Session,
    path: &Path,
    progress: &dyn Fn(&str),
    early: Option<Early<'_>>,
) -> Result<Profile, Error> {
    session
        .load(path, &|at| progress(&sentence(at)), early)
        .map_err(|error| explain(path, error))
}

/// Returns a session that keeps the names of a recording between loads.
pub(crate) fn session(symbols: &Symbols) -> Session {
    Session::new(options(symbols))
}

/// Checks that the recording at `path` can be opened. On a terminal, reads only its header: the
/// terminal UI shows the error of the first load, and a large recording is then read only once.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a recording.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    if has_terminal() && header::read(path).is_some_and(|header| header.version == VERSION) {
        return Ok(());
    }
    tracking_alloc_recording::Recording::open(path)
        .map(drop)
        .map_err(|error| explain(path, format_args!("{}: {error}", path.display())))
}

/// Returns the error for a recording that cannot be opened. If the file does not exist, the error
/// says what to run instead.
pub(crate) fn explain(path: &Path, error: impl Display) -> Error {
    let is_missing =
        |found: io::Result<Metadata>| found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let name = path.display();
    if let Some(process) = live::process(path) {
        Error::misuse(format_args!(
            "process {process} is not recorded; record it from now on: `heapglass attach {process}`; see what it holds now: `heapglass snapshot {process}`"
        ))
    } else if is_missing(path.symlink_metadata()) {
        Error::misuse(format_args!(
            "{name}: no such file; run `heapglass` to list recordings, or `heapglass --help` to list commands"
        ))
    } else if is_missing(path.metadata()) {
        let target = std::fs::read_link(path).unwrap_or_default();
        Error::misuse(format_args!(
            "{name}: the recording is lost; it was a link to {}, and the machine or the container stopped \
             before the recording was moved here; record again",
            target.display()
        ))
    } else {
        Error::misuse(error)
    }
}

/// Returns the options for opening a recording.
pub(crate) fn options(symbols: &Symbols) -> OpenOptions {
    let mut options = OpenOptions::with_cache();
    options.symbols.binary.clone_from(&symbols.binary);
    options.symbols.debug_dirs.clone_from(&symbols.debug_dir);
    options.own.clone_from(&symbols.own);
    options.wrappers.clone_from(&symbols.wrapper);
    options
}

fn sentence(progress: Progress<'_>) -> String {
    let name = printable(progress.module.rsplit('/').next().unwrap_or_default());
    match progress.total {
        0 => format!("reading symbols of {name}"),
        total => format!("reading symbols of {name}: {} of {total}", progress.done),
    }
}

/// Adds the snapshots that were taken of a live recording, unless it has them: `heapglass run`
/// keeps those that it takes.
pub(crate) fn add_taken(profile: &mut Profile, taken: &[Snapshot]) {
    for snapshot in taken {
        let mut known = profile.snapshots().iter();
        if known.all(|known| known.moment() != snapshot.moment()) {
            profile.add_snapshot(snapshot.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_whose_name_has_escape_sequences_is_spelled_out() {
        let progress = Progress {
            module: "/tmp/lib\u{1b}]0;x\u{7}.so",
            done: 1,
            total: 2,
        };
        let shown = sentence(progress);
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert!(shown.contains("lib\\u{1b}]0;x"), "{shown}");
    }
}
