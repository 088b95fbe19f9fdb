//! The permissions of a recording, and file systems that cannot hold one while it is written.

use super::images::Mounted;
use super::paths::Held;
use crate::common::{Target, assert_work_is_as_printed, files};
use heapglass_examples::recorded;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

/// Returns the permission bits of a file.
fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o7777
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
        heapglass_examples::skip::skipped(format_args!("only root can give a file away"));
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
            .env("HEAPGLASS_OUT", &path)
            .as_std()
            .uid(NOBODY)
            .gid(NOBODY);
        target.ends_with(7);
        path
    };
    let plain = run(0o755);
    assert_eq!(plain.metadata().expect("it records").uid(), NOBODY);
    let raised = run(0o4755);
    if raised.exists() && raised.metadata().is_ok_and(|file| file.uid() == NOBODY) {
        heapglass_examples::skip::skipped(format_args!(
            "the file system of {} raises nobody (nosuid)",
            folder.path().display()
        ));
        return;
    }
    assert!(
        !raised.exists(),
        "with another's rights it writes where its user says"
    );
}

#[test]
fn where_no_recording_can_live_a_link_leads_to_it() {
    let Some(disk) = Mounted::new("ramfs", 0) else {
        return;
    };
    let path = disk.path().join("out.hg");
    let first = Held::begin(&path, &["files-hold"]);
    let live = std::fs::read_link(&path).expect("a link");
    let folder = live.parent().expect("a folder");
    assert!(
        folder.starts_with("/dev/shm") || folder.ends_with("heapglass"),
        "{}",
        live.display()
    );
    assert_eq!((mode(folder), mode(&live)), (0o700, 0o600));
    // A second recording does not take the first one's link, nor does a third one after both ended.
    let second = Held::begin(&path, &["files-hold"]);
    let second_link = disk.path().join(format!("out-{}.hg", second.pid()));
    assert_eq!(std::fs::read_link(&path).expect("a link"), live);
    for (held, path) in [(first, &path), (second, &second_link)] {
        let printed = held.end();
        assert_work_is_as_printed(&recorded::open(path), &printed);
    }
    let third = Held::begin(&path, &["files-hold"]);
    let third_link = disk.path().join(format!("out-{}.hg", third.pid()));
    third.end();
    assert_eq!(std::fs::read_link(&path).expect("a link"), live);
    assert_eq!(files(disk.path()).len(), 3);
    for path in [path, second_link, third_link] {
        std::fs::remove_file(path.canonicalize().expect("it is there")).expect("removed");
    }
}

#[test]
fn a_place_for_live_recordings_that_others_can_use_is_not_used() {
    let Some(disk) = Mounted::new("ramfs", 0) else {
        return;
    };
    let runtime = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let planted = runtime.path().join("heapglass");
    std::fs::create_dir(&planted).expect("a folder");
    std::fs::set_permissions(&planted, PermissionsExt::from_mode(0o777)).expect("open to all");
    let path = disk.path().join("out.hg");
    let mut target = Target::case(&["die", "exit"])
        .env("XDG_RUNTIME_DIR", runtime.path().to_str().expect("text"));
    target.command.env("HEAPGLASS_OUT", &path);
    target.ends_with(7);
    assert_eq!(files(&planted), [""; 0]);
    let live = std::fs::read_link(&path).expect("a link");
    assert!(live.starts_with("/dev/shm/heapglass-0"), "{live:?}");
    std::fs::remove_file(live).expect("removed");
}
#[test]
fn a_setting_that_is_not_understood_is_one_line_and_the_program_runs_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.hg");
    let path = path.to_str().expect("text");
    let pattern = format!("{}/%x.hg", folder.path().display());
    let nameless = format!("{}/", folder.path().display());
    for (name, value, said) in [
        (
            "HEAPGLASS_MAX_BYTES",
            "0",
            "too small HEAPGLASS_MAX_BYTES `0`; use at least 1MiB",
        ),
        (
            "HEAPGLASS_MAX_BYTES",
            "yes",
            "invalid HEAPGLASS_MAX_BYTES `yes`; use a number of bytes",
        ),
        (
            "HEAPGLASS_MAX_BYTES",
            "64 apples",
            "invalid HEAPGLASS_MAX_BYTES `64 apples`; use a number of bytes",
        ),
        (
            "HEAPGLASS_PREALLOC",
            "yes",
            "invalid HEAPGLASS_PREALLOC `yes`; use `0` or `1`",
        ),
        (
            "HEAPGLASS_MODE",
            "fast",
            "unknown HEAPGLASS_MODE `fast`; use",
        ),
        ("HEAPGLASS_OUT", &pattern, "unknown % in HEAPGLASS_OUT; use"),
        ("HEAPGLASS_OUT", &nameless, "HEAPGLASS_OUT names a folder"),
    ] {
        let mut target = Target::case(&["die", "exit"]);
        let output = target
            .command
            .env("HEAPGLASS_OUT", path)
            .env(name, value)
            .output()
            .expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{name}={value}: {stderr}");
        assert_eq!(
            stderr.matches("heapglass: not recording to").count(),
            1,
            "{stderr}"
        );
        assert!(stderr.contains(said), "{name}={value}: {stderr}");
        assert_eq!(files(folder.path()), [""; 0], "{name}={value}");
    }
    let target = Target::case(&["die", "exit"]).env("HEAPGLASS_MAX_BYTES", "64MiB");
    let mut target = target.env("HEAPGLASS_OUT", path);
    target.ends_with(7);
    assert_eq!(files(folder.path()), ["out.hg"]);
}
