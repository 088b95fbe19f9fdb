//! Tests the comparison of two snapshots.

use heapglass_fixture as fixture;
use heapglass_profiler::diff::{HeldDiff, HeldSide, RowKind, write_json, write_svg, write_text};
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::question::{Form, Kind, check};
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::{By, snapshot_at};
use heapglass_profiler::units::Bytes;
use serde_json::Value;

fn side<'a>(profile: &'a Profile, at: &str) -> HeldSide<'a> {
    HeldSide {
        name: "app.hg",
        profile,
        at: snapshot_at(profile, Some(at)).expect("a snapshot"),
    }
}

fn text(diff: &HeldDiff<'_>) -> String {
    let mut out = Vec::new();
    write_text(&diff.clone().into(), &ReportOptions::default(), &mut out)
        .expect("writing to memory");
    String::from_utf8(out).expect("text")
}

fn groupings() -> impl Iterator<Item = By> {
    let has_rows = |by: &By| check(Kind::Snapshot, Form::Rows, *by, Measure::Retained).is_ok();
    By::ALL.into_iter().filter(has_rows)
}

#[test]
fn a_snapshot_does_not_differ_from_itself() {
    let profile = fixture::with_made_up_snapshots();
    for by in groupings() {
        for measure in Measure::OF_SNAPSHOTS {
            let same = side(&profile, "peak");
            let diff = HeldDiff::new([same, same], by, measure);
            assert!(diff.rows.is_empty(), "{by:?}");
            assert!(diff.equal_rows > 0, "{by:?}");
        }
    }
}

#[test]
fn two_snapshots_swapped_give_the_opposite_differences() {
    let profile = fixture::with_made_up_snapshots();
    for by in groupings() {
        for measure in Measure::OF_SNAPSHOTS {
            let (peak, exit) = (side(&profile, "peak"), side(&profile, "exit"));
            let [there, back] = [(peak, exit), (exit, peak)].map(|(base, new)| {
                let diff = HeldDiff::new([base, new], by, measure);
                let rows = diff.rows.iter();
                let row = |row: &heapglass_profiler::diff::HeldChange| {
                    (row.identity.name.clone(), row.change.exact_difference())
                };
                let mut rows: Vec<_> = rows.map(row).collect();
                rows.sort();
                rows
            });
            let mut opposite: Vec<_> = back
                .into_iter()
                .map(|(name, difference)| (name, difference.map(|it| -it)))
                .collect();
            opposite.sort();
            assert_eq!(there, opposite, "{by:?}");
        }
    }
}

#[test]
fn holders_are_matched_by_the_names_of_their_paths() {
    let profile = fixture::with_made_up_snapshots();
    let (peak, exit) = (side(&profile, "peak"), side(&profile, "exit"));
    let diff = HeldDiff::new([peak, exit], By::Holder, Measure::Retained);
    let found = |name: &str| {
        let row = diff.rows.iter().find(|row| row.identity.name == name);
        row.unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!(found("stack of main").kind, RowKind::Removed);
    assert_eq!(
        found("statics of shop > Catalog.products[]").kind,
        RowKind::Added
    );
    let statics = found("statics of shop");
    assert_eq!(statics.kind, RowKind::Changed);
    assert_eq!(statics.change.exact_difference(), Some(1_114_160 - 96_096));
    let text = text(&diff);
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("held-diff", text);
    });
    for side in [peak, exit] {
        assert!(text.contains(&side.at.moment(&profile)), "{text}");
    }
    assert!(text.contains("do not know the same"), "{text}");
}

#[test]
fn json_says_which_snapshots_are_compared() {
    let profile = fixture::with_made_up_snapshots();
    let (loaded, peak) = (side(&profile, "loaded"), side(&profile, "peak"));
    let diff = HeldDiff::new([loaded, peak], By::Type, Measure::Unused);
    let mut out = Vec::new();
    write_json(&diff.clone().into(), Some(2), &mut out).expect("writing to memory");
    let json: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(json["base"]["snapshot"]["label"], "loaded");
    assert_eq!(json["new"]["snapshot"]["number"], 2);
    assert_eq!(json["measure_key"], "unused_bytes");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["elided_rows"], diff.rows.len() - 2);
    let row = &json["rows"][0];
    assert_eq!(row["key"], "HashMap<String, String>");
    assert!(row["base_figures"].is_null());
    assert_eq!(row["new_figures"]["unused_bytes"], 900_000);
}

#[test]
fn the_picture_of_two_snapshots_has_the_whole_of_each_side() {
    let profile = fixture::with_made_up_snapshots();
    let (peak, exit) = (side(&profile, "peak"), side(&profile, "exit"));
    for measure in Measure::OF_SNAPSHOTS {
        for by in [By::Holder, By::Type, By::Field] {
            let diff = HeldDiff::new([exit, peak], by, measure);
            let mut svg = Vec::new();
            let drawn = write_svg(&diff.clone().into(), &mut svg).expect("writing to memory");
            let svg = String::from_utf8(svg).expect("text");
            let [exit, peak] = diff.sides.map(|side| side.at.whole(measure));
            let amounts = format!("{} -&gt; {}", Bytes(exit), Bytes(peak));
            assert!(
                svg.contains(&amounts),
                "{by:?}: {amounts} is not in the title"
            );
            assert!(
                drawn.frames > if by == By::Holder { 3 } else { 0 }
                    && drawn.total >= exit.max(peak)
            );
            assert!(svg.contains("app.hg 3 (exit) -&gt; app.hg 2 (peak)"));
        }
    }
    let diff = HeldDiff::new([exit, peak], By::Crate, Measure::Unused);
    let refused = write_svg(&diff.clone().into(), std::io::sink()).expect_err("rows of crates");
    assert!(refused.to_string().contains("no picture of them"));
}
