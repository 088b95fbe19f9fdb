//! The records of a recording, byte by byte. The crate's documentation explains how they relate.
//!
//! This file only defines where each word lies. It interprets nothing.

use crate::clock::Clock;
use crate::counter::{Counter, Sums};
use crate::for_each_counter;
use crate::sampled::Sampled;
use crate::words::record;
use std::sync::atomic::AtomicU64;

/// The first eight bytes of a recording.
pub const MAGIC: u64 = u64::from_le_bytes(*b"heapgls\n");

/// Version of the layout. Any change of a record increments it, unless a reserved word, which is 0
/// in older files, gets a meaning in which 0 is what was before. Readers reject every other
/// version.
pub const VERSION: u32 = 8;

/// Bytes reserved for the header at the start of the file.
pub const HEADER_BYTES: u64 = 4096;

/// Offset of the checksum in the file.
pub const CHECKSUM_OFFSET: usize = std::mem::offset_of!(Header, checksum);

/// Offset of the [`Exchange`] in the file: the last 256 bytes before the directory. They are not
/// part of the checksum, because a reader may write there at any time.
pub const EXCHANGE_OFFSET: usize = HEADER_BYTES as usize - size_of::<Exchange>();

/// Bytes of the first piece of the directory, directly after the header.
pub const DIRECTORY_BYTES: u64 = 64 << 10;

/// Alignment of segments: each starts at a multiple of this many bytes and spans a multiple of it,
/// except the segments inside the first one.
pub const SEGMENT_BYTES: u64 = 64 << 10;

/// Size of the first segment. It holds the header, the directory and the first piece of every
/// table, so that the recording of a small program is one piece.
pub const FIRST_SEGMENT_BYTES: u64 = 1 << 20;

/// Lanes in the first segments of the lane and fixed-row tables. One more lane, with this number,
/// is shared by all threads that get no lane of their own.
pub const LANES: usize = 256;

/// Lanes in each further segment of these tables. Segments are added on demand.
pub const FURTHER_LANES: usize = 256;

/// Path of the module of all generated code. The offsets of its frames are addresses.
pub const GENERATED_CODE: &str = "[jit]";

/// Maximum number of lane segments.
pub const LANE_TABLES: usize = 8;

/// Upper limit of lane numbers (exclusive).
pub const MAX_LANES: usize = LANES + 1 + (LANE_TABLES - 1) * FURTHER_LANES;

/// Upper limit of site numbers (exclusive).
pub const MAX_SITES: u32 = 1 << 20;

/// Upper limit of scope numbers (exclusive). A scope that does not fit is counted at its parent.
pub const MAX_SCOPES: usize = 1 << 16;

/// Maximum scope depth. Deeper scopes are counted at their ancestor.
pub const MAX_SCOPE_DEPTH: u32 = 64;

/// Maximum number of frames in one stack.
pub const MAX_FRAMES: usize = 256;

/// Maximum length of the list of the program's own crates ([`Header::own_crates`]), bytes. A longer
/// list is not recorded.
pub const LONGEST_OWN_CRATES: usize = 4096;

/// Maximum recording size in bytes if `HEAPGLASS_MAX_BYTES` is not set.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 30;

/// Maximum number of recordings in a merged one.
pub const MAX_MERGED: usize = 1 << 16;

/// Maximum number of records in the tables of modules, thread names and arenas.
pub const MAX_NAMED: usize = 1 << 16;

/// Maximum number of checkpoints that a recording keeps.
pub const CHECKPOINT_SLOTS: usize = 64;

/// Maximum number of times that a phase is entered if its ends are to be checkpoints. The ends of a
/// phase that is entered more often are no moments of the run: there are too many, and its name
/// does not tell them apart.
pub const MOST_ENTRIES_OF_A_MOMENT: u64 = 8;

/// Slots of checkpoints in one record of [`Checkpoints`].
pub const CHECKPOINT_GROUP: usize = 8;

/// Maximum number of pauses whose begin and end a recording keeps. Later ones are only summed.
pub const PAUSES_KEPT: usize = 32;

/// (class, count) pairs in one record of [`Sizes`].
pub const SIZE_PAIRS: usize = 7;

/// Bits of the count in such a pair; the bits above them hold the class.
pub const SIZE_COUNT_BITS: u32 = 48;
// All other counters have 64 bits.
const _: () = assert!(1 << SIZE_COUNT_BITS > 1_000_000_000_000_u64);

/// The mark before a process becomes, by `exec`, a program that is not recorded, because its
/// environment lacks the variables.
pub const UNRECORDED_EXEC: &str = "exec without HEAPGLASS_OUT";

/// The mark before a process becomes, by `exec`, a program that is not recorded, because the
/// preloaded library cannot be read from there: in another root folder, for example.
pub const UNREADABLE_EXEC: &str = "exec where the preloaded library cannot be read";

/// Points in each half of the timeline.
pub const TIMELINE_POINTS: usize = 1024;

/// The site of events that did not fit into a table.
pub const SITE_TABLE_FULL: u32 = 1;

/// The site of events in a signal handler that interrupted the hook in the same thread. They are
/// counted without a stack.
pub const SITE_UNATTRIBUTED: u32 = 2;

/// The first site with a stack.
pub const FIRST_SITE: u32 = 3;

/// Values of [`Header::state`].
pub mod state {
    /// Being written: the process is running, or ended without finishing the recording.
    pub const RUNNING: u32 = 1;
    /// Finished normally.
    pub const FINISHED: u32 = 2;
    /// A copy, made while the recording was [`RUNNING`]. It has a checksum, and its rows are those
    /// of that moment: one event of each lane may be half counted.
    pub const COPIED: u32 = 3;
    /// The sum of several recordings ([`MergedPart`](super::MergedPart)), written as a whole.
    pub const MERGED: u32 = 4;
    /// The heap of a program that was not recorded, as its only snapshot found it. There were no
    /// events: peak, total and live bytes are those of that moment.
    pub const NOT_RECORDED: u32 = 5;
}

/// Values of [`Header::mode`].
pub mod mode {
    /// Every event, with its stack.
    pub const EXACT: u32 = 1;
    /// Every event, without stacks: a site is a scope.
    pub const COUNT: u32 = 2;
    /// A sample of the events, with their stacks. Rows hold estimates
    /// ([`Samples`](super::Samples)).
    pub const SAMPLE: u32 = 3;

    /// Each mode with its name in `HEAPGLASS_MODE` and in reports.
    pub const NAMES: [(u32, &str); 3] = [(EXACT, "exact"), (COUNT, "count"), (SAMPLE, "sample")];

