//! A recording in progress: what the hook needs of it, and the tables that grow.

use crate::arena::Arenas;
use crate::hook;
use crate::module::Modules;
use crate::record::{Backing, PathBytes, Store, Table, is_retry_due};
use crate::site::Maps;
use crate::stack::EhFrames;
use crate::sys::{self, Bump, Lock};
use crate::{life, state, timeline};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::{
    self as recording, FIRST_SITE, FURTHER_LANES, Frame, HEADER_BYTES, Header, LANE_TABLES, LANES,
    MAGIC, Mark, MarkRow, Module, Point, Row, Scope, Site, Stack, TIMELINE_POINTS, ThreadName,
    VERSION, mode, table,
};

/// Reached from the hook without a lock; lives until the process ends.
pub(crate) struct Session {
    tag: u32,
    /// Where it is written; empty for a recording in memory.
    path: AtomicPtr<PathBytes>,
    /// Records of lanes: the first table, and the further ones.
    lanes: [AtomicPtr<recording::Lane>; LANE_TABLES],
    /// The write lock. May be taken while the look lock is held, never the other way round.
    pub(crate) write: Lock<Writer>,
}

/// Everything that grows, under the write lock.
pub(crate) struct Writer {
    pub(crate) store: Store,
    pub(crate) strings: Table,
    pub(crate) modules: Table,
    pub(crate) frames: Table,
    pub(crate) stacks: Table,
    pub(crate) scopes: Table,
    pub(crate) sites: Table,
    pub(crate) threads: Table,
    pub(crate) marks: Table,
    pub(crate) mark_rows: Table,
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    pub(crate) footprints: Table,
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    pub(crate) footprint_nodes: Table,
    pub(crate) arenas: Arenas,
    pub(crate) maps: Maps,
    pub(crate) images: Modules,
    pub(crate) eh_frames: EhFrames,
    pub(crate) bump: Bump,
    /// Records of thread names, for merging.
    names: [*const ThreadName; Writer::MOST_NAMES],
    names_len: usize,
    /// Strings that are asked for again and again: address, length and reference.
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    known_strings: [(*const u8, usize, u32); Writer::KNOWN_STRINGS],
}

// SAFETY: everything inside is mapped until the process ends and reached under the write lock.
unsafe impl Send for Writer {}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

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

/// The next record of a lane's table, taking the write lock only for a new segment.
pub(crate) fn push<T>(table: &mut Table) -> Option<(u64, NonNull<T>)> {
    if table.has_room() {
        return table.push_within();
    }
    let mut writer = current()?.write.hold();
    table.push(&mut writer.store)
}

/// Tries a refused growth again when it is time: growth goes on even if nobody asks for room any more.
pub(crate) fn retry_growth() {
    if is_retry_due()
        && let Some(mut writer) = current().and_then(|session| session.write.try_hold(1))
    {
        let errno = sys::Errno::keep();
        writer.store.retry();
        drop(errno);
    }
}

/// What a session is begun with.
pub(crate) struct Beginning {
    pub(crate) backing: Backing,
    pub(crate) how: How,
}

/// All but the backing.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) path: &'static PathBytes,
    pub(crate) generation: u32,
    /// Bytes to reserve at once, 0 = as needed.
    pub(crate) reserve: u64,
}

