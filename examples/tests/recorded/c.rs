//! A program in C drives the recorder through its interface. Reports on it are like those on any
//! other program.

use crate::common::{Target, assert_consistent};
use heapglass_examples::recorded;
use heapglass_limits::Command;
use heapglass_profiler::report::{self, ReportOptions};
use heapglass_profiler::table::By;
use std::path::Path;

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

#[test]
fn a_pool_in_c_reports_its_own_blocks() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pool");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo)
        .current_dir(&workspace)
        .args(["build", "--release", "--locked", "--offline", "--quiet"])
        .args(["--package", "heapglass-recorder", "--example", "pool"])
        .arg("--target-dir")
        .arg(&built));
    let libraries = built.join("release/examples");
    let program = built.join("pool");
    run(Command::new("cc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer"])
        .arg(workspace.join("tracking-alloc/recorder/examples/pool/pool.c"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&libraries)
        .arg("-lpool")
        .arg(format!("-Wl,-rpath,{}", libraries.display())));

    let mut target = Target::new(program.to_str().expect("a path"), &[]);
    target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    let load = recorded::sums_in_scope(&recording, "load");
    assert_eq!((load.total_bytes, load.total_blocks), (100 * 40, 100));
    assert_eq!((load.freed_bytes, load.freed_blocks), (25 * 40, 25));
    assert_eq!((load.peak_bytes, load.peak_blocks), (76 * 40 - 40, 75));
    assert_eq!(recording.marks.len(), 1);

    let options = heapglass_profiler::OpenOptions::default();
    let profile = heapglass_profiler::open(&target.recording(), &options, &|_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let options = ReportOptions {
        by: By::Function,
        ..ReportOptions::default()
    };
    let mut json = Vec::new();
    report::write_json(&profile, &options, &mut json).expect("JSON");
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["key"] == "read_line");
    let row = row.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(row["inclusive"]["peak_bytes"], 75 * 40);
}
