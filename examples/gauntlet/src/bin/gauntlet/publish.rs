//! `cargo gauntlet publish`: writes the pages and pictures next to this crate, all from the same
//! runs.

use crate::args::{PublishOptions, RunOptions};
use crate::corrections;
use crate::keep::recording_of;
use crate::measured::{Measured, Rows};
use crate::run::{at, chosen, measured};
use crate::show::{grouped, judged, markdown, verdict};
use heapglass_gauntlet::{Judged, Verdict};
use heapglass_profiler::calltree::{CallTreeOptions, Levels};
use heapglass_profiler::flamegraph::write_svg;
use heapglass_profiler::profile::{Measure, ScopeId};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The case and variant of a picture, the meaning of its frames and widths, and the name of its
/// file.
type Picture = (&'static str, &'static str, Levels, Measure, &'static str);

const PICTURES: [Picture; 4] = [
    (
        "3.7",
        "value",
        Levels::Type,
        Measure::Total,
        "airlines-value",
    ),
    (
        "3.7",
        "typed",
        Levels::Type,
        Measure::Total,
        "airlines-typed",
    ),
    (
        "0.14",
        "global",
        Levels::Stack,
        Measure::Peak,
        "people-global",
    ),
    (
        "0.14",
        "derive, bumpalo",
        Levels::Stack,
        Measure::Peak,
        "people-arena",
    ),
];

/// Runs cases the requested number of times, with a second build in turns if there is one. Writes
/// the results of the last run, and the verdicts that differ between runs.
pub(crate) fn publish(options: &PublishOptions) -> io::Result<ExitCode> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if options.browsers {
        measure_browsers(here)?;
    }
    let cases = chosen(&options.cases)?;
    let run = RunOptions::published(options);
    let second = options.second.as_ref().map(|program| RunOptions {
        build: Some(program.clone()),
        ..run.clone()
    });
    let folder = options.into.as_deref().unwrap_or(here);
    let mut runs: Vec<Rows> = Vec::new();
    for number in 1..=options.runs {
        eprintln!("run {number} of {}", options.runs);
        // Our own build comes last, because the tables are of the last run.
        for build in second.iter().chain([&run]) {
            runs.push(measured(&cases, build)?);
        }
    }
    let Some(last) = runs.last() else {
        return Ok(ExitCode::SUCCESS);
    };
    let head = head(options);
    let judgements = by_all(&runs);
    let count = runs.len();
    write(
        &folder.join("measured.md"),
        &page(&head, count, last, &judgements),
    )?;
    write(
        &folder.join("corrections.md"),
        &corrections::page(&head, count, last, &judgements),
    )?;
    if options.into.is_none() {
        write_wasm_table(&here.join("README.md"))?;
    }
    for picture in PICTURES {
        if cases.iter().any(|case| case.id == picture.0) {
            draw(picture, &folder.join("svg"))?;
        }
    }
    let mut agree = true;
    for ((case, _), judged) in last.iter().zip(&judgements) {
        for compared in judged.claims.iter().filter(|claim| !claim.runs_agree()) {
            agree = false;
            eprintln!("{}: {}", case.id, compared.figures());
        }
    }
    if agree {
        eprintln!("the {count} runs have the same verdicts");
    }
    let failed =
        |(_, variants): &(_, Vec<Measured>)| variants.iter().any(|row| row.failed.is_some());
    Ok(ExitCode::from(u8::from(last.iter().any(failed))))
}

