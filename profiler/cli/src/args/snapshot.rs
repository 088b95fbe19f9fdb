//! The flags of `heapglass snapshot`, and those of `heapglass run` about snapshots.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Symbols;

/// Take a snapshot of a running program: who holds its heap, and how full it is
///
/// The program makes a paused copy of itself at its next allocations and goes on. Heapglass reads the
/// copy and ends it. Writes a file that has the recording so far, its symbols and the snapshot; open it
/// like a recording.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass snapshot 1234
  heapglass snapshot app-1234.hg -o full.hgs")]
pub(crate) struct Snapshot {
    /// Process ID of the program, or its recording
    #[arg(value_name = "PID|FILE")]
    pub(crate) target: PathBuf,
    /// Write to this file; `-` is standard output [default: ./PROGRAM-PID.hgs, with a number if that
    /// is taken]
    #[arg(short, long, value_name = "OUT.hgs")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceSnapshot,
    /// Wait at most this many seconds until the program makes the copy
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) wait: u64,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

impl Snapshot {
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

/// The flag for sandboxes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ForceSnapshot {
    /// Take snapshots even if the program has a filter of system calls that may kill it for making a
    /// copy of itself
    #[arg(long)]
    pub(crate) force_snapshot: bool,
}
