//! Runs cases, each variant in its own processes. Timed processes are interleaved with the
//! baseline's.
//!
//! Must never count and time in the same process: counting would lengthen the times.

use crate::args::{RunOptions, With, word};
use crate::keep::{folder, recording_of};
use crate::measured::{Measured, Rows, undisturbed};
use crate::show;
use heapglass_examples::recorded;
use heapglass_gauntlet as gauntlet;
use heapglass_gauntlet::data::fetched;
use heapglass_gauntlet::{Case, Shown, Source, Variant};
use indicatif::{ProgressBar, ProgressStyle};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Returns the cases that the arguments name, in the order of the sources.
pub(crate) fn chosen(words: &[String]) -> io::Result<Vec<&'static Case>> {
    let known = |word: &str| {
        let source = Source::ALL.iter().any(|source| source.name() == word);
        word == "all" || source || gauntlet::find(word).is_some()
    };
    if let Some(word) = words.iter().find(|word| !known(word)) {
        let message =
            format!("no case or source is called {word:?}; `cargo gauntlet list` names them");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let wanted = |case: &Case| {
        let source = case.source();
        let of_all = |word: &str| word == "all" && source != Source::Data;
        words
            .iter()
            .any(|word| of_all(word) || word == source.name() || word == case.id)
    };
    Ok(gauntlet::all().filter(|case| wanted(case)).collect())
}

pub(crate) fn run(options: &RunOptions) -> io::Result<ExitCode> {
    let cases = chosen(&options.cases)?;
    if cases.iter().any(|case| case.source() == Source::Data) {
        fetched::check()?;
    }
    if let Some(path) = options
        .output
        .as_deref()
        .filter(|path| path.as_os_str() != "-")
    {
        // Fails before the work, not after it.
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| at(path, &error))?;
    }
    let rows = measured(&cases, options)?;
    let mut all = rows.iter().flat_map(|(_, variants)| variants);
    let failed = all.any(|measured| measured.failed.is_some());
    show::table(&rows, options)?;
    Ok(ExitCode::from(u8::from(failed)))
}

/// Measures cases one after another, with a progress bar.
pub(crate) fn measured(cases: &[&'static Case], options: &RunOptions) -> io::Result<Rows> {
    std::fs::create_dir_all(folder()?)
        .map_err(|error| at(&folder().unwrap_or_default(), &error))?;
    let rounds = if options.no_times { 0 } else { options.rounds };
    let variants: usize = cases.iter().map(|case| case.variants.len()).sum();
    let steps = variants * (options.with.len() + 1 + rounds);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(steps as u64).with_style(style);
    let mut rows = Vec::new();
    for case in cases {
        rows.push((*case, measure(case, options, rounds, &bar)?));
    }
    bar.finish_and_clear();
    Ok(rows)
}

/// Adds the file's path to an error.
pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Measures all variants of a case under all instruments. The rows of a variant are adjacent.
fn measure(
    case: &'static Case,
    options: &RunOptions,
    rounds: usize,
    bar: &ProgressBar,
) -> io::Result<Vec<Measured>> {
    let mut measured: Vec<Vec<Measured>> = Vec::new();
    for variant in case.variants {
        let mut rows = Vec::new();
        for with in &options.with {
            bar.set_message(format!("{} {}, {}", case.id, variant.name, word(*with)));
            rows.push(count(case, variant, *with, options)?);
            bar.inc(1);
        }
        match child(case, variant, "share", With::System, options, None)? {
            Ok(shown) => rows.iter_mut().for_each(|row| row.take_share(&shown)),
            Err(why) => fail(&mut rows, &why),
        }
        bar.inc(1);
        measured.push(rows);
    }
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); case.variants.len()];
    let mut round = 0;
    while round < rounds || round < MOST_TIMES * rounds && is_open(case, &measured) {
        round += 1;
        if round > rounds {
            bar.inc_length(case.variants.len() as u64);
        }
        // Interleaved, so that a disturbance of the machine affects all variants alike.
        for ((variant, times), rows) in case.variants.iter().zip(&mut times).zip(&mut measured) {
            bar.set_message(format!("{} {}, round {round}", case.id, variant.name));
            match child(case, variant, "time", With::System, options, None)? {
                Ok(shown) => {
                    times.extend(undisturbed(&shown.times_ns));
                    for row in rows {
                        row.noted(&shown);
                        row.timed(times.clone());
                    }
                }
                Err(why) => fail(rows, &why),
            }
            bar.inc(1);
        }
    }
    let baseline = measured.first().and_then(|rows| rows.first()?.time_ns);
    let mut rows: Vec<Measured> = measured.into_iter().flatten().collect();
    for row in &mut rows {
        let times = row.time_ns.zip(baseline);
        row.time_ratio = times.map(|(time, baseline)| time as f64 / baseline.max(1) as f64);
    }
    Ok(rows)
}

