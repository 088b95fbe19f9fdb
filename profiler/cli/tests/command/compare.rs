//! `heapglass diff` and `heapglass check`: the figures of the report, exit statuses, and one line
//! for bad input.

use std::fs;

use crate::common::Place;

/// Another input for the demo target, longer than the usual one.
const LONGER: &str = r#"{"packages": [], "workspace_members": ["one", "two", "three", "four"], "resolve": null,
    "workspace_root": "/w", "target_directory": "/t", "version": 1, "metadata": ["one", {"two": [1, 2, 3, 4, 5, 6, 7]}]}"#;

#[test]
fn a_recording_compared_with_itself_differs_in_nothing() {
    let place = Place::new();
    place.record("x.hg");
    for by in [
        "site", "owner", "function", "crate", "module", "type", "field", "phase", "thread", "arena",
    ] {
        let done = place.run(&["diff", "x.hg", "x.hg", "--by", by]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert!(
            done.stdout.contains("Nothing differs"),
            "{by}: {}",
            done.stdout
        );
    }
    let done = place.run(&["diff", "x.hg", "x.hg", "--and-base", "x.hg", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["equal"], true);
    assert_eq!(said["base"].as_array().unwrap().len(), 2);
}

#[test]
fn totals_of_both_sides_are_those_of_their_reports() {
    let place = Place::new();
    place.record("a.hg");
    fs::write(place.path("input.json"), LONGER).unwrap();
    place.record("b.hg");
    let done = place.run(&["diff", "a.hg", "b.hg", "--json", "-o", "diff.json"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let said = fs::read_to_string(place.path("diff.json")).unwrap();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let (a, b) = (place.report("a.hg"), place.report("b.hg"));
    assert_eq!(said["equal"], false);
    for total in said["totals"].as_array().unwrap() {
        let key = total["measure_key"].as_str().unwrap();
        assert_eq!(total["base"]["median"], a["totals"][key], "{key}");
        assert_eq!(total["new"]["median"], b["totals"][key], "{key}");
    }
    let done = place.run(&["diff", "a.hg", "b.hg", "-o", "diff.svg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("difference"), "{}", done.stdout);
    let svg = fs::read_to_string(place.path("diff.svg")).unwrap();
    assert!(svg.contains("a.hg -&gt; b.hg"), "{svg}");
}

#[test]
fn a_check_fails_with_status_1_and_passes_with_0() {
    let place = Place::new();
    place.record("x.hg");
    let peak = place.report("x.hg")["totals"]["peak_bytes"]
        .as_u64()
        .unwrap();
    let check = |most: u64, more: &[&str]| {
        let most = most.to_string();
        place.run(&[&["check", "x.hg", "--max-peak", &most], more].concat())
    };
    let passed = check(peak, &[]);
    assert_eq!(passed.status, Some(0), "{}", passed.stdout);
    assert!(
        passed.stdout.contains("x.hg: the check passed"),
        "{}",
        passed.stdout
    );
    let failed = check(peak / 2, &[]);
    assert_eq!(failed.status, Some(1), "{}", failed.stdout);
    assert!(
        failed.stdout.contains("FAILED  program: peak"),
        "{}",
        failed.stdout
    );
    let json = check(peak / 2, &["--json"]);
    assert_eq!(json.status, Some(1));
    let said: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&said["passed"], &said["checks"][0]["value"]),
        (&false.into(), &peak.into())
    );
    for (times, status) in [("0.5", 1), ("1000000", 0)] {
        let amplified = place.run(&["check", "x.hg", "--max-amplification", times]);
        assert_eq!(amplified.status, Some(status), "{}", amplified.stdout);
    }
    let markdown = check(peak / 2, &["--markdown", "-o", "comment.md"]);
    assert_eq!(markdown.status, Some(1));
    let comment = fs::read_to_string(place.path("comment.md")).unwrap();
    assert!(
        comment.starts_with("### heapglass: the check failed"),
        "{comment}"
    );
}

#[test]
fn bad_budgets_and_flags_are_one_line_and_status_2() {
    let place = Place::new();
    place.record("x.hg");
    let budgets: [(&[u8], &str); 6] = [
        (b"[total]\npeek = 1", "unknown key `peek`"),
        (b"[total]\npeak = \"many\"", "`many` is not a size"),
        (
            b"[field.\"No.such\"]\npeak = 1",
            "no field of x.hg matches \"No.such\"",
        ),
        (b"[total]\ncopied = 1", "allow_copied"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "has no limits"),
    ];
    for (budget, said) in budgets {
        fs::write(place.path("budget.toml"), budget).unwrap();
        let done = place.run(&["check", "x.hg", "--budget", "budget.toml"]);
        assert_eq!(done.status, Some(2), "{said}: {}", done.stdout);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert!(done.stderr.contains("budget.toml: "), "{}", done.stderr);
        assert!(done.stderr.contains(said), "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    for (words, said) in [
        (
            &["check", "x.hg", "--budget", "none.toml"][..],
            "none.toml: cannot read the budget",
        ),
        (&["check", "x.hg"], "nothing to check"),
        (&["check", "x.hg", "--max-copied", "1MiB"], "allow_copied"),
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}");
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert!(done.stderr.contains(said), "{words:?}: {}", done.stderr);
    }
    for words in [
        ["--max-peak", "much"],
        ["--max-blocks", "-1"],
        ["--max-amplification", "NaN"],
        ["--max-amplification", "-2"],
    ] {
        let done = place.run(&["check", "x.hg", words[0], words[1]]);
        assert_eq!(done.status, Some(2), "{words:?}");
    }
}

#[test]
fn growth_between_two_moments_is_that_of_the_totals_and_can_be_limited() {
    let place = Place::new();
    place.record("x.hg");
    let totals = place.report("x.hg")["totals"].clone();
    for by in [
        "site", "owner", "function", "crate", "module", "type", "field", "phase",
    ] {
        let words = [
            "report", "x.hg", "--from", "start", "--to", "end", "--by", by, "--json",
        ];
        let done = place.run(&words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let said: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(said["from_bytes"], 0);
        assert_eq!(said["to_bytes"], totals["live_bytes"], "{by}");
        assert_eq!(said["to_blocks"], totals["live_blocks"], "{by}");
        let rows = said["rows"].as_array().unwrap().iter();
        let sum: u64 = rows.map(|row| row["to_bytes"].as_u64().unwrap()).sum();
        if by != "function" {
            assert_eq!(totals["live_bytes"], sum, "{by}");
        }
    }
    for (words, why) in [
        (
            ["--from", "nothing", "--to", "end"],
            "neither a mark or phase",
        ),
        (["--from", "end", "--to", "start"], "nothing lies between"),
        (
            ["--from", "start", "--by", "thread"],
            "checkpoints have live bytes by site",
        ),
        (
            ["--to", "end", "--by", "holder"],
            "checkpoints have no figures",
        ),
    ] {
        let done = place.run(&[&["report", "x.hg"], &words[..]].concat());
        assert_eq!(done.status, Some(2), "{}", done.stdout);
        assert!(done.stderr.contains(why), "{}", done.stderr);
    }
    let check = |most: &str| {
        let moments = ["--from", "start", "--to", "end"];
        let words = [&["check", "x.hg", "--max-growth", most], &moments[..]].concat();
        place.run(&words)
    };
    for (most, status) in [("1GiB", 0), ("1GiB/s", 0), ("0", 1), ("0/s", 1), ("5%", 1)] {
        let done = check(most);
        assert_eq!(done.status, Some(status), "{most}: {}", done.stdout);
        assert!(
            done.stdout.contains("growth from the start"),
            "{}",
            done.stdout
        );
    }
    let refused = check("5 apples");
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("10KiB/s"), "{}", refused.stderr);
    for (budget, status) in [
        (
            "[growth]\nmax = \"1 GiB\"\nfrom = \"start\"\nto = \"end\"\n",
            0,
        ),
        ("[growth]\nmax = \"0\"\nfrom = \"start\"\nto = \"end\"\n", 1),
        ("[growth]\nmost = \"0\"\n", 2),
        ("[growth]\nfrom = \"start\"\n", 2),
    ] {
        fs::write(place.path("budget.toml"), budget).unwrap();
        let done = place.run(&["check", "x.hg", "--budget", "budget.toml"]);
        assert_eq!(done.status, Some(status), "{budget}: {}", done.stderr);
    }
}
