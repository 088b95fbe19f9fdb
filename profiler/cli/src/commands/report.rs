//! `heapglass report`: prints the figures as text or JSON.

use heapglass_profiler::profile::Frames;
use heapglass_profiler::report::{
    ReportOptions, write_holders_json, write_holders_text, write_json, write_text,
};
use heapglass_profiler::table::By;

use crate::args::Report;
use crate::error::Error;
use crate::files::output::Output;
use crate::held::{Shown, snapshot_of};
use crate::{no_effect, open};

pub(super) fn run(args: &Report) -> Result<(), Error> {
    let shown = Shown::new(args.by, args.measure.measure)?;
    let output = Output::open(&args.output, &[&args.input.file])?;
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let recording = args.input.file.display().to_string();
    let at = args.at.at.as_deref();
    // By type, the counters have retained bytes next to them.
    let is_optional = matches!(shown, Shown::Counted(By::Type, _)) && at.is_none();
    let snapshot = match shown {
        _ if is_optional && profile.snapshots().is_empty() => None,
        Shown::Counted(by, _) if by != By::Type => None,
        _ => Some(snapshot_of(&profile, &args.input.file, at)?),
    };
    let (by, measure, held) = match shown {
        Shown::Counted(by, measure) => (by, measure, None),
        Shown::Held(by, held) => (by, Default::default(), Some(held)),
        Shown::Holders(held) => (By::default(), Default::default(), Some(held)),
    };
    let options = ReportOptions {
        by,
        measure,
        snapshot,
        held,
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
    match shown {
        Shown::Counted(by, _) => {
            if let Some(at) = at.filter(|_| by != By::Type) {
                no_effect::warn(
                    format_args!("--at {at}"),
                    "these figures are of the whole recording; use it with --by holder, --by type, --measure retained or --measure unused",
                );
            }
            no_effect::warn_of_rows(by, measure, options.frames, symbols);
        }
        Shown::Held(by, _) => no_effect::warn_of_rows(by, measure, options.frames, symbols),
        Shown::Holders(_) if options.frames != Frames::Folded => no_effect::warn(
            format_args!("--frames {}", options.frames.name()),
            "holders have no stacks; use it with --by site or --by function",
        ),
        Shown::Holders(_) => {}
    }
    no_effect::warn_of_symbols(symbols, &[&profile]);
    output.write(|out| match (shown, snapshot) {
        (Shown::Holders(held), Some(at)) if args.json => {
            write_holders_json(&profile, at, held, &options, out)
        }
        (Shown::Holders(held), Some(at)) => write_holders_text(&profile, at, held, &options, out),
        _ if args.json => write_json(&profile, &options, out),
        _ => write_text(&profile, &options, out),
    })?;
    // The process ends now. Freeing the blocks of a million stacks one by one would take as long as
    // printing a table of them.
    std::mem::forget(profile);
    Ok(())
}
