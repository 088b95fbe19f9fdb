//! The recording's tables: everything that is written under the write lock.
//!
//! A table's file holds what is written into it; the folder knows no thread, no hook and no arena's handle: numbers come
//! in as plain parameters. Never allocates through the hooked allocator; the write lock is the last one to be taken.

mod arenas;
#[cfg(any(feature = "serde", feature = "deepsize"))]
mod footprints;
mod key_map;
mod lanes;
mod marks;
mod modules;
mod rows;
mod scopes;
mod sites;
mod strings;
mod threads;
mod timeline;
mod walking;

pub(crate) use arenas::{ArenaValue, MOST_ARENAS};
#[cfg(any(feature = "serde", feature = "deepsize"))]
pub(crate) use footprints::{Measured, Part, Type};
pub(crate) use lanes::{
    LANES_USED, OVERFLOW_USED, counted_rows, fixed_row, lane_number, lane_row, lanes_in_use,
};
pub(crate) use marks::Window;
pub(crate) use rows::{
    CLOCK, Shared, add, at_peak, clock, epoch, figures_net, figures_of, net_blocks, net_bytes,
    owned, touch,
};
pub(crate) use scopes::{forget_scopes, scope_number, scope_record};
pub(crate) use sites::{check_modules, find_site, forget_sites, intern};
pub(crate) use timeline::{Timeline, store_own_bytes};
pub(crate) use walking::{choose_unwinder, find_rule};

use crate::module::Modules;
use crate::record::{Backing, PathBytes, Store, Table, is_retry_due};
use crate::stack::EhFrames;
use crate::sys::{self, Bump, Lock};
use crate::{life, state};
use arenas::Arenas;
use key_map::KeyMap;
use lanes::table_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::{
    self as recording, FIRST_SITE, FURTHER_LANES, Frame, HEADER_BYTES, Header, LANE_TABLES, LANES,
    LONGEST_OWN_CRATES, Mark, MarkRow, Module, Point, Row, Scope, Site, Stack, TIMELINE_POINTS,
    ThreadName, VERSION, table,
};

/// Reached from the hook without a lock; lives until the process ends.
pub(crate) struct Session {
    tag: u32,
    /// Where it is written; empty for a recording in memory.
    path: AtomicPtr<PathBytes>,
    /// Records of lanes: the first table, and the further ones.
    lanes: [AtomicPtr<recording::Lane>; LANE_TABLES],
    /// The write lock. May be taken while the peak lock is held, never in reverse.
    pub(crate) write: Lock<Writer>,
}

/// Everything that grows, under the write lock.
pub(crate) struct Writer {
    pub(crate) store: Store,
    strings: Table,
    modules: Table,
    frames: Table,
    stacks: Table,
    scopes: Table,
    sites: Table,
    threads: Table,
    marks: Table,
    mark_rows: Table,
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    footprints: Table,
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    footprint_nodes: Table,
    arenas: Arenas,
    maps: sites::Maps,
    /// Hash of (parent, name) to phase.
    phases: KeyMap,
    images: Modules,
    eh_frames: EhFrames,
    pub(crate) bump: Bump,
    names: threads::Names,
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    known_strings: strings::KnownStrings,
}

// SAFETY: everything inside is mapped until the process ends and reached under the write lock.
unsafe impl Send for Writer {}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());
/// The header of the recording; null before the start.
static HEADER: AtomicPtr<Header> = AtomicPtr::new(std::ptr::null_mut());

/// The session, once one began; it stays after the recording is finished.
#[inline]
pub(crate) fn current() -> Option<&'static Session> {
    // SAFETY: null or a session, which is never unmapped.
    unsafe { SESSION.load(Acquire).as_ref() }
}

/// The recording of that tag, in progress or finished, if this very process began it: what a forked child inherits is
/// not its own.
pub(crate) fn own(tag: u32) -> Option<&'static Session> {
    current().filter(|session| session.tag == tag && life::has_recording())
}

/// The header, while a recording exists.
#[inline(always)]
pub(crate) fn header() -> Option<&'static Header> {
    // SAFETY: null or the mapped header, which stays mapped until the process ends.
    unsafe { HEADER.load(Acquire).as_ref() }
}

/// The next record of a lane's table, taking the write lock only for a new segment.
pub(crate) fn push<T>(table: &mut Table) -> Option<(u64, NonNull<T>)> {
    if table.has_room() {
        return table.push_within();
    }
    let mut writer = current()?.write.lock();
    table.push(&mut writer.store)
}

/// Tries a refused growth again when it is time: growth goes on even if nobody asks for room any more.
pub(crate) fn retry_growth() {
    if is_retry_due()
        && let Some(mut writer) = current().and_then(|session| session.write.try_lock(1))
    {
        let errno = sys::Errno::keep();
        writer.store.retry();
        drop(errno);
    }
}

