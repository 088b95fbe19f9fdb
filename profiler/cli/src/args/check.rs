//! The flags of `heapglass check`.

use std::path::PathBuf;

use clap::Args;
use heapglass_profiler::diff::Per;

use super::{Input, values};

/// Fail if a recording exceeds a budget, or an earlier recording
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass check app.hg --max-peak 30MiB --max-blocks 200000
  heapglass check app.hg --budget budget.toml
  heapglass check app.hg --against before.hg --tolerance 2%
  heapglass check app.hg --budget budget.toml --markdown -o comment.md

A budget is a TOML file:
  [total]                               the whole program
  peak = \"30 MiB\"
  [total.per_record]                    or per_input_byte, as phases state their input
  blocks = 8.5
  [phase.\"load\"]                        also owner, type and field: \"PATTERN\"
  total = \"12 MiB\"
  [field.\"Catalog.products[].**\"]       * stays within one step, ** does not
  blocks = 120000
  [against]                             allowed growth, for --against
  tolerance = \"5 %\"
Limits: peak, live, total, blocks, temporary, copied, grows.

A peak that is over its limit by no more than its error bound does not fail.
Exit status: 0; 1 = a check failed; 2 = misuse or unreadable input.")]
pub(crate) struct Check {
    /// Limits in a TOML file
    #[arg(long, value_name = "BUDGET.toml")]
    pub(crate) budget: Option<PathBuf>,
    /// An earlier recording: peak, live, total and blocks may exceed it by --tolerance. May be given several times; the
    /// median counts
    #[arg(long, value_name = "BASE")]
    pub(crate) against: Vec<PathBuf>,
    /// Allowed growth; a few KiB are always allowed unless this is 0 [default: 5%, or as the budget says]
    #[arg(long, value_name = "PERCENT", requires = "against", value_parser = values::percent())]
    pub(crate) tolerance: Option<f64>,
    /// With --against: compare figures for each record or byte of input, where phases state them
    #[arg(long, value_name = "PER", requires = "against", value_parser = values::word(Per::ALL, Per::name))]
    pub(crate) per: Option<Per>,
    /// Maximum of bytes live at once
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_peak: Option<u64>,
    /// Maximum of bytes live at exit
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_live: Option<u64>,
    /// Maximum of bytes allocated in total
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_total: Option<u64>,
    /// Maximum of blocks allocated in total
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    pub(crate) max_blocks: Option<u64>,
    /// Maximum of bytes in temporary blocks
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_temporary: Option<u64>,
    /// Maximum of bytes copied by growth; depends on the allocator, see --allow-copied
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::bytes())]
    pub(crate) max_copied: Option<u64>,
    /// Maximum number of growing reallocations
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    pub(crate) max_grows: Option<u64>,
    /// Check limits on bytes copied by growth, though they depend on the allocator
    #[arg(long)]
    pub(crate) allow_copied: bool,
    #[command(flatten)]
    pub(crate) input: Input,
    /// JSON instead of text
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Markdown instead of text, for a comment on a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}
