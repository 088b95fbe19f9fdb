//! The records of a recording, byte by byte. The crate's documentation says how they hang together.
//!
//! Nothing here interprets: this file only says where each word lies.

use crate::words::record;

/// The first eight bytes of a recording.
pub const MAGIC: u64 = u64::from_le_bytes(*b"heapgls\n");

/// Version of the layout. Any change of a record bumps it.
///
/// | version | what it brought |
/// |---|---|
/// | 1 | sites, lanes, timeline, phases, marks |
/// | 2 | fields and types in [`Scope`], [`Visits`], footprints, arenas; what 1 had is where it was. Since then, in words that were zero: [`arch::WASM32`] and its linear memory, [`ArenaValues`] |
/// | 3 | [`Row::lifetime_blocks`], where rows had the old sizes of grows. Words that nobody read are unused: the operating system (since then [`Header::own_crates`]), the number of the window, modules that could not be read, the self-test and live bytes of snapshots in [`Header`] (two of them are [`FailedRequest`]'s since then); addresses and inode in [`Module`]; the key in [`Site`]; the thread id in [`Lane`] |
pub const VERSION: u32 = 3;

/// The oldest version that is read: it has zeros where later ones have more.
pub const OLDEST_VERSION: u32 = 1;

/// Bytes kept for the header at the start of the file.
pub const HEADER_BYTES: u64 = 4096;

/// Where the checksum lies in the file.
pub const CHECKSUM_OFFSET: usize = std::mem::offset_of!(Header, checksum);

/// Bytes of the directory's first piece, right behind the header.
pub const DIRECTORY_BYTES: u64 = 64 << 10;

/// Every segment starts at and spans a multiple of this many bytes, except those inside the first segment.
pub const SEGMENT_BYTES: u64 = 64 << 10;

/// Size of the first segment: header, directory and the beginnings of every table, so that a small program's recording is one piece.
pub const FIRST_SEGMENT_BYTES: u64 = 1 << 20;

/// Lanes of the first tables of lanes and fixed rows; one more, of this number, is shared by all threads that find none.
pub const LANES: usize = 256;

/// Lanes of each further segment of these tables, made when they are needed. Older recordings have none.
pub const FURTHER_LANES: usize = 256;

/// Segments of lanes, at most.
pub const LANE_TABLES: usize = 8;

/// Lanes are numbered below this.
pub const MAX_LANES: usize = LANES + 1 + (LANE_TABLES - 1) * FURTHER_LANES;

/// Sites are numbered below this.
pub const MAX_SITES: u32 = 1 << 20;

/// Scopes are numbered below this; what finds no room is counted at its parent.
pub const MAX_SCOPES: usize = 1 << 16;

/// The deepest scope; those below are counted at their ancestor.
pub const MAX_SCOPE_DEPTH: u32 = 64;

/// Frames of one stack at most.
pub const MAX_FRAMES: usize = 256;

/// Longest list of the program's own crates ([`Header::own_crates`]), bytes: a longer one is not recorded.
pub const LONGEST_OWN_CRATES: usize = 4096;

/// Largest recording in bytes when `HEAPGLASS_MAX_BYTES` does not say.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 30;

/// Slots of thinned snapshots.
pub const SNAPSHOT_SLOTS: usize = 16;

/// (class, count) pairs in one record of [`Sizes`].
pub const SIZE_PAIRS: usize = 7;

/// Bits of the count in such a pair; the class stands above them.
pub const SIZE_COUNT_BITS: u32 = 48;

/// Points of each half of the timeline.
pub const TIMELINE_POINTS: usize = 1024;

/// Bits of [`Header::clock`] below the peak's epoch: the number of the last snapshot.
pub const CLOCK_SNAPSHOT_BITS: u32 = 16;

/// The site of events that found no room in a table.
pub const SITE_TABLE_FULL: u32 = 1;

/// The site of events that came while the hook was busy in the same thread (a signal handler): counted, without a stack.
pub const SITE_UNATTRIBUTED: u32 = 2;

/// The first site made from a stack.
pub const FIRST_SITE: u32 = 3;

/// Values of [`Header::state`].
pub mod state {
    /// Being written: the process runs, or ended without finishing.
    pub const RUNNING: u32 = 1;
    /// Finished in order.
    pub const FINISHED: u32 = 2;
}

