//! Forked children: they never write into their parent's recording, never wait, and may make
//! recordings of their own.

use super::{assert_retained_is_known, entered, sealed};
use crate::common::{Target, number};
use heapglass_examples::recorded;
use heapglass_limits::rounds;
use std::path::PathBuf;
use tracking_alloc_recording::{Recording, site_flags};

/// Runs a case whose child records to a file of its own. Returns that recording and the parent's.
fn with_child(case: &str) -> (Recording, Recording) {
    let mut target = Target::case(&[case]);
    let own: PathBuf = target.folder.path().join("child.hg");
    target.command.arg(&own);
    let printed = target.succeed();
    assert_eq!(number(&printed, "status"), 0, "how the child ended");
    (sealed(&own), sealed(&target.recording()))
}

#[test]
fn what_a_child_inherits_does_not_write_into_its_parents_recording() {
    let mut target = Target::case(&["outlive-fork"]);
    let printed = target.succeed();
    assert_eq!(number(&printed, "status"), 0, "how the child ended");
    let recording = sealed(&target.recording());
    assert_eq!(entered(&recording, "held"), 1);
    assert_eq!(entered(&recording, "new"), 0, "entered by the child");
    assert_retained_is_known(&recording);
}

#[test]
fn a_child_that_does_not_record_never_waits_for_a_lock_of_its_parent() {
    let children = rounds(60, 200).to_string();
    for allocator in ["system", "pack"] {
        let mut target =
            Target::case(&["children-never-wait", &children]).env("CASE_ALLOC", allocator);
        let printed = target.succeed();
        assert_eq!(
            number(&printed, "bad"),
            0,
            "{allocator}: of {children} children"
        );
        sealed(&target.recording());
    }
}

#[test]
fn a_child_that_records_never_waits_for_a_lock_of_its_parent() {
    let children = rounds(25, 100).to_string();
    for allocator in ["system", "pack"] {
        let mut target = Target::case(&["children-record", &children]).env("CASE_ALLOC", allocator);
        let printed = target.succeed();
        assert_eq!(
            number(&printed, "bad"),
            0,
            "{allocator}: of {children} children"
        );
        sealed(&target.recording());
    }
}

#[test]
fn a_child_forked_by_a_worker_thread_records_whole_stacks() {
    let (child, _) = with_child("child-of-a-worker");
    let mut depths = Vec::new();
    for site in &child.sites {
        let scope = &child.scopes[site.scope as usize];
        if child.string(scope.name).as_deref() != Some("child") {
            continue;
        }
        assert_eq!(site.flags & site_flags::FOREIGN, 0, "{site:?}");
        let mut depth = 0;
        let mut node = site.stack;
        while node != 0 {
            (depth, node) = (depth + 1, child.stacks[node as usize].parent);
        }
        depths.push(depth);
    }
    depths.sort_unstable();
    assert_eq!(depths.len(), 3, "{depths:?}");
    assert!(
        depths[0] > 8,
        "the thread's outer frames are there: {depths:?}"
    );
}

#[test]
fn a_child_of_a_thread_on_the_shared_lane_records_into_its_own_file() {
    let (child, parent) = with_child("child-of-a-shared-lane");
    let bytes = (1..100u64).sum::<u64>();
    let counted = recorded::sums_in_scope(&child, "child");
    assert_eq!((counted.total_bytes, counted.live_blocks()), (bytes, 0));
    assert_eq!(
        recorded::sums_in_scope(&child, "other").total_bytes,
        0,
        "a phase of the parent is none of the child's"
    );
    assert!(recorded::sums_by_scope(&child)[0].total_bytes >= 3_000);
    for name in ["child", "other"] {
        assert_eq!(entered(&parent, name), 0, "{name}");
    }
    assert_eq!(
        recorded::sums_in_scope(&parent, "of the parent").total_bytes,
        20,
        "what the child did is not in it"
    );
}

#[test]
fn what_belongs_to_the_parents_recording_means_nothing_in_the_childs() {
    let (child, parent) = with_child("handles-of-the-parent");
    for name in ["child", "child too"] {
        let scopes = child.scopes.iter();
        let mut named = scopes.filter(|scope| child.string(scope.name).as_deref() == Some(name));
        let scope = named.next().expect("a phase");
        let figures = (scope.entered, scope.records, scope.input_bytes);
        assert_eq!(figures, (1, 0, 0), "{name}");
        assert_eq!(scope.stayed_bytes, 0, "{name}");
        assert_eq!(
            recorded::sums_in_scope(&child, name).total_bytes,
            0,
            "{name}"
        );
    }
    let names: Vec<_> = child
        .marks
        .iter()
        .map(|mark| child.string(mark.name))
        .collect();
    assert_eq!(names, [Some("late".into())], "marks of the child's own");
    assert!(
        recorded::sums_by_scope(&child)[0].total_bytes >= 3_000,
        "outside every phase"
    );
    assert_eq!(entered(&parent, "child"), 0);
}
