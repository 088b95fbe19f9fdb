//! Results as Markdown.

use crate::figures::{Figures, Spread};
use crate::results::{Cell, Column, Results};
use peers_work::Group;
use std::fmt::Write;

/// The tables of the guide.
pub(crate) const LONG: &str = "peers";
/// The table of the README.
pub(crate) const SHORT: &str = "peers-short";
/// The guide's table of programs that are recorded unchanged.
pub(crate) const UNCHANGED: &str = "peers-unchanged";

/// Rows of the README's table.
const SHORT_WORKLOADS: [(&str, &str); 4] = [
    ("json", "serde_json, 30 MB into owned structs"),
    ("postcard", "postcard into owned structs"),
    ("churn-1", "churn of small blocks"),
    ("churn-4", "the same on 4 threads"),
];
/// Columns of the README's table.
const SHORT_PROGRAMS: [(&str, &str); 5] = [
    ("exact", "heapglass"),
    ("heapscope", "heapscope"),
    ("heaptrack", "heaptrack"),
    ("dhat-rs", "dhat-rs"),
    ("jemalloc-prof", "jemalloc (samples)"),
];

/// The program with `Profiled`, the one without, and the allowed ratios, by workload.
const PROFILED: [(&str, &str, &str); 2] = [
    ("exact-profiled", "exact", "recording"),
    ("off-profiled", "off", "off"),
];
const PROFILED_LIMITS: [(&str, [f64; 2]); 3] = [
    ("json", [1.2, 1.05]),
    ("postcard", [1.3, 1.05]),
    ("rmp", [1.3, 1.05]),
];

/// Returns all tables, and a list of the programs that did not run or failed.
pub(crate) fn long(results: &Results) -> String {
    let mut text = heading(results);
    for (group, title) in [
        (Group::Decode, "Deserializing"),
        (
            Group::Threads,
            "Churn of blocks of 16, 64 and 256 B, by threads",
        ),
        (
            Group::Depth,
            "The same churn on one thread, by depth of the stack",
        ),
        (
            Group::Hard,
            "Many stacks, frees by another thread, large reallocs, a large heap",
        ),
    ] {
        let columns: Vec<&Column> = results
            .workloads
            .iter()
            .filter(|column| column.group == Some(group))
            .collect();
        if columns.is_empty() {
            continue;
        }
        let _ = write!(text, "\n### {title}\n\n");
        text += &table(results, &columns, "time", time_cell);
        text += "\n";
        text += &table(results, &columns, "memory, output, report", memory_cell);
    }
    text += &profiled(results);
    text += &notes(results);
    text
}

/// Returns the most important ratios.
pub(crate) fn short(results: &Results) -> String {
    let mut text = heading(results);
    text += "\n";
    let mut rows = vec![
        std::iter::once("time, as a multiple of the bare program's")
            .chain(SHORT_PROGRAMS.iter().map(|(_, title)| *title))
            .map(str::to_owned)
            .collect::<Vec<String>>(),
    ];
    for (workload, title) in SHORT_WORKLOADS {
        let column = results
            .workloads
            .iter()
            .find(|column| column.name == workload);
        let cell = |program: &str| {
            let figures = column.and_then(|column| column.figures(program));
            match figures.and_then(|figures| figures.ratio) {
                Some(ratio) => times(ratio.median),
                None => column.map_or("–".to_owned(), |column| why(column, program)),
            }
        };
        let cells = SHORT_PROGRAMS.iter().map(|(program, _)| cell(program));
        rows.push(std::iter::once(title.to_owned()).chain(cells).collect());
    }
    text += &markdown(&rows);
    text
}

/// Puts `content` between the markers of `name`. Fails without these markers.
pub(crate) fn fill(text: &str, name: &str, content: &str) -> Result<String, String> {
    let (begin, end) = markers(name);
    let missing = || format!("there is no {begin} before a {end}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{content}{end}{after}"))
}

/// Returns the markers before and after a table that the command writes.
pub(crate) fn markers(name: &str) -> (String, String) {
    (
        format!("<!-- {name}: written by cargo peers -->"),
        format!("<!-- end of {name} -->"),
    )
}

