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
    // Numbers of blocks have no upper end.
    let is_bounded_below = |of: &Value, key: &str| {
        let low = of[format!("{key}_low")].as_u64().expect("a lower end");
        assert!(Some(low) <= of[key].as_u64(), "{key}: {of}");
        assert!(
            of.get(format!("{key}_high")).is_some_and(Value::is_null),
            "{key}: {of}"
        );
    };
    for row in report["rows"].as_array().expect("rows") {
        for key in ["peak_bytes", "live_bytes", "total_bytes"] {
            holds(row, key);
        }
        for key in ["peak_blocks", "live_blocks", "total_blocks", "grows"] {
            is_bounded_below(row, key);
        }
    }
    holds(totals, "peak_bytes");
    is_bounded_below(totals, "live_blocks");
    assert!(text.contains(" in at least "), "{text}");
    let by_owner = place.run(&["report", "a.hg", "--by", "owner"]).stdout;
    assert!(by_owner.contains(">=blocks"), "{by_owner}");
    let by_blocks = place.run(&["report", "a.hg", "--measure", "blocks"]).stdout;
    assert!(!by_blocks.contains("95 % interval"), "{by_blocks}");
    let csv = place
        .run(&["export", "a.hg", "--to", "csv", "-o", "-"])
        .stdout;
    let titles = csv.lines().next().unwrap_or_default();
    assert!(
        titles.contains("total_blocks,total_blocks_low,total_blocks_high"),
        "{titles}"
    );

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
    let own = place.run(&[
        "diff",
        "a.hg",
        "a.hg",
        "--by",
        "owner",
        "--json",
        "--measure",
        "grows",
    ]);
    assert_eq!(own.status, Some(0), "{}", own.stderr);
    let own: Value = serde_json::from_str(&own.stdout).expect("JSON");
    let of_all = own["totals"].as_array().expect("totals");
    for total in of_all {
        // With `--sample-counts`, blocks allocated are known.
        let is_known = total["measure"] != "grows";
        assert_eq!(total["verdict"] == "not_known", !is_known, "{total}");
        assert_eq!(total["difference"].is_null(), !is_known, "{total}");
    }
}

#[test]
fn a_run_without_a_sample_says_what_is_not_known() {
    let place = Place::new();
    let said = recorded(&place, &["--mode", "sample", "--sample-bytes", "1TiB"]);
    assert!(said.contains("in at least 0 blocks"), "{said}");
    assert!(said.contains("~0 B (at most "), "{said}");
    let totals = place.report("a.hg")["totals"].clone();
    let most = totals["total_bytes"].as_u64().expect("exact bytes");
    for key in ["peak_bytes", "live_bytes"] {
        let end = |end: &str| totals[format!("{key}_{end}")].as_u64();
        assert_eq!((end("low"), end("high")), (Some(0), Some(most)), "{totals}");
    }
    for key in ["total_blocks", "live_blocks", "peak_blocks"] {
        assert_eq!(totals[format!("{key}_low")], 0, "{totals}");
        assert!(totals[format!("{key}_high")].is_null(), "{totals}");
    }
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
        set.stderr.contains("one sample for each 64.0 KiB")
            || set
                .stderr
                .contains("it begins to sample at its next allocation"),
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
