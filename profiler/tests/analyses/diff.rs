//! Comparisons of profiles made by hand: every figure is the report's, and only differences are
//! reported.

use heapglass_profiler::table::{By, rows};
use serde_json::Value;

use heapglass_fixture::{self as fixture, Builder, figures};
use heapglass_profiler::calltree::CallTree;
use heapglass_profiler::diff::*;
use heapglass_profiler::profile::{
    Figures, FrameId, Frames, Measure, Origin, Profile, ScopeId, ScopeKind,
};
use heapglass_profiler::report::ReportOptions;

fn one(profile: &Profile) -> Vec<Recording<'_>> {
    vec![Recording {
        name: "x.hg",
        profile,
    }]
}

fn several(profiles: &[Profile]) -> Vec<Recording<'_>> {
    profiles.iter().flat_map(one).collect()
}

fn text(diff: &Diff<'_>) -> String {
    let mut out = Vec::new();
    write_text(&diff.clone().into(), &ReportOptions::default(), &mut out)
        .expect("writing to memory");
    String::from_utf8(out).expect("text")
}

fn json(diff: &Diff<'_>) -> Value {
    let mut out = Vec::new();
    write_json(&diff.clone().into(), None, &mut out).expect("writing to memory");
    serde_json::from_slice(&out).expect("valid JSON")
}

/// Returns the allocations of a program in `names` functions, called from `main` at `line`; `shift`
/// moves every address.
fn program(figures_of: &[(&str, Figures)], line: u32, shift: u64) -> Profile {
    let mut b = Builder::new();
    let user = |b: &mut Builder, name: &str, line: u32| -> FrameId {
        let function = b.function(name, "app", Origin::User);
        b.frame(function, Some("src/main.rs"), line)
    };
    let main = user(&mut b, "app::main", line);
    for (number, (name, of)) in (0..).zip(figures_of) {
        let frame = user(&mut b, name, line + 10 * (number + 1));
        b.site(&[main, frame], ScopeId(0), of.clone());
    }
    let native = format!("libc.so.6+{:#x}", 0x9a2e0 + shift);
    let native = b.function(&native, "libc.so.6", Origin::Unresolved);
    let native = b.frame(native, None, 0);
    b.site(&[native], ScopeId(0), figures(3, 100, 3));
    for frame in b.parts().frames {
        frame.offset = 0x1000 + shift;
    }
    b.parts().process.program = "app".into();
    b.build()
}

#[test]
fn a_recording_compared_with_itself_differs_in_nothing() {
    for profile in [fixture::profile(), fixture::fleet(), fixture::city_arenas()] {
        for by in By::COUNTED {
            for measure in Measure::COUNTED {
                let options = DiffOptions {
                    by,
                    measure,
                    per: None,
                };
                let diff = Diff::new(&one(&profile), &one(&profile), options);
                assert!(diff.is_equal(), "{by:?} {measure:?}: {:?}", diff.rows);
                assert!(text(&diff).contains("Nothing differs"), "{}", text(&diff));
                assert_eq!(json(&diff)["equal"], true);
                let total: Figures = profile.totals().clone();
                assert_eq!(
                    json(&diff)["base"][0]["totals"]["total_bytes"],
                    total.total_bytes
                );
            }
        }
    }
}

#[test]
fn two_builds_that_differ_in_one_function_differ_in_that_function_alone() {
    let rest = [
        ("app::load", figures(100, 64, 50)),
        ("app::index", figures(9, 4096, 9)),
    ];
    let base = [
        rest[0].clone(),
        rest[1].clone(),
        ("app::parse", figures(1_000, 32, 0)),
    ];
    let new = [
        rest[0].clone(),
        rest[1].clone(),
        ("app::parse", figures(2_000, 32, 0)),
    ];
    let (base, new) = (program(&base, 10, 0), program(&new, 77, 0x5_0000));
    for by in [By::Site, By::Owner, By::Function] {
        let options = DiffOptions {
            by,
            measure: Measure::Total,
            per: None,
        };
        let diff = Diff::new(&one(&base), &one(&new), options);
        assert_eq!(diff.kinds(), [0, 0, 1], "{by:?}: {:?}", diff.rows);
        assert_eq!(diff.other_rows, 0, "{by:?}");
        assert_eq!(diff.rows[0].change.exact_difference(), Some(32_000));
        let all = format!("{:?}", diff.rows[0].identity);
        assert!(all.contains("app::parse"), "{all}");
        assert!(text(&diff).contains("app::parse"), "{}", text(&diff));
        assert!(!text(&diff).contains("app::load"), "{}", text(&diff));
    }
    // The line shown is that of the new build.
    let by_owner = DiffOptions {
        by: By::Owner,
        measure: Measure::Total,
        per: None,
    };
    let diff = Diff::new(&one(&base), &one(&new), by_owner);
    assert_eq!(
        diff.rows[0].identity.source.as_deref(),
        Some("src/main.rs:107")
    );
}

