//! The data of a lane on each site: its row, the counts of its size classes, and its checkpoints.

use super::size_class::{Class, Spread};
use super::{CACHE, Lane};
use crate::file::growths_resumed;
use crate::session::{self, CLOCK, KnownSite, net_blocks, net_bytes};
use crate::stack::Start;
use crate::sys::{CHUNK, Errno, PAGE, count_own};
use std::cell::Cell;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use tracking_alloc_recording::{
    CHECKPOINT_GROUP, CHECKPOINT_SLOTS, Checkpoints, Clock, Row, SITE_TABLE_FULL, Sizes,
};

const _: () = assert!(
    PAGE.is_multiple_of(size_of::<Slot>()) && (CHUNK * size_of::<Slot>()).is_multiple_of(PAGE)
);

/// The data of a lane on one site: its row and its further records.
#[repr(C)]
pub(in crate::hook) struct Slot {
    /// The row. Other threads read it too, at marks.
    pub(super) row: AtomicPtr<Row>,
    pub(super) row_index: Cell<u32>,
    /// The only size class so far, or one of the three values below.
    pub(super) class: Cell<u32>,
    /// The size records: one while the class is [`MIXED`], all while it is [`SPREAD`].
    sizes: Cell<*const ()>,
    /// The checkpoint records of each group of slots, or null while there are none.
    checkpoints: Cell<*const CheckpointGroups>,
}

/// The records of a row for each group of slots, null where there is none.
type CheckpointGroups = [Cell<*const Checkpoints>; CHECKPOINT_SLOTS / CHECKPOINT_GROUP];

/// No block has been allocated at the site yet.
pub(super) const NO_CLASS: u32 = u32::MAX;
/// There are several classes, which are counted in size records.
pub(super) const MIXED: u32 = u32::MAX - 1;
/// There are more classes than one size record holds.
pub(super) const SPREAD: u32 = u32::MAX - 2;

/// The counter for blocks of one size at a site.
#[derive(Clone, Copy)]
pub(in crate::hook) enum SizeCount {
    /// The row: the site has one size class.
    Row,
    /// A known class at a site with several. The count is the lower part of the word. It does not
    /// overflow into the upper part within 2^48 blocks.
    Pair(&'static AtomicU64),
    /// There is no counter yet.
    New(Class),
}

impl Slot {
    /// Returns the counter for blocks of this size.
    #[inline(always)]
    pub(in crate::hook) fn size_count(&self, bytes: u64) -> SizeCount {
        let class = Class::of(bytes);
        if self.class.get() == u32::from(class.0) {
            return SizeCount::Row;
        }
        // PERF: the more frequent case is compared first.
        let pair = if let Some(sizes) = self.one_record() {
            class.known_pair(sizes)
        } else {
            self.spread().and_then(|spread| spread.known_pair(class))
        };
        pair.map_or(SizeCount::New(class), SizeCount::Pair)
    }

    /// Returns the only size record, if there is one.
    #[inline(always)]
    pub(in crate::hook) fn one_record(&self) -> Option<&'static Sizes> {
        if self.class.get() != MIXED {
            return None;
        }
        // SAFETY: while the class is MIXED, this is null or a record, which stays mapped while the
        // recording is current.
        unsafe { self.sizes.get().cast::<Sizes>().as_ref() }
    }