    /// Returns the name of a mode; `None` if this version does not know it.
    pub fn name(mode: u32) -> Option<&'static str> {
        let mut known = NAMES.into_iter();
        known.find_map(|(known, name)| (known == mode).then_some(name))
    }

    /// Returns the mode with this name, or `None`.
    pub fn from_name(name: &str) -> Option<u32> {
        let mut known = NAMES.into_iter();
        known.find_map(|(mode, known)| (known == name).then_some(mode))
    }
}

/// The mean number of bytes from one sample to the next, if `HEAPGLASS_SAMPLE_BYTES` is not set.
pub const DEFAULT_SAMPLE_BYTES: u64 = 512 << 10;

/// The largest mean. A larger one takes hardly any samples.
pub const MOST_SAMPLE_BYTES: u64 = 1 << 40;

/// Values of [`Exchange::refused`]: the reason why a wanted change was not made.
pub mod change_refused {
    /// Nothing was refused.
    pub const NOTHING: u32 = 0;
    /// Blocks that were not sampled are unknown, so exact figures are no longer possible.
    pub const EXACT_AFTER_SAMPLES: u32 = 1;
    /// The program measures (`measure`, `assert_allocs!`, `footprint`), which needs every event.
    pub const MEASURES: u32 = 2;
    /// A recording without stacks (mode `count`) stays one.
    pub const COUNTS: u32 = 3;
    /// The mode or the mean is not a valid one.
    pub const INVALID: u32 = 4;

    /// Returns the reason for people, with what to do.
    pub fn reason(refused: u32) -> &'static str {
        match refused {
            EXACT_AFTER_SAMPLES => {
                "blocks that were not sampled are unknown, so exact figures are not possible any more; \
                 record again"
            }
            MEASURES => {
                "the program uses `measure`, `assert_allocs!` or `footprint`, which need every event; \
                 record from the start with HEAPGLASS_MODE=sample if it can do without them"
            }
            COUNTS => "the recording has no stacks (mode `count`); record again with mode `sample`",
            INVALID => {
                "use mode `sample` with a mean from 1 byte to 1 TiB, while the program records"
            }
            _ => "nothing was refused",
        }
    }
}

/// Values of [`Header::sample_counts`].
pub mod sample_counts {
    /// Only bytes allocated are counted exactly.
    pub const NOTHING: u32 = 0;
    /// Blocks are counted too, allocated and freed, and bytes freed.
    pub const BLOCKS_AND_BYTES: u32 = 1;
    /// The same without bytes freed, because sizes of freed blocks are not known.
    pub const BLOCKS: u32 = 2;
}

/// Values of [`CheckpointMoment::kind`]: the reason for which it was taken. If all slots are taken,
/// half of the first kind that has several is dropped.
pub mod checkpoint_kind {
    /// It was due.
    pub const TIME: u32 = 0;
    /// An outermost phase ended.
    pub const PHASE: u32 = 1;
    /// The program set a mark.
    pub const MARK: u32 = 2;
}

/// Values of [`Header::arch`].
pub mod arch {
    /// x86-64.
    pub const X86_64: u32 = 1;
    /// aarch64.
    pub const AARCH64: u32 = 2;
    /// WebAssembly, 32 bits: one thread, no stacks, no clock; recorded in memory.
    pub const WASM32: u32 = 3;

    /// Returns the name of an architecture in reports; `None` if this version does not know it.
    pub fn name(arch: u32) -> Option<&'static str> {
        match arch {
            X86_64 => Some("x86_64"),
            AARCH64 => Some("aarch64"),
            WASM32 => Some("wasm32"),
            _ => None,
        }
    }
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

/// Values of [`Header::growth_ended`]: the reason why no further segment was added.
pub mod growth {
    /// Growth has not ended.
    pub const OPEN: u32 = 0;
    /// The disk or a quota is full.
    pub const DISK_FULL: u32 = 1;
    /// Growth would exceed `RLIMIT_FSIZE`.
    pub const FILE_SIZE_LIMIT: u32 = 2;
    /// The file was removed, replaced, or is no longer reachable.
    pub const FILE_GONE: u32 = 3;
    /// `mmap` failed (`RLIMIT_AS`, overcommit).
    pub const NO_MEMORY: u32 = 4;
    /// The recording has reached `HEAPGLASS_MAX_BYTES`.
    pub const CAP: u32 = 5;
    /// The file system returned another error, kept in
    /// [`growth_errno`](super::Header::growth_errno).
    pub const OTHER: u32 = 6;
    /// The process may no longer open the file: it changed its user (setuid) or restricted its own
    /// rights.
    pub const NO_ACCESS: u32 = 7;
}

/// Values of [`Exchange::status`].
pub mod snapshot_status {
    /// The copy exists.
    pub const TAKEN: u32 = 0;
    /// The reader's process does not exist.
    pub const NO_READER: u32 = 1;
    /// A filter of system calls may kill the program for the clone (`Seccomp: 2` with
    /// `NoNewPrivs: 1`).
    pub const SANDBOX: u32 = 2;
    /// The process is not dumpable, so no other process may read its copy.
    pub const NOT_DUMPABLE: u32 = 3;
    /// The kernel lacks a system call that the copy needs (Linux 5.9).
    pub const OLD_KERNEL: u32 = 4;
    /// The clone failed; see [`errno`](super::Exchange::errno).
    pub const CLONE_FAILED: u32 = 5;
    /// The program runs with `HEAPGLASS_PREALLOC`, so the recorder makes no such system calls.
    pub const QUIET: u32 = 6;
    /// The recording samples, so most blocks are unknown.
    pub const SAMPLES: u32 = 7;
}

/// Values of [`Exchange::trigger`].
pub mod snapshot_trigger {
    /// The reader asked ([`request`](super::Exchange::request)).
    pub const REQUEST: u32 = 0;
    /// The program asked, with a label.
    pub const PROGRAM: u32 = 1;
    /// More bytes were live than [`peak_above`](super::Exchange::peak_above).
    pub const PEAK: u32 = 2;
    /// The recording ended.
    pub const EXIT: u32 = 3;
    /// The program set a mark that the reader waits for.
    pub const MARK: u32 = 4;
    /// The signal of `HEAPGLASS_SNAPSHOT_SIGNAL` came.
    pub const SIGNAL: u32 = 5;
}

/// Maximum number of marks at which a reader can have snapshots taken.
pub const SNAPSHOT_MARKS: usize = 4;

/// Returns the hash of a mark's name in [`Exchange::marks`]: FNV-1a, never 0.
pub fn mark_hash(name: &[u8]) -> u64 {
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash.max(1)
}

