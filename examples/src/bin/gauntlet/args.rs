//! The words of the command line.

use clap::{Parser, Subcommand, ValueEnum};
use heapglass_examples::gauntlet::Pass;
use std::path::PathBuf;

/// Every technique of the sources, run, profiled and compared.
#[derive(Debug, Parser)]
#[command(
    name = "gauntlet",
    bin_name = "cargo gauntlet",
    after_help = "Examples:\n  cargo gauntlet list\n  cargo gauntlet run 0.2\n  cargo gauntlet run s3 --markdown -o s3.md\n  \
                  cargo gauntlet run all --quick --json\n  cargo gauntlet run 3.7 --with dhat\n  cargo gauntlet open 3.7"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// One line a case: its number, the system, what the source says.
    List,
    /// Runs cases, each variant in processes of its own, and prints what was found.
    Run(RunOptions),
    /// Opens the recording that the last run of a case left, in the terminal UI.
    Open {
        /// The case's number, such as 3.7.
        case: String,
        /// One of its variants; the baseline if none is named.
        variant: Option<String>,
    },
    /// One variant, in this process.
    #[command(hide = true)]
    Child(Child),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunOptions {
    /// Numbers of cases (3.7), sources (s0 to s4), or all.
    #[arg(required = true)]
    pub(crate) cases: Vec<String>,
    /// The instrument that counts.
    #[arg(long, value_enum, default_value_t = With::Heapglass)]
    pub(crate) with: With,
    /// The inner allocator of variants that do not name their own.
    #[arg(long, value_enum, default_value_t = Allocator::Glibc)]
    pub(crate) allocator: Allocator,
    /// Timed processes of each variant, interleaved.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// A tenth of the work: a quick look, not the sources' sizes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Counts only, no times.
    #[arg(long)]
    pub(crate) no_times: bool,
    /// As JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// As Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Writes to this file instead of standard output.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
}

/// An instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum With {
    /// A recording of heapglass, exact.
    Heapglass,
    /// dhat-rs below it.
    Dhat,
    /// stats_alloc below it.
    StatsAlloc,
    /// Nothing counts: times and resident size alone.
    System,
}

/// An inner allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allocator {
    Glibc,
    Jemalloc,
    Mimalloc,
}

/// The word clap knows a value by.
pub(crate) fn word(value: impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct Child {
    pub(crate) case: String,
    pub(crate) variant: String,
    #[arg(long, value_enum)]
    pub(crate) pass: PassWord,
    #[arg(long)]
    pub(crate) with: String,
    #[arg(long)]
    pub(crate) divisor: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassWord {
    Count,
    Time,
    Share,
}

impl From<PassWord> for Pass {
    fn from(word: PassWord) -> Pass {
        match word {
            PassWord::Count => Pass::Count,
            PassWord::Time => Pass::Time,
            PassWord::Share => Pass::Share,
        }
    }
}
