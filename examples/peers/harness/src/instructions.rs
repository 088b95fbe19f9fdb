//! `cargo instructions`: the instructions that exact recording adds, counted by valgrind's
//! callgrind.
//!
//! Unlike times, they do not depend on what else a machine does, so one per cent more is a change
//! of the recorder. Each workload runs once and twice, with and without a recording, in the same
//! executable. So neither the start of the program nor its end counts, nor the first events of each
//! stack.
//!
//! The work of a thread after some time is left out, because time passes about 50 times as fast
//! under callgrind: the looks (`hook::looks::look`, and `hook::event::look_entered`, which
//! calls it), and what follows a check (`hook::peak::after_check`), which reads the resident set.

use crate::machine;
use crate::measure::{Setting, wait, without_settings};
use crate::programs::{Build, Flavor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The functions of the recorder that are left out, with what they call. None calls itself.
const LEFT_OUT: [&str; 3] = [
    "hook::event::look_entered",
    "hook::looks::look",
    "hook::peak::after_check",
];

/// The part of the kept figure that a figure may have.
const MOST: f64 = 1.01;

/// A workload.
struct Case {
    /// The name in the file of kept figures.
    name: &'static str,
    workload: &'static str,
    /// The third argument of a program of the comparison.
    size: u64,
    unit: Unit,
}

/// The unit of a figure.
#[derive(Clone, Copy)]
enum Unit {
    /// Instructions added to each allocation and free of a churn. Its size is its rounds.
    Event,
    /// Instructions added, as a part of those without a recording.
    Bare,
}

/// Allocations and frees of a round of churn.
const EVENTS_OF_A_ROUND: u64 = 2 * 1_600;
/// Vessels that result in 8 MB of JSON.
const VESSELS: u64 = 10_000;

const CASES: [Case; 4] = [
    Case {
        name: "churn",
        workload: "churn-1",
        size: 200,
        unit: Unit::Event,
    },
    Case {
        name: "depth-100",
        workload: "depth-100",
        size: 200,
        unit: Unit::Event,
    },
    Case {
        name: "json",
        workload: "json",
        size: VESSELS,
        unit: Unit::Bare,
    },
    Case {
        name: "postcard",
        workload: "postcard",
        size: VESSELS,
        unit: Unit::Bare,
    },
];

/// The kept figures, and the toolchain with which they were made.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Kept {
    date: String,
    architecture: String,
    rustc: String,
    valgrind: String,
    figures: BTreeMap<String, f64>,
}

/// Counts the instructions that exact recording adds to each workload, and compares them with the
/// kept ones in a file, or keeps them there.
pub(crate) fn compare(
    root: &Path,
    target: &Path,
    setting: &Setting,
    file: &Path,
    keeps: bool,
) -> Result<(), String> {
    let mut here = match here() {
        Ok(here) => here,
        Err(reason) => return skip(&reason),
    };
    let kept = if keeps { None } else { Some(read(file)?) };
    if let Some(reason) = kept.as_ref().and_then(|kept| other_toolchain(kept, &here)) {
        return skip(&reason);
    }
    let build = Build {
        executable: "peers_heapglass",
        rival: None,
        flavor: Flavor::Usual,
    };
    let executable = machine::build(root, target, build)?;
    fs::create_dir_all(&setting.folder)
        .map_err(|error| format!("{}: {error}", setting.folder.display()))?;
    let mut too_many = Vec::new();
    for case in &CASES {
        let figure = case.measure(setting, &executable)?;
        here.figures.insert(case.name.to_owned(), figure);
        let Some(kept) = &kept else {
            println!("{:<10} {}", case.name, case.unit.show(figure));
            continue;
        };
        let most = *kept
            .figures
            .get(case.name)
            .ok_or_else(|| format!("{} has no figure of {}", file.display(), case.name))?;
        println!("{:<10} {}; kept: {most}", case.name, case.unit.show(figure));
        if figure > MOST * most {
            too_many.push(format!("{}: {figure} > {MOST} * {most}", case.name));
        }
    }
    let _ = fs::remove_dir_all(&setting.folder);
    if keeps {
        return crate::write(file, &crate::json(&here)?);
    }
    if too_many.is_empty() {
        return Ok(());
    }
    Err(format!(
        "exact recording adds more instructions than before: {}",
        too_many.join(", ")
    ))
}