/// Values of [`Module::id_kind`].
pub mod module_id {
    /// Unknown.
    pub const NONE: u32 = 0;
    /// A GNU build-id.
    pub const BUILD_ID: u32 = 1;
    /// The size and modification time of a file without a build-id.
    pub const FILE: u32 = 2;
}

/// Bits of [`Site::flags`].
pub mod site_flags {
    /// The stack is cut: a return address was in no known code, or its caller could not be found.
    pub const CUT: u32 = 1;
    /// The stack is not the thread's own.
    pub const FOREIGN: u32 = 2;
    /// The stack is deeper than the walk's limit; its outermost frames are missing.
    pub const DEEP: u32 = 4;
    /// A cycle of frames was folded.
    pub const FOLDED: u32 = 8;
    /// The site shared its key with another site for a while, and some of its events are counted
    /// there.
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
    /// The elements of a sequence together: `[]`.
    pub const ELEMENT: u32 = 4;
    /// The keys of a map: `{key}`.
    pub const KEY: u32 = 5;
    /// The values of a map: `{value}`.
    pub const VALUE: u32 = 6;
    /// A variant of an enum: `::Variant`.
    pub const VARIANT: u32 = 7;
    /// An element of a tuple, or a field whose name the format does not give: `#3`.
    pub const INDEX: u32 = 8;
    /// The buffers that serde makes for flattened, untagged and internally tagged data:
    /// `(buffered)`.
    pub const BUFFERED: u32 = 9;
    /// The values built from such a buffer, failed variants included: `(from buffer)`.
    pub const FROM_BUFFER: u32 = 10;
    /// Names that did not fit under their parent: `(other)`.
    pub const OTHER: u32 = 11;
}

/// The amount that each entry of a phase adds to [`Scope::value_bytes`] until it ends. Smaller
/// values are nanoseconds: their sum is less than 52 days.
pub const PHASE_IS_RUNNING: u64 = 1 << 52;

/// Bits of [`Scope::flags`].
pub mod scope_flags {
    /// Values of this type inside a value of the same type are counted here, at the outermost
    /// place.
    pub const RECURSIVE: u32 = 1;
    /// Deeper scopes are counted here, because of the depth limit or a full table.
    pub const FOLDED: u32 = 2;
    /// The name was truncated.
    pub const CUT_NAME: u32 = 4;
    /// Values whose path begins here are built in an arena, which never drops its values.
    pub const IN_ARENA: u32 = 8;
    /// A scope's `stayed_bytes` is incomplete: it lacks the bytes that stayed of threads without a
    /// lane of their own.
    pub const STAYED_UNKNOWN: u32 = 16;
    /// The values of a field are overwritten in place (`deserialize_in_place`). Values at the same
    /// path that are made anew have another scope.
    pub const IN_PLACE: u32 = 32;
}

/// Values of [`Lane::kind`]; 0 = never used.
pub mod lane_kind {
    /// A lane of one thread at a time.
    pub const OWNED: u32 = 1;
    /// A lane shared by all threads without one of their own.
    pub const SHARED: u32 = 2;
}

/// Values of [`ArenaChunk::what`].
pub mod arena_event {
    /// The arena took a chunk.
    pub const CHUNK: u32 = 1;
    /// The arena was reset.
    pub const RESET: u32 = 2;
    /// The arena was dropped.
    pub const DROP: u32 = 3;
}

/// Values of [`Footprint::kind`].
pub mod footprint_kind {
    /// Found by looking up addresses among the live blocks.
    pub const EXACT: u32 = 1;
    /// Estimated by the crate deepsize.
    pub const ESTIMATE: u32 = 2;
}

/// Numbers of the tables in the directory.
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
    /// [`Lane`](super::Lane) records: `LANES + 1` of them, then further segments of
    /// `FURTHER_LANES`.
    pub const LANES: u32 = 8;
    /// Three fixed [`Row`](super::Row)s a lane: all events, "(table full)", "(unattributed)".
    pub const FIXED_ROWS: u32 = 9;
    /// [`Row`](super::Row)s of one lane.
    pub const ROWS: u32 = 10;
    /// [`Sizes`](super::Sizes) of one lane.
    pub const SIZES: u32 = 11;
    /// [`Checkpoints`](super::Checkpoints) of one lane.
    pub const CHECKPOINTS: u32 = 12;
    /// [`ThreadName`](super::ThreadName) records of threads that ended.
    pub const THREADS: u32 = 13;
    /// [`Point`](super::Point)s: two halves of `TIMELINE_POINTS`.
    pub const TIMELINE: u32 = 14;
    /// [`Mark`](super::Mark) records.
    pub const MARKS: u32 = 15;
    /// [`MarkRow`](super::MarkRow) records.
    pub const MARK_ROWS: u32 = 16;
    /// Symbols added by `pack`, as JSON.
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
    /// Snapshots of the heap added by an attached reader, as JSON.
    pub const SNAPSHOTS: u32 = 26;
    /// [`Samples`](super::Samples) of one lane.
    pub const SAMPLES: u32 = 27;
    /// [`CheckpointMoment`](super::CheckpointMoment).
    pub const CHECKPOINT_MOMENTS: u32 = 28;
    /// [`MergedPart`](super::MergedPart) records.
    pub const MERGED: u32 = 29;
    /// Names of generated code added by `heapglass run`: lines of a map of perf.
    pub const GENERATED_NAMES: u32 = 30;
}

