//! What recording costs, as ratios to the bare program, and what `Profiled<T>` costs, as ratios to the same program
//! without it: medians of interleaved runs of child processes.
//!
//! `cargo cost` (or `cargo bench --package heapglass-examples --bench cost`); `-- --dhat` puts dhat-rs beside,
//! `-- --runs N` changes how often (7), `-- json churn fields` runs only those: `fields` is what `Profiled<T>` costs.

mod common;

use common::median;
use std::path::Path;
use std::process::Command;

const WORKS: [(&str, &str); 5] = [
    ("json", "serde_json, 30 MB into owned structs"),
    ("postcard", "postcard into owned structs"),
    ("churn", "churn of 1,600 blocks"),
    ("churn2", "the same on two threads"),
    ("deep", "the same under 90 frames"),
];

/// Formats whose cost with `Profiled<T>` is measured, and the ratios to the same without it that we hold ourselves to:
/// recording and not.
const FIELDS: [(&str, &str, f64, f64); 3] = [
    ("json", "Profiled, serde_json", 1.2, 1.05),
    ("postcard", "Profiled, postcard", 1.3, 1.05),
    ("rmp", "Profiled, rmp-serde", 1.3, 1.05),
];

#[derive(Clone, Copy)]
struct Configuration {
    name: &'static str,
    program: &'static str,
    /// How it records: a value of `HEAPGLASS_MODE`.
    mode: Option<&'static str>,
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let runs = common::runs(&words, 7);
    let mut configurations = vec![
        Configuration {
            name: "bare",
            program: env!("CARGO_BIN_EXE_cost_bare"),
            mode: None,
        },
        Configuration {
            name: "off",
            program: env!("CARGO_BIN_EXE_cost_tracking"),
            mode: None,
        },
        Configuration {
            name: "count",
            program: env!("CARGO_BIN_EXE_cost_tracking"),
            mode: Some("count"),
        },
        Configuration {
            name: "exact",
            program: env!("CARGO_BIN_EXE_cost_tracking"),
            mode: Some("exact"),
        },
    ];
    if words.iter().any(|word| word == "--dhat") {
        configurations.push(Configuration {
            name: "dhat-rs",
            program: env!("CARGO_BIN_EXE_cost_dhat"),
            mode: None,
        });
    }
    let chosen: Vec<&str> = WORKS
        .iter()
        .map(|(work, _)| *work)
        .chain(["fields"])
        .filter(|work| words.iter().any(|word| word == work))
        .collect();
    let folder = std::env::temp_dir().join(format!("heapglass-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for recordings");
    println!(
        "{:<40} {:>10} {:>9}  ratios to bare (time; peak RSS)",
        "work", "bare ms", "RSS MiB"
    );
    for (work, title) in WORKS {
        if !chosen.is_empty() && !chosen.contains(&work) {
            continue;
        }
        let runs_of: Vec<(Configuration, &str)> = configurations
            .iter()
            .map(|configuration| (*configuration, work))
            .collect();
        let medians = medians(&runs_of, runs, &folder);
        let (bare_ns, bare_rss) = medians[0];
        print!(
            "{title:<40} {:>10.1} {:>9.1} ",
            bare_ns / 1e6,
            bare_rss / 1024.0
        );
        for (configuration, (ns, rss)) in configurations.iter().zip(&medians).skip(1) {
            print!(
                "  {} {:.2}x; {:.2}x",
                configuration.name,
                ns / bare_ns,
                rss / bare_rss
            );
        }
        println!();
    }
    if chosen.is_empty() || chosen.contains(&"fields") {
        fields(&configurations, runs, &folder);
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// What `Profiled<T>` adds, recording and not.
fn fields(configurations: &[Configuration], runs: usize, folder: &Path) {
    let find = |name: &str| {
        configurations
            .iter()
            .find(|configuration| configuration.name == name)
    };
    let (Some(off), Some(exact)) = (find("off"), find("exact")) else {
        return;
    };
    for (work, title, most_exact, most_off) in FIELDS {
        let with = format!("{work}-fields");
        let runs_of = [(*exact, work), (*exact, &with), (*off, work), (*off, &with)];
        let medians = medians(&runs_of, runs, folder);
        let ratio = |with: usize, without: usize| medians[with].0 / medians[without].0;
        println!(
            "{title:<40} {:>10.1} ms without; recording {:.2}x (at most {most_exact:.2}), not recording {:.2}x (at most {most_off:.2})",
            medians[0].0 / 1e6,
            ratio(1, 0),
            ratio(3, 2)
        );
    }
}

/// Median nanoseconds and peak RSS (KiB) of each, run in turn.
fn medians(of: &[(Configuration, &str)], runs: usize, folder: &Path) -> Vec<(f64, f64)> {
    let mut samples = vec![Vec::new(); of.len()];
    for run in 0..runs {
        for ((configuration, work), samples) in of.iter().zip(&mut samples) {
            let recording = folder.join(format!("{work}-{run}.hg"));
            samples.push(measure(configuration, work, &recording));
            let _ = std::fs::remove_file(recording);
        }
    }
    let middle = |samples: &Vec<(f64, f64)>| {
        (
            median(samples.iter().map(|sample| sample.0)),
            median(samples.iter().map(|sample| sample.1)),
        )
    };
    samples.iter().map(middle).collect()
}

/// Nanoseconds and peak RSS (KiB) of one run.
fn measure(configuration: &Configuration, work: &str, recording: &Path) -> (f64, f64) {
    let mut command = Command::new(configuration.program);
    command.arg(work).env_remove("HEAPGLASS_OUT");
    if let Some(mode) = configuration.mode {
        command.env("HEAPGLASS_OUT", recording);
        command.env("HEAPGLASS_MODE", mode);
    }
    let output = command.output().expect("the program starts");
    assert!(
        output.status.success(),
        "{work}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse::<f64>().expect("two numbers"));
    (
        numbers.next().expect("nanoseconds"),
        numbers.next().expect("KiB"),
    )
}
