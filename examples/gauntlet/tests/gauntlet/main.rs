//! Tests the gauntlet as a whole: no technique of the sources is missing, the counts of every case
//! are unchanged, another instrument counts the same, and the runner reports what it cannot do.

mod predict;
mod runner;
mod s0;
mod s1;
mod s2;
mod s3;
mod s4;
mod verdicts;

use heapglass_examples::recorded;
use heapglass_gauntlet as gauntlet;
use heapglass_gauntlet::{Case, Source, Variant};
use heapglass_limits::Command;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;

/// The numbers of the sources' techniques; the first source has no number 13.
const IDS: [&str; 78] = [
    "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11", "0.12", "0.14",
    "0.15", "0.16", "0.17", "0.18", "0.19", "0.20", "0.21", "0.22", "0.23", "0.24", "0.25", "0.26",
    "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12", "1.13",
    "1.14", "1.15", "1.16", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.9", "2.10", "2.11",
    "2.12", "2.13", "2.14", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10",
    "3.11", "3.12", "3.13", "3.14", "3.15", "3.16", "3.17", "4.1", "4.2", "4.3", "4.4", "4.5",
    "4.6", "4.7", "4.8",
];

/// The figures that are compared exactly. Times are not.
const HELD: [&str; 4] = ["total_blocks", "total_bytes", "grows", "peak_bytes"];

fn gauntlet(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet"));
    command.args(words).output().expect("the runner starts")
}

#[test]
fn the_list_has_every_technique_of_the_sources_once_each_line_with_its_system_and_what_the_source_says()
 {
    let output = gauntlet(&["list"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let mut listed = Vec::new();
    for line in text.lines() {
        let (id, rest) = line.split_once(' ').expect("a number, then words");
        let told = rest.split_once(" - ");
        let told = told.is_some_and(|(system, says)| !system.trim().is_empty() && !says.is_empty());
        assert!(told, "{line}");
        listed.push(id);
    }
    let known: BTreeSet<&str> = IDS.into_iter().collect();
    let found: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(found, known);
    assert_eq!(listed.len(), found.len(), "a number stands for one case");
}

/// Runs a variant at a tenth of its size, recorded into `folder`.
fn counted(case: &Case, variant: &Variant, folder: &Path) -> BTreeMap<String, u64> {
    let name: String = variant
        .name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let path = folder.join(format!("{}-{name}.hg", case.id));
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet"));
    command
        .args(["child", case.id, variant.name, "--pass", "count"])
        .args(["--with", "heapglass", "--divisor", "10"])
        .env("GAUNTLET_ALLOC", variant.allocator.unwrap_or("glibc"))
        .env("GAUNTLET_PASS", "count")
        .env("HEAPGLASS_OUT", &path);
    let output = command.output().expect("the runner starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} {}: {said}",
        case.id,
        variant.name
    );
    recorded::window(&path).unwrap_or_else(|why| panic!("{} {}: {why}", case.id, variant.name))
}

/// Returns the compared figures of a variant, or the reason why there are none.
fn held(case: &Case, variant: &Variant, folder: &Path) -> Value {
    let figures = counted(case, variant, folder);
    if let Some(why) = variant.varies {
        return json!(format!("varies: {why}"));
    }
    // If several threads allocate around the peak, it is only known within a bound, and the bound
    // itself varies.
    let exact = !figures.contains_key("peak_error_bytes");
    let names = HELD
        .into_iter()
        .filter(|name| exact || *name != "peak_bytes");
    names
        .map(|name| (name.to_owned(), json!(figures[name])))
        .collect::<Map<_, _>>()
        .into()
}

#[test]
#[cfg_attr(
    any(
        feature = "nightly",
        feature = "peers",
        feature = "s0",
        feature = "tcmalloc"
    ),
    ignore = "the golden file is of the default build"
)]
fn every_case_counts_what_it_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = gauntlet::all().filter(|case| case.source() != Source::Data);
    let work: Vec<(&Case, &Variant)> = cases
        .flat_map(|case| case.variants.iter().map(move |variant| (case, variant)))
        .collect();
    let (next, found) = (
        Mutex::new(work.iter()),
        Mutex::new(BTreeMap::<&str, Map<String, Value>>::new()),
    );
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let work = next.lock().expect("the other thread lives").next();
                    let Some((case, variant)) = work else { break };
                    let held = held(case, variant, folder.path());
                    let mut found = found.lock().expect("the other thread lives");
                    found
                        .entry(case.id)
                        .or_default()
                        .insert(variant.name.to_owned(), held);
                }
            });
        }
    });
    let found = json!({"format": 1, "cases": found.into_inner().expect("both threads are done")});
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden.json");
    if std::env::var_os("HEAPGLASS_BLESS").is_some_and(|value| value == "1") {
        let text = serde_json::to_string_pretty(&found).expect("JSON") + "\n";
        return std::fs::write(&golden, text).expect("the golden can be written");
    }
    let text = std::fs::read_to_string(&golden).unwrap_or_default();
    let kept: Value = serde_json::from_str(&text).unwrap_or_default();
    let differences = differences(&kept["cases"], &found["cases"]);
    assert!(
        differences.is_empty(),
        "{} is not what was counted; if it should be, `cargo bless` writes it anew:\n{}",
        golden.display(),
        differences.join("\n")
    );
}

