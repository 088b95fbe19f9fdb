//! Every figure of a report's JSON, by arithmetic, on small programs whose allocator calls are all
//! known: with one thread and with two, finished, alive and killed. The profiler's own tests check
//! what each key reads; the values are checked here.

use crate::common::Target;
use heapglass_profiler::report::{self, ReportOptions};
use heapglass_profiler::table::By;
use heapglass_profiler::{OpenOptions, profile::Profile};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

/// Prepares one of these cases with its allocator. It starts to record by itself.
fn target(case: &str, allocator: &str, word: &str) -> Target {
    let mut target = Target::case(&[case]);
    let path = target.recording();
    target.command.env_remove("HEAPGLASS_OUT");
    target.command.arg(path).arg(word);
    target.env("CASE_ALLOC", allocator)
}

fn open(path: &Path) -> Profile {
    heapglass_profiler::open(path, &OpenOptions::default(), &|_| ()).expect("a recording")
}

fn finished(case: &str, allocator: &str) -> Profile {
    let mut target = target(case, allocator, "");
    target.succeed();
    open(&target.recording())
}

/// Returns the profile while the program waits to be read, and the profile after it was killed.
fn alive_and_killed(case: &str) -> (Profile, Profile) {
    let mut target = target(case, "move", "wait");
    let piped = target.command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    let mut byte = [0];
    let output = child.stdout.as_mut().expect("its output");
    output.read_exact(&mut byte).expect("it waits");
    let alive = open(&target.recording());
    child.kill().expect("killed");
    child.wait().expect("gone");
    (alive, open(&target.recording()))
}

fn report(profile: &Profile, by: By) -> Value {
    let mut json = Vec::new();
    let options = ReportOptions {
        by,
        ..ReportOptions::default()
    };
    report::write_json(profile, &options, &mut json).expect("JSON");
    serde_json::from_slice(&json).expect("JSON")
}

const FIGURES: [&str; 13] = [
    "total_bytes",
    "total_blocks",
    "freed_bytes",
    "freed_blocks",
    "live_bytes",
    "live_blocks",
    "peak_bytes",
    "peak_blocks",
    "grows",
    "shrinks",
    "copied_bytes",
    "temporary_blocks",
    "temporary_bytes",
];

/// Returns the thirteen figures of an object, in the order of [`FIGURES`].
fn figures(of: &Value) -> [u64; 13] {
    FIGURES.map(|key| of[key].as_u64().unwrap_or_else(|| panic!("{key} of {of}")))
}

/// Returns the figures of a thread: those of [`figures`] without live bytes, live blocks and the
/// peak's, which are null because no block belongs to a thread.
fn of_thread(of: &Value) -> [u64; 9] {
    const HELD: std::ops::Range<usize> = 4..8;
    for key in &FIGURES[HELD] {
        assert_eq!(of[key], Value::Null, "{key} of {of}");
    }
    let mut counted = of.clone();
    for key in &FIGURES[HELD] {
        counted[key] = json!(0);
    }
    without_held(figures(&counted))
}

/// Returns the part of `figures` that [`of_thread`] keeps.
fn without_held(figures: [u64; 13]) -> [u64; 9] {
    let mut kept = [0; 9];
    kept[..4].copy_from_slice(&figures[..4]);
    kept[4..].copy_from_slice(&figures[8..]);
    kept
}

/// Returns the figures of every thread, by name.
fn thread_rows(json: &Value) -> Vec<(&str, [u64; 9])> {
    let rows = json["rows"].as_array().expect("rows");
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| (row["key"].as_str().expect("a key"), of_thread(row)))
        .collect();
    rows.sort_unstable();
    rows
}

/// Returns the figures of every row, by key.
fn rows(json: &Value) -> Vec<(&str, [u64; 13])> {
    let rows = json["rows"].as_array().expect("rows");
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| (row["key"].as_str().expect("a key"), figures(row)))
        .collect();
    rows.sort_unstable();
    rows
}

