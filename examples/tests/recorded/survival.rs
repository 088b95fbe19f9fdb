//! However a program ends, and whatever the system refuses, the recording opens and contains every
//! event up to that moment, and the program ends with its own status.

use crate::common::{
    Target, assert_consistent, assert_work_is_as_printed, case_program, files, number,
};
use heapglass_examples::{data::Random, recorded};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;
use tracking_alloc_recording::{Recording, growth, state};

#[test]
fn every_end_leaves_a_recording_of_every_event() {
    // If std knows the guard page of the main thread's stack (not with musl), it reports the
    // overflow and aborts.
    let is_other_library = std::env::var_os("HEAPGLASS_CASE").is_some();
    let overflow = if is_other_library {
        libc::SIGSEGV
    } else {
        libc::SIGABRT
    };
    for (how, status, signal) in [
        ("kill", None, Some(libc::SIGKILL)),
        ("abort", None, Some(libc::SIGABRT)),
        ("exit", Some(7), None),
        ("exit-now", Some(7), None),
        ("panic-abort", None, Some(libc::SIGABRT)),
        ("panic", Some(101), None),
        ("stack-overflow", None, Some(overflow)),
        ("segfault", None, Some(libc::SIGSEGV)),
        ("return", Some(7), None),
    ] {
        let mut target = Target::case(&["die", how]);
        let output = target.run();
        assert_eq!(
            (output.status.code(), output.status.signal()),
            (status, signal),
            "{how}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let recording = recorded::open(&target.recording());
        let printed = String::from_utf8_lossy(&output.stdout);
        if how == "panic" {
            // Unwinding frees the blocks of the program, but all its allocations are still in the
            // recording.
            assert_eq!(
                recorded::sums_in_scope(&recording, "work").total_bytes,
                number(&printed, "total_bytes")
            );
        } else {
            assert_work_is_as_printed(&recording, &printed);
        }
        let ended_in_order = matches!(how, "exit" | "panic" | "return");
        assert_eq!(
            recording.header.state == state::FINISHED,
            ended_in_order,
            "{how}"
        );
        assert_eq!(recording.header.checksum != 0, ended_in_order, "{how}");
    }
}

#[test]
fn a_program_killed_at_any_moment_never_leaves_an_unreadable_recording() {
    let random = &mut Random::new(21);
    let (mut read, mut killed) = (0, 0);
    // On a busy machine, many are killed before they begin.
    while killed < 200 || read <= 100 {
        killed += 1;
        assert!(killed <= 2_000, "only {read} of 2,000 had begun to record");
        let mut target = Target::case(&["forever"]);
        let mut child = target
            .command
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_micros(random.below(25_000) as u64));
        // Also read it while the program runs.
        let live = Recording::open(&target.recording());
        child.kill().expect("killed");
        child.wait().expect("gone");
        if let Err(error) = live {
            assert!(error.is_io(), "live: {error}");
        }
        match Recording::open(&target.recording()) {
            Ok(recording) => {
                read += 1;
                assert_eq!(recording.damage, 0);
                // An event in flight may be half applied, one in each of the two lanes.
                let (sites, lanes) = (
                    recorded::sums(&recording),
                    recorded::sums_of_lanes(&recording),
                );
                assert!(
                    sites.total_blocks.abs_diff(lanes.total_blocks) <= 2,
                    "{sites:?} {lanes:?}"
                );
            }
            // It was killed before it began, so there is no file.
            Err(error) => assert!(
                error.is_io(),
                "{error}; the folder holds {:?}",
                files(target.folder.path())
            ),
        }
    }
}

/// Runs `many-sites` under a limit. It must end with its own status. Returns the recording and the
/// output.
fn limited(mut target: Target) -> (Recording, String) {
    let printed = target.ends_with(7);
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    // Every byte is there, at its site or at "(table full)".
    let full = recording.lanes.iter().fold((0, 0), |sum, column| {
        (
            sum.0 + column.table_full.total_bytes,
            sum.1 + column.table_full.total_blocks,
        )
    });
    let phases = recording
        .lanes
        .iter()
        .flat_map(|column| &column.rows)
        .filter(|row| recording.sites[row.site as usize].scope != 0);
    let named: u64 = phases.map(|row| row.total_blocks).sum();
    // A phase that does not fit is counted at its parent, with its one block.
    let lost = recording.header.lost_scopes;
    assert!(full.0 > 0 || lost > 0, "something did not fit");
    assert!(
        named + full.1 + lost >= number(&printed, "total_blocks"),
        "{named} blocks at sites, {} at (table full), {lost} in phases that did not fit",
        full.1
    );
    (recording, printed)
}

#[test]
fn a_file_size_limit_ends_growth_and_nothing_else() {
    let target = Target::case(&["many-sites", "20000"]).limit(libc::RLIMIT_FSIZE, 2 << 20);
    let (recording, _) = limited(target);
    assert_eq!(recording.header.growth_ended, growth::FILE_SIZE_LIMIT);
    assert!(recording.file_bytes <= 2 << 20);
}