#[test]
fn rows_beside_those_of_a_base_are_those_of_the_comparison() {
    let old = [
        ("app::load", figures(100, 64, 50)),
        ("app::gone", figures(5, 100, 5)),
        ("app::parse", figures(1_000, 32, 0)),
    ];
    let now = [
        ("app::load", figures(100, 64, 50)),
        ("app::parse", figures(2_000, 32, 0)),
        ("app::fresh", figures(7, 100, 7)),
    ];
    let (base, new) = (program(&old, 10, 0), program(&now, 77, 0x5_0000));
    for by in [By::Site, By::Owner, By::Function] {
        let options = DiffOptions {
            by,
            measure: Measure::Total,
            per: None,
        };
        let beside = Beside::new(&base, &new, options, Frames::Folded);
        let mut known = Vec::new();
        for row in rows(&new, by, Measure::Total, Frames::Folded) {
            let identity = Identity::of(&new, &row);
            let found = beside.row(&identity).expect("every row of the second side");
            let text = format!("{identity:?}");
            let names = ["app::load", "app::parse", "app::fresh"];
            if let Some(name) = names.into_iter().find(|name| text.contains(name)) {
                known.push((name, found.change.exact_difference(), found.is_added));
            }
        }
        known.sort_unstable();
        let expected = [
            ("app::fresh", Some(700), true),
            ("app::load", Some(0), false),
            ("app::parse", Some(32_000), false),
        ];
        assert_eq!(known, expected, "{by:?}");
        assert_eq!(
            beside.removed(),
            fixture::made!(RemovedRows {
                rows: 1,
                value: 500
            })
        );
        // The same rows as in the comparison, with the same differences.
        let diff = Diff::new(&one(&base), &one(&new), options);
        assert_eq!(diff.kinds(), [1, 1, 1], "{by:?}");
    }
}

#[test]
fn rows_that_differ_in_line_numbers_alone_are_counted_together() {
    let twice = |blocks| {
        let mut b = Builder::new();
        for line in [3, 9] {
            let function = b.function("app::main", "app", Origin::User);
            let frame = b.frame(function, Some("src/main.rs"), line);
            b.site(&[frame], ScopeId(0), figures(blocks, 10, 0));
        }
        b.build()
    };
    let (base, new) = (twice(1), twice(4));
    let options = DiffOptions {
        by: By::Site,
        measure: Measure::Total,
        per: None,
    };
    let beside = Beside::new(&base, &new, options, Frames::Folded);
    let rows = rows(&new, By::Site, Measure::Total, Frames::Folded);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let found = beside.row(&Identity::of(&new, row)).expect("a row");
        assert_eq!((found.rows, found.change.exact_difference()), (2, Some(60)));
    }
}

#[test]
fn frames_beside_those_of_a_base_have_the_same_path() {
    let old = [
        ("app::load", figures(100, 64, 50)),
        ("app::gone", figures(5, 100, 5)),
    ];
    let now = [
        ("app::load", figures(110, 64, 50)),
        ("app::fresh", figures(7, 100, 7)),
    ];
    let (base, new) = (program(&old, 10, 0), program(&now, 77, 0x5_0000));
    let tree = |profile| CallTree::build(profile, &Default::default());
    let (base_tree, new_tree) = (tree(&base), tree(&new));
    let before = beside_tree((&base_tree, &base), (&new_tree, &new), Measure::Total);
    assert_eq!(before.len(), new_tree.len());
    assert_eq!(before[0], base.totals().total_bytes, "the root");
    let of = |name: &str| {
        let mut ids = new_tree.ids();
        let id = ids.find(|id| new_tree.name(*id, &new).contains(name));
        before[id.expect(name).0 as usize]
    };
    assert_eq!(of("app::load"), 6_400);
    assert_eq!(of("app::fresh"), 0);
}

