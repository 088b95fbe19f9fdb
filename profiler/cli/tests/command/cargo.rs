//! `cargo heapglass`: keeps the user's flags and runner, and records only their programs.

use heapglass_limits::Command;
use std::fs;
use std::path::Path;

use crate::common::{CARGO_HEAPGLASS, Done, Place};

const MAIN: &str = r#"
#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!("{words:?} mine={}", cfg!(mine));
    std::process::exit(if words.is_empty() { 0 } else { 9 });
}
"#;

const TEST: &str = r#"
#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
#[test]
fn passes() {
    assert!(cfg!(mine));
}
"#;

/// A project that uses this workspace's tracking-alloc, with a build script that could be recorded
/// by mistake.
fn project() -> Place {
    let place = Place::new();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tracking_alloc = workspace.join("tracking-alloc").canonicalize().unwrap();
    let dependency = format!("tracking-alloc = {{ path = {tracking_alloc:?} }}\n");
    let manifest = format!(
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\n{dependency}[build-dependencies]\n{dependency}\
         [profile.release]\nstrip = true\n[profile.release.package.\"*\"]\nopt-level = 0\n[workspace]\n\
         [lints.rust]\nunexpected_cfgs = \"allow\"\n"
    );
    for folder in ["src", "tests", ".cargo"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    for (name, text) in [
        ("Cargo.toml", manifest.as_str()),
        ("src/main.rs", MAIN),
        ("build.rs", MAIN),
        ("tests/a.rs", TEST),
        ("tests/b.rs", TEST),
        (
            ".cargo/config.toml",
            "[build]\nrustflags = [\"--cfg\", \"other\"]\n\
             [target.'cfg(unix)']\nrustflags = [\"--cfg\", \"mine\"]\nrunner = \"./runner\"\n",
        ),
        ("runner", "#!/bin/sh\necho their runner >&2\nexec \"$@\"\n"),
    ] {
        fs::write(place.path(name), text).unwrap();
    }
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path("runner"), executable).unwrap();
    // The same versions as here, so that cargo fetches nothing.
    fs::copy(workspace.join("Cargo.lock"), place.path("Cargo.lock")).unwrap();
    place
}

fn cargo_heapglass(place: &Place, words: &[&str]) -> Done {
    let mut command = Command::new(CARGO_HEAPGLASS);
    command.arg("heapglass").args(words);
    place.isolate(&mut command);
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_RUSTFLAGS",
    ] {
        command.env_remove(name);
    }
    Done::from(command.env("CARGO_NET_OFFLINE", "true").output().unwrap())
}

