//! The time that is recorded: `heapglass run --delay --duration`, `heapglass pause` and `resume`.

use serde_json::Value;

use crate::common::{Place, skipped, wait_until};
use crate::snapshot::{Waiting, exchange};

const SECOND: u64 = 1_000_000_000;

/// Waits until the program of a run was asked to pause, or to record.
fn wait_for(place: &Place, is_paused: bool) {
    wait_until("the word", || {
        (exchange(&place.path("a.hg")).paused != 0) == is_paused
    });
}

fn number(json: &Value, key: &str) -> u64 {
    json[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key}: {json}"))
}

/// Returns beginning and end of a pause.
fn pause(report: &Value, index: usize) -> (u64, u64) {
    let pause = &report["pauses"][index];
    (number(pause, "begin_ns"), number(pause, "end_ns"))
}

fn first_loss(report: &Value) -> String {
    report["losses"][0].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_program_that_ends_before_its_delay_is_not_recorded() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &["--delay", "1000"]);
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let said = "Paused from the beginning to the end: blocks allocated then are not recorded";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let report = place.report("a.hg");
    assert_eq!(number(&report["totals"], "total_blocks"), 0);
    assert_eq!(number(&report, "pause_count"), 1);
    assert_eq!(pause(&report, 0).1, number(&report, "duration_ns"));
}

#[test]
fn a_linked_program_is_recorded_after_its_delay() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &["--delay", "0.3"]);
    wait_for(&place, false);
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let report = place.report("a.hg");
    assert!(number(&report["totals"], "total_blocks") > 3_000);
    assert_eq!(number(&report, "pause_count"), 1);
    let (begin, end) = pause(&report, 0);
    // The recording begins a little after the command.
    assert!(begin < end && end > SECOND / 10, "{begin} {end}");
    assert_eq!(number(&report, "paused_ns"), end - begin);
    let loss = first_loss(&report);
    assert!(loss.starts_with("Paused until "), "{loss}");
    let text = place.run(&["report", "a.hg", "--details"]).stdout;
    assert!(
        text.contains("Paused until ") && text.contains(" recorded, pid"),
        "{text}"
    );
}

#[test]
fn recording_ends_after_its_duration() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &["--duration", "0.2"]);
    wait_for(&place, true);
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let report = place.report("a.hg");
    assert_eq!(number(&report, "pause_count"), 1);
    let (begin, end) = pause(&report, 0);
    assert!(begin > SECOND / 10 && end == number(&report, "duration_ns"));
    let loss = first_loss(&report);
    assert!(
        loss.starts_with("Paused from ") && loss.contains(" on: "),
        "{loss}"
    );
}

#[test]
fn a_preloaded_program_is_recorded_in_its_window() {
    let place = Place::new();
    let program =
        r#"$end = time + 3; while (time < $end) { my @texts = map { "text $_ " x 100 } 1..1000; }"#;
    let words = [
        "run",
        "--out",
        "a.hg",
        "--delay",
        "0.5",
        "--duration",
        "0.5",
    ];
    let run = place.run(&[&words[..], &["--", "perl", "-e", program]].concat());
    if run.status == Some(127) {
        return skipped("there is no perl");
    }
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let report = place.report("a.hg");
    assert_eq!(number(&report, "pause_count"), 2, "{}", run.stderr);
    let ((_, first), (second, end)) = (pause(&report, 0), pause(&report, 1));
    assert!(first > SECOND / 4 && second > first, "{first} {second}");
    let recorded = second - first;
    assert!(recorded > SECOND / 4 && recorded < 2 * SECOND, "{recorded}");
    assert_eq!(end, number(&report, "duration_ns"));
    assert!(number(&report["totals"], "total_blocks") > 1_000);
    // Blocks of the interpreter are older than the window.
    assert!(number(&report["lost"], "unknown_frees") > 0);
    let said = "from before the recording or from a pause could not be counted";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}

#[test]
fn a_running_program_is_paused_and_resumed_by_its_recording() {
    let place = Place::new();
    let waiting = Waiting::start(&place, &[]);
    let done = place.run(&["pause", "a.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    // The target allocates nothing before it has its input.
    assert!(
        done.stderr
            .contains("it pauses the recording at its next allocation"),
        "{}",
        done.stderr
    );
    assert_eq!(exchange(&place.path("a.hg")).paused, 1);
    let done = place.run(&["resume", "a.hg"]);
    assert!(
        done.stderr.contains("a.hg: recording again"),
        "{}",
        done.stderr
    );
    let done = place.run(&["pause", "a.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let run = waiting.finish();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(number(&place.report("a.hg"), "pause_count"), 1);
    for (command, target, said) in [
        ("pause", "a.hg", "nothing records into it any more"),
        ("resume", "a.hg", "nothing records into it any more"),
        ("pause", "b.hg", "no recording, and no process ID"),
        ("resume", ".", "no recording, and no process ID"),
    ] {
        let done = place.run(&[command, target]);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains(said), "{}", done.stderr);
    }
}

#[test]
fn times_are_seconds_or_have_units() {
    let place = Place::new();
    for wrong in ["0", "-1", "soon", "nan", "1w"] {
        let delay = format!("--delay={wrong}");
        let done = place.run(&["run", &delay, "--", "true"]);
        assert_eq!(done.status, Some(2), "{wrong}: {}", done.stderr);
        assert!(
            done.stderr.contains("is not a time; write seconds"),
            "{}",
            done.stderr
        );
    }
    for right in ["5", "0.5", "5s", "2min", "1h", "10ms"] {
        let delay = format!("--delay={right}");
        let done = place.run(&["run", &delay, "--", "./no-such-program"]);
        assert!(!done.stderr.contains("is not a time"), "{}", done.stderr);
        assert!(done.stderr.contains("no-such-program"), "{}", done.stderr);
    }
}