/// Values of [`Header::mode`].
pub mod mode {
    /// Every event, with its stack.
    pub const EXACT: u32 = 1;
    /// Every event, without stacks: a site is a scope.
    pub const COUNT: u32 = 2;

    /// Each with its word, in `HEAPGLASS_MODE` and in reports.
    pub const NAMES: [(u32, &str); 2] = [(EXACT, "exact"), (COUNT, "count")];

    /// The word of a value; `None` = no value that this version knows.
    pub fn name(mode: u32) -> Option<&'static str> {
        let mut known = NAMES.into_iter();
        known.find_map(|(known, name)| (known == mode).then_some(name))
    }

    /// The value of that word, or `None`.
    pub fn from_name(name: &str) -> Option<u32> {
        let mut known = NAMES.into_iter();
        known.find_map(|(mode, known)| (known == name).then_some(mode))
    }
}

/// Values of [`Header::arch`].
pub mod arch {
    /// x86-64.
    pub const X86_64: u32 = 1;
    /// aarch64.
    pub const AARCH64: u32 = 2;
    /// WebAssembly, 32 bits. One thread, no stacks, no clock; recorded in memory.
    pub const WASM32: u32 = 3;
}

/// Values of [`Header::unwinder`].
pub mod unwinder {
    /// No stacks: sites are scopes only.
    pub const NONE: u32 = 0;
    /// Frame pointers.
    pub const FRAME_POINTERS: u32 = 1;
    /// The rules of `.eh_frame`.
    pub const EH_FRAME: u32 = 2;
}

/// Values of [`Header::growth_ended`]: why no further segment could be had.
pub mod growth {
    /// It did not end.
    pub const OPEN: u32 = 0;
    /// The disk is full (or a quota).
    pub const DISK_FULL: u32 = 1;
    /// `RLIMIT_FSIZE` would be exceeded.
    pub const FILE_SIZE_LIMIT: u32 = 2;
    /// The file is not where it was: removed, replaced, or out of reach.
    pub const FILE_GONE: u32 = 3;
    /// `mmap` failed (`RLIMIT_AS`, overcommit).
    pub const NO_MEMORY: u32 = 4;
    /// `HEAPGLASS_MAX_BYTES` is reached.
    pub const CAP: u32 = 5;
    /// The file system answered otherwise; [`growth_errno`](super::Header::growth_errno) says what.
    pub const OTHER: u32 = 6;
    /// The process may no longer open the file: it changed its user (setuid), or put itself under other rules.
    pub const NO_ACCESS: u32 = 7;
}

/// Values of [`Module::id_kind`].
pub mod module_id {
    /// Nothing is known.
    pub const NONE: u32 = 0;
    /// A GNU build-id.
    pub const BUILD_ID: u32 = 1;
    /// No build-id: size and modification time of the file stand in.
    pub const FILE: u32 = 2;
}

/// Bits of [`Site::flags`].
pub mod site_flags {
    /// The stack was cut where a return address was in no known code, or its caller could not be found.
    pub const CUT: u32 = 1;
    /// Taken on a stack that is not the thread's own.
    pub const FOREIGN: u32 = 2;
    /// Deeper than the walk's limit: the outermost frames are missing.
    pub const DEEP: u32 = 4;
    /// A cycle of frames was folded.
    pub const FOLDED: u32 = 8;
    /// Its key was that of another site until that was noticed: some of its events are counted there.
    pub const COLLIDED: u32 = 16;
}

/// Values of [`Scope::kind`].
pub mod scope_kind {
    /// A phase named by the program.
    pub const PHASE: u32 = 1;
    /// A value deserialized as `Profiled<T>`; named by its type.
    pub const ROOT: u32 = 2;
    /// A field of a struct or a key of a flattened one.
    pub const FIELD: u32 = 3;
    /// The elements of a sequence, all of them together: `[]`.
    pub const ELEMENT: u32 = 4;
    /// The keys of a map: `{key}`.
    pub const KEY: u32 = 5;
    /// The values of a map: `{value}`.
    pub const VALUE: u32 = 6;
    /// A variant of an enum: `::Variant`.
    pub const VARIANT: u32 = 7;
    /// An element of a tuple, or a field whose name the format does not tell: `#3`.
    pub const INDEX: u32 = 8;
    /// What serde buffers below flatten, untagged and internally tagged: `(buffered)`.
    pub const BUFFERED: u32 = 9;
    /// What is built from such a buffer, failed variants included: `(from buffer)`.
    pub const FROM_BUFFER: u32 = 10;
    /// Names that found no room of their own under their parent: `(other)`.
    pub const OTHER: u32 = 11;
}

