//! The flags of `heapglass diff`.

use std::path::PathBuf;

use clap::Args;
use heapglass_profiler::diff::Per;
use heapglass_profiler::report::By;

use super::{MeasureFlag, values};

/// Compare recordings: what a change of a program cost or saved
///
/// Rows are matched by names and source files, never by addresses or line numbers. With several recordings on a side the
/// medians are compared, and a difference within their spread is marked as such.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass diff before.hg after.hg
  heapglass diff before.hg after.hg --by field --measure total
  heapglass diff before.hg after.hg --per record   where phases state their records
  heapglass diff before.hg after.hg -o diff.svg    red: more, blue: less
  heapglass diff a1.hg b1.hg --and-base a2.hg --and-base a3.hg --and-new b2.hg

Keep the binary of each recording, or `heapglass pack` the recording before the next build.
Exit status: 0, whether the recordings differ or not; `heapglass check` fails on a budget.")]
pub(crate) struct Diff {
    /// The recording to compare with
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// The recording to compare
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// Another recording of the same as BASE; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) and_base: Vec<PathBuf>,
    /// Another recording of the same as NEW; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) and_new: Vec<PathBuf>,
    /// What a row is, as in `report`
    #[arg(long, value_name = "BY", default_value = "site", value_parser = values::word(By::ALL, By::name))]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) measure: MeasureFlag,
    /// Divide by the input that phases state: records, or bytes. With --by phase, by the phase's own input
    #[arg(long, value_name = "PER", value_parser = values::word(Per::ALL, Per::name))]
    pub(crate) per: Option<Per>,
    /// Most rows [default: 10 in text, all in JSON]
    #[arg(long, value_name = "N", value_parser = values::top())]
    pub(crate) top: Option<usize>,
    /// The executable that BASE ran, if it is not where it was; must be of the same build
    #[arg(long, value_name = "PATH")]
    pub(crate) base_binary: Option<PathBuf>,
    /// The executable that NEW ran, if it is not where it was; must be of the same build
    #[arg(long, value_name = "PATH")]
    pub(crate) new_binary: Option<PathBuf>,
    /// A folder with separate debug information; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Treat only this crate as your own code; may be given several times
    #[arg(long, value_name = "CRATE")]
    pub(crate) own: Vec<String>,
    /// JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to write; `-` is standard output. A name that ends in .svg gets a flamegraph in two colours, and the text
    /// still goes to standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}
