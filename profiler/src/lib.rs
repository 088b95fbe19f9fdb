//! Reads heapglass recordings: which code, types, fields and phases own the heap of a program.
//!
//! The crate `tracking-alloc` records a program: it writes counters and addresses to a file, the
//! recording. This crate analyses recordings, after the program has ended or while it runs. The
//! command `heapglass` and its terminal UI are built on it.
//!
//! [`open`] reads a recording, names its addresses from the binaries' symbols, and returns a
//! [`Profile`](profile::Profile). Everything else is a function of a profile:
//!
//! | result | made by |
//! |---|---|
//! | rows by site, owner, type, field, phase, thread or arena | [`table::rows`] |
//! | a tree of functions, fields, types or arenas | [`calltree::CallTree`] |
//! | the report, as text or JSON | [`report::write_text`], [`report::write_json`] |
//! | a flamegraph (SVG) | [`flamegraph::write_svg`] |
//! | a file for pprof, DHAT, speedscope, Firefox, .. | [`export::write`] |
//! | tables of many recordings for DuckDB and Spark | `export::parquet`, with the feature `parquet` |
//! | a comparison of recordings | [`diff::compare`] |
//! | what grew between two moments of a recording | [`growth::growth`] |
//! | what is live and should perhaps not be | [`leaks::leaks`] |
//! | a verdict on budgets | [`check::check_limit`], [`check::check_against`] |
//! | the sum of several recordings, as a recording | [`merge::Merge`] |
//! | changes that save memory | [`advice::advise`], [`advice::write_text`] |
//!
//! The heap itself at one moment, with the contents of its blocks, is analysed by
//! [`snapshot::analyse`]; [`typed::layouts`] knows the types of its blocks. On Linux, the module
//! `attach` takes such a snapshot of a running program.
//!
//! ```
//! use heapglass_profiler::profile::{Frames, Measure};
//! use heapglass_profiler::table::{By, rows};
//! use heapglass_profiler::units::{Bytes, printable};
//! use heapglass_profiler::{OpenOptions, open};
//!
//! # let file = heapglass_fixture::recording("shop-profiled");
//! # let path = file.as_ref();
//! let profile = open(path, &OpenOptions::default(), &|_| ())?;
//! println!("peak: {}", Bytes(profile.totals().peak_bytes));
//! for row in rows(&profile, By::Owner, Measure::Peak, Frames::Folded) {
//!     println!("{} {}", Bytes(row.figures.peak_bytes), printable(&row.key));
//! }
//! # Ok::<(), heapglass_profiler::Error>(())
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

pub mod advice;
pub mod allocator;
#[cfg(target_os = "linux")]
pub mod attach;
pub mod calltree;
#[cfg(feature = "flamegraph")]
pub mod check;
#[cfg(feature = "flamegraph")]
pub mod diff;
pub mod export;
#[cfg(feature = "flamegraph")]
pub mod flamegraph;
#[cfg(feature = "flamegraph")]
pub mod growth;
mod interned;
#[cfg(feature = "flamegraph")]
pub mod leaks;
mod load;
pub mod merge;
mod name;
mod parallel;
pub mod profile;
pub mod report;
pub mod snapshot;
mod symbols;
pub mod table;
pub mod typed;
mod types;
pub mod units;

pub use load::{Early, Error, OpenOptions, Session, open, pack, read_process};
pub use parallel::on_this_thread;
pub use profile::{arenas, fields};
pub use symbols::{Progress, SymbolOptions};
