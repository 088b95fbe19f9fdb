//! Reads the snapshots of the programs of a run while they run, in a thread of its own.
//!
//! A snapshot that fails is a sentence, never a failed run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use heapglass_profiler::attach::{Error, Progress, Reader, Taken, Triggers};
use heapglass_profiler::snapshot::Snapshot;
use heapglass_profiler::{Beside, DeclaredContainer, OpenOptions};

use crate::args::Moments;

/// The first peak with a snapshot has more live bytes than this.
const FIRST_PEAK_BYTES: u64 = 64 << 10;
/// The interval between looks at the recordings.
const LOOKS: Duration = Duration::from_millis(10);
/// The wait for a copy that was asked for, before other programs get their turn.
const PATIENCE: Duration = Duration::from_millis(900);
/// Snapshots that are kept of one recording. Of more, the earliest are dropped.
const MOST: usize = 100;

/// Returns the variables that attach this process to the programs of a run from their start.
pub(crate) fn environment(moments: &Moments, is_forced: bool) -> Vec<(&'static str, OsString)> {
    let mut value = std::process::id().to_string();
    if is_forced {
        value.push_str(",force");
    }
    if moments.at_exit {
        value.push_str(",exit");
    }
    if moments.at_peak {
        value.push_str(&format!(",peak={FIRST_PEAK_BYTES}"));
    }
    for mark in &moments.marks {
        value.push_str(&format!(",mark={mark}"));
    }
    let mut variables = vec![("HEAPGLASS_SNAPSHOT", value.into())];
    if moments.at_signal && std::env::var_os("HEAPGLASS_SNAPSHOT_SIGNAL").is_none() {
        variables.push(("HEAPGLASS_SNAPSHOT_SIGNAL", "USR2".into()));
    }
    variables
}

/// The snapshots of one recording.
#[derive(Debug, Default)]
pub(crate) struct OfRecording {
    /// The snapshots, in the order in which they were taken.
    pub(crate) snapshots: Vec<Snapshot>,
    /// The reasons why there are no others.
    pub(crate) problems: Vec<String>,
}

/// The snapshots to take.
#[derive(Clone, Debug)]
pub(crate) struct Wants {
    pub(crate) moments: Moments,
    /// Take them even if the program may be killed for making a copy of itself.
    pub(crate) is_forced: bool,
    /// Containers that the program declares.
    pub(crate) containers: Vec<DeclaredContainer>,
}

/// The state that the thread that reads snapshots shares with others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// `true` once no more is to be read.
    pub(crate) stops: Arc<AtomicBool>,
    /// The step that the thread is at.
    pub(crate) step: Arc<Mutex<Option<String>>>,
}

/// The thread that reads snapshots.
#[derive(Debug)]
pub(crate) struct Watch {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<PathBuf, OfRecording>>,
}

impl Watch {
    /// Starts the thread. `recordings` returns the paths of all recordings so far.
    pub(crate) fn start(
        wants: Wants,
        told: Told,
        recordings: impl Fn() -> Vec<PathBuf> + Send + 'static,
    ) -> io::Result<Watch> {
        let ends = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&ends);
        let thread = std::thread::Builder::new()
            .name("snapshots".to_owned())
            .spawn(move || {
                let mut programs = BTreeMap::new();
                loop {
                    // What comes after the last look is seen by one more.
                    let is_last = shared.load(Acquire);
                    for path in recordings() {
                        programs.entry(path).or_insert_with_key(|path| {
                            Program::attach(path.clone(), &wants, &told)
                        });
                    }
                    for program in programs.values_mut() {
                        program.look(&wants.moments, &shared);
                    }
                    if is_last {
                        break;
                    }
                    std::thread::sleep(LOOKS);
                }
                let found = programs.into_iter();
                found.map(|(path, program)| (path, program.found)).collect()
            })?;
        Ok(Watch { ends, thread })
    }

    /// Reads what is left and returns the snapshots by the path of their recording. Call after the
    /// command has ended.
    pub(crate) fn finish(self) -> BTreeMap<PathBuf, OfRecording> {
        self.ends.store(true, Release);
        self.thread.join().unwrap_or_default()
    }
}

/// One program.
struct Program {
    path: PathBuf,
    /// The file by which another command asks for a snapshot.
    request: Option<PathBuf>,
    /// `None` if it could not be attached to.
    reader: Option<Reader>,
    found: OfRecording,
    /// The place of the last peak among the snapshots.
    peak: Option<usize>,
    next_asked: Instant,
    /// `true` if there are snapshots that the file beside the recording does not have.
    is_behind: bool,
    told: Told,
}

