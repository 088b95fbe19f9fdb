//! `Recorder`: a recording that belongs to a value of the program.

use crate::Error;
use heapglass_recorder::{NoSnapshot, Options, Recording, Settings, require_observing};
use std::path::{Path, PathBuf};

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
    recording: Recording,
}

impl Recorder {
    /// Starts recording to a new file at `path`. If something is at that path, it stays, and the
    /// new path gets a suffix (`NAME-PID.hg`). [`path`](Recorder::path) returns the actual path.
    ///
    /// # Errors
    /// If `TrackingAlloc` is not the global allocator, if the process is recording or has recorded
    /// before, if the file cannot be created, or if this platform is not supported.
    pub fn start(path: impl AsRef<Path>) -> Result<Recorder, Error> {
        Recorder::options().start(path)
    }

    /// Starts recording to memory; [`finish_to_bytes`](Recorder::finish_to_bytes) returns the
    /// recording.
    ///
    /// # Errors
    /// The same as for [`start`](Recorder::start), except those about files.
    pub fn start_in_memory() -> Result<Recorder, Error> {
        Recorder::options().start_in_memory()
    }

    /// Returns options for a recording that differs from what the environment says.
    pub fn options() -> RecorderOptions {
        RecorderOptions::default()
    }

    /// Returns a handle to the recording in progress, however it was started. Dropping this handle
    /// does not finish the recording.
    pub fn current() -> Option<Recorder> {
        Some(Recorder {
            owns: false,
            recording: Recording::current()?,
        })
    }

    /// Returns the path of the recording, also after it was finished; `None` for a recording in
    /// memory, and in a forked child.
    pub fn path(&self) -> Option<PathBuf> {
        self.recording.path()
    }

    /// Sets a named mark. It records the totals at this moment and ends a window of the peak, so
    /// that reports can tell apart what happened before and after it. The peak of the next window
    /// starts with the bytes that are live now. After the recording is finished, this does nothing.
    pub fn mark(&self, name: &str) {
        self.recording.mark(name);
    }

    /// Stops counting new blocks. Reallocs and frees of known blocks are still counted. The
    /// recording keeps the time of the pause. `heapglass pause` does the same from outside.
    pub fn pause(&self) {
        self.recording.pause();
    }

    /// Counts new blocks again after [`pause`](Recorder::pause).
    pub fn resume(&self) {
        self.recording.resume();
    }

    /// Takes samples from now on, one for each `mean_bytes` bytes allocated on average, or changes
    /// that mean. The figures of the recording are estimates from then on. `heapglass set` does
    /// the same from outside.
    ///
    /// # Errors
    /// If the recording has no stacks (mode `count`), if the program uses
    /// [`measure`](crate::measure), [`assert_allocs!`](crate::assert_allocs) or `footprint`,
    /// which need every event, or if `mean_bytes` is 0 or more than 1 TiB. If the recording was
    /// finished.
    pub fn sample(&self, mean_bytes: u64) -> Result<(), Error> {
        self.recording.sample(mean_bytes)
    }

    /// Stops recording and finishes the file.
    ///
    /// # Errors
    /// If the recording was finished before. If several threads finish it at once, one succeeds;
    /// the others get the error when it is done. In a forked child, because the recording belongs
    /// to the parent.
    pub fn finish(mut self) -> Result<(), Error> {
        self.owns = false;
        self.recording.finish()
    }

    /// Stops a recording in memory and returns its bytes, as they would be in a file.
    ///
    /// # Errors
    /// The same as for [`finish`](Recorder::finish). Also if the recording is written to a file:
    /// recording then continues, and [`current`](Recorder::current) returns another handle to it.
    pub fn finish_to_bytes(mut self) -> Result<Vec<u8>, Error> {
        self.owns = false;
        self.recording.finish_to_bytes()
    }
}

/// Options of a recording that the program starts. What is not set is as the environment says
/// (`HEAPGLASS_MODE` and others), else as without it.
///
/// A service in production takes samples:
///
/// ```no_run
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let recorder = tracking_alloc::Recorder::options()
///     .sample(true)
///     .start("/var/lib/shop/shop.hg")?;
/// # drop(recorder);
/// # Ok::<(), tracking_alloc::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "options do nothing until `start` is called"]
pub struct RecorderOptions(Settings);

impl RecorderOptions {
    /// Takes samples (`true`), or records every event (`false`).
    pub fn sample(mut self, samples: bool) -> Self {
        self.0.samples = Some(samples);
        self
    }

    /// Sets the mean number of bytes from one sample to the next, by default 512 KiB. Fewer bytes
    /// make estimates more exact and recording more expensive.
    pub fn sample_bytes(mut self, mean_bytes: u64) -> Self {
        self.0.sample_bytes = Some(mean_bytes);
        self
    }

    /// Counts blocks and frees exactly, in addition to the bytes allocated, while samples are
    /// taken.
    pub fn sample_counts(mut self, counts: bool) -> Self {
        self.0.sample_counts = Some(counts);
        self
    }

    /// Begins with a pause: nothing is recorded before [`Recorder::resume`] or `heapglass resume`.
    pub fn paused(mut self, is_paused: bool) -> Self {
        self.0.paused = Some(is_paused);
        self
    }

    /// Starts recording to a new file, as [`Recorder::start`] does.
    ///
    /// # Errors
    /// The same as for [`Recorder::start`]. Also if an option is not valid.
    pub fn start(self, path: impl AsRef<Path>) -> Result<Recorder, Error> {
        self.begin(Options::File(path.as_ref()))
    }

    /// Starts recording to memory, as [`Recorder::start_in_memory`] does.
    ///
    /// # Errors
    /// The same as for [`start`](RecorderOptions::start), except those about files.
    pub fn start_in_memory(self) -> Result<Recorder, Error> {
        self.begin(Options::Memory)
    }

    fn begin(self, options: Options<'_>) -> Result<Recorder, Error> {
        require_observing()?;
        let recording = heapglass_recorder::start_with(options, self.0)?;
        Ok(Recorder {
            owns: true,
            recording,
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.owns {
            let _ = self.recording.finish();
        }
    }
}

/// Takes a snapshot of the heap: sets a [`mark`], and makes a paused copy of the process for the
/// `heapglass` that is attached (`heapglass run --snapshot`). Returns when the copy exists;
/// heapglass reads who holds the heap and how full it is out of the copy.
///
/// The calling thread is stopped while the copy is made: 30 to 100 ms for each GB of memory, less
/// with huge pages. Until heapglass has read the copy, the first write to each page takes a few
/// microseconds. If heapglass still reads the last copy, this waits for it, at most a few seconds.
///
/// Without `heapglass`, this only sets the mark and returns [`NoSnapshot::NoReader`], so it can
/// stay in the program.
///
/// # Errors
/// If nothing is recorded, if no reader is attached, or if no copy can be made. The mark is set if
/// anything is recorded.
///
/// # Examples
/// ```
/// # #[global_allocator]
/// # static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let catalog: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
/// match tracking_alloc::snapshot("catalog loaded") {
///     // Without `heapglass run --snapshot`, there is none.
///     Ok(()) | Err(tracking_alloc::NoSnapshot::NotRecording | tracking_alloc::NoSnapshot::NoReader) => {}
///     Err(reason) => eprintln!("{reason}"),
/// }
/// # drop(catalog);
/// ```
pub fn snapshot(label: &str) -> Result<(), NoSnapshot> {
    heapglass_recorder::snapshot(label)
}

/// Sets a mark in the recording in progress, if there is one. See [`Recorder::mark`].
pub fn mark(name: &str) {
    heapglass_recorder::mark(name);
}
