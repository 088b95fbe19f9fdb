//! The flags of `heapglass check`.

use std::path::PathBuf;

use clap::Args;
use heapglass_profiler::check::MostGrowth;
use heapglass_profiler::diff::Per;

use super::{Between, Input, values};

/// Fail if a recording exceeds a budget, or an earlier recording
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass check app.hg --max-peak 30MiB --max-blocks 200000
  heapglass check app.hg --budget budget.toml
  heapglass check app.hg --against before.hg --tolerance 2%
  heapglass check app.hg --max-amplification 8   bytes at the peak for each byte of input
  heapglass check app.hg --max-growth 10KiB/s --from warm
                                             live bytes from mark `warm` on
  heapglass check app.hg --budget budget.toml --markdown -o comment.md

A budget is a TOML file:
  [total]                               the whole program
  peak = \"30 MiB\"
  [total.per_record]                    or per_input_byte; phases state the input
  blocks = 8.5
  [phase.\"load\"]                        also [owner.\"PATTERN\"], [type.\"..\"], [field.\"..\"]
  total = \"12 MiB\"
  [field.\"Catalog.products[].**\"]       * matches within one step, ** across steps
  blocks = 120000
  [growth]                              of live bytes; from and to may be left out
  max = \"1 MiB\"                         or \"10 KiB/s\", \"5 %\"
  from = \"warm\"                         as for --from
  [against]                             allowed growth, for --against
  tolerance = \"5 %\"
Limits: peak, live, total, blocks, temporary, copied, grows.

A check of the peak fails only if the peak exceeds its limit by more than its error bound.
Exit status: 0 if every check passed, 1 if a check failed, 2 for misuse or unreadable input.")]
pub(crate) struct Check {
    /// Read limits from a TOML file
    #[arg(long, value_name = "BUDGET.toml")]
    pub(crate) budget: Option<PathBuf>,
    /// Fail if peak, live, total or blocks exceed those of an earlier recording by more than
    /// --tolerance. May be given several times; the check then uses the medians
    #[arg(long, value_name = "BASE")]
    pub(crate) against: Vec<PathBuf>,
    /// Read symbols of the earlier recordings from this executable, if the executable has moved;
    /// it must be the same build
    #[arg(long, value_name = "PATH", requires = "against")]
    pub(crate) base_binary: Option<PathBuf>,
    /// Allow this much growth over --against. A few KiB are always allowed unless this is 0
    /// [default: the tolerance in the budget, else 5%]
    #[arg(long, value_name = "PERCENT", requires = "against", value_parser = values::percent())]
    pub(crate) tolerance: Option<f64>,
    /// Compare with --against per record or per byte of input, where phases state their input
    #[arg(long, value_name = "PER", requires = "against", value_parser = values::word(Per::ALL, Per::name))]
    pub(crate) per: Option<Per>,
    /// Fail if the peak exceeds this size
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_peak: Option<u64>,
    /// Fail if the bytes live at exit exceed this size
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_live: Option<u64>,
    /// Fail if the bytes allocated in total exceed this size
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_total: Option<u64>,
    /// Fail if the number of allocations exceeds this
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    pub(crate) max_blocks: Option<u64>,
    /// Fail if the bytes in temporary blocks exceed this size
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_temporary: Option<u64>,
    /// Fail if the bytes copied by growth exceed this size. They depend on the allocator, so
    /// --allow-copied is required
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_copied: Option<u64>,
    /// Fail if the number of growing reallocations exceeds this
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    pub(crate) max_grows: Option<u64>,
    /// Fail if more than N bytes are live at the peak for each byte of input that the phases state
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::ratio())]
    pub(crate) max_amplification: Option<f64>,
    /// Fail if live bytes grow by more than this between --from and --to: a size, a size per
    /// second such as `10KiB/s`, or a percentage of what was live at --from
    #[arg(long, value_name = "SIZE|SIZE/s|%", allow_hyphen_values = true, value_parser = values::growth())]
    pub(crate) max_growth: Option<MostGrowth>,
    #[command(flatten)]
    pub(crate) between: Between,
    /// Accept limits on bytes copied by growth, although these depend on the allocator
    #[arg(long)]
    pub(crate) allow_copied: bool,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print JSON instead of text
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown instead of text, for a comment on a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}
