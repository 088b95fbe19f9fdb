//! The place for live recordings: `$XDG_RUNTIME_DIR/heapglass`, else `/dev/shm/heapglass-UID`. Recorded programs write
//! there what cannot lie where it is wanted, and `heapglass run` what is faster in memory.
//!
//! Must never believe a folder that somebody else can write to.

use std::fs::{self, DirBuilder, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tracking_alloc_recording::HeaderValue;

use super::{header, spool};

/// The beginning of the name of a run's folder in the place.
pub(super) const RUN: &str = "run";

/// The same for a folder beside the wanted path, where the place has no room.
pub(super) const RUN_BESIDE: &str = ".heapglass";

/// Where the place may be, the preferred one first.
fn folders() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let user = rustix::process::geteuid().as_raw();
    let shared = PathBuf::from(format!("/dev/shm/heapglass-{user}"));
    let runtime = runtime.map(|folder| folder.join("heapglass"));
    runtime.into_iter().chain([shared])
}

/// The places that exist afterwards: what is missing is made.
pub(super) fn made() -> impl Iterator<Item = PathBuf> {
    folders().filter(|folder| {
        // That it exists already is no failure.
        let _ = DirBuilder::new().mode(0o700).create(folder);
        is_private(folder)
    })
}

/// Returns `true` for a folder, not a link to one, that only this user can use.
fn is_private(folder: &Path) -> bool {
    let is_private =
        |found: Metadata| is_own(&found) && found.is_dir() && found.mode() & 0o077 == 0;
    folder.symlink_metadata().is_ok_and(is_private)
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// A recording in the place, or beside a path where `heapglass run` was to move it.
pub(crate) struct Left {
    pub(crate) path: PathBuf,
    pub(crate) header: HeaderValue,
    /// The run that moves it still lives.
    pub(crate) is_claimed: bool,
}

/// What programs and earlier runs left in the place, and in this folder. Nothing is changed by looking.
pub(crate) fn left() -> Vec<Left> {
    let mut left = Vec::new();
    for folder in folders().filter(|folder| is_private(folder)) {
        recordings_in(&folder, false, &mut left);
        for run in entries(&folder, RUN) {
            recordings_in(&run, spool::is_run_alive(&run), &mut left);
        }
    }
    for run in entries(Path::new("."), RUN_BESIDE) {
        recordings_in(&run, spool::is_run_alive(&run), &mut left);
    }
    left
}

/// The private folders `NAME-..` in a folder.
fn entries(folder: &Path, name: &str) -> Vec<PathBuf> {
    let prefix = format!("{name}-");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()));
    named
        .map(|entry| entry.path())
        .filter(|path| is_private(path))
        .collect()
}

/// The recordings in a folder that are this user's own regular files.
fn recordings_in(folder: &Path, is_claimed: bool, left: &mut Vec<Left>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_file = |found: Metadata| found.is_file() && is_own(&found);
        if !entry.file_name().as_bytes().starts_with(b".")
            && path.symlink_metadata().is_ok_and(is_file)
            && let Some(header) = header::read(&path)
        {
            left.push(Left {
                path,
                header,
                is_claimed,
            });
        }
    }
}

/// Moves a recording into the working directory, beside whatever has its name. The path that it got.
///
/// # Errors
/// When it cannot be written there; the recording then stays where it is.
pub(crate) fn move_here(path: &Path, header: &HeaderValue) -> std::io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    let moved = spool::move_to_free(path, &Path::new(".").join(name), header)?;
    // The folder of its run goes when nothing else is in it.
    if let Some(folder) = path.parent()
        && !spool::is_run_alive(folder)
    {
        spool::remove_if_empty(folder);
    }
    Ok(moved
        .strip_prefix(".")
        .map_or(moved.clone(), Path::to_owned))
}
