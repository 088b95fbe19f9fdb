//! `heapglass tui FILE` and `heapglass FILE`: opens a recording in the terminal UI.

use std::sync::Arc;

use heapglass_profiler::diff::mixed_modes;
use heapglass_tui::{Base, Options};
use tracking_alloc_recording::mode;

use crate::args::Tui;
use crate::error::Error;
use crate::explore::show_recording;
use crate::files::header;
use crate::open;

pub(super) fn run(args: &Tui) -> Result<(), Error> {
    // Reject a file that is not a recording before reading the other one.
    open::check(&args.input.file)?;
    let base = args.base.as_ref().map(|path| {
        let symbols = args.input.symbols.with_binary(&args.base_binary);
        Ok(Arc::new(Base {
            name: path.display().to_string(),
            profile: open::open(path, &symbols)?,
        }))
    });
    let base: Option<Arc<Base>> = base.transpose()?;
    if let (Some(base), Some(header)) = (&base, header::read(&args.input.file)) {
        let name = args.input.file.display().to_string();
        let is_base_sampled = base.profile.capture().sampling.is_some();
        match (is_base_sampled, header.mode == mode::SAMPLE) {
            (true, false) => return Err(Error::misuse(mixed_modes(&base.name, &name))),
            (false, true) => return Err(Error::misuse(mixed_modes(&name, &base.name))),
            _ => {}
        }
    }
    let options = Options {
        measure: args.measure.measure,
        base,
        ..Options::from_env()
    };
    show_recording(&args.input.file, &args.input.symbols, options)
}
