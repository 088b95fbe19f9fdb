//! The final path of a recording: the first path that is free, and the move to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracking_alloc_recording::HeaderValue;

use super::output::{PRIVATE, Temporary};
use super::{first_free, header};

/// Maximum number of suffixes to try for a taken path.
const SUFFIXES: u32 = 100_000;

/// Calls `make` with `NAME.hg`, `NAME-PID.hg`, `NAME-PID-START.hg` and then further numbers, until
/// it succeeds. Returns that path.
pub(super) fn first_free_path(
    wanted: &Path,
    header: &HeaderValue,
    make: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    first_free(SUFFIXES, |attempt| {
        let suffix = match attempt {
            0 => String::new(),
            1 => format!("-{}", header.pid),
            2 => format!("-{}-{}", header.pid, header.start_ticks),
            _ => format!("-{}-{}-{}", header.pid, header.start_ticks, attempt - 1),
        };
        let path = with_suffix(wanted, &suffix);
        make(&path).map(|()| path)
    })
}

/// Removes the regular file at a path, unless it is a recording that a program may still write.
pub(super) fn make_way(path: &Path) {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file && !header::read(path).is_some_and(|header| header::may_be_written(&header)) {
        // If this fails, the path counts as taken, and the summary says so.
        let _ = fs::remove_file(path);
    }
}

/// Inserts a suffix before the extension.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Moves a recording that no program writes, even to another file system. Returns its new path.
///
/// # Errors
/// Returns an error if the new file cannot be written. The recording then stays where it is.
pub(super) fn move_to_free(
    from: &Path,
    wanted: &Path,
    header: &HeaderValue,
) -> io::Result<PathBuf> {
    let temporary = Temporary::beside(wanted, PRIVATE)?;
    copy_whole(from, temporary.path())?;
    let path = first_free_path(wanted, header, |path| {
        move_without_replacing(temporary.path(), path)
    })?;
    let _ = fs::remove_file(from);
    Ok(path)
}

/// Renames a file unless the new name is taken.
pub(crate) fn move_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // This file system has no hard links.
        Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Copies a complete file that no program writes.
pub(super) fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    let copied = fs::copy(from, to)?;
    if copied == from.metadata()?.len() {
        Ok(())
    } else {
        Err(io::Error::other("it changed while it was copied"))
    }
}
