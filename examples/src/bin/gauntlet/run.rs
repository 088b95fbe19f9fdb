//! Running cases: each variant in processes of its own, timed ones interleaved with the baseline's.

use crate::args::{RunOptions, With, word};
use crate::measured::{Measured, median};
use crate::show;
use heapglass_examples::gauntlet::{self, Case, Shown, Source, Variant};
use indicatif::{ProgressBar, ProgressStyle};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Where recordings are kept.
fn folder() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join("gauntlet")
}

/// The recording that a variant's last run left.
fn recording_of(case: &str, variant: &str) -> PathBuf {
    let variant: String = variant
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    folder().join(format!("{case}-{variant}.hg"))
}

/// The cases that words name, in the order of the sources.
fn chosen(words: &[String]) -> io::Result<Vec<&'static Case>> {
    let known = |word: &str| {
        word == "all"
            || Source::ALL.iter().any(|source| source.name() == word)
            || gauntlet::find(word).is_some()
    };
    if let Some(word) = words.iter().find(|word| !known(word)) {
        let message =
            format!("no case or source is called {word:?}; `cargo gauntlet list` names them");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let wanted = |case: &Case| {
        words
            .iter()
            .any(|word| word == "all" || word == case.source().name() || word == case.id)
    };
    Ok(gauntlet::all().filter(|case| wanted(case)).collect())
}

pub(crate) fn run(options: &RunOptions) -> io::Result<ExitCode> {
    let cases = chosen(&options.cases)?;
    std::fs::create_dir_all(folder())?;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let rounds = if options.no_times { 0 } else { options.rounds };
    let steps: usize = cases
        .iter()
        .map(|case| case.variants.len() * (2 + rounds))
        .sum();
    let bar = ProgressBar::new(steps as u64).with_style(style);
    let mut rows = Vec::new();
    for case in cases {
        rows.push((case, measure(case, options, rounds, &bar)?));
    }
    bar.finish_and_clear();
    let failed = rows
        .iter()
        .flat_map(|(_, variants)| variants)
        .any(|measured| measured.failed.is_some());
    show::table(&rows, options)?;
    Ok(if failed {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// All variants of a case.
fn measure(
    case: &'static Case,
    options: &RunOptions,
    rounds: usize,
    bar: &ProgressBar,
) -> io::Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = Vec::new();
    for variant in case.variants {
        bar.set_message(format!("{} {}", case.id, variant.name));
        measured.push(count(case, variant, options)?);
        bar.inc(2);
    }
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); case.variants.len()];
    // Interleaved: what disturbs the machine disturbs all of them.
    for _ in 0..rounds {
        for (variant, times) in case.variants.iter().zip(&mut times) {
            bar.set_message(format!("{} {}", case.id, variant.name));
            if let Ok(shown) = child(case, variant, "time", options, None)? {
                times.extend(median(&shown.times_ns));
            }
            bar.inc(1);
        }
    }
    for (measured, times) in measured.iter_mut().zip(times) {
        measured.timed(times);
    }
    Ok(measured)
}

fn count(
    case: &'static Case,
    variant: &'static Variant,
    options: &RunOptions,
) -> io::Result<Measured> {
    let mut measured = Measured {
        case: case.id.to_owned(),
        variant: variant.name.to_owned(),
        with: word(options.with),
        allocator: variant
            .allocator
            .map_or_else(|| word(options.allocator), str::to_owned),
        ..Measured::default()
    };
    let path = recording_of(case.id, variant.name);
    let recording = (options.with == With::Heapglass).then_some(path.as_path());
    if let Some(path) = recording {
        // A path that is taken would get a suffix.
        let _ = std::fs::remove_file(path);
    }
    match child(case, variant, "count", options, recording)? {
        Ok(shown) => measured.counted(shown),
        Err(why) => measured.failed = Some(why),
    }
    if let Some(path) = recording.filter(|_| measured.failed.is_none()) {
        let profile =
            heapglass_profiler::open(path, &heapglass_profiler::Options::with_cache(), &|_| {});
        let taken = profile
            .map_err(|error| error.to_string())
            .and_then(|profile| measured.recorded(&profile));
        measured.failed = taken.err();
        measured.recording = Some(path.to_owned());
    }
    if let Ok(shown) = child(case, variant, "share", options, None)? {
        measured.looked_at(&shown);
    }
    Ok(measured)
}

/// Runs a variant in a process of its own. The inner error says how that process failed.
fn child(
    case: &Case,
    variant: &Variant,
    pass: &str,
    options: &RunOptions,
    recording: Option<&Path>,
) -> io::Result<Result<Shown, String>> {
    let allocator = match (pass, options.with) {
        ("count", With::Dhat | With::StatsAlloc) => word(options.with),
        _ => variant
            .allocator
            .map_or_else(|| word(options.allocator), str::to_owned),
    };
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([
            "child",
            case.id,
            variant.name,
            "--pass",
            pass,
            "--with",
            &word(options.with),
        ])
        .args(["--divisor", if options.quick { "10" } else { "1" }])
        .env("GAUNTLET_ALLOC", allocator)
        .env("GAUNTLET_PASS", pass)
        .env_remove("HEAPGLASS_OUT")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(path) = recording {
        command.env("HEAPGLASS_OUT", path);
    }
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        return Ok(Err(format!("{}: {last}", output.status)));
    }
    let line = output
        .stdout
        .split(|byte| *byte == b'\n')
        .rfind(|line| !line.is_empty());
    Ok(serde_json::from_slice(line.unwrap_or_default()).map_err(|error| error.to_string()))
}

/// Opens a kept recording in the terminal UI of the `heapglass` command beside this one.
pub(crate) fn open(id: &str, variant: Option<&str>) -> io::Result<ExitCode> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
    let case = gauntlet::find(id).ok_or_else(|| {
        invalid(format!(
            "no case is called {id:?}; `cargo gauntlet list` names them"
        ))
    })?;
    let variant = variant
        .or(case.variants.first().map(|variant| variant.name))
        .unwrap_or_default();
    if !case.variants.iter().any(|known| known.name == variant) {
        let names: Vec<&str> = case.variants.iter().map(|variant| variant.name).collect();
        return Err(invalid(format!(
            "{id} has no variant {variant:?}; it has {}",
            names.join(", ")
        )));
    }
    let path = recording_of(id, variant);
    if !path.is_file() {
        return Err(invalid(format!(
            "there is no recording {}: `cargo gauntlet run {id}` makes it",
            path.display()
        )));
    }
    let beside = std::env::current_exe()?.with_file_name("heapglass");
    let program = if beside.is_file() {
        beside
    } else {
        PathBuf::from("heapglass")
    };
    let status = Command::new(&program)
        .arg(&path)
        .status()
        .map_err(|error| {
            invalid(format!(
                "cannot run {}: {error}; build it with `cargo build --release -p heapglass`",
                program.display()
            ))
        })?;
    Ok(ExitCode::from(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(2),
    ))
}