fn heading(results: &Results) -> String {
    let machine = &results.machine;
    let quick = if results.quick {
        " With `--quick`: the figures mean nothing."
    } else {
        ""
    };
    format!(
        "Measured by `cargo peers` on {}: {}, {} cores, {} GiB, Linux {}, {}; medians of {}.{quick}\n",
        results.date,
        machine.processor,
        machine.cores,
        machine.memory_mib.div_ceil(1024),
        machine.kernel,
        results
            .versions
            .get("rustc")
            .map_or("rustc", String::as_str),
        if results.runs == 1 {
            "one run".to_owned()
        } else {
            format!("{} interleaved runs", results.runs)
        }
    )
}

/// Returns one table, with a row for each program that ran.
fn table(
    results: &Results,
    columns: &[&Column],
    corner: &str,
    cell: fn(&Figures) -> String,
) -> String {
    let head = std::iter::once(corner).chain(columns.iter().map(|column| column.title));
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).collect()];
    for program in &results.programs {
        let is_applicable = |column: &&&Column| {
            !matches!(
                column.cells.get(program.name),
                None | Some(Cell::Inapplicable(_))
            )
        };
        if program.skipped.is_some() || !columns.iter().any(|column| is_applicable(&column)) {
            continue;
        }
        let cells = columns
            .iter()
            .map(|column| match column.figures(program.name) {
                Some(figures) => cell(figures),
                None => why(column, program.name),
            });
        rows.push(
            std::iter::once(program.title.to_owned())
                .chain(cells)
                .collect(),
        );
    }
    markdown(&rows)
}

/// Returns the reason why there are no figures, in a word.
fn why(column: &Column, program: &str) -> String {
    match column.cells.get(program) {
        Some(Cell::Failed(_)) => "failed",
        Some(Cell::Skipped(_)) => "skipped",
        _ => "–",
    }
    .to_owned()
}

fn time_cell(figures: &Figures) -> String {
    let Some(ratio) = figures.ratio else {
        return milliseconds(figures.ns.median / 1e6);
    };
    let mut text = times(ratio.median);
    if figures.runs > 1 {
        let _ = write!(text, " ({})", range(ratio));
    }
    if let Some(ns) = figures.added_ns_per_event {
        let _ = write!(text, ", {}", nanoseconds(ns));
    }
    text
}

fn memory_cell(figures: &Figures) -> String {
    let mut text = bytes(figures.peak_rss_kib * 1024.0);
    if let Some(ratio) = figures.peak_rss_ratio {
        let _ = write!(text, " ({})", times(ratio));
    }
    if let Some(output) = figures.output_bytes {
        let _ = write!(text, ", {}", bytes(output));
    }
    if let Some(report) = figures.report_ms {
        let _ = write!(text, ", {}", milliseconds(report));
    }
    text
}

/// Returns the cost of `Profiled<T>` compared with the same program without it.
fn profiled(results: &Results) -> String {
    let mut rows = Vec::new();
    for (workload, limits) in PROFILED_LIMITS {
        let Some(column) = results
            .workloads
            .iter()
            .find(|column| column.name == workload)
        else {
            continue;
        };
        let mut row = vec![column.title.to_owned()];
        let mut is_measured = false;
        for ((with, without, _), limit) in PROFILED.into_iter().zip(limits) {
            let ratio = column.figures(with).zip(column.figures(without));
            is_measured |= ratio.is_some();
            row.push(ratio.map_or("–".to_owned(), |(with, without)| {
                let ratio = with.ns.median / without.ns.median;
                let is_over = if ratio > limit { ", over" } else { "" };
                format!("{} (at most {limit:.2}x{is_over})", times(ratio))
            }));
        }
        if is_measured {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let head = std::iter::once("ratio of medians, to the same without it")
        .chain(PROFILED.iter().map(|(.., title)| *title))
        .map(str::to_owned)
        .collect();
    rows.insert(0, head);
    format!("\n### What `Profiled` adds\n\n{}", markdown(&rows))
}

/// Returns the programs that did not run, failed, or ran less often.
fn notes(results: &Results) -> String {
    let mut notes = Vec::new();
    for program in &results.programs {
        if let Some(reason) = &program.skipped {
            notes.push(format!("{}: skipped: {reason}", program.title));
        }
        let mut once = Vec::new();
        for column in &results.workloads {
            match column.cells.get(program.name) {
                Some(Cell::Failed(reason)) => {
                    notes.push(format!(
                        "{}, {}: failed: {reason}",
                        program.title, column.name
                    ));
                }
                Some(Cell::Skipped(reason)) if program.skipped.is_none() => {
                    notes.push(format!(
                        "{}, {}: skipped: {reason}",
                        program.title, column.name
                    ));
                }
                Some(Cell::Measured(figures)) if figures.runs < results.runs => {
                    once.push(format!("{} ({})", column.name, figures.runs));
                }
                _ => (),
            }
        }
        if !once.is_empty() {
            notes.push(format!(
                "{}: fewer runs, since they take long: {}",
                program.title,
                once.join(", ")
            ));
        }
    }
    let mut text = String::new();
    if !notes.is_empty() {
        text += "\n";
    }
    for note in notes {
        // A program's output may contain anything: it must not end the list or begin a tag.
        let note = note.replace(['\n', '\r'], " ").replace('<', "&lt;");
        let _ = writeln!(text, "- {note}");
    }
    text
}

/// Formats rows of cells, padded so that they are also readable as text.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text += "|\n";
        if index == 0 {
            for width in &widths {
                let _ = write!(text, "|{}", "-".repeat(width + 2));
            }
            text += "|\n";
        }
    }
    text
}

