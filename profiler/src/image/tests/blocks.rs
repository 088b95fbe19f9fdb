//! The blocks of programs against what they count themselves.

use super::*;
use crate::image::glibc;

/// Returns the live blocks that a program counted itself: address and requested bytes.
fn truth(image: &Image, line: &str) -> Vec<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let mut word = || u64::from_str_radix(words.next().expect("a word"), 16).expect("a number");
    let (table, entries) = (word(), word());
    let mut bytes = vec![0; 16 * entries as usize];
    image.read(table, &mut bytes).expect("the table");
    let entries = bytes.chunks_exact(16);
    let entries = entries.map(|entry| (word_at(entry, 0), word_at(entry, 8)));
    let mut truth: Vec<(u64, u64)> = entries.filter(|entry| entry.0 > 1).collect();
    truth.sort_unstable();
    truth
}

/// Returns the usable bytes of a request.
fn class(bytes: u64) -> u64 {
    (bytes + 8).next_multiple_of(16).max(32) - 8
}

fn check(words: &[&str], least: usize) -> glibc::Blocks {
    let program = Waiting::of_c(TRUTH, words);
    let image = Image::of_core(&program.core(), None).expect("a core");
    let found = glibc::blocks(&image).expect("blocks");
    let truth = truth(&image, &program.line);
    assert!(truth.len() > least, "{}", truth.len());
    let places = |blocks: &[glibc::Block]| -> Vec<u64> {
        blocks.iter().map(|block| block.address).collect()
    };
    let known: Vec<u64> = truth.iter().map(|block| block.0).collect();
    let found_at = places(&found.live);
    let missing: Vec<_> = truth
        .iter()
        .filter(|(at, _)| found_at.binary_search(at).is_err())
        .map(|&(at, bytes)| {
            (
                at,
                bytes,
                [0, 8, 16, 24, 32].map(|word| image.word(at - 16 + word)),
            )
        })
        .collect();
    let more: Vec<_> = found
        .live
        .iter()
        .filter(|block| known.binary_search(&block.address).is_err())
        .collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "missing {missing:x?}, false {more:x?}"
    );
    for (&(address, bytes), block) in truth.iter().zip(&found.live) {
        let usable = block.usable_bytes;
        // Only a block with an alignment of its own may have 32 bytes more.
        let is_class = [0, 16].contains(&usable.wrapping_sub(class(bytes)))
            || address % 32 == 0 && usable == class(bytes) + 32;
        // A page, or as much more as an alignment takes; also if realloc made the block smaller.
        let more = if address % 4096 == 16 {
            4096 + 24
        } else {
            4096 + 32 + (16 << 11)
        };
        let is_mapped = (address + usable) % 4096 == 0 && usable >= bytes && usable < bytes + more;
        assert!(is_class || is_mapped, "{address:x}: {bytes}, {usable}");
    }
    // The running program has the same blocks, and again after it was copied and stopped.
    for way in [Way::Copy, Way::Stop, Way::Copy] {
        if let Some(image) = program.image(way) {
            let again = glibc::blocks(&image).expect("blocks");
            assert_eq!(again.live, found.live);
            assert_eq!(again.basis(), found.basis());
        }
    }
    found
}

#[test]
fn every_live_block_of_one_thread_is_found_and_no_other() {
    let found = check(&["1"], 900);
    let basis = found.basis();
    assert!(basis.contains("1 heap of 1 arena walked"), "{basis}");
    // Thread caches and fast bins are full, and there are mapped blocks, aligned ones too.
    assert!(
        !basis.contains("with 0 free blocks") && !basis.contains(" 0 mapped"),
        "{basis}"
    );
}

#[test]
fn every_live_block_of_eight_threads_is_found_and_no_other() {
    let found = check(&["8"], 7000);
    let basis = found.basis();
    assert!(
        basis.contains("8 heaps of 8 arenas walked to the end, 8 thread caches"),
        "{basis}"
    );
}

#[test]
fn a_thread_may_have_several_heaps_and_the_main_heap_may_be_large() {
    let found = check(&["2", "200000000"], 2000);
    let basis = found.basis();
    assert!(
        basis.contains("of 2 arenas") && !basis.contains("2 heaps"),
        "{basis}"
    );
    check(&["1", "100000000"], 1900);
}
