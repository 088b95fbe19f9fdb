//! The profile: one recording, analysed and symbolized. Every frontend is a function of the
//! profile.
//!
//! The profile uses columns instead of boxed trees: sites name their frames by [`FrameId`], frames
//! name their function by [`FunctionId`], and parents come before children. This module does not
//! know how the profile will be shown.

mod age;
mod analysis;
mod arena_measures;
mod arena_record;
pub mod arenas;
mod checkpoints;
mod chunks;
mod distribution;
mod estimate;
pub mod fields;
mod figures;
mod folding;
mod footprints;
mod label;
mod lifetime;
mod linear;
mod losses;
mod measured;
mod merged;
mod notes;
mod owners;
mod parts;
mod pauses;
mod resident;
mod scope;
mod source;
mod stacks;
#[cfg(test)]
mod tests;
mod type_names;
mod type_rows;
mod types;
mod unnamed;
mod wrappers;

pub use age::Age;
use analysis::Analysis;
pub use arena_record::{
    Arena, ArenaEvent, ArenaFigures, ArenaMoment, ArenaRow, ArenaValue, ArenaValues,
};
pub(crate) use checkpoints::Checkpoints;
pub use checkpoints::{Checkpoint, CheckpointKind, PhaseSpan};
pub use distribution::{Distribution, dominant_block_text};
pub use estimate::{Interval, Number, SampledSum, Samples, Sampling};
pub use figures::{FIGURES, Figure, Figures, Measure, serialize_figure, sums};
pub use folding::{Folding, Frames, Step};
pub use footprints::{Footprint, FootprintNode, FootprintNodeValue};
pub use label::{Label, MarkKind};
pub use lifetime::Lifetime;
pub use linear::LinearMemory;
pub(crate) use linear::PAGE_BYTES;
pub use measured::{Estimate, Estimated, Measured, Place};
pub use merged::Merged;
pub use notes::notes;
#[doc(hidden)]
pub use parts::Parts;
pub use pauses::{Pause, Pauses};
pub use resident::{NotLive, ResidentParts};
pub(crate) use scope::per_entry;
pub use scope::{Scope, ScopeKind, both};
pub use stacks::Stack;
pub(crate) use stacks::{StackNode, Stacks, outward};
pub(crate) use type_names::sharing_a_name;
pub use type_rows::{Source, TypeRow, UNKNOWN};
pub use types::{Contents, TypeId, TypeName};
pub use wrappers::WrapperRule;
pub(crate) use wrappers::Wrappers;

pub use crate::containers::TypeKind;
pub use crate::name::Language;

use crate::name::FunctionName;
use crate::snapshot::Snapshot;
use crate::units::Share;
use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use tracking_alloc_recording::mode;

/// Index into [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

/// Index into [`Profile::functions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// Index into [`Profile::scopes`]; scope 0 is the root: no phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

