//! Tests rows by holder, and what rows hold in a snapshot.

use super::*;
use heapglass_profiler::profile::Measure;
use heapglass_profiler::question::{Answer, Form, Kind, Of, Question, check, rows as answer};
use heapglass_profiler::snapshot::Held;
use heapglass_profiler::table::{
    HeldRow, HolderRow, HolderRowName, SnapshotAt, all_snapshots, holders, snapshot_at,
};

fn holders_text(profile: &Profile, at: SnapshotAt<'_>, measure: Measure, width: usize) -> String {
    let options = ReportOptions {
        width,
        ..of(at, By::Holder, measure)
    };
    text(profile, &options)
}

fn holders_json(profile: &Profile, at: SnapshotAt<'_>, top: Option<usize>) -> Value {
    let options = ReportOptions {
        top,
        ..of(at, By::Holder, Measure::Retained)
    };
    json(profile, &options)
}

/// Options that show a snapshot.
fn of<'a>(at: SnapshotAt<'a>, by: By, measure: Measure) -> ReportOptions<'a> {
    ReportOptions {
        by,
        snapshot: Some(at),
        measure,
        ..ReportOptions::default()
    }
}

/// The groupings of rows that a snapshot has.
fn groupings() -> impl Iterator<Item = By> {
    let has_rows = |by: &By| check(Kind::Snapshot, Form::Rows, *by, Measure::Retained).is_ok();
    By::COUNTED.into_iter().filter(has_rows)
}

fn held_rows(profile: &Profile, at: SnapshotAt<'_>, by: By, measure: Measure) -> Vec<HeldRow> {
    let question = Question {
        of: Of::Snapshot(at),
        by,
        measure,
        ..Question::default()
    };
    match answer(profile, &question) {
        Ok(Answer::Held(_, rows)) => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_snapshot_is_chosen_by_label_number_or_size() {
    let profile = fixture::with_made_up_snapshots();
    let label = |at: Option<&str>| {
        let found = snapshot_at(&profile, at);
        found.map(|at| at.snapshot.moment().label.clone())
    };
    for (at, expected) in [
        (None, "peak"),
        (Some("loaded"), "loaded"),
        (Some("1"), "loaded"),
        (Some("3"), "exit"),
        (Some("last"), "exit"),
    ] {
        assert_eq!(label(at).as_deref(), Ok(expected), "{at:?}");
    }
    for at in ["0", "4", "-1", "", "Peak", "\u{1b}[2J"] {
        let error = label(Some(at)).unwrap_err();
        assert!(error.contains("1 (loaded), 2 (peak), 3 (exit)"), "{error}");
        assert!(!error.contains('\u{1b}'), "{error}");
    }
    let without = fixture::profile();
    for at in [None, Some("1")] {
        let error = snapshot_at(&without, at).unwrap_err();
        assert!(error.contains("heapglass run --snapshot"), "{error}");
    }
}

#[test]
fn every_byte_of_a_snapshot_is_in_one_holder_and_no_path_has_a_name_twice() {
    let profile = fixture::with_made_up_snapshots();
    for snapshot in profile.snapshots() {
        let rows = holders(&profile, snapshot);
        let outermost = rows.iter().filter(|row| row.parent.is_none());
        let retained: u64 = outermost.map(|row| row.held.retained_bytes).sum();
        let own: u64 = rows.iter().map(|row| row.held.own.bytes).sum();
        assert_eq!([retained, own], [snapshot.bytes(); 2]);
        for (number, row) in rows.iter().enumerate() {
            assert!(row.parent.is_none_or(|parent| parent < number));
            let below: u64 = rows
                .iter()
                .filter(|other| other.parent == Some(number))
                .map(|row| row.held.retained_bytes)
                .sum();
            assert_eq!(row.held.retained_bytes, below + row.held.own.bytes);
            let path: Vec<&HolderRowName> =
                row.path(&rows).into_iter().map(|row| &row.name).collect();
            let distinct: std::collections::HashSet<_> = path.iter().collect();
            assert_eq!(distinct.len(), path.len());
        }
    }
}

#[test]
fn rows_of_any_grouping_have_the_blocks_of_the_snapshot() {
    let profile = fixture::with_made_up_snapshots();
    for at in all_snapshots(&profile) {
        let snapshot = at.snapshot;
        assert_eq!(groupings().count(), By::COUNTED.len() - 2);
        for by in groupings() {
            let rows = held_rows(&profile, at, by, Measure::Retained);
            let sum = |of: fn(&Held) -> u64| rows.iter().map(|row| of(&row.held.own)).sum::<u64>();
            let whole = &snapshot.held()[0];
            assert_eq!(sum(|held| held.bytes), whole.bytes, "{}", by.name());
            assert_eq!(sum(|held| held.unused_bytes), whole.unused_bytes);
            for row in &rows {
                assert!(row.held.retained_bytes >= row.held.own.bytes);
                assert!(row.held.retained_bytes <= whole.bytes);
            }
        }
    }
}

#[test]
fn holders_read_well_at_any_width() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    for width in [40, 80, 100, 120] {
        let text = holders_text(&profile, at, Measure::Retained, width);
        golden(&format!("holders-{width}"), &text);
        assert!(text.lines().all(|line| line.chars().count() <= width));
    }
    golden(
        "holders-unused",
        &holders_text(&profile, at, Measure::Unused, 100),
    );
}

#[test]
fn a_snapshot_is_never_shown_as_the_peak() {
    let profile = fixture::with_made_up_snapshots();
    for label in ["loaded", "peak", "exit"] {
        let at = snapshot_at(&profile, Some(label)).expect("a snapshot");
        let mut texts = vec![holders_text(&profile, at, Measure::Retained, 200)];
        for by in groupings() {
            for measure in Measure::OF_SNAPSHOTS {
                texts.push(text(&profile, &of(at, by, measure)));
            }
        }
        let by_type = ReportOptions {
            ..of(at, By::Type, Measure::Peak)
        };
        let beside = text(&profile, &by_type);
        assert!(beside.contains("retained: what the blocks"), "{beside}");
        for text in texts {
            assert!(text.contains(&at.moment(&profile)), "{text}");
            assert!(text.contains(at.basis()), "{text}");
            assert!(!text.contains("live at the peak"), "{text}");
            assert!(!text.contains("23.3 MiB"), "{text}");
        }
    }
}

#[test]
fn rows_by_site_and_type_show_what_they_retain() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    for by in [By::Site, By::Type] {
        for measure in Measure::OF_SNAPSHOTS {
            let name = format!("{}-{}", by.name(), measure.name());
            golden(&name, &text(&profile, &of(at, by, measure)));
        }
    }
    let beside = ReportOptions {
        by: By::Type,
        snapshot: Some(at),
        ..ReportOptions::default()
    };
    golden("type-beside-a-snapshot", &text(&profile, &beside));
    golden(
        "snapshots-listed",
        &text(&profile, &ReportOptions::default()),
    );
}

