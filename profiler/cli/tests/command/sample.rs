//! Mode `sample`: `heapglass run --mode sample`, `heapglass set`, and what is refused of estimates.

use serde_json::Value;

use crate::common::Place;
use crate::snapshot::Waiting;

/// Records the waiting program to its end.
fn recorded(place: &Place, flags: &[&str]) -> String {
    let run = Waiting::start(place, flags).finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    run.stderr
}

#[test]
fn a_sampled_run_shows_estimates_with_intervals() {
    let place = Place::new();
    let flags = [
        "--mode",
        "sample",
        "--sample-bytes",
        "4KiB",
        "--sample-counts",
    ];
    let said = recorded(&place, &flags);
    assert!(said.contains("Figures with ~ are estimates"), "{said}");
    assert!(!said.contains("--snapshot"), "{said}");
    let text = place.run(&["report", "a.hg"]).stdout;
    assert!(
        text.contains("~peak") && text.contains("95 % interval"),
        "{text}"
    );
    let report = place.report("a.hg");
    assert_eq!(report["exact"], false);
    assert_eq!(
        (&report["mode"], &report["sample_bytes"]),
        (&"sample".into(), &4096.into())
    );
    let totals = &report["totals"];
    // Exact figures have no ends.
    for exact in ["total_bytes", "total_blocks", "freed_bytes", "freed_blocks"] {
        assert!(totals[exact].is_u64() && totals[format!("{exact}_low")].is_null());
    }
    let holds = |of: &Value, key: &str| {
        let end = |end: &str| of[format!("{key}{end}")].as_u64().expect("an end");
        assert!(
            end("_low") <= end("") && end("") <= end("_high"),
            "{key}: {of}"
        );
    };
    for row in report["rows"].as_array().expect("rows") {
        for key in ["peak_bytes", "live_bytes", "total_bytes", "total_blocks"] {
            holds(row, key);
        }
    }
    holds(totals, "peak_bytes");

    let advise = place.run(&["advise", "a.hg"]);
    assert!(
        advise.stdout.contains("No advice from estimates"),
        "{}",
        advise.stdout
    );
    let refused = place.run(&["check", "a.hg", "--max-peak", "1GiB"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    let checked = place.run(&["check", "a.hg", "--max-total", "1TiB"]);
    assert_eq!(checked.status, Some(0), "{}", checked.stderr);
    let own = place.run(&["diff", "a.hg", "a.hg", "--json"]);
    assert_eq!(own.status, Some(0), "{}", own.stderr);
}

#[test]
fn sampled_and_exact_recordings_are_not_compared_and_snapshots_are_refused() {
    let place = Place::new();
    recorded(&place, &[]);
    std::fs::rename(place.path("a.hg"), place.path("exact.hg")).expect("renamed");
    std::fs::remove_file(place.path("pipe")).expect("removed");
    recorded(&place, &["--mode", "sample"]);
    for words in [
        &["diff", "exact.hg", "a.hg"][..],
        &["diff", "exact.hg", "a.hg", "-o", "x.html"],
        &["export", "exact.hg", "--to", "html", "--base", "a.hg"],
        &["export", "a.hg", "--to", "html", "--base", "exact.hg"],
        &["tui", "exact.hg", "--base", "a.hg"],
        &["tui", "a.hg", "--base", "exact.hg"],
        &["check", "exact.hg", "--against", "a.hg"],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}");
        assert!(done.stdout.is_empty(), "{words:?}: {}", done.stdout);
        assert!(
            done.stderr
                .contains("a.hg has estimates from samples and exact.hg exact figures"),
            "{words:?}: {}",
            done.stderr
        );
    }
    assert!(!place.path("x.html").exists());
    let run = place.run(&["run", "--mode", "sample", "--snapshot", "--", "true"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("a snapshot needs every block"),
        "{}",
        run.stderr
    );
    for wrong in ["0", "2TiB", "many"] {
        let run = place.run(&[
            "run",
            "--mode",
            "sample",
            "--sample-bytes",
            wrong,
            "--",
            "true",
        ]);
        assert_eq!(run.status, Some(2), "{wrong}");
    }
}

#[test]
fn a_running_program_is_set_to_sample_and_never_back() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &[]);
    let set = place.run(&["set", "a.hg", "--mode", "sample", "--sample-bytes", "64KiB"]);
    assert_eq!(set.status, Some(0), "{}", set.stderr);
    assert!(
        set.stderr.contains("one sample for each 64.0 KiB") || set.stderr.contains("changes soon"),
        "{}",
        set.stderr
    );
    let back = place.run(&["set", "a.hg", "--mode", "exact"]);
    assert_eq!(back.status, Some(2));
    assert!(
        back.stderr.contains("cannot become exact"),
        "{}",
        back.stderr
    );
    assert_eq!(waiting.finish().status, Some(0));
    let report = place.report("a.hg");
    assert_eq!(
        (&report["mode"], &report["exact"]),
        (&"sample".into(), &false.into())
    );
    assert!(report["sampled_since_ns"].as_u64() > Some(0), "{report}");
    let over = place.run(&["set", "a.hg", "--mode", "sample"]);
    assert_eq!(over.status, Some(2), "{}", over.stderr);
}
