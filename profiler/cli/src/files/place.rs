//! The place for live recordings: `$XDG_RUNTIME_DIR/heapglass`, else `/dev/shm/heapglass-UID`. A
//! recorded program writes there if the wanted folder cannot hold a live recording. `heapglass run`
//! uses it because memory is faster.
//!
//! Never trusts a folder that another user can write to.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tracking_alloc_recording::HeaderValue;

use super::final_path::move_to_free;
use super::header;
use super::run_folder::{RUN, RUN_BESIDE, is_run_alive, remove_if_empty};

/// Returns the candidates for the place, the preferred one first.
fn folders() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("heapglass"));
    let user = rustix::process::geteuid().as_raw();
    let shared = PathBuf::from(format!("/dev/shm/heapglass-{user}"));
    runtime.into_iter().chain([shared])
}

/// Returns the places that exist, after creating those that are missing.
pub(super) fn made() -> impl Iterator<Item = PathBuf> {
    folders().filter(|folder| {
        // An existing folder is fine.
        let _ = DirBuilder::new().mode(0o700).create(folder);
        is_private(folder)
    })
}

/// Returns `true` for a folder, not a link to one, that only this user can use.
pub(crate) fn is_private(folder: &Path) -> bool {
    let is_private =
        |found: Metadata| is_own(&found) && found.is_dir() && found.mode() & 0o077 == 0;
    folder.symlink_metadata().is_ok_and(is_private)
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Returns `true` for a regular file of this user.
pub(crate) fn is_own_file(found: &Metadata) -> bool {
    found.is_file() && is_own(found)
}

/// Returns the file that a link leads to if `heapglass run` or a recorder made the link: it is this
/// user's own and leads into the place or into the private folder of a run.
#[cfg(feature = "serve")]
pub(crate) fn live_target(link: &Path) -> Option<PathBuf> {
    let found = link.symlink_metadata().ok()?;
    if !found.is_symlink() || !is_own(&found) {
        return None;
    }
    let target = link.parent()?.join(fs::read_link(link).ok()?);
    let folder = target.parent()?;
    let is_beside = folder
        .file_name()
        .is_some_and(|name| has_prefix(name, RUN_BESIDE));
    let is_in =
        |place: PathBuf| folder == place || folder.parent().is_some_and(|above| above == place);
    let is_ours = (is_beside || folders().any(is_in)) && is_private(folder);
    is_ours.then_some(target)
}

/// A recording in the place, or in the folder of a run that was going to move it.
pub(crate) struct Left {
    pub(crate) path: PathBuf,
    pub(crate) header: HeaderValue,
    /// `true` while the run that is going to move it is alive.
    pub(crate) is_claimed: bool,
}

/// Returns the recordings that programs and earlier runs left in the place and in this folder.
/// Changes nothing.
pub(crate) fn left() -> Vec<Left> {
    let mut left = Vec::new();
    for folder in folders().filter(|folder| is_private(folder)) {
        recordings_in(&folder, false, &mut left);
        for run in entries(&folder, RUN) {
            recordings_in(&run, is_run_alive(&run), &mut left);
        }
    }
    for run in entries(Path::new("."), RUN_BESIDE) {
        recordings_in(&run, is_run_alive(&run), &mut left);
    }
    left
}

/// Returns the private folders in `folder` whose names begin with `NAME-`.
fn entries(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| has_prefix(&entry.file_name(), name));
    named
        .map(|entry| entry.path())
        .filter(|path| is_private(path))
        .collect()
}

/// Returns `true` if a name begins with `PREFIX-`.
fn has_prefix(name: &OsStr, prefix: &str) -> bool {
    let rest = name.as_bytes().strip_prefix(prefix.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"-"))
}

/// Adds the recordings in a folder that are regular files of this user.
fn recordings_in(folder: &Path, is_claimed: bool, left: &mut Vec<Left>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().as_bytes().starts_with(b".")
            && path
                .symlink_metadata()
                .is_ok_and(|found| is_own_file(&found))
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

/// Moves a recording into the working directory without replacing anything. Returns its new path.
///
/// # Errors
/// Returns an error if the new file cannot be written. The recording then stays where it is.
pub(crate) fn move_here(path: &Path, header: &HeaderValue) -> std::io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    let moved = move_to_free(path, &Path::new(".").join(name), header)?;
    // Remove the folder of the run if it is empty now.
    if let Some(folder) = path.parent()
        && !is_run_alive(folder)
    {
        remove_if_empty(folder);
    }
    Ok(moved
        .strip_prefix(".")
        .map_or(moved.clone(), Path::to_owned))
}
