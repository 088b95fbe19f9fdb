//! `heapglass tui FILE` and `heapglass FILE`: opens a recording in the terminal UI.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heapglass_profiler::diff::mixed_modes;
use heapglass_tui::{Base, Options};
use tracking_alloc_recording::mode;

use super::attach;
use crate::args::Tui;
use crate::error::Error;
use crate::explore::show_recording;
use crate::files::{header, live};
use crate::open;
use crate::terminal::{self, has_terminal};

pub(super) fn run(args: &Tui) -> Result<(), Error> {
    let file = &recording(&args.input.file)?;
    // Reject a file that is not a recording before reading the other one.
    open::check(file)?;
    if let Some(path) = args.source_dir.iter().find(|path| !path.is_dir()) {
        let path = path.display();
        return Err(Error::misuse(format_args!(
            "cannot find sources below {path}: it is not a folder; give one with --source-dir"
        )));
    }
    let base = args.base.as_ref().map(|path| {
        let symbols = args.input.symbols.with_binary(&args.base_binary);
        Ok(Arc::new(Base {
            name: path.display().to_string(),
            profile: open::open(path, &symbols)?,
            is_taken_here: false,
        }))
    });
    let base: Option<Arc<Base>> = base.transpose()?;
    if let (Some(base), Some(header)) = (&base, header::read(file)) {
        let name = file.display().to_string();
        let is_base_sampled = base.profile.capture().sampling.is_some();
        match (is_base_sampled, header.mode == mode::SAMPLE) {
            (true, false) => return Err(Error::misuse(mixed_modes(&base.name, &name))),
            (false, true) => return Err(Error::misuse(mixed_modes(&name, &base.name))),
            _ => {}
        }
    }
    let mut options = Options {
        measure: args.measure.measure,
        base,
        ..Options::from_env()
    };
    options.source_roots.extend(args.source_dir.iter().cloned());
    show_recording(file, &args.input.symbols, options)
}

/// Returns the path of a recording, or of that of a running process. Offers to attach to a process
/// that is not recorded.
fn recording(target: &Path) -> Result<PathBuf, Error> {
    let Some(process) = live::process(target) else {
        return Ok(target.to_owned());
    };
    if let Ok(live) = live::find(target) {
        return Ok(live.path);
    }
    if !has_terminal() {
        // It says what to do.
        return Ok(target.to_owned());
    }
    terminal::eprint_question(format_args!(
        "Process {process} is not recorded. Record it from now on? [y, Enter: no] "
    ));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(Error::wrap("cannot read the answer"))?;
    if answer.trim() == "y" {
        attach::begin(&process.to_string())
    } else {
        Ok(target.to_owned())
    }
}
