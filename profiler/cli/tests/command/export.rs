//! `heapglass export`: every format, and the combinations that are refused.

use heapglass_limits::Command;
use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::common::{HEAPGLASS, Place, terminal};

const FORMATS: [&str; 8] = [
    "pprof",
    "dhat",
    "speedscope",
    "firefox",
    "folded",
    "json",
    "csv",
    "html",
];

#[test]
fn each_format_is_the_same_in_a_file_and_on_standard_output() {
    let place = Place::new();
    place.record("x.hg");
    let totals = place.report("x.hg")["totals"].clone();
    for format in FORMATS {
        let words = ["export", "x.hg", "--to", format, "-o", "out", "--json"];
        let done = place.run(&words);
        assert_eq!(done.status, Some(0), "{format}: {}", done.stderr);
        let said: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!((&said["to"], &said["totals"]), (&format.into(), &totals));
        let piped = place.heapglass(&words[..4]).output().unwrap();
        assert!(piped.status.success());
        let written = fs::read(place.path("out")).unwrap();
        assert!(!written.is_empty());
        assert_eq!(piped.stdout, written, "{format}");
    }
}

#[test]
fn folded_stacks_add_up_to_the_measure_that_was_asked_for() {
    let place = Place::new();
    place.record("x.hg");
    let totals = place.report("x.hg")["totals"].clone();
    for (measure, key) in [("total", "total_bytes"), ("blocks", "total_blocks")] {
        let words = ["export", "x.hg", "--to", "folded", "--measure", measure];
        for frames in ["folded", "own", "all", "trimmed"] {
            let done = place.run(&[&words[..], &["--frames", frames]].concat());
            let figure = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
            let sum: u64 = done.stdout.lines().map(figure).sum();
            assert_eq!(Some(sum), totals[key].as_u64(), "{measure} {frames}");
        }
    }
}