#[test]
fn json_has_the_figures_of_the_text() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    let plain = json(&profile, &ReportOptions::default());
    assert_eq!(plain["snapshots"].as_array().map(Vec::len), Some(3));
    assert!(plain.get("snapshot").is_none());
    assert!(plain["rows"][0].get("retained_bytes").is_none());
    for by in groupings() {
        let found = json(&profile, &of(at, by, Measure::Unused));
        assert_eq!(found["measure_key"], "unused_bytes");
        assert_eq!(found["snapshot"]["number"], 2);
        assert_eq!(found["rows_sum_to_totals"], false);
        let rows = held_rows(&profile, at, by, Measure::Unused);
        let shown = found["rows"].as_array().expect("rows");
        assert_eq!(shown.len(), rows.len());
        for (shown, row) in shown.iter().zip(&rows) {
            assert_eq!(shown["key"], row.row.key.as_str());
            assert_eq!(shown["retained_bytes"], row.held.retained_bytes);
            assert_eq!(shown["unused_bytes"].as_u64(), row.held.of(Measure::Unused));
            assert_eq!(shown["known_bytes"], row.held.own.known_bytes);
        }
    }
    let found = holders_json(&profile, at, None);
    let rows = holders(&profile, at.snapshot);
    assert_eq!(found["by"], "holder");
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(rows.len()));
    let few = holders_json(&profile, at, Some(4));
    assert_eq!(few["elided"]["rows"], rows.len() - 4);
    let picked = serde_json::json!({
        "by": few["by"], "measure": few["measure"], "measure_key": few["measure_key"],
        "snapshots": few["snapshots"], "snapshot": few["snapshot"], "rows": few["rows"],
        "elided": few["elided"],
    });
    let picked = serde_json::to_string_pretty(&picked).expect("JSON");
    golden("holders-json", &picked);
}

#[test]
fn blocks_of_a_fill_that_is_not_known_have_no_unused_bytes() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    let rows = holders(&profile, at.snapshot);
    let named = |name: &str| {
        let is_named = |row: &&HolderRow| row.name == HolderRowName::Root(name.to_owned());
        rows.iter().find(is_named).expect("a root")
    };
    let unknown = &named("held in a way not seen").held;
    assert_eq!(unknown.of(Measure::Unused), None);
    let known = &named("thread-locals of worker").held;
    assert_eq!(known.of(Measure::Unused), Some(0));
    let json = holders_json(&profile, at, None);
    let rows = json["rows"].as_array().expect("rows");
    let row = rows
        .iter()
        .find(|row| row["key"] == "held in a way not seen");
    assert!(row.expect("a row")["unused_bytes"].is_null());
}