record! {
    /// The start of a recording. The rest of its first [`HEADER_BYTES`] is zero, up to the
    /// [`Exchange`].
    ///
    /// The words before [`started_unix_ns`](Header::started_unix_ns) say which process writes the
    /// recording. They keep their place in every version, so that no file that is still being
    /// written is taken for an abandoned one.
    Header / HeaderValue, 1424 {
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
        /// String: the names of the program's own crates, separated by commas; 0 = not given.
        28 own_crates: u32,
        /// See [`arch`].
        32 arch: u32,
        /// Process ID.
        36 pid: u32,
        /// Start time of the process in clock ticks (field 22 of `/proc/pid/stat`).
        40 start_ticks: u64,
        /// The kernel's boot id, 16 bytes.
        48 boot_id: [u64; 2],
        /// Inode of the PID namespace.
        64 pid_namespace: u64,
        /// Start of the recording, nanoseconds since the Unix epoch.
        72 started_unix_ns: u64,
        /// Nanoseconds from the start to the last check or the end.
        80 elapsed_ns: u64,
        /// String: path of the executable.
        88 executable: u32,
        /// String: the command line; each word ends with NUL.
        92 command: u32,
        /// See [`growth`].
        96 growth_ended: u32,
        /// The `errno` that ended growth.
        100 growth_errno: u32,
        /// Number of lanes ever used.
        104 lanes: u32,
        /// Largest number of lanes that live threads owned at once, as seen by checks.
        108 most_lanes: u32,
        /// The current half of the timeline: 0 or 1.
        112 timeline_half: u32,
        /// Number of points in the current half of the timeline.
        116 timeline_len: u32,
        /// The epoch of the last peak, and the number of the last checkpoint.
        120 clock: Clock,
        /// The largest live bytes since the last mark that began a window.
        128 peak_bytes: i64,
        /// Nanoseconds from the start to that maximum, by the clock of the last check.
        136 peak_ns: u64,
        /// Upper bound on live bytes at moments when several lanes changed at once.
        144 peak_bound_bytes: i64,
        /// Number of sites with failed requests.
        152 failed_requests_len: u64,
        /// Number of directory entries.
        160 directory_len: u32,
        /// Number of modules.
        164 modules_len: u32,
        /// Number of frames.
        168 frames_len: u32,
        /// Number of stacks.
        172 stacks_len: u32,
        /// Number of scopes.
        176 scopes_len: u32,
        /// Number of sites, including the fixed ones.
        180 sites_len: u32,
        /// Number of thread names.
        184 threads_len: u32,
        /// Number of marks.
        188 marks_len: u32,
        /// Number of mark rows.
        192 mark_rows_len: u64,
        /// Bytes of the string table.
        200 strings_len: u64,
        /// Bytes of the file in use.
        208 file_bytes: u64,
        /// The resident set at the last reading, bytes.
        216 rss_bytes: u64,
        /// The largest resident set that was read, bytes.
        224 peak_rss_bytes: u64,
        /// Resident bytes of heapglass itself at the last reading.
        232 own_bytes: u64,
        /// Blocks that did not fit into the shadow map. They count as allocated, and their frees
        /// are not counted.
        240 untracked_blocks: u64,
        /// Marks whose rows or name did not fit.
        248 lost_marks: u64,
        /// Threads whose name did not fit.
        256 lost_threads: u64,
        /// Number of rows for values in arenas.
        264 arena_values_len: u64,
        /// Failed requests: the allocator returned null.
        272 failed_requests: u64,
        /// Incremental walks that differ from a full walk. Counted only in debug builds of the
        /// recorder.
        280 walk_disagreements: u64,
        /// If somebody attached to the running program: the bytes that its allocator had in use
        /// then; 1 = not known. 0 = the recording began with the program, or the program started
        /// it.
        288 attached: u64,
        /// 1 if that recording was ended from outside while the program ran on.
        296 detached: u64,
        /// Zero.
        304 reserved_words: [u64; 27],
        /// Snapshots at marks and at the end that were wanted but not taken, because the reader did
        /// not finish with earlier ones in time.
        520 missed_snapshots: u64,
        /// The part of `most_resident` in mappings that its reading did not reach, bytes.
        528 most_resident_unread: u64,
        /// The same for `last_resident`.
        536 last_resident_unread: u64,
        /// The largest resident set with a breakdown: nanoseconds after the start (0 = none), its
        /// bytes, the bytes in mappings that hold or held blocks, live bytes, and heapglass's own
        /// bytes.
        544 most_resident: [u64; 5],
        /// The same figures for the last resident set with a breakdown.
        584 last_resident: [u64; 5],
        /// [`Checksum`](crate::Checksum) of the whole file with this word zero; set when the
        /// recording is finished, 0 = none.
        624 checksum: u64,
        /// Stacks for which `.eh_frame` disagrees, among the first (at most 32) that were walked by
        /// frame pointers.
        632 unwinder_disagreements: u64,
        /// Number of footprints.
        640 footprints_len: u32,
        /// Number of arenas.
        644 arenas_len: u32,
        /// Number of footprint nodes.
        648 footprint_nodes_len: u64,
        /// Number of arena rows.
        656 arena_rows_len: u64,
        /// Number of records in the history of arena chunks.
        664 arena_chunks_len: u64,
        /// Requests for a scope that did not fit.
        672 lost_scopes: u64,
        /// Footprints and arena records that did not fit.
        680 lost_records: u64,
        /// Linear memory at the end, in pages of 64 KiB, including pages that the program does not
        /// use; 0 = not [`arch::WASM32`].
        688 memory_pages: u64,
        /// Pages of linear memory at the start of the recording.
        696 first_pages: u64,
        /// Pages of `memory_pages` that heapglass has taken for itself since the start.
        704 own_pages: u64,
        /// Number of times linear memory has grown since the start, except for heapglass's own
        /// growth.
        712 memory_grows: u64,
        /// Addresses of the two roots of the shadow map in the program's memory: for addresses with
        /// bit 3 clear and set. [`Header`]'s words from here to `hash_map_order` are for readers of
        /// that memory; they are 0 where there is none to read.
        ///
        /// A root is an array of pointers to leaves, indexed by the address shifted right by
        /// `shadow_leaf_bits`. A null pointer is a leaf without blocks. A leaf is an array of
        /// `u32`, one for each 16 bytes of addresses. The first word of a block is stored last and
        /// cleared first, so a block whose first word is there is complete. A size of 0 means that
        /// the block is being entered or freed.
        720 shadow_roots: [u64; 2],
        /// Offset in a leaf of one byte for each 4,096 bytes of its words. A byte of 0 means that
        /// these words were never written.
        736 shadow_written_offset: u64,
        /// Number of address bits that the map covers. Other addresses are in the side table.
        744 shadow_address_bits: u32,
        /// Number of address bits that a leaf covers.
        748 shadow_leaf_bits: u32,
        /// Address of the side table, which holds blocks at addresses that are not a multiple of 8
        /// or not covered by the map. It is an array of shards. A shard begins with the address of
        /// its slots and their number (0 = none), 8 bytes each. A slot has 24 bytes: the block's
        /// address (0 = free), its size, and two words like the first two in the map, 4 bytes each.
        752 side_table: u64,
        /// Bytes from one shard to the next.
        760 side_shard_bytes: u32,
        /// Number of shards.
        764 side_shards: u32,
        /// The order of words in a `Vec`: one byte each for the index of its capacity, its pointer
        /// and its length. The recorder finds the orders out in the program itself; 0 = not known.
        768 vec_order: u32,
        /// The same in a `String`.
        772 string_order: u32,
        /// In a `VecDeque`: capacity, pointer, head, length.
        776 vec_deque_order: u32,
        /// In a `HashMap` with std's `RandomState`: pointer to the control bytes, bucket mask,
        /// growth left, items.
        780 hash_map_order: u32,
        /// Number of pauses, including one that has not ended. During a pause, new blocks are not
        /// recorded.
        784 pauses: u64,
        /// Nanoseconds in pauses that have ended.
        792 paused_ns: u64,
        /// Nanoseconds from the start to the beginning of the pause that has not ended, at least 1;
        /// 0 = not paused.
        800 paused_since_ns: u64,
        /// Nanoseconds from the start to the beginning of each of the first pauses.
        808 pause_begins_ns: [u64; PAUSES_KEPT],
        /// Nanoseconds from the start to their ends; 0 = not ended.
        1064 pause_ends_ns: [u64; PAUSES_KEPT],
        /// String: the name of the program's allocator; 0 = not known. It is the full name of a
        /// Rust type, such as `mimalloc::MiMalloc`, or `libc malloc`.
        1320 allocator: u32,
        /// The exact counts while samples are taken: see [`sample_counts`].
        1324 sample_counts: u32,
        /// The mean number of bytes from one sample to the next, as it is now; 0 = no samples were
        /// taken.
        1328 sample_bytes: u64,
        /// The largest mean so far.
        1336 most_sample_bytes: u64,
        /// Nanoseconds from the start to the first moment at which samples were taken, at least 1;
        /// 0 = since the start, or never. Before that, every event was recorded.
        1344 sampled_since_ns: u64,
        /// Number of times the mean was changed.
        1352 sample_changes: u64,
        /// Bytes allocated while samples were taken, sampled or not, as of the last look at all
        /// lanes. Exact.
        1360 sampled_total_bytes: u64,
        /// Blocks allocated in that time, if they are counted.
        1368 sampled_total_blocks: u64,
        /// Bytes freed in that time, of any blocks, if they are counted.
        1376 sampled_freed_bytes: u64,
        /// Blocks freed in that time, of any blocks, if blocks are counted.
        1384 sampled_freed_blocks: u64,
        /// Bytes allocated before the first sample. Events in flight at that moment may be missing.
        1392 exact_total_bytes: u64,
        /// Blocks allocated before that.
        1400 exact_total_blocks: u64,
        /// Bytes freed before that.
        1408 exact_freed_bytes: u64,
        /// Blocks freed before that.
        1416 exact_freed_blocks: u64,
    }
}