fn range(spread: Spread) -> String {
    let (least, most) = (times(spread.min), times(spread.max));
    format!(
        "{}–{}",
        least.trim_end_matches('x'),
        most.trim_end_matches('x')
    )
}

/// Formats a number with three digits.
fn digits(number: f64) -> String {
    match number.abs() {
        small if small < 9.995 => format!("{number:.2}"),
        middle if middle < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn times(ratio: f64) -> String {
    format!("{}x", digits(ratio))
}

fn nanoseconds(ns: f64) -> String {
    // Avoids "-0".
    let ns = if ns.abs() < 0.05 { 0.0 } else { ns };
    if ns.abs() < 9.95 {
        format!("{ns:.1} ns")
    } else {
        format!("{ns:.0} ns")
    }
}

fn milliseconds(ms: f64) -> String {
    if ms < 999.5 {
        format!("{ms:.0} ms")
    } else {
        format!("{} s", digits(ms / 1e3))
    }
}

fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    let (unit, name) = match bytes {
        small if small < 999.5 => return format!("{bytes:.0} B"),
        middle if middle < 999.5 * KIB => (KIB, "KiB"),
        large if large < 999.5 * KIB * KIB => (KIB * KIB, "MiB"),
        _ => (KIB * KIB * KIB, "GiB"),
    };
    format!("{} {name}", digits(bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Machine, Row};
    use std::collections::BTreeMap;

    fn figures(ns: f64, ratio: Option<[f64; 3]>, runs: usize) -> Figures {
        let spread = |[median, min, max]: [f64; 3]| Spread { median, min, max };
        Figures {
            runs,
            ns: spread([ns, ns, ns]),
            ratio: ratio.map(spread),
            added_ns_per_event: ratio.map(|_| 12.4),
            peak_rss_kib: 2048.0,
            peak_rss_ratio: ratio.map(|_| 1.5),
            output_bytes: ratio.map(|_| 3072.0),
            report_ms: ratio.map(|_| 1500.0),
        }
    }

    fn results() -> Results {
        let row = |name, title, base, skipped: Option<&str>| Row {
            name,
            title,
            base,
            skipped: skipped.map(str::to_owned),
        };
        let cells = BTreeMap::from([
            ("bare", Cell::Measured(figures(2e6, None, 3))),
            (
                "exact",
                Cell::Measured(figures(3e6, Some([1.5, 1.25, 1.75]), 3)),
            ),
            (
                "exact-profiled",
                Cell::Measured(figures(6e6, Some([3.0, 3.0, 3.0]), 3)),
            ),
            (
                "dhat-rs",
                Cell::Measured(figures(9e6, Some([123.4, 123.4, 123.4]), 1)),
            ),
            (
                "heaptrack",
                Cell::Failed("killed <by>\nsignal 9".to_owned()),
            ),
            ("heapscope", Cell::Skipped("no compiler".to_owned())),
        ]);
        Results {
            format: 1,
            date: "2026-11-23".to_owned(),
            machine: Machine {
                processor: "Some processor".to_owned(),
                cores: 4,
                memory_mib: 24_000,
                kernel: "6.1".to_owned(),
                load: 0.5,
            },
            versions: BTreeMap::from([("rustc".to_owned(), "rustc 1.95.0".to_owned())]),
            quick: false,
            runs: 3,
            took_seconds: 5,
            programs: vec![
                row("bare", "bare", None, None),
                row("exact", "heapglass, exact", Some("bare"), None),
                row(
                    "exact-profiled",
                    "heapglass, `Profiled`",
                    Some("bare"),
                    None,
                ),
                row("dhat-rs", "dhat-rs", Some("bare"), None),
                row("heapscope", "heapscope", Some("bare"), Some("no compiler")),
                row("heaptrack", "heaptrack", Some("bare"), None),
            ],
            workloads: vec![Column {
                name: "json",
                title: "serde_json",
                group: Some(Group::Decode),
                threads: 1,
                allocations: Some(3),
                events: Some(6),
                cells,
            }],
        }
    }

    #[test]
    fn the_tables_show_ratios_with_their_spread_and_name_what_failed() {
        let expected = "\
Measured by `cargo peers` on 2026-11-23: Some processor, 4 cores, 24 GiB, Linux 6.1, rustc 1.95.0; medians of 3 interleaved runs.

### Deserializing

| time                  | serde_json                |
|-----------------------|---------------------------|
| bare                  | 2 ms                      |
| heapglass, exact      | 1.50x (1.25–1.75), 12 ns  |
| heapglass, `Profiled` | 3.00x (3.00–3.00), 12 ns  |
| dhat-rs               | 123x, 12 ns               |
| heaptrack             | failed                    |

| memory, output, report | serde_json                        |
|------------------------|-----------------------------------|
| bare                   | 2.00 MiB                          |
| heapglass, exact       | 2.00 MiB (1.50x), 3.00 KiB, 1.50 s |
| heapglass, `Profiled`  | 2.00 MiB (1.50x), 3.00 KiB, 1.50 s |
| dhat-rs                | 2.00 MiB (1.50x), 3.00 KiB, 1.50 s |
| heaptrack              | failed                            |

### What `Profiled` adds

| ratio of medians, to the same without it | recording                    | off |
|------------------------------|------------------------------|-----|
| serde_json                   | 2.00x (at most 1.20x, over) | –   |

- dhat-rs: fewer runs, since they take long: json (1)
- heapscope: skipped: no compiler
- heaptrack, json: failed: killed &lt;by> signal 9
";
        let squeeze = |text: &str| {
            text.split(' ')
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .join(" ")
                .replace('-', "")
        };
        assert_eq!(squeeze(&long(&results())), squeeze(expected));
    }

    #[test]
    fn the_short_table_has_the_median_ratios_alone() {
        let text = short(&results());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 8, "{text}");
        let cells: Vec<&str> = lines[4].split('|').map(str::trim).collect();
        assert_eq!(
            cells,
            [
                "",
                SHORT_WORKLOADS[0].1,
                "1.50x",
                "skipped",
                "failed",
                "123x",
                "–",
                ""
            ]
        );
    }

    #[test]
    fn every_line_of_a_table_is_as_wide_as_the_others() {
        let rows = [["a", "long cell"], ["–", "b"]].map(|row| row.map(str::to_owned).to_vec());
        let text = markdown(&rows);
        assert_eq!(
            text,
            "| a | long cell |\n|---|-----------|\n| – | b         |\n"
        );
    }

    #[test]
    fn a_table_goes_between_its_markers_and_nowhere_else() {
        let (begin, end) = markers(SHORT);
        let page = format!("before\n{begin}\nold\n{end}\nafter\n");
        let filled = fill(&page, SHORT, "new\n").expect("there are markers");
        assert_eq!(filled, format!("before\n{begin}\nnew\n{end}\nafter\n"));
        assert_eq!(fill(&filled, SHORT, "new\n"), Ok(filled.clone()));
        let error = fill(&page, LONG, "new\n").expect_err("another's markers");
        assert!(error.contains("peers:"), "{error}");
    }

    #[test]
    fn figures_have_three_digits_and_their_unit() {
        assert_eq!(
            [times(1.0), times(12.34), times(99.96)],
            ["1.00x", "12.3x", "100x"]
        );
        assert_eq!(
            [nanoseconds(-0.01), nanoseconds(-1.26), nanoseconds(17.6)],
            ["0.0 ns", "-1.3 ns", "18 ns"]
        );
        assert_eq!(
            [milliseconds(12.6), milliseconds(999.6)],
            ["13 ms", "1.00 s"]
        );
        assert_eq!(
            [bytes(999.0), bytes(1024.0), bytes(1.5 * 1024.0 * 1024.0)],
            ["999 B", "1.00 KiB", "1.50 MiB"]
        );
        assert_eq!(bytes(4.0 * 1024.0 * 1024.0 * 1024.0), "4.00 GiB");
    }
}
