//! A session: the tables of one recording, as the program writes them.
//!
//! Each file here holds one table. The folder knows no thread, no hook and no handle of an arena:
//! numbers come in as plain parameters. Nothing here allocates through the observed allocator.
//!
//! # Locks
//!
//! | table | written | read by the program |
//! |---|---|---|
//! | strings, modules, stacks and sites, scopes, marks, threads, arenas, footprints, failed requests | under the write lock ([`Session::write`]) | a known site ([`find_site`]) and the record of a scope ([`scope_record`]) without a lock, the rest under the write lock |
//! | counters of scopes, of arenas and in the header | by anybody, with atomic additions | without a lock |
//! | rows of a lane | by the owner of the lane alone, without a lock; a new segment under the write lock ([`push`]) | without a lock |
//! | rows of the shared lane, and "(unattributed)" | by several threads, with atomic additions ([`Shared`]) | without a lock |
//! | records of lanes, and how many are in use | under the peak lock | without a lock |
//! | timeline, checkpoints, the clock, the peak in the header | under the peak lock | without a lock |
//!
//! The peak lock (`hook::PEAK_CHECKS`) is taken before the write lock, never after it.
//!
//! # Memory
//!
//! A recording is current until the next one of the process begins, which happens only if somebody
//! attaches again. Before that, the last one has ended and no thread is inside the hook
//! (`start::forget_last`); then the file of the recording is unmapped, and the
//! recorder's tables become zeros, at the same addresses. So a reference to a record is used inside
//! the hook only, and never kept for a later event, except in tables that are forgotten too. Lanes
//! are never unmapped, because threads know them.

mod arenas;
mod checkpoints;
mod failed_requests;
mod footprints;
mod key_map;
mod lanes;
mod marks;
mod modules;
mod rows;
mod scope_table;
mod sites;
mod strings;
mod threads;
mod timeline;
mod walking;

pub(crate) use arenas::{ArenaValue, MOST_ARENAS};
pub(crate) use checkpoints::{
    Moments, count_row, may_check_after_phase, may_follow_phase, save_row,
};
pub use footprints::{Measured, Part, Type};
pub(crate) use lanes::{
    LANES_USED, OVERFLOW_USED, fixed_rows, lane_number, lanes_in_use, sums_of_lanes,
};
pub(crate) use rows::{
    CLOCK, Shared, add, at_other_peak, at_peak, clock, epoch, net_blocks, net_bytes, owned,
    sums_of, touch,
};
pub(crate) use scope_table::{forget_scopes, scope_number, scope_record};
pub(crate) use sites::{KnownSite, check_modules, expect_changes, find_site, forget_sites, intern};
pub(crate) use timeline::{STORED_AT, Timeline, store_own_bytes, ticks_in_5_us};
pub(crate) use walking::{FINDERS, any_callers, choose_unwinder, have_any_callers};

use crate::file::{Backing, Store, Table, is_retry_due, own_header};
use crate::hash::next_key;
use crate::stack::Code;
use crate::sys::{self, Bump, Lock};
use crate::{life, state};
use arenas::KnownArena;
use key_map::KeyMap;
use lanes::{FIXED_ROWS, table_of};
use std::ptr::{NonNull, from_ref, with_exposed_provenance};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{
    self as recording, Clock, EXCHANGE_OFFSET, Exchange, FIRST_SITE, FURTHER_LANES, HEADER_BYTES,
    Header, HeaderValue, LANE_TABLES, LANES, LONGEST_OWN_CRATES, ModuleValue, Point, Record, Row,
    ScopeValue, SiteValue, StackValue, TIMELINE_POINTS, TableRecord, VERSION, table,
};

/// The tables of one recording. The hook accesses them without a lock; they exist while the
/// recording is current.
pub(crate) struct Session {
    tag: u32,
    header: *const Header,
    /// Both halves of the timeline.
    pub(crate) points: *const Point,
    /// The checkpoints, by slot.
    pub(crate) moments: *const Moments,
    /// Records of lanes: the first table, and the further ones.
    lanes: [AtomicPtr<recording::Lane>; LANE_TABLES],
    /// The write lock. It may be taken while the peak lock is held, never the other way round.
    pub(crate) write: Lock<Writer>,
}

/// An exclusive upper bound for table numbers.
const TABLES: usize = table::FAILED_REQUESTS as usize + 1;

/// The growing parts of a recording, under the write lock.
pub(crate) struct Writer {
    pub(crate) store: Store,
    /// The tables by number; each lane owns its own tables.
    tables: [Table; TABLES],
    /// The map from keys to the number or place of a record, for each table that is searched.
    keys: [KeyMap; TABLES],
    /// The map from the keys of strings to their addresses; `keys` maps the same keys to their
    /// numbers.
    string_places: KeyMap,
    arenas: [KnownArena; MOST_ARENAS],
    code: Code,
    pub(crate) bump: Bump,
}