record! {
    /// A block that is being reallocated and is therefore not in the shadow map. It lies in the
    /// program's private memory, at [`Lane::in_flight`].
    InFlight / InFlightValue, 24 {
        /// The block's old address; 0 = none. The shadow map may have the block too.
        0 address: u64,
        /// Its old size.
        8 bytes: u64,
        /// The first two words that the block had in the shadow map. The second is 0 if the block
        /// has at most 16 bytes. Both are 0 if the block was not known, or is in the side table.
        16 first: u32,
        /// The second word.
        20 second: u32,
    }
}

record! {
    /// The words by which an attached reader asks for a paused copy of the program, and by which
    /// the recorder answers, and the word that pauses the recording. They lie at
    /// [`EXCHANGE_OFFSET`] and are not part of the recording: the recorder's crate documents the
    /// protocol.
    Exchange / ExchangeValue, 256 {
        /// Process ID of the attached reader, as the program sees it; 0 = none. Written by the
        /// reader, or by the recorder at the start.
        0 reader: u32,
        /// Number of the reader's last request. Written by the reader, after the other words.
        4 request: u32,
        /// 1 = make the copy even if a sandbox may kill the program for it. Written by the reader.
        8 forced: u32,
        /// 1 = make a copy at the end of the recording too. Written by the reader.
        12 at_exit: u32,
        /// Make a copy too when more bytes are live than this, at a moment after which they fall;
        /// 0 = never. Written by the reader.
        16 peak_above: u64,
        /// Make a copy too at the marks whose names have one of these hashes ([`mark_hash`]); 0 =
        /// none. Written by the reader.
        24 marks: [u64; SNAPSHOT_MARKS],
        /// Number of the last answer that the reader has seen: the recorder may write the next one
        /// even if the copy still exists. Written by the reader.
        56 seen: u32,
        /// Zero. Reader and recorder never write to the same cache line.
        60 reserved_of_reader: u32,
        /// Number of answers. Written by the recorder, after the other words.
        64 answers: u32,
        /// The request that was answered last. An answer that leaves it unchanged is a snapshot
        /// that the program itself took.
        68 answered: u32,
        /// See [`snapshot_status`].
        72 status: u32,
        /// The `errno` of a failed clone.
        76 errno: u32,
        /// Process ID of the copy, as the program sees it; 0 = none was made.
        80 copy: u32,
        /// String: the label that the program gave the snapshot; 0 = none.
        84 label: u32,
        /// Nanoseconds from the start of the recording to the copy.
        88 time_ns: u64,
        /// Live bytes at the copy.
        96 live_bytes: i64,
        /// Live blocks at the copy.
        104 live_blocks: i64,
        /// Nanoseconds for which the thread that made the copy was stopped.
        112 pause_ns: u64,
        /// See [`snapshot_trigger`].
        120 trigger: u32,
        /// Zero.
        124 reserved: u32,
        /// 1 = new blocks are not to be recorded. Written by the program and by any process that
        /// pauses or resumes the recording. The recorder follows it on its cold paths.
        128 paused: u32,
        /// The wanted mode; 0 = as it is. See [`mode`]. Written like `paused`, after
        /// `sample_bytes`. The recorder clears it.
        132 mode: u32,
        /// The wanted mean number of bytes from one sample to the next; 0 = as it is.
        136 sample_bytes: u64,
        /// Number of answers to a wanted mode. Written by the recorder, after `refused`.
        144 mode_answers: u32,
        /// See [`change_refused`].
        148 refused: u32,
        /// Zero.
        152 reserved_words: [u64; 13],
    }
}

record! {
    /// The failed requests of a site: the allocator returned null. Nothing was allocated, so no row
    /// counts them.
    FailedRequest / FailedRequestValue, 32 {
        /// The site.
        0 site: u32,
        /// Zero.
        4 reserved: u32,
        /// Number of failed requests.
        8 count: u64,
        /// The largest request, bytes.
        16 largest_bytes: u64,
        /// Value of [`Header::failed_requests`] after the last one. The site with the largest value
        /// failed last.
        24 last: u64,
    }
}

