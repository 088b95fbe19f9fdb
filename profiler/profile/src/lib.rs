//! Reads heapglass recordings: which code, types, fields and phases own the heap of a program.
//!
//! The crate `tracking-alloc` records a program: it writes counters and addresses to a file, the
//! recording. [`open`] reads a recording, names its addresses from the binaries' symbols, and
//! returns a [`Profile`](profile::Profile). The rest of this crate answers questions about it:
//!
//! | result | made by |
//! |---|---|
//! | rows of the whole recording or of a snapshot | [`question::rows`] |
//! | a tree of either | [`question::tree`] |
//! | rows and trees of counters, by themselves | [`table::rows`], [`calltree::CallTree::build`] |
//! | who holds the heap at one moment | [`table::holders`], from [`snapshot::analyse`] |
//! | a file for pprof | [`pprof::write_pprof`] |
//!
//! The crate `heapglass-profiler` contains what people and other tools read: reports, flamegraphs,
//! comparisons, budgets, advice and exports. It re-exports the modules of this crate, so a program
//! needs only one of the two. This crate has fewer dependencies, because `heapglass-pprof` links it
//! into recorded programs.
//!
//! ```
//! use heapglass_profile::profile::{Frames, Measure};
//! use heapglass_profile::table::{By, rows};
//! use heapglass_profile::units::{Bytes, printable};
//! use heapglass_profile::{OpenOptions, open};
//!
//! # let file = heapglass_fixture::recording("shop-profiled");
//! # let path = file.as_ref();
//! let profile = open(path, &OpenOptions::default(), &|_| ())?;
//! println!("peak: {}", Bytes(profile.totals().peak_bytes));
//! for row in rows(&profile, By::Owner, Measure::Peak, Frames::Folded) {
//!     println!("{} {}", Bytes(row.figures.peak_bytes), printable(&row.key));
//! }
//! # Ok::<(), heapglass_profile::Error>(())
//! ```
//!
//! # Figures
//!
//! Every row carries the same [`Figures`](profile::Figures). A row's peak is what it held when the
//! whole program held most, so rows add up to the totals.
//! [`Profile::losses`](profile::Profile::losses) says in sentences what could not be counted or
//! named; show them next to the figures.
//!
//! # Untrusted input
//!
//! For any file, reading ends with a profile or an error. It never panics, and a small file never
//! takes much time or memory. Names are as recorded and may contain control characters: pass them
//! through [`units::printable`] before a terminal gets them.
//!
//! # Platforms
//!
//! Programs are recorded on Linux and in WebAssembly. Recordings can be read on other platforms;
//! this crate is compiled for macOS and Windows too. [`pack`] puts the symbols into a recording, so
//! that it can be read without the binaries.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod allocator;
pub mod calltree;
#[doc(hidden)]
pub mod containers;
mod interned;
mod load;
mod name;
mod parallel;
pub mod pprof;
pub mod profile;
pub mod question;
pub mod snapshot;
mod symbols;
pub mod table;
mod types;
pub mod units;

pub use containers::DeclaredContainer;
pub use load::{
    Beside, Early, Error, FoundNames, OpenOptions, Session, find_generated_names, open, pack,
    read_process, snapshots_so_far,
};
pub use parallel::on_this_thread;
pub use profile::{arenas, fields};
pub use symbols::{Progress, SymbolOptions};

/// Parts that `heapglass-profiler` needs and that no other program should use: they change without
/// notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::interned::Interned;
    pub use crate::load::{Counted, PackedSum, SiteSamples, thread_sums};
    pub use crate::name::path_and_arguments;
    pub use crate::symbols::{
        Identity, ModuleRef, Slice, ThreadLocals, hex_all, with_debug_information,
    };
    pub use crate::types::{normal, short};
}
