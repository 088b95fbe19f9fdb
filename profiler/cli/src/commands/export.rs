//! `heapglass export`: writes a recording in the format of another tool.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use heapglass_profiler::diff::{Recording, refused};
use heapglass_profiler::export::{Format, notes, write, write_comparison_page, write_page};
use heapglass_profiler::profile::{Frames, Measure, Profile};
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::SnapshotAt;

use crate::args::{Export, ExportTo};
use crate::error::Error;
use crate::files::output::{Output, print_json};
use crate::{no_effect, open, terminal};

pub(super) fn run(args: &Export) -> Result<(), Error> {
    match args.to {
        ExportTo::File(format) => to_file(args, format),
        #[cfg(feature = "parquet")]
        ExportTo::Parquet => super::parquet::run(args),
    }
}

fn to_file(args: &Export, format: Format) -> Result<(), Error> {
    let [file] = args.files.as_slice() else {
        return Err(Error::misuse(format_args!(
            "--to {} takes one recording; {} were given",
            format.name(),
            args.files.len()
        )));
    };
    if !args.labels.is_empty() {
        return Err(Error::misuse(
            "--label works only with --to parquet; leave it out",
        ));
    }
    let asked = args.ask.asked();
    let (by, measure) = (asked.by, asked.measure);
    format.check(by, measure).map_err(Error::misuse)?;
    let flags = [(args.base.is_some(), "--base"), (args.sources, "--sources")];
    if let Some((_, flag)) = flags.iter().find(|(is_given, _)| *is_given)
        && format != Format::Html
    {
        return Err(Error::misuse(format_args!(
            "{flag} works only with --to html; leave it out"
        )));
    }
    if args.base.is_some() && args.sources {
        return Err(Error::misuse(
            "--sources does not work with --base, because a comparison has no sources; leave one out",
        ));
    }
    let mut inputs = vec![file.as_path()];
    inputs.extend(args.base.as_deref());
    let output = Output::open_beside(args.json, &args.output, &inputs, "export")?;
    let to_stdout = output.is_stdout();
    if to_stdout && format.is_binary() && std::io::stdout().is_terminal() {
        return Err(Error::misuse(format_args!(
            "{} is a binary format, which a terminal cannot show; write to a file with -o, or to a pipe",
            format.name()
        )));
    }
    let profile = open::open(file, &args.symbols)?;
    if let Some(base) = &args.base {
        return compare(args, base, (file, &profile), measure, output);
    }
    let at = args.ask.figures.at.as_deref();
    let is_page = format == Format::Html;
    let snapshot = if asked.is_of_snapshot() || (is_page && at.is_some()) {
        Some(args.ask.figures.snapshot_of(&profile, file)?)
    } else {
        None
    };
    if let Some(at) = at.filter(|_| snapshot.is_none()) {
        no_effect::warn(
            format_args!("--at {at}"),
            "these figures are of the whole recording; use it with --by holder, --measure retained or --measure unused",
        );
    }
    let recording = file.display().to_string();
    let options = ReportOptions {
        measure,
        frames: args.frames.unwrap_or(format.default_frames()),
        by,
        snapshot,
        recording: Some(&recording),
        ..ReportOptions::default()
    };
    let symbols = &args.symbols;
    if format.has_rows() {
        no_effect::warn_of_rows(options.by, options.measure, options.frames, symbols);
    } else if !symbols.own.is_empty()
        && !matches!(format, Format::Firefox | Format::Html)
        && matches!(options.frames, Frames::All | Frames::Trimmed)
    {
        no_effect::warn(
            format_args!("--own {}", symbols.own.join(" --own ")),
            format_args!(
                "{} does not mark frames as yours; use it with --frames own or --frames folded",
                format.name()
            ),
        );
    }
    no_effect::warn_of_symbols(symbols, &[&profile]);
    let written = output.write(|out| {
        if args.sources {
            write_page(&profile, &options, Some(&source_folders(args)), out)
        } else {
            write(&profile, format, &options, out)
        }
    })?;
    let said = match snapshot.filter(|_| asked.is_of_snapshot()) {
        // Its figures are not those of the peak.
        Some(at) => {
            let (name, moment) = (at.name(), at.moment(&profile));
            let mut said = vec![format!("snapshot {name}: {moment}")];
            said.extend(at.notes());
            said
        }
        None => notes(&profile),
    };
    if written.is_none() {
        return Ok(());
    }
    if args.json {
        return print_json(&serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "to": format.name(),
            "measure": measure.name(),
            "snapshot": snapshot.map(|at| at.number),
            "frames": options.frames.name(),
            "totals": profile.totals(),
            "notes": said,
        }));
    }
    if !to_stdout {
        let hint = hint(format, &args.output, measure);
        terminal::eprint_line(format_args!("wrote {}{hint}", args.output.display()));
    }
    // Some formats have no room for notes.
    for note in said {
        terminal::eprint_line(format_args!("heapglass: {note}"));
    }
    Ok(())
}

