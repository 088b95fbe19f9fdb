//! Control of a recording from code: start, marks, pause, finish. `control/off.rs` has the same
//! functions for platforms on which nothing is recorded into a file.

use crate::file::{Refused, recording_path};
use crate::session::{self, Session};
use crate::start::{self, INHERITED};
use crate::{Attached, Error, NoSnapshot, Options, Settings, hook, state, sys};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{UNREADABLE_EXEC, UNRECORDED_EXEC, change_refused, checkpoint_kind};

/// Starts a recording. A process records once; a forked child may record again.
///
/// # Errors
/// If the process is recording or has recorded before, if the file cannot be created, or if memory
/// or address space is limited.
pub fn start(options: Options<'_>) -> Result<Recording, Error> {
    start_with(options, Settings::default())
}

/// Starts a recording with settings that replace those of the environment.
///
/// # Errors
/// The same as for [`start`]. Also if a setting is not valid.
pub fn start_with(options: Options<'_>, settings: Settings) -> Result<Recording, Error> {
    match options {
        Options::File(path) => start::to_file(path.as_os_str().as_bytes(), settings)
            .map_err(|refused| refused_start(&format!("to {}", path.display()), refused))?,
        Options::Memory => {
            start::to_memory(settings).map_err(|refused| refused_start("in memory", refused))?;
        }
    }
    Ok(Recording::of_current())
}

/// Starts a recording in a program that runs already, in the file at `path`. Unlike [`start_with`],
/// it may start another one after a recording has ended, and it reads no environment: settings that
/// are `None` have their default. The caller finishes the recording when the program exits.
///
/// # Errors
/// The same as for [`start_with`].
pub fn attach(path: &[u8], settings: Settings, attached: Attached) -> Result<Recording, Error> {
    start::attach(path, settings, attached).map_err(|refused| {
        let path = String::from_utf8_lossy(path);
        refused_start(&format!("to {path}"), refused)
    })?;
    Ok(Recording::of_current())
}

/// A handle to a recording of this process, in progress or finished.
///
/// Dropping a handle does nothing. The recording is finished by [`finish`](Recording::finish), when
/// the program returns or calls `exit`, or when the library that contains this crate is unloaded.
/// A parent's handles do nothing in a forked child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The tag of the recording.
    tag: u32,
}

impl Recording {
    /// Returns a handle to the recording in progress, however it was started.
    pub fn current() -> Option<Recording> {
        let recording = Recording::of_current();
        (state::is_recording() && recording.session().is_some()).then_some(recording)
    }

    fn of_current() -> Recording {
        Recording {
            tag: session::current_tag(),
        }
    }

    /// Returns the recording, in progress or finished. Returns `None` in a forked child.
    fn session(self) -> Option<&'static Session> {
        session::own(self.tag)
    }

    /// Returns the path of the recording, also after it was finished. Returns `None` for a
    /// recording in memory, and in a forked child.
    pub fn path(self) -> Option<PathBuf> {
        let path = self.session().and_then(|_| recording_path())?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes())))
    }

    /// Sets a mark; see [`mark`]. After the recording is finished, this does nothing.
    pub fn mark(self, name: &str) {
        if self.session().is_some() {
            mark(name);
        }
    }

    /// Stops counting new blocks. Reallocs and frees of known blocks are still counted. The
    /// recording keeps the time of the pause. Another process can do the same with
    /// `heapglass pause`.
    pub fn pause(self) {
        if self.session().is_some() {
            hook::set_paused(true);
        }
    }

    /// Counts new blocks again after [`pause`](Recording::pause), or after another process or a
    /// signal paused the recording.
    pub fn resume(self) {
        if self.session().is_some() {
            hook::set_paused(false);
        }
    }

    /// Takes samples from now on, one for each `mean_bytes` bytes allocated on average. The figures
    /// of the recording are estimates from then on. In a recording that samples already,
    /// changes the mean. Another process can do the same with `heapglass set`.
    ///
    /// # Errors
    /// If the recording has no stacks (mode `count`), if the program uses `measure`,
    /// `assert_allocs!` or `footprint`, which need every event, if `mean_bytes` is 0 or more
    /// than 1 TiB, or if nothing is recorded any more.
    pub fn sample(self, mean_bytes: u64) -> Result<(), Error> {
        self.session().ok_or_else(|| Error::new(INHERITED))?;
        hook::sample(mean_bytes).map_err(|reason| {
            Error::new(format!(
                "cannot take samples: {}",
                change_refused::reason(reason)
            ))
        })
    }

    /// Notes that the recording is ended from outside while the program runs on, and finishes it.
    ///
    /// # Errors
    /// The same as for [`finish`](Recording::finish).
    pub fn detach(self) -> Result<(), Error> {
        if let Some(session) = self.session() {
            session.header().detached.store(1, Relaxed);
        }
        self.finish()
    }

    /// Stops recording and finishes the file.
    ///
    /// # Errors
    /// If the recording was finished before, or in a forked child, because the recording belongs to
    /// the parent. If several threads finish it at once, one succeeds; the others get the error
    /// when it is done.
    pub fn finish(self) -> Result<(), Error> {
        start::finish(self.tag).map_err(Error::new)
    }

    /// Stops a recording in memory and returns its bytes, as they would be in a file.
    ///
    /// # Errors
    /// The same as for [`finish`](Recording::finish). Also if the recording is written to a file:
    /// recording then continues.
    pub fn finish_to_bytes(self) -> Result<Vec<u8>, Error> {
        let session = self.session().ok_or_else(|| Error::new(INHERITED))?;
        if let Some(path) = self.path() {
            return Err(Error::new(format!(
                "this recording is written to {}; call `finish()` and read that file. Recording continues; \
                 `Recorder::current()` returns another handle to it",
                path.display()
            )));
        }
        start::finish(self.tag).map_err(Error::new)?;
        let writer = session.write.lock();
        let words = || writer.store.pieces().flatten();
        let mut bytes = Vec::with_capacity(8 * words().count());
        bytes.extend(words().flat_map(|word| word.load(Relaxed).to_le_bytes()));
        Ok(bytes)
    }
}