/// What a session is begun with, beside its backing.
#[derive(Clone, Copy)]
pub(crate) struct SessionSettings {
    pub(crate) path: &'static PathBytes,
    pub(crate) generation: u32,
    /// Bytes to reserve at once, 0 = as needed.
    pub(crate) reserve: u64,
    /// What is recorded of each event: a value of [`recording::mode`].
    pub(crate) mode: u32,
}

/// A session laid out and not yet current. Without [`publish`](Prepared::publish) nothing has changed.
pub(crate) struct Prepared {
    session: *mut Session,
    /// Both halves of the timeline.
    pub(crate) points: *const Point,
}

/// Lays out the tables. `Err`: a value of [`recording::growth`].
pub(crate) fn prepare(backing: Backing, how: SessionSettings) -> Result<Prepared, u32> {
    use recording::growth::NO_MEMORY;
    let mut bump = Bump::new();
    // Most of its lists stay as they are: only what every recording writes is counted.
    let place = bump.take_sparse::<Session>(1).ok_or(NO_MEMORY)?;
    sys::count_own(2 * sys::PAGE);
    let session = place.as_ptr();
    // SAFETY: zeroed memory for a session that nobody else knows yet. Zeros are a valid free lock word, and a value of
    // all that the writer holds but its store and its bump allocator, which are filled in first.
    let writer = unsafe {
        let writer = (*session).write.get_mut_unpublished();
        let store = NonNull::new_unchecked(&raw mut (*writer).store);
        Store::create(store, backing, how.reserve).map_err(|refusal| refusal.reason)?;
        (&raw mut (*writer).bump).write(bump);
        &mut *writer
    };
    writer.lay_out();
    let [lanes, rows, points] = writer.fixed_tables().ok_or(NO_MEMORY)?;
    let header = writer.store.header();
    writer.prepare_tables(header).ok_or(NO_MEMORY)?;
    writer.describe(header, how.mode);
    // SAFETY: as above; the writer inside is not borrowed any more.
    unsafe {
        (*session).tag = state::RECORD | (how.generation * state::GENERATION);
        (*session).lanes[0].store(lanes.as_ptr().cast(), Relaxed);
        (*session).path = AtomicPtr::new(std::ptr::from_ref(how.path).cast_mut());
    }
    HEADER.store(std::ptr::from_ref(header).cast_mut(), Release);
    lanes::begin(rows.as_ptr().cast());
    CLOCK.store(0, Release);
    Ok(Prepared {
        session,
        points: points.as_ptr().cast(),
    })
}

impl Prepared {
    /// Makes the session current.
    pub(crate) fn publish(&self) {
        SESSION.store(self.session, Release);
    }
}

impl Session {
    /// The state word in which this session's lanes record without further questions.
    pub(crate) fn tag(&self) -> u32 {
        self.tag
    }

    /// Where it is written; empty for a recording in memory. Without a lock: a forked child may ask too.
    pub(crate) fn path(&self) -> &'static PathBytes {
        // SAFETY: set before the session is published, to paths that are never given back.
        unsafe { &*self.path.load(Acquire) }
    }

    /// The file got its name; `wanted` is where it was to be, when it is elsewhere. False when there is no memory.
    pub(crate) fn named(&self, path: &PathBytes, wanted: Option<&PathBytes>) -> bool {
        let mut writer = self.write.lock();
        let Some(place) = writer.bump.take::<PathBytes>(1) else {
            return false;
        };
        // SAFETY: memory for one path, never given back.
        let path: &'static PathBytes = unsafe {
            place.write(*path);
            place.as_ref()
        };
        self.path
            .store(std::ptr::from_ref(path).cast_mut(), Release);
        writer.store.renamed(path);
        if let Some(wanted) = wanted {
            let reference = writer.string(wanted.as_bytes());
            writer.store.header().live_path.store(reference, Release);
        }
        true
    }

    /// A lane's half in the recording.
    pub(crate) fn lane_record(&self, number: u32) -> *const recording::Lane {
        let (table, place) = table_of(number);
        // SAFETY: there is a record for every lane of a table, the overflow lane's included.
        unsafe { self.lanes[table].load(Acquire).add(place) }
    }

    /// Makes room for a lane's record and fixed rows. Under the peak lock; `None` when the recording cannot grow.
    pub(crate) fn prepare_lane(&self, number: u32) -> Option<()> {
        let (table, place) = table_of(number);
        if !self.lanes.get(table)?.load(Acquire).is_null() {
            return Some(());
        }
        let first = u64::from(number) - place as u64;
        let mut writer = self.write.lock();
        let rows = writer.store.segment(
            table::FIXED_ROWS,
            0,
            (3 * FURTHER_LANES * size_of::<Row>()) as u64,
            3 * first,
        )?;
        let lanes = writer.store.segment(
            table::LANES,
            0,
            (FURTHER_LANES * size_of::<recording::Lane>()) as u64,
            first,
        )?;
        lanes::FIXED_ROWS[table].store(rows.as_ptr().cast(), Release);
        self.lanes[table].store(lanes.as_ptr().cast(), Release);
        Some(())
    }
}

