//! `heapglass report`: prints the figures as text or JSON.

use heapglass_profiler::report::{ReportOptions, write_json, write_text};

use crate::args::Report;
use crate::error::Error;
use crate::files::output::Output;
use crate::{no_effect, open};

pub(super) fn run(args: &Report) -> Result<(), Error> {
    let output = Output::open(&args.output, &[&args.input.file])?;
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let recording = args.input.file.display().to_string();
    let options = ReportOptions {
        by: args.by,
        measure: args.measure.measure,
        top: args.top,
        frames: args.frames.frames,
        explain: args.explain,
        recording: Some(&recording),
        ..output.report_options()
    };
    let symbols = &args.input.symbols;
    if args.json && args.explain {
        no_effect::warn("--explain", "--json has all details of each row");
    }
    no_effect::warn_of_rows(options.by, options.measure, options.frames, symbols);
    no_effect::warn_of_symbols(symbols, &[&profile]);
    output.write(|out| {
        if args.json {
            write_json(&profile, &options, out)
        } else {
            write_text(&profile, &options, out)
        }
    })?;
    // The process ends now. Freeing the blocks of a million stacks one by one would take as long as
    // printing a table of them.
    std::mem::forget(profile);
    Ok(())
}
