//! Snapshots for the commands that take them: their text, their file, and their place in a
//! recording.

mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use watch::{OfRecording, Watch, environment};

use heapglass_profiler::attach::{Progress, Reader};
use heapglass_profiler::snapshot::{Snapshot, Stage};
use heapglass_profiler::units::{Bytes, Nanos, Share, counted, printable};

use crate::args::Symbols;
use crate::error::Error;
use crate::files::final_path::move_without_replacing;
use crate::files::output::{PRIVATE, Temporary};
use crate::open;

/// Returns a recording's bytes with snapshots inside.
///
/// # Errors
/// Returns an error if the bytes are not a readable recording.
pub(crate) fn put_into(recording: Vec<u8>, snapshots: &[Snapshot]) -> Result<Vec<u8>, Error> {
    let table = Snapshot::table(snapshots);
    tracking_alloc_recording::with_snapshots(recording, &table).map_err(Error::misuse)
}

/// Puts snapshots into the recording at a path.
///
/// # Errors
/// Returns an error if the recording cannot be read or replaced. It is unchanged then.
pub(crate) fn append(path: &Path, snapshots: &[Snapshot]) -> Result<(), Error> {
    let cannot = |error: std::io::Error| {
        Error::misuse(format_args!(
            "cannot put snapshots into {}: {error}",
            path.display()
        ))
    };
    let bytes = std::fs::read(path).map_err(cannot)?;
    let bytes = put_into(bytes, snapshots)?;
    let mut temporary = Temporary::beside(path, PRIVATE).map_err(cannot)?;
    temporary.file.write_all(&bytes).map_err(cannot)?;
    temporary.replace().map_err(cannot)
}

/// Takes a snapshot of the program that writes a recording, and writes it to a free path in the
/// working directory. Returns a sentence about it, and the snapshot.
///
/// # Errors
/// Returns an error if the program makes no copy of itself soon, or if the file cannot be written.
pub(crate) fn take_into_file(
    recording: &Path,
    symbols: &Symbols,
) -> Result<(String, Snapshot), Error> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let reader = Reader::attach(recording, false, open::options(symbols));
    let taken = reader.and_then(|mut reader| reader.take(PATIENCE, &|_| true));
    let snapshot = taken.map_err(Error::misuse)?.snapshot;
    // Without a progress bar: the terminal belongs to the UI.
    let options = open::options(symbols);
    let profile = heapglass_profiler::open(recording, &options, &|_| ()).map_err(Error::misuse)?;
    let line = line(&snapshot, profile.totals().peak_bytes);
    let packed = heapglass_profiler::pack(recording, &options, &|_| ()).map_err(Error::misuse)?;
    let bytes = put_into(packed, std::slice::from_ref(&snapshot))?;
    let path = free_path(recording, profile.process().pid);
    let cannot = Error::wrap(format!("cannot write {}", path.display()));
    let written = Temporary::beside(&path, None).and_then(|mut temporary| {
        temporary.file.write_all(&bytes)?;
        move_without_replacing(temporary.path(), &path)
    });
    written.map_err(cannot)?;
    Ok((format!("{}: {line}", path.display()), snapshot))
}

/// Returns the first free path for a snapshot of a program in the working directory: the name of
/// its recording, with the process ID if that is not part of it.
pub(crate) fn free_path(recording: &Path, pid: u32) -> PathBuf {
    let stem = recording.file_stem().unwrap_or_default();
    let mut name = stem.to_string_lossy().into_owned();
    if !name.contains(&pid.to_string()) {
        name.push_str(&format!("-{pid}"));
    }
    let path = |number: u32| match number {
        1 => PathBuf::from(format!("{name}.hgs")),
        _ => PathBuf::from(format!("{name}.{number}.hgs")),
    };
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    let free = (1..10_000).map(path).find(is_free);
    free.unwrap_or_else(|| path(10_000))
}

/// Returns the line that a progress bar shows.
pub(crate) fn sentence(progress: Progress) -> String {
    match progress {
        Progress::Waiting(_) => "waiting for the program to allocate".to_owned(),
        Progress::Blocks { done, total } => format!("finding blocks: {done} of {total} parts"),
        Progress::Analysis(step) => {
            let what = match step.stage {
                Stage::Contents => "reading contents",
                Stage::Values => "comparing values",
                _ => "computing holders",
            };
            format!("{what}: {} of {} blocks", step.done, step.total)
        }
        _ => String::new(),
    }
}

/// Returns the text that sums up a snapshot: label, moment, size, share of the peak, and what it is
/// based on.
pub(crate) fn line(snapshot: &Snapshot, peak_bytes: u64) -> String {
    let moment = snapshot.moment();
    let share = if peak_bytes == 0 {
        String::new()
    } else {
        format!(
            " ({} of the peak)",
            Share::of(moment.live_bytes, peak_bytes)
        )
    };
    let basis = match snapshot.basis().name() {
        "types" => "types from debug information",
        "shapes" => "the containers that stacks name",
        _ => "sizes alone",
    };
    format!(
        "`{}` at {}: {} live{share} in {}, by {basis}; the program paused for {}",
        printable(&moment.label),
        Nanos(moment.time_ns),
        Bytes(moment.live_bytes),
        counted(snapshot.blocks(), "block"),
        Nanos(moment.pause_ns),
    )
}