/// Writes the page of a comparison.
fn compare(
    args: &Export,
    base: &Path,
    (file, profile): (&Path, &Profile),
    measure: Measure,
    output: Output,
) -> Result<(), Error> {
    // `--binary` is the executable of the recording, not of the base.
    let symbols = args.symbols.with_binary(&args.base_binary);
    let base_profile = open::open(base, &symbols)?;
    if let Some(at) = &args.ask.figures.at {
        no_effect::warn(
            format_args!("--at {at}"),
            "a comparison takes the snapshots with most live bytes; use `heapglass diff --by holder` for others",
        );
    }
    if let Some(frames) = args.frames.filter(|&frames| frames != Frames::Folded) {
        no_effect::warn(
            format_args!("--frames {}", frames.name()),
            "a comparison has folded frames",
        );
    }
    no_effect::warn_of_symbols(&symbols, &[&base_profile, profile]);
    let names = [base, file].map(|path| path.display().to_string());
    let side = |name, profile| [Recording { name, profile }];
    let (base, new) = (side(&names[0], &base_profile), side(&names[1], profile));
    if let Some(why) = refused(&base, &new) {
        return Err(Error::misuse(why));
    }
    // With `--json`, the description says what was written.
    let path = (!args.json && !output.is_stdout()).then_some(args.output.as_path());
    let is_written = write_comparison(&base, &new, measure, None, output, path)?;
    if is_written && args.json {
        return print_json(&serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "to": args.to.name(),
            "measure": measure.name(),
            "base_totals": base_profile.totals(),
            "totals": profile.totals(),
        }));
    }
    Ok(())
}

/// Writes the page of a comparison. Says so with the path, if there is one. Returns `false` if the
/// reader of the output closed it.
pub(super) fn write_comparison(
    base: &[Recording<'_>],
    new: &[Recording<'_>],
    measure: Measure,
    snapshots: Option<[SnapshotAt<'_>; 2]>,
    output: Output,
    path: Option<&Path>,
) -> Result<bool, Error> {
    let options = ReportOptions {
        measure,
        ..ReportOptions::default()
    };
    let written = output.write(|out| write_comparison_page(base, new, &options, snapshots, out))?;
    if let (Some(_), Some(path)) = (written, path) {
        terminal::eprint_line(format_args!("wrote {}", path.display()));
    }
    Ok(written.is_some())
}

/// Returns the folders that sources may lie in: the current one and those that were given.
fn source_folders(args: &Export) -> Vec<PathBuf> {
    let current = PathBuf::from(".");
    std::iter::once(current)
        .chain(args.source_dir.iter().cloned())
        .collect()
}

/// Returns a hint about the program that opens the file.
fn hint(format: Format, path: &Path, measure: Measure) -> String {
    let path = crate::summary::quoted(path);
    match format {
        Format::Pprof => format!("; open it with: go tool pprof {path}"),
        Format::Dhat => "; load it into dh_view.html or https://profiler.firefox.com".to_owned(),
        Format::Speedscope => "; load it into https://www.speedscope.app".to_owned(),
        Format::Firefox => "; load it into https://profiler.firefox.com".to_owned(),
        Format::Folded => {
            let unit = if measure.is_bytes() { "bytes" } else { "count" };
            format!("; draw it with: inferno-flamegraph --countname {unit} {path}")
        }
        Format::Html => "; open it in a browser".to_owned(),
        _ => String::new(),
    }
}
