//! The recorder's demands on a restricted program: no system calls for files, little stack.

use crate::build::{Flags, Program};
use std::os::unix::process::ExitStatusExt;
use tracking_alloc_recording::{Recording, module_id, site_flags, state, unwinder};

/// The maximum stack use of beginning a recording, in bytes.
const MOST_AT_START: usize = 16 << 10;
/// The maximum stack use of any other event, in bytes.
const MOST_IN_EVENT: usize = 4 << 10;

#[test]
fn a_preallocated_recording_makes_no_call_later_that_filters_kill_for() {
    for (flags, by) in [
        (Flags::KEPT, unwinder::FRAME_POINTERS),
        (Flags::OMITTED, unwinder::EH_FRAME),
    ] {
        let program = Program::build("sandboxed", flags);
        let bare = program.command().output().expect("it starts");
        assert!(
            bare.status.success(),
            "unrecorded it lives under the filter: {}",
            bare.status
        );
        let path = program.recording("sandboxed");
        let output = program
            .command()
            .env("HEAPGLASS_OUT", &path)
            .env("HEAPGLASS_PREALLOC", "1")
            .output()
            .expect("it starts");
        assert_eq!(
            (output.status.code(), output.status.signal()),
            (Some(0), None),
            "{flags:?}: SIGSYS is {}",
            libc::SIGSYS
        );
        let recording = Recording::open(&path).expect("a finished recording");
        let header = &recording.header;
        assert_eq!((header.state, header.unwinder), (state::FINISHED, by));
        assert_ne!(header.checksum, 0);
        assert_eq!(recording.damage, 0);
        assert!(recording.sites.len() > 3_000, "{}", recording.sites.len());
        let cut = recording
            .sites
            .iter()
            .filter(|site| site.flags & site_flags::CUT != 0);
        assert!(cut.count() > 0, "stacks through unknown code are said");
        assert!(recording.modules.len() > 2, "{}", recording.modules.len());
        assert!(
            recording.modules[1..]
                .iter()
                .any(|module| module.id_kind == module_id::BUILD_ID),
            "what was loaded at the start has its identity"
        );
    }
}

#[test]
fn a_childs_events_are_not_its_parents_where_the_kernel_ignores_the_advice_to_wipe() {
    let program = Program::build("unwiped", Flags::KEPT);
    let path = program.recording("unwiped");
    let output = program.command().arg(&path).output().expect("it starts");
    assert!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let recording = Recording::open(&path).expect("a finished recording");
    assert_eq!(recording.header.state, state::FINISHED);
    let blocks: u64 = recording
        .lanes
        .iter()
        .map(|lane| lane.all.total_blocks)
        .sum();
    assert!((100..200).contains(&blocks), "{blocks} blocks");
}

#[test]
fn recording_takes_little_stack() {
    for flags in [Flags::KEPT, Flags::OMITTED] {
        let program = Program::build("painted", flags);
        let path = program.recording("painted");
        let mut by_environment = program.command();
        by_environment.env("HEAPGLASS_OUT", &path);
        for command in [&mut program.command(), &mut by_environment] {
            let output = command.arg(&path).output().expect("it starts");
            let printed = String::from_utf8_lossy(&output.stdout);
            println!("{flags:?}: {}", printed.replace('\n', " "));
            assert!(
                output.status.success(),
                "{}: {printed} {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
            for (name, bytes) in printed.lines().filter_map(|line| line.split_once('=')) {
                let bytes: usize = bytes.parse().expect("a number");
                let most = if name == "start" {
                    MOST_AT_START
                } else {
                    MOST_IN_EVENT
                };
                assert!(
                    bytes <= most,
                    "{name} takes {bytes} bytes of stack, {flags:?}"
                );
            }
        }
    }
}