#[test]
fn rows_that_only_one_side_has_are_added_or_removed() {
    let base = program(&[("app::old", figures(5, 100, 5))], 1, 0);
    let new = program(&[("app::fresh", figures(7, 100, 7))], 1, 0);
    let options = DiffOptions {
        by: By::Owner,
        measure: Measure::Live,
        per: None,
    };
    let diff = Diff::new(&one(&base), &one(&new), options);
    assert_eq!(diff.kinds(), [1, 1, 0]);
    let json = json(&diff);
    assert_eq!(json["rows"][0]["kind"], "added");
    assert_eq!(json["rows"][0]["difference"], 700);
    assert_eq!(json["rows"][0]["base_figures"], Value::Null);
    assert_eq!(json["rows"][0]["new_figures"][0]["live_bytes"], 700);
    assert_eq!(json["rows"][1]["difference"], -500);
    assert!(text(&diff).contains("(removed)"), "{}", text(&diff));
}

#[test]
fn every_figure_of_a_row_is_the_reports() {
    let (base, new) = (fixture::profile(), fixture::sized(40, 6));
    for by in By::COUNTED.into_iter().filter(|by| *by != By::Arena) {
        let options = DiffOptions {
            by,
            measure: Measure::Total,
            per: None,
        };
        let diff = Diff::new(&one(&base), &one(&new), options);
        let mut sums = [Figures::default(), Figures::default()];
        let mut equal = 0_i128;
        for row in &diff.rows {
            row.base.iter().for_each(|figures| sums[0].add(figures));
            row.new.iter().for_each(|figures| sums[1].add(figures));
            equal += row.change.exact_difference().expect("a whole number");
        }
        let sum = |profile: &Profile| {
            let rows = rows(profile, by, Measure::Total, Frames::Folded);
            let totals = rows.iter().map(|row| i128::from(row.figures.total_bytes));
            totals.sum::<i128>()
        };
        assert_eq!(equal, sum(&new) - sum(&base), "{by:?}");
        assert!(sums[0].total_bytes <= base.totals().total_bytes, "{by:?}");
    }
}

#[test]
fn a_difference_within_the_bounds_of_two_peaks_is_said_to_be() {
    let make = |live: u64, bound: u64| {
        let mut profile = program(&[("app::work", figures(live, 100, live))], 1, 0);
        profile.parts().capture.peak_error_bytes = bound;
        profile
    };
    let verdict = |base: &Profile, new: &Profile| {
        let diff = Diff::new(&one(base), &one(new), DiffOptions::default());
        let (measure, change) = diff.totals[0].clone();
        assert_eq!(measure, Measure::Peak);
        assert_eq!(diff.rows[0].change.verdict, change.verdict);
        (change.verdict, text(&diff))
    };
    // 500 bytes more, within 300 + 300; not within 200 + 200.
    let (within, said) = verdict(&make(100, 300), &make(105, 300));
    assert_eq!(within, Verdict::WithinBound);
    assert!(
        said.contains("within the error bounds of the two peaks (600 B)"),
        "{said}"
    );
    let (beyond, said) = verdict(&make(100, 200), &make(105, 200));
    assert_eq!(beyond, Verdict::More);
    assert!(said.contains("to within 400 B"), "{said}");
    assert_eq!(verdict(&make(100, 0), &make(105, 0)).0, Verdict::More);
}

