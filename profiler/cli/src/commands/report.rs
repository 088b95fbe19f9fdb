//! `heapglass report`: prints the figures as text or JSON.

use heapglass_profiler::growth::{self, Side};
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::question::{Form, Kind};
use heapglass_profiler::report::{ReportOptions, write_json, write_text};
use heapglass_profiler::table::By;

use crate::args::Report;
use crate::error::Error;
use crate::files::output::Output;
use crate::{no_effect, open};

pub(super) fn run(args: &Report) -> Result<(), Error> {
    if args.between.are_given() {
        return print_growth(args);
    }
    let asked = args.ask.rows()?;
    let (by, measure) = (asked.by, asked.measure);
    let output = Output::open(&args.output, &[&args.input.file])?;
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    let recording = args.input.file.display().to_string();
    let at = args.ask.figures.at.as_deref();
    let snapshot = || args.ask.figures.snapshot_of(&profile, &args.input.file);
    let snapshot = if asked.is_of_snapshot() {
        Some(snapshot()?)
    } else if by == By::Type && (at.is_some() || !profile.snapshots().is_empty()) {
        // By type, the counters have retained bytes next to them.
        Some(snapshot()?)
    } else {
        None
    };
    let options = ReportOptions {
        by,
        measure,
        snapshot,
        top: args.top,
        frames: args.frames.frames,
        details: args.details,
        explain: args.explain,
        recording: Some(&recording),
        ..output.report_options()
    };
    let symbols = &args.input.symbols;
    if args.json && args.explain {
        no_effect::warn("--explain", "--json has all details of each row");
    }
    if args.json && args.details {
        no_effect::warn("--details", "--json has all details of the recording");
    }
    if let Some(at) = at.filter(|_| snapshot.is_none()) {
        no_effect::warn(
            format_args!("--at {at}"),
            "these figures are of the whole recording; use it with --by holder, --by type, --measure retained or --measure unused",
        );
    }
    no_effect::warn_of_rows(by, measure, options.frames, symbols);
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

/// Prints what grew between two moments.
fn print_growth(args: &Report) -> Result<(), Error> {
    let mut asked = args.ask.asked();
    if asked.kind == Kind::Counters && args.ask.figures.measure.is_none() {
        asked.measure = Kind::Growth.default_measure();
    }
    asked.kind = Kind::Growth;
    let by = asked.checked(Form::Rows)?.by;
    let file = &args.input.file;
    let output = Output::open(&args.output, &[file])?;
    let profile = open::open(file, &args.input.symbols)?;
    let refuse = Error::wrap(file.display());
    let find = |wanted: &Option<String>, default, side| {
        growth::moment(&profile, wanted.as_deref().unwrap_or(default), side)
    };
    let from = find(&args.between.from, "start", Side::From).map_err(&refuse)?;
    let to = find(&args.between.to, "end", Side::To).map_err(&refuse)?;
    let growth = growth::growth(&profile, from, to, by).map_err(&refuse)?;
    let recording = file.display().to_string();
    let options = ReportOptions {
        top: args.top,
        recording: Some(&recording),
        ..output.report_options()
    };
    if let Some(measure) = args
        .ask
        .figures
        .measure
        .filter(|&measure| measure != Measure::Live)
    {
        let name = measure.name();
        no_effect::warn(
            format_args!("--measure {name}"),
            "growth between two moments is that of live bytes",
        );
    }
    if let Some(at) = &args.ask.figures.at {
        no_effect::warn(
            format_args!("--at {at}"),
            "--from and --to compare checkpoints",
        );
    }
    if args.explain {
        no_effect::warn("--explain", "growth has no further details");
    }
    if args.details {
        no_effect::warn("--details", "growth has no further details");
    }
    no_effect::warn_of_rows(by, Measure::Live, args.frames.frames, &args.input.symbols);
    if args.frames.frames != Frames::Folded && matches!(by, By::Site | By::Function) {
        no_effect::warn(
            format_args!("--frames {}", args.frames.frames.name()),
            "growth is by folded stacks",
        );
    }
    no_effect::warn_of_symbols(&args.input.symbols, &[&profile]);
    output.write(|out| {
        if args.json {
            growth::write_json(&growth, Some(&recording), args.top, out)
        } else {
            growth::write_text(&growth, &options, out)
        }
    })?;
    Ok(())
}
