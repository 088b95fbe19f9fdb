//! Who may read a recording, and file systems that cannot carry one while it is written.

use super::images::Mounted;
use super::paths::Held;
use crate::common::{Target, assert_work_is_as_printed, files};
use heapglass_examples::recorded;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use tracking_alloc_recording::{HeaderValue, MAGIC, Record, Recording, state};

/// Bits of a file's mode that say who may do what.
fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o7777
}

fn header(path: &Path) -> HeaderValue {
    HeaderValue::parse(&std::fs::read(path).expect("read"))
}

/// Where the pointer at `path` leads.
fn pointed_at(path: &Path) -> PathBuf {
    let error = Recording::open(path).expect_err("a pointer");
    PathBuf::from(error.live_path().expect("a pointer"))
}

#[test]
fn a_recording_is_its_owners_alone_under_any_umask() {
    for umask in ["000", "022", "077", "777"] {
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!(
            "umask {umask}; exec '{}' die exit",
            env!("CARGO_BIN_EXE_case")
        );
        let mut target = Target::new("sh", &["-c", &script]);
        let path = folder.path().join("out.hg");
        let output = target
            .command
            .env("HEAPGLASS_OUT", &path)
            .output()
            .expect("sh starts");
        assert_eq!(output.status.code(), Some(7));
        let expected = if umask == "777" { 0 } else { 0o600 };
        assert_eq!(mode(&path), expected, "umask {umask}");
    }
}

#[test]
fn a_program_with_raised_privileges_does_not_look_at_the_environment() {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can give a file away");
        return;
    }
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("open to all");
    let program = folder.path().join("case");
    std::fs::copy(env!("CARGO_BIN_EXE_case"), &program).expect("copied");
    let run = |bits: u32| {
        std::fs::set_permissions(&program, PermissionsExt::from_mode(bits)).expect("a mode");
        let mut target = Target::new(program.to_str().expect("text"), &["die", "exit"]);
        let path = folder.path().join(format!("{bits:o}.hg"));
        target
            .command
            .uid(NOBODY)
            .gid(NOBODY)
            .env("HEAPGLASS_OUT", &path);
        target.ends_with(7);
        path
    };
    let plain = run(0o755);
    assert_eq!(plain.metadata().expect("it records").uid(), NOBODY);
    let raised = run(0o4755);
    if raised.exists() && raised.metadata().is_ok_and(|file| file.uid() == NOBODY) {
        println!(
            "skipped: the file system of {} raises nobody (nosuid)",
            folder.path().display()
        );
        return;
    }
    assert!(
        !raised.exists(),
        "with another's rights it writes where its user says"
    );
}

#[test]
fn where_no_recording_can_live_a_pointer_says_where_it_is() {
    let Some(disk) = Mounted::new("ramfs", 0) else {
        return;
    };
    let path = disk.path().join("out.hg");
    let first = Held::begin(&path, &["files-hold"]);
    let live = pointed_at(&path);
    assert!(
        live.starts_with("/dev/shm") || live.starts_with("/run"),
        "{}",
        live.display()
    );
    assert_eq!((mode(&path), mode(&live)), (0o600, 0o600));
    let pointer = header(&path);
    assert_eq!((pointer.magic, pointer.state), (MAGIC, state::ELSEWHERE));
    assert_eq!(pointer.pid, first.pid(), "it says who made it");
    // A second one does not take the first one's pointer.
    let second = Held::begin(&path, &["files-hold"]);
    let beside = disk.path().join(format!("out-{}.hg", second.pid()));
    let second_live = pointed_at(&beside);
    assert_eq!(pointed_at(&path), live);
    for (held, path) in [(first, &live), (second, &second_live)] {
        let printed = held.end();
        assert_work_is_as_printed(&recorded::open(path), &printed);
    }
    // A third one replaces the first one's pointer, with what it points to: both ended.
    let third = Held::begin(&path, &["files-hold"]);
    let third_live = pointed_at(&path);
    assert_ne!(third_live, live);
    assert!(
        !live.exists(),
        "nothing is left in memory that nothing leads to"
    );
    assert!(second_live.exists(), "what has a name of its own stays");
    assert_eq!(
        files(disk.path()),
        [beside.file_name(), path.file_name()]
            .map(|name| name.expect("a name").to_string_lossy().into_owned())
    );
    third.end();
    for path in [second_live, third_live] {
        std::fs::remove_file(path).expect("removed");
    }
}
