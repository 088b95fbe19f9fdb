//! The page of the guide, with its pictures.

use crate::bars::{Bar, svg};
use crate::findings;
use crate::formats::Set;
use crate::hostile::{self, Attack, Outcome};
use crate::measure::{Figures, Row};
use crate::text::{bytes, grouped, percent, ratio, wrapped};
use std::fmt::Write as _;

/// The measured figures.
pub(crate) struct Measured {
    /// Each data set, the bytes that its typed value needs, and its rows.
    pub(crate) sets: Vec<(&'static Set, u64, Vec<Row>)>,
    pub(crate) hostile: Hostile,
}

/// The figures of hostile inputs.
pub(crate) struct Hostile {
    pub(crate) prefixes: Vec<Attack>,
    pub(crate) empty_maps: Vec<Attack>,
    pub(crate) small_maps: Vec<Attack>,
    pub(crate) buffered: Vec<Attack>,
    pub(crate) absent: Vec<Attack>,
    pub(crate) element: u64,
}

impl Hostile {
    /// Measures them.
    pub(crate) fn measured() -> Hostile {
        Hostile {
            prefixes: hostile::prefixes(),
            empty_maps: hostile::empty_maps(),
            small_maps: hostile::small_maps(),
            buffered: hostile::buffered(),
            absent: hostile::absent(),
            element: hostile::element(),
        }
    }
}

/// Returns the pictures: their paths below `docs/src`, and their texts.
pub(crate) fn pictures(measured: &Measured) -> Vec<(String, String)> {
    let picture = |(set, value, rows): &(&Set, u64, Vec<Row>)| {
        let title = format!("{}: bytes at the peak of decoding", set.name);
        let path = format!("decoders/{}.svg", set.name);
        (path, svg(&title, bars(rows), *value))
    };
    measured.sets.iter().map(picture).collect()
}

fn bars(rows: &[Row]) -> Vec<Bar> {
    let figures = rows
        .iter()
        .filter_map(|row| Some((row.format, row.figures.as_ref().ok()?)));
    let bar = |(format, figures): (&str, &Figures)| {
        let unused = figures.unused.unwrap_or(0);
        Bar {
            label: format.to_owned(),
            parts: [
                figures.retained - unused,
                unused,
                figures.peak - figures.retained,
            ],
        }
    };
    figures.map(bar).collect()
}

/// Returns the whole page.
pub(crate) fn page(measured: &Measured) -> String {
    let mut out = findings::head(measured);
    let mut matrices = String::from(
        "\n## Peak against the value\n\nThe peak as a multiple of what the typed value needs: 1.00 is a decoder that \
            allocates the value and nothing else.\n\n",
    );
    matrices += &matrix(measured, |figures, value| ratio(figures.peak, value));
    matrices += "\n## Peak per wire byte\n\nUseful to limit the input of a service: the largest input times this factor is what a \
            request takes. A format with long field names has a low factor because its input is long.\n\n";
    matrices += &matrix(measured, |figures, _| ratio(figures.peak, figures.wire));
    out += &wrapped(&matrices);
    for part in parts(measured) {
        out.push('\n');
        out += &part;
    }
    out.push('\n');
    out += &findings::tail();
    out
}

/// Returns the parts that depend on one data set alone, and hostile inputs.
pub(crate) fn parts(measured: &Measured) -> Vec<String> {
    let part = |(set, value, rows): &(&Set, u64, Vec<Row>)| {
        wrapped(&format!(
            "## {}\n\n{}. The typed value needs {} bytes.\n\n![Bytes at the peak of decoding {}, by format](decoders/{}.svg)\n\n{}",
            set.name,
            capital(set.about),
            grouped(*value),
            set.name,
            set.name,
            table(rows)
        ))
    };
    let mut parts: Vec<String> = measured.sets.iter().map(part).collect();
    parts.push(wrapped(&worst(&measured.hostile)));
    parts
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns a table of one figure: formats by data sets.
fn matrix(measured: &Measured, figure: impl Fn(&Figures, u64) -> String) -> String {
    let mut formats: Vec<&str> = Vec::new();
    for row in measured.sets.iter().flat_map(|set| &set.2) {
        if !formats.contains(&row.format) {
            formats.push(row.format);
        }
    }
    let mut out = String::from("| |");
    for set in &measured.sets {
        let _ = write!(out, " {} |", set.0.name);
    }
    let _ = write!(out, "\n|---|{}\n", "--:|".repeat(measured.sets.len()));
    for format in formats {
        let _ = write!(out, "| {format} |");
        for (_, value, rows) in &measured.sets {
            let row = rows.iter().find(|row| row.format == format);
            let figures = row.and_then(|row| row.figures.as_ref().ok());
            let cell = figures.map_or_else(|| "-".to_owned(), |figures| figure(figures, *value));
            let _ = write!(out, " {cell} |");
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns the table of a data set.
fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| | wire | blocks | total | peak | retained | unused | peak per wire byte | waste |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let Ok(figures) = &row.figures else { continue };
        let unused = figures.unused.map_or_else(|| "?".to_owned(), grouped);
        let waste = figures.unused.map_or_else(
            || "?".to_owned(),
            |unused| percent(figures.peak - (figures.retained - unused), figures.peak),
        );
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {unused} | {} | {waste} |",
            row.format,
            grouped(figures.wire),
            grouped(figures.blocks),
            grouped(figures.total),
            grouped(figures.peak),
            grouped(figures.retained),
            ratio(figures.peak, figures.wire),
        );
    }
    out
}

/// Returns the part about hostile inputs.
fn worst(hostile: &Hostile) -> String {
    let mut out = String::from(
        "## Worst case\n\nInputs that are short for what they take. The peak is counted also if the decoder returns an error.\n\n",
    );
    let sections = [
        (
            "A length that nothing follows",
            "A list of `u64` whose length prefix claims 1 GiB, without any element. An error is the right answer; the question \
             is how much was allocated before it. (capnp: a segment of 64 MiB, the largest that its default limit allows.)"
                .to_owned(),
            &hostile.prefixes,
        ),
        (
            "Empty maps, read without types",
            "A list of 262,145 empty maps (csv: as many empty fields in one record). The input is valid.".to_owned(),
            &hostile.empty_maps,
        ),
        (
            "Maps of one entry, read without types",
            "A list of 262,145 maps, each with one number behind the shortest key. The input is valid."
                .to_owned(),
            &hostile.small_maps,
        ),
        (
            "`flatten` behind an internal tag",
            "A struct with `#[serde(flatten)]` in an enum with `#[serde(tag = \"kind\")]`, which holds a list of 262,145 bytes. \
             serde buffers all values before it knows their types."
                .to_owned(),
            &hostile.buffered,
        ),
        (
            "Values that are absent",
            format!(
                "262,145 times `None` of an `Option<Entity>` of minecraft_savedata. Each takes {} bytes in memory, as a present \
                 one does. The input is valid.",
                hostile.element
            ),
            &hostile.absent,
        ),
    ];
    for (title, about, attacks) in sections {
        let _ = write!(
            out,
            "### {title}\n\n{about}\n\n| | wire | peak | peak per wire byte | outcome |\n|---|--:|--:|--:|---|\n"
        );
        for attack in attacks {
            let outcome = match attack.outcome {
                Outcome::Read => "read",
                Outcome::Refused => "an error",
                Outcome::Panicked => "a panic",
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {outcome} |",
                attack.format,
                grouped(attack.wire),
                bytes(attack.peak),
                ratio(attack.peak, attack.wire),
            );
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}