fn row<'a>(json: &'a Value, key: &str) -> &'a Value {
    let rows = json["rows"].as_array().expect("rows");
    let mut found = rows.iter().filter(|row| row["key"] == key);
    let row = found.next();
    assert!(found.next().is_none(), "one row {key}");
    row.unwrap_or_else(|| panic!("no row {key:?} in {rows:#?}"))
}

fn sum(rows: &[[u64; 13]]) -> [u64; 13] {
    let mut sum = [0; 13];
    for row in rows {
        sum.iter_mut()
            .zip(row)
            .for_each(|(sum, figure)| *sum += figure);
    }
    sum
}

/// Checks that nothing was lost.
fn nothing_is_lost(json: &Value) {
    let lost = json["lost"].as_object().expect("losses");
    for (key, value) in lost {
        let of_symbols = key == "unresolved_frames" || key == "notes";
        assert!(of_symbols || *value == 0, "{key}: {value}");
    }
    assert_eq!(
        (&json["exact"], &json["mode"]),
        (&json!(true), &json!("exact"))
    );
    assert_eq!(json["peak_discrepancy_bytes"], 0);
}

/// Returns the expected rows of the case `figures-one`: no phase, a, b and c.
fn one(moved: bool) -> [[u64; 13]; 4] {
    let copied = |bytes| if moved { bytes } else { 0 };
    [
        [100, 1, 100, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        // One block with 40, 90, 90 and 60 bytes, and a block of 24. A realloc to the same size is
        // a grow.
        [304, 5, 304, 5, 0, 0, 0, 0, 2, 1, copied(190), 1, 24],
        // The block of 100 bytes becomes 50 and 200.
        [250, 2, 250, 2, 0, 0, 200, 1, 1, 1, copied(100), 0, 0],
        [7, 1, 0, 0, 7, 1, 7, 1, 0, 0, 0, 0, 0],
    ]
}

fn one_by_everything(profile: &Profile, moved: bool) {
    let expected = one(moved);
    let all = sum(&expected);
    for by in By::COUNTED {
        let json = report(profile, by);
        assert_eq!(figures(&json["totals"]), all);
        assert_eq!(json["rows_sum_to_totals"], by != By::Arena, "{by:?}");
        assert_eq!(
            (&json["threads"], &json["pid"]),
            (&json!(1), &json!(profile.process().pid))
        );
        assert_eq!(json["peak_error_bytes"], 0);
        match by {
            By::Arena => {}
            By::Thread => assert_eq!(of_thread(&json["elided"]), [0; 9]),
            _ => assert_eq!(figures(&json["elided"]), [0; 13]),
        }
        nothing_is_lost(&json);
        let last = json["timeline"].as_array().and_then(|points| points.last());
        let last = last.expect("a point");
        if json["finished"] == true {
            assert_eq!(
                (
                    &last["live_bytes"],
                    &last["live_blocks"],
                    &last["total_bytes"]
                ),
                (&json!(7), &json!(1), &json!(all[0]))
            );
        }
    }
    let json = report(profile, By::Phase);
    let [none, a, b, c] = expected;
    let phases = [("(no phase)", none), ("a", a), ("b", b), ("b > c", c)];
    assert_eq!(rows(&json), phases);
    let b_and_c = sum(&[b, c]);
    for (key, inner, entered, said, stayed) in [
        ("(no phase)", all, 0, [0, 0], Value::Null),
        ("a", a, 1, [32, 4], json!(0)),
        ("b", b_and_c, 1, [0, 0], json!(7 - 100)),
        ("b > c", c, 1, [0, 0], json!(7 - 200)),
    ] {
        let row = row(&json, key);
        assert_eq!(figures(&row["with_inner"]), inner, "{key}");
        assert_eq!(row["entered"], entered, "{key}");
        assert_eq!(json!([row["input_bytes"], row["records"]]), json!(said));
        assert_eq!(row["stayed_bytes"], stayed, "{key}");
    }
    let a = row(&json, "a");
    // Five blocks.
    let per = |input: f64| json!({"total": 304.0 / input, "blocks": 5.0 / input, "stayed": 0.0, "peak": 0.0});
    assert_eq!(a["per_input_byte"], per(32.0));
    assert_eq!(a["per_record"], per(4.0));
    assert_eq!(row(&json, "b").get("per_record"), None);
    assert_eq!(row(&json, "b")["share"], json!(200.0 / 207.0));

    assert_eq!(
        thread_rows(&report(profile, By::Thread)),
        [("main", without_held(all))]
    );
    let threads = report(profile, By::Thread);
    assert_eq!(row(&threads, "main")["threads"], 1);
    assert_eq!(rows(&report(profile, By::Type)), [("(unknown type)", all)]);
    assert_eq!(rows(&report(profile, By::Field)), [("(no field)", all)]);
    assert_eq!(rows(&report(profile, By::Arena)), []);
    // The sites of a phase add up to the phase.
    let sites = report(profile, By::Site);
    let sites = sites["rows"].as_array().expect("rows");
    for (phase, expected) in phases {
        let phase = if phase == "(no phase)" {
            Value::Null
        } else {
            json!(phase)
        };
        let own: Vec<_> = sites
            .iter()
            .filter(|row| row["phase"] == phase)
            .map(figures)
            .collect();
        assert_eq!(sum(&own), expected, "{phase}");
    }
}

#[test]
fn one_thread_finished_whose_reallocs_move() {
    let profile = finished("figures-one", "move");
    one_by_everything(&profile, true);
    let json = report(&profile, By::Site);
    assert_eq!(
        (&json["finished"], &json["state"]),
        (&json!(true), &json!("finished"))
    );
    assert_eq!(json["program"], "case");
    assert_eq!(json["arguments"][1], "figures-one");
}

#[test]
fn one_thread_finished_whose_reallocs_stay() {
    one_by_everything(&finished("figures-one", "stay"), false);
}

#[test]
fn one_thread_alive_and_killed() {
    let (alive, killed) = alive_and_killed("figures-one");
    for (profile, state) in [(alive, "running"), (killed, "ended")] {
        one_by_everything(&profile, true);
        let json = report(&profile, By::Site);
        assert_eq!(
            (&json["finished"], &json["state"]),
            (&json!(false), &json!(state))
        );
    }
}

/// Returns the failed requests with their sizes and owners, the last request first.
fn refused(json: &Value) -> Vec<(u64, u64, String)> {
    let requests = json["failed_requests"].as_array().expect("requests");
    let request = |request: &Value| {
        (
            request["largest_bytes"].as_u64().expect("bytes"),
            request["count"].as_u64().expect("a count"),
            format!("{} {}", request["what"], request["owner"]),
        )
    };
    requests.iter().map(request).collect()
}

#[test]
fn refused_requests_are_told_and_in_no_figure() {
    for allocator in ["move", "stay"] {
        let profile = finished("figures-refused", allocator);
        let json = report(&profile, By::Site);
        assert_eq!(
            figures(&json["totals"]),
            [100, 1, 0, 0, 100, 1, 100, 1, 0, 0, 0, 0, 0],
        );
        assert_eq!(json["rows_total"], 1, "{:#}", json["rows"]);
        assert_eq!(json["failed_request_count"], 3);
        let told = refused(&json);
        let [(of_realloc, 1, pixels), (of_alloc, 2, boxes)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((*of_realloc, *of_alloc), (1 << 49, 1 << 50));
        assert_eq!(pixels, "\"Vec<Pixel>\" \"figures::refused\"");
        assert_eq!(boxes, "\"Vec<Box<Pixel>>\" \"figures::reserve\"");
    }
}

#[test]
fn a_refused_request_that_ended_the_program_is_the_first_line() {
    let mut target = target("figures-fatal", "move", "");
    let output = target.command.output().expect("it starts");
    assert!(!output.status.success());
    let profile = open(&target.recording());
    let told = refused(&report(&profile, By::Site));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, 1 << 49);
    let mut summary = Vec::new();
    let options = ReportOptions {
        width: 200,
        ..ReportOptions::default()
    };
    report::write_summary(&profile, &options, &mut summary).expect("a summary");
    let summary = String::from_utf8(summary).expect("text");
    let first = summary.lines().next().expect("a line");
    assert!(
        first.contains("The allocator refused 512.0 TiB for Vec<Box<Pixel>>"),
        "{summary}"
    );
    assert!(first.contains("fatal"), "{summary}");
}

#[test]
fn memory_that_the_allocator_keeps_is_told_from_live_memory() {
    const MIB: u64 = 1 << 20;
    // A reading that takes long is abandoned, so on a slow machine the last one may be of an
    // earlier moment.
    let mut runs = (0..50).map(|_| report(&finished("figures-kept", "system"), By::Site));
    let is_of_the_end =
        |json: &Value| json["last_resident"]["live_bytes"] == json["totals"]["live_bytes"];
    let json = runs
        .find(is_of_the_end)
        .expect("a run with a reading of its end");
    let last = &json["last_resident"];
    let bytes = |key: &str| {
        last[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key} of {last}"))
    };
    let kept = bytes("kept_bytes");
    assert!((60 * MIB..72 * MIB).contains(&kept), "{last}");
    assert!(bytes("other_bytes") < 16 * MIB, "{last}");
    let keys = ["live_bytes", "kept_bytes", "own_bytes", "other_bytes"];
    let sum: u64 = keys.map(bytes).iter().sum();
    assert_eq!(sum, bytes("rss_bytes"), "{last}");
    let most = json["most_resident"]["rss_bytes"].as_u64().expect("bytes");
    assert!(most >= bytes("rss_bytes"));
}

fn two_by_everything(profile: &Profile) {
    let none = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1];
    // 1,000 and 300 bytes end in the other thread, and 50 bytes stay.
    let make = [1358, 4, 1308, 3, 50, 1, 1358, 4, 0, 0, 0, 1, 8];
    // 300 bytes become 400.
    let used = [470, 2, 70, 1, 400, 1, 0, 0, 1, 0, 300, 1, 70];
    let all = sum(&[none, make, used]);
    let json = report(profile, By::Phase);
    assert_eq!(figures(&json["totals"]), all);
    let expected = [("(no phase)", none), ("make", make), ("use", used)];
    assert_eq!(rows(&json), expected);
    assert_eq!(row(&json, "make")["stayed_bytes"], 1350);
    assert_eq!(row(&json, "use")["stayed_bytes"], 470 - 1000 - 300 - 70);
    nothing_is_lost(&json);
    // A block freed by the other thread counts as freed there.
    let json = report(profile, By::Thread);
    let maker = [1358, 4, 8, 1, 0, 0, 0, 1, 8];
    let main = [471, 3, 1371, 4, 1, 0, 300, 2, 71];
    assert_eq!(thread_rows(&json), [("main", main), ("maker", maker)]);
    assert_eq!(json["threads"], 2);
    // This holds for every figure that threads have.
    assert_eq!(json["rows_sum_to_totals"], true);
}

