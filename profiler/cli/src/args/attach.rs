//! The flags of `heapglass attach` and `heapglass detach`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValue;
use tracking_alloc_recording::mode;

use super::values;

/// Record a program that runs already, until Ctrl-C
///
/// Nothing needs to be prepared: the library that `heapglass run` preloads is loaded into the
/// running program (by ptrace, on x86-64 with glibc), and all its allocations from then on are
/// recorded. One thread is stopped for a few milliseconds. Blocks from before are not known, and
/// programs that it starts are not recorded.
///
/// Ctrl-C, or the end of --duration, detaches: the recording is finished, a summary is printed, and
/// the program goes on as before. Without a terminal and without --duration, the command returns at
/// once and prints the path of the recording; `heapglass detach` ends it. If heapglass is killed,
/// the program goes on, and so does its recording.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass attach 1234
  sudo heapglass attach server --duration 60 -o server.hg
  heapglass attach 1234 --mode exact            every event, not samples
  heapglass attach 1234 < /dev/null && heapglass detach 1234")]
pub(crate) struct Attach {
    /// Process ID of the program, or its name if one process has it
    #[arg(value_name = "PID|NAME")]
    pub(crate) target: String,
    /// Choose what to record. `sample`: a sample of the events, which costs almost nothing and gives
    /// estimates with intervals. `exact`: every event with its stack
    #[arg(long, value_name = "MODE", default_value = "sample", value_parser = modes())]
    pub(crate) mode: String,
    /// Take one sample for each SIZE bytes allocated, on average [default: 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = values::sample_bytes)]
    pub(crate) sample_bytes: Option<u64>,
    /// Detach after SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = values::time())]
    pub(crate) duration: Option<Duration>,
    /// Write the recording to this file; if there is one, the recording gets a number [default: the
    /// name of the program in the working directory, as `app-1234.hg`]
    #[arg(short, long, value_name = "OUT.hg")]
    pub(crate) output: Option<PathBuf>,
    /// Attach even if the program has a filter of system calls (seccomp) that may kill it for this
    #[arg(long)]
    pub(crate) force: bool,
}

/// Returns the values of `--mode`.
fn modes() -> [PossibleValue; 2] {
    [mode::SAMPLE, mode::EXACT].map(|wanted| {
        let mut names = mode::NAMES.iter();
        let name = names.find(|(number, _)| *number == wanted);
        PossibleValue::new(name.map_or("", |(_, name)| name))
    })
}

/// Finish the recording of `heapglass attach`
///
/// The program goes on as before. Prints a summary of the recording.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass detach 1234
  heapglass detach server")]
pub(crate) struct Detach {
    /// Process ID of the program, or its name if one process has it
    #[arg(value_name = "PID|NAME")]
    pub(crate) target: String,
    /// Detach even if the program has a filter of system calls (seccomp)
    #[arg(long)]
    pub(crate) force: bool,
}
