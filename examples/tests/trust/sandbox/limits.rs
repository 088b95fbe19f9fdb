//! Limits of memory, and no /proc: a program behaves as without recording, and it is recorded or
//! told why not.

use crate::common::{Target, assert_consistent, files, number};
use heapglass_examples::recorded;
use std::process::Output;

/// Checks its exit status, and that there is either a complete recording or a line with the reason.
/// Returns `true` if it was recorded.
fn assert_lives(target: &Target, output: &Output, what: &str) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(7),
        "{what}: {:?} {text}",
        output.status
    );
    if text.contains("heapglass: not recording") {
        let left = files(target.folder.path());
        assert_eq!(left, Vec::<String>::new(), "{what}: nothing is left behind");
        return false;
    }
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        recorded::sums(&recording).total_bytes >= number(&printed, "total_bytes"),
        "{what}"
    );
    true
}

#[test]
fn a_limit_of_private_memory_ends_growth_or_recording_and_nothing_else() {
    let mut began = 0;
    for mebibytes in [16, 40, 60, 70, 80, 90, 100, 110, 150, 200, 260, 300, 400] {
        let mut target =
            Target::case(&["many-sites", "20000"]).limit(libc::RLIMIT_DATA, mebibytes << 20);
        let output = target.run();
        let recorded = assert_lives(&target, &output, &format!("{mebibytes} MiB"));
        began += u32::from(recorded);
    }
    assert!(began > 0, "a generous limit leaves room to record");
}

#[test]
fn without_proc_a_program_is_recorded_or_told_why_not() {
    // With a limit of address space, the remaining space cannot be read.
    for limit in ["", "ulimit -v 1000000; "] {
        let mut target = Target::case(&[]);
        let out = target.command.get_envs().find_map(|(name, value)| {
            (name == "HEAPGLASS_OUT").then(|| value.map(std::ffi::OsStr::to_os_string))
        });
        target.command = heapglass_limits::Command::new("unshare");
        let script = format!(
            "mount -t tmpfs none /proc || exit 99; {limit}exec '{}' many-sites 1000",
            env!("CARGO_BIN_EXE_case")
        );
        target.command.args(["--mount", "sh", "-c", &script]);
        target
            .command
            .env("HEAPGLASS_OUT", out.flatten().expect("it is recorded"));
        let output = match target.command.output() {
            Ok(output) if !matches!(output.status.code(), Some(99 | 1)) => output,
            other => {
                heapglass_examples::skip::skipped(format_args!(
                    "/proc cannot be hidden here (unshare --mount): {other:?}"
                ));
                return;
            }
        };
        let recorded = assert_lives(&target, &output, limit);
        assert_eq!(
            recorded,
            limit.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
