//! The recorder: what each event does to the rows, the blocks and the figures of linear memory.

use super::blocks::{Blocks, TakeWords};
use super::rows::{RowRef, Rows, net};
#[cfg(feature = "serde")]
use super::scopes::Scope;
use super::scopes::{Scopes, owned};
use crate::counters::{self, Event, Realloc, last_block};
use crate::current_scope::Added;
use crate::figures::Stats;

/// The row of "(table full)" in [`Blocks`].
const FULL: u32 = u32::MAX;
/// The row of blocks that are heapglass's own, handed out to the program: counted nowhere.
const OWN: u32 = u32::MAX - 1;

/// Whose a block is.
enum Owner {
    /// The program's, counted in this row.
    Row(RowRef),
    /// The program's, older than the recording.
    Unknown,
    /// Our own, handed out.
    Heapglass,
}

/// Linear memory, in pages of 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linear {
    /// When the recording began.
    pub(crate) first: u64,
    /// Now, all of it.
    pub(crate) pages: u64,
    /// Of those, taken by heapglass since.
    pub(crate) own: u64,
    /// How often it grew since, heapglass's grows not counted.
    pub(crate) grows: u64,
}

/// A recording in memory.
pub(crate) struct Recorder {
    pub(super) program: String,
    pub(super) rows: Rows,
    pub(super) scopes: Scopes,
    pub(super) linear: Linear,
    blocks: Blocks,
    /// The block allocated last, if it was not freed or reallocated since; 0 = none.
    last_block: usize,
    pub(super) unknown_frees: u64,
    pub(super) untracked_blocks: u64,
}

impl Recorder {
    /// Begins when linear memory has `pages` pages. `None` when there is no memory for the first tables.
    pub(crate) fn new(program: &str, take: TakeWords, pages: u64) -> Option<Recorder> {
        let blocks = Blocks::new(take)?;
        let own = blocks.pages();
        Some(Recorder {
            program: owned(program),
            rows: Rows::default(),
            scopes: Scopes::new()?,
            linear: Linear {
                first: pages,
                pages: pages + own,
                own,
                grows: 0,
            },
            blocks,
            last_block: 0,
            unknown_frees: 0,
            untracked_blocks: 0,
        })
    }

    /// Linear memory has `pages` pages now: more than before is one grow of the program's allocator.
    #[inline]
    pub(crate) fn look(&mut self, pages: u64) {
        if pages > self.linear.pages {
            self.linear.pages = pages;
            self.linear.grows += 1;
        }
    }

    /// Linear memory has `pages` pages now, and what came since the last look is ours.
    pub(crate) fn look_own(&mut self, pages: u64) {
        self.linear.own += pages.saturating_sub(self.linear.pages);
        self.linear.pages = self.linear.pages.max(pages);
    }

    /// Counts an event in a scope. False for the free of a block of our own.
    pub(crate) fn count(&mut self, event: Event, scope: u32) -> bool {
        match event {
            Event::Alloc(block, bytes) => self.alloc(event, (block, bytes), scope),
            Event::Free(block, bytes) => return self.free(event, (block, bytes)),
            Event::Realloc(of) => self.realloc(event, of, scope),
        }
        true
    }

    /// Whether an event frees the block that was allocated last.
    fn is_temporary(&mut self, event: Event) -> bool {
        let (last, is_temporary) = last_block(self.last_block, event);
        self.last_block = last;
        is_temporary
    }

    /// A block of our own goes to the program, which will free it: counted nowhere.
    pub(crate) fn hand_out(&mut self, block: usize) {
        self.keep(block, OWN);
    }

    fn alloc(&mut self, event: Event, (block, bytes): (usize, usize), scope: u32) {
        let place = self.rows.of(scope);
        self.rows.before(bytes as i64);
        self.rows
            .change(place, |row| counters::allocated(row, bytes as u64));
        self.is_temporary(event);
        self.enter(block, place);
    }

    fn free(&mut self, event: Event, (block, bytes): (usize, usize)) -> bool {
        let place = match self.known(block) {
            Owner::Row(place) => place,
            Owner::Unknown => {
                self.unknown_frees += 1;
                return true;
            }
            Owner::Heapglass => return false,
        };
        let is_temporary = self.is_temporary(event);
        self.rows.before(-(bytes as i64));
        self.rows.change(place, |row| {
            counters::freed(&mut *row, bytes as u64);
            if is_temporary {
                counters::was_temporary(row, bytes as u64);
            }
        });
        true
    }