// SAFETY: everything inside is mapped while the recording is current and is reached under the write
// lock.
unsafe impl Send for Writer {}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the session if one has begun. It stays after the recording is finished.
#[inline]
pub(crate) fn current() -> Option<&'static Session> {
    // SAFETY: null or a session, which is never unmapped.
    unsafe { SESSION.load(Acquire).as_ref() }
}

/// Returns the tag of the current session, or 0 if there is none.
pub(crate) fn current_tag() -> u32 {
    current().map_or(0, Session::tag)
}

/// Returns the recording with that tag, in progress or finished, if this process started it. A
/// forked child does not own an inherited recording.
pub(crate) fn own(tag: u32) -> Option<&'static Session> {
    current().filter(|session| session.tag == tag && life::has_recording())
}

/// Returns the header while a recording exists.
pub(crate) fn header() -> Option<&'static Header> {
    current().map(Session::header)
}

/// Returns the words for an attached reader while a recording exists.
pub(crate) fn exchange() -> Option<&'static Exchange> {
    current().map(Session::exchange)
}

/// Returns the next record of a lane's table. Takes the write lock only for a new segment.
pub(crate) fn push<T>(table: &mut Table) -> Option<(u64, NonNull<T>)> {
    let pushed = table.push_within();
    if pushed.is_some() {
        return pushed;
    }
    let mut writer = current()?.write.lock();
    table.push(&mut writer.store)
}

/// Tries a failed growth again if it is time, so that growth resumes even if no room is needed now.
pub(crate) fn retry_growth() {
    if is_retry_due()
        && let Some(mut writer) = current().and_then(|session| session.write.try_lock(1))
    {
        let _errno = sys::Errno::keep();
        writer.store.retry();
    }
}

/// Creates the tables of a session, which [`publish`] makes current. `reserve` is the number of
/// bytes to reserve at once, or 0 to reserve as needed. `mode` is a value of [`recording::mode`].
/// The error is a value of [`recording::growth`].
pub(crate) fn prepare(backing: Backing, reserve: u64, mode: u32) -> Result<&'static Session, u32> {
    use recording::growth::NO_MEMORY;
    /// A forked child that records again continues the count.
    static GENERATION: AtomicU32 = AtomicU32::new(1);
    let mut bump = Bump::new();
    // Most lists inside a session stay untouched, so only the pages that every recording writes are
    // counted.
    let place = bump.take_sparse::<Session>(1).ok_or(NO_MEMORY)?;
    sys::count_own(2 * sys::PAGE);
    let session = place.as_ptr();
    // SAFETY: zeroed memory for a session that nobody else knows yet. Zeros are a valid free lock,
    // and a valid value of every field of the writer except its store and its bump allocator. These
    // two are initialized first.
    let session: &'static mut Session = unsafe {
        let writer = (*session).write.get_mut_unpublished();
        let store = NonNull::new_unchecked(&raw mut (*writer).store);
        Store::create(store, backing, reserve).map_err(|refusal| refusal.reason)?;
        (&raw mut (*writer).bump).write(bump);
        &mut *session
    };
    let mut writer = session.write.lock();
    let header = writer.store.header();
    writer.tables = std::array::from_fn(|id| empty_table(id as u32));
    writer.code.prepare();
    Writer::describe(header, mode);
    drop(writer);
    lanes::forget();
    session.prepare_lane(0).ok_or(NO_MEMORY)?;
    let mut writer = session.write.lock();
    // Both halves of the timeline.
    let points_bytes = (2 * TIMELINE_POINTS * size_of::<Point>()) as u64;
    let points = writer.store.segment(table::TIMELINE, 0, points_bytes, 0);
    let moments_bytes = size_of::<Moments>() as u64;
    let moments = writer
        .store
        .segment(table::CHECKPOINT_MOMENTS, 0, moments_bytes, 0);
    writer.add_fixed_records().ok_or(NO_MEMORY)?;
    writer.describe_program(header);
    drop(writer);
    session.tag = state::RECORD | (GENERATION.fetch_add(1, AcqRel) * state::GENERATION);
    session.header = header;
    session.points = points.ok_or(NO_MEMORY)?.as_ptr().cast();
    session.moments = moments.ok_or(NO_MEMORY)?.as_ptr().cast();
    CLOCK.store(Clock::default(), Release);
    Ok(session)
}