#[test]
fn cargo_heapglass_keeps_flags_runner_arguments_and_status_and_records_programs_only() {
    let place = project();
    let done = cargo_heapglass(&place, &["run", "--release", "--", "--release", "x y"]);
    assert_eq!(done.status, Some(9), "{}", done.stderr);
    assert_eq!(done.stdout, "[\"--release\", \"x y\"] mine=true\n");
    assert!(done.stderr.contains("their runner"), "{}", done.stderr);
    let recordings = place.files(".hg");
    assert_eq!(
        recordings.len(),
        1,
        "the build script is not recorded: {recordings:?}"
    );
    let report = place.report(&recordings[0]);
    assert_eq!(report["unwinder"], "frame-pointers");
    // A stripped release build has neither names nor lines. This one has both.
    let rows = report["rows"].as_array().unwrap();
    let own = |row: &&serde_json::Value| {
        row["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("src/main.rs"))
    };
    assert!(
        rows.iter().any(|row| own(&row) && row["line"].is_u64()),
        "{rows:?}"
    );
    assert!(place.path("target/heapglass/release/sample").exists());

    let done = cargo_heapglass(&place, &["test", "-q"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let recordings = place.files(".hg");
    for name in ["a-", "b-", "sample-"] {
        assert!(
            recordings.iter().any(|file| file.starts_with(name)),
            "{recordings:?}"
        );
    }

    what_recorded_nothing_is_said_with_the_place_for_the_allocator(&place);
    a_build_says_where_its_binary_is_and_a_run_may_overwrite(&place);
    the_recording_says_which_crates_are_the_programs_own(&place);
    the_time_of_the_summary_is_the_programs(&place);

    // A program that does not build does not run, and the output says nothing about recording.
    fs::write(place.path("src/main.rs"), "fn main() { nonsense }").unwrap();
    let done = cargo_heapglass(&place, &["run", "-q"]);
    assert_eq!(done.status, Some(101), "{}", done.stderr);
    assert!(!done.stderr.contains("recorded"), "{}", done.stderr);
}

const PLAIN: &str = r#"
fn main() {
    let kept: Vec<Vec<u8>> = (0..100).map(|_| vec![1; 10_000]).collect();
    std::process::exit(i32::from(kept.len() != 100));
}
"#;

#[test]
fn a_project_without_tracking_alloc_is_recorded_too_and_is_told_what_that_would_add() {
    let place = Place::new();
    fs::create_dir(place.path("src")).unwrap();
    let manifest =
        "[package]\nname = \"plain\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(place.path("Cargo.toml"), manifest).unwrap();
    fs::write(place.path("src/main.rs"), PLAIN).unwrap();
    let done = cargo_heapglass(&place, &["run", "--no-tui"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let recordings = place.files(".hg");
    assert_eq!(recordings.len(), 1, "{recordings:?} {}", done.stderr);
    let said = done.stderr.replace("\n              ", " ");
    assert!(said.contains("tracking-alloc would add phases"), "{said}");
    let report = place.report(&recordings[0]);
    let peak = report["totals"]["peak_bytes"].as_u64();
    assert!(peak.is_some_and(|peak| peak >= 1_000_000), "{report}");
}

const UNCOUNTED: &str = r#"
#[test]
fn passes() {
    println!("{:?}", vec![1]);
}
"#;

fn what_recorded_nothing_is_said_with_the_place_for_the_allocator(place: &Place) {
    fs::write(place.path("src/lib.rs"), UNCOUNTED).unwrap();
    fs::write(place.path("tests/b.rs"), UNCOUNTED).unwrap();
    let before = place.files(".hg").len();
    let done = cargo_heapglass(place, &["test"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let expected = "\
  not recorded  2 of 3 test binaries, most likely because TrackingAlloc is not their allocator
    src/lib.rs
      tests of a library do not use the allocator in main.rs; add to it:
        #[cfg(test)]
        #[global_allocator]
        static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
    tests/b.rs
      is a separate program; add to it:
        #[global_allocator]
        static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
  skipped       1 binary without tests to run
";
    assert!(done.stderr.ends_with(expected), "{}", done.stderr);
    assert_eq!(place.files(".hg").len(), before + 1, "{}", done.stderr);

    // A name that matches no test in the recorded binary.
    let done = cargo_heapglass(place, &["test", "--no-tui", "nonsense"]);
    let silent = "heapglass: cargo test ended; nothing was recorded\n  \
                  skipped       4 binaries without tests to run\n";
    assert!(done.stderr.ends_with(silent), "{}", done.stderr);
    fs::remove_file(place.path("src/lib.rs")).unwrap();
}

/// A program that does nothing, but takes seconds to build.
fn the_time_of_the_summary_is_the_programs(place: &Place) {
    let build = "fn main() { std::thread::sleep(std::time::Duration::from_secs(2)) }";
    fs::write(place.path("build.rs"), build).unwrap();
    let done = cargo_heapglass(place, &["run"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let after = done.stderr.split("heapglass: sample ended after ").nth(1);
    let took = after
        .and_then(|text| text.lines().next())
        .unwrap_or_default();
    assert!(took.ends_with("ms"), "{}", done.stderr);
}

fn a_build_says_where_its_binary_is_and_a_run_may_overwrite(place: &Place) {
    let done = cargo_heapglass(place, &["build"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let said = "heapglass: built target/heapglass/debug/sample\n  \
                next        heapglass run -- target/heapglass/debug/sample\n";
    assert!(done.stderr.ends_with(said), "{}", done.stderr);

    let run = |words: &[&str]| {
        let done = cargo_heapglass(place, words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        place.files("mine")
    };
    assert_eq!(run(&["run", "--no-tui", "-o", "mine.hg"]), ["mine.hg"]);

    let done = cargo_heapglass(place, &["run", "--", "--release"]);
    assert_eq!(done.status, Some(9), "{}", done.stderr);
    assert_eq!(done.stdout, "[\"--release\"] mine=true\n");
    assert!(
        place
            .files("sample-")
            .iter()
            .any(|file| file.ends_with(".hg"))
    );
    let done = cargo_heapglass(place, &["test", "--", "--list"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("passes: test"), "{}", done.stdout);
    assert_eq!(run(&["run", "-o", "mine.hg", "--force"]), ["mine.hg"]);
    assert_eq!(run(&["run", "-o", "mine.hg"]).len(), 2);
}

fn the_recording_says_which_crates_are_the_programs_own(place: &Place) {
    let own_crates = |file: &str, words: &[&str]| {
        let mut run = vec!["run", "--no-tui", "-o", file, "--force"];
        run.extend_from_slice(words);
        let done = cargo_heapglass(place, &run);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        place.report(file)["own_crates"].clone()
    };
    let of_workspace = serde_json::json!(["a", "b", "sample"]);
    assert_eq!(own_crates("own.hg", &[]), of_workspace);
    let manifest = fs::read_to_string(place.path("Cargo.toml")).unwrap();
    let with = |own: &str| {
        let text = format!("{manifest}[package.metadata.heapglass]\nown = {own}\n");
        fs::write(place.path("Cargo.toml"), text).unwrap();
    };
    with("[\"serde-json\"]");
    let named = serde_json::json!(["serde_json"]);
    assert_eq!(own_crates("own.hg", &[]), named);
    let reported = place.run(&["report", "own.hg", "--json", "--own", "other"]);
    assert!(reported.stdout.contains("\"other\""), "{}", reported.stdout);
    with("\"sample\"");
    let done = cargo_heapglass(place, &["run", "--no-tui"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    let said = "[package.metadata.heapglass]: ";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    fs::write(place.path("Cargo.toml"), manifest).unwrap();
}

#[test]
fn outside_a_workspace_it_says_so() {
    let place = Place::new();
    let done = cargo_heapglass(&place, &["run"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("Cargo.toml"), "{}", done.stderr);
}