/// Maximum number of rounds, as a multiple of the requested number, while a verdict is still open.
const MOST_TIMES: usize = 3;

/// Returns `true` if the confidence interval of a ratio of times allows more than one verdict.
fn is_open(case: &Case, measured: &[Vec<Measured>]) -> bool {
    let rows: Vec<Measured> = measured
        .iter()
        .filter_map(|rows| rows.first().cloned())
        .collect();
    let claims = show::judged(case, &rows).claims;
    claims.iter().any(|compared| {
        let verdict = |here: f64| compared.claim.compare(here);
        verdict(compared.here.low) != verdict(compared.here.high)
    })
}

/// Keeps the first failure.
fn fail(rows: &mut [Measured], why: &str) {
    for row in rows {
        row.failed.get_or_insert_with(|| why.to_owned());
    }
}

/// Counts a variant's work once, under an instrument.
fn count(
    case: &'static Case,
    variant: &'static Variant,
    with: With,
    options: &RunOptions,
) -> io::Result<Measured> {
    let mut measured = Measured {
        case: case.id.to_owned(),
        variant: variant.name.to_owned(),
        with: word(with),
        allocator: allocator(variant, "count", with, options),
        ..Measured::default()
    };
    let path = recording_of(case.id, variant.name)?;
    let recording = (with == With::Heapglass).then_some(path.as_path());
    if let Some(path) = recording {
        // If a file exists at the path, the recording would get a suffix.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(path, &error)),
            _ => {}
        }
    }
    match child(case, variant, "count", with, options, recording)? {
        Ok(shown) => measured.counted(shown),
        Err(why) => measured.failed = Some(why),
    }
    if let Some(path) = recording.filter(|_| measured.failed.is_none()) {
        match recorded::window(path) {
            Ok(figures) => measured.figures.extend(figures),
            Err(why) => measured.failed = Some(why),
        }
        measured.recording = Some(path.to_owned());
    }
    Ok(measured)
}

/// Returns the word for the inner allocator. dhat-rs and stats_alloc are inner allocators
/// themselves, over glibc's.
fn allocator(variant: &Variant, pass: &str, with: With, options: &RunOptions) -> String {
    match (pass, with) {
        ("count", With::Dhat | With::StatsAlloc) => word(with),
        _ => variant
            .allocator
            .map_or_else(|| word(options.allocator), str::to_owned),
    }
}

/// Runs a variant in its own process. The inner error says how that process failed.
fn child(
    case: &Case,
    variant: &Variant,
    pass: &str,
    with: With,
    options: &RunOptions,
    recording: Option<&Path>,
) -> io::Result<Result<Shown, String>> {
    let program = match &options.build {
        Some(program) => program.clone(),
        None => std::env::current_exe()?,
    };
    let mut command = Command::new(&program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HEAPGLASS_") {
            command.env_remove(name);
        }
    }
    command
        .args([
            "child",
            case.id,
            variant.name,
            "--pass",
            pass,
            "--with",
            &word(with),
        ])
        .args(["--divisor", if options.quick { "10" } else { "1" }])
        .env("GAUNTLET_ALLOC", allocator(variant, pass, with, options))
        .env("GAUNTLET_PASS", pass)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(path) = recording {
        command.env("HEAPGLASS_OUT", path);
    }
    let output = command.output().map_err(|error| at(&program, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said
            .lines()
            .rfind(|line| !line.trim().is_empty() && !line.starts_with("note:"));
        return Ok(Err(format!(
            "{pass}: {}: {}",
            output.status,
            last.unwrap_or_default()
        )));
    }
    let line = output
        .stdout
        .split(|byte| *byte == b'\n')
        .rfind(|line| !line.is_empty());
    let shown = serde_json::from_slice(line.unwrap_or_default());
    Ok(shown
        .map_err(|error| format!("{pass}: what it printed is not its line of figures: {error}")))
}
