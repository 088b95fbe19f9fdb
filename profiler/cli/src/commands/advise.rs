//! `heapglass advise`: lists changes that save memory as text or JSON.

use heapglass_profiler::advice::{advice, write_json, write_text};
use heapglass_profiler::report::ReportOptions;

use crate::args::Advise;
use crate::error::Error;
use crate::files::output::Output;
use crate::{no_effect, open};

pub(super) fn run(args: &Advise) -> Result<(), Error> {
    let output = Output::open(&args.output, &[&args.input.file])?;
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    no_effect::warn_of_symbols(&args.input.symbols, &[&profile]);
    let mut advice = advice(&profile, args.all);
    let options = ReportOptions {
        top: args.top,
        ..output.report_options()
    };
    output.write(|out| {
        if args.json {
            let top = args.top.unwrap_or(usize::MAX);
            advice.findings.truncate(top);
            advice.grew.truncate(top);
            write_json(&advice, out)
        } else {
            write_text(&profile, &advice, args.all, &options, out)
        }
    })?;
    Ok(())
}