#[test]
fn of_several_recordings_medians_are_compared_and_noise_is_said_to_be_noise() {
    let make = |blocks: [u64; 3]| {
        blocks.map(|blocks| program(&[("app::work", figures(blocks, 10, 0))], 1, 0))
    };
    let options = DiffOptions {
        by: By::Owner,
        measure: Measure::Blocks,
        per: None,
    };
    let (base, new) = (make([100, 140, 120]), make([130, 125, 135]));
    let diff = Diff::new(&several(&base), &several(&new), options);
    let change = &diff.rows[0].change;
    assert_eq!(
        (change.base.median.value, change.new.median.value),
        (120, 130)
    );
    assert_eq!((change.base.min.value, change.base.max.value), (100, 140));
    assert_eq!(change.verdict, Verdict::WithinSpread);
    assert!(text(&diff).contains("within the spread"), "{}", text(&diff));
    let new = make([141, 150, 160]);
    let diff = Diff::new(&several(&base), &several(&new), options);
    assert_eq!(diff.rows[0].change.verdict, Verdict::More);
    let json = json(&diff);
    let values = json["rows"][0]["base"]["values"]
        .as_array()
        .expect("figures");
    assert_eq!(values.len(), 3);
}

#[test]
fn of_an_even_number_of_recordings_the_median_is_still_a_figure_of_one() {
    let series = Series::new([9, 1, 4, 6].map(|value| Amount::new(value, 1)).to_vec());
    assert_eq!(series.median.value, 4);
    assert_eq!(Series::new(Vec::new()).median.value, 0);
}

/// A program whose phase read `records` records into one block each.
fn reader(records: u64, bytes_each: u64) -> Profile {
    let mut b = Builder::new();
    let load = b.scope(0, "load", records * 100, records);
    // The records of a phase inside it are the same records.
    let parse = b.scope(load.0, "parse", 0, records);
    let function = b.function("app::load", "app", Origin::User);
    let frame = b.frame(function, Some("src/main.rs"), 3);
    b.site(&[frame], parse, figures(records, bytes_each, records));
    b.build()
}

#[test]
fn figures_for_each_record_are_equal_where_only_the_input_grew() {
    let (base, new) = (reader(1_000, 40), reader(3_000, 40));
    assert_eq!(input(&base).records, 1_000);
    for by in [By::Owner, By::Phase] {
        let options = |per| DiffOptions {
            by,
            measure: Measure::Total,
            per,
        };
        let whole = Diff::new(&one(&base), &one(&new), options(None));
        assert_eq!(whole.rows.len(), 1);
        assert!(
            whole
                .warnings
                .iter()
                .any(|said| said.contains("--per record"))
        );
        let divided = Diff::new(&one(&base), &one(&new), options(Some(Per::Record)));
        assert_eq!(divided.rows.len(), 0, "{by:?}: {:?}", divided.rows);
    }
    let more = reader(3_000, 50);
    let options = DiffOptions {
        by: By::Owner,
        measure: Measure::Total,
        per: Some(Per::Record),
    };
    let diff = Diff::new(&one(&base), &one(&more), options);
    assert_eq!(diff.rows[0].change.difference(), 10.0);
    assert!(text(&diff).contains("+10.0 B"), "{}", text(&diff));
    assert_eq!(json(&diff)["rows"][0]["difference"], 10.0);
}

#[test]
fn recordings_of_different_programs_are_compared_and_said_to_be() {
    let (base, mut new) = (program(&[], 1, 0), program(&[], 1, 0));
    new.parts().process.program = "other".into();
    let diff = Diff::new(&one(&base), &one(&new), DiffOptions::default());
    let said = text(&diff);
    assert!(said.contains("different programs (app, other)"), "{said}");
}

#[test]
fn types_of_one_name_in_two_modules_are_two_rows() {
    let make = |full: &str| {
        let mut b = Builder::new();
        let root = b.field(ScopeId(0), ScopeKind::Root, "Fleet", (full, 24), 1);
        let frame = b.function("app::load", "app", Origin::User);
        let frame = b.frame(frame, None, 0);
        b.site(&[frame], root, figures(2, 24, 2));
        b.build()
    };
    let options = DiffOptions {
        by: By::Type,
        measure: Measure::Total,
        per: None,
    };
    let (one_module, other) = (
        make("alloc::vec::Vec<app::a::Ship>"),
        make("alloc::vec::Vec<app::b::Ship>"),
    );
    let diff = Diff::new(&one(&one_module), &one(&other), options);
    let names: Vec<&str> = diff
        .rows
        .iter()
        .map(|row| row.identity.name.as_str())
        .collect();
    assert_eq!(diff.kinds(), [1, 1, 0], "{names:?}");
}