/// Lays out the tables, makes the session current and turns recording on. On refusal nothing has changed.
pub(crate) fn begin(beginning: Beginning) -> Result<(), u32> {
    use recording::growth::NO_MEMORY;
    let Beginning { backing, how } = beginning;
    let mut bump = Bump::new();
    // Most of its lists stay as they are: only what every recording writes is counted.
    let place = bump.take_sparse::<Session>(1).ok_or(NO_MEMORY)?;
    sys::count_own(2 * sys::PAGE);
    let session = place.as_ptr();
    // SAFETY: zeroed memory for a session that nobody else knows yet. Zeros are a valid free lock word; the writer
    // inside is filled in here, field by field, before the session is published.
    unsafe {
        let writer = (*session).write.get_mut_unpublished();
        let store = NonNull::new_unchecked(&raw mut (*writer).store);
        Store::create(store, backing, how.reserve).map_err(|refusal| refusal.reason)?;
        let fresh =
            |id, bytes: usize, first: usize, most: usize| Table::new(id, 0, bytes, first, most);
        (&raw mut (*writer).strings).write(fresh(table::STRINGS, 1, 16 << 10, 1 << 20));
        (&raw mut (*writer).modules).write(fresh(
            table::MODULES,
            size_of::<Module>(),
            4 << 10,
            64 << 10,
        ));
        (&raw mut (*writer).frames).write(fresh(
            table::FRAMES,
            size_of::<Frame>(),
            16 << 10,
            1 << 20,
        ));
        (&raw mut (*writer).stacks).write(fresh(
            table::STACKS,
            size_of::<Stack>(),
            16 << 10,
            1 << 20,
        ));
        (&raw mut (*writer).scopes).write(fresh(
            table::SCOPES,
            size_of::<Scope>(),
            4 << 10,
            256 << 10,
        ));
        (&raw mut (*writer).sites).write(fresh(table::SITES, size_of::<Site>(), 16 << 10, 1 << 20));
        (&raw mut (*writer).threads).write(fresh(
            table::THREADS,
            size_of::<ThreadName>(),
            4 << 10,
            64 << 10,
        ));
        (&raw mut (*writer).marks).write(fresh(table::MARKS, size_of::<Mark>(), 4 << 10, 64 << 10));
        (&raw mut (*writer).mark_rows).write(fresh(
            table::MARK_ROWS,
            size_of::<MarkRow>(),
            16 << 10,
            1 << 20,
        ));
        #[cfg(any(feature = "serde", feature = "deepsize"))]
        (&raw mut (*writer).footprints).write(fresh(
            table::FOOTPRINTS,
            size_of::<recording::Footprint>(),
            4 << 10,
            64 << 10,
        ));
        #[cfg(any(feature = "serde", feature = "deepsize"))]
        (&raw mut (*writer).footprint_nodes).write(fresh(
            table::FOOTPRINT_NODES,
            size_of::<recording::FootprintNode>(),
            16 << 10,
            1 << 20,
        ));
        Arenas::prepare(&raw mut (*writer).arenas);
        (&raw mut (*writer).bump).write(bump);
        Modules::prepare(&raw mut (*writer).images);
        let writer = &mut *writer;
        let fixed = (
            writer.store.segment(
                table::LANES,
                0,
                ((LANES + 1) * size_of::<recording::Lane>()) as u64,
                0,
            ),
            writer.store.segment(
                table::FIXED_ROWS,
                0,
                (3 * (LANES + 1) * size_of::<Row>()) as u64,
                0,
            ),
            writer.store.segment(
                table::TIMELINE,
                0,
                (2 * TIMELINE_POINTS * size_of::<Point>()) as u64,
                0,
            ),
        );
        let (Some(lanes), Some(rows), Some(points)) = fixed else {
            return Err(NO_MEMORY);
        };
        let header = writer.store.header();
        writer.prepare_tables(header).ok_or(NO_MEMORY)?;
        (*session).tag = state::RECORD | (how.generation * state::GENERATION);
        (*session).lanes[0].store(lanes.as_ptr().cast(), Relaxed);
        (*session).path = AtomicPtr::new(std::ptr::from_ref(how.path).cast_mut());
        writer.describe(header);
        hook::HEADER.store(std::ptr::from_ref(header).cast_mut(), Release);
        hook::FIXED_ROWS[0].store(rows.as_ptr().cast(), Release);
        for further in &hook::FIXED_ROWS[1..] {
            further.store(std::ptr::null_mut(), Release);
        }
        hook::CLOCK.store(0, Release);
        let mut looks = hook::LOOKS.hold();
        if !looks.begin(points.as_ptr().cast(), how.reserve == 0) {
            return Err(NO_MEMORY);
        }
        SESSION.store(session, Release);
        hook::look_now(&mut looks, true);
        header.magic.store(MAGIC, Release);
    }
    Ok(())
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
        let mut writer = self.write.hold();
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
        let (table, place) = hook::table_of(number);
        // SAFETY: there is a record for every lane of a table, the overflow lane's included.
        unsafe { self.lanes[table].load(Acquire).add(place) }
    }

    /// Makes room for a lane's record and fixed rows. Under the look lock; `None` when the recording cannot grow.
    pub(crate) fn prepare_lane(&self, number: u32) -> Option<()> {
        let (table, place) = hook::table_of(number);
        if !self.lanes.get(table)?.load(Acquire).is_null() {
            return Some(());
        }
        let first = u64::from(number) - place as u64;
        let mut writer = self.write.hold();
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
        hook::FIXED_ROWS[table].store(rows.as_ptr().cast(), Release);
        self.lanes[table].store(lanes.as_ptr().cast(), Release);
        Some(())
    }

    /// Where events of threads without a lane are counted: the overflow lane's "(unattributed)".
    pub(crate) fn stray_row(&self) -> Option<&'static Row> {
        // SAFETY: a record of a mapped table.
        let lane = unsafe { &*self.lane_record(LANES as u32) };
        lane.kind.store(2, Relaxed);
        hook::OVERFLOW_USED.store(1, Release);
        let rows = hook::FIXED_ROWS[0].load(Acquire);
        if rows.is_null() {
            return None;
        }
        // SAFETY: three rows for every lane number.
        Some(unsafe { &*rows.add(3 * LANES + 2) })
    }

    /// The lane those events are booked to.
    pub(crate) fn stray_lane(&self) -> u32 {
        LANES as u32
    }

    /// Adds what an ended thread did to the threads of its name. `since` is its lane's net when it came, and the clock then.
    pub(crate) fn thread_ended(
        &self,
        name: [u64; 2],
        figures: [u64; 9],
        all: &Row,
        since: ((i64, i64), u64),
    ) {
        self.write.hold().thread_ended(name, figures, all, since);
    }
}

