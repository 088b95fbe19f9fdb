//! The flags of `heapglass pause` and `heapglass resume`, and those of `heapglass run` about the
//! time that is recorded.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values;

/// Pause the recording of a running program
///
/// The program goes on. The pause begins when its live bytes next fall from a new maximum or change
/// by 32 KiB. From then on, new blocks are not recorded; frees of recorded blocks still are. The
/// recording keeps the times of its pauses, and reports list them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass pause 1234
  heapglass pause app-1234.hg")]
pub(crate) struct Pause {
    /// Process ID of the program, or its recording
    #[arg(value_name = "PID|FILE")]
    pub(crate) target: PathBuf,
}

/// Record a running program again after `heapglass pause`
///
/// Also ends a pause that the program itself, a signal or `heapglass run --delay` began.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass resume 1234
  HEAPGLASS_PAUSED=1 heapglass run --out app.hg -- ./app & sleep 10; heapglass resume app.hg")]
pub(crate) struct Resume {
    /// Process ID of the program, or its recording
    #[arg(value_name = "PID|FILE")]
    pub(crate) target: PathBuf,
}

/// The time that `heapglass run` records.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// Record nothing in the first SECONDS of the command. Blocks from before are not known later,
    /// so their frees are not counted
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds())]
    pub(crate) delay: Option<Duration>,
    /// Record for SECONDS, then pause. The command goes on to its end
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds())]
    pub(crate) duration: Option<Duration>,
}
