//! The page of corrections. It says in sentences which claims of the sources do not hold here, with
//! the figures of the runs.

use crate::measured::Rows;
use heapglass_gauntlet::{Case, Compared, Judged, Source, Verdict};
use std::fmt::Write as _;

/// Returns the page.
pub(crate) fn page(head: &str, runs: usize, rows: &Rows, judgements: &[Judged]) -> String {
    let mut text = format!(
        "# Where the sources' claims do not hold today\n\n\
         Written by `cargo gauntlet publish` from the same {runs} runs as [the measured table](measured.md): {head}.\n\n\
         A claim is listed here when the figure found lies outside of its tolerance. The sources' machines, versions and \
         browsers are others, so another figure does not make theirs wrong. For each claim this page says what the source \
         has, what was found, and why the two differ where we know it. Times are ratios of interleaved rounds; the median \
         of the rounds lies with 95 % certainty between the values in brackets. Counts are exact.\n"
    );
    let sections = [
        (
            Verdict::Contradicted,
            "What does not hold: the effect is absent, or the opposite",
        ),
        (Verdict::Weaker, "What holds, but is smaller"),
        (Verdict::Stronger, "What holds, and is larger"),
    ];
    for (wanted, title) in sections {
        write_section(&mut text, title, rows, judgements, |compared| {
            compared.verdict() == wanted
        });
    }
    write_disagreements(&mut text, runs, rows, judgements);
    write_unjudged(&mut text, rows, judgements);
    text
}

/// Writes a paragraph for each case with such a claim, by source.
fn write_section(
    text: &mut String,
    title: &str,
    rows: &Rows,
    judgements: &[Judged],
    wanted: impl Fn(&Compared) -> bool,
) {
    let mut paragraphs = String::new();
    let mut last = None;
    for ((case, _), judged) in rows.iter().zip(judgements) {
        let claims: Vec<String> = judged
            .claims
            .iter()
            .filter(|compared| wanted(compared))
            .map(sentence)
            .collect();
        if claims.is_empty() {
            continue;
        }
        if last.replace(case.source()) != Some(case.source()) {
            // Writing to a string cannot fail.
            let _ = writeln!(paragraphs, "### {}\n", title_of(case.source()));
        }
        let _ = writeln!(paragraphs, "{} {}\n", opening(case), claims.join(" "));
    }
    if !paragraphs.is_empty() {
        let _ = write!(text, "\n## {title}\n\n{}\n", paragraphs.trim_end());
    }
}

/// Returns the opening of a paragraph: the case, and the source's claim about it.
fn opening(case: &Case) -> String {
    format!(
        "**{}, {}.** The source: {}.",
        case.id, case.system, case.headline
    )
}

/// Returns a sentence that compares a claim with the measured figure.
fn sentence(compared: &Compared) -> String {
    let (least, most) = compared.claim.accepted();
    let [shown_least, shown_most, here] = compared.accepted_and_here();
    let accepted = match (least == most, most.is_infinite()) {
        (true, _) => "an exact figure".to_owned(),
        (_, true) => format!("{shown_least} or more would be the same"),
        _ => format!("{shown_least} to {shown_most} would be the same"),
    };
    let reason = match (compared.reason, compared.verdict()) {
        ("", Verdict::Contradicted) => "its cause is not known",
        (reason, _) => reason,
    };
    let end = match reason {
        "" => String::new(),
        reason => format!(" {}.", capitalized(reason)),
    };
    format!(
        "{}: the source has {}, here it is {} ({accepted}).{end}",
        capitalized(&compared.claim.of),
        compared.claim.figures(),
        here,
    )
}

/// Writes the claims for which the runs have different verdicts.
fn write_disagreements(text: &mut String, runs: usize, rows: &Rows, judgements: &[Judged]) {
    let mut lines = String::new();
    for ((case, _), judged) in rows.iter().zip(judgements) {
        for compared in judged.claims.iter().filter(|claim| !claim.runs_agree()) {
            let _ = writeln!(lines, "- {}: {}", case.id, compared.figures());
        }
    }
    let _ = match lines.as_str() {
        "" => writeln!(
            text,
            "\n## Runs\n\nThe verdict of each claim was the same in {runs} runs one after the other."
        ),
        lines => write!(
            text,
            "\n## Runs\n\nThe verdict of each claim was the same in {runs} runs one after the other, but for these: the \
             difference is within the noise of the machine, so they are not judged. Each run's figure and verdict:\n\n{lines}"
        ),
    };
}

/// Writes the cases without a verdict, and the reasons.
fn write_unjudged(text: &mut String, rows: &Rows, judgements: &[Judged]) {
    let _ = writeln!(text, "\n## What is not judged, and why\n");
    for ((case, _), judged) in rows.iter().zip(judgements) {
        if !judged.unjudged.is_empty() {
            let _ = writeln!(text, "- {}, {}: {}.", case.id, case.system, judged.unjudged);
        }
    }
}

fn title_of(source: Source) -> &'static str {
    match source {
        Source::S0 => "The serde optimization gauntlet: Wasm and arenas",
        Source::S1 => "Zero-copy deserialization part 2: zerovec",
        Source::S2 => "The impact of memory allocators on performance",
        Source::S3 => "Allocating less: really thin Rust cloud apps",
        Source::S4 => "Rewriting Rust serialization part 2: performance",
        Source::Data => "Real files",
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
