//! The flags of `heapglass diff`.

use std::path::PathBuf;

use clap::Args;
use heapglass_profiler::diff::Per;

use super::{Ask, values};

/// Compare recordings, to see what a change to the program cost or saved
///
/// Matches rows by names and source files, never by addresses or line numbers. With several
/// recordings on a side, compares the medians and marks each difference that lies within their
/// spread.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass diff before.hg after.hg
  heapglass diff before.hg after.hg --by field --measure total
  heapglass diff before.hg after.hg --per record   if phases state their records
  heapglass diff before.hg after.hg --markdown     for a comment on a pull request
  heapglass diff before.hg after.hg -o diff.svg    red: more, blue: less
  heapglass diff before.hg after.hg -o diff.html   the same with tables, for any browser
  heapglass diff before.hg after.hg --by holder    who holds more, from a snapshot of each
  heapglass diff app.hg app.hg --by holder --base-at loaded --at exit
  heapglass diff app.hg app.hg --by holder --base-at loaded --at exit -o holders.html
  heapglass diff a1.hg b1.hg --and-base a2.hg --and-base a3.hg --and-new b2.hg

Keep the binary of each recording, or run `heapglass pack` on the recording before the next build.
Exit status: 0 whether or not the recordings differ. To fail on growth, use `heapglass check`.")]
pub(crate) struct Diff {
    /// Recording to compare with
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// Recording to compare
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// Add another recording of what BASE recorded; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) and_base: Vec<PathBuf>,
    /// Add another recording of what NEW recorded; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) and_new: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// Compare with this snapshot of BASE, as in --at [default: the value of --at, else the
    /// snapshot with most live bytes]
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) base_at: Option<String>,
    /// Divide figures by the input that phases state, in records or bytes. With --by phase, divide
    /// by the phase's own input
    #[arg(long, value_name = "PER", value_parser = values::word(Per::ALL, Per::name))]
    pub(crate) per: Option<Per>,
    /// Print at most this many rows [default: 10 in text and Markdown, all in JSON]
    #[arg(long, value_name = "N", value_parser = values::top())]
    pub(crate) top: Option<usize>,
    /// Read symbols of BASE from this executable, if the executable has moved; it must be the same
    /// build
    #[arg(long, value_name = "PATH")]
    pub(crate) base_binary: Option<PathBuf>,
    /// Read symbols of NEW from this executable, if the executable has moved; it must be the same
    /// build
    #[arg(long, value_name = "PATH")]
    pub(crate) new_binary: Option<PathBuf>,
    /// Look for separate debug information in this folder; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Treat only this crate as your own code; may be given several times
    #[arg(long, value_name = "CRATE")]
    pub(crate) own: Vec<String>,
    /// Treat functions with this name as wrappers of an allocator, and charge their blocks to their
    /// callers; may be given several times. `*` stands for any text
    #[arg(long, value_name = "PATTERN")]
    pub(crate) wrapper: Vec<String>,
    /// Print JSON instead of text
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown instead of text, for a comment on a pull request: the totals and the rows
    /// that differ most. Its length is bounded
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write to this file; `-` is standard output. If the name ends in .svg, the file is a
    /// flamegraph in two colours; if it ends in .html, a page with flamegraph and tables. The text
    /// then goes to standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}
