//! Snapshots for the commands that take them: their text, their file, and their place in a
//! recording.

mod watch;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use watch::{OfRecording, Told, Wants, Watch, environment};

use heapglass_profiler::attach::{Progress, Reader};
use heapglass_profiler::snapshot::{Snapshot, Stage, Step};
use heapglass_profiler::units::{Bytes, Nanos, Share, counted, printable};
use heapglass_profiler::{Beside, OpenOptions, snapshots_so_far};

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

/// Keeps the snapshots that were taken so far of a running program beside its recording, where
/// every command finds them.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(crate) fn keep_beside(recording: &Path, snapshots: &[Snapshot]) -> std::io::Result<()> {
    let place = Beside::Snapshots.path(recording);
    let path = place.ok_or(std::io::ErrorKind::NotFound)?;
    let mut temporary = Temporary::beside(&path, PRIVATE)?;
    temporary.file.write_all(&Snapshot::table(snapshots))?;
    temporary.replace()
}

/// The time in which a program that allocates makes a copy of itself.
const QUICK: Duration = Duration::from_secs(2);

/// Takes a snapshot of a running program. If `heapglass run` takes its snapshots already, asks it
/// for one.
///
/// # Errors
/// Returns an error if the program makes no copy of itself within `patience`, or if it cannot be
/// read.
pub(crate) fn take(
    recording: &Path,
    is_forced: bool,
    options: OpenOptions,
    patience: Duration,
    progress: &(dyn Fn(Progress) -> bool + Sync),
) -> Result<Snapshot, Error> {
    let reader = Reader::attach(recording, is_forced, options.clone());
    match reader.and_then(|mut reader| reader.take(patience, progress)) {
        Ok(taken) => Ok(taken.snapshot),
        Err(other) if other.is_other_reader() => {
            if let Some(taken) = ask_other(recording, patience.min(QUICK))? {
                return Ok(taken);
            }
            // The program does not allocate. The process that takes its snapshots often started it,
            // and then may not copy it itself.
            match Reader::copy(recording, options, progress) {
                Ok(taken) => Ok(taken.snapshot),
                Err(why) => {
                    ask_other(recording, patience.saturating_sub(QUICK))?.ok_or_else(|| {
                        Error::misuse(format!("{other}. It cannot be copied either: {why}"))
                    })
                }
            }
        }
        Err(error) => Err(Error::misuse(error)),
    }
}

/// Asks the process that takes the snapshots of a program for one more. Returns `None` if it took
/// none within `patience`.
fn ask_other(recording: &Path, patience: Duration) -> Result<Option<Snapshot>, Error> {
    /// The interval between looks for an answer.
    const LOOKS: Duration = Duration::from_millis(10);
    let last = || -> Result<Option<Snapshot>, Error> {
        let so_far = snapshots_so_far(recording).map_err(Error::misuse)?;
        Ok(so_far.into_iter().next_back())
    };
    let time = |snapshot: &Option<Snapshot>| snapshot.as_ref().map(|one| one.moment().time_ns);
    let before = time(&last()?);
    let Some(request) = Beside::Request.path(recording) else {
        return Ok(None);
    };
    // If it exists, another command asks too, and one snapshot is enough for both.
    let asked = File::options().write(true).create_new(true).open(&request);
    if asked.is_err_and(|error| error.kind() != std::io::ErrorKind::AlreadyExists) {
        return Ok(None);
    }
    let begun = Instant::now();
    while request.exists() {
        if begun.elapsed() >= patience {
            let _ = std::fs::remove_file(&request);
            break;
        }
        std::thread::sleep(LOOKS);
    }
    let taken = last()?;
    let is_new = time(&taken) > before;
    Ok(taken.filter(|_| is_new))
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
    let options = open::options(symbols);
    let snapshot = take(recording, false, options, PATIENCE, &|_| true)?;
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
        Progress::Waiting { .. } => "waiting for the program to allocate".to_owned(),
        Progress::Copying { .. } => "copying the program".to_owned(),
        Progress::Blocks { done, total } => format!("finding blocks: {done} of {total} parts"),
        Progress::Analysis(of_analysis) => step(of_analysis),
        _ => String::new(),
    }
}

/// Returns the line that a progress bar shows for a step of the analysis.
pub(crate) fn step(step: Step) -> String {
    let what = match step.stage {
        Stage::Contents => "reading contents",
        Stage::Values => "comparing values",
        _ => "computing holders",
    };
    format!("{what}: {} of {} blocks", step.done, step.total)
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
    let basis = snapshot.basis().text();
    format!(
        "`{}` at {}: {} live{share} in {}; basis: {basis}; the program paused for {}",
        printable(&moment.label),
        Nanos(moment.time_ns),
        Bytes(moment.live_bytes),
        counted(snapshot.blocks(), "block"),
        Nanos(moment.pause_ns),
    )
}
