//! Tests rows by holder, and what rows hold in a snapshot.

use super::*;
use heapglass_profiler::snapshot::Held;
use heapglass_profiler::table::{
    HeldMeasure, HolderRow, HolderRowName, SnapshotAt, held_rows, holders, not_in_snapshots,
    snapshot_at,
};

fn holders_text(
    profile: &Profile,
    at: SnapshotAt<'_>,
    measure: HeldMeasure,
    width: usize,
) -> String {
    let options = ReportOptions {
        width,
        ..ReportOptions::default()
    };
    let mut out = Vec::new();
    write_holders_text(profile, at, measure, &options, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

fn holders_json(profile: &Profile, at: SnapshotAt<'_>, options: &ReportOptions<'_>) -> Value {
    let mut out = Vec::new();
    let measure = options.held.unwrap_or_default();
    write_holders_json(profile, at, measure, options, &mut out).expect("writing to memory");
    serde_json::from_slice(&out).expect("valid JSON")
}

/// Options that show a snapshot.
fn of<'a>(at: SnapshotAt<'a>, by: By, measure: HeldMeasure) -> ReportOptions<'a> {
    ReportOptions {
        by,
        snapshot: Some(at),
        held: Some(measure),
        ..ReportOptions::default()
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
            let below = rows.iter().filter(|other| other.parent == Some(number));
            let below: u64 = below.map(|row| row.held.retained_bytes).sum();
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
    for snapshot in profile.snapshots() {
        for by in By::ALL {
            let rows = held_rows(
                &profile,
                snapshot,
                by,
                HeldMeasure::Retained,
                Frames::Folded,
            );
            if not_in_snapshots(by).is_some() {
                assert!(rows.is_empty());
                continue;
            }
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
        let text = holders_text(&profile, at, HeldMeasure::Retained, width);
        golden(&format!("holders-{width}"), &text);
        assert!(text.lines().all(|line| line.chars().count() <= width));
    }
    golden(
        "holders-unused",
        &holders_text(&profile, at, HeldMeasure::Unused, 100),
    );
}

#[test]
fn a_snapshot_is_never_shown_as_the_peak() {
    let profile = fixture::with_made_up_snapshots();
    for label in ["loaded", "peak", "exit"] {
        let at = snapshot_at(&profile, Some(label)).expect("a snapshot");
        let mut texts = vec![holders_text(&profile, at, HeldMeasure::Retained, 200)];
        for by in By::ALL {
            for measure in HeldMeasure::ALL {
                texts.push(text(&profile, &of(at, by, measure)));
            }
        }
        let by_type = ReportOptions {
            held: None,
            ..of(at, By::Type, HeldMeasure::Retained)
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
        for measure in HeldMeasure::ALL {
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
    for by in By::ALL
        .into_iter()
        .filter(|&by| not_in_snapshots(by).is_none())
    {
        let found = json(&profile, &of(at, by, HeldMeasure::Unused));
        assert_eq!(found["measure_key"], "unused_bytes");
        assert_eq!(found["snapshot"]["number"], 2);
        assert_eq!(found["rows_sum_to_totals"], false);
        let rows = held_rows(
            &profile,
            at.snapshot,
            by,
            HeldMeasure::Unused,
            Frames::Folded,
        );
        let shown = found["rows"].as_array().expect("rows");
        assert_eq!(shown.len(), rows.len());
        for (shown, row) in shown.iter().zip(&rows) {
            assert_eq!(shown["key"], row.row.key.as_str());
            assert_eq!(shown["retained_bytes"], row.held.retained_bytes);
            assert_eq!(
                shown["unused_bytes"].as_u64(),
                row.held.of(HeldMeasure::Unused)
            );
            assert_eq!(shown["known_bytes"], row.held.own.known_bytes);
        }
    }
    let found = holders_json(&profile, at, &ReportOptions::default());
    let rows = holders(&profile, at.snapshot);
    assert_eq!(found["by"], "holder");
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(rows.len()));
    let few = ReportOptions {
        top: Some(4),
        ..ReportOptions::default()
    };
    let few = holders_json(&profile, at, &few);
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
    assert_eq!(unknown.of(HeldMeasure::Unused), None);
    let known = &named("thread-locals of worker").held;
    assert_eq!(known.of(HeldMeasure::Unused), Some(0));
    let json = holders_json(&profile, at, &ReportOptions::default());
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
        holders_text(&profile, at, HeldMeasure::Retained, 100),
        text(&profile, &ReportOptions::default()),
        text(&profile, &of(at, By::Site, HeldMeasure::Retained)),
    ];
    let mut out = Vec::new();
    write_holders_json(
        &profile,
        at,
        HeldMeasure::Retained,
        &ReportOptions::default(),
        &mut out,
    )
    .expect("writing to memory");
    texts.push(String::from_utf8(out).expect("text"));
    for text in texts {
        let nasty = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(nasty), "{text:?}");
    }
}