#[test]
fn the_picture_holds_both_sides_whole_in_two_colours() {
    let base = program(
        &[
            ("app::old", figures(50, 100, 50)),
            ("app::both", figures(9, 10, 9)),
        ],
        1,
        0,
    );
    let new = program(
        &[
            ("app::fresh", figures(70, 100, 70)),
            ("app::both", figures(9, 10, 9)),
        ],
        5,
        9,
    );
    let diff = Diff::new(&one(&base), &one(&new), DiffOptions::default());
    let mut out = Vec::new();
    let drawn = write_svg(&diff.clone().into(), &mut out).expect("a picture");
    // The removed part, and everything in the new profile.
    assert_eq!(drawn.total, 5_000 + new.totals().peak_bytes);
    let svg = String::from_utf8(out).expect("text");
    let totals = [&base, &new].map(|side| Measure::Peak.amount(side.totals().peak_bytes));
    for part in [
        totals.join(" -&gt; ").as_str(),
        "old -4.9 KiB (",
        "fresh +6.8 KiB (",
        "both 0 B (",
        "rgb(232,93,76)",
        "rgb(109,",
    ] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
    let empty = Profile::default();
    let nothing = Diff::new(&one(&empty), &one(&empty), DiffOptions::default());
    let drawn = write_svg(&nothing.into(), Vec::new()).expect("a picture that says so");
    assert_eq!(drawn.frames, 0);
}

#[test]
fn names_from_a_recording_never_reach_the_terminal_raw() {
    let evil = "app::\u{1b}[31mevil";
    let (base, mut new) = (
        program(&[], 1, 0),
        program(&[(evil, figures(9, 9, 9))], 1, 0),
    );
    new.parts().process.program = "\u{1b}]0;title\u{7}".into();
    for by in By::COUNTED {
        let options = DiffOptions {
            by,
            ..DiffOptions::default()
        };
        let diff = Diff::new(&one(&base), &one(&new), options);
        let mut all = text(&diff);
        let mut out = Vec::new();
        write_json(&diff.clone().into(), None, &mut out).expect("writing to memory");
        all.push_str(&String::from_utf8(out).expect("text"));
        assert!(!all.contains('\u{1b}') && !all.contains('\u{7}'), "{by:?}");
    }
}

#[test]
fn where_one_side_alone_has_phases_or_fields_owners_are_compared_and_it_is_said() {
    let loads = |in_phase: bool| {
        let mut b = Builder::new();
        let scope = if in_phase {
            b.scope(0, "load", 0, 0)
        } else {
            ScopeId(0)
        };
        for (name, blocks) in [("app::parse", 10), ("app::index", 20)] {
            let function = b.function(name, "app", Origin::User);
            let frame = b.frame(function, Some("src/main.rs"), 7);
            b.site(&[frame], scope, figures(blocks, 10, 0));
        }
        b.build()
    };
    let (without, with) = (loads(false), loads(true));
    let options = DiffOptions {
        by: By::Site,
        measure: Measure::Total,
        per: None,
    };
    for (base, new, side) in [(&without, &with, "second"), (&with, &without, "first")] {
        let diff = Diff::new(&one(base), &one(new), options);
        assert_eq!(diff.options.by, By::Owner);
        assert!(diff.rows.is_empty(), "{:?}", diff.rows);
        let said = format!("Only the {side} side has phases");
        assert!(
            diff.warnings
                .iter()
                .any(|warning| warning.starts_with(&said)),
            "{:?}",
            diff.warnings
        );
        assert!(text(&diff).contains(&said));
        let beside = Beside::new(base, new, options, Frames::Folded);
        for row in rows(new, By::Site, Measure::Total, Frames::Folded) {
            let found = beside.row(&Identity::of(new, &row)).expect("a row");
            assert_eq!(found.change.exact_difference(), Some(0), "{}", row.key);
            assert!(!found.is_added);
        }
        assert_eq!(beside.removed(), RemovedRows::default());
    }
    // If both sides have phases, or neither has, rows are sites.
    for (base, new) in [(&with, &with), (&without, &without)] {
        let diff = Diff::new(&one(base), &one(new), options);
        assert_eq!((diff.options.by, diff.warnings.len()), (By::Site, 0));
    }
}