/// Creates a table of the writer. Tables that are small in most programs use small segments,
/// because unused space counts towards the size limit.
fn empty_table(id: u32) -> Table {
    use table::{
        ARENA_VALUES, ARENAS, FAILED_REQUESTS, FOOTPRINTS, MARKS, MODULES, SCOPES, THREADS,
    };
    match id {
        MODULES | THREADS | MARKS | FOOTPRINTS => Table::new(id, 0, 4 << 10, 64 << 10),
        FAILED_REQUESTS => Table::new(id, 0, 4 << 10, 4 << 10),
        SCOPES | ARENAS..=ARENA_VALUES => Table::new(id, 0, 4 << 10, 256 << 10),
        _ => Table::new(id, 0, 16 << 10, 1 << 20),
    }
}

/// Forgets the finished session of this process, and removes its recording from memory. Nobody may
/// use it any more.
pub(crate) fn forget() {
    if let Some(session) = current() {
        SESSION.store(std::ptr::null_mut(), Release);
        if let Some(mut writer) = session.write.try_lock(1000) {
            writer.store.unmap();
        }
    }
}

/// Makes a session current.
pub(crate) fn publish(session: &'static Session) {
    SESSION.store(from_ref(session).cast_mut(), Release);
}

impl Session {
    /// Returns the state word with which this session's lanes record on the fast path.
    pub(crate) fn tag(&self) -> u32 {
        self.tag
    }

    pub(crate) fn header(&self) -> &'static Header {
        // SAFETY: the header stays mapped while the recording is current.
        unsafe { &*self.header }
    }

    /// Returns the words for an attached reader, which lie behind the header.
    fn exchange(&self) -> &'static Exchange {
        // SAFETY: the first page of the recording stays mapped while the recording is current.
        unsafe { &*self.header.byte_add(EXCHANGE_OFFSET).cast() }
    }

    /// Returns the checkpoints, by slot.
    pub(crate) fn moments(&self) -> &'static Moments {
        // SAFETY: the moments stay mapped while the recording is current.
        unsafe { &*self.moments }
    }

    /// Returns a lane's record in the recording.
    pub(crate) fn lane_record(&self, number: u32) -> *const recording::Lane {
        let (table, place) = table_of(number);
        // SAFETY: each table has a record for every one of its lanes, including the overflow lane.
        unsafe { self.lanes[table].load(Acquire).add(place) }
    }

    /// Makes room for a lane's record and fixed rows. Call under the peak lock. Returns `None` if
    /// the recording cannot grow.
    pub(crate) fn prepare_lane(&self, number: u32) -> Option<()> {
        let (table, place) = table_of(number);
        if !self.lanes.get(table)?.load(Acquire).is_null() {
            return Some(());
        }
        let first = u64::from(number) - place as u64;
        let count = if table == 0 { LANES + 1 } else { FURTHER_LANES };
        let mut writer = self.write.lock();
        let mut add = |id, bytes: usize, first: u64| {
            let bytes = (count * bytes) as u64;
            writer.store.segment(id, 0, bytes, first)
        };
        // The rows may exist already, if there was no room for the lane records earlier.
        if FIXED_ROWS[table].load(Acquire).is_null() {
            let rows = add(table::FIXED_ROWS, size_of::<[Row; 3]>(), 3 * first)?;
            FIXED_ROWS[table].store(rows.as_ptr().cast(), Release);
        }
        let lanes = add(table::LANES, size_of::<recording::Lane>(), first)?;
        self.lanes[table].store(lanes.as_ptr().cast(), Release);
        Some(())
    }
}

/// The name of the program's allocator. The first event sets it.
static INNER_NAME: OnceLock<&str> = OnceLock::new();

/// `true` if the wrapped allocator is known to be the system's.
static INNER_IS_SYSTEM: AtomicBool = AtomicBool::new(false);

/// Sets the program's allocator for recordings that begin later. Its name stays if it is set.
pub(crate) fn set_inner(name: &'static str, is_system: bool) {
    INNER_IS_SYSTEM.store(is_system, Relaxed);
    let _ = INNER_NAME.set(name);
}

/// Returns a function for the usable bytes of a live block, or `None` if the program's allocator
/// cannot be asked.
pub fn usable_bytes() -> Option<fn(usize) -> usize> {
    // SAFETY: it is called only for live blocks of the system's allocator.
    let ask = |block: usize| unsafe { libc::malloc_usable_size(block as *mut libc::c_void) };
    INNER_IS_SYSTEM
        .load(Relaxed)
        .then_some(ask as fn(usize) -> usize)
}

impl Writer {
    /// Returns the number of records in a table.
    pub(crate) fn len(&self, table: u32) -> u64 {
        self.tables[table as usize].len()
    }

