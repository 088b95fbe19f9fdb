//! `heapglass diff`: compares two sides of recordings, as text, JSON or a picture.

use std::path::{Path, PathBuf};

use heapglass_profiler::diff::{
    Comparison, Diff, DiffOptions, HeldDiff, HeldSide, Recording, refused, write_json,
    write_markdown, write_svg, write_text,
};
use heapglass_profiler::profile::Frames;
use heapglass_profiler::question::Form;
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::By;

use super::export::write_comparison;
use crate::args::{self, Symbols, snapshot_of};
use crate::error::Error;
use crate::files::output::Output;
use crate::open::Side;
use crate::progress::Working;
use crate::{no_effect, terminal};

pub(super) fn run(args: &args::Diff) -> Result<(), Error> {
    let base: Vec<&Path> = paths(&args.base, &args.and_base);
    let new: Vec<&Path> = paths(&args.new, &args.and_new);
    let inputs: Vec<&Path> = base.iter().chain(&new).copied().collect();
    let asked = args.ask.rows()?;
    let (by, measure) = (asked.by, asked.measure);
    let ends_in = |wanted: &str| {
        let end = args.output.extension();
        end.is_some_and(|end| end.eq_ignore_ascii_case(wanted))
    };
    let is_page = ends_in("html");
    let is_picture = ends_in("svg");
    // Rows of counters are drawn by stack, field or type, which have every measure.
    let is_drawn = is_picture && (asked.is_of_snapshot() || by == By::Arena);
    let has_several = !args.and_base.is_empty() || !args.and_new.is_empty();
    for (is_wanted, form) in [
        (is_drawn, Form::Tree),
        (is_page, Form::ComparisonPage),
        (args.markdown, Form::ComparisonMarkdown),
        (has_several, Form::ComparisonOfSeveral),
        (args.per.is_some(), Form::ComparisonPerInput),
    ] {
        if is_wanted {
            asked.checked(form)?;
        }
    }
    let is_held = asked.is_of_snapshot();
    for (flag, at) in [("--at", &args.ask.figures.at), ("--base-at", &args.base_at)] {
        if let Some(at) = at.as_ref().filter(|_| !is_held) {
            no_effect::warn(
                format_args!("{flag} {at}"),
                "these figures are of whole recordings; use it with --by holder, --measure retained or --measure unused",
            );
        }
    }
    let output = Output::open(&args.output, &inputs)?;
    let base = Side::open(&base, &symbols(args, &args.base_binary))?;
    let new = Side::open(&new, &symbols(args, &args.new_binary))?;
    let both = symbols(args, &None);
    if !is_held {
        no_effect::warn_of_rows(by, measure, Frames::Folded, &both);
    }
    no_effect::warn_of_symbols(&both, &[base.profiles(), new.profiles()].concat());
    let (base, new) = (base.recordings(), new.recordings());
    let snapshots = if is_held {
        let at = args.ask.figures.at.as_deref();
        let base_at = args.base_at.as_deref().or(at);
        Some([
            snapshot_of(base[0].profile, &args.base, base_at)?,
            snapshot_of(new[0].profile, &args.new, at)?,
        ])
    } else if let Some(why) = refused(&base, &new) {
        return Err(Error::misuse(why));
    } else {
        None
    };
    let working = Working::new("comparing");
    let comparison: Comparison<'_> = match snapshots {
        Some([base_at, new_at]) => {
            let sides = [(base[0], base_at), (new[0], new_at)];
            let sides =
                sides.map(|(Recording { name, profile }, at)| HeldSide { name, profile, at });
            HeldDiff::new(sides, by, measure).into()
        }
        None => {
            let options = DiffOptions {
                by,
                measure,
                per: args.per,
            };
            Diff::new(&base, &new, options).into()
        }
    };
    drop(working);
    let text = if is_page {
        let path = Some(args.output.as_path());
        write_comparison(&base, &new, measure, snapshots, output, path)?;
        Output::Stdout
    } else if is_picture {
        if let Some(drawn) = output.write(|out| write_svg(&comparison, out))? {
            terminal::wrote_picture(&args.output, drawn.frames);
        }
        Output::Stdout
    } else {
        output
    };
    let shown = ReportOptions {
        top: args.top,
        ..text.report_options()
    };
    let written = text.write(|out| {
        if args.json {
            write_json(&comparison, args.top, out)
        } else if args.markdown {
            write_markdown(&comparison, args.top, out)
        } else {
            write_text(&comparison, &shown, out)
        }
    });
    written.map(drop)
}

fn paths<'a>(first: &'a Path, others: &'a [PathBuf]) -> Vec<&'a Path> {
    let others = others.iter().map(PathBuf::as_path);
    std::iter::once(first).chain(others).collect()
}

fn symbols(args: &args::Diff, binary: &Option<PathBuf>) -> Symbols {
    Symbols {
        binary: binary.clone(),
        debug_dir: args.debug_dir.clone(),
        own: args.own.clone(),
        wrapper: args.wrapper.clone(),
    }
}
