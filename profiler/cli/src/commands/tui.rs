//! `heapglass tui FILE`, and `heapglass FILE`: the terminal UI over a recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heapglass_profiler::profile::{Profile, State};
use heapglass_profiler::{Early, Session};
use heapglass_tui::{Base, Options, Source};

use crate::args::{Symbols, Tui};
use crate::error::Error;
use crate::open;

pub(super) fn run(args: &Tui) -> Result<(), Error> {
    // What is no recording is said before the other one is read.
    open::check(&args.input.file)?;
    let base = args.base.as_ref().map(|path| {
        let symbols = args.input.symbols.with_binary(&args.base_binary);
        Ok(Arc::new(Base {
            name: path.display().to_string(),
            profile: open::open(path, &symbols)?,
        }))
    });
    let options = Options {
        measure: args.measure.measure,
        base: base.transpose()?,
        ..Options::from_env()
    };
    show_recording(&args.input.file, &args.input.symbols, options)
}

/// Shows a recording until the user quits.
///
/// # Errors
/// When the recording cannot be opened, or there is no terminal.
pub(crate) fn show_file(path: &Path, symbols: &Symbols) -> Result<(), Error> {
    // What is no recording is said before the terminal changes.
    open::check(path)?;
    show_recording(path, symbols, Options::from_env())
}

fn show_recording(path: &Path, symbols: &Symbols, options: Options) -> Result<(), Error> {
    let source = Recording {
        path: path.to_owned(),
        session: open::session(symbols),
        live: false,
    };
    heapglass_tui::run(source, options).map_err(Error::misuse)
}

/// A recording in a file, finished or still written.
struct Recording {
    path: PathBuf,
    session: Session,
    live: bool,
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
        let profile = open::open_quietly(&mut self.session, &self.path, progress, early)
            .map_err(|error| error.to_string())?;
        self.live = profile.process.state == State::Running;
        Ok(profile)
    }

    fn is_live(&self) -> bool {
        self.live
    }
}
