//! Runs a command with several allocators and compares time and memory.

mod library;
mod measure;

use std::ffi::OsString;

use heapglass_profiler::units::{Bytes, Nanos, Share, counted, printable};
use serde::Serialize;
use serde_json::json;

use crate::args::CompareAllocators;
use crate::error::Error;
use crate::files::output::{print, print_json};
use crate::progress::Working;
use library::Allocator;
use measure::{Folder, Recorded, Timed, record, time};

/// An allocator with its figures. The names are the keys in JSON.
#[derive(Debug, Serialize)]
struct Compared {
    name: String,
    /// The library that is preloaded.
    library: Option<String>,
    /// The median, and all times in the order of the runs.
    time_ns: u64,
    times_ns: Vec<u64>,
    processor_ns: Option<u64>,
    #[serde(flatten)]
    recorded: Recorded,
}

/// An allocator that was not compared.
#[derive(Debug, Serialize)]
struct NotCompared {
    name: String,
    reason: String,
}

/// Runs `heapglass compare-allocators`.
///
/// # Errors
/// Returns an error if no allocator could be measured.
pub(super) fn run(args: &CompareAllocators) -> Result<(), Error> {
    let folder = Folder::create()?;
    let (mut alive, mut not_compared) = (Vec::new(), Vec::new());
    let mut leave_out = |name: &str, reason: String| {
        not_compared.push(NotCompared {
            name: name.to_owned(),
            reason,
        });
    };
    for (number, name) in args.with.iter().enumerate() {
        let recorded = Allocator::find(name).and_then(|allocator| {
            let recorded = record(&args.command, &allocator, &folder, number)?;
            match allocator.is_not_used(recorded.used.as_deref()) {
                Some(reason) => Err(reason),
                None => Ok((allocator, recorded)),
            }
        });
        match recorded {
            Ok((allocator, recorded)) => alive.push((allocator, recorded, Vec::new())),
            Err(reason) => leave_out(name, reason),
        }
    }
    let working = Working::new("measuring");
    for run in 1..=args.runs {
        working.show(format_args!("run {run} of {}", args.runs));
        alive.retain_mut(
            |(allocator, _, times)| match time(&args.command, allocator) {
                Ok(timed) => {
                    times.push(timed);
                    true
                }
                Err(reason) => {
                    leave_out(&allocator.name, reason);
                    false
                }
            },
        );
    }
    drop(working);
    let compared = alive.into_iter();
    let compared =
        compared.map(|(allocator, recorded, times)| compared_of(allocator, recorded, &times));
    let compared: Vec<Compared> = compared.collect();
    if args.json {
        let command = args.command.iter().map(|word| word.to_string_lossy());
        print_json(&json!({
            "format": 1,
            "command": command.collect::<Vec<_>>(),
            "runs": args.runs,
            "allocators": compared,
            "not_compared": not_compared,
        }))?;
    } else if compared.is_empty() {
        print(left_out(&not_compared).as_bytes())?;
    } else {
        print(text(args, &compared, &not_compared).as_bytes())?;
    }
    if compared.is_empty() {
        return Err(Error::misuse("no allocator could be measured"));
    }
    Ok(())
}

fn compared_of(allocator: Allocator, recorded: Recorded, times: &[Timed]) -> Compared {
    let walls = times.iter().map(|timed| timed.wall.as_nanos() as u64);
    let times_ns: Vec<u64> = walls.collect();
    let processor: Option<Vec<u64>> = times.iter().map(|timed| timed.processor_ns).collect();
    Compared {
        name: allocator.name,
        library: allocator.library.map(|path| path.display().to_string()),
        time_ns: median(times_ns.clone()),
        times_ns,
        processor_ns: processor.map(median),
        recorded,
    }
}

/// Returns the median; of an even number, the lower of the two in the middle.
fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0)
}

const HEADINGS: [&str; 7] = [
    "allocator",
    "time",
    "processor",
    "peak",
    "usable beyond requested",
    "resident, most",
    "at exit",
];

/// Explains the columns of the recorded run.
const REST: &str = "\
The other columns are of one recorded run. peak: requested bytes.
usable beyond requested: what the allocator adds to blocks of up to 64 KiB, at the largest snapshot.
resident: without the memory of the profiler.
";

fn text(args: &CompareAllocators, compared: &[Compared], not_compared: &[NotCompared]) -> String {
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    let first = compared.first();
    lines.extend(compared.iter().map(|one| cells(one, first)));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEADINGS.len()).filter_map(width).collect();
    let mut text = format!("{}\n\n", printable(&command(&args.command)));
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text.push_str(&match column {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
        }
        text.push('\n');
    }
    if !not_compared.is_empty() {
        text.push('\n');
    }
    text.push_str(&left_out(not_compared));
    text.push_str(&format!(
        "\ntime, processor: medians of {} without a recording, in turns; ratios to the first line.\n{REST}",
        counted(args.runs as u64, "run"),
    ));
    text
}

fn left_out(not_compared: &[NotCompared]) -> String {
    let lines = not_compared.iter();
    let lines =
        lines.map(|one| format!("not compared: {}: {}\n", printable(&one.name), one.reason));
    lines.collect()
}

fn cells(one: &Compared, first: Option<&Compared>) -> [String; 7] {
    let ratio = |of: fn(&Compared) -> u64| {
        let base = first.map_or(0, of);
        match base {
            0 => String::new(),
            _ => format!(" ({:.2}x)", of(one) as f64 / base as f64),
        }
    };
    let recorded = &one.recorded;
    let bytes = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string());
    let usable = recorded.usable_bytes.zip(recorded.requested_bytes);
    let usable = usable.map_or("-".to_owned(), |(usable, requested)| {
        let added = usable.saturating_sub(requested);
        format!(
            "{} of {} ({})",
            Bytes(added),
            Bytes(requested),
            Share::of(added, requested)
        )
    });
    let processor = one.processor_ns.map_or("-".to_owned(), |ns| {
        format!(
            "{}{}",
            Nanos(ns),
            ratio(|one| one.processor_ns.unwrap_or(0))
        )
    });
    [
        printable(&one.name).into_owned(),
        format!("{}{}", Nanos(one.time_ns), ratio(|one| one.time_ns)),
        processor,
        Bytes(recorded.peak_bytes).to_string(),
        usable,
        bytes(recorded.resident_most_bytes),
        bytes(recorded.resident_exit_bytes),
    ]
}

fn command(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_figure_of_one_run() {
        assert_eq!(median(vec![3, 1, 2]), 2);
        assert_eq!(median(vec![4, 1, 3, 2]), 2);
        assert_eq!(median(Vec::new()), 0);
    }
}
