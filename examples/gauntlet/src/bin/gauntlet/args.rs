//! The words of the command line.

use clap::{Parser, Subcommand, ValueEnum};
use heapglass_gauntlet::Pass;
use std::path::PathBuf;

/// Every technique of the sources, run, profiled and compared.
#[derive(Debug, Parser)]
#[command(
    name = "gauntlet",
    bin_name = "cargo gauntlet",
    after_help = "Examples:\n  \
        cargo gauntlet list                              one line a case\n  \
        cargo gauntlet run 3.7                           one case\n  \
        cargo gauntlet run s3 --markdown -o s3.md        one source, as Markdown\n  \
        cargo gauntlet run all --quick --json            everything, a tenth of the size\n  \
        cargo gauntlet run 3.7 --with heapglass,dhat     two instruments, a row each\n  \
        cargo gauntlet open 3.7 typed                    its recording in the terminal UI\n  \
        cargo gauntlet fetch && cargo gauntlet run data  real files\n\n\
        Exit status: 0 = done, 1 = a variant failed, 2 = misuse or what was asked for is not there."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// One line a case: its number, the system, what the source says.
    List {
        /// A source (s0 to s4), or data: those on fetched files. Without it, all sources.
        group: Option<String>,
    },
    /// Runs cases, each variant in processes of its own, and prints what was found.
    Run(RunOptions),
    /// Fetches the real files of the cases in group data with npm, checks them and keeps them in the user's cache.
    Fetch,
    /// Runs all cases several times and writes measured.md, corrections.md and the pictures of the gauntlet's page.
    Publish(PublishOptions),
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
    /// Numbers of cases (3.7), sources (s0 to s4), all of them (all), or those on fetched files (data).
    #[arg(required = true)]
    pub(crate) cases: Vec<String>,
    /// The instruments that count, a row each: named twice or with commas between. The first one's figures are judged.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "heapglass")]
    pub(crate) with: Vec<With>,
    /// The inner allocator of variants that do not name their own.
    #[arg(long, value_enum, default_value_t = Allocator::Glibc)]
    pub(crate) allocator: Allocator,
    /// Timed processes of each variant, interleaved.
    #[arg(long, default_value_t = 9)]
    pub(crate) rounds: usize,
    /// A tenth of the work, not the sources' sizes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Counts only, no timed processes.
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

impl RunOptions {
    /// Cases under heapglass, as they are published.
    pub(crate) fn published(options: &PublishOptions) -> Self {
        RunOptions {
            cases: options.cases.clone(),
            with: vec![With::Heapglass],
            allocator: Allocator::Glibc,
            rounds: options.rounds,
            quick: options.quick,
            no_times: false,
            json: false,
            markdown: true,
            output: None,
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PublishOptions {
    /// Numbers of cases or sources, as of `run`.
    #[arg(default_value = "all")]
    pub(crate) cases: Vec<String>,
    /// How often everything is run: verdicts that are not the same each time are told.
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: usize,
    /// Also measures WebAssembly anew first, in node and in the browsers that are installed (examples/wasm/run --publish).
    #[arg(long)]
    pub(crate) browsers: bool,
    /// Timed processes of each variant in each run, interleaved.
    #[arg(long, default_value_t = 9)]
    pub(crate) rounds: usize,
    /// A tenth of the work, to try the command.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The folder to write to; without it, that of the gauntlet's page.
    #[arg(long)]
    pub(crate) into: Option<PathBuf>,
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