/// Bits of [`Scope::flags`].
pub mod scope_flags {
    /// A type inside itself is counted here, at its outermost place.
    pub const RECURSIVE: u32 = 1;
    /// Scopes below were counted here: too deep, or no room in the table.
    pub const FOLDED: u32 = 2;
    /// The name was cut.
    pub const CUT_NAME: u32 = 4;
    /// The values whose path begins here are built in an arena, which drops nothing that lies in it.
    pub const IN_ARENA: u32 = 8;
    /// What threads without a lane of their own retained is not in `retained_bytes` of a scope: it is not known.
    pub const RETAINED_UNKNOWN: u32 = 16;
}

/// Values of [`Lane::kind`]; 0 = never used.
pub mod lane_kind {
    /// A lane of one thread at a time.
    pub const OWNED: u32 = 1;
    /// Shared by all threads that found none.
    pub const SHARED: u32 = 2;
}

/// Values of [`ArenaChunk::what`].
pub mod arena_event {
    /// A chunk was taken.
    pub const CHUNK: u32 = 1;
    /// The arena was reset.
    pub const RESET: u32 = 2;
    /// The arena was dropped.
    pub const DROP: u32 = 3;
}

/// Values of [`Footprint::kind`].
pub mod footprint_kind {
    /// Addresses looked up among the live blocks.
    pub const EXACT: u32 = 1;
    /// What the crate deepsize says.
    pub const ESTIMATE: u32 = 2;
}

/// Tables, as the directory names them.
pub mod table {
    /// A further segment of the directory itself.
    pub const DIRECTORY: u32 = 1;
    /// Bytes: `u32` length, then the string, padded to 4.
    pub const STRINGS: u32 = 2;
    /// [`Module`](super::Module) records.
    pub const MODULES: u32 = 3;
    /// [`Frame`](super::Frame) records.
    pub const FRAMES: u32 = 4;
    /// [`Stack`](super::Stack) records.
    pub const STACKS: u32 = 5;
    /// [`Scope`](super::Scope) records.
    pub const SCOPES: u32 = 6;
    /// [`Site`](super::Site) records.
    pub const SITES: u32 = 7;
    /// [`Lane`](super::Lane) records: `LANES + 1` of them, then further segments of `FURTHER_LANES`.
    pub const LANES: u32 = 8;
    /// Three fixed [`Row`](super::Row)s a lane: all events, "(table full)", "(unattributed)".
    pub const FIXED_ROWS: u32 = 9;
    /// [`Row`](super::Row)s of one lane.
    pub const ROWS: u32 = 10;
    /// [`Sizes`](super::Sizes) of one lane.
    pub const SIZES: u32 = 11;
    /// [`Snaps`](super::Snaps) of one lane.
    pub const SNAPS: u32 = 12;
    /// [`ThreadName`](super::ThreadName) records: threads that ended.
    pub const THREADS: u32 = 13;
    /// [`Point`](super::Point)s: two halves of `TIMELINE_POINTS`.
    pub const TIMELINE: u32 = 14;
    /// [`Mark`](super::Mark) records.
    pub const MARKS: u32 = 15;
    /// [`MarkRow`](super::MarkRow) records.
    pub const MARK_ROWS: u32 = 16;
    /// Symbols added by `pack`: bytes of JSON.
    pub const SYMBOLS: u32 = 17;
    /// [`Visits`](super::Visits) of one lane.
    pub const VISITS: u32 = 18;
    /// [`Footprint`](super::Footprint) records.
    pub const FOOTPRINTS: u32 = 19;
    /// [`FootprintNode`](super::FootprintNode) records.
    pub const FOOTPRINT_NODES: u32 = 20;
    /// [`Arena`](super::Arena) records.
    pub const ARENAS: u32 = 21;
    /// [`ArenaRow`](super::ArenaRow) records.
    pub const ARENA_ROWS: u32 = 22;
    /// [`ArenaChunk`](super::ArenaChunk) records.
    pub const ARENA_CHUNKS: u32 = 23;
    /// [`ArenaValues`](super::ArenaValues) records.
    pub const ARENA_VALUES: u32 = 24;
    /// [`FailedRequest`](super::FailedRequest) records.
    pub const FAILED_REQUESTS: u32 = 25;
}