    /// Returns all size records, if one was not enough.
    #[inline(always)]
    pub(in crate::hook) fn spread(&self) -> Option<&'static Spread> {
        if self.class.get() != SPREAD {
            return None;
        }
        // SAFETY: while the class is SPREAD, this is such a table, which is never unmapped.
        unsafe { self.sizes.get().cast::<Spread>().as_ref() }
    }

    pub(in crate::hook) fn set_one_record(&self, sizes: &'static Sizes) {
        self.sizes.set(from_ref(sizes).cast());
    }

    pub(in crate::hook) fn set_spread(&self, spread: &'static Spread) {
        self.sizes.set(from_ref(spread).cast());
        self.class.set(SPREAD);
    }

    /// Counts the page of a slot that is about to be used, if it is the first slot used there.
    fn count_page(&self) {
        const SLOTS: usize = PAGE / size_of::<Slot>();
        let first = (from_ref(self).addr() & !(PAGE - 1)) as *const Slot;
        // SAFETY: chunks are whole pages of slots, which only the lane's owner reaches.
        let is_new = (0..SLOTS).all(|index| unsafe { (*first.add(index)).row().is_none() });
        if is_new {
            count_own(PAGE);
        }
    }

    /// Returns the slot's row, or "(table full)" if there was no room for one.
    #[inline(always)]
    pub(super) fn row(&self) -> Option<&'static Row> {
        // SAFETY: null or a row, which stays mapped while the recording is current.
        unsafe { self.row.load(Relaxed).as_ref() }
    }
}

