//! Control of a recording from code: start, marks, pause, finish.

use crate::record::{Refused, recording_path};
use crate::start::{self, INHERITED};
use crate::tables::{self, Session};
use crate::{Error, hook, probe, state, sys};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::*;

/// A recording in progress.
///
/// A process records only once. If the environment started the recording (`HEAPGLASS_OUT`),
/// [`current`](Recorder::current) returns a handle to it. The recording is finished when the
/// recorder that started it is dropped, or when the program returns or calls `exit`.
///
/// A library with its own copy of this crate records separately, to its own file. Unloading the
/// library finishes that recording.
///
/// A forked child does not record, but may start its own recording. The parent's handles do nothing
/// in the child.
///
/// ```no_run
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let recorder = tracking_alloc::Recorder::start("out.hg")?;
/// let names: Vec<String> = (0..10).map(|n| format!("name {n}")).collect();
/// recorder.mark("loaded");
/// drop(names);
/// recorder.finish()?;
/// # Ok::<(), tracking_alloc::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping the recorder finishes the recording"]
pub struct Recorder {
    owns: bool,
    /// The tag of the recording.
    tag: u32,
}

impl Recorder {
    /// Starts recording to a new file at `path`. An old recording there is replaced if its process
    /// has ended. If that process may still be running or is this process, the old recording stays
    /// and the new path gets a suffix (`NAME-PID.hg`). [`path`](Recorder::path) returns the actual
    /// path.
    ///
    /// # Errors
    /// If `TrackingAlloc` is not the global allocator, if the process is recording or has recorded
    /// before, or if the file cannot be created.
    pub fn start(path: impl AsRef<Path>) -> Result<Recorder, Error> {
        let path = path.as_ref();
        probe::require()?;
        start::to_file(path.as_os_str().as_bytes())
            .map_err(|refused| Error::start(&format!("to {}", path.display()), refused))?;
        Ok(Recorder::of_current(true))
    }

    /// Starts recording to memory; [`finish_to_bytes`](Recorder::finish_to_bytes) returns the
    /// recording.
    ///
    /// # Errors
    /// The same as for [`start`](Recorder::start), except those about files.
    pub fn start_in_memory() -> Result<Recorder, Error> {
        probe::require()?;
        start::to_memory().map_err(|refused| Error::start("in memory", refused))?;
        Ok(Recorder::of_current(true))
    }

    /// Returns a handle to the recording in progress, however it was started. Dropping this handle
    /// does not finish the recording.
    pub fn current() -> Option<Recorder> {
        let recorder = Recorder::of_current(false);
        (state::is_recording() && recorder.session().is_some()).then_some(recorder)
    }

    fn of_current(owns: bool) -> Recorder {
        Recorder {
            owns,
            tag: tables::current_tag(),
        }
    }

    /// The recording, in progress or finished; `None` in a forked child.
    fn session(&self) -> Option<&'static Session> {
        tables::own(self.tag)
    }

    /// Returns the path of the recording, also after it was finished; `None` for a recording in
    /// memory, and in a forked child.
    pub fn path(&self) -> Option<PathBuf> {
        let path = self.session().and_then(|_| recording_path())?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes())))
    }

    /// Sets a named mark. It records the totals at this moment and ends a window of the peak, so
    /// that reports can tell apart what happened before and after it. The peak of the next window
    /// starts with the bytes that are live now. After the recording is finished, this does nothing.
    pub fn mark(&self, name: &str) {
        if self.session().is_some() {
            mark(name);
        }
    }

    /// Stops counting new blocks. Reallocs and frees of known blocks are still counted.
    pub fn pause(&self) {
        if self.session().is_some() {
            state::pause(true);
        }
    }

    /// Counts new blocks again after [`pause`](Recorder::pause).
    pub fn resume(&self) {
        if self.session().is_some() {
            state::pause(false);
        }
    }

    /// Stops recording and finishes the file.
    ///
    /// # Errors
    /// If the recording was finished before. If several threads finish it at once, one succeeds;
    /// the others get the error when it is done. In a forked child, because the recording belongs
    /// to the parent.
    pub fn finish(mut self) -> Result<(), Error> {
        self.owns = false;
        start::finish(self.tag).map_err(Error::new)
    }

    /// Stops a recording in memory and returns its bytes, as they would be in a file.
    ///
    /// # Errors
    /// The same as for [`finish`](Recorder::finish). Also if the recording is written to a file:
    /// recording then continues, and [`current`](Recorder::current) returns another handle to it.
    pub fn finish_to_bytes(mut self) -> Result<Vec<u8>, Error> {
        self.owns = false;
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

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.owns {
            let _ = start::finish(self.tag);
        }
    }
}

/// Sets a mark in the recording in progress, if there is one. See [`Recorder::mark`].
pub fn mark(name: &str) {
    let Some(_inside) = hook::Inside::enter() else {
        return;
    };
    let (Some(session), Some(header)) = (tables::current(), tables::header()) else {
        return;
    };
    let _errno = sys::Errno::keep();
    let mut checks = hook::PEAK_CHECKS.lock();
    let window = hook::mark_window(&mut checks);
    let mut writer = session.write.lock();
    let now_ns = checks.timeline.elapsed_ns();
    let added = writer.add_mark(name.as_bytes(), window, now_ns);
    if added.is_none() {
        header.lost_marks.fetch_add(1, Relaxed);
    }
}

impl Error {
    fn start(place: &str, refused: Refused) -> Self {
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
}
