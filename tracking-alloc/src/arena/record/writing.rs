//! The recording's side: arenas by name, their rows by scope, their history. Under the write lock.

use super::super::books::Books;
use super::Event;
use super::counters::Counter;
use super::slot::{FIGURES, Slot};
use super::values::Values;
use crate::hash::{fnv1a, next_key};
use crate::record::Table;
use crate::session::{self, Writer};
use crate::site::KeyMap;
use crate::{hook, scopes, sys};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{Arena, ArenaChunk, ArenaRow, ArenaValues, table};

/// Arenas that the writer knows. All-zero bytes are none, but for the tables.
pub(crate) struct Arenas {
    arenas: Table,
    rows: Table,
    chunks: Table,
    /// Hash of name and crate to arena.
    by_name: KeyMap,
    /// Arena and scope to the number of their row.
    by_scope: KeyMap,
    known: [*mut Named; MOST_ARENAS],
    /// Rows by number, in pages.
    row_pages: [*mut *const ArenaRow; MOST_ROWS / ROW_PAGE],
    /// Every slot.
    slots: *mut Slot,
    /// Values whose drop never runs.
    pub(super) values: Values,
}

/// Names kept apart, less one: arenas of further ones are instances of [`OTHER`].
const MOST_ARENAS: usize = 1024;
const OTHER: &[u8] = b"(other)";
const MOST_ROWS: usize = 1 << 20;
const ROW_PAGE: usize = 1 << 10;
/// Events in one arena's history. After that only new maxima are kept, so it stays bounded however long it goes on.
const MOST_HISTORY: u64 = 4096;

/// An arena by name.
struct Named {
    record: *const Arena,
    /// Name and crate, as they were given.
    name: *const u8,
    name_bytes: usize,
    krate: &'static [u8],
    /// Slots of instances that ended.
    free: *mut Slot,
    history: u64,
    /// Most chunk bytes in it.
    most_chunk_bytes: u64,
}

/// The seventeen figures of an arena that follow its books, in one order for both.
fn figures(books: &Books) -> [u64; FIGURES] {
    let stats = books.stats(None);
    [
        stats.resets,
        stats.chunk_bytes,
        stats.chunk_bytes_with_metadata,
        stats.chunks,
        stats.handed_bytes,
        stats.padding_bytes,
        stats.abandoned_bytes,
        stats.past_bytes,
        stats.tail_bytes,
        stats.total_chunks,
        stats.total_chunk_bytes,
        stats.total_handed_bytes,
        stats.total_handed_blocks,
        stats.grows,
        stats.grows_in_place,
        stats.copied_bytes,
        stats.limit_reached,
    ]
}

fn places(record: &Arena) -> [&AtomicU64; FIGURES] {
    [
        &record.resets,
        &record.chunk_bytes,
        &record.chunk_bytes_with_metadata,
        &record.chunks,
        &record.handed_bytes,
        &record.padding_bytes,
        &record.abandoned_bytes,
        &record.past_bytes,
        &record.tail_bytes,
        &record.total_chunks,
        &record.total_chunk_bytes,
        &record.total_handed_bytes,
        &record.total_handed_blocks,
        &record.grows,
        &record.grows_in_place,
        &record.copied_bytes,
        &record.limit_reached,
    ]
}

/// Adds to `place` what `now` is more than `published`, and remembers it.
fn bring_up(place: &AtomicU64, published: &AtomicU64, now: u64) {
    let before = published.swap(now, Relaxed);
    place.store(
        place.load(Relaxed).wrapping_add(now.wrapping_sub(before)),
        Relaxed,
    );
}

/// Brings the recording up to date with an instance.
pub(super) fn publish(slot: &'static Slot, event: Event) {
    with_writer(slot, event, |writer, now_ns, site| {
        writer.publish_arena(slot);
        let (what, used) = match event {
            Event::Chunk { used, .. } => (1, used),
            Event::Reset { used } => (2, used),
            Event::Look => return,
        };
        writer.arena_moment(slot, what, used, now_ns, site);
    });
}

/// Brings the recording up to date with an instance that is gone, and frees its slot.
pub(super) fn end(slot: &'static Slot, used: u64) {
    with_writer(slot, Event::Look, |writer, now_ns, _| {
        writer.publish_arena(slot);
        writer.end_arena(slot, used, now_ns);
    });
}