record! {
    /// The beginning of a recording; the rest of its first [`HEADER_BYTES`] is zero.
    Header / HeaderValue, 768 {
        /// [`MAGIC`].
        0 magic: u64,
        /// [`VERSION`].
        8 version: u32,
        /// Size of this header, bytes.
        12 header_bytes: u32,
        /// See [`state`].
        16 state: u32,
        /// See [`mode`].
        20 mode: u32,
        /// See [`unwinder`].
        24 unwinder: u32,
        /// String: names of the crates that are the program's own, with commas between; 0 = nobody said. Another word before
        /// version 3.
        28 own_crates: u32,
        /// See [`arch`].
        32 arch: u32,
        /// Process id.
        36 pid: u32,
        /// Start time of the process in clock ticks (field 22 of `/proc/pid/stat`).
        40 start_ticks: u64,
        /// The kernel's boot id, 16 bytes.
        48 boot_id: [u64; 2],
        /// Inode of the pid namespace.
        64 pid_namespace: u64,
        /// Start of the recording, nanoseconds since the Unix epoch.
        72 started_unix_ns: u64,
        /// Nanoseconds after the start: the last look or the end.
        80 elapsed_ns: u64,
        /// String: path of the executable.
        88 executable: u32,
        /// String: the command line, words ended by NUL.
        92 command: u32,
        /// Unused since version 3.
        96 unused_96: u32,
        /// See [`growth`].
        100 growth_ended: u32,
        /// `errno` that ended growth.
        104 growth_errno: u32,
        /// Lanes ever used.
        108 lanes: u32,
        /// Most lanes owned by live threads at once, as far as looks saw.
        112 most_lanes: u32,
        /// Which half of the timeline is current: 0 or 1.
        116 timeline_half: u32,
        /// Epoch of the last peak, above the number of the last snapshot ([`CLOCK_SNAPSHOT_BITS`]).
        120 clock: u64,
        /// The running maximum of live bytes since the last mark that began a window.
        128 peak_bytes: i64,
        /// Nanoseconds after the start of that maximum (the last look's clock).
        136 peak_ns: u64,
        /// Upper bound on live bytes at moments when several lanes moved at once.
        144 peak_bound_bytes: i64,
        /// Sites whose requests failed. Another word before version 3.
        152 failed_requests_len: u32,
        /// Points in the current half of the timeline.
        156 timeline_len: u32,
        /// Directory entries.
        160 directory_len: u32,
        /// Modules.
        164 modules_len: u32,
        /// Frames.
        168 frames_len: u32,
        /// Stacks.
        172 stacks_len: u32,
        /// Scopes.
        176 scopes_len: u32,
        /// Sites, counting the fixed ones.
        180 sites_len: u32,
        /// Thread names.
        184 threads_len: u32,
        /// Marks.
        188 marks_len: u32,
        /// Rows of marks.
        192 mark_rows_len: u64,
        /// Bytes of strings.
        200 strings_len: u64,
        /// Bytes of the file in use.
        208 file_bytes: u64,
        /// Resident set last read, bytes.
        216 rss_bytes: u64,
        /// Largest resident set read, bytes.
        224 peak_rss_bytes: u64,
        /// Resident bytes of heapglass itself when last looked at.
        232 own_bytes: u64,
        /// Blocks that could not be entered into the shadow map: counted as allocated, their frees not.
        240 untracked_blocks: u64,
        /// Marks without room for their rows or name.
        248 lost_marks: u64,
        /// Threads whose name found no room.
        256 lost_threads: u64,
        /// Rows of values that were put into arenas.
        264 arena_values_len: u64,
        /// Requests for memory that the allocator refused: it returned null. Another word before version 3.
        272 failed_requests: u64,
        /// In debug builds of the recorder: walks that follow the one before and differ from a walk in full.
        280 walk_disagreements: u64,
        /// Sequence number of the snapshot in each slot; 0 = free.
        288 snapshot_seq: [u64; 16],
        /// Nanoseconds after the start of each.
        416 snapshot_ns: [u64; 16],
        /// The largest resident set that was taken apart: nanoseconds after the start (0 = none was), its bytes, those in
        /// mappings that hold or held blocks, live bytes, heapglass's own bytes. Other words before version 3.
        544 most_resident: [u64; 5],
        /// The same of the last one that was taken apart.
        584 last_resident: [u64; 5],
        /// Unused since version 3.
        624 unused_624: [u64; 6],
        /// Set when finished: [`Checksum`](crate::Checksum) of the whole file with this word zero; 0 = none.
        672 checksum: u64,
        /// Of the first stacks walked by frame pointers (up to 32), those that `.eh_frame` tells differently.
        680 unwinder_disagreements: u64,
        /// Footprints.
        688 footprints_len: u32,
        /// Arenas.
        692 arenas_len: u32,
        /// Nodes of footprints.
        696 footprint_nodes_len: u64,
        /// Rows of arenas.
        704 arena_rows_len: u64,
        /// Chunks of arenas.
        712 arena_chunks_len: u64,
        /// Scopes that found no room, each time one was asked for.
        720 lost_scopes: u64,
        /// Footprints and arena records that found no room.
        728 lost_records: u64,
        /// Linear memory at the end, pages of 64 KiB, whoever holds them; 0 = not [`arch::WASM32`].
        736 memory_pages: u64,
        /// Those there were when the recording began.
        744 first_pages: u64,
        /// Of `memory_pages`, those that heapglass took for itself since.
        752 own_pages: u64,
        /// How often linear memory grew since the recording began, heapglass's own grows not counted.
        760 memory_grows: u64,
    }
}

