//! The private folder of a run, where its recordings are while their programs are alive.
//!
//! The run holds a lock in the folder, so that others see whether it is alive.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use heapglass_profiler::Beside;
use rustix::fs::{FlockOperation, flock};

/// The prefix of the folder names of runs in the place for live recordings.
pub(super) const RUN: &str = "run";

/// The prefix of the folder names of runs next to the wanted path, for when the place lacks room.
pub(super) const RUN_BESIDE: &str = ".heapglass";

/// The file that is locked while the run is alive.
pub(super) const LOCK: &str = ".lock";

/// Removes the folder of a run if it contains only the lock, and files that belong to recordings
/// which are not there.
pub(super) fn remove_if_empty(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name());
    let (left, others): (Vec<_>, Vec<_>) =
        names.partition(|name| name == LOCK || Beside::is_name(&name.to_string_lossy()));
    if others.is_empty() {
        // The lock last: while it is there, the folder is known to be that of a run.
        let (lock, beside): (Vec<_>, Vec<_>) = left.into_iter().partition(|name| name == LOCK);
        for name in beside {
            let _ = fs::remove_file(folder.join(name));
        }
        if !lock.is_empty() && fs::remove_file(folder.join(LOCK)).is_ok() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Creates the lock file of a new folder and locks it.
pub(super) fn lock_new(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let file = options.open(folder.join(LOCK))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Returns `true` if the run that made this folder is alive. Such a run holds the lock and moves
/// the recordings itself.
pub(super) fn is_run_alive(folder: &Path) -> bool {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits() as i32);
    let lock = options.open(folder.join(LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err())
}
