//! `heapglass diff`: compares two sides of recordings, as text, JSON or a picture.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use heapglass_profiler::diff::{
    DiffOptions, HeldSide, Recording, compare, compare_held, refused, write_held_json,
    write_held_svg, write_held_text, write_json, write_markdown, write_svg, write_text,
};
use heapglass_profiler::flamegraph::PictureTotals;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::question::Form;
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::By;

use super::export::write_comparison;
use crate::args::{Diff, Symbols, snapshot_of};
use crate::error::Error;
use crate::files::output::Output;
use crate::open::{self, Side};
use crate::progress::Working;
use crate::{no_effect, terminal};

pub(super) fn run(args: &Diff) -> Result<(), Error> {
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
    if asked.is_of_snapshot() {
        return held(args, by, measure, (is_picture, is_page), &inputs);
    }
    for (flag, at) in [("--at", &args.ask.figures.at), ("--base-at", &args.base_at)] {
        if let Some(at) = at {
            no_effect::warn(
                format_args!("{flag} {at}"),
                "these figures are of whole recordings; use it with --by holder, --measure retained or --measure unused",
            );
        }
    }
    let options = DiffOptions {
        by,
        measure,
        per: args.per,
    };
    let output = Output::open(&args.output, &inputs)?;
    let base = Side::open(&base, &symbols(args, &args.base_binary))?;
    let new = Side::open(&new, &symbols(args, &args.new_binary))?;
    let both = Symbols {
        own: args.own.clone(),
        debug_dir: args.debug_dir.clone(),
        ..Symbols::default()
    };
    no_effect::warn_of_rows(options.by, options.measure, Frames::Folded, &both);
    no_effect::warn_of_symbols(&both, &[base.profiles(), new.profiles()].concat());
    if let Some(why) = refused(&base.recordings(), &new.recordings()) {
        return Err(Error::misuse(why));
    }
    let working = Working::new("comparing");
    let diff = compare(&base.recordings(), &new.recordings(), options);
    drop(working);
    let text = if is_page {
        let (base, new) = (base.recordings(), new.recordings());
        write_comparison(
            &base,
            &new,
            options.measure,
            None,
            output,
            Some(&args.output),
        )?;
        Output::Stdout
    } else {
        write_picture(args, is_picture, output, |out| write_svg(&diff, out))?
    };
    let shown = ReportOptions {
        top: args.top,
        ..text.report_options()
    };
    let written = text.write(|out| {
        if args.json {
            write_json(&diff, args.top, out)
        } else if args.markdown {
            write_markdown(&diff, args.top, out)
        } else {
            write_text(&diff, &shown, out)
        }
    });
    written.map(drop)
}

/// Compares two snapshots.
fn held(
    args: &Diff,
    by: By,
    measure: Measure,
    (is_picture, is_page): (bool, bool),
    inputs: &[&Path],
) -> Result<(), Error> {
    let output = Output::open(&args.output, inputs)?;
    let base = open::open(&args.base, &symbols(args, &args.base_binary))?;
    let new = open::open(&args.new, &symbols(args, &args.new_binary))?;
    let at = args.ask.figures.at.as_deref();
    let base_at = args.base_at.as_deref().or(at);
    let names = [&args.base, &args.new].map(|path| path.display().to_string());
    let base_side = HeldSide {
        name: &names[0],
        profile: &base,
        at: snapshot_of(&base, &args.base, base_at)?,
    };
    let new_side = HeldSide {
        name: &names[1],
        profile: &new,
        at: snapshot_of(&new, &args.new, at)?,
    };
    let both = Symbols {
        own: args.own.clone(),
        debug_dir: args.debug_dir.clone(),
        ..Symbols::default()
    };
    no_effect::warn_of_symbols(&both, &[&base, &new]);
    let working = Working::new("comparing");
    let diff = compare_held(base_side, new_side, by, measure);
    drop(working);
    let text = if is_page {
        let sides = [(&names[0], &base), (&names[1], &new)];
        let [base, new] = sides.map(|(name, profile)| [Recording { name, profile }]);
        let snapshots = Some([base_side.at, new_side.at]);
        let path = Some(args.output.as_path());
        write_comparison(&base, &new, measure, snapshots, output, path)?;
        Output::Stdout
    } else {
        write_picture(args, is_picture, output, |out| write_held_svg(&diff, out))?
    };
    let options = ReportOptions {
        top: args.top,
        ..text.report_options()
    };
    let written = text.write(|out| {
        if args.json {
            write_held_json(&diff, args.top, out)
        } else {
            write_held_text(&diff, &options, out)
        }
    });
    written.map(drop)
}

/// Writes the picture if one is wanted. Returns where the text goes.
fn write_picture(
    args: &Diff,
    is_picture: bool,
    output: Output,
    write: impl FnOnce(&mut dyn Write) -> io::Result<PictureTotals>,
) -> Result<Output, Error> {
    if !is_picture {
        return Ok(output);
    }
    if let Some(drawn) = output.write(|out| write(out))? {
        terminal::wrote_picture(&args.output, drawn.frames);
    }
    Ok(Output::Stdout)
}

fn paths<'a>(first: &'a Path, others: &'a [PathBuf]) -> Vec<&'a Path> {
    let others = others.iter().map(PathBuf::as_path);
    std::iter::once(first).chain(others).collect()
}

fn symbols(args: &Diff, binary: &Option<PathBuf>) -> Symbols {
    Symbols {
        binary: binary.clone(),
        debug_dir: args.debug_dir.clone(),
        own: args.own.clone(),
        wrapper: Vec::new(),
    }
}
