//! What killed programs and killed commands left behind: recordings that are not where they were wanted, and files that
//! will never be recordings. Every command that opens or lists recordings looks for them first.
//!
//! Must never delete a recording before it is whole where it was wanted, nor touch one whose writer may live. Only
//! empty folders and unfinished temporaries are deleted. Nothing that goes wrong here fails a command.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tracking_alloc_recording::{HeaderValue, MAGIC, Recording, VERSION, state};

use super::output::Temporary;
use super::spool::{Spool, copy_whole, first_free_path, move_without_replacing};
use super::{header, memory_folders};

/// Before the recording at `path` is opened.
pub(crate) fn before_opening(path: &Path) {
    in_memory();
    settle_pointer(path);
    if let Ok(path) = std::path::absolute(path)
        && let Some(folder) = path.parent()
    {
        in_folder(folder);
    }
}

/// Before recordings are listed, or new ones are made.
pub(crate) fn before_listing() {
    in_memory();
    in_folder(Path::new("."));
}

/// Where live recordings lie that cannot, or shall not, live where they are wanted.
fn in_memory() {
    for folder in memory_folders() {
        for (path, metadata) in ours_in(&folder, b"heapglass-") {
            if metadata.is_dir() {
                settle_spool(&path);
            } else {
                settle_elsewhere(&path);
            }
        }
        clear_temporaries(&folder, b".heapglass-");
    }
}

fn in_folder(folder: &Path) {
    let folders = ours_in(folder, b".heapglass-");
    let folders = folders.iter().filter(|(_, metadata)| metadata.is_dir());
    folders.for_each(|(path, _)| settle_spool(path));
    clear_temporaries(folder, b".");
}

/// What is ours in a folder, by the beginning of its name.
fn ours_in(folder: &Path, prefix: &[u8]) -> Vec<(PathBuf, Metadata)> {
    let me = rustix::process::geteuid().as_raw();
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter(|file| file.file_name().as_bytes().starts_with(prefix))
        .filter_map(|file| Some((file.path(), file.path().symlink_metadata().ok()?)))
        .filter(|(_, metadata)| metadata.uid() == me)
        .collect()
}

/// Moves what lies in the folder of a command that was killed; the folder goes when nothing is left in it.
fn settle_spool(folder: &Path) {
    if let Some(mut spool) = Spool::adopt(folder) {
        spool.settle(0);
    }
}

/// A recording that was written elsewhere: the pointer at the path where it was wanted leads to it.
fn settle_elsewhere(path: &Path) {
    if header::read(path).is_none_or(|header| header::may_be_written(&header)) {
        return;
    }
    let Ok(recording) = Recording::open(path) else {
        return;
    };
    match recording.string(recording.header.live_path) {
        Some(wanted) if Path::new(&wanted).is_absolute() => settle_pointer(Path::new(&wanted)),
        // Killed before there was a pointer: nothing had been recorded yet.
        _ if recording.header.live_path == 0 && never_recorded(&recording) => {
            let _ = fs::remove_file(path);
        }
        _ => {}
    }
}

fn never_recorded(recording: &Recording) -> bool {
    recording.header.state == state::RUNNING && recording.lanes.is_empty()
}

