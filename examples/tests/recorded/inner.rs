//! Inner allocators that place small blocks close together: the live figures of each site equal
//! arithmetic after every step.

use crate::common::{Target, assert_work_is_as_printed};
use heapglass_examples::recorded;
use heapglass_profiler::allocator::Allocator;
use std::alloc::{GlobalAlloc, Layout};

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

/// Compares the formula of an allocator with what it says of all sizes up to 64 KiB.
fn assert_sizes(of: Allocator, inner: &impl GlobalAlloc, usable: impl Fn(*mut u8) -> usize) {
    for bytes in 1..=64 << 10 {
        let layout = Layout::from_size_align(bytes, 1).expect("a layout");
        // SAFETY: the size is not 0, and the block is freed by the same allocator.
        let said = unsafe {
            let block = inner.alloc(layout);
            let said = usable(block);
            inner.dealloc(block, layout);
            said as u64
        };
        let known = of.usable_bytes(bytes as u64).expect("a known size");
        // What is left of a freed chunk of glibc and is too small for another one stays with it.
        let is_right = said == known || (of == Allocator::Glibc && said == known + 16);
        assert!(is_right, "{of:?}: {bytes} bytes have {said}, not {known}");
    }
    assert_eq!(of.usable_bytes((64 << 10) + 1), None);
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn glibc_gives_the_usable_bytes_of_its_formula() {
    // SAFETY: the block is live.
    assert_sizes(Allocator::Glibc, &std::alloc::System, |block| unsafe {
        libc::malloc_usable_size(block.cast())
    });
}

#[test]
fn mimalloc_gives_the_usable_bytes_of_its_formula() {
    // SAFETY: the block is live.
    assert_sizes(Allocator::Mimalloc, &mimalloc::MiMalloc, |block| unsafe {
        mimalloc::MiMalloc.usable_size(block)
    });
}

#[test]
fn jemalloc_gives_the_usable_bytes_of_its_formula() {
    use tikv_jemallocator::Jemalloc;
    // SAFETY: the block is live.
    assert_sizes(Allocator::Jemalloc, &Jemalloc, |block| unsafe {
        tikv_jemallocator::usable_size(block)
    });
}

#[test]
fn a_recording_names_the_allocator_inside() {
    let mut target = Target::case(&["boxes", "10"]);
    target.succeed();
    let recording = recorded::open(&target.recording());
    let named = recording.string(recording.header.allocator);
    assert_eq!(named.as_deref(), Some("heapglass_examples::switch::Switch"));
}
