//! The flags of `heapglass merge`.

use std::path::PathBuf;

use clap::Args;

/// Add up many recordings of one build and mode, as one recording that every command reads
///
/// All figures are sums, and peaks are sums of peaks, which the programs reached at different
/// times. Sampled recordings keep valid intervals. What belongs to single programs is left out:
/// timelines, marks, checkpoints, snapshots, measured values and resident memory. Recordings of
/// other builds, modes or layout versions are refused.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass merge host-*.hg -o fleet.hg
  heapglass merge monday.hg tuesday.hg -o week.hg   merged recordings can be merged again
  heapglass report fleet.hg --by owner")]
pub(crate) struct Merge {
    /// Recordings to add up
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Describe the merged recording as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
}
