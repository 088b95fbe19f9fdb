//! The table as text, Markdown and JSON, all from the same rows.

use crate::args::RunOptions;
use crate::measured::{Measured, Rows};
use crate::run::{at, chosen};
use heapglass_gauntlet::{Case, Found, Judged, Verdict};
use heapglass_profiler::units::Bytes;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Lists the cases, one per line, with the number first. Without a group, lists the cases of the
/// sources; those on fetched files must be requested.
pub(crate) fn list(group: Option<&str>) -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    for case in chosen(&[group.unwrap_or("all").to_owned()])? {
        writeln!(out, "{:<5} {} - {}", case.id, case.system, case.headline)?;
    }
    if group.is_none() {
        eprintln!("and on real files: `cargo gauntlet list data`");
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the results in the requested format.
pub(crate) fn table(rows: &Rows, options: &RunOptions) -> io::Result<()> {
    let text = if options.json {
        let cases: Vec<_> = rows
            .iter()
            .map(|(case, variants)| json_of(case, variants))
            .collect();
        let whole = json!({"format": 1, "quick": options.quick, "cases": cases});
        serde_json::to_string_pretty(&whole).map_err(io::Error::other)? + "\n"
    } else {
        let judgements = rows.iter().map(|(case, variants)| judged(case, variants));
        text(rows, &judgements.collect::<Vec<_>>(), options.markdown)
    };
    match &options.output {
        Some(path) if path.as_os_str() != "-" => {
            std::fs::write(path, text).map_err(|error| at(path, &error))
        }
        _ => io::stdout().lock().write_all(text.as_bytes()),
    }
}

/// Returns every case as Markdown, with its judgement.
pub(crate) fn markdown(rows: &Rows, judgements: &[Judged]) -> String {
    text(rows, judgements, true)
}

fn text(rows: &Rows, judgements: &[Judged], markdown: bool) -> String {
    let mut text = String::new();
    for ((case, variants), judged) in rows.iter().zip(judgements) {
        write_case(&mut text, case, variants, judged, markdown);
    }
    text
}

/// Returns the verdict. If a variant failed, the comparison was not measured.
pub(crate) fn verdict(judged: &Judged, variants: &[Measured]) -> Verdict {
    match variants.iter().any(|variant| variant.failed.is_some()) {
        true => Verdict::NotJudged,
        false => judged.verdict(),
    }
}

/// Returns the judgement of a case on these measurements.
pub(crate) fn judged(case: &Case, variants: &[Measured]) -> Judged {
    // Times of unoptimized code say nothing about a source's times.
    let is_time = |name: &str| name.ends_with("_ns") || name == "times_apart_percent";
    let figure = |variant: &str, name: &str| {
        if cfg!(debug_assertions) && is_time(name) {
            return None;
        }
        let measured = variants
            .iter()
            .find(|measured| measured.variant == variant)?;
        measured.figure(name)
    };
    let rounds = |variant: &str| {
        let found = variants
            .iter()
            .find(|measured| measured.variant == variant && !cfg!(debug_assertions));
        found.map_or(Vec::new(), |measured| {
            let times = measured.rounds_ns.iter();
            times.map(|&time| time as f64).collect()
        })
    };
    (case.judge)(&Found {
        figure: &figure,
        rounds: &rounds,
    })
}

fn json_of(case: &Case, variants: &[Measured]) -> serde_json::Value {
    let judged = judged(case, variants);
    let claims: Vec<serde_json::Value> = judged
        .claims
        .iter()
        .map(|compared| {
            let (from, to) = compared.claim.source;
            let (least, most) = compared.claim.accepted();
            json!({
                "of": compared.claim.of, "source": [from, to], "tolerance": compared.claim.tolerance,
                "accepted": [least, most],
                "here": compared.here.value, "here_between": [compared.here.low, compared.here.high],
                "verdict": compared.verdict().name(), "reason": compared.reason,
            })
        })
        .collect();
    json!({
        "id": case.id, "system": case.system, "headline": case.headline,
        "verdict": verdict(&judged, variants).name(), "counts_hold": judged.counts_hold(), "why": judged.why,
        "not_judged_because": judged.unjudged, "claims": claims, "variants": variants,
    })
}

/// The title of a column, and its text for a row.
type Column = (&'static str, fn(&Measured) -> Option<String>);

const COLUMNS: &[Column] = &[
    ("with", |row| Some(row.with.clone())),
    ("time", |row| row.time_ns.map(time)),
    ("of baseline", |row| {
        row.time_ratio.map(|ratio| match ratio {
            ratio if ratio < 9.995 => format!("{ratio:.2}x"),
            ratio => format!("{ratio:.0}x"),
        })
    }),
    ("spread", |row| {
        row.time_spread
            .map(|spread| format!("{:.0} %", spread * 100.0))
    }),
    ("while counted", |row| row.counted_ns.map(time)),
    ("blocks", |row| counted(row, "total_blocks")),
    ("bytes", |row| counted(row, "total_bytes")),
    ("peak", peak),
    ("retained", |row| counted(row, "live_bytes")),
    ("grows", |row| counted(row, "grows")),
    ("copied", |row| counted(row, "copied_bytes")),
    ("RSS", |row| Some(Bytes(row.rss_bytes).to_string())),
    ("usable", |row| {
        row.usable_bytes.map(|bytes| grouped(bytes.max(0) as u64))
    }),
    ("in allocator", |row| {
        row.allocator_share
            .map(|share| format!("{:.1} %", share * 100.0))
    }),
    ("code", |row| row.code_bytes.map(grouped)),
    ("blocks/record", |row| per(row, "total_blocks", row.records)),
    ("bytes/record", |row| per(row, "total_bytes", row.records)),
    ("bytes/input byte", |row| {
        per(row, "total_bytes", row.input_bytes)
    }),
    ("peak/input byte", |row| {
        per(row, "peak_bytes", row.input_bytes)
    }),
];

/// Returns the peak, with its error bound if threads allocated around it.
fn peak(row: &Measured) -> Option<String> {
    let peak = counted(row, "peak_bytes")?;
    let error = counted(row, "peak_error_bytes");
    Some(error.map_or(peak.clone(), |error| format!("{peak} (to within {error})")))
}

fn counted(row: &Measured, name: &str) -> Option<String> {
    row.figures.get(name).map(|count| grouped(*count))
}

fn per(row: &Measured, name: &str, of: u64) -> Option<String> {
    let count = *row.figures.get(name)?;
    (of > 0).then(|| format!("{:.2}", count as f64 / of as f64))
}

/// Formats a number with separators: `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

fn write_case(
    out: &mut String,
    case: &Case,
    variants: &[Measured],
    judged: &Judged,
    markdown: bool,
) {
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, cell)| variants.iter().any(|row| cell(row).is_some()))
        .collect();
    let mut cells: Vec<Vec<String>> = vec![
        std::iter::once("variant".to_owned())
            .chain(columns.iter().map(|(title, _)| (*title).to_owned()))
            .collect(),
    ];
    for row in variants {
        let cell = |column: &&Column| column.1(row).unwrap_or_else(|| "-".to_owned());
        cells.push(
            std::iter::once(row.variant.clone())
                .chain(columns.iter().map(cell))
                .collect(),
        );
    }
    // Writing to a string cannot fail.
    let _ = if markdown {
        writeln!(out, "### {} {}\n", case.id, case.system)
    } else {
        writeln!(out, "{} {}", case.id, case.system)
    };
    let widths: Vec<usize> = (0..=columns.len())
        .map(|at| {
            cells
                .iter()
                .map(|row| row[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for (number, row) in cells.iter().enumerate() {
        let padded: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| {
                if at == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        let _ = if markdown {
            writeln!(out, "| {} |", padded.join(" | "))
        } else {
            writeln!(out, "  {}", padded.join("  ").trim_end())
        };
        if markdown && number == 0 {
            let rule: Vec<&str> = widths.iter().map(|_| "---").collect();
            let _ = writeln!(out, "| {} |", rule.join(" | "));
        }
    }
    if markdown {
        out.push('\n');
    }
    for row in variants {
        let notes: Vec<String> = row
            .notes
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if !notes.is_empty() {
            let _ = writeln!(out, "  {}: {}", row.variant, notes.join(", "));
        }
        if let Some(why) = &row.failed {
            let _ = writeln!(out, "  {} failed: {why}", row.variant);
        }
    }
    // In Markdown, ends each line with a hard break instead of joining them to one paragraph.
    let end = if markdown { "  " } else { "" };
    let _ = writeln!(out, "  source: {}{end}", case.headline);
    let counts = match judged.counts_hold() {
        true => "as predicted",
        false => "NOT as predicted",
    };
    let _ = writeln!(
        out,
        "  counts that follow from its words (exact, no tolerance): {counts}{end}"
    );
    for compared in &judged.claims {
        let _ = writeln!(out, "  claim: {compared}{end}");
    }
    let verdict = verdict(judged, variants);
    let because = match (verdict, judged.unjudged) {
        (Verdict::NotJudged, reason) if !reason.is_empty() => format!(" ({reason})"),
        _ => String::new(),
    };
    let _ = writeln!(out, "  {}{because}: {}\n", verdict.name(), judged.why);
}
