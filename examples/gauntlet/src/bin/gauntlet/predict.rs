//! Predicts savings with `advise` from variants without a technique, and compares them with what
//! the variants with the technique save.
//!
//! Only blocks of the work count, so a figure does not depend on how a variant makes its input.

use crate::args::PredictOptions;
use crate::keep::folder;
use crate::run::at;
use crate::show::grouped;
use heapglass_examples::recorded;
use heapglass_gauntlet as gauntlet;
use heapglass_gauntlet::{Case, REMEDIES, Remedy, Variant, WITHOUT};
use heapglass_profiler::advice::{Finding, advise};
use heapglass_profiler::attach::Reader;
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::snapshot::Snapshot;
use heapglass_profiler::{OpenOptions, open};
use indicatif::ProgressBar;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The comparison of one row.
#[derive(Debug, Serialize)]
struct Predicted {
    kind: &'static str,
    case: &'static str,
    before: &'static str,
    after: &'static str,
    measure: &'static str,
    confidence: &'static str,
    predicted_bytes: u64,
    predicted_blocks: u64,
    measured_bytes: i64,
    measured_blocks: i64,
    bound: String,
    /// `true` if the prediction keeps the bound.
    holds: bool,
    /// The findings of this kind that the variant with the technique still has.
    left: Vec<String>,
    because: &'static str,
    /// The line that the finding names.
    line: String,
    /// The change that the finding asks for.
    remedy: String,
}

