//! The flags of `heapglass pause` and `heapglass resume`, and those of `heapglass run` about the
//! time that is recorded.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValue;
use tracking_alloc_recording::mode;

use super::values;

/// Pause the recording of a running program
///
/// The program goes on. The pause begins at one of its next allocations. From then on, new blocks
/// are not recorded; frees of recorded blocks still are. The recording keeps the times of its
/// pauses, and reports list them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass pause 1234
  heapglass pause app-1234.hg")]
pub(crate) struct Pause {
    /// Process ID of the program, or its recording
    #[arg(value_name = "PID|FILE")]
    pub(crate) target: PathBuf,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// The wait for a program that follows at its next allocations.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Wait at most this many seconds until the program has followed
    #[arg(long = "wait", value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
}

impl Wait {
    pub(crate) fn patience(self) -> Duration {
        Duration::from_secs(self.seconds)
    }
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
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// Change the mode of a running program's recording
///
/// The program records samples from one of its next allocations on. The figures of the recording
/// are estimates from then on, with the exact figures from before. A recording cannot become exact
/// again, because blocks that were not sampled are unknown.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass set 1234 --mode sample
  heapglass set app-1234.hg --mode sample --sample-bytes 64KiB")]
pub(crate) struct Set {
    /// Process ID of the program, or its recording
    #[arg(value_name = "PID|FILE")]
    pub(crate) target: PathBuf,
    /// Mode to change to
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) mode: String,
    /// Take one sample for each SIZE bytes allocated, on average [default: as before, else 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = values::sample_bytes)]
    pub(crate) sample_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// Returns the values of `--mode`. A recording can change to samples alone; for the other modes,
/// the command says why not.
fn modes() -> [PossibleValue; 3] {
    mode::NAMES.map(|(number, name)| PossibleValue::new(name).hide(number != mode::SAMPLE))
}

/// The time that `heapglass run` records.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// Record nothing in the first SECONDS of the command. Blocks from before are not known later,
    /// so their frees are not counted
    #[arg(long, value_name = "SECONDS", value_parser = values::time())]
    pub(crate) delay: Option<Duration>,
    /// Record for SECONDS, then pause. The command goes on to its end
    #[arg(long, value_name = "SECONDS", value_parser = values::time())]
    pub(crate) duration: Option<Duration>,
}