fn skip(reason: &str) -> Result<(), String> {
    println!("skipped: cargo instructions: {reason}");
    Ok(())
}

/// Returns the toolchain of this machine, without figures. The error is the reason why nothing can
/// be counted.
fn here() -> Result<Kept, String> {
    let version = |program: &str| {
        machine::first_line(program, &["--version"]).ok_or(format!("{program} is not installed"))
    };
    Ok(Kept {
        date: machine::date(),
        architecture: std::env::consts::ARCH.to_owned(),
        rustc: version("rustc")?,
        valgrind: version("valgrind")?,
        figures: BTreeMap::new(),
    })
}

/// Returns the reason why the figures of two toolchains cannot be compared.
fn other_toolchain(kept: &Kept, here: &Kept) -> Option<String> {
    let parts = [
        (&kept.architecture, &here.architecture),
        (&kept.rustc, &here.rustc),
        (&kept.valgrind, &here.valgrind),
    ];
    let (kept, here) = parts.into_iter().find(|(kept, here)| kept != here)?;
    Some(format!(
        "the kept figures were made with {kept}, this is {here}"
    ))
}

fn read(file: &Path) -> Result<Kept, String> {
    let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Unit::Event => format!("{figure} instructions added to each event"),
            Unit::Bare => format!("{figure} of the instructions without a recording added"),
        }
    }
}

impl Case {
    /// Returns the figure of the workload, rounded to four digits.
    fn measure(&self, setting: &Setting, executable: &Path) -> Result<f64, String> {
        let [off, on] = [false, true].map(|records| -> Result<u64, String> {
            let once = self.count(setting, executable, 1, records)?;
            let twice = self.count(setting, executable, 2, records)?;
            twice
                .checked_sub(once)
                .ok_or_else(|| format!("{}: twice the work took less", self.name))
        });
        let (off, on) = (off?, on?);
        let added = on as f64 - off as f64;
        let figure = match self.unit {
            Unit::Event => added / (self.size * EVENTS_OF_A_ROUND) as f64,
            Unit::Bare => added / off as f64,
        };
        // Four digits show a change of 0.1 %.
        let digits = 10_f64.powf(3.0 - figure.abs().log10().floor());
        Ok((figure * digits).round() / digits)
    }

    /// Counts the instructions of a process that does the work so many times.
    fn count(
        &self,
        setting: &Setting,
        executable: &Path,
        times: u64,
        records: bool,
    ) -> Result<u64, String> {
        eprintln!(
            "counting {} {times}x{}",
            self.workload,
            if records { ", recorded" } else { "" }
        );
        let counts = setting.folder.join("callgrind");
        let recording = setting.folder.join("recording.hg");
        for left in [&counts, &recording] {
            let _ = fs::remove_file(left);
        }
        let mut command = Command::new("valgrind");
        command
            .arg("--tool=callgrind")
            .arg(option("--callgrind-out-file=", &counts))
            .arg(executable)
            .args([self.workload, &times.to_string(), &self.size.to_string()]);
        without_settings(&mut command);
        if records {
            command
                .env("HEAPGLASS_OUT", &recording)
                .env("HEAPGLASS_MODE", "exact");
        }
        wait(setting, &mut command, &setting.folder.join("program"))?;
        let counts = fs::read(&counts).map_err(|error| format!("callgrind: {error}"))?;
        let counts = Counts::parse(&String::from_utf8_lossy(&counts))?;
        if !records {
            return Ok(counts.all);
        }
        if !recording.is_file() {
            return Err(format!("{}: nothing was recorded", self.name));
        }
        let mut left = counts.all;
        for function in LEFT_OUT {
            left -= counts
                .of_left_out
                .get(function)
                .ok_or_else(|| format!("callgrind knows no {function}: was it inlined?"))?;
        }
        Ok(left)
    }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

/// The instructions in a file of callgrind.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    all: u64,
    /// Those of the functions that are left out, and of what they called.
    of_left_out: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn parse(text: &str) -> Result<Counts, String> {
        let mut counts = Counts::default();
        // A name is written only the first time, with a number in parentheses.
        let mut names: BTreeMap<&str, Option<&'static str>> = BTreeMap::new();
        let (mut current, mut called) = (None, None);
        for line in text.lines() {
            if let Some(total) = line.strip_prefix("summary: ") {
                counts.all = total
                    .trim()
                    .parse()
                    .map_err(|_| format!("callgrind wrote {line:?}"))?;
            } else if let Some(function) = line.strip_prefix("fn=") {
                current = left_out(&mut names, function);
            } else if let Some(function) = line.strip_prefix("cfn=") {
                called = left_out(&mut names, function);
            } else if line
                .starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            {
                // The line after that of a call has the instructions of what was called. If that is
                // left out too, they count there.
                let is_counted_there = called.take().is_some();
                let Some(function) = current.filter(|_| !is_counted_there) else {
                    continue;
                };
                let cost = line
                    .split(' ')
                    .next_back()
                    .and_then(|cost| cost.parse().ok());
                let cost: u64 = cost.ok_or_else(|| format!("callgrind wrote {line:?}"))?;
                *counts.of_left_out.entry(function).or_default() += cost;
            }
        }
        if counts.all == 0 {
            return Err("callgrind wrote no summary".to_owned());
        }
        Ok(counts)
    }
}