record! {
    /// What a site asked for in vain: the allocator returned null. Nothing was allocated, so no row counts it.
    FailedRequest / FailedRequestValue, 32 {
        /// The site.
        0 site: u32,
        /// Zero.
        4 reserved: u32,
        /// How often.
        8 count: u64,
        /// The largest request, bytes.
        16 largest_bytes: u64,
        /// [`Header::failed_requests`] after the last one: the largest of all is the last of all.
        24 last: u64,
    }
}

record! {
    /// A segment: where a piece of a table lies.
    Segment / SegmentValue, 32 {
        /// See [`table`].
        0 table: u32,
        /// The lane of a lane's table, else 0.
        4 lane: u32,
        /// Byte offset in the file.
        8 offset: u64,
        /// Bytes.
        16 bytes: u64,
        /// Index of its first record in the table (first byte for strings).
        24 first: u64,
    }
}

record! {
    /// A loaded image.
    Module / ModuleValue, 128 {
        /// String: its path.
        0 path: u32,
        /// See [`module_id`].
        4 id_kind: u32,
        /// Bytes of `id` in use.
        8 id_bytes: u32,
        /// How many modules had been unloaded from these addresses before.
        12 generation: u32,
        /// Build-id, or size and modification time (nanoseconds) of the file.
        16 id: [u64; 4],
        /// Zero since version 3.
        48 spare: [u64; 10],
    }
}

record! {
    /// A return address: where in which module.
    Frame / FrameValue, 16 {
        /// Module index.
        0 module: u32,
        /// Zero.
        4 reserved: u32,
        /// ELF virtual address of the return address.
        8 offset: u64,
    }
}

record! {
    /// A node of the prefix tree of stacks; node 0 is the empty stack, parents come before children.
    Stack / StackValue, 8 {
        /// The stack without its innermost frame.
        0 parent: u32,
        /// The innermost frame.
        4 frame: u32,
    }
}

record! {
    /// Where in the program's phases and in the data model we are; scope 0 is the root.
    Scope / ScopeValue, 64 {
        /// The scope around it.
        0 parent: u32,
        /// See [`scope_kind`].
        4 kind: u32,
        /// String: its name; see [`scope_kind`] for those that have none.
        8 name: u32,
        /// Distance from the root.
        12 depth: u32,
        /// How often it was entered; for fields see [`Visits`].
        16 entered: u64,
        /// Input bytes the program reported.
        24 input_bytes: u64,
        /// Records the program reported.
        32 records: u64,
        /// String: full name of the type of its values, 0 = none.
        40 type_name: u32,
        /// See [`scope_flags`].
        44 flags: u32,
        /// Size of a value of that type, bytes.
        48 value_bytes: u64,
        /// Sum over all times it was left of net bytes its thread allocated meanwhile (phases and [`scope_kind::ROOT`]).
        56 retained_bytes: i64,
    }
}

record! {
    /// How often a lane's threads entered a scope of a field.
    Visits / VisitsValue, 16 {
        /// The scope.
        0 scope: u32,
        /// Zero.
        4 reserved: u32,
        /// How often.
        8 count: u64,
    }
}

