//! Files, folders and copies of programs that must not stay if the command is interrupted.
//!
//! Each is removed when its [`Leftover`] is dropped. A signal that ends the process does not drop
//! anything, so a thread waits for such signals while there is a leftover, removes what there is,
//! and then lets the signal end the process. Where something else handles signals (`run` passes
//! them on, the terminal UI restores the terminal), the thread does nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use heapglass_profiler::OpenOptions;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

use super::{first_free, run_folder};

/// The signals that ask a process to end.
pub(crate) const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The wait for a command that was told to end, before its folder is removed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The kind of thing to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file.
    File,
    /// A folder with everything in it.
    Folder,
    /// The folder of a run, if it has no recording.
    RunFolder,
    /// The files in the cache of symbols that this process has not finished.
    UnfinishedSymbols,
}

/// The paths that are to be removed, and the processes that write to them.
struct Known {
    paths: BTreeMap<PathBuf, Kind>,
    processes: Vec<Pid>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    paths: BTreeMap::new(),
    processes: Vec::new(),
});

/// `true` if something else ends the process on a signal.
static HANDLED_ELSEWHERE: AtomicBool = AtomicBool::new(false);

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder that is removed on drop, or if a signal ends the process.
#[derive(Debug)]
pub(crate) struct Leftover(PathBuf);

impl Leftover {
    /// Enters a path. Call this before the file is created, so that no signal comes in between.
    pub(crate) fn new(path: PathBuf, kind: Kind) -> Leftover {
        catch_signals();
        // The folder of the process may change, and the path must not mean another file then.
        let path = std::path::absolute(&path).unwrap_or(path);
        known().paths.insert(path.clone(), kind);
        Leftover(path)
    }

    /// Enters a path, and creates the file or folder there. If that fails, what is there belongs to
    /// somebody else, and is left alone.
    pub(crate) fn create<T>(
        path: PathBuf,
        kind: Kind,
        make: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<(Leftover, T)> {
        let leftover = Leftover::new(path, kind);
        match make(leftover.path()) {
            Ok(made) => Ok((leftover, made)),
            Err(error) => {
                leftover.forget();
                Err(error)
            }
        }
    }

    /// Returns the absolute path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the path alone from now on.
    pub(crate) fn forget(self) {
        known().paths.remove(&self.0);
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        // The lock is held, so that nothing is removed that somebody else creates meanwhile.
        let mut known = known();
        if let Some(kind) = known.paths.remove(&self.0) {
            remove(&self.0, kind);
        }
    }
}

/// Creates a folder that only its owner can access, with this beginning of its name.
pub(crate) fn private_folder(base: &Path, name: &str, kind: Kind) -> io::Result<Leftover> {
    first_free(100, |attempt| {
        let folder = base.join(format!("{name}-{}-{attempt}", std::process::id()));
        let make = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
        Leftover::create(folder, kind, make).map(|(folder, ())| folder)
    })
}

/// A process that is told to end before anything is removed.
#[derive(Debug)]
pub(crate) struct Writing(Pid);

impl Writing {
    /// Enters a process that was started.
    pub(crate) fn new(child: &Child) -> Writing {
        let pid = Pid::from_child(child);
        known().processes.push(pid);
        Writing(pid)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        known().processes.retain(|pid| *pid != self.0);
    }
}

/// Leaves signals to somebody else, who calls [`remove_all`] before the process ends.
pub(crate) fn leave_signals() {
    HANDLED_ELSEWHERE.store(true, Release);
}

/// Removes everything that was entered.
pub(crate) fn remove_all() {
    known().remove_all();
}

impl Known {
    fn remove_all(&mut self) {
        #[cfg(target_os = "linux")]
        heapglass_profiler::image::end_copies();
        for (path, kind) in std::mem::take(&mut self.paths) {
            remove(&path, kind);
        }
    }
}

fn remove(path: &Path, kind: Kind) {
    // It no longer exists if it was given its final path.
    match kind {
        Kind::File => drop(fs::remove_file(path)),
        Kind::Folder => drop(fs::remove_dir_all(path)),
        Kind::RunFolder => run_folder::remove_if_empty(path),
        Kind::UnfinishedSymbols => OpenOptions::with_cache().symbols.remove_unfinished(),
    }
}

/// Catches signals, except those that were ignored from the start.
pub(crate) fn catch(signals: &[i32]) -> io::Result<SignalsInfo<WithOrigin>> {
    let ignored = ignored_from_the_start();
    let wanted = signals.iter().filter(|signal| !is_in(ignored, **signal));
    SignalsInfo::new(wanted)
}

/// Starts the thread that waits for signals.
fn catch_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A file that is larger than allowed is an error then, as on a full disk.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
        // Without the thread, a signal ends the process as before.
        let Ok(mut signals) = catch(&ENDING) else {
            return;
        };
        std::thread::spawn(move || {
            for origin in signals.forever() {
                if !HANDLED_ELSEWHERE.load(Acquire) {
                    // The terminal sends its signals to all processes of the group.
                    end(origin.signal, origin.process.is_some());
                }
            }
        });
    });
}

/// Removes everything, and ends the process by the signal. With `passes_on`, processes that write
/// get the signal too.
fn end(signal: i32, passes_on: bool) {
    // Nothing is created while the lock is held, and it is held until the process ends.
    let mut known = known();
    let number = Signal::from_named_raw(signal).filter(|_| passes_on);
    for pid in &known.processes {
        if let Some(signal) = number {
            let _ = kill_process(*pid, signal);
        }
    }
    let began = Instant::now();
    let writes = |pid: &Pid| test_kill_process(*pid).is_ok();
    while known.processes.iter().any(writes) && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    known.remove_all();
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Returns `true` if a mask of signals contains a signal.
fn is_in(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 != 0
}

/// Returns the mask of signals that this process ignored at its start; 0 if it cannot be read.
fn ignored_from_the_start() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_entered_is_removed_on_drop_unless_it_was_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, kind| {
            let path = folder.path().join(name);
            let leftover = Leftover::new(path.clone(), kind);
            match kind {
                Kind::File => fs::write(&path, "half").unwrap(),
                _ => fs::create_dir(&path).unwrap(),
            }
            leftover
        };
        let (file, kept) = (make("file", Kind::File), make("kept", Kind::File));
        let (tree, run) = (make("tree", Kind::Folder), make("run", Kind::RunFolder));
        let used = make("used", Kind::RunFolder);
        fs::write(tree.path().join("inside"), "x").unwrap();
        fs::write(run.path().join(run_folder::LOCK), "").unwrap();
        for name in [run_folder::LOCK, "app-1.hg"] {
            fs::write(used.path().join(name), "").unwrap();
        }
        drop((file, tree, run, used));
        kept.forget();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["kept", "used"]);
    }
}
