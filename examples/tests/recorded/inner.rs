//! Inner allocators that place small blocks close together: the live figures of each site equal
//! arithmetic after every step.

use crate::common::{Target, assert_work_is_as_printed};
use heapglass_examples::recorded;

const INNER: [&str; 4] = ["system", "mimalloc", "jemalloc", "pack"];

#[test]
fn random_sizes_and_alignments_are_followed_to_the_byte_at_every_step() {
    for inner in INNER {
        let mut target = Target::case(&["sizes", "3"]).env("CASE_ALLOC", inner);
        let output = target.run();
        assert!(
            output.status.success(),
            "{inner}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn a_million_boxes_of_one_and_of_eight_bytes_are_told_apart() {
    for inner in INNER {
        let mut target = Target::case(&["boxes", "500000"]).env("CASE_ALLOC", inner);
        let printed = target.succeed();
        let recording = recorded::open(&target.recording());
        assert_work_is_as_printed(&recording, &printed);
        assert_eq!(recording.header.untracked_blocks, 0, "{inner}");
    }
}
