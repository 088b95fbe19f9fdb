//! Reports, flamegraphs, comparisons, budgets, advice and exports of heapglass recordings.
//!
//! The crate `tracking-alloc` records a program: it writes counters and addresses to a file, the
//! recording. This crate analyses recordings, after the program has ended or while it runs. The
//! command `heapglass` and its terminal UI are built on it.
//!
//! [`open`] reads a recording, names its addresses from the binaries' symbols, and returns a
//! [`Profile`](profile::Profile). Everything else is a function of a profile, and most of it
//! answers the same question.
//!
//! # The question
//!
//! A [`Question`](question::Question) says what is asked: of the whole recording or of a snapshot,
//! by which grouping, which measure and which frames. [`question::rows`] and [`question::tree`]
//! answer it. [`question::RULES`] is the one list of questions that have no answer, each with the
//! reason: reports, flamegraphs and comparisons refuse none by themselves. A format of another tool
//! may hold less, which [`export::Format::check`] says.
//!
//! ```
//! use heapglass_profiler::flamegraph::write_svg;
//! use heapglass_profiler::profile::{Frames, Measure};
//! use heapglass_profiler::question::{Answer, Question, rows};
//! use heapglass_profiler::table::By;
//! use heapglass_profiler::units::{Bytes, printable};
//! use heapglass_profiler::{OpenOptions, open};
//!
//! # let file = heapglass_fixture::recording("shop-profiled");
//! # let path = file.as_ref();
//! let profile = open(path, &OpenOptions::default(), &|_| ())?;
//! let question = Question {
//!     by: By::Type,
//!     measure: Measure::Peak,
//!     frames: Frames::Folded,
//!     ..Question::default()
//! };
//! if let Answer::Counted(types) = rows(&profile, &question)? {
//!     for row in types {
//!         println!("{} {}", Bytes(row.figures.peak_bytes), printable(&row.key));
//!     }
//! }
//! write_svg(&profile, &question, &mut Vec::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! | result | made by |
//! |---|---|
//! | rows of the whole recording or of a snapshot | [`question::rows`] |
//! | a tree of either | [`question::tree`] |
//! | the report, as text or JSON | [`report::write_text`], [`report::write_json`] |
//! | a flamegraph (SVG) | [`flamegraph::write_svg`] |
//! | a file for pprof, DHAT, speedscope, Firefox, .. | [`export::write`] |
//! | tables of many recordings for DuckDB and Spark | `export::parquet`, with the feature `parquet` |
//! | a comparison of recordings or of snapshots | [`diff::Diff`], [`diff::HeldDiff`] |
//! | what grew between two moments of a recording | [`growth::growth`] |
//! | what is live and should perhaps not be | [`leaks::leaks`] |
//! | a verdict on budgets | [`check::check_limit`], [`check::check_against`] |
//! | the sum of several recordings, as a recording | [`merge::Merge`] |
//! | changes that save memory | [`advice::advise`], [`advice::write_text`] |
//!
//! The crate `heapglass-profile` reads recordings and answers questions; this crate re-exports its
//! modules ([`profile`], [`question`], [`table`], [`calltree`], [`snapshot`], [`pprof`], ..).
//! A program that needs no more than those, such as `heapglass-pprof`, has fewer dependencies with
//! that crate alone.
//!
//! The heap itself at one moment, with the contents of its blocks, is analysed by
//! [`snapshot::analyse`]; [`typed::layouts`] knows the types of its blocks. On Linux, the module
//! `attach` takes such a snapshot of a running program.
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
//!
//! The reasons for its choices are in `docs/src/decisions/reader-and-views.md`.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod advice;
#[cfg(target_os = "linux")]
pub mod attach;
pub mod check;
pub mod diff;
pub mod export;
pub mod flamegraph;
pub mod growth;
#[cfg(target_os = "linux")]
pub mod image;
#[cfg(target_os = "linux")]
pub mod inject;
mod invalid;
pub mod leaks;
pub mod merge;
pub mod report;
pub mod typed;

pub use heapglass_profile::{
    Beside, DeclaredContainer, Early, Error, FoundNames, OpenOptions, Progress, Session,
    SymbolOptions, allocator, arenas, calltree, fields, find_generated_names, on_this_thread, open,
    pack, pprof, profile, question, read_process, snapshot, snapshots_so_far, table, units,
};

use heapglass_profile::containers;
