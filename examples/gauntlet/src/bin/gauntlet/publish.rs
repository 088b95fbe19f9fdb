//! `cargo gauntlet publish`: the pages and pictures beside this crate, all of the same runs.

use crate::args::{PublishOptions, RunOptions};
use crate::keep::recording_of;
use crate::measured::{Measured, Rows};
use crate::run::{at, chosen, measured};
use crate::show::{judged, markdown, verdict};
use heapglass_gauntlet::{Compared, Verdict};
use heapglass_profiler::flamegraph::{By, Options, write_svg};
use heapglass_profiler::profile::{Measure, ScopeId};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Case and variant of a picture, what its frames and widths are, its file.
type Picture = (&'static str, &'static str, By, Measure, &'static str);

const PICTURES: [Picture; 4] = [
    ("3.7", "value", By::Type, Measure::Total, "airlines-value"),
    ("3.7", "typed", By::Type, Measure::Total, "airlines-typed"),
    ("0.14", "global", By::Stack, Measure::Peak, "people-global"),
    (
        "0.14",
        "derive, bumpalo",
        By::Stack,
        Measure::Peak,
        "people-arena",
    ),
];

/// Runs everything as often as asked for and writes what the last run found, and which verdicts the runs disagree in.
pub(crate) fn publish(options: &PublishOptions) -> io::Result<ExitCode> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = chosen(&["all".to_owned()])?;
    let run = RunOptions::of_all();
    let mut runs: Vec<Rows> = Vec::new();
    for number in 1..=options.runs {
        eprintln!("run {number} of {}", options.runs);
        runs.push(measured(&cases, &run)?);
    }
    let Some(last) = runs.last() else {
        return Ok(ExitCode::SUCCESS);
    };
    let head = head(options.runs);
    write(&here.join("measured.md"), &page(&head, last))?;
    write(
        &here.join("corrections.md"),
        &corrections(&head, &runs, last),
    )?;
    for picture in PICTURES {
        draw(picture, &here.join("svg"))?;
    }
    let failed =
        |(_, variants): &(_, Vec<Measured>)| variants.iter().any(|row| row.failed.is_some());
    Ok(ExitCode::from(u8::from(last.iter().any(failed))))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    std::fs::write(path, text).map_err(|error| at(path, &error))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// When, with what and on what it was measured.
fn head(runs: usize) -> String {
    let line = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let date = line("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(|| "an unknown day".to_owned());
    let rustc = line("rustc", &["--version"]).unwrap_or_else(|| "an unknown rustc".to_owned());
    let libc = line("getconf", &["GNU_LIBC_VERSION"]).unwrap_or_else(|| "its C library".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
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
        "{date}, {rustc}, {}, {features}, {} Linux with {libc}, a shared machine with {cores} cores; the last of {runs} runs one \
         after the other",
        if cfg!(debug_assertions) {
            "not optimised"
        } else {
            "optimised"
        },
        std::env::consts::ARCH,
    )
}

/// The table of all cases.
fn page(head: &str, rows: &Rows) -> String {
    let mut count = [
        (Verdict::Reproduced, 0),
        (Verdict::Stronger, 0),
        (Verdict::Weaker, 0),
        (Verdict::Contradicted, 0),
        (Verdict::NotJudged, 0),
    ];
    for (case, variants) in rows {
        let found = verdict(&judged(case, variants), variants);
        count
            .iter_mut()
            .filter(|(known, _)| *known == found)
            .for_each(|(_, cases)| *cases += 1);
    }
    let counts: Vec<String> = count
        .iter()
        .map(|(verdict, cases)| format!("{cases} {}", verdict.name()))
        .collect();
    format!(
        "# The gauntlet, measured\n\n\
         Written by `cargo gauntlet publish`: {head}. Of its times only the multiples of a baseline mean anything. Counts are exact. \
         [The page](README.md) says what the columns and verdicts are, [another](corrections.md) where a source's figure is not \
         found.\n\n{} cases: {}.\n\n{}",
        rows.len(),
        counts.join(", "),
        markdown(rows),
    )
}

/// The figures of the sources that are not found, those that contradict first.
fn corrections(head: &str, runs: &[Rows], last: &Rows) -> String {
    let mut text = format!(
        "# Where a source's figure is not found here\n\n\
         Of the run in [measured.md](measured.md) ({head}): every figure of a source that lies outside of its tolerance. The \
         sources' machines, versions and browsers are others; that a figure is another one here does not make the source's wrong. \
         *Contradicted* is what has no effect here, or the opposite one. Where no reason stands, none was looked for or found.\n\n\
         | case | claim | reason |\n|---|---|---|\n"
    );
    for wanted in [Verdict::Contradicted, Verdict::Weaker, Verdict::Stronger] {
        for (case, variants) in last {
            let claims = judged(case, variants).claims;
            for compared in claims
                .iter()
                .filter(|compared| compared.verdict() == wanted)
            {
                let reason = match compared.reason {
                    "" if wanted == Verdict::Contradicted => "its cause is not known",
                    reason => reason,
                };
                // Writing to a string cannot fail.
                let _ = writeln!(text, "| {} | {} | {reason} |", case.id, compared.figures());
            }
        }
    }
    let differing = differing(runs);
    let _ = match differing.as_slice() {
        [] => writeln!(
            text,
            "\nThe verdict of each claim was the same in {} runs one after the other.",
            runs.len()
        ),
        some => writeln!(
            text,
            "\nIn {} runs one after the other the verdicts of these claims were not the same:\n\n\
             | case | claim, in each run |\n|---|---|\n{}",
            runs.len(),
            some.concat(),
        ),
    };
    text
}

/// A line for each claim whose verdict is not the same in all runs.
fn differing(runs: &[Rows]) -> Vec<String> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (at, (case, _)) in first.iter().enumerate() {
        let claims = runs.iter().filter_map(|rows| rows.get(at));
        let claims: Vec<Vec<Compared>> = claims
            .map(|(case, variants)| judged(case, variants).claims)
            .collect();
        for claim in 0..claims.first().map_or(0, Vec::len) {
            let found: Vec<&Compared> = claims
                .iter()
                .filter_map(|claims| claims.get(claim))
                .collect();
            if found
                .windows(2)
                .any(|pair| pair[0].verdict() != pair[1].verdict())
            {
                let found: Vec<String> = found.iter().map(|compared| compared.figures()).collect();
                lines.push(format!("| {} | {} |\n", case.id, found.join("<br>")));
            }
        }
    }
    lines
}

/// Draws what a variant's recording has in its work.
fn draw((case, variant, by, measure, name): Picture, folder: &Path) -> io::Result<()> {
    let recording = recording_of(case, variant)?;
    let profile =
        heapglass_profiler::open(&recording, &heapglass_profiler::Options::default(), &|_| {})
            .map_err(io::Error::other)?;
    let work = profile.scopes.iter().position(|scope| scope.name == "work");
    let options = Options {
        by,
        measure,
        within: work.map(|scope| ScopeId(scope as u32)),
        ..Options::default()
    };
    let path = folder.join(format!("{name}.svg"));
    let mut picture = Vec::new();
    write_svg(&profile, &options, &mut picture)?;
    std::fs::write(&path, picture).map_err(|error| at(&path, &error))
}