#[test]
fn hostile_names_of_snapshots_reach_no_terminal() {
    let file = fixture::recording("shop");
    let nasty = "\u{1b}[2Jx\n\u{202e}y";
    let table = serde_json::json!({"format": 1, "snapshots": [{
        "moment": {"label": nasty, "time_ns": 1, "live_bytes": 8, "live_blocks": 1, "pause_ns": 0},
        "basis": "types", "bytes": 8, "blocks": 1, "notes": [nasty],
        "holders": [
            {"parent": 0, "name": "whole", "own": []},
            {"parent": 0, "name": {"outside": ["stack", nasty]}, "own": []},
            {"parent": 1, "name": {"site": [1, nasty]}, "own": [{"site": 1, "bytes": 8, "blocks": 1}]},
        ],
    }]});
    fixture::append(file.as_ref(), &table);
    let profile = fixture::open(file.as_ref());
    let at = snapshot_at(&profile, None).expect("a snapshot");
    let mut texts = vec![
        holders_text(&profile, at, Measure::Retained, 100),
        text(&profile, &ReportOptions::default()),
        text(&profile, &of(at, By::Site, Measure::Retained)),
    ];
    let mut out = Vec::new();
    write_json(&profile, &of(at, By::Holder, Measure::Retained), &mut out)
        .expect("writing to memory");
    texts.push(String::from_utf8(out).expect("text"));
    for text in texts {
        let nasty = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(nasty), "{text:?}");
    }
}

/// A block that five threads hold, and one that may hold more than was seen.
#[test]
fn several_holders_are_named_and_bounds_are_marked() {
    let file = fixture::recording("shop");
    let stack =
        |thread: &str| serde_json::json!({"parent": 0, "name": {"outside": ["stack", thread]}});
    let mut holders = vec![serde_json::json!({"parent": 0, "name": "whole"})];
    holders.extend(["one", "two", "three", "four", "five"].map(stack));
    holders.extend([
        serde_json::json!({"parent": 0, "name": "several"}),
        serde_json::json!({
            "parent": 6, "name": {"site": [1, "State"]}, "own": [{"site": 1, "bytes": 4096, "blocks": 1}],
            "held_by": [[3, 9], [1, 4], [2, 4], [4, 1], [5, 1]],
        }),
        serde_json::json!({
            "parent": 1, "name": {"site": [2, "Packed"]},
            "own": [{"site": 2, "bytes": 2048, "blocks": 1, "unseen_bytes": 1024}],
        }),
    ]);
    let table = serde_json::json!({"format": 1, "snapshots": [{
        "moment": {"label": "x", "time_ns": 1, "live_bytes": 6144, "live_blocks": 2, "pause_ns": 0},
        "basis": "types", "bytes": 6144, "blocks": 2, "holders": holders,
    }]});
    fixture::append(file.as_ref(), &table);
    let profile = fixture::open(file.as_ref());
    let at = snapshot_at(&profile, None).expect("a snapshot");
    let found = holders_text(&profile, at, Measure::Retained, 120);
    let lines_with = |text: &str| found.lines().filter(|line| line.contains(text)).count();
    let three = "held by stack of three, stack of one, stack of two and 2 more";
    assert_eq!(lines_with(three), 1, "{found}");
    // What is held and the thread that holds it.
    assert_eq!(lines_with(">=2.0 KiB"), 2, "{found}");
    assert_eq!(lines_with(">=4.0 KiB"), 0, "{found}");
    let options = ReportOptions {
        width: 120,
        explain: true,
        ..of(at, By::Holder, Measure::Retained)
    };
    let mut out = Vec::new();
    write_text(&profile, &options, &mut out).expect("written");
    let out = String::from_utf8(out).expect("text");
    assert!(
        out.contains("stack of two, stack of four, stack of five"),
        "{out}"
    );
    let json = holders_json(&profile, at, None);
    let rows = json["rows"].as_array().expect("rows");
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).expect("a row");
    let by = &row("several holders > State")["held_by"];
    assert_eq!(
        by[0],
        serde_json::json!({"key": "stack of three", "pointers": 9})
    );
    assert_eq!(by.as_array().map(Vec::len), Some(5));
    assert_eq!(row("stack of one")["unseen_bytes"], 1024);
    assert!(row("stack of two").get("unseen_bytes").is_none());
}
