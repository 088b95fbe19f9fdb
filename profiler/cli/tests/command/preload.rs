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

#[test]
fn run_preloads_the_library_on_request_and_says_what_it_cannot_record() {
    let place = Place::new();
    let words = ["run", "-o", "ls.hg", "--preload", "--", "ls", "-d", "/"];
    let done = place.run(&words);
    assert_eq!(
        (done.status, done.stdout.as_str()),
        (Some(0), "/\n"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("ls.hg"), "{}", done.stderr);
    let report = place.report("ls.hg");
    assert!(report["totals"]["total_blocks"].as_u64() > Some(0));

    // A child is recorded only on request, and then both are.
    let shell = ["--", "sh", "-c", "ls -d / > /dev/null; exit 3"];
    let count = |words: &[&str]| {
        let done = place.run(&[&["run", "--preload", "--json"], words, &shell].concat());
        assert_eq!(done.status, Some(3), "{}", done.stderr);
        let said: serde_json::Value = serde_json::from_str(&done.stderr).expect("JSON");
        said["recordings"].as_array().map(Vec::len)
    };
    assert_eq!(count(&["-o", "one.hg"]), Some(1));
    assert_eq!(count(&["-o", "two-%e.hg", "--children"]), Some(2));

    fs::write(place.path("program.c"), "int main(void) { return 0; }").expect("written");
    let mut cc = Command::new("cc");
    let built = cc.args(["-static", "-o"]).arg(place.path("static"));
    let built = built
        .arg(place.path("program.c"))
        .status()
        .expect("a C compiler");
    assert!(built.success());
    let done = place.run(&["run", "--preload", "-o", "none.hg", "--", "./static"]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("linked statically"), "{}", done.stderr);
    let done = place.run(&["run", "-o", "none.hg", "--", "ls", "-d", "/"]);
    assert!(
        done.stderr.contains("heapglass run --preload"),
        "{}",
        done.stderr
    );
}
