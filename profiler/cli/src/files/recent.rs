//! The recordings in the working directory, and the recordings made recently, for bare `heapglass`.
//!
//! The list of recent recordings is a convenience. Losing it is harmless, and an error about it
//! never fails a command.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tracking_alloc_recording::HeaderValue;

use super::header;
use super::output::{PRIVATE, Temporary};
use super::spool::KeptRecording;

/// Maximum number of recordings remembered.
const KEPT: usize = 50;

/// A recording that `heapglass` made.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Absolute path of the recording.
    path: PathBuf,
    /// File name of the executable.
    program: String,
}

/// Adds recordings to the front of the list and drops entries whose file no longer exists.
pub(crate) fn remember(new: &[KeptRecording]) {
    let Some(file) = list_file() else { return };
    let Some(folder) = file.parent() else { return };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    if new.is_empty() || builder.create(folder).is_err() {
        return;
    }
    let new = new.iter().filter_map(|kept| {
        let path = std::path::absolute(&kept.path).ok()?;
        path.to_str().is_some().then(|| Entry {
            path,
            program: kept.program.clone(),
        })
    });
    let mut entries: Vec<Entry> = new.collect();
    for old in read(&file) {
        if old.path.exists() && !entries.iter().any(|entry| entry.path == old.path) {
            entries.push(old);
        }
    }
    entries.truncate(KEPT);
    let _ = write(&file, &entries);
}

/// Returns the remembered recordings that still exist, the newest first.
pub(crate) fn remembered() -> impl Iterator<Item = (PathBuf, HeaderValue)> {
    let entries = list_file()
        .map(|file| read(&file))
        .unwrap_or_default()
        .into_iter();
    entries.filter_map(|Entry { path, .. }| header::read(&path).map(|header| (path, header)))
}

/// Returns the recordings in the working directory, the newest first.
pub(crate) fn in_this_folder() -> impl Iterator<Item = (PathBuf, HeaderValue)> {
    let files = std::fs::read_dir(".").into_iter().flatten().flatten();
    let mut found: Vec<_> = files
        .filter(|file| {
            let file_name = file.file_name();
            let name = file_name.as_encoded_bytes();
            !name.starts_with(b".") && name.ends_with(b".hg")
        })
        .filter_map(|file| {
            let path = PathBuf::from(file.file_name());
            let header = header::read(&path)?;
            let time = path.metadata().and_then(|metadata| metadata.modified());
            Some((time.unwrap_or(SystemTime::UNIX_EPOCH), path, header))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, path, header)| (path, header))
}

/// Returns the path of the list: `$XDG_STATE_HOME/heapglass/recent`, else below `~/.local/state`.
fn list_file() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    Some(base?.join("heapglass/recent"))
}

/// Reads one JSON object per line and skips lines that are not valid.
fn read(file: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .take(KEPT)
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn write(file: &Path, entries: &[Entry]) -> std::io::Result<()> {
    let mut temporary = Temporary::beside(file, PRIVATE)?;
    for entry in entries {
        writeln!(temporary.file, "{}", serde_json::to_string(entry)?)?;
    }
    temporary.replace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_and_broken_lines_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("recent");
        let entries = [Entry {
            path: "/a/b.hg".into(),
            program: "b\n\"x\"".into(),
        }];
        write(&file, &entries).unwrap();
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.insert_str(0, "{broken\n");
        std::fs::write(&file, text).unwrap();
        assert_eq!(read(&file), entries);
    }
}
