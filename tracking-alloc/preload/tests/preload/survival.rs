//! Ends of programs, and refusals of the system: the recording opens and contains every event up to
//! that moment, and the program ends with its own status.

use super::{command, compile, folder, library, of_function, open, skipped, text};
use heapglass_limits::Command;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const SIGKILL: i32 = 9;
const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

fn program() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| compile("survive.c", "survive", &["-pthread"]))
}

/// Returns a command that runs the program with the library, and its recording's path.
fn recorded(words: &[&str], folder: &Path) -> (Command, PathBuf) {
    let path = folder.join("out.hg");
    let mut command = command(program(), words);
    command
        .env("LD_PRELOAD", library())
        .env("HEAPGLASS_OUT", &path);
    (command, path)
}

/// Runs the program with the library by a shell that sets limits first, and is not recorded itself.
fn limited(limit: &str, words: &str, folder: &Path) -> (Output, PathBuf) {
    let path = folder.join("out.hg");
    let script = format!(
        "ulimit {limit} && exec env LD_PRELOAD='{}' HEAPGLASS_OUT='{}' '{}' {words}",
        library().display(),
        path.display(),
        program().display(),
    );
    let output = command("bash", &["-c", &script]).output();
    (output.expect("a shell"), path)
}

/// Checks that a recording contains the blocks and bytes that the program printed, and no more.
fn assert_work_is_as_printed(path: &Path, output: &Output, what: &str) {
    let profile = open(path);
    let recorded =
        ["total_blocks", "total_bytes"].map(|figure| of_function(&profile, "one", figure));
    assert_eq!(recorded, printed(output).map(Some), "{what}");
}

/// Returns the blocks and bytes that the program printed.
fn printed(output: &Output) -> [u64; 2] {
    let printed = text(&output.stdout);
    let numbers: Vec<u64> = printed
        .split_whitespace()
        .map(|word| word.parse().expect("a number"))
        .collect();
    numbers.try_into().expect("two numbers")
}

#[test]
fn every_end_leaves_a_recording_of_every_event() {
    for (how, status, signal) in [
        ("kill", None, Some(SIGKILL)),
        ("abort", None, Some(SIGABRT)),
        ("segfault", None, Some(SIGSEGV)),
        ("stack-overflow", None, Some(SIGSEGV)),
        ("exit", Some(7), None),
        ("exit-now", Some(7), None),
        ("quick-exit", Some(7), None),
        ("return", Some(7), None),
        // What the program does with its process does not reach the recording.
        ("descriptors", Some(7), None),
        ("chdir", Some(7), None),
        ("storm", Some(7), None),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut command, path) = recorded(&[how], folder.path());
        let output = command.output().expect("it starts");
        assert_eq!(
            (output.status.code(), output.status.signal()),
            (status, signal),
            "{how}: {}",
            text(&output.stderr)
        );
        assert_work_is_as_printed(&path, &output, how);
        let files = std::fs::read_dir(folder.path()).expect("the folder");
        assert_eq!(files.count(), 1, "{how}");
    }
}

/// The recording is not below the new root, and grows after the call.
#[test]
fn a_program_that_changes_its_root_is_recorded_on() {
    let (root, folder) = (tempfile::tempdir(), tempfile::tempdir());
    let (root, folder) = (root.expect("a folder"), folder.expect("a folder"));
    let word = root.path().to_str().expect("a path");
    let (mut command, path) = recorded(&["chroot", word], folder.path());
    let output = command.output().expect("it starts");
    if output.status.code() == Some(91) {
        skipped(
            "a_program_that_changes_its_root_is_recorded_on",
            "this user may not change the root",
        );
        return;
    }
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let [blocks, bytes] = printed(&output);
    // A recording that can no longer grow counts the rest at "(table full)".
    let totals = open(&path).totals().clone();
    assert!(totals.total_blocks >= blocks, "{totals:?} {blocks}");
    assert!(totals.total_bytes >= bytes, "{totals:?} {bytes}");
    let files = std::fs::read_dir(root.path()).expect("the new root");
    assert_eq!(files.count(), 0, "nothing is created in the new root");
}

