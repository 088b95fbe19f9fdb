//! Writes the contents of slots into the tables of the recording, under the write lock.

use super::counters::ArenaCounters;
use super::scope_counters::ScopeCounter;
use super::slot::{FIGURES, Slot};
use super::{ArenaEvent, ArenaStats};
use crate::leaked::Link;
use crate::session::{self, MOST_ARENAS, Session, Writer};
use crate::{hook, sys};
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{Arena, ArenaChunkValue, arena_event};

/// Every slot. Changed under the write lock, like the lists below.
static SLOTS: Link<Slot> = Link::new();
/// The slots of instances that ended, by their arena's number.
static FREE: [Link<Slot>; MOST_ARENAS] = [const { Link::new() }; MOST_ARENAS];

/// Forgets all slots, for a forked child that begins a recording of its own.
pub(crate) fn forget() {
    for first in FREE.iter().chain([&SLOTS]) {
        first.set(None);
    }
}

/// Returns the figures of an arena that follow its counters: the place of each in the recording,
/// and its current value.
fn figures<'r>(record: &'r Arena, stats: &ArenaStats) -> [(&'r AtomicU64, u64); FIGURES] {
    [
        (&record.resets, stats.resets),
        (&record.allocated_bytes, stats.allocated_bytes),
        (
            &record.allocated_bytes_including_metadata,
            stats.allocated_bytes_including_metadata,
        ),
        (&record.chunks, stats.chunks),
        (&record.used_bytes, stats.used_bytes),
        (&record.padding_bytes, stats.padding_bytes),
        (&record.abandoned_bytes, stats.abandoned_bytes),
        (&record.bypassed_bytes, stats.bypassed_bytes),
        (&record.unused_tail_bytes, stats.unused_tail_bytes),
        (&record.total_chunks, stats.total_chunks),
        (&record.total_allocated_bytes, stats.total_allocated_bytes),
        (&record.total_used_bytes, stats.total_used_bytes),
        (&record.total_used_blocks, stats.total_used_blocks),
        (&record.grows, stats.grows),
        (&record.grows_in_place, stats.grows_in_place),
        (&record.copied_bytes, stats.copied_bytes),
        (&record.limit_reached, stats.limit_reached),
    ]
}

/// Returns the difference from the published value to `now`, and publishes `now`. Wraps if `now` is
/// smaller.
fn advance(published: &AtomicU64, now: u64) -> u64 {
    now.wrapping_sub(published.swap(now, Relaxed))
}

/// Updates the recording for an instance.
pub(super) fn publish(slot: &'static Slot, event: ArenaEvent) {
    in_recording(slot, |session| {
        let mut emptied = None;
        let (what, occupied_bytes, site) = match event {
            ArenaEvent::Chunk { used, piece: 0 } => (arena_event::CHUNK, used, 0),
            ArenaEvent::Chunk { used, piece } => {
                (arena_event::CHUNK, used, chunk_site(slot, piece))
            }
            ArenaEvent::Reset { before } => {
                emptied = Some(before);
                (arena_event::RESET, before.occupied_bytes(), 0)
            }
            ArenaEvent::Update => return publish_slot(&mut session.write.lock(), slot),
        };
        let happened = ArenaChunkValue {
            what,
            allocated_bytes: slot.counters.allocated_bytes.get(),
            occupied_bytes,
            site,
            ..moment(slot)
        };
        let mut writer = session.write.lock();
        let record = writer.arena_record(slot.arena.load(Relaxed));
        if let (Some(record), Some(before)) = (record, emptied) {
            keep_largest(record, &before);
        }
        publish_slot(&mut writer, slot);
        writer.add_arena_moment(happened);
    });
}

/// Updates the recording for an instance that is gone. It holds nothing any more, and its slot is
/// free.
pub(super) fn end(slot: &'static Slot, before: &ArenaStats) {
    in_recording(slot, |session| {
        let dropped = ArenaChunkValue {
            what: arena_event::DROP,
            occupied_bytes: before.occupied_bytes(),
            ..moment(slot)
        };
        let writer = &mut session.write.lock();
        if let Some(record) = writer.arena_record(slot.arena.load(Relaxed)) {
            keep_largest(record, before);
            add_dropped(record, before);
        }
        publish_slot(writer, slot);
        let counters = &slot.counters;
        for figure in [
            &counters.chunks,
            &counters.allocated_bytes,
            &counters.allocated_bytes_including_metadata,
            &counters.abandoned,
            &counters.bypassed,
        ] {
            figure.set(0);
        }
        counters.anchor(0, 0);
        slot.empty();
        publish_slot(writer, slot);
        writer.add_arena_moment(dropped);
        slot.in_use.store(false, Release);
        let arena = slot.arena.load(Relaxed);
        if let (Some(record), Some(free)) = (writer.arena_record(arena), FREE.get(arena as usize)) {
            record.dropped.fetch_add(1, Relaxed);
            slot.next_free.set(free.get());
            free.set(slot);
        }
    });
}

/// Creates the counter of a scope.
#[cold]
#[inline(never)]
pub(super) fn add_counter(slot: &'static Slot, scope: u32) -> Option<&'static ScopeCounter> {
    in_recording(slot, |session| {
        slot.scopes.add(scope, &mut session.write.lock().bump)
    })?
}

/// Calls `f` if the recording to which the slot belongs is still in progress.
pub(super) fn in_recording<R>(slot: &Slot, f: impl FnOnce(&'static Session) -> R) -> Option<R> {
    let _inside = hook::Inside::enter()?;
    let session = session::current().filter(|session| session.tag() == slot.tag.load(Relaxed))?;
    let _errno = sys::Errno::keep();
    Some(f(session))
}

/// Returns the site that allocated the chunk that contains a piece.
fn chunk_site(slot: &Slot, piece: usize) -> u32 {
    let largest = slot.counters.allocated_bytes_including_metadata.get() as usize;
    crate::shadow::Finder::new(largest)
        .block_at(piece)
        .map_or(0, |block| block.site)
}

/// Updates the recording for every instance in use, when the recording ends.
pub(crate) fn settle(writer: &mut Writer, tag: u32) {
    for slot in std::iter::successors(SLOTS.get(), |slot| slot.next.get()) {
        if slot.in_use.load(Acquire) && slot.tag.load(Relaxed) == tag {
            publish_slot(writer, slot);
        }
    }
}

/// Returns a slot for a new instance of the arena called `name`, with its counters.
pub(super) fn open(
    writer: &mut Writer,
    tag: u32,
    name: &[u8],
    krate: &'static [u8],
    counters: &ArenaCounters,
) -> Option<&'static Slot> {
    let opened = writer.arena(name, krate).and_then(|arena| {
        let slot = free_slot(writer, arena)?;
        Some((arena, slot, writer.arena_record(arena)?))
    });
    let Some((arena, slot, record)) = opened else {
        writer.store.header().lost_records.fetch_add(1, Relaxed);
        return None;
    };
    slot.counters.take_over(counters);
    slot.tag.store(tag, Relaxed);
    slot.arena.store(arena, Relaxed);
    slot.instance
        .store(record.made.fetch_add(1, Relaxed) + 1, Relaxed);
    for published in &slot.published {
        published.store(0, Relaxed);
    }
    slot.in_use.store(true, Release);
    Some(slot)
}

fn free_slot(writer: &mut Writer, arena: u32) -> Option<&'static Slot> {
    let free = FREE.get(arena as usize)?;
    if let Some(slot) = free.get() {
        free.set(slot.next_free.get());
        return Some(slot);
    }
    let place = writer.bump.take::<Slot>(1)?;
    // SAFETY: zeroed memory, which is a slot that nobody uses.
    let slot: &'static Slot = unsafe { place.as_ref() };
    slot.next.set(SLOTS.get());
    SLOTS.set(slot);
    Some(slot)
}

/// Keeps the parts of an instance if it is the largest so far. Of one instance, the fullest moment
/// is kept.
fn keep_largest(record: &Arena, stats: &ArenaStats) {
    let known_bytes = record.largest_allocated_bytes.load(Relaxed);
    let known_tail = record.largest_unused_tail_bytes.load(Relaxed);
    let is_larger = stats.allocated_bytes > known_bytes;
    let is_fuller = stats.allocated_bytes == known_bytes && stats.unused_tail_bytes <= known_tail;
    if !is_larger && !is_fuller {
        return;
    }
    for (figure, to) in [
        (&record.largest_allocated_bytes, stats.allocated_bytes),
        (&record.largest_used_bytes, stats.used_bytes),
        (&record.largest_padding_bytes, stats.padding_bytes),
        (&record.largest_abandoned_bytes, stats.abandoned_bytes),
        (&record.largest_bypassed_bytes, stats.bypassed_bytes),
        (&record.largest_unused_tail_bytes, stats.unused_tail_bytes),
    ] {
        figure.store(to, Relaxed);
    }
}

/// Adds the parts of an instance that is dropped.
fn add_dropped(record: &Arena, stats: &ArenaStats) {
    for (figure, more) in [
        (&record.dropped_allocated_bytes, stats.allocated_bytes),
        (&record.dropped_used_bytes, stats.used_bytes),
        (&record.dropped_padding_bytes, stats.padding_bytes),
        (&record.dropped_abandoned_bytes, stats.abandoned_bytes),
        (&record.dropped_bypassed_bytes, stats.bypassed_bytes),
        (&record.dropped_unused_tail_bytes, stats.unused_tail_bytes),
    ] {
        figure.fetch_add(more, Relaxed);
    }
}

fn publish_slot(writer: &mut Writer, slot: &'static Slot) {
    slot.sum_up();
    let arena = slot.arena.load(Relaxed);
    for counter in slot.scopes.all() {
        publish_counter(writer, arena, counter);
    }
    let Some(record) = writer.arena_record(arena) else {
        return;
    };
    let stats = slot.counters.stats(None);
    keep_largest(record, &stats);
    let now = figures(record, &stats);
    for ((figure, now), published) in now.into_iter().zip(&slot.published) {
        figure.fetch_add(advance(published, now), Relaxed);
    }
    let counters = &slot.counters;
    let allocated_bytes = record.allocated_bytes.load(Relaxed);
    let used = counters.most_used.get().max(counters.used());
    for (figure, to) in [
        (&record.most_allocated_bytes, allocated_bytes),
        (
            &record.most_instance_bytes,
            counters.most_allocated_bytes.get(),
        ),
        (&record.most_occupied_bytes, used),
        (&record.most_chunks, counters.most_chunks.get()),
    ] {
        figure.fetch_max(to, Relaxed);
    }
}

fn publish_counter(writer: &mut Writer, arena: u32, counter: &'static ScopeCounter) {
    let mut row = counter.row.load(Relaxed).cast_const();
    if row.is_null() {
        let Some(made) = writer.arena_row(arena, counter.scope.get() as u32) else {
            // The arena's figures stay complete, but no row contains this part of them.
            writer.store.header().lost_records.fetch_add(1, Relaxed);
            return;
        };
        row = made;
        counter.row.store(row.cast_mut(), Relaxed);
    }
    // SAFETY: a record that is mapped while the recording is current.
    let row = unsafe { &*row };
    let (bytes, blocks) = (counter.total_bytes.get(), counter.total_blocks.get());
    let [totals @ .., live_bytes, live_blocks] = &counter.published;
    let figures = [
        (&row.total_bytes, bytes),
        (&row.total_blocks, blocks),
        (&row.copied_bytes, counter.copied_bytes.get()),
        (&row.bypassed_bytes, counter.bypassed_bytes.get()),
        (&row.grows, counter.grows.get()),
    ];
    for ((figure, now), published) in figures.into_iter().zip(totals) {
        figure.fetch_add(advance(published, now), Relaxed);
    }
    let now = bytes.wrapping_sub(counter.gone_bytes.get());
    row.live_bytes
        .fetch_add(advance(live_bytes, now) as i64, Relaxed);
    let now = blocks.wrapping_sub(counter.gone_blocks.get());
    row.live_blocks
        .fetch_add(advance(live_blocks, now) as i64, Relaxed);
}

/// Returns the current moment for an arena's history. It takes the peak lock, so it must be called
/// before the write lock is taken.
fn moment(slot: &Slot) -> ArenaChunkValue {
    ArenaChunkValue {
        arena: slot.arena.load(Relaxed),
        instance: slot.instance.load(Relaxed),
        time_ns: hook::PEAK_CHECKS.lock().timeline.elapsed_ns(),
        ..ArenaChunkValue::default()
    }
}
