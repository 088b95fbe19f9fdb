//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use heapglass_gauntlet::Pass;
use std::path::PathBuf;

/// Run, profile and compare every technique of the sources
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
    /// List the cases, one per line: number, system, claim of the source
    List {
        /// A source (s0 to s4), or `data` for the cases on fetched files; all sources by default
        group: Option<String>,
    },
    /// Run cases, each variant in its own processes, and print the results
    Run(RunOptions),
    /// Fetch the real files of the group `data` with npm, check them and keep them in the user's
    /// cache
    Fetch,
    /// Run all cases several times and write measured.md, corrections.md and the pictures of the
    /// gauntlet's page
    Publish(PublishOptions),
    /// Predict savings with `advise` from cases without a technique, apply the technique, and write
    /// predicted.md of the gauntlet's page
    Predict(PredictOptions),
    /// Open the recording of the last run of a case in the terminal UI
    Open {
        /// The case's number, such as 3.7
        case: String,
        /// One of its variants; the baseline by default
        variant: Option<String>,
    },
    /// Run one variant, in this process
    #[command(hide = true)]
    Child(Child),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunOptions {
    /// Numbers of cases (3.7), sources (s0 to s4), `all` sources, or `data` for the cases on
    /// fetched files
    #[arg(required = true)]
    pub(crate) cases: Vec<String>,
    /// Instruments that count, one row each; repeat the flag or separate them with commas. The
    /// figures of the first are judged
    #[arg(long, value_enum, value_delimiter = ',', default_value = "heapglass")]
    pub(crate) with: Vec<With>,
    /// Inner allocator of variants that do not name their own
    #[arg(long, value_enum, default_value_t = Allocator::Glibc)]
    pub(crate) allocator: Allocator,
    /// Number of timed processes of each variant, interleaved
    #[arg(long, default_value_t = 9)]
    pub(crate) rounds: usize,
    /// Do a tenth of the work, instead of the sources' sizes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only count; run no timed processes
    #[arg(long)]
    pub(crate) no_times: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write to this file instead of standard output
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// The build whose processes run; `None` for this one.
    #[arg(skip)]
    pub(crate) build: Option<PathBuf>,
}

impl RunOptions {
    /// The options for published runs: cases under heapglass.
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
            build: None,
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PublishOptions {
    /// Numbers of cases or sources, as for `run`
    #[arg(default_value = "all")]
    pub(crate) cases: Vec<String>,
    /// Number of runs of each build; the page names verdicts that differ between runs
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: usize,
    /// Also run this program, a build of the same source with other settings; the intervals cover
    /// both builds, and verdicts that differ between them are not judged
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) second: Option<PathBuf>,
    /// Measure WebAssembly again first, in node and in the installed browsers (examples/wasm/run
    /// --publish)
    #[arg(long)]
    pub(crate) browsers: bool,
    /// Number of timed processes of each variant in each run, interleaved
    #[arg(long, default_value_t = 9)]
    pub(crate) rounds: usize,
    /// Do a tenth of the work, to try the command
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write to this folder instead of the folder of the gauntlet's page
    #[arg(long)]
    pub(crate) into: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictOptions {
    /// Numbers of cases; all cases with a remedy by default
    pub(crate) cases: Vec<String>,
    /// Do a tenth of the work
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON instead of writing the page
    #[arg(long)]
    pub(crate) json: bool,
    /// Write to this folder instead of the folder of the gauntlet's page
    #[arg(long)]
    pub(crate) into: Option<PathBuf>,
}

/// An instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum With {
    /// An exact recording of heapglass
    Heapglass,
    /// dhat-rs as the inner allocator
    Dhat,
    /// stats_alloc as the inner allocator
    StatsAlloc,
    /// No instrument: only times and resident size
    System,
}

/// An inner allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allocator {
    Glibc,
    Jemalloc,
    Mimalloc,
}

/// Returns the word for this value on the command line.
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
    Hold,
}

impl From<PassWord> for Pass {
    fn from(word: PassWord) -> Pass {
        match word {
            PassWord::Count => Pass::Count,
            PassWord::Time => Pass::Time,
            PassWord::Share => Pass::Share,
            PassWord::Hold => Pass::Hold,
        }
    }
}
