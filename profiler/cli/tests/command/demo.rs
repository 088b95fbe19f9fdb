//! `heapglass demo`: makes a recording, a picture and a report, with every name resolved.

use std::fs;

use crate::common::Place;

#[test]
fn outside_a_workspace_the_demo_generates_its_input_and_says_so() {
    let place = Place::new();
    let done = place.run(&["demo", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("generated data"), "{}", done.stderr);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&report["finished"], &report["exact"]),
        (&true.into(), &true.into())
    );
    assert_eq!(report["lost"]["unresolved_frames"], 0);
    let files = (place.files(".hg"), place.files(".svg"));
    assert_eq!((files.0.len(), files.1.len()), (1, 1), "{files:?}");
    let phases = place.run(&["report", &files.0[0], "--by", "phase", "--json"]);
    let phases: serde_json::Value = serde_json::from_str(&phases.stdout).unwrap();
    let rows = phases["rows"].as_array().unwrap();
    for phase in ["read", "typed", "value"] {
        let row = rows.iter().find(|row| row["key"] == phase);
        assert!(
            row.is_some_and(|row| row["peak_bytes"].as_u64() > Some(0)),
            "{phase}: {rows:?}"
        );
    }
}

#[test]
fn the_demo_shows_fields_types_and_values_that_were_measured() {
    let place = Place::new();
    let done = place.run(&["demo", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let footprints = report["footprints"].as_array().unwrap();
    let exact = |label: &str| {
        let found = footprints
            .iter()
            .find(|one| one["label"] == label && one["exact"] == true);
        found.unwrap_or_else(|| panic!("no exact footprint {label}: {footprints:?}"))
    };
    assert!(exact("metadata")["bytes"].as_u64() > Some(0));
    let estimate = &exact("dependencies")["estimate"];
    assert!(estimate["bytes"].as_u64() > Some(0), "{estimate}");
    assert!(estimate["difference"].is_number(), "{estimate}");
    let recording = &place.files(".hg")[0];
    let rows = |by: &str| -> Vec<serde_json::Value> {
        let done = place.run(&["report", recording, "--by", by, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(report["rows_sum_to_totals"], true, "by {by}");
        report["rows"].as_array().unwrap().clone()
    };
    let fields = rows("field");
    let field = |key: &str| {
        let found = fields.iter().find(|row| row["key"] == key);
        found.unwrap_or_else(|| panic!("no field {key}"))
    };
    let stayed = field("Metadata")["stayed_bytes"].as_i64().unwrap();
    let peak = field("Metadata")["with_inner"]["peak_bytes"]
        .as_i64()
        .unwrap();
    assert_eq!(stayed, peak, "what was built is kept until the rest is");
    let packages = field("Metadata.packages[]");
    assert!(packages["values"].as_u64() > Some(100), "{packages}");
    assert_eq!(packages["type"], "Package");
    let types = rows("type");
    assert!(types.iter().any(|row| row["key"] == "Vec<Dependency>"));
    let phases = rows("phase");
    for phase in ["typed", "value"] {
        let row = phases.iter().find(|row| row["key"] == phase);
        let words = ["flamegraph", recording, "-o", "p.svg", "--json", "--phase"];
        let done = place.run(&[&words[..], &[phase]].concat());
        let drawn: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(drawn["total"], row.unwrap()["peak_bytes"], "{phase}");
    }
    for by in ["field", "type"] {
        let picture = place.run(&["flamegraph", recording, "-o", "-", "--by", by]);
        assert!(picture.stdout.contains("Dependency"), "by {by}");
    }
}

#[test]
fn in_a_workspace_the_input_is_what_cargo_says_of_it() {
    let place = Place::new();
    let mut command = place.heapglass(&["demo", "--json"]);
    // The folder of this package is in a workspace. The demo writes to its working directory.
    fs::create_dir_all(place.path("src")).unwrap();
    fs::write(place.path("src/lib.rs"), "").unwrap();
    let manifest =
        "[package]\nname = \"a-package-of-one\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(place.path("Cargo.toml"), manifest).unwrap();
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("cargo metadata"), "{stderr}");
    assert!(!stderr.contains("generated"), "{stderr}");
    assert!(
        place.files("Cargo.lock").is_empty(),
        "a lock file was written"
    );
    // A terminal would get colours, but this is not one.
    assert!(!stderr.contains('\x1b'), "{stderr}");
}

#[test]
fn every_name_in_the_demos_picture_and_report_resolves() {
    let place = Place::new();
    let done = place.run(&["demo"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let picture = fs::read_to_string(place.path(&place.files(".svg")[0])).unwrap();
    assert!(picture.contains("demo::target::value"));
    for (what, text) in [("report", &done.stdout), ("picture", &picture)] {
        // An unresolved frame is its module and offset: `heapglass+0x1234`.
        assert!(!text.contains("+0x"), "{what}");
        assert!(!text.contains("??"), "{what}");
    }
}