#[test]
fn what_lies_below_a_renamed_call_is_the_same_on_both_sides() {
    let called = |name: &str, blocks: u64| {
        let mut b = Builder::new();
        let path = ["app::main", name, "app::read", "app::keep"];
        let mut stack: Vec<FrameId> = Vec::new();
        for (function, line) in path.into_iter().zip(1..) {
            let function = b.function(function, "app", Origin::User);
            stack.push(b.frame(function, Some("src/main.rs"), line));
            b.site(&stack, ScopeId(0), figures(blocks, 100, 0));
        }
        b.build()
    };
    let tree = |profile| CallTree::build(profile, &Default::default());
    let (base, new) = (called("app::parse", 3), called("app::decode", 4));
    let (base_tree, new_tree) = (tree(&base), tree(&new));
    let before = beside_tree((&base_tree, &base), (&new_tree, &new), Measure::Total);
    for (name, bytes) in [("app::decode", 900), ("app::read", 600), ("app::keep", 300)] {
        let mut ids = new_tree.ids();
        let id = ids.find(|id| new_tree.name(*id, &new).contains(name));
        assert_eq!(before[id.expect(name).0 as usize], bytes, "{name}");
    }
    let options = DiffOptions {
        by: By::Owner,
        measure: Measure::Total,
        per: None,
    };
    let mut out = Vec::new();
    write_svg(
        &Diff::new(&one(&base), &one(&new), options).into(),
        &mut out,
    )
    .expect("a picture");
    let svg = String::from_utf8(out).expect("text");
    assert!(svg.contains("app::decode (was app::parse)"), "{svg}");
    assert!(!svg.contains("0 bytes -"), "nothing was added or removed");
    // The same function with other calls below it is another call.
    let other = called("app::read", 3);
    let before = beside_tree((&tree(&other), &other), (&new_tree, &new), Measure::Total);
    let mut ids = new_tree.ids();
    let id = ids.find(|id| new_tree.name(*id, &new).contains("app::decode"));
    assert_eq!(before[id.expect("a node").0 as usize], 0);
}

#[test]
fn phases_of_two_sides_stand_beside_each_other_with_time_and_speed() {
    let timed = |records: u64, bytes_each: u64, elapsed_ns: u64| {
        let mut profile = reader(records, bytes_each);
        let mut scopes = profile.parts().scopes.iter_mut();
        let phase = scopes.find(|scope| scope.records > 0).expect("a phase");
        phase.elapsed_ns = Some(elapsed_ns);
        profile
    };
    let (base, new) = (
        timed(1_000, 100, 500_000_000),
        timed(1_000, 50, 250_000_000),
    );
    let options = DiffOptions {
        by: By::Phase,
        ..DiffOptions::default()
    };
    let diff = Diff::new(&one(&base), &one(&new), options);
    let json = json(&diff);
    let phases = json["phases"].as_array().expect("phases");
    let phase = phases.iter().find(|phase| phase["key"] == "load");
    let phase = phase.expect("the phase");
    let median = |key: &str, side: &str| phase[key][side]["median"].as_f64().expect("a figure");
    let sides = |key: &str| ["base", "new"].map(|side| median(key, side));
    assert_eq!(sides("elapsed_ns"), [5e8, 2.5e8]);
    assert_eq!(sides("records_per_second"), [2_000.0, 4_000.0]);
    assert_eq!(sides("bytes_per_record"), [100.0, 50.0]);
    assert_eq!(phase["elapsed_ns"]["relative"], -0.5);
    let text = text(&diff);
    for figure in [
        "time",
        "records per second",
        "blocks per record",
        "bytes per record",
    ] {
        assert!(
            text.contains(&format!(": {figure}\n")),
            "{figure} in {text}"
        );
    }
    assert!(text.contains("Times differ from run to run"), "{text}");
    // A side that does not know the time says so.
    let untimed = reader(1_000, 100);
    let diff = Diff::new(&one(&untimed), &one(&new), options);
    let load = diff.phases.iter().find(|phase| phase.key == "load");
    let time = &load.expect("the phase").figures[0];
    assert!(time.base.is_none() && time.new.is_some() && time.change().is_none());
}