/// Measures the WebAssembly cases, which have their own runner.
fn measure_browsers(here: &Path) -> io::Result<()> {
    let program = here.join("../wasm/run");
    let status = Command::new(&program).arg("--publish").status();
    let status = status.map_err(|error| at(&program, &error))?;
    if status.success() {
        return Ok(());
    }
    let message = format!("{} --publish: {status}", program.display());
    Err(io::Error::other(message))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    std::fs::write(path, text).map_err(|error| at(path, &error))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Returns the date, the tools and the machine of the measurement.
fn head(options: &PublishOptions) -> String {
    let line = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let date = line("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(|| "an unknown day".to_owned());
    let rustc = line("rustc", &["--version"]).unwrap_or_else(|| "an unknown rustc".to_owned());
    let libc = line("getconf", &["GNU_LIBC_VERSION"]).unwrap_or_else(|| "its C library".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = processor().unwrap_or_else(|| "an unknown processor".to_owned());
    let wasm = wasm().unwrap_or_else(|| "WebAssembly not measured".to_owned());
    let built = ["peers", "s0", "tcmalloc"].into_iter().zip([
        cfg!(feature = "peers"),
        cfg!(feature = "s0"),
        cfg!(feature = "tcmalloc"),
    ]);
    let features: Vec<&str> = built.filter(|(_, on)| *on).map(|(name, _)| name).collect();
    let features = match features.as_slice() {
        [] => "default features".to_owned(),
        some => format!("features {}", some.join(", ")),
    };
    format!(
        "{date}, {rustc}, {}{}{}, {features}, {} Linux with {libc}, {cores} cores of {processor}; {wasm}",
        if cfg!(debug_assertions) {
            "not optimised"
        } else {
            "optimised"
        },
        if options.second.is_some() {
            ", two builds in turns"
        } else {
            ""
        },
        if options.quick {
            ", a tenth of the work"
        } else {
            ""
        },
        std::env::consts::ARCH,
    )
}

/// Returns the kernel's name for the processor.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the last results of `examples/wasm/run --publish`.
fn wasm_measured() -> Option<serde_json::Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wasm/measured.json");
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The markers around the WebAssembly table in the page.
const TABLE: (&str, &str) = (
    "<!-- begin: written by cargo gauntlet publish -->\n",
    "<!-- end -->",
);

/// Writes the WebAssembly table into the page: one row per work, with its medians in each engine.
fn write_wasm_table(path: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(path).map_err(|error| at(path, &error))?;
    let places = text.find(TABLE.0).zip(text.find(TABLE.1));
    let (Some((begin, end)), Some(measured)) = (places, wasm_measured()) else {
        let message = "the page has no place for the table of WebAssembly, or it was not measured";
        return Err(io::Error::other(message));
    };
    let before = &text[..begin + TABLE.0.len()];
    write(
        path,
        &[before, &wasm_table(&measured), &text[end..]].concat(),
    )
}

fn wasm_table(measured: &serde_json::Value) -> String {
    let empty = Vec::new();
    let engines = measured["engines"].as_array().unwrap_or(&empty);
    let names: Vec<&str> = engines
        .iter()
        .filter_map(|engine| engine["engine"].as_str())
        .collect();
    let mut text = format!(
        "| work | of | {} | blocks | linear memory | grows |\n|{}\n",
        names.join(" | "),
        "---|".repeat(names.len() + 5),
    );
    let rows = engines
        .first()
        .and_then(|engine| engine["rows"].as_array())
        .unwrap_or(&empty);
    for (at, row) in rows.iter().enumerate() {
        let median = |engine: &serde_json::Value| {
            let times = engine["rows"][at]["ms"].as_array()?.iter();
            let mut times: Vec<f64> = times.filter_map(serde_json::Value::as_f64).collect();
            times.sort_by(f64::total_cmp);
            Some(format!("{:.1} ms", times.get(times.len() / 2)?))
        };
        let times = engines
            .iter()
            .map(|engine| median(engine).unwrap_or_else(|| "-".to_owned()));
        let whole = |name: &str| row[name].as_u64().unwrap_or(0);
        let pages = whole("pages");
        text += &format!(
            "| {} | {} | {} | {} | {} pages, {} MiB | {} |\n",
            row["work"].as_str().unwrap_or("-"),
            grouped(whole("count")),
            times.collect::<Vec<_>>().join(" | "),
            grouped(whole("blocks")),
            grouped(pages),
            (pages + 8) / 16,
            grouped(whole("grows")),
        );
    }
    text
}

/// Returns the date of the WebAssembly measurement, and its engines.
fn wasm() -> Option<String> {
    let measured = wasm_measured()?;
    let engines = measured["engines"].as_array()?.iter();
    let engines: Vec<String> = engines
        .filter_map(|engine| {
            Some(format!(
                "{} {}",
                engine["engine"].as_str()?,
                engine["version"].as_str()?
            ))
        })
        .collect();
    Some(format!(
        "WebAssembly (0.23) measured {} in {}",
        measured["date"].as_str()?,
        engines.join(", "),
    ))
}

/// Returns the table of all cases.
fn page(head: &str, runs: usize, rows: &Rows, judgements: &[Judged]) -> String {
    let mut count = [
        (Verdict::Reproduced, 0),
        (Verdict::Stronger, 0),
        (Verdict::Weaker, 0),
        (Verdict::Contradicted, 0),
        (Verdict::NotJudged, 0),
    ];
    for ((_, variants), judged) in rows.iter().zip(judgements) {
        let found = verdict(judged, variants);
        count
            .iter_mut()
            .filter(|(known, _)| *known == found)
            .for_each(|(_, cases)| *cases += 1);
    }
    let counts: Vec<String> = count
        .iter()
        .map(|(verdict, cases)| format!("{cases} {}", verdict.name()))
        .collect();
    let disagreed = judgements
        .iter()
        .flat_map(|judged| &judged.claims)
        .filter(|claim| !claim.runs_agree())
        .count();
    let agreement = match disagreed {
        0 => "In each run every claim had the same verdict".to_owned(),
        some => {
            format!("In each run every claim had the same verdict but {some}, which are not judged")
        }
    };
    format!(
        "# The gauntlet, measured\n\n\
         Written by `cargo gauntlet publish`: {head}; the tables are of the last of {runs} runs one after the other. {agreement}. Of its times only the multiples of a baseline mean anything. Counts are exact. \
         [The page](README.md) says what the columns and verdicts are, [another](corrections.md) where a source's figure is not \
         found.\n\n{} cases: {}.\n\n{}",
        rows.len(),
        counts.join(", "),
        markdown(rows, judgements),
    )
}

/// Returns the judgement of each case over all runs. A claim is not judged if the runs have
/// different verdicts on it.
fn by_all(runs: &[Rows]) -> Vec<Judged> {
    let mut each: Vec<Vec<Judged>> = runs
        .iter()
        .map(|rows| {
            let judged = rows.iter().map(|(case, variants)| judged(case, variants));
            judged.collect()
        })
        .collect();
    let last = each.pop().unwrap_or_default();
    let with_others = |(at, judged): (usize, Judged)| {
        let others = each.iter().filter_map(|run| run.get(at).cloned());
        judged.with_other_runs(&others.collect::<Vec<_>>())
    };
    last.into_iter().enumerate().map(with_others).collect()
}

/// Draws the work of a variant's recording.
fn draw((case, variant, levels, measure, name): Picture, folder: &Path) -> io::Result<()> {
    let recording = recording_of(case, variant)?;
    let profile = heapglass_profiler::open(
        &recording,
        &heapglass_profiler::OpenOptions::default(),
        &|_| {},
    )
    .map_err(io::Error::other)?;
    let work = profile
        .scopes()
        .iter()
        .position(|scope| scope.name == "work");
    let options = CallTreeOptions {
        levels,
        measure,
        within: work.map(|scope| ScopeId(scope as u32)),
        ..CallTreeOptions::default()
    };
    std::fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    let path = folder.join(format!("{name}.svg"));
    let mut picture = Vec::new();
    write_svg(&profile, &options.into(), &mut picture)?;
    std::fs::write(&path, picture).map_err(|error| at(&path, &error))
}