    /// Adds a record to its table and publishes it. Returns its number and place, or `None` if the
    /// recording cannot grow.
    pub(crate) fn add<R: TableRecord>(&mut self, record: R) -> Option<(u32, &'static R::Cells)> {
        let table = &mut self.tables[R::TABLE as usize];
        let added = table.add(&mut self.store, record)?;
        R::publish(self.store.header(), table.len());
        Some(added)
    }

    /// Returns the number for a key of a table.
    fn find(&self, table: u32, key: u64) -> Option<u32> {
        Some(self.keys[table as usize].find(key)? as u32)
    }

    /// Adds a record with a key by which it can be found.
    fn add_keyed<R: TableRecord>(
        &mut self,
        key: u64,
        record: R,
    ) -> Option<(u32, &'static R::Cells)> {
        if !self.keys[R::TABLE as usize].reserve(&mut self.bump) {
            return None;
        }
        let added = self.add(record)?;
        self.keys[R::TABLE as usize].add(key, added.0.into());
        Some(added)
    }

    /// Returns the number of the record with a key. Adds this record if there is none.
    fn intern<R: TableRecord>(&mut self, key: u64, record: R) -> Option<u32> {
        let known = self.find(R::TABLE, key);
        known.or_else(|| self.add_keyed(key, record).map(|(number, _)| number))
    }

    /// Returns the record under a key that `is_same` accepts. Otherwise adds this record, unless
    /// the table already has `most`. The content decides: different records with the same key use
    /// the next key.
    fn intern_placed<R: TableRecord>(
        &mut self,
        mut key: u64,
        record: R,
        most: u64,
        is_same: impl Fn(&R::Cells) -> bool,
    ) -> Option<&'static R::Cells> {
        let table = R::TABLE as usize;
        while let Some(place) = self.keys[table].find(key) {
            // SAFETY: a record that was added below. It is mapped while the recording is current.
            let known: &R::Cells = unsafe { &*with_exposed_provenance(place as usize) };
            if is_same(known) {
                return Some(known);
            }
            key = next_key(key);
        }
        if self.len(R::TABLE) >= most || !self.keys[table].reserve(&mut self.bump) {
            return None;
        }
        let (_, added) = self.add(record)?;
        let place = from_ref(added).expose_provenance();
        self.keys[table].add(key, place as u64);
        Some(added)
    }

    /// Adds record 0 to the tables in which it means "none", and the fixed sites.
    fn add_fixed_records(&mut self) -> Option<()> {
        let strings = &mut self.tables[table::STRINGS as usize];
        strings.push_bytes(&mut self.store, &[&[0; 4]])?;
        let header = self.store.header();
        header.strings_len.store(strings.len(), Release);
        self.add(ModuleValue::default())?;
        self.add(StackValue::default())?;
        self.add(ScopeValue::default())?;
        (0..FIRST_SITE).try_for_each(|_| self.add(SiteValue::default()).map(drop))
    }

    /// Fills in the process and the mode. Overwrites the whole header except `file_bytes`, so it
    /// must run before any segment is added.
    fn describe(header: &Header, mode: u32) {
        let described = HeaderValue {
            version: VERSION,
            header_bytes: HEADER_BYTES as u32,
            mode,
            arch: if cfg!(target_arch = "x86_64") {
                recording::arch::X86_64
            } else {
                recording::arch::AARCH64
            },
            started_unix_ns: sys::unix_ns(),
            file_bytes: header.file_bytes.load(Relaxed),
            ..own_header(recording::state::RUNNING)
        };
        described.store(header);
    }

    /// Fills in the program and its command line.
    fn describe_program(&mut self, header: &'static Header) {
        let mut buffer = [0u8; 4096];
        if let Some(path) = sys::read_link(c"/proc/self/exe", &mut buffer) {
            header.executable.store(self.string(path), Relaxed);
        }
        if let Ok(words) = sys::read_whole(c"/proc/self/cmdline", &mut buffer) {
            header.command.store(self.string(words), Relaxed);
        }
        let own = sys::environment(b"HEAPGLASS_OWN").unwrap_or_default();
        if own.len() > LONGEST_OWN_CRATES {
            sys::write_stderr(&[
                b"heapglass: HEAPGLASS_OWN is too long and is ignored; pass the crates to `heapglass` with --own\n",
            ]);
        } else if !own.is_empty() {
            header.own_crates.store(self.string(own), Relaxed);
        }
        let inner = INNER_NAME.get().copied().unwrap_or_default();
        header.allocator.store(self.name(inner.as_bytes()), Relaxed);
    }
}
