//! The sum of several recordings, as every command reads it.

use std::fs;

use serde_json::Value;

use crate::common::{Done, Place};

fn json(done: &Done) -> Value {
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn a_sum_has_the_sums_of_the_reports_and_every_command_reads_it() {
    let place = Place::new();
    let files = ["a.hg", "b.hg", "c.hg"];
    for name in files {
        place.record(name);
    }
    let words = ["merge", "a.hg", "b.hg", "c.hg", "-o", "sum.hg", "--json"];
    let described = json(&place.run(&words));
    assert_eq!(described["recordings"], 3);
    assert_eq!(described["notes"], Value::Array(Vec::new()));
    let length = fs::metadata(place.path("sum.hg")).unwrap().len();
    assert_eq!(described["recording_bytes"], length);
    let sum = place.report("sum.hg");
    let parts = files.map(|name| place.report(name));
    for (key, figure) in sum["totals"].as_object().unwrap() {
        let expected: u64 = parts
            .iter()
            .map(|part| part["totals"][key].as_u64().unwrap())
            .sum();
        assert_eq!(figure.as_u64(), Some(expected), "{key}");
    }
    assert_eq!(
        (&sum["state"], &sum["peaks"]),
        (&"merged".into(), &"sums of peaks".into())
    );
    assert_eq!(sum["merged"]["left_out_footprints"], 9);
    // The order does not matter, nor what was merged before.
    let whole = fs::read(place.path("sum.hg")).unwrap();
    for words in [
        &["merge", "c.hg", "a.hg", "b.hg", "-o", "x.hg"][..],
        &["merge", "c.hg", "b.hg", "-o", "pair.hg"],
        &["merge", "pair.hg", "a.hg", "-o", "x.hg"],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert!(
            done.stderr.contains("peaks are sums of peaks"),
            "{}",
            done.stderr
        );
    }
    assert!(fs::read(place.path("x.hg")).unwrap() == whole);
    #[cfg(feature = "parquet")]
    {
        let done = place.run(&["export", "sum.hg", "--to", "parquet", "-o", "tables"]);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(
            done.stderr.contains("sum of other recordings"),
            "{}",
            done.stderr
        );
        assert!(!place.path("tables").exists());
    }
    for words in [
        &["report", "sum.hg", "--by", "phase"][..],
        &["report", "sum.hg", "--by", "arena"],
        &["report", "sum.hg", "--by", "field", "--explain"],
        &["advise", "sum.hg"],
        &["flamegraph", "sum.hg", "-o", "sum.svg"],
        &["export", "sum.hg", "--to", "pprof", "-o", "sum.pb.gz"],
        &["export", "sum.hg", "--to", "html", "-o", "sum.html"],
        &["export", "sum.hg", "--to", "dhat", "-o", "sum.json"],
        &["diff", "sum.hg", "sum.hg"],
        &["diff", "a.hg", "sum.hg", "--markdown"],
        &[
            "check",
            "sum.hg",
            "--against",
            "pair.hg",
            "--tolerance",
            "100%",
        ],
        &["pack", "sum.hg", "-o", "packed.hg"],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(0), "{words:?}: {}", done.stderr);
    }
    assert_eq!(place.report("packed.hg")["totals"], sum["totals"]);
    let check = place.run(&["check", "sum.hg", "--max-peak", "1B"]);
    assert_eq!(check.status, Some(1));
    assert!(
        check.stdout.contains("program: sum of peaks"),
        "{}",
        check.stdout
    );
    let done = place.run(&["report", "sum.hg", "--from", "start", "--to", "end"]);
    assert_eq!(done.status, Some(2), "{}", done.stdout);
    assert!(done.stderr.contains("has no moments"), "{}", done.stderr);
    let picture = fs::read_to_string(place.path("sum.svg")).unwrap();
    assert!(picture.contains("sums of peaks"));
    // Packed recordings keep their names where there is no executable.
    for name in ["a", "b"] {
        let (file, packed) = (format!("{name}.hg"), format!("{name}.packed.hg"));
        assert_eq!(place.run(&["pack", &file, "-o", &packed]).status, Some(0));
    }
    let done = place.run(&["merge", "a.packed.hg", "b.packed.hg", "-o", "named.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let named = place.report("named.hg");
    let modules = named["modules"].as_array().unwrap();
    assert!(
        modules.iter().any(|module| module["symbols"] == "packed"),
        "{modules:?}"
    );
    let rows = |report: &Value| report["rows"].as_array().unwrap().len();
    assert_eq!(rows(&named), rows(&parts[0]));
    let done = place.run(&["merge", "a.packed.hg", "b.hg", "-o", "x.hg"]);
    assert!(
        done.stderr.contains("1 of 2 recordings carry symbols"),
        "{}",
        done.stderr
    );
}

#[test]
fn what_cannot_be_merged_is_named_and_nothing_is_written() {
    let place = Place::new();
    place.record("a.hg");
    fs::copy(place.path("a.hg"), place.path("copy.hg")).unwrap();
    let count = place
        .record_from("count.hg", "input.json")
        .env("HEAPGLASS_MODE", "count")
        .status();
    assert!(count.unwrap().success());
    fs::write(place.path("text.hg"), "no recording").unwrap();
    for (words, why) in [
        (
            &["merge", "a.hg", "copy.hg", "-o", "x.hg"][..],
            "copy.hg: the recording of process",
        ),
        (
            &["merge", "a.hg", "count.hg", "-o", "x.hg"],
            "count.hg: cannot be merged with a.hg: its mode",
        ),
        (
            &["merge", "a.hg", "text.hg", "-o", "x.hg"],
            "text.hg: not a heapglass recording",
        ),
        (
            &["merge", "a.hg", "gone.hg", "-o", "x.hg"],
            "gone.hg: no such file",
        ),
        (
            &["merge", "a.hg", "-o", "a.hg"],
            "it is an input of this command",
        ),
        (
            &["merge", "a.hg", "-o", "-", "--json"],
            "write the recording to a file",
        ),
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{words:?}: {}", done.stderr);
        assert!(!place.path("x.hg").exists());
    }
}