/// Sets a named mark in the recording in progress, if there is one. The mark records the totals at
/// this moment and ends a window of the peak, so that reports can separate the time before it from
/// the time after it. The peak of the next window starts with the bytes that are live now.
pub fn mark(name: &str) {
    set_mark(name);
    hook::take_at_mark(name);
}

fn set_mark(name: &str) {
    start::examine();
    let Some(_inside) = hook::Inside::enter() else {
        return;
    };
    let (Some(session), Some(header)) = (session::current(), session::header()) else {
        return;
    };
    let _errno = sys::Errno::keep();
    let mut checks = hook::PEAK_CHECKS.lock();
    let label = session.write.lock().string(name.as_bytes());
    checks
        .timeline
        .want_checkpoint(checkpoint_kind::MARK, label);
    let window = hook::mark_window(&mut checks);
    let mut writer = session.write.lock();
    let now_ns = checks.timeline.elapsed_ns();
    let added = writer.add_mark(name.as_bytes(), window, now_ns);
    if added.is_none() {
        header.lost_marks.fetch_add(1, Relaxed);
    }
}

/// Notes that the process is about to become another program, which will not be recorded because
/// the environment lacks the variables.
pub fn exec_unrecorded() {
    set_mark(UNRECORDED_EXEC);
}

/// Notes that the process is about to become another program, which will not be recorded because
/// the preloaded library cannot be read from there.
pub fn exec_unreadable() {
    set_mark(UNREADABLE_EXEC);
}

/// Sets a [`mark`], and makes a paused copy of the process for the reader that is attached to the
/// recording. Returns when the copy exists. While the reader is busy with earlier copies, waits for
/// it, usually not at all and at most a minute: an explicit snapshot comes before automatic ones.
///
/// The calling thread is stopped while the copy is made, 30 to 100 ms for each GB of memory. Until
/// the reader has finished, the first write to each page takes a few microseconds.
///
/// # Errors
/// If there is no reader, or no copy could be made. The mark is set anyway.
pub fn snapshot(label: &str) -> Result<(), NoSnapshot> {
    set_mark(label);
    hook::take_now(label)
}

/// Creates the error for a recording that could not be started at `place`.
fn refused_start(place: &str, refused: Refused) -> Error {
    let errno = match refused.errno {
        0 => String::new(),
        errno => format!(" ({})", std::io::Error::from_raw_os_error(errno)),
    };
    let value = match refused.value {
        b"" => String::new(),
        value => format!(" `{}`", String::from_utf8_lossy(value)),
    };
    let advice = match refused.advice {
        "" => String::new(),
        advice => format!("; {advice}"),
    };
    let what = refused.what;
    Error::new(format!(
        "cannot record {place}: {what}{value}{errno}{advice}"
    ))
}