#[test]
fn two_threads_finished_alive_and_killed() {
    two_by_everything(&finished("figures-two", "move"));
    let (alive, killed) = alive_and_killed("figures-two");
    two_by_everything(&alive);
    two_by_everything(&killed);
}

#[test]
fn of_equal_peaks_of_windows_the_latest_counts() {
    let profile = finished("figures-marks", "move");
    let json = report(&profile, By::Phase);
    let peaks: Vec<_> = rows(&json)
        .into_iter()
        .map(|(key, figures)| (key.to_owned(), figures[6], figures[7]))
        .collect();
    let none = [("(no phase)", 0, 0), ("first", 0, 0), ("second", 0, 0)];
    let expected = [none[0], none[1], none[2], ("third", 600, 1)];
    assert_eq!(
        peaks,
        expected.map(|(key, bytes, blocks)| (key.to_owned(), bytes, blocks))
    );
    let marks: Vec<_> = json["marks"]
        .as_array()
        .expect("marks")
        .iter()
        .map(|mark| (mark["name"].clone(), figures(mark)))
        .collect();
    let expected = [
        (
            json!("first"),
            [600, 1, 600, 1, 0, 0, 600, 1, 0, 0, 0, 1, 600],
        ),
        (
            json!("second"),
            [1200, 2, 1200, 2, 0, 0, 600, 1, 0, 0, 0, 2, 1200],
        ),
    ];
    assert_eq!(marks, expected);
}

