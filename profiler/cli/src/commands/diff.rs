//! `heapglass diff`: compares two sides of recordings, as text, JSON or a picture.

use std::path::{Path, PathBuf};

use heapglass_profiler::diff::{DiffOptions, compare, write_json, write_svg, write_text};
use heapglass_profiler::profile::Frames;
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::By;

use super::flamegraph::check_arena_measure;
use crate::args::{Diff, Symbols};
use crate::error::Error;
use crate::files::output::Output;
use crate::open::Side;
use crate::{no_effect, terminal};

pub(super) fn run(args: &Diff) -> Result<(), Error> {
    let base: Vec<&Path> = paths(&args.base, &args.and_base);
    let new: Vec<&Path> = paths(&args.new, &args.and_new);
    let inputs: Vec<&Path> = base.iter().chain(&new).copied().collect();
    let is_picture = args
        .output
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("svg"));
    let options = DiffOptions {
        by: args.by,
        measure: args.measure.measure,
        per: args.per,
    };
    if is_picture && options.by == By::Arena {
        check_arena_measure(options.measure)?;
    }
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
    let diff = compare(&base.recordings(), &new.recordings(), options);
    let text = if is_picture {
        if let Some(drawn) = output.write(|out| write_svg(&diff, out))? {
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
            write_json(&diff, args.top, out)
        } else {
            write_text(&diff, &shown, out)
        }
    });
    written.map(drop)
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
    }
}
