//! The recorder: applies each event to the rows, the blocks and the figures of linear memory.

use super::blocks::{Blocks, TakeWords};
use super::rows::{Rows, net};
use super::scope_table::Scope;
use super::scope_table::{Scopes, owned};
use crate::accounting::{self, Event, last_block};
use crate::current_scope::Added;
use crate::current_scope::NewScope;
use crate::stats::Stats;
use tracking_alloc_recording::ScopeValue;

/// The row of blocks that belong to heapglass but were handed out to the program. They are not
/// counted.
const OWN: u32 = u32::MAX;

/// Linear memory, in pages of 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linear {
    /// The number of pages when the recording began.
    pub(crate) first: u64,
    /// The current number of all pages.
    pub(crate) pages: u64,
    /// Number of pages that heapglass has taken since then.
    pub(crate) own: u64,
    /// Number of grows since then, except heapglass's own.
    pub(crate) grows: u64,
}

/// A recording in memory.
pub(crate) struct Recorder {
    pub(super) program: String,
    pub(super) rows: Rows,
    pub(super) scopes: Scopes,
    pub(super) linear: Linear,
    blocks: Blocks,
    /// The block allocated last, if it was not freed or reallocated since, or 0.
    last_block: usize,
    pub(super) unknown_frees: u64,
    pub(super) untracked_blocks: u64,
}

impl Recorder {
    /// Begins a recording, when linear memory has `pages` pages. Returns `None` if there is no
    /// memory for the first tables.
    pub(crate) fn new(program: &str, take: TakeWords, pages: u64) -> Option<Recorder> {
        let blocks = Blocks::new(take)?;
        let own = blocks.pages;
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

    /// Notes that linear memory now has `pages` pages. If that is more than before, the program's
    /// allocator grew it once.
    #[inline]
    pub(crate) fn note_pages(&mut self, pages: u64) {
        if pages > self.linear.pages {
            self.linear.pages = pages;
            self.linear.grows += 1;
        }
    }

    /// Notes that linear memory now has `pages` pages, and that the new ones are heapglass's own.
    pub(crate) fn note_own_pages(&mut self, pages: u64) {
        self.linear.own += pages.saturating_sub(self.linear.pages);
        self.linear.pages = self.linear.pages.max(pages);
    }

    /// Counts an event in a scope. Returns `false` for the free of one of heapglass's own blocks.
    pub(crate) fn count(&mut self, event: Event, scope: u32) -> bool {
        let (old, new) = match event {
            Event::Alloc(block, bytes) => (None, Some((block, bytes))),
            Event::Free(block, bytes) => (Some((block, bytes)), None),
            Event::Realloc(of) => (Some((of.old, of.old_bytes)), Some((of.new, of.bytes))),
        };
        let known = old.and_then(|(block, _)| self.blocks.take(address(block)));
        match known {
            Some(OWN) if new.is_none() => return false,
            None if new.is_none() => {
                self.unknown_frees += 1;
                return true;
            }
            _ => {}
        }
        let (last, is_temporary) = last_block(self.last_block, event);
        self.last_block = last;
        // As in dhat-rs, the realloc of an unknown block is a new allocation of the new size.
        let old_row = known.filter(|row| *row != OWN);
        let old = old.filter(|_| old_row.is_some());
        let old_bytes = old.map_or(0, |(_, bytes)| bytes as u64);
        let new_bytes = new.map_or(0, |(_, bytes)| bytes as u64);
        self.rows.before(new_bytes as i64 - old_bytes as i64);
        if let Some((block, _)) = new {
            let row = self.rows.of(scope);
            self.rows.change(row, |counters| {
                accounting::allocated(&mut *counters, new_bytes);
                if let Some((old_block, _)) = old {
                    accounting::resized(counters, old_bytes, new_bytes, old_block != block);
                }
            });
            if !self.keep(block, row) {
                self.untracked_blocks += 1;
            }
        }
        // A reallocated block leaves its old row.
        if let Some(row) = old_row {
            self.rows.change(row, |counters| {
                accounting::freed(&mut *counters, old_bytes);
                if is_temporary {
                    accounting::was_temporary(counters, old_bytes);
                }
            });
        }
        true
    }

    /// Notes one of heapglass's own blocks that is handed out to the program, which will free it.
    /// It is not counted.
    pub(crate) fn note_own_block(&mut self, block: usize) {
        self.keep(block, OWN);
    }

    fn keep(&mut self, block: usize, row: u32) -> bool {
        let before = self.blocks.pages;
        let kept = self.blocks.put(address(block), row);
        let taken = self.blocks.pages - before;
        self.linear.own += taken;
        self.linear.pages += taken;
        kept
    }

    /// Enters the phase called `name`. Returns `None` if it does not fit.
    pub(crate) fn phase(&mut self, parent: u32, name: &str) -> Option<u32> {
        let Added::Scope(number) = self.scopes.phase(parent, name) else {
            self.lose_scope();
            return None;
        };
        self.visit(number);
        Some(number)
    }

    /// Counts an entry of a scope.
    pub(crate) fn visit(&mut self, number: u32) {
        self.scopes.change(number, |scope| scope.value.entered += 1);
    }

    /// Adds to the figures that the program reports for a scope.
    pub(crate) fn report(&mut self, number: u32, input_bytes: u64, records: u64) {
        self.scopes.change(number, |scope| {
            scope.value.input_bytes = scope.value.input_bytes.saturating_add(input_bytes);
            scope.value.records = scope.value.records.saturating_add(records);
        });
    }

    /// Notes that a scope was left. `since` is the number of live bytes when it was entered.
    pub(crate) fn left(&mut self, number: u32, since: i64) {
        let stayed = self.live_bytes() - since;
        self.scopes
            .change(number, |scope| scope.value.stayed_bytes += stayed);
    }

    /// Counts a scope that did not fit.
    pub(crate) fn lose_scope(&mut self) {
        self.scopes.lost += 1;
    }

    pub(crate) fn live_bytes(&self) -> i64 {
        net(&self.rows.all).0
    }

    pub(crate) fn linear(&self) -> Linear {
        self.linear
    }

    /// Returns the figures so far.
    pub(crate) fn figures(&self) -> Stats {
        Stats::new(self.rows.all.sums(), self.rows.peak_now())
    }
}

impl Recorder {
    /// Adds the scope of a field.
    pub(crate) fn field(&mut self, new: &NewScope<'_>) -> Added {
        self.scopes.add(Scope {
            value: ScopeValue {
                parent: new.parent,
                kind: new.kind,
                flags: new.flags,
                value_bytes: new.value_bytes,
                ..ScopeValue::default()
            },
            name: owned(new.name),
            type_name: new.type_name,
            ..Scope::default()
        })
    }

    pub(crate) fn flag(&mut self, number: u32, flags: u32) {
        self.scopes
            .change(number, |scope| scope.value.flags |= flags);
    }

    pub(crate) fn rename(&mut self, number: u32, kind: u32, name: &str) {
        self.scopes.change(number, |scope| {
            scope.value.kind = kind;
            scope.name = owned(name);
        });
    }

    pub(crate) fn retype(&mut self, number: u32, type_name: &'static str, value_bytes: u64) {
        self.scopes.change(number, |scope| {
            scope.type_name = type_name;
            scope.value.value_bytes = value_bytes;
        });
    }
}

/// Returns an address of linear memory, which has 32 bits.
fn address(block: usize) -> u32 {
    block as u32
}
