//! `heapglass tui FILE` and `heapglass FILE`: opens a recording in the terminal UI.

use std::sync::Arc;

use heapglass_tui::{Base, Options};

use crate::args::Tui;
use crate::error::Error;
use crate::explore::show_recording;
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
    let options = Options {
        measure: args.measure.measure,
        base: base.transpose()?,
        ..Options::from_env()
    };
    show_recording(&args.input.file, &args.input.symbols, options)
}