    /// The block leaves its old row and counts, with its new size, in the scope that reallocated; one event.
    fn realloc(&mut self, event: Event, of: Realloc, scope: u32) {
        // As dhat-rs does: what was not known begins here, with its new size.
        let Owner::Row(from) = self.known(of.old) else {
            self.alloc(event, (of.new, of.bytes), scope);
            return;
        };
        let place = self.rows.of(scope);
        let (old, new) = (of.old_bytes as u64, of.bytes as u64);
        self.rows.before(new as i64 - old as i64);
        self.rows.change(place, |row| {
            counters::allocated(&mut *row, new);
            counters::resized(row, old, new, of.old != of.new);
        });
        self.rows.change(from, |row| counters::freed(row, old));
        self.is_temporary(event);
        self.enter(of.new, place);
    }

    fn enter(&mut self, block: usize, place: RowRef) {
        let row = match place {
            RowRef::Own(row) => row,
            RowRef::Full => FULL,
        };
        if !self.keep(block, row) {
            self.untracked_blocks += 1;
        }
    }

    fn keep(&mut self, block: usize, row: u32) -> bool {
        let before = self.blocks.pages();
        let kept = self.blocks.put(address(block), row);
        let taken = self.blocks.pages() - before;
        self.linear.own += taken;
        self.linear.pages += taken;
        kept
    }

    /// Takes a block out.
    fn known(&mut self, block: usize) -> Owner {
        match self.blocks.take(address(block)) {
            None => Owner::Unknown,
            Some(OWN) => Owner::Heapglass,
            Some(FULL) => Owner::Row(RowRef::Full),
            Some(row) => Owner::Row(RowRef::Own(row)),
        }
    }

    /// Enters the phase called `name`. `None` when it finds no room.
    pub(crate) fn phase(&mut self, parent: u32, name: &str) -> Option<u32> {
        match self.scopes.phase(parent, name) {
            Added::Scope(number) => {
                self.visit(number);
                Some(number)
            }
            _ => {
                self.lose_scope();
                None
            }
        }
    }

    /// Adds the scope of a field: its parent, kind and flags, its name, and the type of its values with their size.
    #[cfg(feature = "serde")]
    pub(crate) fn field(
        &mut self,
        (parent, kind, flags): (u32, u32, u32),
        name: &str,
        (type_name, value_bytes): (&'static str, u64),
    ) -> Added {
        self.scopes.add(Scope {
            parent,
            kind,
            flags,
            name: owned(name),
            type_name,
            value_bytes,
            ..Scope::default()
        })
    }

    #[cfg(feature = "serde")]
    pub(crate) fn flag(&mut self, number: u32, flags: u32) {
        self.scopes.change(number, |scope| scope.flags |= flags);
    }

    #[cfg(feature = "serde")]
    pub(crate) fn rename(&mut self, number: u32, kind: u32, name: &str) {
        self.scopes.change(number, |scope| {
            scope.kind = kind;
            scope.name = owned(name);
        });
    }

    #[cfg(feature = "serde")]
    pub(crate) fn retype(&mut self, number: u32, type_name: &'static str, value_bytes: u64) {
        self.scopes.change(number, |scope| {
            scope.type_name = type_name;
            scope.value_bytes = value_bytes;
        });
    }

    /// A scope was entered once more.
    pub(crate) fn visit(&mut self, number: u32) {
        self.scopes.change(number, |scope| scope.entered += 1);
    }

    /// Adds to what the program says of a scope.
    pub(crate) fn report(&mut self, number: u32, input_bytes: u64, records: u64) {
        self.scopes.change(number, |scope| {
            scope.input_bytes = scope.input_bytes.saturating_add(input_bytes);
            scope.records = scope.records.saturating_add(records);
        });
    }

    /// A scope was left that was entered at `since` live bytes.
    pub(crate) fn left(&mut self, number: u32, since: i64) {
        let retained = self.live_bytes() - since;
        self.scopes
            .change(number, |scope| scope.retained_bytes += retained);
    }

    /// A scope found no room.
    pub(crate) fn lose_scope(&mut self) {
        self.scopes.lost += 1;
    }

    pub(crate) fn live_bytes(&self) -> i64 {
        net(&self.rows.all).0
    }

    pub(crate) fn linear(&self) -> Linear {
        self.linear
    }

    /// Everything so far.
    pub(crate) fn figures(&self) -> Stats {
        Stats::new(self.rows.all.sums(), self.rows.peak_now())
    }
}

/// An address of linear memory, which has 32 bits.
fn address(block: usize) -> u32 {
    block as u32
}