record! {
    /// The place of one piece of a table.
    Segment / SegmentValue, 32 {
        /// See [`table`].
        0 table: u32,
        /// The lane of a lane's table; 0 for other tables.
        4 lane: u32,
        /// Byte offset in the file.
        8 offset: u64,
        /// Bytes.
        16 bytes: u64,
        /// Index of its first record in the table; the index of its first byte in the string table.
        24 first: u64,
    }
}

record! {
    /// A loaded image.
    Module / ModuleValue, 48 {
        /// String: its path.
        0 path: u32,
        /// See [`module_id`].
        4 id_kind: u32,
        /// Bytes used in `id`.
        8 id_bytes: u32,
        /// Number of modules unloaded from these addresses before.
        12 generation: u32,
        /// The build-id, or the size and modification time (nanoseconds) of the file.
        16 id: [u64; 4],
    }
}

record! {
    /// A return address: a module and an address in it.
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
    /// A node of the prefix tree of stacks. Node 0 is the empty stack; parents come before
    /// children.
    Stack / StackValue, 8 {
        /// The stack without its innermost frame.
        0 parent: u32,
        /// The innermost frame.
        4 frame: u32,
    }
}

record! {
    /// A place in the program's phases and data model. Scope 0 is the root.
    Scope / ScopeValue, 64 {
        /// The enclosing scope.
        0 parent: u32,
        /// See [`scope_kind`].
        4 kind: u32,
        /// String: its name; [`scope_kind`] lists the kinds without one.
        8 name: u32,
        /// Distance from the root.
        12 depth: u32,
        /// Number of times it was entered; for fields see [`Visits`].
        16 entered: u64,
        /// Input bytes reported by the program.
        24 input_bytes: u64,
        /// Records reported by the program.
        32 records: u64,
        /// String: full type name of its values; 0 = none.
        40 type_name: u32,
        /// See [`scope_flags`].
        44 flags: u32,
        /// Size of one value of that type, bytes. A phase has no values: there, it is the
        /// nanoseconds of its entries that have ended, plus one [`PHASE_IS_RUNNING`] for each entry
        /// that has not. 0 = its time is not known.
        48 value_bytes: u64,
        /// Net bytes that threads allocated inside it, summed over all exits (phases and
        /// [`scope_kind::ROOT`] only).
        56 stayed_bytes: i64,
    }
}

record! {
    /// The number of times the threads of a lane entered the scope of a field.
    Visits / VisitsValue, 16 {
        /// The scope.
        0 scope: u32,
        /// Zero.
        4 reserved: u32,
        /// Number of times.
        8 count: u64,
    }
}

record! {
    /// A stack in a scope, to which allocations are charged. Sites 0 (none), 1 and 2 are fixed.
    Site / SiteValue, 16 {
        /// Stack index.
        0 stack: u32,
        /// Scope index.
        4 scope: u32,
        /// See [`site_flags`].
        8 flags: u32,
        /// Zero.
        12 reserved: u32,
    }
}

record! {
    /// The counters of one thread. Another thread gets the lane when that thread ends.
    Lane / LaneValue, 256 {
        /// See [`lane_kind`].
        0 kind: u32,
        /// Number of rows in use.
        4 rows_len: u32,
        /// Number of size records in use.
        8 sizes_len: u32,
        /// Number of checkpoint records in use.
        12 checkpoints_len: u32,
        /// Number of threads that have had the lane.
        16 tenancies: u32,
        /// Number of visit records in use.
        20 visits_len: u32,
        /// The thread's name, up to 15 bytes, NUL-padded.
        24 name: [u64; 2],
        /// The clock when the thread got the lane.
        40 since_clock: Clock,
        /// The lane's counters when the thread got it.
        48 since: Sums,
        /// Frees of blocks that are not in the recording.
        120 unknown_frees: u64,
        /// Net bytes at the lane's last check.
        128 checked_bytes: i64,
        /// Allocations up to the lane's last check.
        136 checked_blocks: u64,
        /// Bytes allocated up to the last check.
        144 checked_total_bytes: u64,
        /// The lower end of the owner's stack in the program's memory, or an address below it. The
        /// stack is empty if it is not known. The words from here on may be those of a thread that
        /// ended.
        152 stack_low: u64,
        /// The end of the owner's stack. A stack of glibc ends with the thread-local variables.
        160 stack_high: u64,
        /// The owner's thread pointer.
        168 thread_pointer: u64,
        /// Address of the lane's [`InFlight`] in the program's memory.
        176 in_flight: u64,
        /// Number of [`Samples`] in use.
        184 samples_len: u32,
        /// Zero.
        188 reserved: u32,
        /// Zero. Two threads never write to the same cache line.
        192 padding: [u64; 8],
    }
}

