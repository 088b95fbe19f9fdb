//! Recording from code: start, marks, pause, finish.

use crate::record::{Refused, recording_path};
use crate::start::{self, INHERITED};
use crate::tables::{self, Session};
use crate::{Error, hook, probe, state, sys};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::*;

/// A recording in progress.
///
/// Starts once in a process and stops once; when the environment started it (`HEAPGLASS_OUT`),
/// [`current`](Recorder::current) gives a handle to it. Dropping the recorder that started a
/// recording finishes it; so does the end of the program, when it returns or calls `exit`.
///
/// A library with a copy of this crate of its own records on its own, to a file of its own;
/// unloading it finishes that.
///
/// A forked child does not record. It may start a recording of its own; handles of its parent's do
/// nothing in it.
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
    /// Of the recording.
    tag: u32,
}

impl Recorder {
    /// Starts recording to a new file at `path`. An old recording there is replaced; one whose
    /// process is not proved dead, or is this very one, stays, and the path gets a suffix
    /// (`NAME-PID.hg`): [`path`](Recorder::path) says where it is.
    ///
    /// # Errors
    /// When `TrackingAlloc` is not the global allocator, the process records or recorded already,
    /// or the file cannot be made.
    pub fn start(path: impl AsRef<Path>) -> Result<Recorder, Error> {
        let path = path.as_ref();
        probe::require()?;
        start::to_file(path.as_os_str().as_bytes())
            .map_err(|refused| Error::start(&format!("to {}", path.display()), refused))?;
        Ok(Recorder::of_current(true))
    }

    /// Starts recording to memory; [`finish_to_bytes`](Recorder::finish_to_bytes) gives the
    /// recording.
    ///
    /// # Errors
    /// As [`start`](Recorder::start), without those about files.
    pub fn start_in_memory() -> Result<Recorder, Error> {
        probe::require()?;
        start::to_memory().map_err(|refused| Error::start("in memory", refused))?;
        Ok(Recorder::of_current(true))
    }

    /// The recording that is in progress, however it was started. Dropping this handle does not
    /// finish it.
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

    /// Where the recording is written, also after it was finished; `None` in memory, and in a
    /// forked child.
    pub fn path(&self) -> Option<PathBuf> {
        let path = self.session().and_then(|_| recording_path())?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes())))
    }

    /// Sets a named mark: totals at this moment, and the end of a window of the peak. Everything
    /// before and after it can be told apart; the next window's peak starts from what is live now.
    /// Nothing is set after the recording was finished.
    pub fn mark(&self, name: &str) {
        if self.session().is_some() {
            mark(name);
        }
    }

    /// Stops counting new blocks; reallocs and frees of known ones are still followed.
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
    /// When the recording was finished before: when several threads finish it at once, one does,
    /// and the others are told so when it is done. In a forked child, where the recording is its
    /// parent's.
    pub fn finish(mut self) -> Result<(), Error> {
        self.owns = false;
        start::finish(self.tag).map_err(Error::new)
    }

    /// Stops recording and returns the bytes of a recording in memory, as they would be in a file.
    ///
    /// # Errors
    /// As [`finish`](Recorder::finish). When the recording goes to a file: then it goes on, and
    /// [`current`](Recorder::current) gives another handle to it.
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

/// Sets a mark in the recording in progress, if there is one: see [`Recorder::mark`].
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