/// One recording, analysed.
///
/// [`open`](crate::open) makes one. Its parts name each other by index (a site its frames, a frame
/// its function), and its analysis is kept once it was asked for, so a profile is read and never
/// changed.
///
/// ```
/// # let profile = heapglass_fixture::real("shop-profiled");
/// let largest = profile.sites().iter().max_by_key(|site| site.figures.peak_bytes);
/// let site = largest.expect("a program allocates");
/// for &frame in profile.shown_stack(site).iter().rev() {
///     let source = profile.source_of(frame).unwrap_or_default();
///     println!("{} {source}", profile.function(frame).short);
/// }
/// let contents = site.contents.expect("the stack names a container");
/// assert_eq!(profile.type_name(contents.container).short, "Vec<Product>");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The recorded process.
    pub(crate) process: Process,
    /// The settings and the circumstances of the recording.
    pub(crate) capture: Capture,
    /// The whole process; equals the sum of the sites.
    pub(crate) totals: Figures,
    /// The losses: everything that could not be counted or named, and the reasons.
    pub(crate) lost: Losses,
    /// Loaded images, with what became of their symbols.
    pub(crate) modules: Vec<Module>,
    /// Distinct functions.
    pub(crate) functions: Vec<Function>,
    /// Distinct source frames (inlined ones included).
    pub(crate) frames: Vec<Frame>,
    /// The stacks of the sites.
    pub(crate) stacks: Stacks,
    /// Origins of blocks, each a stack and a scope with its figures.
    pub(crate) sites: Vec<Site>,
    /// Phases and fields; `scopes[0]` is the root, parents come before children.
    pub(crate) scopes: Vec<Scope>,
    /// Distinct types.
    pub(crate) types: Vec<TypeName>,
    /// Threads, merged by name.
    pub(crate) threads: Vec<Thread>,
    /// Live bytes over time.
    pub(crate) timeline: Vec<TimelinePoint>,
    /// The live bytes and blocks of each site at a few moments.
    pub(crate) checkpoints: Checkpoints,
    /// Named moments set by the program.
    pub(crate) marks: Vec<Mark>,
    /// Live values that the program had measured, oldest first.
    pub(crate) footprints: Vec<Footprint>,
    /// Arenas that the program named, by name.
    pub(crate) arenas: Vec<Arena>,
    /// Requests that the allocator refused, the last one first.
    pub(crate) failed_requests: Vec<FailedRequest>,
    /// Number of requests that the allocator refused, those of further sites included.
    pub(crate) failed_request_count: u64,
    /// Bytes of the standard library's backtraces that are also in the figures of threads, because
    /// it is not known which thread allocated them.
    pub(crate) backtrace_bytes_of_threads: u64,
    /// Snapshots of the heap, in the order in which they were taken.
    pub(crate) snapshots: Vec<Snapshot>,
    /// The numbers of `sites` in the recording, rising.
    pub(crate) site_numbers: Vec<u32>,
    /// Source lines that a packed recording carries, by file as frames name it.
    pub(crate) sources: HashMap<String, SourceLines>,
    /// Functions that hand blocks to their callers and own nothing.
    pub(crate) wrappers: Wrappers,
    /// The results of the analysis so far.
    pub(crate) analysis: Analysis,
}

/// Some lines of a source file: number, from 1, and text.
pub(crate) type SourceLines = Vec<(u32, String)>;

/// The recorded process.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Process {
    /// File name of the executable.
    pub program: String,
    /// Path of the executable.
    pub executable: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// Process id.
    pub pid: u32,
    /// Start of the recording, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// From the start of the recording to its last event or end, nanoseconds.
    pub duration_ns: u64,
    /// The end of the process, as far as it is known.
    pub state: State,
    /// The times in which new blocks were not recorded.
    pub pauses: Pauses,
    /// The recordings of which this is the sum, if it is one. The other fields are then those that
    /// all of them have, and sums of times.
    pub merged: Option<Merged>,
}

/// The end of a process, as far as it is known. The names are those of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The process still runs and is still recorded.
    Running,
    /// The recording was finished in order (the recorder stopped or the program ended normally).
    Finished,
    /// The recording is a copy, packed before the process finished it.
    Copied,
    /// The process is gone and did not finish the recording: it was killed, aborted, left by
    /// `_exit`, or was replaced by another program (`exec`).
    Ended,
    /// The recording is the sum of several recordings.
    Merged,
    /// The program was not recorded. Peak, total and live bytes are those that a snapshot found.
    NotRecorded,
    /// Unknown here (another machine, another pid namespace).
    #[default]
    Unknown,
}

impl State {
    /// Returns `true` unless the figures are those that a snapshot found, of which there is no
    /// peak and no error bound.
    pub fn is_recorded(self) -> bool {
        self != State::NotRecorded
    }
}

