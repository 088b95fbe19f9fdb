//! `heapglass preload`: the library is in a file of the user's cache, and works from there.

use std::fs;
use std::process::Command;

use crate::common::Place;

#[test]
fn the_library_is_written_once_and_records_a_program() {
    let place = Place::new();
    let cache = place.path("cache");
    let path = || {
        let mut command = place.heapglass(&["preload"]);
        let done = command
            .env("XDG_CACHE_HOME", &cache)
            .output()
            .expect("it runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).expect("text")
    };
    let first = path();
    let library = first.trim_end();
    assert!(
        library.starts_with(cache.to_str().expect("text")),
        "{library}"
    );
    assert_eq!(path(), first);
    assert_eq!(
        fs::read_dir(cache.join("heapglass"))
            .expect("a folder")
            .count(),
        1
    );

    let mut program = Command::new("ls");
    place.isolate(&mut program);
    let done = program
        .env("LD_PRELOAD", library)
        .env("HEAPGLASS_OUT", place.path("ls.hg"))
        .output()
        .expect("it runs");
    assert!(done.status.success());
    let report = place.report("ls.hg");
    assert!(
        report["total_blocks"]
            .as_u64()
            .or(report["totals"]["total_blocks"].as_u64())
            > Some(0)
    );
}

#[test]
fn a_home_that_cannot_be_written_to_is_no_obstacle() {
    let place = Place::new();
    fs::write(place.path("file"), "not a folder").expect("written");
    let mut command = place.heapglass(&["preload"]);
    command
        .env("XDG_CACHE_HOME", place.path("file"))
        .env("HOME", place.path("file"));
    let done = command
        .env("TMPDIR", place.root())
        .output()
        .expect("it runs");
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(
        printed.starts_with(place.root().to_str().expect("text")),
        "{printed}"
    );

    command.env("TMPDIR", place.path("file"));
    let done = command.output().expect("it runs");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("XDG_CACHE_HOME"), "{errors}");
}
