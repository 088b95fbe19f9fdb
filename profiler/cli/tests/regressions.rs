//! The purpose of a check: a program keeps its budget, but fails it after each of three small
//! changes, and the message names the field or the line.
//!
//! The programs are in this binary, which runs again with the name of one in its environment.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use heapglass_limits::Command;
use std::path::Path;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// The variable that selects the program.
const PROGRAM: &str = "HEAPGLASS_TEST_PROGRAM";

/// Number of records to read.
const RECORDS: usize = 2_000;

/// The name in each record.
const NAME: &str = "a name that is not short";

/// Returns one line of JSON per record.
fn input() -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(RECORDS * 64);
    for id in 0..RECORDS {
        writeln!(text, r#"{{"id": {id}, "name": "{NAME}"}}"#).unwrap();
    }
    text
}

/// Defines a function that reads all records into a list that begins as `$list`.
macro_rules! load {
    ($list:expr) => {
        #[inline(never)]
        pub(super) fn load(text: &str) -> Vec<Record<'_>> {
            let mut records = $list;
            for line in text.lines() {
                let read: tracking_alloc::Profiled<Record<'_>> =
                    serde_json::from_str(line).unwrap();
                records.push(read.0);
            }
            records
        }
    };
}

/// The program that keeps the budget.
mod borrowed {
    #[derive(serde::Deserialize)]
    pub(super) struct Record<'a> {
        pub(super) id: u64,
        pub(super) name: &'a str,
    }

    load!(Vec::with_capacity(super::RECORDS));
}

/// The program with a `String` instead of a `&str`.
mod owned {
    #[derive(serde::Deserialize)]
    pub(super) struct Record<'a> {
        pub(super) id: u64,
        pub(super) name: String,
        #[serde(skip)]
        _input: std::marker::PhantomData<&'a str>,
    }

    load!(Vec::with_capacity(super::RECORDS));
}

/// The program without `with_capacity`.
mod growing {
    #[derive(serde::Deserialize)]
    pub(super) struct Record<'a> {
        pub(super) id: u64,
        pub(super) name: &'a str,
    }

    load!(Vec::new());
}

/// The program with an added `#[serde(flatten)]`.
mod flattened {
    #[derive(serde::Deserialize)]
    pub(super) struct Record<'a> {
        pub(super) id: u64,
        #[serde(flatten, borrow)]
        pub(super) rest: Rest<'a>,
    }

    #[derive(serde::Deserialize)]
    pub(super) struct Rest<'a> {
        pub(super) name: &'a str,
    }

    load!(Vec::with_capacity(super::RECORDS));
}

#[test]
fn the_program_that_is_recorded() {
    let Ok(program) = std::env::var(PROGRAM) else {
        return;
    };
    let input = input();
    let read: u64 = match program.as_str() {
        "borrowed" => borrowed::load(&input)
            .iter()
            .map(|one| one.id + one.name.len() as u64)
            .sum(),
        "owned" => owned::load(&input)
            .iter()
            .map(|one| one.id + one.name.len() as u64)
            .sum(),
        "growing" => growing::load(&input)
            .iter()
            .map(|one| one.id + one.name.len() as u64)
            .sum(),
        _ => flattened::load(&input)
            .iter()
            .map(|one| one.id + one.rest.name.len() as u64)
            .sum(),
    };
    let ids = (0..RECORDS as u64).sum::<u64>();
    assert_eq!(read, ids + (NAME.len() * RECORDS) as u64);
}

/// Records a program to `NAME.hg` in the folder.
fn record(folder: &Path, program: &str) {
    let done = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "the_program_that_is_recorded",
            "--test-threads",
            "1",
        ])
        .current_dir(folder)
        .env(PROGRAM, program)
        .env("HEAPGLASS_OUT", folder.join(format!("{program}.hg")))
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stdout)
    );
}

/// Runs `heapglass check` and returns its exit status and output.
fn check(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_heapglass"))
        .arg("check")
        .args(words)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join(".cache"))
        .env("COLUMNS", "200")
        .output()
        .unwrap();
    let said = String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap();
    (done.status.code(), said)
}

#[test]
fn three_small_changes_break_a_budget_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let budget = "[field.\"Record**\"]\nblocks = 0\n\n[owner.\"**load\"]\ngrows = 0\n";
    std::fs::write(folder.join("budget.toml"), budget).unwrap();
    for program in ["borrowed", "owned", "growing", "flattened"] {
        record(folder, program);
    }
    // A recording compared with itself always passes.
    let (status, said) = check(
        folder,
        &[
            "borrowed.hg",
            "--budget",
            "budget.toml",
            "--against",
            "borrowed.hg",
        ],
    );
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("borrowed.hg: all 6 checks passed"), "{said}");
    for (program, named) in [
        ("owned", "Record.name"),
        ("growing", "growing::load"),
        ("flattened", "Record"),
    ] {
        let file = format!("{program}.hg");
        for words in [["--budget", "budget.toml"], ["--against", "borrowed.hg"]] {
            let (status, said) = check(folder, &[&file, words[0], words[1]]);
            assert_eq!(status, Some(1), "{program} {words:?}: {said}");
            assert!(said.contains("FAILED"), "{program} {words:?}: {said}");
            assert!(said.contains(named), "{program} {words:?}: {said}");
            assert!(
                said.contains("regressions.rs:"),
                "{program} {words:?}: {said}"
            );
        }
    }
}