/// The settings and the circumstances of the recording.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Capture {
    /// `exact`, `count` or `sample`.
    pub mode: String,
    /// The samples, in mode `sample`.
    pub sampling: Option<Sampling>,
    /// `frame-pointers`, `eh-frame` or `none`.
    pub unwinder: String,
    /// `x86_64`, `aarch64`, `wasm32`; empty when it is not known.
    pub architecture: String,
    /// Linear memory, when a WebAssembly module was recorded. Such a recording has no clock: all
    /// times are 0.
    pub linear_memory: Option<LinearMemory>,
    /// The bound on the error of `peak_*`, bytes; 0 = exact to the byte. Never below the measured
    /// discrepancy.
    pub peak_error_bytes: u64,
    /// |sum of rows at the peak - the running maximum|, bytes: the measured discrepancy.
    pub peak_discrepancy_bytes: u64,
    /// Time of the peak, nanoseconds after the start (to the resolution of the timeline).
    pub peak_time_ns: u64,
    /// Resident set size last read, bytes (0 = never read).
    pub rss_bytes: u64,
    /// The largest resident set size read, bytes.
    pub peak_rss_bytes: u64,
    /// Resident bytes of heapglass itself in the target (tables, shadow map, recording).
    pub own_bytes: u64,
    /// The largest resident set that was taken apart, and when.
    pub most_resident: Option<ResidentParts>,
    /// The last one that was taken apart.
    pub last_resident: Option<ResidentParts>,
    /// Size of the recording, bytes.
    pub recording_bytes: u64,
    /// The name of the program's allocator; empty if it is not known. The full name of a Rust
    /// type, such as `mimalloc::MiMalloc`, or `libc malloc`.
    pub allocator: String,
    /// Somebody attached to the running program, and the recording began then.
    pub attached: Option<Attached>,
    /// The crates that count as the program's own, by name, where someone named them: the reader,
    /// who packed the recording, or who recorded. Empty: those whose sources lie outside
    /// registries, git checkouts and the toolchain.
    pub own_crates: Vec<String>,
}

/// A program to which somebody attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attached {
    /// The bytes that its allocator had in use then, which are not recorded. `None` if it does not
    /// tell.
    pub in_use_bytes: Option<u64>,
    /// `true` if the program ran on when the recording ended.
    pub is_detached: bool,
}

/// Everything that could not be counted or named. All zero and empty = nothing was lost. The names
/// are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Losses {
    /// Blocks counted at "(table full)" because a table was full, or the disk, or a limit was
    /// reached.
    pub table_full_blocks: u64,
    /// Bytes of those.
    pub table_full_bytes: u64,
    /// Blocks that could not be followed (no shadow map): counted, never freed.
    pub untracked_blocks: u64,
    /// Allocator calls made while the hook was busy (signal handlers): counted without a stack.
    pub unattributed_blocks: u64,
    /// Frees of blocks that were not recorded: allocated before the recording began, while it was
    /// paused, or by a call that heapglass does not see.
    pub unknown_frees: u64,
    /// Stacks truncated because a return address was in no known code.
    pub cut_stacks: u64,
    /// Allocations made on a stack that is not the thread's own.
    pub foreign_stacks: u64,
    /// Stacks deeper than the limits of the walk or of the reader: frames are missing.
    pub deep_stacks: u64,
    /// Sites with repeated frame cycles folded.
    pub folded_stacks: u64,
    /// Marks or timeline points that did not fit in the recording.
    pub marks: u64,
    /// Rows read while they were written, clamped (live recordings only).
    pub torn: u64,
    /// Records that the recorder cannot have written: impossible figures, dangling references,
    /// rows that do not add up. The figures of the recording cannot be trusted then.
    pub damaged: u64,
    /// Frames that no symbol table could name.
    pub unresolved_frames: u64,
    /// Scopes that did not fit in the recording: their parents count the events instead.
    pub scopes: u64,
    /// Footprints and arena records that did not fit in the recording.
    pub records: u64,
    /// Sentences for people: why growth ended, why symbols are missing.
    pub notes: Vec<String>,
}

/// A loaded image.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Module {
    /// Path in the target.
    pub path: String,
    /// Build-id in hex, or empty.
    pub build_id: String,
    /// The source of its symbols, or the reason why there are none.
    pub symbols: SymbolSource,
}