#[test]
fn limits_end_growth_or_recording_and_nothing_else() {
    let mut began = 0;
    for limit in [
        // KiB of a file: some can grow, the last cannot begin.
        "-f 8192",
        "-f 2048",
        "-f 100",
        // Open files.
        "-n 4",
        "-n 3",
        // KiB of address space.
        "-v 400000",
        "-v 150000",
        "-v 100000",
        "-v 60000",
        "-v 40000",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (output, path) = limited(limit, "sites", folder.path());
        let said = text(&output.stderr);
        if said.contains("error while loading shared libraries") {
            continue;
        }
        assert_eq!(output.status.code(), Some(7), "{limit}: {said}");
        let [blocks, bytes] = printed(&output);
        if said.contains("not recording") {
            assert!(!path.exists(), "{limit}: nothing is left behind");
            continue;
        }
        began += 1;
        let totals = open(&path).totals().clone();
        assert!(totals.total_blocks >= blocks, "{limit}: {totals:?}");
        assert!(totals.total_bytes >= bytes, "{limit}: {totals:?}");
    }
    assert!(began > 1);
}

#[test]
fn a_full_disk_ends_growth_and_nothing_else() {
    for taken in ["0", "512K"] {
        let mounted = tempfile::tempdir().expect("a folder");
        let kept = tempfile::NamedTempFile::new().expect("a file");
        let script = format!(
            "exec 3> '{kept}'; mount -t tmpfs -o size=1100k none '{mounted}' || exit 99; \
             head -c {taken} /dev/zero > '{mounted}/other'; \
             env LD_PRELOAD='{library}' HEAPGLASS_OUT='{mounted}/out.hg' '{program}' sites; status=$?; \
             cat '{mounted}/out.hg' >&3 2> /dev/null; exit $status",
            kept = kept.path().display(),
            mounted = mounted.path().display(),
            library = library().display(),
            program = program().display(),
        );
        let output = command("unshare", &["--mount", "sh", "-c", &script]).output();
        let output = match output {
            Ok(output) if ![Some(1), Some(99)].contains(&output.status.code()) => output,
            other => {
                skipped(
                    "a_full_disk_ends_growth_and_nothing_else",
                    &format!("a file system cannot be mounted here: {other:?}"),
                );
                return;
            }
        };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{said}");
        if taken == "0" {
            let totals = open(kept.path()).totals().clone();
            let [blocks, bytes] = printed(&output);
            assert!(totals.total_blocks >= blocks, "{totals:?}");
            assert!(totals.total_bytes >= bytes, "{totals:?}");
        } else {
            assert!(said.contains("not recording"), "{said}");
        }
    }
}

/// `HEAPGLASS_KILLS` sets the number of kills; `.ci/release kills` makes 500.
#[test]
fn killed_programs_leave_recordings_that_can_be_read() {
    let program = compile("churn.c", "churn", &[]);
    let kills = std::env::var("HEAPGLASS_KILLS").ok();
    let kills = kills.map_or(50, |kills| {
        kills.parse().expect("HEAPGLASS_KILLS is a number")
    });
    for number in 0..kills {
        let folder = tempfile::tempdir_in(folder()).expect("a folder");
        let path = folder.path().join("out.hg");
        let mut child = command(&program, &[])
            .env("LD_PRELOAD", library())
            .env("HEAPGLASS_OUT", &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = [0; 8];
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut line)
            .expect("a line");
        std::thread::sleep(Duration::from_micros(number * 401 % 20_000));
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        let figures = open(&path).totals().clone();
        // At most 1,000 blocks of 3,000 bytes, and those of `puts`.
        assert!(figures.live_bytes < 3 << 20, "{figures:?}");
        assert!(figures.live_blocks <= 1002, "{figures:?}");
    }
}