#[test]
fn a_format_that_there_is_not_is_refused_with_those_that_there_are() {
    let place = Place::new();
    place.record("x.hg");
    for words in [
        &["export", "x.hg", "--to", "xml"][..],
        &["export", "x.hg", "--to", ""],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        for format in FORMATS {
            assert!(done.stderr.contains(format), "{format}: {}", done.stderr);
        }
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn misuse_is_one_line() {
    let place = Place::new();
    place.record("x.hg");
    for words in [
        &["export", "x.hg", "--to", "dhat", "--by", "type"][..],
        &["export", "x.hg", "--to", "dhat", "--json"],
        &["export", "x.hg", "--to", "html", "--by", "type"],
        &["export", "x.hg", "--to", "html", "--measure", "unused"],
        &["export", "x.hg", "--to", "json", "--sources"],
        &["export", "x.hg", "--to", "json", "--base", "x.hg"],
        &[
            "export",
            "x.hg",
            "--to",
            "html",
            "--base",
            "x.hg",
            "--sources",
        ],
        &[
            "diff",
            "x.hg",
            "x.hg",
            "--measure",
            "unused",
            "-o",
            "d.html",
        ],
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}");
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn output_that_cannot_be_written_leaves_nothing_behind() {
    let place = Place::new();
    place.record("x.hg");
    let before = fs::read(place.path("x.hg")).unwrap();
    let files = place.files("").len();
    for format in FORMATS {
        for out in ["no/such/out", ".", "./x.hg", "/dev/full"] {
            let done = place.run(&["export", "x.hg", "--to", format, "-o", out]);
            assert_eq!(done.status, Some(2), "{format} {out}: {}", done.stderr);
            assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        }
    }
    assert_eq!(fs::read(place.path("x.hg")).unwrap(), before);
    assert_eq!(place.files("").len(), files);
}

#[test]
fn what_is_binary_is_not_written_to_a_terminal() {
    let place = Place::new();
    place.record("x.hg");
    let (_ours, theirs) = terminal();
    let mut child = place
        .heapglass(&["export", "x.hg", "--to", "pprof"])
        .stdout(theirs)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("write to a file with -o"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn two_recordings_give_a_page_of_both() {
    let place = Place::new();
    place.record("a.hg");
    place.record("b.hg");
    let page = |words: &[&str], out: &str| {
        let done = place.run(words);
        assert_eq!(done.status, Some(0), "{words:?}: {}", done.stderr);
        fs::read_to_string(place.path(out)).unwrap()
    };
    let words = ["--to", "html", "--base", "a.hg", "-o", "x.html"];
    let exported = page(&[&["export", "b.hg"][..], &words].concat(), "x.html");
    assert!(exported.contains("<title>a.hg -&gt; b.hg: "), "{exported}");
    let diff = page(&["diff", "a.hg", "b.hg", "-o", "y.html"], "y.html");
    assert!(diff == exported, "diff writes the same page");
    // The base may have an executable of its own, which must be that build.
    let named = [
        &["export", "b.hg"][..],
        &words,
        &["--base-binary", HEAPGLASS],
    ]
    .concat();
    assert!(page(&named, "x.html") == exported);
    let against = ["check", "b.hg", "--against", "a.hg", "--base-binary"];
    let done = place.run(&[&against[..], &[HEAPGLASS]].concat());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let export = [&["export", "b.hg"][..], &words, &["--base-binary"]].concat();
    for command in [&export[..], &against] {
        let done = place.run(&[command, &["input.json"]].concat());
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("input.json"), "{}", done.stderr);
    }
    // The page replaces no input.
    let words = ["export", "b.hg", "--to", "html", "--base", "a.hg", "-o"];
    let done = place.run(&[&words[..], &["a.hg"]].concat());
    assert_eq!(done.status, Some(2), "{}", done.stderr);
}

#[test]
fn completions_and_manual_pages_have_the_command() {
    let place = Place::new();
    let done = place.run(&["completions", "bash"]);
    assert!(done.stdout.contains("heapglass,export"), "{}", done.stdout);
    let page = place.run(&["man"]).stdout;
    assert!(page.contains("heapglass\\-export(1)"), "{page}");
    let done = place.run(&["man", "-o", "man1"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let page = fs::read_to_string(place.path("man1/heapglass-export.1")).unwrap();
    for format in FORMATS {
        assert!(page.contains(format), "{format}: {page}");
    }
    assert!(!place.path("man1/heapglass-runner.1").exists());
    let page = fs::read_to_string(place.path("man1/cargo-heapglass.1")).unwrap();
    assert!(page.contains("cargo\\-heapglass\\-run(1)"), "{page}");
    let page = fs::read_to_string(place.path("man1/cargo-heapglass-run.1")).unwrap();
    assert!(page.contains("cargo heapglass run"), "{page}");
    assert!(!place.path("man1/cargo-heapglass-runner.1").exists());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = place.run(&["completions", shell, "--cargo"]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert!(done.stdout.contains("force-snapshot"), "{}", done.stdout);
    }
    fs::write(place.path("file"), "").unwrap();
    let done = place.run(&["man", "-o", "file"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
}

/// Go's own pprof, if it is installed, reads the totals and the full names of functions.
#[test]
fn go_tool_pprof_has_our_totals() {
    let tool = Command::new("go").args(["tool", "-n", "pprof"]).output();
    if !tool.is_ok_and(|tool| tool.status.success()) {
        crate::common::skipped("Go and its pprof are not installed");
        return;
    }
    let place = Place::new();
    place.record("x.hg");
    let words = ["export", "x.hg", "--to", "pprof", "-o", "x.pb.gz"];
    assert_eq!(place.run(&words).status, Some(0));
    let totals = &place.report("x.hg")["totals"];
    for (sample, key) in [
        ("peak_space", "peak_bytes"),
        ("alloc_space", "total_bytes"),
        ("inuse_space", "live_bytes"),
        ("temporary_space", "temporary_bytes"),
    ] {
        let top = Command::new("go")
            .args(["tool", "pprof", "-top", "-unit=B"])
            .arg(format!("-sample_index={sample}"))
            .arg("x.pb.gz")
            .current_dir(place.root())
            .env("PPROF_TMPDIR", place.root())
            .output()
            .unwrap();
        let top = String::from_utf8_lossy(&top.stdout).into_owned();
        let total = format!("Total samples = {}B", totals[key]);
        let is_zero = totals[key] == 0;
        assert!(is_zero || top.contains(&total), "{sample}: {total}: {top}");
    }
}
