//! The two ways of walking a stack: the same program, built with and without frame pointers, has
//! the same stacks.

use crate::build::{Flags, Program};
use crate::stacks::Stacks;
use tracking_alloc_recording::{site_flags, unwinder};

/// Checks that a program's recordings with and without frame pointers have the same stacks, with
/// the same number of blocks.
fn assert_same_stacks(flags: Flags) {
    let kept = Stacks::of(
        &Program::build(
            "unwound",
            Flags {
                frame_pointers: true,
                ..flags
            },
        ),
        "kept",
    );
    let omitted = Stacks::of(
        &Program::build(
            "unwound",
            Flags {
                frame_pointers: false,
                ..flags
            },
        ),
        "omitted",
    );
    assert_eq!(
        kept.header.unwinder,
        unwinder::FRAME_POINTERS,
        "built with frame pointers"
    );
    assert_eq!(omitted.header.unwinder, unwinder::EH_FRAME, "built without");
    assert_eq!(
        kept.header.unwinder_disagreements, 0,
        "early stacks against .eh_frame"
    );
    assert_eq!(
        omitted.flagged(site_flags::CUT | site_flags::FOREIGN),
        Vec::<String>::new(),
        "stacks not followed to their end"
    );
    assert!(
        kept.blocks.len() > 100,
        "too few stacks to mean anything: {}",
        kept.blocks.len()
    );
    assert_eq!(
        kept.difference(&omitted),
        Vec::<String>::new(),
        "stacks (- with frame pointers, + without)"
    );
}

#[test]
fn with_and_without_frame_pointers_the_stacks_are_the_same() {
    assert_same_stacks(Flags::KEPT);
}

#[test]
fn with_and_without_frame_pointers_the_stacks_are_the_same_when_panics_abort() {
    assert_same_stacks(Flags {
        panic: "abort",
        ..Flags::KEPT
    });
}

#[test]
fn under_a_c_callback_the_whole_stack_is_there_without_frame_pointers() {
    let stacks = Stacks::of(&Program::build("callbacks", Flags::OMITTED), "qsort");
    assert_eq!(stacks.header.unwinder, unwinder::EH_FRAME);
    let through = stacks.through("callbacks::compare");
    assert!(
        !through.is_empty() && through.len() <= 8,
        "{} sites",
        through.len()
    );
    assert!(
        through.iter().all(
            |stack| stack.contains("callbacks::sort_in_c") && stack.contains("callbacks::main")
        ),
        "{through:#?}"
    );
}

#[test]
fn a_function_that_c_starts_as_a_thread_keeps_its_other_callers() {
    for (is_static, panic) in [(true, "unwind"), (true, "abort"), (false, "unwind")] {
        let flags = Flags {
            is_static,
            panic,
            ..Flags::OMITTED
        };
        let stacks = Stacks::of(&Program::build("start_routine", flags), "started");
        assert_eq!(stacks.header.unwinder, unwinder::EH_FRAME, "{flags:?}");
        for caller in ["one_caller", "other_caller"] {
            let through = stacks.through(&format!("start_routine::{caller}"));
            let whole = |stack: &&str| {
                stack.contains("start_routine::main") && stack.contains("start_routine::routine")
            };
            assert!(through.iter().any(whole), "{flags:?}: {through:#?}");
        }
        assert_eq!(
            stacks.flagged(site_flags::CUT),
            Vec::<String>::new(),
            "{flags:?}"
        );
    }
}

#[test]
fn on_stacks_that_are_not_the_threads_own_the_whole_stack_is_there() {
    for flags in [Flags::KEPT, Flags::OMITTED] {
        let stacks = Stacks::of(&Program::build("segments", flags), "segments");
        let through = stacks.through("segments::innermost");
        assert_eq!(through.len(), 2, "{flags:?}: {through:#?}");
        for stack in through {
            // Two frames of a long run of one function are kept.
            let times = |name: &str| stack.split(" > ").filter(|frame| *frame == name).count();
            assert_eq!(
                (times("segments::descend"), times("segments::go_on")),
                (12, 4),
                "{flags:?}: {stack}"
            );
        }
        let beneath = stacks.through("segments::in_coroutine");
        assert_eq!(beneath.len(), 1, "{flags:?}: {beneath:#?}");
        assert!(
            beneath[0].contains("segments::switch_to_coroutine::coroutine"),
            "{flags:?}: {beneath:#?}"
        );
        // Nothing tells which code switched to the coroutine.
        assert_eq!(stacks.flagged(site_flags::FOREIGN), beneath, "{flags:?}");
        assert_eq!(
            stacks.flagged(site_flags::CUT),
            Vec::<String>::new(),
            "{flags:?}"
        );
    }
}

#[test]
fn where_frame_pointers_miss_frames_the_rules_are_followed() {
    let stacks = Stacks::of(&Program::build("callbacks", Flags::KEPT), "missed");
    assert_eq!(stacks.header.unwinder, unwinder::EH_FRAME);
    assert_eq!(
        stacks.header.unwinder_disagreements, 0,
        "no stack is left that misses frames"
    );
    let through = stacks.through("callbacks::compare");
    assert!(!through.is_empty());
    assert!(
        through.iter().all(
            |stack| stack.contains("callbacks::sort_in_c") && stack.contains("callbacks::main")
        ),
        "{through:#?}"
    );
}

#[test]
fn code_that_keeps_data_in_the_frame_pointer_makes_a_handful_of_sites() {
    for flags in [Flags::KEPT, Flags::OMITTED] {
        let stacks = Stacks::of(&Program::build("callbacks", flags), "data");
        let through = stacks.through("callbacks::called_back");
        assert!(
            !through.is_empty() && through.len() <= 100,
            "{} sites of 10,000 calls, {flags:?}",
            through.len()
        );
        // With .eh_frame rules, the walk passes through the assembly. With frame pointers, it ends
        // there.
        let whole = through
            .iter()
            .filter(|stack| stack.contains("callbacks::main"))
            .count();
        assert!(
            flags.frame_pointers || whole == through.len(),
            "{through:#?}"
        );
        let blind = stacks.through("callbacks::called_back_without_rules");
        assert!(
            !blind.is_empty() && blind.len() <= 100,
            "{} sites without rules, {flags:?}",
            blind.len()
        );
    }
}

#[test]
fn whatever_the_stack_did_since_the_last_walk_the_next_one_is_that_of_a_walk_in_full() {
    for flags in [Flags::KEPT, Flags::OMITTED] {
        let program = Program::build(
            "jumps",
            Flags {
                checks: true,
                ..flags
            },
        );
        let stacks = Stacks::of(&program, "jumps");
        assert_eq!(stacks.header.walk_disagreements, 0, "{flags:?}");
        assert_eq!(stacks.header.unwinder_disagreements, 0, "{flags:?}");
        assert!(
            stacks.blocks.len() > 1000,
            "too few stacks to mean anything: {}",
            stacks.blocks.len()
        );
    }
}
