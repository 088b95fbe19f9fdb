//! The handle's side: counts in the slot's memory, and says when the recording must be brought up to date.

use super::super::books::Books;
use super::counters::Counter;
use super::slot::Slot;
use super::{Event, writing};
use crate::session;
use crate::{hook, state, sys, thread};
use std::cell::Cell;
use std::sync::atomic::Ordering::*;

/// Most bytes handed out between two looks.
const LOOK_BYTES: u64 = 64 << 10;
/// Fewest.
const FIRST_LOOK_BYTES: u64 = 1 << 10;

/// What a recording has of a handle.
#[derive(Default)]
pub(in super::super) struct Recorded {
    slot: Cell<Option<&'static Slot>>,
    /// The counter of the scope the thread was in at the last call.
    counter: Cell<Option<&'static Counter>>,
    scope: Cell<u32>,
    /// At so many bytes ever handed out the recording is brought up to date.
    next_look: Cell<u64>,
}

impl Recorded {
    /// The books, when they lie where the recording can reach them.
    #[inline(always)]
    pub(in super::super) fn books(&self) -> Option<&Books> {
        self.slot.get().map(|slot| &slot.books)
    }

    /// Moves the books to where the recording can reach them, when something records and they are not there yet.
    pub(in super::super) fn begin(&self, name: &str, krate: &'static str, inline: &Books) {
        if state::get() & state::RECORD == 0 {
            return;
        }
        let known = self.slot.get();
        let Some(inside) = hook::Inside::enter() else {
            return;
        };
        let Some(session) = session::current() else {
            return;
        };
        if known.is_some_and(|slot| slot.tag.load(Relaxed) == session.tag()) {
            return;
        }
        let errno = sys::Errno::keep();
        // After a fork the old slot is the parent's: the books go on in a new one.
        let books = known.map_or(inline, |slot| &slot.books);
        let slot = session.write.hold().open_arena(
            session.tag(),
            name.as_bytes(),
            krate.as_bytes(),
            books,
        );
        drop(errno);
        drop(inside);
        if slot.is_some() {
            self.slot.set(slot);
            self.counter.set(None);
            // What was handed out before belongs to no field.
            if let Some(slot) = slot {
                let books = &slot.books;
                if let Some(counter) = self.counter(slot) {
                    counter.total_bytes.add(books.total_handed());
                    counter
                        .total_blocks
                        .add(books.blocks.get().wrapping_add(books.returned_blocks.get()));
                    counter.gone_bytes.add(books.returned.get());
                    counter.gone_blocks.add(books.returned_blocks.get());
                    counter.past_bytes.add(books.past.get());
                }
            }
            let event = match books_hold_chunks(slot) {
                true => Event::Chunk { used: 0, piece: 0 },
                false => Event::Look,
            };
            self.publish(event);
        }
    }

    /// The counter of the scope the thread is in.
    #[inline(always)]
    fn counter(&self, slot: &'static Slot) -> Option<&'static Counter> {
        let scope = thread::with(|thread| thread.scope.get()).unwrap_or(0);
        match self.counter.get() {
            Some(counter) if self.scope.get() == scope => Some(counter),
            _ => self.counter_of(slot, scope),
        }
    }

    #[inline(always)]
    fn counter_of(&self, slot: &'static Slot, scope: u32) -> Option<&'static Counter> {
        let counter = slot
            .counters
            .find(scope)
            .or_else(|| writing::add_counter(slot, scope));
        self.counter.set(counter);
        self.scope.set(scope);
        counter
    }

    /// A piece was handed out.
    #[inline(always)]
    pub(in super::super) fn handed(&self, bytes: u64) {
        let Some(slot) = self.slot.get() else { return };
        if let Some(counter) = self.counter(slot) {
            counter.total_bytes.add(bytes);
            counter.total_blocks.add(1);
        }
        if slot.books.total_handed() >= self.next_look.get() {
            self.publish(Event::Look);
        }
    }

    /// A piece grew.
    pub(in super::super) fn grown(&self, old: u64, new: u64, copied: u64) {
        let Some(slot) = self.slot.get() else { return };
        if let Some(counter) = self.counter(slot) {
            counter.grows.add(1);
            counter.copied_bytes.add(copied);
        }
        self.gone(old, 1);
        self.handed(new);
    }

    /// Something is not handed out any more.
    pub(in super::super) fn gone(&self, bytes: u64, blocks: u64) {
        let Some(slot) = self.slot.get() else { return };
        if let Some(counter) = self.counter(slot) {
            counter.gone_bytes.add(bytes);
            counter.gone_blocks.add(blocks);
        }
    }

    /// Bytes went past the handle, or came back there.
    pub(in super::super) fn past(&self, bytes: i64) {
        let Some(slot) = self.slot.get().filter(|_| bytes != 0) else {
            return;
        };
        if let Some(counter) = self.counter(slot) {
            counter.past_bytes.add(bytes as u64);
        }
    }

    /// Everything was taken back.
    pub(in super::super) fn emptied(&self) {
        let Some(slot) = self.slot.get() else { return };
        for counter in slot.counters.all() {
            counter.gone_bytes.set(counter.total_bytes.get());
            counter.gone_blocks.set(counter.total_blocks.get());
        }
    }

    /// Brings the recording up to date.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn publish(&self, event: Event) {
        let Some(slot) = self.slot.get() else { return };
        let handed = slot.books.total_handed();
        self.next_look
            .set(handed + handed.clamp(FIRST_LOOK_BYTES, LOOK_BYTES));
        writing::publish(slot, event);
    }

    /// The handle is gone.
    pub(in super::super) fn end(&self, used: u64) {
        if let Some(slot) = self.slot.take() {
            self.counter.set(None);
            writing::end(slot, used);
        }
    }
}

fn books_hold_chunks(slot: Option<&Slot>) -> bool {
    slot.is_some_and(|slot| slot.books.chunks.get() > 0)
}