#[test]
fn a_file_size_limit_below_the_smallest_recording_is_a_line_on_stderr() {
    let mut target = Target::case(&["many-sites", "100"]).limit(libc::RLIMIT_FSIZE, 100 << 10);
    let output = target.run();
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("not recording") && text.contains("limit"),
        "{text}"
    );
    assert_eq!(
        files(target.folder.path()),
        Vec::<String>::new(),
        "nothing is left behind"
    );
}

#[test]
fn the_cap_ends_growth_and_nothing_else() {
    let (recording, _) =
        limited(Target::case(&["many-sites", "20000"]).env("HEAPGLASS_MAX_BYTES", "1500000"));
    assert_eq!(recording.header.growth_ended, growth::CAP);
    assert!(recording.file_bytes <= 1_500_000);
}

#[test]
fn a_limit_of_address_space_ends_growth_or_recording_and_nothing_else() {
    let mut began = 0;
    for mebibytes in [40, 60, 80, 90, 100, 110, 150, 200, 300, 400] {
        let mut target =
            Target::case(&["many-sites", "20000"]).limit(libc::RLIMIT_AS, mebibytes << 20);
        let output = target.run();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(7),
            "{mebibytes} MiB: {:?} {text}",
            output.status
        );
        if text.contains("not recording") {
            assert_eq!(
                files(target.folder.path()),
                Vec::<String>::new(),
                "{mebibytes} MiB: nothing is left behind"
            );
            continue;
        }
        began += 1;
        let recording = recorded::open(&target.recording());
        assert_consistent(&recording);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            recorded::sums(&recording).total_bytes >= number(&printed, "total_bytes"),
            "{mebibytes} MiB"
        );
    }
    assert!(began > 0);
}

#[test]
fn a_recording_whose_folder_is_removed_stops_growing_and_nothing_else() {
    let mut target = Target::case(&["many-sites", "20000"]);
    let folder = target.folder.path().to_str().expect("text").to_owned();
    target.command.arg(&folder);
    target.ends_with(7);
    assert!(
        !target.folder.path().exists(),
        "nothing makes the folder again"
    );
}

#[test]
fn a_full_disk_ends_growth_and_nothing_else() {
    for taken in ["0", "512K"] {
        let target = Target::case(&[]);
        let folder = target.folder.path().to_str().expect("text").to_owned();
        let program = case_program();
        let script = format!(
            "mount -t tmpfs -o size=1100k none '{folder}' || exit 99; head -c {taken} /dev/zero > '{folder}/other'; \
             '{program}' many-sites 20000; status=$?; cat '{folder}/out.hg' >&3 2> /dev/null; exit $status"
        );
        let kept = tempfile::NamedTempFile::new().expect("a file");
        let mut command = heapglass_limits::Command::new("unshare");
        command.args([
            "--mount",
            "sh",
            "-c",
            &format!("exec 3> '{}'; {script}", kept.path().display()),
        ]);
        command.env("HEAPGLASS_OUT", target.recording());
        let output = match command.output() {
            Ok(output) if output.status.code() != Some(99) && output.status.code() != Some(1) => {
                output
            }
            other => {
                heapglass_examples::skip::skipped(format_args!(
                    "a file system cannot be mounted here (unshare --mount, mount -t tmpfs): {other:?}"
                ));
                return;
            }
        };
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{text}");
        if taken == "0" {
            let recording = recorded::open(kept.path());
            assert_consistent(&recording);
            assert_eq!(recording.header.growth_ended, growth::DISK_FULL);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(recorded::sums(&recording).total_bytes >= number(&printed, "total_bytes"));
        } else {
            assert!(text.contains("not recording"), "{text}");
        }
    }
}

#[test]
fn an_output_path_that_cannot_be_written_is_a_line_on_stderr() {
    for path in [
        "/proc/nowhere/out.hg",
        "/nonexistent/folder/out.hg",
        "/dev/null",
        "/tmp",
    ] {
        let mut target = Target::case(&["many-sites", "10"]).env("HEAPGLASS_OUT", path);
        let output = target.run();
        assert_eq!(output.status.code(), Some(7));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.starts_with("heapglass: not recording to") && text.lines().count() == 1,
            "{path}: {text}"
        );
    }
}

#[test]
fn what_existed_at_the_path_is_kept() {
    let target = &mut Target::case(&["many-sites", "10"]);
    std::fs::write(target.recording(), "somebody's letter").expect("written");
    target.ends_with(7);
    assert_eq!(
        std::fs::read(target.recording()).expect("read"),
        b"somebody's letter"
    );
    let names = files(target.folder.path());
    let beside = names.iter().find(|name| name.starts_with("out-"));
    let beside = target.folder.path().join(beside.expect("a recording"));
    assert_consistent(&recorded::open(&beside));
    assert_eq!(names.len(), 2, "{names:?}");
}