/// Returns one line for each variant that differs.
fn differences(kept: &Value, found: &Value) -> Vec<String> {
    let names = |value: &Value| {
        value
            .as_object()
            .map(|map| map.keys().cloned().collect())
            .unwrap_or_default()
    };
    let both = |kept: &Value, found: &Value| {
        let names: (BTreeSet<String>, BTreeSet<String>) = (names(kept), names(found));
        names.0.union(&names.1).cloned().collect::<Vec<_>>()
    };
    let mut lines = Vec::new();
    for case in both(kept, found) {
        for variant in both(&kept[&case], &found[&case]) {
            let (mut before, mut now) = (
                kept[&case][&variant].clone(),
                found[&case][&variant].clone(),
            );
            // With several threads, their timing decides if the peak is known exactly. If both
            // peaks are exact, compares them.
            for (one, other) in [
                (&mut before, &now.clone()),
                (&mut now, &kept[&case][&variant]),
            ] {
                if let (Some(one), Some(other)) = (one.as_object_mut(), other.as_object())
                    && !other.contains_key("peak_bytes")
                {
                    one.remove("peak_bytes");
                }
            }
            if before != now {
                lines.push(format!("{case} {variant}: {before} -> {now}"));
            }
        }
    }
    lines
}

#[test]
fn dhat_and_stats_alloc_count_the_airlines_as_heapglass_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet"));
    let output = command
        .args(["run", "3.7", "--quick", "--no-times", "--json"])
        .args(["--with", "heapglass,dhat", "--with", "stats_alloc"])
        .env("CARGO_TARGET_DIR", folder.path())
        .output()
        .expect("the runner starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = said["cases"][0]["variants"].as_array().expect("rows");
    assert_eq!(rows.len() % 3, 0);
    for rows in rows.chunks(3) {
        let [ours, dhat, stats] = rows else {
            unreachable!("chunks of three")
        };
        assert_eq!(
            [&ours["with"], &dhat["with"], &stats["with"]],
            ["heapglass", "dhat", "stats_alloc"]
        );
        for name in [
            "total_blocks",
            "total_bytes",
            "live_bytes",
            "peak_bytes",
            "peak_blocks",
        ] {
            assert_eq!(
                ours["figures"][name], dhat["figures"][name],
                "{} {name}",
                ours["variant"]
            );
        }
        for name in ["total_blocks", "live_bytes"] {
            assert_eq!(
                ours["figures"][name], stats["figures"][name],
                "{} {name}",
                ours["variant"]
            );
        }
    }
}

#[test]
fn what_is_published_has_each_case_its_source_and_verdict_and_what_is_not_judged_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet"));
    let output = command
        .args([
            "publish", "0.3", "0.21", "2.11", "--quick", "--runs", "1", "--rounds", "1",
        ])
        // The same build again: what is published is of both.
        .args(["--second", env!("CARGO_BIN_EXE_gauntlet")])
        .arg("--into")
        .arg(folder.path())
        .env("CARGO_TARGET_DIR", folder.path())
        .output()
        .expect("the runner starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the 2 runs have the same verdicts"), "{said}");
    let page = |name| std::fs::read_to_string(folder.path().join(name)).expect("a page");
    let measured = page("measured.md");
    for line in [
        "the last of 2 runs",
        ", two builds in turns",
        "3 cases: 1 reproduced, 0 stronger, 0 weaker, 1 contradicted, 1 not judged.",
        "\n### 0.21 ",
        "\n  source: ",
        "\n  counts that follow from its words (exact, no tolerance): as predicted",
        "a tenth of the work",
        "source 0 exactly; here 1: contradicted, the formula leaves out",
        "\n  not judged (which allocator's times lie furthest apart",
    ] {
        assert!(measured.contains(line), "{line:?} in {measured}");
    }
    let corrections = page("corrections.md");
    for line in [
        "\n### The serde optimization gauntlet: Wasm and arenas\n",
        "\n**0.3, a pre-sized arena",
        ": the source has 0, here it is 1 (an exact figure). The formula leaves out",
        "The verdict of each claim was the same in 2 runs",
        "\n- 2.11, ",
    ] {
        assert!(corrections.contains(line), "{line:?} in {corrections}");
    }
    // A claim that holds is not a correction.
    assert!(!corrections.contains("**0.21"), "{corrections}");
}

#[test]
fn what_is_not_there_is_said_with_what_to_do_and_status_2() {
    let cases: [(&[&str], &str); 4] = [
        (&["run", "9.9"], "cargo gauntlet list"),
        (&["list", "s9"], "cargo gauntlet list"),
        (&["open", "3.7", "nothing"], "it has value"),
        (&["run", "3.7", "--with", "guesses"], "stats_alloc"),
    ];
    for (words, advice) in cases {
        let output = gauntlet(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(advice), "{words:?}: {said}");
    }
}

#[test]
fn without_fetched_files_their_cases_say_how_to_get_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet"));
    let output = command
        .args(["run", "d.1"])
        .env("XDG_CACHE_HOME", folder.path())
        .output()
        .expect("the runner starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cargo gauntlet fetch"), "{said}");
}