/// Puts the recording that the file at `path` points to in that file's place, once nobody writes to it any more.
fn settle_pointer(path: &Path) {
    let Some(before) = path.symlink_metadata().ok().filter(Metadata::is_file) else {
        return;
    };
    let Some(pointer) = header::read(path).filter(header::is_pointer) else {
        return;
    };
    let Some(target) = header::pointed_at(path) else {
        return;
    };
    let me = rustix::process::geteuid().as_raw();
    let is_ours = |metadata: Metadata| metadata.is_file() && metadata.uid() == me;
    if !target.is_absolute() || !target.symlink_metadata().is_ok_and(is_ours) {
        return;
    }
    // NOTE: pointers of earlier versions do not say whose they are.
    let writer = |of: &HeaderValue| (of.pid, of.start_ticks, of.boot_id, of.pid_namespace);
    let is_its_own = |header: &HeaderValue| pointer.pid == 0 || writer(header) == writer(&pointer);
    let recording = header::read(&target).filter(|it| !header::is_pointer(it) && is_its_own(it));
    if recording.is_none_or(|header| header::may_be_written(&header)) {
        return;
    }
    let Ok(temporary) = Temporary::beside(path, true) else {
        return;
    };
    let moved = copy_whole(&target, temporary.path()).and_then(|()| {
        let now = path.symlink_metadata()?;
        if (now.dev(), now.ino()) != (before.dev(), before.ino()) {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        temporary.replace()
    });
    if moved.is_ok() {
        let _ = fs::remove_file(target);
    }
}

/// Deletes the files in a folder that were to become recordings and will not: their writers are dead. Only those whose
/// name begins with `prefix`.
pub(super) fn clear_temporaries(folder: &Path, prefix: &[u8]) {
    for (path, metadata) in ours_in(folder, prefix) {
        if metadata.is_file()
            && let Some((wanted, pid)) = path.file_name().and_then(temporary_of)
        {
            clear_temporary(&path, &folder.join(wanted), pid);
        }
    }
}

/// The name that a temporary was to get, and the process that made it: `.NAME.PID.tmp`, `.NAME.PID.NUMBER.tmp`.
fn temporary_of(name: &OsStr) -> Option<(&OsStr, u32)> {
    let name = name.as_bytes();
    let name = name.strip_suffix(b".old").unwrap_or(name);
    let inner = name.strip_prefix(b".")?.strip_suffix(b".tmp")?;
    let (rest, last) = split_number(inner)?;
    let (wanted, pid) = split_number(rest)
        .filter(|(wanted, _)| !wanted.is_empty())
        .unwrap_or((rest, last));
    (!wanted.is_empty()).then_some((OsStr::from_bytes(wanted), pid))
}

fn split_number(name: &[u8]) -> Option<(&[u8], u32)> {
    let point = name.iter().rposition(|byte| *byte == b'.')?;
    let number = std::str::from_utf8(name.get(point + 1..)?).ok()?;
    Some((name.get(..point)?, number.parse().ok()?))
}

fn clear_temporary(path: &Path, wanted: &Path, pid: u32) {
    // Signed, at least.
    let Some(header) = header::read_prefix(path, 72) else {
        return;
    };
    if header::may_be_written(&header) {
        return;
    }
    let unfinished = match header.magic {
        // Its writer says in it whose it is before it is anything.
        0 => {
            header.pid == pid
                && header.state == state::RUNNING
                && header.pid_namespace != 0
                && header.version <= VERSION
        }
        MAGIC if header::is_pointer(&header) => header.pid == pid,
        MAGIC => Recording::open(path).is_ok_and(|recording| never_recorded(&recording)),
        _ => return,
    };
    if unfinished {
        let _ = fs::remove_file(path);
    } else if header.magic == MAGIC && Recording::open(path).is_ok() {
        // A recording that had just been replaced when its successor was killed: it is one all the same.
        let _ = first_free_path(wanted, &header, |free| move_without_replacing(path, free));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_tells_the_name_it_was_to_get() {
        for (name, expected) in [
            (".out.hg.12.tmp", Some(("out.hg", 12))),
            (".out.hg.12.3.tmp", Some(("out.hg", 12))),
            (".out.hg.12.tmp.old", Some(("out.hg", 12))),
            (".7.12.tmp", Some(("7", 12))),
            (".tmp", None),
            (".x.tmp", None),
            ("out.hg.12.tmp", None),
        ] {
            let found = temporary_of(OsStr::new(name));
            let found = found.map(|(name, pid)| (name.to_str().unwrap(), pid));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = vec![0u8; 4096];
        random[16] = 1;
        random[48] = 9;
        for (name, bytes) in [
            (".empty.1.tmp", &b""[..]),
            (".letter.1.tmp", b"a letter"),
            (".random.1.tmp", &random),
            (".zeros.1.tmp", &[0; 4096]),
        ] {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        clear_temporaries(folder.path(), b".");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }
}