impl Writer {
    /// Different names kept apart; further threads are merged as one.
    const MOST_NAMES: usize = 512;
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    const KNOWN_STRINGS: usize = 1024;

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
    fn describe(&mut self, header: &'static Header) {
        header.version.store(VERSION, Relaxed);
        header.header_bytes.store(HEADER_BYTES as u32, Relaxed);
        header.state.store(recording::state::RUNNING, Relaxed);
        header.mode.store(mode::EXACT, Relaxed);
        header.os.store(1, Relaxed);
        header
            .arch
            .store(if cfg!(target_arch = "x86_64") { 1 } else { 2 }, Relaxed);
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
    }

    /// Keeps a string: its reference, 0 when there is no room.
    pub(crate) fn string(&mut self, text: &[u8]) -> u32 {
        const PADDING: [u8; 3] = [0; 3];
        let padding = (4 - text.len() % 4) % 4;
        let pieces = [
            &(text.len() as u32).to_le_bytes()[..],
            text,
            &PADDING[..padding],
        ];
        let Some(start) = self.strings.push_bytes(&mut self.store, &pieces) else {
            return 0;
        };
        self.store
            .header()
            .strings_len
            .store(self.strings.len(), Release);
        u32::try_from(start).unwrap_or(0)
    }

    /// Keeps a string that was perhaps kept before: then its reference is the same.
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    pub(crate) fn known_string(&mut self, text: &[u8]) -> u32 {
        let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        let slot = (hash ^ hash >> 32) as usize % Self::KNOWN_STRINGS;
        let (place, length, reference) = self.known_strings[slot];
        // SAFETY: the bytes of a string that was written and stays mapped.
        if !place.is_null() && unsafe { std::slice::from_raw_parts(place, length) } == text {
            return reference;
        }
        let reference = self.string(text);
        if reference != 0 {
            // The string is the last thing in the table, padded.
            let padded = text.len().next_multiple_of(4);
            let place = self.strings.end().wrapping_sub(padded);
            self.known_strings[slot] = (place, text.len(), reference);
        }
        reference
    }

