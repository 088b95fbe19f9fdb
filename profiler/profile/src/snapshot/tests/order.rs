//! The order in which blocks are read: typed pointers tell more than others.

use super::*;
use std::collections::BTreeSet;

/// Layouts in which a pointer tells the type of its block unless it is the first word of the root.
#[derive(Default)]
struct Typed {
    typed: Mutex<BTreeSet<usize>>,
    /// Blocks in the order in which they were read, and whether their type was known.
    read: Mutex<Vec<(usize, bool)>>,
}

impl Typed {
    fn is_typed(&self, block: usize) -> bool {
        self.typed.lock().expect("types").contains(&block)
    }
}

impl Layouts for Typed {
    fn needs_header(&self, _: u32) -> bool {
        true
    }

    fn element_bytes(&self, _: u32) -> Option<u64> {
        None
    }

    fn value_type(&self, _: u32) -> u64 {
        0
    }

    fn walk(&self, view: &View<'_>, words: &mut Words) {
        if let Source::Block(block) = view.source {
            let mut read = self.read.lock().expect("blocks");
            read.push((block, self.is_typed(block)));
        }
        for (number, (at, word)) in view.words().enumerate() {
            if let Some(to) = view.heap.find(word) {
                let is_stale = matches!(view.source, Source::Root(_)) && number == 0;
                words.owns(at, to);
                words.held_as(at, u64::from(!is_stale));
            }
        }
    }

    fn held(&self, _: Source, block: usize, note: u64) -> bool {
        if note == 1 {
            self.typed.lock().expect("types").insert(block);
        }
        true
    }

    fn has_type(&self, _: &Heap, block: usize) -> bool {
        self.is_typed(block)
    }
}

/// A stale word points to the second block of a typed chain. It must not be read, without its type,
/// before the chain has told it.
#[test]
fn a_word_without_a_type_does_not_take_the_type_that_a_later_pointer_tells() {
    let mut memory = Ranges::default();
    memory.put(0x100, le(&[0x1000, 0x3000]));
    memory.put(0x3000, le(&[0x1000, 0]));
    memory.put(0x1000, le(&[0x2000, 0]));
    let mut heap = HeapBuilder::default();
    for (birth, address) in (1..).zip([0x1000, 0x2000, 0x3000]) {
        heap.block(address, 16, 0, birth);
    }
    heap.root(RootKind::Segment, 0, 0x100..0x110);
    let layouts = Typed::default();
    analyse(heap.finish(), &memory, &layouts, &|_| ());
    let read = layouts.read.lock().expect("blocks");
    assert_eq!(*read, [(2, true), (0, true), (1, true)]);
}