/// The source of a module's symbols. The symbol cache stores it: renaming a variant changes the
/// format of the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SymbolSource {
    /// No frame of the module was seen, so nothing was looked up.
    #[default]
    NotNeeded,
    /// Debug information (functions, inline frames, lines) from this file.
    Debug(PathBuf),
    /// A symbol table only (functions without lines) from this file.
    Table(PathBuf),
    /// Inside the recording (packed).
    Packed,
    /// None; the sentence says why and what to do.
    Missing(String),
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Function {
    /// Demangled, without the hash: `alloc::vec::Vec<T,A>::push`.
    pub name: String,
    /// The language of the name.
    pub language: Language,
    /// The other functions that its machine code is, by name: equal functions are compiled to one,
    /// and nothing tells which of them was called.
    pub aliases: Vec<String>,
    /// For narrow cells: `Vec::push`; `one of load_a, load_b` where the aliases differ in it.
    pub short: String,
    /// The function around a closure or the body of an async function, written as
    /// [`short`](Function::short). Empty for other functions.
    pub outer: String,
    /// Crate, or the file name of the image for native code: `serde_json`, `libc.so.6`.
    pub krate: String,
    /// The origin of its code.
    pub origin: Origin,
    /// `true` if a derive made it: a method of a trait of another crate, with code on the line of
    /// its declaration.
    pub is_derived: bool,
    /// Its role on a stack.
    pub role: Role,
    /// The action of a call, for a frame that stands for everything it calls:
    /// `serde_json::from_str -> Catalog`. Empty: the same as [`short`](Function::short).
    pub does: String,
    /// The type that it deserializes, in short: `Product`.
    pub makes: Option<String>,
}

/// The role of a function on a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// No special one.
    #[default]
    Plain,
    /// Called back by what a program called: `Deserialize`, its visitors, `Clone`.
    Callback,
    /// A function of a crate that works for its callers: it reads or writes a format, or holds
    /// values. It never owns a block while another function on the stack can.
    Service,
    /// Passes a call on: the call of a closure, an iterator's adaptor.
    Glue,
    /// Reports a panic: message, hook, backtrace.
    Panic,
    /// Walks the stack or looks up names for a backtrace of the standard library.
    Backtrace,
    /// Asks the allocator for whoever called it: `malloc`, `operator new`, `xmalloc`.
    Allocator,
    /// Makes one block for whoever called it, and owns nothing: `strdup`.
    Wrapper,
}

/// The origin of a function's code. The names are those of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The program under study: its own crates.
    #[default]
    User,
    /// A crate from a registry or a checkout.
    Dependency,
    /// core, alloc, std and what they are built on.
    Std,
    /// C, assembly, system libraries.
    Native,
    /// Nothing is known but module + offset.
    Unresolved,
}

/// A source frame: one function at one place, inlined or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// Source file, as the compiler named it.
    pub file: Option<String>,
    /// Line of the call, from 1.
    pub line: Option<u32>,
    /// Index into [`Profile::modules`].
    pub module: u32,
    /// Offset of the return address in the module.
    pub offset: u64,
    /// `true` if the compiler inlined it into the next outer frame.
    pub inlined: bool,
}

/// An origin of blocks: a stack under a scope.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Site {
    /// Its frames: see [`Profile::stack`].
    pub stack: Stack,
    /// The part of them worth showing: without run-time start-up (outside) and allocator machinery
    /// (inside).
    pub shown: std::ops::Range<u16>,
    /// The frame the site is charged to: the innermost shown frame of the user's own code that
    /// nothing called back, else the nearest frame of a dependency, else the innermost shown one;
    /// `None` when there is no frame.
    pub owner: Option<FrameId>,
    /// The group that it is charged to if no code of the program or of a dependency asked for its
    /// blocks.
    pub group: Option<Group>,
    /// The phase and field it happened in.
    pub scope: ScopeId,
    /// The contents of its blocks according to its stack; `None` if unknown.
    pub contents: Option<Contents>,
    /// Marks that the walk left on this stack.
    pub marks: StackMarks,
    /// The figures.
    pub figures: Figures,
    /// Sizes and lifetimes of its blocks.
    pub distribution: Distribution,
}

/// Requests of a site that the allocator refused: it returned null. They are in no figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedRequest {
    /// Index into [`Profile::sites`]. A site that got no memory at all has figures of zero.
    pub site: usize,
    /// Number of refused requests.
    pub count: u64,
    /// The largest, bytes.
    pub largest_bytes: u64,
}