macro_rules! row {
    ($($(#[$doc:meta])* $offset:literal $counter:ident $field:ident,)*) => {
        record! {
            /// The counters of one site in one lane. Only the lane's thread writes them: total
            /// before freed, bytes before blocks.
            Row / RowValue, 128 {
                $($(#[$doc])* $offset $field: u64,)*
                /// Blocks whose lifetime is in `lifetime`.
                72 lifetime_blocks: u64,
                /// Sum of the lifetimes of blocks freed by their own thread. A lifetime is the
                /// number of allocations, including reallocs, that the thread made between the
                /// block's allocation and its free. A realloc is neither of those. The lifetime is
                /// unknown for blocks of up to 16 bytes, and where the birth number may have
                /// wrapped.
                80 lifetime: u64,
                /// Blocks of more than 16 bytes that another thread than the allocating one freed.
                /// A later thread in the same lane counts as another thread.
                88 freed_elsewhere: u64,
                /// Net bytes at the peak with epoch `clock`.
                96 saved_bytes: i64,
                /// Net blocks at that peak.
                104 saved_blocks: i64,
                /// The clock when the row last changed. If its epoch is older than the header's,
                /// the row is unchanged since the peak.
                112 clock: Clock,
                /// The site.
                120 site: u32,
                /// Zero.
                124 reserved: u32,
            }
        }

        impl Row {
            /// Returns the word of a counter.
            #[inline(always)]
            pub fn counter(&self, counter: Counter) -> &AtomicU64 {
                match counter {
                    $(Counter::$counter => &self.$field,)*
                }
            }
        }

        impl RowValue {
            /// Returns the word of a counter.
            pub fn counter_mut(&mut self, counter: Counter) -> &mut u64 {
                match counter {
                    $(Counter::$counter => &mut self.$field,)*
                }
            }

            /// Returns the values of all counters.
            pub fn sums(&self) -> Sums {
                Sums { $($field: self.$field,)* }
            }
        }
    };
}
for_each_counter!(row);

record! {
    /// Block sizes at a site that uses more than its first size class. A site may have several
    /// records; each class is in one of them.
    Sizes / SizesValue, 64 {
        /// Row index in the same lane.
        0 row: u32,
        /// Zero.
        4 reserved: u32,
        /// Class (upper 16 bits) and count (lower 48 bits); 0 = free. See
        /// [`size_class`](crate::size_class).
        8 pairs: [u64; SIZE_PAIRS],
    }
}

record! {
    /// The live bytes and blocks of a row at the checkpoints in a group of [`CHECKPOINT_GROUP`]
    /// slots. A row that did not exist at these checkpoints, or did not change after them, has no
    /// such record.
    Checkpoints / CheckpointsValue, 136 {
        /// Row index in the same lane.
        0 row: u32,
        /// The first slot of the group.
        4 first_slot: u32,
        /// Net bytes at the checkpoint of each slot.
        8 live_bytes: [i64; CHECKPOINT_GROUP],
        /// Net blocks at the checkpoint of each slot.
        72 live_blocks: [i64; CHECKPOINT_GROUP],
    }
}

record! {
    /// A checkpoint: a moment at which the recording keeps what each row holds. There are
    /// [`CHECKPOINT_SLOTS`] of them.
    CheckpointMoment / CheckpointMomentValue, 48 {
        /// Its number, from 1; 0 = free slot.
        0 sequence: u64,
        /// Nanoseconds after the start.
        8 time_ns: u64,
        /// See [`checkpoint_kind`].
        16 kind: u32,
        /// String: the name of the mark or of the phase; 0 = none.
        20 name: u32,
        /// Live bytes, as the check counted them.
        24 live_bytes: u64,
        /// Live blocks.
        32 live_blocks: u64,
        /// Bytes allocated so far.
        40 total_bytes: u64,
    }
}

record! {
    /// The samples behind the figures of a row. The row adds, for each sample, the weight of its
    /// block: `1 / p` blocks and `size / p` bytes, where p is the probability that a block of that
    /// size is sampled. What the row has beyond the weights here was recorded exactly, before the
    /// first sample.
    Samples / SamplesValue, 144 {
        /// Row index in the same lane.
        0 row: u32,
        /// Zero.
        4 reserved: u32,
        /// Samples of allocated blocks.
        8 allocated: Sampled,
        /// Those of them that were freed in this lane, and samples of other lanes that were.
        48 freed: Sampled,
        /// The difference of both at the peak with epoch `clock`.
        88 saved: Sampled,
        /// The clock when this record last changed, as in [`Row::clock`].
        128 clock: Clock,
        /// The size of the smallest sampled block; 0 = none.
        136 least_bytes: u64,
    }
}

record! {
    /// The merged figures of threads with the same name that ended.
    ThreadName / ThreadNameValue, 120 {
        /// The name, up to 15 bytes, NUL-padded.
        0 name: [u64; 2],
        /// Number of threads.
        16 count: u64,
        /// Counters.
        24 sums: Sums,
        /// Net bytes at the peak, while the thread owned the lane.
        96 peak_bytes: i64,
        /// Net blocks at the peak.
        104 peak_blocks: i64,
        /// The clock of that peak.
        112 clock: Clock,
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
    /// A named moment that the program set.
    Mark / MarkValue, 136 {
        /// String: its name.
        0 name: u32,
        /// 1 = the mark has rows and began a new peak window.
        4 has_rows: u32,
        /// Nanoseconds after the start.
        8 time_ns: u64,
        /// Counters of the whole process.
        16 sums: Sums,
        /// The largest live bytes in the window that ended here.
        88 peak_bytes: i64,
        /// Live blocks at that maximum.
        96 peak_blocks: i64,
        /// Index of its first [`MarkRow`].
        104 first_row: u64,
        /// Number of its [`MarkRow`]s.
        112 rows: u64,
        /// Nanoseconds from the start to that maximum.
        120 peak_ns: u64,
        /// Upper bound on concurrent moments in that window, as [`Header::peak_bound_bytes`].
        128 peak_bound_bytes: i64,
    }
}

record! {
    /// The state of one row at the peak of the window that a mark ended.
    MarkRow / MarkRowValue, 24 {
        /// The site.
        0 site: u32,
        /// The lane.
        4 lane: u32,
        /// Net bytes at that peak.
        8 peak_bytes: i64,
        /// Net blocks at that peak.
        16 peak_blocks: i64,
    }
}

record! {
    /// The measurement of one live value. The sum over its nodes is what the value retains.
    Footprint / FootprintValue, 64 {
        /// String: the name that the program gave it.
        0 label: u32,
        /// String: full type name of the value.
        4 type_name: u32,
        /// See [`footprint_kind`].
        8 kind: u32,
        /// Zero.
        12 reserved: u32,
        /// Nanoseconds after the start.
        16 time_ns: u64,
        /// Live bytes of the process at that time.
        24 live_bytes: u64,
        /// Index of its first [`FootprintNode`], which is the value itself.
        32 first_node: u64,
        /// Number of nodes. They are published before the footprint.
        40 nodes: u64,
        /// Nodes or values that did not fit. They are counted at their parent.
        48 folded: u64,
        /// Values that could not be inspected; if there are any, the figures are a lower bound.
        56 hidden_values: u64,
    }
}

record! {
    /// A place in a measured value, for all values at the same path.
    FootprintNode / FootprintNodeValue, 80 {
        /// The parent node, counted from the footprint's first node. The first node is its own
        /// parent.
        0 parent: u32,
        /// See [`scope_kind`]: the root, a field, elements, keys, values, a variant, an index.
        4 kind: u32,
        /// String: its name.
        8 name: u32,
        /// String: full type name of its values.
        12 type_name: u32,
        /// Number of values.
        16 count: u64,
        /// Their own size (`size_of`) in bytes, wherever they lie.
        24 inline_bytes: u64,
        /// Heap blocks that these values own and no earlier value owns.
        32 blocks: u64,
        /// Requested bytes of those blocks. In an estimate: the total.
        40 block_bytes: u64,
        /// Usable bytes of those blocks, as reported by the inner allocator; 0 = not reported.
        48 usable_bytes: u64,
        /// Bytes of those blocks in which values were seen. The rest is unused capacity.
        56 used_bytes: u64,
        /// References to blocks that another value already owned.
        64 shared_blocks: u64,
        /// Requested bytes of those blocks, counted once per reference.
        72 shared_bytes: u64,
    }
}

record! {
    /// All arena instances with one name. Always: `allocated_bytes = used_bytes + padding_bytes +
    /// abandoned_bytes + bypassed_bytes + unused_tail_bytes`. The same holds for the largest
    /// instance, and for the sums over dropped instances.
    Arena / ArenaValue, 288 {
        /// String: its name.
        0 name: u32,
        /// String: the crate of the arena.
        4 krate: u32,
        /// Number of instances created.
        8 made: u64,
        /// Number of instances dropped.
        16 dropped: u64,
        /// Number of resets.
        24 resets: u64,
        /// Usable bytes of the chunks of live instances.
        32 allocated_bytes: u64,
        /// The same, including the arena crate's own headers.
        40 allocated_bytes_including_metadata: u64,
        /// Chunks of live instances.
        48 chunks: u64,
        /// Bytes that pieces of live instances use and have not abandoned.
        56 used_bytes: u64,
        /// Bytes of live instances lost to alignment.
        64 padding_bytes: u64,
        /// Bytes of live instances given up by growth or release inside the arena.
        72 abandoned_bytes: u64,
        /// Bytes of live instances used without the handle.
        80 bypassed_bytes: u64,
        /// Bytes of live instances not used yet, including those in chunks that are no longer used.
        88 unused_tail_bytes: u64,
        /// Largest `allocated_bytes` of all live instances together.
        96 most_allocated_bytes: u64,
        /// Largest `allocated_bytes` of one instance.
        104 most_instance_bytes: u64,
        /// Most bytes that one instance occupied (all except the unused tail).
        112 most_occupied_bytes: u64,
        /// Number of chunks ever taken.
        120 total_chunks: u64,
        /// Usable bytes of all chunks ever taken.
        128 total_allocated_bytes: u64,
        /// Bytes ever allocated; a growth counts its new size.
        136 total_used_bytes: u64,
        /// Number of allocations.
        144 total_used_blocks: u64,
        /// Growths, in place or not.
        152 grows: u64,
        /// Growths in place.
        160 grows_in_place: u64,
        /// Bytes copied by growths that were not in place.
        168 copied_bytes: u64,
        /// Requests that a limit refused.
        176 limit_reached: u64,
        /// Most chunks that one instance took.
        184 most_chunks: u64,
        /// The largest recorded instance at its fullest, whether it is live or not: usable bytes of
        /// its chunks; 0 = not known.
        192 largest_allocated_bytes: u64,
        /// Its bytes that pieces used.
        200 largest_used_bytes: u64,
        /// Its bytes lost to alignment.
        208 largest_padding_bytes: u64,
        /// Its bytes given up by growth or release.
        216 largest_abandoned_bytes: u64,
        /// Its bytes used without the handle.
        224 largest_bypassed_bytes: u64,
        /// Its bytes not used.
        232 largest_unused_tail_bytes: u64,
        /// Dropped instances, each as it was when it was dropped: usable bytes of their chunks.
        240 dropped_allocated_bytes: u64,
        /// Their bytes that pieces used.
        248 dropped_used_bytes: u64,
        /// Their bytes lost to alignment.
        256 dropped_padding_bytes: u64,
        /// Their bytes given up by growth or release.
        264 dropped_abandoned_bytes: u64,
        /// Their bytes used without the handle.
        272 dropped_bypassed_bytes: u64,
        /// Their bytes not used.
        280 dropped_unused_tail_bytes: u64,
    }
}

record! {
    /// The allocations of an arena in one scope.
    ArenaRow / ArenaRowValue, 64 {
        /// The arena.
        0 arena: u32,
        /// The scope.
        4 scope: u32,
        /// Bytes ever allocated.
        8 total_bytes: u64,
        /// Number of allocations.
        16 total_blocks: u64,
        /// Bytes allocated in live instances since their last reset.
        24 live_bytes: i64,
        /// Number of those allocations.
        32 live_blocks: i64,
        /// Bytes copied by growths that were not in place.
        40 copied_bytes: u64,
        /// Bytes used without the handle.
        48 bypassed_bytes: u64,
        /// Growths.
        56 grows: u64,
    }
}

record! {
    /// One event in the history of an arena's chunks.
    ArenaChunk / ArenaChunkValue, 48 {
        /// The arena.
        0 arena: u32,
        /// See [`arena_event`].
        4 what: u32,
        /// Number of the instance, from 1.
        8 instance: u64,
        /// Nanoseconds after the start.
        16 time_ns: u64,
        /// Usable bytes of the instance's chunks after the event.
        24 allocated_bytes: u64,
        /// Bytes occupied (all except the unused tail) before the event.
        32 occupied_bytes: u64,
        /// The site of the chunk's block; 0 = unknown.
        40 site: u32,
        /// Zero.
        44 reserved: u32,
    }
}

record! {
    /// Values in an arena, put there through its handle, whose drop never runs; counted by type and
    /// scope. Or the blocks of one site to which words of these values pointed when they were put
    /// there.
    ArenaValues / ArenaValuesValue, 32 {
        /// The arena.
        0 arena: u32,
        /// The scope.
        4 scope: u32,
        /// String: full type name of the values.
        8 type_name: u32,
        /// 0 = this record counts the values; else the site of the blocks that it counts.
        12 site: u32,
        /// Number of values or blocks.
        16 count: u64,
        /// `size_of` of the values, or requested bytes of the blocks.
        24 bytes: u64,
    }
}

record! {
    /// One of the recordings whose sum a merged recording is.
    MergedPart / MergedPartValue, 128 {
        /// Value of [`Header::state`] of the recording.
        0 state: u32,
        /// Its [`Header::pid`].
        4 pid: u32,
        /// Its [`Header::start_ticks`].
        8 start_ticks: u64,
        /// Its [`Header::boot_id`].
        16 boot_id: [u64; 2],
        /// Its [`Header::pid_namespace`].
        32 pid_namespace: u64,
        /// Its [`Header::started_unix_ns`].
        40 started_unix_ns: u64,
        /// Its duration, nanoseconds.
        48 duration_ns: u64,
        /// Its largest mean number of bytes from one sample to the next; 0 = no samples.
        56 sample_bytes: u64,
        /// Bytes live at its peak.
        64 peak_bytes: u64,
        /// The largest error of that.
        72 peak_error_bytes: u64,
        /// The difference between the rows and the running maximum.
        80 peak_discrepancy_bytes: u64,
        /// Its rows that were read while they were written.
        88 torn: u64,
        /// Its marks, which are not in the merged recording.
        96 marks: u32,
        /// Its snapshots, which are not in the merged recording.
        100 snapshots: u32,
        /// Its footprints, which are not in the merged recording.
        104 footprints: u32,
        /// Zero.
        108 reserved: u32,
        /// Zero.
        112 reserved_words: [u64; 2],
    }
}
