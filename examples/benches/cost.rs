//! What recording costs, as ratios to the bare program: medians of interleaved runs of child processes.
//!
//! `cargo cost` (or `cargo bench --package heapglass-examples --bench cost`); `-- --dhat` puts dhat-rs beside,
//! `-- --runs N` changes how often (7), `-- json churn` runs only those.

use std::process::Command;

const WORKS: [(&str, &str); 5] = [
    ("json", "serde_json, 30 MB into owned structs"),
    ("postcard", "postcard into owned structs"),
    ("churn", "churn of 1,600 blocks"),
    ("churn2", "the same on two threads"),
    ("deep", "the same under 90 frames"),
];

struct Configuration {
    name: &'static str,
    program: &'static str,
    records: bool,
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let after = |flag: &str| {
        words
            .iter()
            .position(|word| word == flag)
            .and_then(|index| words.get(index + 1))
    };
    let runs: usize = after("--runs")
        .and_then(|number| number.parse().ok())
        .unwrap_or(7);
    let mut configurations = vec![
        Configuration {
            name: "bare",
            program: env!("CARGO_BIN_EXE_cost_bare"),
            records: false,
        },
        Configuration {
            name: "off",
            program: env!("CARGO_BIN_EXE_cost_tracking"),
            records: false,
        },
        Configuration {
            name: "exact",
            program: env!("CARGO_BIN_EXE_cost_tracking"),
            records: true,
        },
    ];
    if words.iter().any(|word| word == "--dhat") {
        configurations.push(Configuration {
            name: "dhat-rs",
            program: env!("CARGO_BIN_EXE_cost_dhat"),
            records: false,
        });
    }
    let chosen: Vec<&str> = WORKS
        .iter()
        .map(|(work, _)| *work)
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
        let mut samples = vec![Vec::new(); configurations.len()];
        for run in 0..runs {
            for (configuration, samples) in configurations.iter().zip(&mut samples) {
                let recording = folder.join(format!("{work}-{run}.hg"));
                samples.push(measure(configuration, work, &recording));
                let _ = std::fs::remove_file(recording);
            }
        }
        let medians: Vec<(f64, f64)> = samples
            .iter()
            .map(|samples| {
                (
                    median(samples.iter().map(|sample| sample.0)),
                    median(samples.iter().map(|sample| sample.1)),
                )
            })
            .collect();
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
    let _ = std::fs::remove_dir_all(folder);
}

/// Nanoseconds and peak RSS (KiB) of one run.
fn measure(configuration: &Configuration, work: &str, recording: &std::path::Path) -> (f64, f64) {
    let mut command = Command::new(configuration.program);
    command.arg(work).env_remove("HEAPGLASS_OUT");
    if configuration.records {
        command.env("HEAPGLASS_OUT", recording);
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

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