pub(crate) fn predict(options: &PredictOptions) -> io::Result<ExitCode> {
    let cases = &options.cases;
    let is_wanted = |case: &str| cases.is_empty() || cases.iter().any(|wanted| wanted == case);
    let unknown = |case: &&String| !REMEDIES.iter().any(|remedy| remedy.case == case.as_str());
    if let Some(case) = cases.iter().find(unknown) {
        let message = format!("case {case:?} has no remedy that `advise` names");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let remedies: Vec<&Remedy> = REMEDIES
        .iter()
        .filter(|remedy| is_wanted(remedy.case))
        .collect();
    std::fs::create_dir_all(folder()?)?;
    let bar = ProgressBar::new(remedies.len() as u64);
    let mut held = BTreeMap::new();
    let mut rows = Vec::new();
    for remedy in remedies {
        rows.push(compared(remedy, options.quick, &mut held)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let failed = rows.iter().any(|row| !row.holds || !row.left.is_empty());
    if options.json {
        let json = serde_json::json!({"format": 1, "quick": options.quick, "remedies": rows});
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &json)?;
        writeln!(out)?;
    } else {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = options.into.as_deref().unwrap_or(here).join("predicted.md");
        std::fs::write(&path, page(&rows, options.quick)).map_err(|error| at(&path, &error))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// A variant's recording with its snapshot, and the figures of its work.
struct Held {
    profile: Profile,
    figures: BTreeMap<String, u64>,
}

type AllHeld = BTreeMap<(&'static str, &'static str), Held>;

fn compared(remedy: &Remedy, is_quick: bool, all: &mut AllHeld) -> io::Result<Predicted> {
    for variant in [remedy.before, remedy.after] {
        if let Entry::Vacant(place) = all.entry((remedy.case, variant)) {
            place.insert(hold(remedy.case, variant, is_quick)?);
        }
    }
    let (before, after) = (
        &all[&(remedy.case, remedy.before)],
        &all[&(remedy.case, remedy.after)],
    );
    let found = of_work(&before.profile, remedy.kind);
    let Some(finding) = found.first() else {
        let kinds: Vec<String> = advise(&before.profile, true).iter().map(told).collect();
        let message = format!(
            "{} {}: no finding of kind {}, only:\n{}",
            remedy.case,
            remedy.before,
            remedy.kind,
            kinds.join("\n")
        );
        return Err(io::Error::other(message));
    };
    let saved = |name: &str| {
        let of = |held: &Held| held.figures.get(name).copied().unwrap_or(0) as i64;
        of(before) - of(after)
    };
    let (bytes, blocks) = match finding.measure {
        Measure::Total => ("total_bytes", "total_blocks"),
        Measure::Live => ("live_bytes", "live_blocks"),
        _ => ("peak_bytes", "peak_blocks"),
    };
    let sum = |of: fn(&Finding) -> u64| found.iter().map(of).sum::<u64>();
    let (predicted, measured) = (sum(|finding| finding.saves_bytes), saved(bytes));
    Ok(Predicted {
        kind: remedy.kind,
        case: remedy.case,
        before: remedy.before,
        after: remedy.after,
        measure: finding.measure.name(),
        confidence: finding.confidence.name(),
        predicted_bytes: predicted,
        predicted_blocks: sum(|finding| finding.saves_blocks),
        measured_bytes: measured,
        measured_blocks: saved(blocks),
        bound: remedy.bound.to_string(),
        holds: remedy
            .bound
            .holds(i64::try_from(predicted).unwrap_or(i64::MAX), measured),
        left: of_work(&after.profile, remedy.kind)
            .iter()
            .map(told)
            .collect(),
        because: remedy.because,
        line: finding.place.source.clone().unwrap_or_default(),
        remedy: finding.remedy.clone(),
    })
}

/// Returns the findings of a kind about blocks of the work, the largest first.
fn of_work(profile: &Profile, kind: &str) -> Vec<Finding> {
    let mut findings = advise(profile, true);
    findings.retain(|finding| {
        // A location begins with its phases: `[work > parse] Vec::push`.
        finding.kind.name() == kind && finding.place.location.starts_with("[work")
    });
    findings
}

fn told(finding: &Finding) -> String {
    format!(
        "{} at {} ({}): {} bytes",
        finding.kind.name(),
        finding.place.source.as_deref().unwrap_or_default(),
        finding.place.location,
        finding.saves_bytes
    )
}

/// Runs a variant and takes a snapshot of its result.
fn hold(id: &str, name: &str, is_quick: bool) -> io::Result<Held> {
    let of = |what: &str| io::Error::other(format!("{id} {name}: {what}"));
    let case: &Case = gauntlet::find(id).ok_or_else(|| of("no such case"))?;
    let variants = case.variants.iter();
    let found = variants.clone().find(|variant| variant.name == name);
    let variant: &Variant = found.ok_or_else(|| of("no such variant"))?;
    let path = folder()?.join(format!("held-{}.hg", std::process::id()));
    let result = snapshot(case, variant, is_quick, &path);
    let held = result
        .and_then(|taken| {
            let figures = recorded::window(&path).map_err(io::Error::other)?;
            let table = Snapshot::table(&[taken]);
            let bytes = tracking_alloc_recording::with_snapshots(std::fs::read(&path)?, &table);
            std::fs::write(&path, bytes.map_err(io::Error::other)?)?;
            let profile = open(&path, &OpenOptions::default(), &|_| ());
            let profile = profile.map_err(io::Error::other)?;
            Ok(Held { profile, figures })
        })
        .map_err(|error| of(&error.to_string()));
    // If the program did not start, there is none.
    let _ = std::fs::remove_file(&path);
    held
}

fn snapshot(case: &Case, variant: &Variant, is_quick: bool, path: &Path) -> io::Result<Snapshot> {
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HEAPGLASS_") {
            command.env_remove(name);
        }
    }
    command
        .args(["child", case.id, variant.name, "--pass", "hold"])
        .args(["--with", "heapglass"])
        .args(["--divisor", if is_quick { "10" } else { "1" }])
        .env("GAUNTLET_ALLOC", variant.allocator.unwrap_or("glibc"))
        .env("GAUNTLET_PASS", "hold")
        .env("HEAPGLASS_OUT", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut output = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
    output.read_line(&mut String::new())?;
    let reader = Reader::attach(path, false, OpenOptions::default());
    let mut reader = reader.map_err(io::Error::other)?;
    reader.prepare().map_err(io::Error::other)?;
    // The work begins.
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    writeln!(input)?;
    let taken = loop {
        match reader.next(&|_| true).map_err(io::Error::other)? {
            Some(taken) => break taken.snapshot,
            None if child.try_wait()?.is_some() => {
                return Err(io::Error::other("it ended without a snapshot"));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    drop(reader);
    // Its line of figures.
    io::copy(&mut output, &mut io::sink())?;
    if !child.wait()?.success() {
        return Err(io::Error::other("it failed"));
    }
    Ok(taken)
}

fn page(rows: &[Predicted], is_quick: bool) -> String {
    let size = if is_quick {
        "a tenth of the work"
    } else {
        "the sources' sizes"
    };
    let mut text = format!(
        "# The gauntlet, predicted\n\n\
         Written by `cargo gauntlet predict`, at {size}. For each kind of advice that a technique of \
         the sources carries out, `heapglass advise` predicts the saving from a recording of the \
         variant without the technique, with a snapshot of its result. Then the variant with the \
         technique is recorded, and both are compared inside the window of the work. `allocated` \
         counts all bytes allocated, `peak` those live at the peak, `live` those live when the work \
         is done. No finding of the kind is left in the work of any variant with the technique, \
         unless the table says so. Counts are exact and do not depend on the machine, except for the \
         bytes of growth that moved a block.\n\n\
         | kind | case | without | with | bytes | predicted | measured | blocks predicted | blocks \
         measured | confidence | bound | left |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let measure = if row.measure == Measure::Total.name() {
            "allocated"
        } else {
            row.measure
        };
        let kept = if row.holds { "" } else { ", NOT KEPT" };
        text += &format!(
            "| {} | {} | {} | {} | {measure} | {} | {} | {} | {} | {} | {}{kept} | {} |\n",
            row.kind,
            row.case,
            row.before,
            row.after,
            grouped(row.predicted_bytes),
            signed(row.measured_bytes),
            grouped(row.predicted_blocks),
            signed(row.measured_blocks),
            row.confidence,
            row.bound,
            row.left.len(),
        );
    }
    text += "\n## Where both differ\n\n";
    for row in rows.iter().filter(|row| !row.because.is_empty()) {
        text += &format!(
            "- {}, {} ({} to {}): {}.\n",
            row.case, row.kind, row.before, row.after, row.because
        );
    }
    text += "\n## Kinds without a row\n\n";
    for (kind, why) in WITHOUT {
        text += &format!("- {kind}: {why}.\n");
    }
    text
}

fn signed(count: i64) -> String {
    let sign = if count < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(count.unsigned_abs()))
}
