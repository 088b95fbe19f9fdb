//! Shows a recording in the terminal UI.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use heapglass_profiler::profile::{Profile, State};
use heapglass_profiler::snapshot::Snapshot;
use heapglass_profiler::{Early, Session};
use heapglass_tui::{Options, Source};

use crate::args::Symbols;
use crate::error::Error;
use crate::files::leftovers::leave_signals;
use crate::{no_effect, open, terminal};

/// Shows a recording until the user quits.
///
/// # Errors
/// Returns an error if the recording cannot be opened, or if there is no terminal.
pub(crate) fn show_file(path: &Path, symbols: &Symbols) -> Result<(), Error> {
    // Reject a file that is not a recording before changing the terminal.
    open::check(path)?;
    show_recording(path, symbols, Options::from_env())
}

/// Shows a recording with these options. The caller has checked that it can be opened.
///
/// # Errors
/// Returns an error if there is no terminal.
pub(crate) fn show_recording(
    path: &Path,
    symbols: &Symbols,
    options: Options,
) -> Result<(), Error> {
    let unmatched = Arc::default();
    let source = Recording {
        path: path.to_owned(),
        session: open::session(symbols),
        live: false,
        symbols: symbols.clone(),
        unmatched: Arc::clone(&unmatched),
        taken: Vec::new(),
    };
    let base = options.base.clone();
    // The terminal UI handles signals from here on.
    leave_signals();
    let shown = heapglass_tui::run(source, options).map_err(Error::misuse);
    // The terminal UI would overwrite these lines, so print them now.
    let lines = unmatched.lock().unwrap_or_else(PoisonError::into_inner);
    let of_base = base.map(|base| no_effect::unmatched(symbols, &[&base.profile]));
    for line in lines.iter() {
        if of_base
            .as_ref()
            .is_none_or(|of_base| of_base.contains(line))
        {
            terminal::eprint_line(line);
        }
    }
    shown
}

/// A recording in a file, finished or live.
struct Recording {
    path: PathBuf,
    session: Session,
    live: bool,
    symbols: Symbols,
    /// The `--own` and `--debug-dir` options that matched nothing when the recording was last
    /// loaded.
    unmatched: Arc<Mutex<Vec<String>>>,
    /// The snapshots that were taken meanwhile, if no run keeps them beside the recording.
    taken: Vec<Snapshot>,
}

impl Source for Recording {
    fn title(&self) -> String {
        self.path.display().to_string()
    }

    fn load(
        &mut self,
        progress: &dyn Fn(&str),
        early: Option<Early<'_>>,
    ) -> Result<Profile, String> {
        let mut profile = open::open_quietly(&mut self.session, &self.path, progress, early)
            .map_err(|error| error.to_string())?;
        open::add_taken(&mut profile, &self.taken);
        *self
            .unmatched
            .lock()
            .unwrap_or_else(PoisonError::into_inner) =
            no_effect::unmatched(&self.symbols, &[&profile]);
        self.live = profile.process().state == State::Running;
        Ok(profile)
    }

    fn is_live(&self) -> bool {
        self.live
    }

    #[cfg(target_os = "linux")]
    fn snapshot(&mut self) -> Result<String, String> {
        let taken = crate::snapshots::take_into_file(&self.path, &self.symbols);
        let (text, snapshot) = taken.map_err(|error| error.to_string())?;
        self.taken.push(snapshot);
        Ok(text)
    }
}