    fn thread_ended(
        &mut self,
        name: [u64; 2],
        figures: [u64; 9],
        all: &Row,
        ((bytes, blocks), since_clock): ((i64, i64), u64),
    ) {
        let header = self.store.header();
        let Some(record) = self.thread_name(name) else {
            header.lost_threads.fetch_add(1, Relaxed);
            return;
        };
        // What its threads held at the peak. Those merged before the present epoch ended before its peak: they hold
        // what they left behind. This one holds nothing if it came after the peak.
        let epoch = hook::CLOCK.load(Relaxed) >> recording::CLOCK_SNAPSHOT_BITS;
        let (mut peak_bytes, mut peak_blocks) = hook::figures_net(&record.figures);
        if record.clock.load(Relaxed) >> recording::CLOCK_SNAPSHOT_BITS == epoch {
            (peak_bytes, peak_blocks) = (
                record.peak_bytes.load(Relaxed),
                record.peak_blocks.load(Relaxed),
            );
        }
        if since_clock >> recording::CLOCK_SNAPSHOT_BITS < epoch {
            let (at_bytes, at_blocks) = hook::at_peak(all, epoch);
            peak_bytes += at_bytes - bytes;
            peak_blocks += at_blocks - blocks;
        }
        record.count.store(record.count.load(Relaxed) + 1, Relaxed);
        for (sum, figure) in record.figures.iter().zip(figures) {
            sum.store(sum.load(Relaxed).wrapping_add(figure), Relaxed);
        }
        record.peak_bytes.store(peak_bytes, Relaxed);
        record.peak_blocks.store(peak_blocks, Relaxed);
        record.clock.store(hook::CLOCK.load(Relaxed), Relaxed);
    }

    fn thread_name(&mut self, name: [u64; 2]) -> Option<&'static ThreadName> {
        let same = |record: &&ThreadName| {
            record.name[0].load(Relaxed) == name[0] && record.name[1].load(Relaxed) == name[1]
        };
        // SAFETY: every listed record is mapped until the process ends.
        let known = self.names[..self.names_len]
            .iter()
            .map(|record| unsafe { &**record })
            .find(same);
        if known.is_some() || self.names_len == Self::MOST_NAMES {
            // SAFETY: as above; the last one takes what found no place of its own.
            return known.or_else(|| self.names.last().map(|record| unsafe { &**record }));
        }
        let (index, place) = self.threads.push::<ThreadName>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let record: &'static ThreadName = unsafe { place.as_ref() };
        let name = if self.names_len + 1 == Self::MOST_NAMES {
            OTHERS
        } else {
            name
        };
        record.name[0].store(name[0], Relaxed);
        record.name[1].store(name[1], Relaxed);
        self.names[self.names_len] = record;
        self.names_len += 1;
        self.store
            .header()
            .threads_len
            .store(index as u32 + 1, Release);
        Some(record)
    }
}

/// The name under which threads are merged when there are too many names.
const OTHERS: [u64; 2] = [
    u64::from_le_bytes(*b"(other t"),
    u64::from_le_bytes(*b"hreads)\0"),
];

/// The last words into a recording before it is finished.
pub(crate) fn settle(header: &Header) {
    let mut looks = match hook::LOOKS.try_hold(1000) {
        Some(looks) => looks,
        None => return,
    };
    hook::look_now(&mut looks, true);
    hook::part(&looks);
    if let Some(session) = current()
        && let Some(mut writer) = session.write.try_hold(1000)
    {
        writer.settle_arenas(session.tag());
    }
    timeline::store_own_bytes(header);
}