impl Lane {
    /// Returns the slot of a site, if the lane has memory for it.
    #[inline(always)]
    pub(in crate::hook) fn slot(&'static self, site: u32) -> Option<&'static Slot> {
        self.slots.get(site).or_else(|| self.add_slots(site))
    }

    #[cold]
    #[inline(never)]
    fn add_slots(&'static self, site: u32) -> Option<&'static Slot> {
        let _errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is the caller.
        let bump = unsafe { &mut (*self.tables.get()).bump };
        self.slots.get_or_make(site, || bump.take_sparse(CHUNK))
    }

    /// Returns the site of a key. Interns the calling stack if the key is new.
    #[cold]
    #[inline(never)]
    pub(in crate::hook) fn find_site(
        &'static self,
        frame_pointer: usize,
        stack_pointer: usize,
        pc: u64,
        key: u64,
        scope: u32,
    ) -> KnownSite {
        if let Some(known) = session::find_site(key)
            && self.trusts(known.site)
        {
            return known;
        }
        let start = Start::from_registers((frame_pointer, stack_pointer, pc));
        // SAFETY: the scratch memory belongs to the lane's owner, who is the caller.
        let scratch = unsafe { &mut *self.scratch.get() };
        session::intern(&self.limits, start, scratch, key, scope)
    }

    /// Returns `true` if a site found by its key is used without comparing the stack. The stack is
    /// compared the first time, and now and then after that, because another stack may have the
    /// same key.
    fn trusts(&'static self, site: u32) -> bool {
        const DOUBTED: u32 = 256;
        let times = self.trusted.get().wrapping_add(1);
        self.trusted.set(times);
        self.known_row(site).is_some() && !times.is_multiple_of(DOUBTED)
    }

    /// Returns the row of a site, or "(table full)" if there is no room for one.
    #[inline(always)]
    pub(in crate::hook) fn row_of(&'static self, site: u32) -> &'static Row {
        match self.known_row(site) {
            Some(row) => row,
            None => self.add_row(self.slot(site), site),
        }
    }

    /// Returns the row of a site, if the lane has one. "(unattributed)" has none here.
    #[inline(always)]
    pub(in crate::hook) fn known_row(&'static self, site: u32) -> Option<&'static Row> {
        self.slots.get(site)?.row()
    }

    /// Returns a slot that remembers nothing, not even a size class. Its events take the slower
    /// path.
    pub(in crate::hook) fn spare_slot(&'static self) -> &'static Slot {
        self.spare.row_index.set(u32::MAX);
        self.spare.class.set(NO_CLASS);
        &self.spare
    }

    pub(in crate::hook) fn is_spare(&self, slot: *const Slot) -> bool {
        std::ptr::eq(slot, &self.spare)
    }

    #[cold]
    #[inline(never)]
    fn add_row(&self, slot: Option<&Slot>, site: u32) -> &'static Row {
        let _errno = Errno::keep();
        let full = self.full();
        let Some(slot) = slot else { return full };
        let row = match site {
            SITE_TABLE_FULL => None,
            _ => self.new_row(site),
        };
        let (index, row) = row.unwrap_or((u32::MAX, full));
        slot.count_page();
        slot.row.store(from_ref(row).cast_mut(), Release);
        slot.row_index.set(index);
        slot.class.set(NO_CLASS);
        row
    }

    /// Returns `true` if a row is the lane's "(table full)".
    pub(in crate::hook) fn is_full(&self, row: &Row) -> bool {
        std::ptr::eq(row, self.full())
    }

    /// When the recording grows again after a failure, forgets which sites had no row. Each gets a
    /// row with its next event. The owner calls this on a slow path.
    #[inline]
    pub(in crate::hook) fn ask_again(&self) {
        let resumed = growths_resumed();
        if self.resumed.get() != resumed {
            self.resumed.set(resumed);
            self.forget_full();
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_full(&self) {
        for index in 0..CACHE {
            // SAFETY: the cache has CACHE pairs, which only the lane's owner, the caller, reaches.
            for entry in unsafe { &mut *self.cache.add(index) } {
                if std::ptr::eq(entry.row, self.full()) {
                    // No stack has this key.
                    entry.key = 0;
                }
            }
        }
        let slots = self.slots.all();
        slots
            .filter(|slot| slot.row().is_some_and(|row| self.is_full(row)))
            .for_each(|slot| slot.row.store(null_mut(), Relaxed));
    }

    fn new_row(&self, site: u32) -> Option<(u32, &'static Row)> {
        let made = self.add_record(
            |tables| &mut tables.rows,
            |lane| &lane.rows_len,
            |row: &Row| {
                row.site.store(site, Relaxed);
                row.clock.store(CLOCK.load(Acquire), Relaxed);
            },
        );
        if made.is_some() {
            session::count_row();
        }
        made
    }

    #[cold]
    #[inline(never)]
    pub(super) fn save_checkpoints(&'static self, site: u32, row: &Row, then: Clock) {
        let Some(session) = session::current() else {
            return;
        };
        let Some(slot) = self.slot(site) else { return };
        if slot.row_index.get() == u32::MAX || !slot.row().is_some_and(|own| std::ptr::eq(own, row))
        {
            return;
        }
        let (bytes, blocks) = (net_bytes(row), net_blocks(row));
        let seen = then.checkpoint();
        session::save_row(session.moments(), seen, |checkpoint| {
            let group = checkpoint / CHECKPOINT_GROUP;
            let Some(record) = self.checkpoints_of(slot, group) else {
                return;
            };
            let place = checkpoint % CHECKPOINT_GROUP;
            record.live_bytes[place].store(bytes, Relaxed);
            record.live_blocks[place].store(blocks, Relaxed);
        });
    }

    /// Returns the record of a row for a group of checkpoints, and adds it if there is none.
    fn checkpoints_of(&self, slot: &Slot, group: usize) -> Option<&'static Checkpoints> {
        if slot.checkpoints.get().is_null() {
            let _errno = Errno::keep();
            // SAFETY: the tables belong to the lane's owner, who is the caller.
            let bump = unsafe { &mut (*self.tables.get()).bump };
            slot.checkpoints.set(bump.take(1)?.as_ptr());
        }
        // SAFETY: memory of the lane's own that stays mapped; zeros are null pointers.
        let groups: &CheckpointGroups = unsafe { slot.checkpoints.get().as_ref() }?;
        let group_record = groups.get(group)?;
        if group_record.get().is_null() {
            let _errno = Errno::keep();
            let (_, added) = self.add_record(
                |tables| &mut tables.checkpoints,
                |lane| &lane.checkpoints_len,
                |checkpoints: &Checkpoints| {
                    checkpoints.row.store(slot.row_index.get(), Relaxed);
                    let first = group * CHECKPOINT_GROUP;
                    checkpoints.first_slot.store(first as u32, Relaxed);
                },
            )?;
            group_record.set(added);
        }
        // SAFETY: a record of the lane's own that stays mapped while the recording is current.
        unsafe { group_record.get().as_ref() }
    }
}
