//! `heapglass advise`: text and JSON have the same findings, and the summary of a run has the
//! largest of them.

use std::fs;

use crate::common::{HEAPGLASS, Place};

/// An input of which the demo target makes a tree of values that is worth a finding.
fn with_tree(place: &Place) {
    let object = r#"{"one": 1, "two": [2, 3], "three": {"four": "five"}}"#;
    let text = format!(
        r#"{{"packages": [], "workspace_members": [], "resolve": null, "workspace_root": "/w",
            "target_directory": "/t", "version": 1, "metadata": [{}]}}"#,
        vec![object; 500].join(",")
    );
    fs::write(place.path("input.json"), text).unwrap();
}

#[test]
fn findings_are_in_the_summary_in_text_and_in_json() {
    let place = Place::new();
    with_tree(&place);
    let target = [HEAPGLASS, "demo", "--target", "input.json"];
    let done = place.run(&[&["run", "--out", "x.hg", "--"][..], &target].concat());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let mut lines = done.stderr.lines();
    let line = lines
        .find(|line| line.starts_with("  advice      saves about "))
        .unwrap_or_else(|| panic!("{}", done.stderr));
    assert!(
        line.contains(" at the peak: value_tree  src/demo/target.rs:"),
        "{line}"
    );
    let done = place.run(&["advise", "x.hg", "--json"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(json["format"], 1);
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings[0]["kind"], "value_tree");
    assert_eq!(findings[0]["saves_of"], "peak");
    // The largest saving of each list is first.
    for list in findings.chunk_by(|one, other| one["saves_of"] == other["saves_of"]) {
        let sizes = list.iter().map(|finding| finding["saves_bytes"].as_u64());
        assert!(sizes.rev().is_sorted(), "{json:#}");
    }
    let text = place.run(&["advise", "x.hg"]);
    assert_eq!((text.status, text.stderr.as_str()), (Some(0), ""));
    for finding in findings {
        let remedy = finding["remedy"].as_str().unwrap();
        let first_words: Vec<&str> = remedy.split(' ').take(2).collect();
        assert!(text.stdout.contains(&first_words.join(" ")), "{remedy}");
    }
    let one = place.run(&["advise", "x.hg", "--all", "--top", "1", "-o", "one.txt"]);
    assert_eq!(one.status, Some(0), "{}", one.stderr);
    let one = fs::read_to_string(place.path("one.txt")).unwrap();
    assert!(one.contains(" 1. ") && !one.contains(" 2. "), "{one}");
    assert!(one.contains("not shown (--top)"), "{one}");
}

#[test]
fn a_program_without_a_problem_gets_no_finding() {
    let place = Place::new();
    let target = [HEAPGLASS, "demo", "--target", "input.json"];
    let done = place.run(&[&["run", "--out", "x.hg", "--"][..], &target].concat());
    assert!(!done.stderr.contains("advice"), "{}", done.stderr);
    let done = place.run(&["advise", "x.hg"]);
    assert_eq!(done.stdout, "No findings. --all also lists small ones.\n");
    let done = place.run(&["advise", "x.hg", "--json", "--top", "0"]);
    assert_eq!(done.status, Some(2), "{}", done.stdout);
}

#[test]
fn a_recording_without_stacks_says_why_there_is_no_advice() {
    let place = Place::new();
    with_tree(&place);
    let target = [HEAPGLASS, "demo", "--target", "input.json"];
    let run = ["run", "-q", "--mode", "count", "--out", "x.hg", "--"];
    place.run(&[&run[..], &target].concat());
    let done = place.run(&["advise", "x.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stdout.contains("No stacks were recorded"),
        "{}",
        done.stdout
    );
}