record! {
    /// What allocates: a stack under a scope. Sites 0 (none), 1 and 2 are fixed.
    Site / SiteValue, 32 {
        /// Stack index.
        0 stack: u32,
        /// Scope index.
        4 scope: u32,
        /// See [`site_flags`].
        8 flags: u32,
        /// Zero.
        12 reserved: u32,
        /// Zero since version 3.
        16 spare: [u64; 2],
    }
}

record! {
    /// One lane: a thread's column of counters, handed on when the thread ends.
    Lane / LaneValue, 256 {
        /// See [`lane_kind`].
        0 kind: u32,
        /// Rows in use.
        4 rows_len: u32,
        /// Size records in use.
        8 sizes_len: u32,
        /// Snapshot records in use.
        12 snaps_len: u32,
        /// Threads that had the lane.
        16 tenancies: u32,
        /// Unused since version 3.
        20 unused_20: u32,
        /// Its name, up to 15 bytes, NUL-padded.
        24 name: [u64; 2],
        /// The clock when it came.
        40 since_clock: u64,
        /// The lane's figures when it came, in the order of the first words of [`Row`].
        48 since: [u64; 9],
        /// Frees of blocks the recording does not know.
        120 unknown_frees: u64,
        /// Net bytes at the lane's last look.
        128 checked_bytes: i64,
        /// Allocations up to that look.
        136 checked_blocks: u64,
        /// Visit records in use.
        144 visits_len: u32,
        /// Zero.
        148 reserved: u32,
        /// Bytes allocated up to the last look. Zero in older recordings.
        152 checked_total_bytes: u64,
        /// Zero.
        160 spare: [u64; 12],
    }
}

record! {
    /// The counters of one site in one lane. Single writer (the lane's thread), stored total before freed, bytes before blocks.
    Row / RowValue, 128 {
        /// Bytes allocated, reallocs counted with their new size.
        0 total_bytes: u64,
        /// Blocks allocated, reallocs included.
        8 total_blocks: u64,
        /// Bytes freed, the old side of reallocs included.
        16 freed_bytes: u64,
        /// Blocks freed, the old side of reallocs included.
        24 freed_blocks: u64,
        /// Reallocs to the same or a larger size.
        32 grows: u64,
        /// Reallocs to a smaller size.
        40 shrinks: u64,
        /// `min(old, new)` of reallocs that moved.
        48 copied_bytes: u64,
        /// Blocks freed by their thread before its next allocation.
        56 temporary_blocks: u64,
        /// Bytes of those.
        64 temporary_bytes: u64,
        /// Blocks whose lifetime is in `lifetime`. Before version 3 another figure stood here.
        72 lifetime_blocks: u64,
        /// Sum of lifetimes of blocks freed by their own thread: allocations, reallocs included, that the thread made
        /// from the block's allocation to its free. A realloc is neither. Not known of blocks up to 16 bytes, and where
        /// the birth number may have wrapped.
        80 lifetime: u64,
        /// Blocks freed by another thread (or tenancy) than the one that allocated them, of those above 16 bytes.
        88 freed_elsewhere: u64,
        /// Net bytes at the peak of epoch `clock`.
        96 saved_bytes: i64,
        /// Net blocks at that peak.
        104 saved_blocks: i64,
        /// The clock when the row last changed: of an older epoch than the header's = unchanged since the peak.
        112 clock: u64,
        /// The site.
        120 site: u32,
        /// Zero.
        124 reserved: u32,
    }
}

record! {
    /// Sizes of blocks allocated at a site that left its first size class. A site may have several, a class is in one of them.
    Sizes / SizesValue, 64 {
        /// Row index in the same lane.
        0 row: u32,
        /// Zero.
        4 reserved: u32,
        /// Class (upper 16 bits) and count (lower 48); 0 = free. See [`size_class`](crate::size_class).
        8 pairs: [u64; SIZE_PAIRS],
    }
}

record! {
    /// Live bytes of a row at the snapshots taken since it first changed.
    Snaps / SnapsValue, 136 {
        /// Row index in the same lane.
        0 row: u32,
        /// Zero.
        4 reserved: u32,
        /// Net bytes at the snapshot of each slot.
        8 live_bytes: [i64; 16],
    }
}