/// Makes the counter of a scope.
#[cold]
#[inline(never)]
pub(super) fn add_counter(slot: &'static Slot, scope: u32) -> Option<&'static Counter> {
    let _inside = hook::Inside::enter()?;
    let session = session::current()?;
    if session.tag() != slot.tag.load(Relaxed) {
        return None;
    }
    let errno = sys::Errno::keep();
    let counter = slot.counters.add(scope, &mut session.write.hold().bump);
    drop(errno);
    counter
}

/// Calls `f` with the writer of the recording that the slot belongs to, the time, and the site of a chunk just taken.
pub(super) fn with_writer(
    slot: &'static Slot,
    event: Event,
    f: impl FnOnce(&mut Writer, u64, u32),
) {
    let (Some(_inside), Some(session)) = (hook::Inside::enter(), session::current()) else {
        return;
    };
    if session.tag() != slot.tag.load(Relaxed) {
        return;
    }
    let errno = sys::Errno::keep();
    let site = match event {
        Event::Chunk { piece, .. } if piece != 0 => chunk_site(slot, piece),
        _ => 0,
    };
    let now_ns = hook::LOOKS.hold().timeline.elapsed_ns();
    f(&mut session.write.hold(), now_ns, site);
    drop(errno);
}

/// The site that allocated the chunk that holds a piece.
#[cfg(feature = "serde")]
fn chunk_site(slot: &Slot, piece: usize) -> u32 {
    let largest = slot.books.chunk_bytes_with_metadata.get() as usize;
    crate::shadow::Finder::new(largest)
        .block_at(piece)
        .map_or(0, |block| block.site)
}

#[cfg(not(feature = "serde"))]
fn chunk_site(_slot: &Slot, _piece: usize) -> u32 {
    0
}

impl Arenas {
    /// Makes the tables ready in zeroed memory.
    ///
    /// # Safety
    /// `arenas` must be valid for writes, zeroed, and reached by nobody else.
    pub(crate) unsafe fn prepare(arenas: *mut Arenas) {
        let fresh = |id, bytes: usize| Table::new(id, 0, bytes, 4 << 10, 256 << 10);
        // SAFETY: the caller's promise; all other fields are fine as zeros.
        unsafe {
            (&raw mut (*arenas).arenas).write(fresh(table::ARENAS, size_of::<Arena>()));
            (&raw mut (*arenas).rows).write(fresh(table::ARENA_ROWS, size_of::<ArenaRow>()));
            (&raw mut (*arenas).chunks).write(fresh(table::ARENA_CHUNKS, size_of::<ArenaChunk>()));
            (&raw mut (*arenas).values.table)
                .write(fresh(table::ARENA_VALUES, size_of::<ArenaValues>()));
        }
    }

    fn named(&mut self, arena: u32) -> Option<&mut Named> {
        // SAFETY: null or a named arena, reached under the write lock only, one at a time.
        unsafe { self.known.get(arena as usize)?.as_mut() }
    }
}

impl Writer {
    /// Brings the recording up to date with every instance in use: its last words.
    pub(crate) fn settle_arenas(&mut self, tag: u32) {
        let mut next = self.arenas.slots;
        // SAFETY: null or a slot, which is never given back.
        while let Some(slot) = unsafe { next.as_ref() } {
            if slot.in_use.load(Acquire) && slot.tag.load(Relaxed) == tag {
                self.publish_arena(slot);
            }
            next = slot.next.load(Relaxed);
        }
    }

    /// A slot for a new instance of the arena called `name`, with its books.
    pub(super) fn open_arena(
        &mut self,
        tag: u32,
        name: &[u8],
        krate: &'static [u8],
        books: &Books,
    ) -> Option<&'static Slot> {
        let opened = self
            .arena_named(name, krate)
            .or_else(|| self.arena_named(OTHER, b"several"))
            .and_then(|arena| Some((arena, self.slot(arena)?)));
        let Some((arena, slot)) = opened else {
            self.store.header().lost_records.fetch_add(1, Relaxed);
            return None;
        };
        // SAFETY: null or a record that is mapped until the process ends.
        let record = unsafe { self.arenas.named(arena)?.record.as_ref() }?;
        slot.books.take_over(books);
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

    fn slot(&mut self, arena: u32) -> Option<&'static Slot> {
        let named = self.arenas.named(arena)?;
        // SAFETY: null or a slot, which is never given back.
        if let Some(slot) = unsafe { named.free.as_ref() } {
            named.free = slot.next_free.load(Relaxed);
            return Some(slot);
        }
        let place = self.bump.take::<Slot>(1)?;
        // SAFETY: zeroed memory, which is a slot that nobody uses.
        let slot: &'static Slot = unsafe { place.as_ref() };
        slot.next.store(self.arenas.slots, Relaxed);
        self.arenas.slots = place.as_ptr();
        Some(slot)
    }

    fn arena_named(&mut self, name: &[u8], krate: &'static [u8]) -> Option<u32> {
        let mut key = fnv1a(0, krate.iter().chain(name).copied());
        // The content decides; another name of the same hash moves on to the next key.
        while let Some(found) = self.arenas.by_name.find(key) {
            let named = self.arenas.named(found)?;
            // SAFETY: a name is kept for good.
            let kept = unsafe { std::slice::from_raw_parts(named.name, named.name_bytes) };
            if kept == name && named.krate == krate {
                return Some(found);
            }
            key = next_key(key);
        }
        self.add_arena(key, name, krate)
    }

    fn add_arena(&mut self, key: u64, name: &[u8], krate: &'static [u8]) -> Option<u32> {
        let most = MOST_ARENAS - usize::from(name != OTHER);
        if self.arenas.arenas.len() >= most as u64 || !self.arenas.by_name.reserve(&mut self.bump) {
            return None;
        }
        let kept = self.bump.take::<u8>(name.len().max(1))?;
        let named = self.bump.take::<Named>(1)?;
        let (name_string, krate_string) = (self.string(name), self.string(krate));
        let (index, place) = self.arenas.arenas.push::<Arena>(&mut self.store)?;
        // SAFETY: memory for the name, for one named arena, and a zeroed record were just handed out.
        let record: &'static Arena = unsafe {
            kept.copy_from_nonoverlapping(std::ptr::NonNull::from(name).cast(), name.len());
            named.write(Named {
                record: place.as_ptr(),
                name: kept.as_ptr(),
                name_bytes: name.len(),
                krate,
                free: null_mut(),
                history: 0,
                most_chunk_bytes: 0,
            });
            place.as_ref()
        };
        record.name.store(name_string, Relaxed);
        record.krate.store(krate_string, Relaxed);
        let arena = index as u32;
        self.arenas.known[index as usize] = named.as_ptr();
        self.store.header().arenas_len.store(arena + 1, Release);
        self.arenas.by_name.add(key, arena);
        Some(arena)
    }

    fn publish_arena(&mut self, slot: &'static Slot) {
        slot.sum_up();
        let arena = slot.arena.load(Relaxed);
        for counter in slot.counters.all() {
            self.publish_counter(arena, counter);
        }
        let Some(named) = self.arenas.named(arena) else {
            return;
        };
        // SAFETY: a record that is mapped until the process ends.
        let record = unsafe { &*named.record };
        let now = figures(&slot.books);
        for ((place, published), now) in places(record).into_iter().zip(&slot.published).zip(now) {
            bring_up(place, published, now);
        }
        let raise = |place: &AtomicU64, to: u64| place.store(place.load(Relaxed).max(to), Relaxed);
        raise(&record.most_chunk_bytes, record.chunk_bytes.load(Relaxed));
        raise(
            &record.most_instance_bytes,
            slot.books.most_chunk_bytes.get(),
        );
        raise(
            &record.most_used_bytes,
            slot.books.most_used.get().max(slot.books.used()),
        );
        raise(&record.most_chunks, slot.books.most_chunks.get());
    }

    fn publish_counter(&mut self, arena: u32, counter: &'static Counter) {
        let known = counter.row.load(Relaxed);
        let row = match known.is_null() {
            false => known.cast_const(),
            true => match self.arena_row(arena, counter.scope.get() as u32) {
                Some(row) => row,
                None => {
                    // Counted where nothing says where: the arena's figures stay whole, its rows say less.
                    self.store.header().lost_records.fetch_add(1, Relaxed);
                    return;
                }
            },
        };
        counter.row.store(row.cast_mut(), Relaxed);
        // SAFETY: a record that is mapped until the process ends.
        let row = unsafe { &*row };
        let (bytes, blocks) = (counter.total_bytes.get(), counter.total_blocks.get());
        let live = |all: u64, gone: u64| all.wrapping_sub(gone);
        let places = [
            (&row.total_bytes, bytes),
            (&row.total_blocks, blocks),
            (&row.copied_bytes, counter.copied_bytes.get()),
            (&row.past_bytes, counter.past_bytes.get()),
            (&row.grows, counter.grows.get()),
        ];
        for ((place, now), published) in places.into_iter().zip(&counter.published) {
            bring_up(place, published, now);
        }
        let [.., live_bytes, live_blocks] = &counter.published;
        let lives = [
            (
                &row.live_bytes,
                live_bytes,
                live(bytes, counter.gone_bytes.get()),
            ),
            (
                &row.live_blocks,
                live_blocks,
                live(blocks, counter.gone_blocks.get()),
            ),
        ];
        for (place, published, now) in lives {
            let before = published.swap(now, Relaxed);
            let more = now.wrapping_sub(before) as i64;
            place.store(place.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }

    fn arena_row(&mut self, arena: u32, scope: u32) -> Option<*const ArenaRow> {
        let scope = scopes::number(scope);
        let key = u64::from(arena) << 32 | u64::from(scope);
        if let Some(number) = self.arenas.by_scope.find(key) {
            return self.row_numbered(number);
        }
        let number = self.arenas.rows.len() as usize;
        if number >= MOST_ROWS || !self.arenas.by_scope.reserve(&mut self.bump) {
            return None;
        }
        let page = self.arenas.row_pages.get_mut(number / ROW_PAGE)?;
        if page.is_null() {
            *page = self.bump.take::<*const ArenaRow>(ROW_PAGE)?.as_ptr();
        }
        let page = *page;
        let (index, place) = self.arenas.rows.push::<ArenaRow>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out; the page has ROW_PAGE entries.
        unsafe {
            place.as_ref().arena.store(arena, Relaxed);
            place.as_ref().scope.store(scope, Relaxed);
            *page.add(number % ROW_PAGE) = place.as_ptr();
        }
        self.store.header().arena_rows_len.store(index + 1, Release);
        self.arenas.by_scope.add(key, index as u32);
        Some(place.as_ptr())
    }

    fn row_numbered(&self, number: u32) -> Option<*const ArenaRow> {
        let page = *self.arenas.row_pages.get(number as usize / ROW_PAGE)?;
        // SAFETY: pages have ROW_PAGE entries; a number in the map was given to a row in one of them.
        (!page.is_null()).then(|| unsafe { *page.add(number as usize % ROW_PAGE) })
    }

    /// Adds to an arena's history. `what`: 1 = taken, 2 = reset, 3 = dropped.
    fn arena_moment(&mut self, slot: &Slot, what: u32, used: u64, now_ns: u64, site: u32) {
        let arena = slot.arena.load(Relaxed);
        let chunk_bytes = match what {
            3 => 0,
            _ => slot.books.chunk_bytes.get(),
        };
        let Some(named) = self.arenas.named(arena) else {
            return;
        };
        let is_new_most = chunk_bytes > named.most_chunk_bytes;
        named.most_chunk_bytes = named.most_chunk_bytes.max(chunk_bytes);
        if named.history >= MOST_HISTORY && !is_new_most {
            return;
        }
        named.history += 1;
        let Some((index, place)) = self.arenas.chunks.push::<ArenaChunk>(&mut self.store) else {
            self.store.header().lost_records.fetch_add(1, Relaxed);
            return;
        };
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let moment = unsafe { place.as_ref() };
        moment.arena.store(arena, Relaxed);
        moment.what.store(what, Relaxed);
        moment.instance.store(slot.instance.load(Relaxed), Relaxed);
        moment.time_ns.store(now_ns, Relaxed);
        moment.chunk_bytes.store(chunk_bytes, Relaxed);
        moment.used_bytes.store(used, Relaxed);
        moment.site.store(site, Relaxed);
        self.store
            .header()
            .arena_chunks_len
            .store(index + 1, Release);
    }

    /// An instance is gone: what it held is not held any more, and its slot is free.
    fn end_arena(&mut self, slot: &'static Slot, used: u64, now_ns: u64) {
        let books = &slot.books;
        for figure in [
            &books.chunks,
            &books.chunk_bytes,
            &books.chunk_bytes_with_metadata,
            &books.abandoned,
            &books.past,
        ] {
            figure.set(0);
        }
        books.anchor(0, 0);
        slot.empty();
        self.publish_arena(slot);
        self.arena_moment(slot, 3, used, now_ns, 0);
        slot.in_use.store(false, Release);
        let arena = slot.arena.load(Relaxed);
        if let Some(named) = self.arenas.named(arena) {
            // SAFETY: a record that is mapped until the process ends.
            unsafe { &*named.record }.dropped.fetch_add(1, Relaxed);
            slot.next_free.store(named.free, Relaxed);
            named.free = std::ptr::from_ref(slot).cast_mut();
        }
    }
}
