//! `heapglass report`: prints the figures as text or JSON.

use heapglass_profiler::growth::{self, NOT_OF_SITES, Side};
use heapglass_profiler::profile::{Frames, Measure};
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
    if args.between.are_given() {
        return print_growth(args, shown);
    }
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

/// Prints what grew between two moments.
fn print_growth(args: &Report, shown: Shown) -> Result<(), Error> {
    let by = match shown {
        Shown::Counted(by, _) => by,
        Shown::Held(..) | Shown::Holders(_) => {
            return Err(Error::misuse(format_args!(
                "--from and --to compare checkpoints, which have no figures of a snapshot; {NOT_OF_SITES}"
            )));
        }
    };
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
    if let Some(measure) = args.measure.measure.filter(|_| !is_of_live(shown)) {
        let name = measure.name();
        no_effect::warn(
            format_args!("--measure {name}"),
            "growth between two moments is that of live bytes",
        );
    }
    if let Some(at) = &args.at.at {
        no_effect::warn(
            format_args!("--at {at}"),
            "--from and --to compare checkpoints",
        );
    }
    if args.explain {
        no_effect::warn("--explain", "growth has no further details");
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

fn is_of_live(shown: Shown) -> bool {
    matches!(shown, Shown::Counted(_, Measure::Live))
}