impl Writer {
    /// Empty tables.
    fn lay_out(&mut self) {
        fn table<T>(id: u32, first_bytes: usize, most_bytes: usize) -> Table {
            Table::new(id, 0, size_of::<T>(), first_bytes << 10, most_bytes << 10)
        }
        self.strings = table::<u8>(table::STRINGS, 16, 1 << 10);
        self.modules = table::<Module>(table::MODULES, 4, 64);
        self.frames = table::<Frame>(table::FRAMES, 16, 1 << 10);
        self.stacks = table::<Stack>(table::STACKS, 16, 1 << 10);
        self.scopes = table::<Scope>(table::SCOPES, 4, 256);
        self.sites = table::<Site>(table::SITES, 16, 1 << 10);
        self.threads = table::<ThreadName>(table::THREADS, 4, 64);
        self.marks = table::<Mark>(table::MARKS, 4, 64);
        self.mark_rows = table::<MarkRow>(table::MARK_ROWS, 16, 1 << 10);
        #[cfg(any(feature = "serde", feature = "deepsize"))]
        {
            self.footprints = table::<recording::Footprint>(table::FOOTPRINTS, 4, 64);
            self.footprint_nodes =
                table::<recording::FootprintNode>(table::FOOTPRINT_NODES, 16, 1 << 10);
        }
        self.arenas.lay_out();
        self.images.prepare();
    }

    /// Records of lanes, their fixed rows, and both halves of the timeline.
    fn fixed_tables(&mut self) -> Option<[NonNull<u8>; 3]> {
        let mut segment = |id, records: usize, bytes: usize| {
            self.store.segment(id, 0, (records * bytes) as u64, 0)
        };
        Some([
            segment(table::LANES, LANES + 1, size_of::<recording::Lane>())?,
            segment(table::FIXED_ROWS, 3 * (LANES + 1), size_of::<Row>())?,
            segment(table::TIMELINE, 2 * TIMELINE_POINTS, size_of::<Point>())?,
        ])
    }

    /// Entry 0 of the tables whose index 0 means "none", and the fixed sites.
    fn prepare_tables(&mut self, header: &'static Header) -> Option<()> {
        self.strings.push_bytes(&mut self.store, &[&[0; 4]])?;
        header.strings_len.store(self.strings.len(), Release);
        self.stacks.push::<Stack>(&mut self.store)?;
        header.stacks_len.store(1, Release);
        self.scopes.push::<Scope>(&mut self.store)?;
        header.scopes_len.store(1, Release);
        for _ in 0..FIRST_SITE {
            self.sites.push::<Site>(&mut self.store)?;
        }
        header.sites_len.store(FIRST_SITE, Release);
        Some(())
    }

    /// Fills in who is recorded, and how.
    fn describe(&mut self, header: &'static Header, mode: u32) {
        header.version.store(VERSION, Relaxed);
        header.header_bytes.store(HEADER_BYTES as u32, Relaxed);
        header.state.store(recording::state::RUNNING, Relaxed);
        header.mode.store(mode, Relaxed);
        let arch = match cfg!(target_arch = "x86_64") {
            true => recording::arch::X86_64,
            false => recording::arch::AARCH64,
        };
        header.arch.store(arch, Relaxed);
        header.pid.store(std::process::id(), Relaxed);
        header.start_ticks.store(sys::start_ticks(), Relaxed);
        header.pid_namespace.store(sys::pid_namespace(), Relaxed);
        header.started_unix_ns.store(sys::unix_ns(), Relaxed);
        header.file_bytes.store(self.store.file_bytes(), Relaxed);
        for (word, value) in header.boot_id.iter().zip(sys::boot_id()) {
            word.store(value, Relaxed);
        }
        let mut buffer = [0u8; 4096];
        if let Some(path) = sys::read_link(c"/proc/self/exe", &mut buffer) {
            header.executable.store(self.string(path), Relaxed);
        }
        if let Ok(words) = sys::read_whole(c"/proc/self/cmdline", &mut buffer) {
            header.command.store(self.string(words), Relaxed);
        }
        let own = sys::environment(b"HEAPGLASS_OWN").unwrap_or_default();
        if !own.is_empty() && own.len() <= LONGEST_OWN_CRATES {
            header.own_crates.store(self.string(own), Relaxed);
        }
    }
}