/// Blocks that no code of the program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// Blocks that the standard library needs to start, to run threads, and to end.
    Runtime,
    /// The report of a panic: its message.
    Panic,
    /// The backtraces of the standard library. Most of it is debug information, which stays: the
    /// thread that asks for the first backtrace reads it for all.
    Backtrace,
}

impl Group {
    /// Returns the name that frontends show.
    pub fn name(self) -> &'static str {
        match self {
            Group::Runtime => "(std: start-up, threads)",
            Group::Panic => "(panic message)",
            Group::Backtrace => "(std: backtrace)",
        }
    }
}

/// Marks that the walk leaves on a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackMarks {
    /// Truncated where a return address was in no known code.
    pub cut: bool,
    /// Taken on a stack that is not the thread's own.
    pub foreign: bool,
    /// Deeper than a limit: the outermost frames are missing, or some in the middle.
    pub deep: bool,
    /// A repeated cycle of frames was folded.
    pub folded: bool,
    /// Not a stack at all: "(table full)", "(unattributed)"; the name is the only frame's
    /// function.
    pub synthetic: bool,
}

/// Threads of one name.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Thread {
    /// Thread name (`main` for the first).
    pub name: String,
    /// Number of threads of that name.
    pub count: u64,
    /// Figures of what they allocated, and of what they freed, including blocks of other threads.
    /// `live_*` and `peak_*` are 0: another thread may free a block, so live bytes belong to no
    /// thread.
    pub figures: Figures,
}

impl Thread {
    /// Returns its name, or a text for a thread without a name.
    pub fn key(&self) -> &str {
        match self.name.as_str() {
            "" => "(unnamed)",
            name => name,
        }
    }
}

/// A moment of the timeline. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TimelinePoint {
    /// Nanoseconds after the start.
    pub time_ns: u64,
    /// Bytes live.
    pub live_bytes: u64,
    /// Blocks live.
    pub live_blocks: u64,
    /// Bytes allocated so far.
    pub total_bytes: u64,
    /// Resident set size, bytes; 0 = not read, in JSON null.
    #[serde(serialize_with = "unless_zero")]
    pub rss_bytes: u64,
    /// Resident bytes of heapglass itself, part of the resident set; 0 = not read, in JSON null.
    #[serde(serialize_with = "unless_zero")]
    pub own_bytes: u64,
}

fn unless_zero<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    (*bytes > 0).then_some(bytes).serialize(serializer)
}

/// A named moment. The names are the keys in JSON.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Mark {
    /// The name the program gave it.
    pub name: String,
    /// Nanoseconds after the start.
    pub time_ns: u64,
    /// Totals at that moment; `peak_*` is the maximum since the mark before (or the start).
    #[serde(flatten)]
    pub figures: Figures,
    /// The bound on the error of `peak_*`, bytes; 0 = exact to the byte, `None` = the mark found
    /// no room to tell.
    pub peak_error_bytes: Option<u64>,
}

/// Replaces the name of the unwinder in a recording without stacks.
pub const NO_STACKS: &str = "no stacks: sites are scopes";

impl Capture {
    /// Returns `true` if somebody ended the recording while the program ran on.
    pub fn is_detached(&self) -> bool {
        self.attached.is_some_and(|attached| attached.is_detached)
    }

    /// Returns `stacks by frame-pointers`, or a text for a recording without stacks.
    pub fn stacks(&self) -> String {
        if self.has_stacks() {
            format!("stacks by {}", self.unwinder)
        } else {
            NO_STACKS.to_owned()
        }
    }

    /// Returns `true` if every event was counted, so that figures are not estimates.
    pub fn is_exact(&self) -> bool {
        matches!(mode::from_name(&self.mode), Some(mode::EXACT | mode::COUNT))
    }

    /// Returns `true` if stacks were recorded.
    pub fn has_stacks(&self) -> bool {
        self.unwinder != "none"
    }
}

/// Crates of heapglass that are linked into the program.
pub(crate) const OWN_CRATES: [&str; 6] = [
    "tracking_alloc",
    "heapglass_preload",
    "heapglass_recorder",
    "tracking_alloc_arena",
    "tracking_alloc_recording",
    "tracking_alloc_serde",
];

