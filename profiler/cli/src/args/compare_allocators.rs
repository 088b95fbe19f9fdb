//! The flags of `heapglass compare-allocators`.

use std::ffi::OsString;

use clap::Args;
use clap::builder::RangedU64ValueParser;

/// Run a command with several allocators, to see which one takes least time and memory
///
/// Records one run with each allocator, then measures the time of runs without a recording, in
/// turns. Prints the median time, the peak, what the allocator adds to the requested bytes, and the
/// resident memory at most and at exit.
///
/// An allocator is preloaded as a shared library, which replaces malloc of the whole process. In a
/// program with `TrackingAlloc::chosen()`, Rust code uses the allocator of that name that is
/// compiled into the program. The command runs several times with empty input, and its output is
/// thrown away.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass compare-allocators -- target/release/app in.json
  heapglass compare-allocators --with glibc,jemalloc --runs 9 -- target/release/app in.json
  heapglass compare-allocators --with glibc,/opt/lib/libtcmalloc.so -- python3 script.py
  heapglass compare-allocators --json -- target/release/app | jq '.allocators[].time_ns'

An allocator that is not there, or that the command does not use, is named below the table.
Exit status: 0 if at least one allocator was measured, else 2.")]
pub(crate) struct CompareAllocators {
    /// Compare these allocators: `glibc` (the system's), `jemalloc`, `mimalloc`, `tcmalloc`, or
    /// the path of a shared library; separated by commas
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "glibc,jemalloc,mimalloc"
    )]
    pub(crate) with: Vec<String>,
    /// Measure the time of this many runs with each allocator
    #[arg(long, value_name = "N", default_value = "5", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub(crate) runs: usize,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}
