//! Recording from code: start, marks, pause, finish.

use crate::session::{self, Writer};
use crate::start::{self, Failure};
use crate::{Error, hook, probe, sys};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::Mark;

/// A recording in progress.
///
/// Starts once in a process and stops once; when the environment started it (`HEAPGLASS_OUT`), [`current`](Recorder::current)
/// gives a handle to it. Dropping the recorder that started a recording finishes it.
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
}

impl Recorder {
    /// Starts recording to a new file at `path`. A path in use by another recording process gets a suffix:
    /// [`path`](Recorder::path) says where it is.
    ///
    /// # Errors
    /// When `TrackingAlloc` is not the global allocator, the process records or recorded already, or the file cannot
    /// be made.
    pub fn start(path: impl AsRef<Path>) -> Result<Recorder, Error> {
        use std::os::unix::ffi::OsStrExt;
        let path = path.as_ref();
        probe::require()?;
        start::to_file(path.as_os_str().as_bytes())
            .map_err(|failure| Error::start(Some(path), failure))?;
        Ok(Recorder { owns: true })
    }

    /// Starts recording to memory; [`finish_to_bytes`](Recorder::finish_to_bytes) gives the recording.
    ///
    /// # Errors
    /// As [`start`](Recorder::start), without those about files.
    pub fn start_in_memory() -> Result<Recorder, Error> {
        probe::require()?;
        start::to_memory().map_err(|failure| Error::start(None, failure))?;
        Ok(Recorder { owns: true })
    }

    /// The recording that is in progress, however it was started. Dropping this handle does not finish it.
    pub fn current() -> Option<Recorder> {
        start::is_recording().then_some(Recorder { owns: false })
    }

    /// Where the recording is written; `None` in memory.
    pub fn path(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let bytes = session::current()?.write.hold().path.as_bytes();
        (!bytes.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }

    /// Sets a named mark: totals at this moment, and the end of a window of the peak. Everything before and after it
    /// can be told apart; the next window's peak starts from what is live now.
    pub fn mark(&self, name: &str) {
        mark(name);
    }

    /// Stops counting new blocks; reallocs and frees of known ones are still followed.
    pub fn pause(&self) {
        start::pause(true);
    }

    /// Counts new blocks again after [`pause`](Recorder::pause).
    pub fn resume(&self) {
        start::pause(false);
    }

    /// Stops recording and finishes the file.
    ///
    /// # Errors
    /// When the recording was finished before.
    pub fn finish(mut self) -> Result<(), Error> {
        self.owns = false;
        if start::finish() {
            Ok(())
        } else {
            Err(Error::not_recording())
        }
    }

    /// Stops recording and returns the bytes of the recording, as they would be in a file.
    ///
    /// # Errors
    /// When the recording was finished before, or goes to a file.
    pub fn finish_to_bytes(mut self) -> Result<Vec<u8>, Error> {
        self.owns = false;
        let session = session::current().ok_or_else(Error::not_recording)?;
        if !session.write.hold().store.in_memory() || !start::finish() {
            return Err(Error::not_recording());
        }
        let writer = session.write.hold();
        let mut bytes = Vec::with_capacity(writer.store.file_bytes() as usize);
        for (start, length) in writer.store.pieces() {
            // SAFETY: pieces are mapped until the process ends, and nobody writes to them after the finish.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(*start as *const u8, *length as usize)
            });
        }
        Ok(bytes)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.owns {
            start::finish();
        }
    }
}

/// Sets a mark in the recording in progress, if there is one: see [`Recorder::mark`].
pub fn mark(name: &str) {
    let Some(_inside) = hook::Inside::enter() else {
        return;
    };
    let (Some(session), Some(header)) = (session::current(), hook::header()) else {
        return;
    };
    let errno = sys::Errno::keep();
    let mut looks = hook::LOOKS.hold();
    let window = hook::mark_window(&mut looks);
    let mut writer = session.write.hold();
    if writer
        .add_mark(
            name.as_bytes(),
            window.as_ref(),
            looks.timeline.elapsed_ns(),
        )
        .is_none()
    {
        header.lost_marks.fetch_add(1, Relaxed);
    }
    drop(writer);
    drop(looks);
    drop(errno);
}

impl Writer {
    fn add_mark(&mut self, name: &[u8], window: Option<&hook::Window>, now_ns: u64) -> Option<()> {
        let name = self.string(name);
        let header = self.store.header();
        let (index, place) = self.marks.push::<Mark>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let mark = unsafe { place.as_ref() };
        mark.name.store(name, Relaxed);
        mark.time_ns.store(now_ns, Relaxed);
        for row in hook::lanes_in_use().flat_map(hook::counted_rows) {
            for (sum, figure) in mark.figures.iter().zip(hook::figures_of(row)) {
                sum.store(sum.load(Relaxed).wrapping_add(figure), Relaxed);
            }
        }
        if let Some(window) = window {
            mark.has_rows.store(1, Relaxed);
            mark.peak_bytes.store(window.peak_bytes, Relaxed);
            mark.peak_blocks.store(window.peak_blocks, Relaxed);
            mark.peak_ns.store(window.peak_ns, Relaxed);
            mark.doubt_bytes.store(window.doubt_bytes, Relaxed);
            mark.first_row.store(window.first_row, Relaxed);
            mark.rows.store(window.rows, Relaxed);
            header.window.store(index as u32 + 1, Relaxed);
        } else {
            header.lost_marks.fetch_add(1, Relaxed);
        }
        header.marks_len.store(index as u32 + 1, Release);
        Some(())
    }
}

impl Error {
    fn start(path: Option<&Path>, failure: Failure) -> Self {
        let place = path.map_or_else(
            || "in memory".to_owned(),
            |path| format!("to {}", path.display()),
        );
        Error::new(match failure {
            Failure::Already => format!(
                "cannot record {place}: this process records already, or has recorded before"
            ),
            Failure::File { what, errno: 0 } => format!("cannot record {place}: {what}"),
            Failure::File { what, errno } => {
                format!(
                    "cannot record {place}: {what} ({})",
                    std::io::Error::from_raw_os_error(errno)
                )
            }
            Failure::System(what) => format!("cannot record {place}: {what}"),
        })
    }

    fn not_recording() -> Self {
        Error::new("the recording was finished before, or is not of that kind".to_owned())
    }
}