impl Program {
    fn attach(path: PathBuf, wants: &Wants, told: &Told) -> Program {
        let moments = &wants.moments;
        let mut program = Program {
            request: Beside::Request.path(&path),
            reader: None,
            found: OfRecording::default(),
            peak: None,
            next_asked: Instant::now() + moments.every.unwrap_or_default(),
            is_behind: false,
            told: told.clone(),
            path,
        };
        let triggers = Triggers {
            peak_above: moments.at_peak.then_some(FIRST_PEAK_BYTES),
            at_exit: moments.at_exit,
            marks: moments.marks.clone(),
        };
        let options = OpenOptions {
            containers: wants.containers.clone(),
            ..OpenOptions::with_cache()
        };
        let reader = Reader::attach(&program.path, wants.is_forced, options);
        match reader.and_then(|reader| reader.set_triggers(&triggers).map(|()| reader)) {
            Ok(mut reader) => {
                reader.stop_when(Arc::clone(&told.stops));
                // If this fails, snapshots say so.
                let _ = reader.prepare();
                program.reader = Some(reader);
            }
            Err(error) => {
                program.failed(&error);
            }
        }
        program
    }

    /// Reads the copies that wait, and asks for those that are due.
    fn look(&mut self, moments: &Moments, ends: &AtomicBool) {
        let Some(mut reader) = self.reader.take() else {
            return;
        };
        let step = Arc::clone(&self.told.step);
        let goes_on = |progress: Progress| {
            let mut step = step.lock().unwrap_or_else(PoisonError::into_inner);
            *step = Some(super::sentence(progress));
            true
        };
        loop {
            match reader.next(&goes_on) {
                Ok(Some(taken)) => self.keep(taken),
                Ok(None) => break,
                Err(error) => {
                    // The same error again, such as of a file that cannot be read, may never end.
                    if !self.failed(&error) {
                        break;
                    }
                }
            }
        }
        let request = self.request.as_ref();
        let is_wanted = request.is_some_and(|request| request.exists());
        let mut is_answered = false;
        let is_due = moments.every.is_some() && self.next_asked <= Instant::now();
        if (is_due || is_wanted) && !ends.load(Acquire) {
            let begun = Instant::now();
            let every = moments.every.unwrap_or_default();
            is_answered = match reader.take(PATIENCE, &|_| !ends.load(Acquire)) {
                Ok(taken) => {
                    self.keep(taken);
                    self.next_asked = begun + every.max(begun.elapsed() * 2);
                    true
                }
                // It allocates nothing, or has ended meanwhile.
                Err(error) if error.is_no_answer() || error.is_not_running() => false,
                Err(_) if ends.load(Acquire) => false,
                Err(error) => {
                    self.failed(&error);
                    self.next_asked = Instant::now() + every;
                    true
                }
            };
        }
        self.keep_beside();
        // Whoever waits for it reads the snapshots then.
        if is_wanted
            && is_answered
            && let Some(request) = &self.request
        {
            let _ = std::fs::remove_file(request);
        }
        self.reader = Some(reader);
    }

    /// Writes the snapshots so far beside the recording, if there are new ones.
    fn keep_beside(&mut self) {
        if std::mem::take(&mut self.is_behind)
            && let Err(error) = super::keep_beside(&self.path, &self.found.snapshots)
        {
            let problem = format!("snapshots can be seen only at the end of the run: {error}");
            self.note(problem);
        }
    }

    fn keep(&mut self, taken: Taken) {
        self.is_behind = true;
        let snapshots = &mut self.found.snapshots;
        if taken.is_peak {
            // Only the last of all peaks is one.
            if let Some(earlier) = self.peak.take() {
                snapshots.remove(earlier);
            }
            self.peak = Some(snapshots.len());
        }
        snapshots.push(taken.snapshot);
        if snapshots.len() > MOST {
            let dropped = usize::from(self.peak == Some(0));
            snapshots.remove(dropped);
            self.peak = self.peak.map(|peak| peak.saturating_sub(1));
            self.note(format!(
                "more than {MOST} snapshots were taken; the earliest were dropped"
            ));
        }
    }

    /// Keeps an error. Returns `false` if it is known already.
    fn failed(&mut self, error: &Error) -> bool {
        self.note(error.to_string())
    }

    /// Keeps a problem. Returns `false` if it is known already.
    fn note(&mut self, problem: String) -> bool {
        let is_new = !self.found.problems.contains(&problem);
        if is_new {
            self.found.problems.push(problem);
        }
        is_new
    }
}
