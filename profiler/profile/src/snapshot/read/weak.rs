//! `Weak` pointers, which keep the block of a value that was dropped.

use super::super::heap::RootKind;
use super::{REFERS, Reader, clear_bit};

impl Reader<'_> {
    /// Takes the blocks to which a stack points out of those whose value was dropped: while a value
    /// is being dropped, its counts are the same, and the functions that drop it point to it.
    fn keep_those_being_dropped(&mut self) {
        for (node, root) in (self.heap.len()..).zip(self.heap.roots()) {
            let mut position = self.contents.starts[node];
            while root.kind == RootKind::Stack
                && let Some((target, _, next)) = self.contents.edge(position)
            {
                clear_bit(&mut self.contents.dropped, target as usize);
                position = next;
            }
        }
    }

    /// Makes owners of the pointers to blocks whose value was dropped: all are `Weak`, and keep the
    /// block. What lies on stacks may be older.
    pub(super) fn own_by_weak(&mut self) {
        if self.contents.dropped.iter().all(|bits| *bits == 0) {
            return;
        }
        self.keep_those_being_dropped();
        let roots = self.heap.roots().iter();
        let is_root_in_use =
            roots.map(|root| matches!(root.kind, RootKind::Segment | RootKind::ThreadLocals));
        let blocks = (0..self.heap.len()).map(|_| true);
        for (node, is_in_use) in blocks.chain(is_root_in_use).enumerate() {
            let mut position = self.contents.starts[node];
            while is_in_use && let Some((target, _, next)) = self.contents.edge(position) {
                if self.contents.is_dropped(target as usize) {
                    self.contents.edges[position as usize] &= !REFERS;
                }
                position = next;
            }
        }
    }
}
