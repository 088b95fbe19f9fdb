//! Small stacks, and stacks that are not the thread's own.

use crate::common::{Target, assert_consistent, assert_work_is_as_printed, number};
use heapglass_examples::recorded;
use tracking_alloc_recording::site_flags;

#[test]
fn a_thread_of_64_kib_can_be_recorded() {
    let mut target = Target::case(&["small-thread"]);
    let printed = target.succeed();
    assert_work_is_as_printed(&recorded::open(&target.recording()), &printed);
}

#[test]
fn a_thread_of_64_kib_can_begin_a_recording() {
    let mut target = Target::case(&["small-thread"]);
    let path = target.recording();
    target.command.arg(&path).env_remove("HEAPGLASS_OUT");
    let printed = target.succeed();
    assert_work_is_as_printed(&recorded::open(&path), &printed);
}

#[test]
fn stacks_that_are_not_the_threads_own_are_followed_to_their_end_and_marked() {
    let mut target = Target::case(&["foreign-stacks"]);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    let mut blocks = 0;
    for name in ["coroutine", "signal"] {
        blocks += recorded::sums_in_scope(&recording, name).total_blocks;
        let sites: Vec<_> = recording
            .sites
            .iter()
            .filter(|site| {
                let scope = &recording.scopes[site.scope as usize];
                recording.string(scope.name).as_deref() == Some(name)
            })
            .collect();
        assert!(sites.len() >= 2, "{name}: {} sites", sites.len());
        for site in sites {
            // No rule leads from the first frame of a context or a signal handler to the
            // interrupted code.
            assert_ne!(site.flags & site_flags::FOREIGN, 0, "{name}");
            let stack = &recording.stacks[site.stack as usize];
            let frame = &recording.frames[stack.frame as usize];
            let module = &recording.modules[frame.module as usize];
            let path = recording.string(module.path).unwrap_or_default();
            assert!(
                path.ends_with("/case"),
                "{name}: the innermost frame is in {path:?}"
            );
            assert_ne!(stack.parent, 0, "{name}: several frames");
        }
    }
    // Each time there is also a vector for the blocks.
    assert_eq!(blocks, number(&printed, "total_blocks") + 4);
}