#[test]
fn frees_of_blocks_older_than_the_recording_are_a_loss_that_is_told() {
    let profile = finished("figures-older", "move");
    let json = report(&profile, By::Site);
    assert_eq!(json["lost"]["unknown_frees"], 1);
    assert_eq!(
        figures(&json["totals"]),
        [10, 1, 10, 1, 0, 0, 10, 1, 0, 0, 0, 1, 10]
    );
    let losses = json["losses"].to_string();
    assert!(
        losses.contains(
            "1 free of blocks that were not recorded could not be counted: they are older"
        ),
        "{losses}"
    );
}

#[test]
fn fields_and_types_of_what_was_deserialized() {
    let profile = finished("figures-fields", "move");
    let city = size_of::<(String, Vec<u32>)>() as u64;
    // Four places, one of which is used at the end.
    let list = [4 * city, 1, 0, 0, 4 * city, 1, 4 * city, 1, 0, 0, 0, 0, 0];
    let name = [7 + 4, 2, 4, 1, 7, 1, 7 + 4, 2, 0, 0, 0, 0, 0];
    // 4 and 8 places of 4 bytes; 4 places, for the block allocated last and then freed.
    let people = [
        16 + 32 + 16,
        3,
        16 + 16,
        2,
        32,
        1,
        32 + 16,
        2,
        1,
        0,
        16,
        1,
        16,
    ];
    let all = sum(&[list, name, people]);
    let json = report(&profile, By::Field);
    assert_eq!(figures(&json["totals"]), all);
    let keys = ["Vec<City>", "Vec<City>[].name", "Vec<City>[].people"];
    for (key, own, inner, values, inline) in [
        (keys[0], list, all, 1, 24),
        (keys[1], name, name, 2, 2 * 24),
        (keys[2], people, people, 2, 2 * 24),
    ] {
        let row = row(&json, key);
        assert_eq!(figures(row), own, "{key}");
        assert_eq!(figures(&row["with_inner"]), inner, "{key}");
        assert_eq!(
            (&row["values"], &row["inline_bytes"]),
            (&json!(values), &json!(inline)),
            "{key}"
        );
        assert_eq!(
            (&row["recursive"], &row["folded"]),
            (&json!(false), &json!(false))
        );
    }
    assert_eq!(row(&json, keys[0])["stayed_bytes"], all[4] + 4 + 16);
    let json = report(&profile, By::Type);
    for (key, own, path) in [
        ("Vec<City>", list, keys[0]),
        ("String", name, keys[1]),
        ("Vec<u32>", people, keys[2]),
    ] {
        let row = row(&json, key);
        assert_eq!(figures(row), own, "{key}");
        // The mean is that of blocks at the peak, by which rows are ordered.
        assert_eq!(row["mean_block_bytes"], own[6] / own[7], "{key}");
        let field = &row["fields"][0];
        assert_eq!(field["path"], path);
        assert_eq!(
            [
                &field["total_bytes"],
                &field["peak_bytes"],
                &field["live_bytes"]
            ],
            [&json!(own[0]), &json!(own[6]), &json!(own[4])]
        );
    }
}

#[test]
fn a_program_that_waits_ends_in_order_when_it_was_read() {
    let mut target = target("figures-one", "move", "wait");
    let piped = target.command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(b".").expect("it reads");
    assert!(child.wait().expect("it ends").success());
    one_by_everything(&open(&target.recording()), true);
}
