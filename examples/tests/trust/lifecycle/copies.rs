//! Several copies of the recorder in one process: a library that contains its own.

use super::sealed;
use crate::common::{Target, files};
use heapglass_examples::recorded;
use heapglass_limits::Command;
use std::path::{Path, PathBuf};

/// Builds the library under `examples/library`. Returns its path.
fn library() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library");
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--offline",
            "--locked",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/library/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env_remove("HEAPGLASS_OUT")
        .output()
        .expect("cargo can be run");
    assert!(
        output.status.success(),
        "the library cannot be built:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    target.join("debug/liblibrary.so")
}

/// Loads and unloads the library three times. Returns every recording that exists afterwards, the
/// library's first.
fn load(how: &str) -> Vec<tracking_alloc_recording::Recording> {
    let mut target = Target::case(&["load-libraries", how]);
    let path = target.recording();
    target.command.arg(library()).arg(&path);
    if how != "environment" {
        target.command.env_remove("HEAPGLASS_OUT");
    }
    target.succeed();
    let mut recordings: Vec<_> = files(target.folder.path())
        .iter()
        .map(|name| sealed(&target.folder.path().join(name)))
        .collect();
    recordings.sort_by_key(|recording| work(recording) == 0);
    recordings
}

fn work(recording: &tracking_alloc_recording::Recording) -> u64 {
    recorded::sums_in_scope(recording, "work").total_bytes
}

/// The work of three threads in the library.
const WORK: u64 = 3 * (100 * 101 / 2);

#[test]
fn a_library_that_finishes_and_is_loaded_again_keeps_every_recording() {
    let works: Vec<u64> = load("finish").iter().map(work).collect();
    assert_eq!(works, [WORK; 3]);
}

#[test]
fn a_library_unloaded_while_it_records_leaves_finished_recordings() {
    let works: Vec<u64> = load("unload").iter().map(work).collect();
    assert_eq!(works, [WORK; 3]);
}

#[test]
fn a_program_and_its_library_record_to_files_of_their_own() {
    let works: Vec<u64> = load("environment").iter().map(work).collect();
    assert_eq!(works, [WORK, WORK, WORK, 0]);
}