record! {
    /// Threads of one name that ended, merged.
    ThreadName / ThreadNameValue, 128 {
        /// The name, up to 15 bytes, NUL-padded.
        0 name: [u64; 2],
        /// How many.
        16 count: u64,
        /// Figures, in the order of the first words of [`Row`].
        24 figures: [u64; 9],
        /// Net bytes at the peak, as far as the thread had the lane then.
        96 peak_bytes: i64,
        /// Net blocks at the peak.
        104 peak_blocks: i64,
        /// The clock of that peak.
        112 clock: u64,
        /// Zero.
        120 spare: u64,
    }
}

record! {
    /// A moment of the timeline.
    Point / PointValue, 48 {
        /// Nanoseconds after the start.
        0 time_ns: u64,
        /// Live bytes.
        8 live_bytes: u64,
        /// Live blocks.
        16 live_blocks: u64,
        /// Bytes allocated so far.
        24 total_bytes: u64,
        /// Resident set, bytes; 0 = not read.
        32 rss_bytes: u64,
        /// Resident bytes of heapglass itself; 0 = not read.
        40 own_bytes: u64,
    }
}

record! {
    /// A named moment set by the program.
    Mark / MarkValue, 160 {
        /// String: its name.
        0 name: u32,
        /// 1 = it has rows and began a new window of the peak.
        4 has_rows: u32,
        /// Nanoseconds after the start.
        8 time_ns: u64,
        /// Totals, in the order of the first words of [`Row`].
        16 figures: [u64; 9],
        /// Running maximum of live bytes in the window that ended here.
        88 peak_bytes: i64,
        /// Live blocks then.
        96 peak_blocks: i64,
        /// First of its [`MarkRow`]s.
        104 first_row: u64,
        /// How many it has.
        112 rows: u64,
        /// Nanoseconds after the start of that maximum.
        120 peak_ns: u64,
        /// Bound on concurrent moments of that window, as [`Header::peak_bound_bytes`].
        128 peak_bound_bytes: i64,
        /// Zero.
        136 spare: [u64; 3],
    }
}

record! {
    /// One row as it was at the peak of the window a mark ended.
    MarkRow / MarkRowValue, 32 {
        /// The site.
        0 site: u32,
        /// The lane.
        4 lane: u32,
        /// Net bytes at that peak.
        8 peak_bytes: i64,
        /// Net blocks at that peak.
        16 peak_blocks: i64,
        /// Zero.
        24 spare: u64,
    }
}

record! {
    /// A live value, measured: the sum over its nodes is what it retains.
    Footprint / FootprintValue, 64 {
        /// String: what the program called it.
        0 label: u32,
        /// String: full name of its type.
        4 type_name: u32,
        /// See [`footprint_kind`].
        8 kind: u32,
        /// Zero.
        12 reserved: u32,
        /// Nanoseconds after the start.
        16 time_ns: u64,
        /// Live bytes of the process then.
        24 live_bytes: u64,
        /// Index of its first [`FootprintNode`]; that is the value itself.
        32 first_node: u64,
        /// How many it has; published before the footprint.
        40 nodes: u64,
        /// Nodes or values that found no room: counted at their parent.
        48 folded: u64,
        /// Values that could not be looked into: the figures are a lower bound. Zero in older recordings.
        56 hidden_values: u64,
    }
}

record! {
    /// A place in a measured value: all values at one path together.
    FootprintNode / FootprintNodeValue, 96 {
        /// The node around it, counted from the footprint's first; its own index for the first.
        0 parent: u32,
        /// See [`scope_kind`]: the root, a field, elements, keys, values, a variant, an index.
        4 kind: u32,
        /// String: its name.
        8 name: u32,
        /// String: full name of the type of its values.
        12 type_name: u32,
        /// Values seen.
        16 count: u64,
        /// Their own size, bytes: `size_of`, wherever they lie.
        24 inline_bytes: u64,
        /// Heap blocks that these values own and no value before them did.
        32 blocks: u64,
        /// Their requested bytes. In an estimate: the whole.
        40 block_bytes: u64,
        /// What the inner allocator can give for them, bytes; 0 = it does not tell.
        48 usable_bytes: u64,
        /// Bytes of these blocks that values were seen in: the rest is slack.
        56 used_bytes: u64,
        /// Blocks met again that another value already owned.
        64 shared_blocks: u64,
        /// Requested bytes of those, each time.
        72 shared_bytes: u64,
        /// Zero.
        80 spare: [u64; 2],
    }
}