impl Function {
    /// The name of its language in JSON; `None` if that is unknown. `file` is the source file of a
    /// frame of it.
    pub fn language_name(&self, file: Option<&str>) -> Option<&'static str> {
        let is_cpp = |file: &str| {
            let ends = [".cc", ".cpp", ".cxx", ".C", ".hh", ".hpp", ".hxx"];
            file.contains("/include/c++/") || ends.iter().any(|end| file.ends_with(end))
        };
        match self.language {
            _ if self.origin == Origin::Unresolved || self.name.starts_with('(') => None,
            Language::Rust => Some("rust"),
            // Only names of C++ have parameters or a path.
            Language::Cpp if self.name.contains(['(', ':']) || file.is_some_and(is_cpp) => {
                Some("c++")
            }
            Language::Cpp => Some("c"),
        }
    }

    /// Its name, taken apart.
    pub(crate) fn parsed(&self) -> FunctionName<'_> {
        FunctionName::parse(&self.name, self.language)
    }

    /// Returns `true` if it is heapglass's own, wherever it was built.
    pub(crate) fn is_own(&self) -> bool {
        OWN_CRATES.contains(&self.krate.as_str())
    }

    /// Returns `true` if it is of the program, and nothing called it back: a step of folded stacks
    /// of its own, and what owns blocks.
    pub fn is_of_program(&self) -> bool {
        self.origin == Origin::User && self.role != Role::Callback
    }

    /// The function that owns its blocks: itself, or the one that it is a closure of.
    pub(crate) fn owner_name(&self) -> &str {
        [&self.outer, &self.short, &self.name]
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("[unnamed]", String::as_str)
    }

    /// Returns the best known text for a call of it: [`does`](Function::does), else its short name,
    /// else its name.
    pub(crate) fn call(&self) -> &str {
        [&self.does, &self.short, &self.name]
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("[unnamed]", String::as_str)
    }
}

/// The parts of a profile.
impl Profile {
    /// Returns the recorded process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Returns the settings and the circumstances of the recording.
    pub fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Returns the figures of the whole process: the sum of the sites.
    pub fn totals(&self) -> &Figures {
        &self.totals
    }

    /// Returns the process's figure of a measure: what was counted exactly, else the sum of the
    /// sites. Blocks and events of which only some were sampled are a lower bound.
    pub fn total_of(&self, measure: Measure) -> u64 {
        let exact = self.exact_total(measure.key());
        exact.unwrap_or_else(|| measure.shown(&self.totals))
    }

    /// Returns the process's number of blocks or events with a key: what was counted exactly, else
    /// the sum of the sites.
    pub fn number(&self, key: &str) -> Number {
        let exact = self.exact_total(key).map(Number::exact);
        exact.unwrap_or_else(|| self.totals.number(key))
    }

    /// Returns the mean number of bytes between samples for intervals; `None` if every event was
    /// recorded.
    pub(crate) fn sample_mean(&self) -> Option<u64> {
        let sampling = self.capture.sampling.as_ref()?;
        Some(sampling.most_sample_bytes)
    }

    /// The process's figure of a key if it was counted exactly while samples were taken.
    pub fn exact_total(&self, key: &str) -> Option<u64> {
        self.capture.sampling.as_ref()?.exact(key)
    }

    /// Returns the part of the allocated bytes that is temporary, with what it is a part of:
    /// `16.1 % of all bytes`.
    pub fn temporary_share(&self) -> String {
        // Of sums over the same sites, so that an estimate is compared with an estimate.
        let share = Share::of(self.totals.temporary_bytes, self.totals.total_bytes);
        format!("{share} of all bytes")
    }

    /// Returns `true` if the process's figure of a measure is not an estimate.
    pub fn counts_exactly(&self, measure: Measure) -> bool {
        self.capture.sampling.is_none() || self.exact_total(measure.key()).is_some()
    }

    /// Returns the losses: everything that could not be counted or named.
    /// [`losses`](Profile::losses) has them as sentences.
    pub fn lost(&self) -> &Losses {
        &self.lost
    }

