//! Heaps whose blocks overlap or have no end, and memory that holds anything.

use crate::{alone, hold, run};
use heapglass_profiler::snapshot::{
    BlockKind, HeapBuilder, Memory, Page, RootKind, Shape, SiteShapes, WordOrders, analyse,
};
use proptest::prelude::*;
use std::io;

/// The end of the memory: blocks may claim to be longer.
const END: u64 = 3 << 20;

/// Words that repeat, with pages between them that cannot be read.
struct Anything {
    words: Vec<u64>,
    holes: u64,
}

impl Memory for Anything {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = address.saturating_add(buffer.len() as u64);
        if (address >> 12).is_multiple_of(self.holes) || end > END {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (at, byte) in (address..).zip(buffer) {
            let word = self.words[(at / 8) as usize % self.words.len()];
            *byte = word.to_le_bytes()[(at % 8) as usize];
        }
        Ok(())
    }

    /// The kernel leaves out pages beyond the address space.
    fn pages(&self, address: u64, count: usize, pages: &mut Vec<Page>) -> Option<()> {
        if address < END {
            let all = [Page::Untouched, Page::Resident, Page::Swapped];
            pages.extend(all.into_iter().cycle().take(count));
        }
        Some(())
    }
}

/// Mostly near each other, so that blocks overlap and words are pointers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..64_u64,
        0..20_000_u64,
        (0..1250_u64).prop_map(|at| at * 16),
        (0..64_u32, 0..3_u64).prop_map(|(bit, less)| (1_u64 << bit).wrapping_sub(less)),
        any::<u64>(),
    ]
}

#[test]
fn made_up_heaps_cost_little_and_never_panic() {
    let _alone = alone();
    let blocks = prop::collection::vec((number(), number(), 0..9_u32), 0..200);
    let roots = prop::collection::vec((number(), number()), 0..4);
    let words = prop::collection::vec(number(), 1..400);
    let element = prop::option::of(number());
    let orders = prop::array::uniform4(0..5_u8);
    let input = (blocks, roots, words, element, orders, 2..9_u64);
    run(
        "heaps",
        &input,
        |(blocks, roots, words, element, orders, holes), seen| {
            hold(blocks.len(), seen, || {
                let mut heap = HeapBuilder::default();
                for &(address, size, site) in &blocks {
                    heap.block(address, size, site, 1);
                }
                let kinds = [RootKind::Stack, RootKind::Segment];
                for (&(start, end), kind) in roots.iter().zip(kinds.into_iter().cycle()) {
                    heap.root(kind, 0, start..end);
                }
                let kinds = [
                    BlockKind::Unknown,
                    BlockKind::List,
                    BlockKind::Slice,
                    BlockKind::Deque,
                    BlockKind::Table,
                    BlockKind::Boxed,
                    BlockKind::Counted,
                ];
                let shapes = kinds.map(|kind| Shape::new(kind, element, 0)).to_vec();
                let [first, second, third, _] = orders;
                let orders = WordOrders::new([first, second, third], orders, orders, 16);
                let layouts = SiteShapes::new(shapes, orders);
                let memory = Anything { words, holes };
                let snapshot = analyse(heap.finish(), &memory, &layouts, &|_| ());
                let heap = snapshot.heap();
                for block in 0..heap.len() {
                    let size = heap.block(block).size;
                    assert!(snapshot.retained_bytes(block) >= size);
                    assert!(snapshot.unused_bytes(block).unwrap_or(0) <= size);
                    let holder = snapshot.holder(block);
                    assert!(!format!("{holder:?} {:?}", snapshot.reach(block)).is_empty());
                }
                let found = snapshot.unreachable_since(&snapshot.not_reached());
                found.len() == snapshot.not_reached().len()
            })
        },
    );
}