/// Returns the function that is left out, if `(number) name` or `(number)` is one.
fn left_out<'t>(
    names: &mut BTreeMap<&'t str, Option<&'static str>>,
    function: &'t str,
) -> Option<&'static str> {
    let (number, name) = function.split_once(' ').unwrap_or((function, ""));
    if !name.is_empty() {
        let known = LEFT_OUT.into_iter().find(|known| name.ends_with(known));
        names.insert(number, known);
    }
    names.get(number).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_counts_with_what_it_calls() {
        let text = "\
events: Ir
summary: 1000

fl=(1) x.rs
fn=(1) main
10 400
cfn=(2) heapglass_recorder::hook::peak::after_check
calls=2 30
11 100
12 7

fn=(2)
30 40
+1 20
cfn=(3) heapglass_recorder::hook::resident::read_if_due
calls=1 50
* 40

fn=(3)
50 40

fn=(4) heapglass_recorder::hook::looks::look
-3 9

fn=(6) heapglass_recorder::hook::event::look_entered
4 2
cfn=(4)
calls=1 7
5 9
6 1

fn=(5) heapglass_recorder::hook::looks::look_around
1 5000
";
        let expected = Counts {
            all: 1000,
            of_left_out: [
                ("hook::peak::after_check", 100),
                ("hook::looks::look", 9),
                ("hook::event::look_entered", 3),
            ]
            .into(),
        };
        assert_eq!(Counts::parse(text), Ok(expected));
        assert!(Counts::parse("fn=(1) main\n1 2\n").is_err());
    }

    #[test]
    fn figures_of_another_toolchain_are_not_compared() {
        let kept = |rustc: &str| Kept {
            date: "2026-11-28".to_owned(),
            architecture: "x86_64".to_owned(),
            rustc: rustc.to_owned(),
            valgrind: "valgrind-3.19.0".to_owned(),
            figures: BTreeMap::new(),
        };
        assert_eq!(other_toolchain(&kept("1.95"), &kept("1.95")), None);
        let reason = other_toolchain(&kept("1.95"), &kept("1.96")).expect("another compiler");
        assert!(
            reason.contains("1.95") && reason.contains("1.96"),
            "{reason}"
        );
    }

    #[test]
    fn every_workload_has_a_kept_figure() {
        let kept: Kept =
            serde_json::from_str(include_str!("../../instructions.json")).expect("kept figures");
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(kept.figures.keys().collect::<Vec<_>>(), names);
        let known: Vec<&str> = peers_work::WORKLOADS.iter().map(|one| one.name).collect();
        assert!(CASES.iter().all(|case| known.contains(&case.workload)));
    }
}