    /// Returns the loaded images, each with the source of its symbols.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Returns the distinct functions, in the order of their ids.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the distinct source frames, inlined ones included, in the order of their ids.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns the origins of blocks: each a stack and a scope, with its figures.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Returns the phases and fields, in the order of their ids. The first is the root; parents
    /// come before children.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Returns the distinct types, in the order of their ids.
    pub fn types(&self) -> &[TypeName] {
        &self.types
    }

    /// Returns the threads, merged by name.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns the live bytes over time, oldest first.
    pub fn timeline(&self) -> &[TimelinePoint] {
        &self.timeline
    }

    /// Returns the moments that the program named, oldest first.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns the live values that the program measured, oldest first.
    /// [`measured`](Profile::measured) has them with estimates.
    pub fn footprints(&self) -> &[Footprint] {
        &self.footprints
    }

    /// Returns the arenas that the program named, ordered by name.
    pub fn arenas(&self) -> &[Arena] {
        &self.arenas
    }

    /// Returns the requests that the allocator refused, the last one first.
    pub fn failed_requests(&self) -> &[FailedRequest] {
        &self.failed_requests
    }

    /// Returns the number of requests that the allocator refused, including those of sites that do
    /// not fit into [`failed_requests`](Profile::failed_requests).
    pub fn failed_request_count(&self) -> u64 {
        self.failed_request_count
    }

    /// Returns the lines of a source file that a packed recording carries, each with its number.
    /// `file` is as frames name it.
    pub fn source_lines(&self, file: &str) -> Option<&[(u32, String)]> {
        self.sources.get(file).map(Vec::as_slice)
    }
}

impl Profile {
    /// Returns the sites with any figures, with their indexes: sites whose requests all failed are
    /// left out.
    pub fn counted_sites(&self) -> impl Iterator<Item = (usize, &Site)> {
        let sites = self.sites.iter().enumerate();
        sites.filter(|(_, site)| site.figures != Figures::default())
    }

    /// Returns the snapshots of the heap that the recording carries, in the order in which they
    /// were taken.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// Adds a snapshot whose sites have the numbers of the recording, as
    /// `attach::Reader::take` returns them.
    pub fn add_snapshot(&mut self, mut snapshot: Snapshot) {
        snapshot.renumber(|number| self.site_of_number(number).map(|site| site as u32));
        self.snapshots.push(snapshot);
    }

    /// Returns the index of the site that has a number in the recording.
    pub fn site_of_number(&self, number: u32) -> Option<usize> {
        self.site_numbers.binary_search(&number).ok()
    }

    /// Returns the sites with their numbers in the recording.
    pub fn numbered_sites(&self) -> impl Iterator<Item = (u32, &Site)> {
        self.site_numbers.iter().copied().zip(&self.sites)
    }

    /// Returns the numbers of the sites in the recording, rising.
    #[doc(hidden)]
    pub fn site_numbers(&self) -> &[u32] {
        &self.site_numbers
    }

    /// Returns the bytes of the standard library's backtraces that are also in the figures of
    /// threads, because it is not known which thread allocated them.
    pub fn backtrace_bytes_of_threads(&self) -> u64 {
        self.backtrace_bytes_of_threads
    }

    /// Returns the frame of an id.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// Returns the function of a frame.
    pub fn function(&self, id: FrameId) -> &Function {
        &self.functions[self.frame(id).function.0 as usize]
    }

    /// The whole name of a function; `[unnamed]` where there is none.
    pub fn function_name(&self, id: FunctionId) -> &str {
        let function = self.functions.get(id.0 as usize);
        let function = function.filter(|function| !function.name.is_empty());
        function.map_or("[unnamed]", |function| &function.name)
    }

    /// Returns a frame and its function; `None` for ids that only a damaged profile has.
    pub fn lookup(&self, id: FrameId) -> Option<(&Frame, &Function)> {
        let frame = self.frames.get(id.0 as usize)?;
        Some((frame, self.functions.get(frame.function.0 as usize)?))
    }

    /// Returns the type of an id.
    pub fn type_name(&self, id: TypeId) -> &TypeName {
        &self.types[id.0 as usize]
    }

    /// Returns the names of a type, if there is one.
    pub fn named_type(&self, id: Option<TypeId>) -> Option<&TypeName> {
        self.types.get(id?.0 as usize)
    }
}