record! {
    /// Arenas of one name, all instances together. Always: `allocated_bytes = used_bytes + padding_bytes +
    /// abandoned_bytes + bypassed_bytes + unused_tail_bytes`.
    Arena / ArenaValue, 256 {
        /// String: its name.
        0 name: u32,
        /// String: the crate it comes from.
        4 krate: u32,
        /// Instances made.
        8 made: u64,
        /// Instances dropped.
        16 dropped: u64,
        /// Resets.
        24 resets: u64,
        /// Usable bytes of the chunks that live instances hold.
        32 allocated_bytes: u64,
        /// The same with the crate's own headers.
        40 allocated_bytes_including_metadata: u64,
        /// Chunks that live instances hold.
        48 chunks: u64,
        /// Bytes used by pieces and not abandoned, in live instances.
        56 used_bytes: u64,
        /// Bytes lost to alignment there.
        64 padding_bytes: u64,
        /// Bytes given up by growth or release inside the arena there.
        72 abandoned_bytes: u64,
        /// Bytes used there that did not go through the handle.
        80 bypassed_bytes: u64,
        /// Bytes not used yet there, in chunks no longer used included.
        88 unused_tail_bytes: u64,
        /// Largest `allocated_bytes` of all live instances together.
        96 most_allocated_bytes: u64,
        /// Largest `allocated_bytes` of a single instance.
        104 most_instance_bytes: u64,
        /// Most bytes a single instance occupied (all but the unused tail).
        112 most_occupied_bytes: u64,
        /// Chunks ever taken.
        120 total_chunks: u64,
        /// Usable bytes of those.
        128 total_allocated_bytes: u64,
        /// Bytes ever allocated, growth counted with its new size.
        136 total_used_bytes: u64,
        /// How often.
        144 total_used_blocks: u64,
        /// Growths, in place or not.
        152 grows: u64,
        /// Of those, in place.
        160 grows_in_place: u64,
        /// Bytes copied by the others.
        168 copied_bytes: u64,
        /// Requests refused by a limit.
        176 limit_reached: u64,
        /// Most chunks a single instance took.
        184 most_chunks: u64,
        /// Zero.
        192 spare: [u64; 8],
    }
}

record! {
    /// What an arena allocated under one scope.
    ArenaRow / ArenaRowValue, 64 {
        /// The arena.
        0 arena: u32,
        /// The scope.
        4 scope: u32,
        /// Bytes ever allocated.
        8 total_bytes: u64,
        /// How often.
        16 total_blocks: u64,
        /// Bytes allocated in live instances since their last reset.
        24 live_bytes: i64,
        /// How often.
        32 live_blocks: i64,
        /// Bytes copied by growth that could not be in place.
        40 copied_bytes: u64,
        /// Bytes that did not go through the handle.
        48 bypassed_bytes: u64,
        /// Growths.
        56 grows: u64,
    }
}

record! {
    /// A chunk that an arena took, or gave back: its history.
    ArenaChunk / ArenaChunkValue, 48 {
        /// The arena.
        0 arena: u32,
        /// See [`arena_event`].
        4 what: u32,
        /// Which instance, from 1.
        8 instance: u64,
        /// Nanoseconds after the start.
        16 time_ns: u64,
        /// Usable bytes of the instance's chunks after it.
        24 allocated_bytes: u64,
        /// Bytes occupied (all but the unused tail) before it.
        32 occupied_bytes: u64,
        /// The site of the chunk's block, 0 = not known.
        40 site: u32,
        /// Zero.
        44 reserved: u32,
    }
}

record! {
    /// Values whose drop an arena never runs, put into it through its handle, by type and the scope that did it. Or, of the
    /// same values, the blocks of one site that began where a word of theirs pointed when they were put in.
    ArenaValues / ArenaValuesValue, 64 {
        /// The arena.
        0 arena: u32,
        /// The scope.
        4 scope: u32,
        /// String: full name of the values' type.
        8 type_name: u32,
        /// 0 = this record counts the values, else the site of the blocks it counts.
        12 site: u32,
        /// Values, or blocks.
        16 count: u64,
        /// `size_of` of the values, or requested bytes of the blocks.
        24 bytes: u64,
        /// Zero.
        32 spare: [u64; 4],
    }
}
