//! The command line as it is typed: every flag and its help.
//!
//! Only spelling lives here: what flags mean together is checked by each command.

mod cargo;
mod check;
mod diff;
mod export;
mod values;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand};
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::By;
use tracking_alloc_recording::mode;

use crate::error::Error;

pub(crate) use cargo::{CargoArgs, CargoCli, CargoCommand};
pub(crate) use check::Check;
pub(crate) use diff::Diff;
pub(crate) use export::Export;

const EXAMPLES: &str = "\
Examples:
  heapglass demo                               a complete example, nothing to prepare
  heapglass run -- target/release/app in.json  record a program, see a summary
  heapglass app-1234.hg                        explore, also while it runs
  heapglass report app-1234.hg --json          the same figures for scripts
  heapglass flamegraph app-1234.hg -o app.svg  a picture to share
  heapglass export app-1234.hg --to pprof -o app.pb.gz
                                               for go tool pprof, DHAT, speedscope ..
  heapglass diff before.hg after.hg            what a change cost or saved
  heapglass check app.hg --max-peak 30MiB      fail when it takes more
  cargo heapglass run --release -- in.json     build with what profiling needs,
                                               record, explore

Exit status: 0; 1 = a check failed; 2 = misuse or unreadable input; of `run` that
of the command.";

/// `heapglass`.
#[derive(Debug, Parser)]
#[command(
    name = "heapglass",
    version,
    about = "A heap profiler for Rust: which call sites, types and fields own the heap",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// A recording to explore, as `heapglass tui FILE`. None: choose among those here and recent ones
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
    /// List recordings as JSON instead of choosing one
    #[arg(long, conflicts_with = "file")]
    pub(crate) json: bool,
}

/// Parses the process's arguments. Ends the process itself for `--help`, `--version` and misuse, as clap does.
///
/// # Errors
/// When the first word reads like a command, and is none.
pub(crate) fn parse() -> Result<Cli, Error> {
    let parsed = Cli::try_parse();
    // NOTE: clap takes a mistyped command for FILE, and complains about what follows it.
    let has_command = parsed.as_ref().is_ok_and(|cli| cli.command.is_some());
    let first = std::env::args_os().nth(1).filter(|_| !has_command);
    match first.and_then(|word| misspelt(&word)) {
        Some(error) => Err(error),
        None => Ok(parsed.unwrap_or_else(|error| error.exit())),
    }
}

/// What to say of a word that is neither a command nor a file but reads like a command.
fn misspelt(word: &OsStr) -> Option<Error> {
    let text = word.to_str().filter(|text| !text.starts_with('-'))?;
    let mut cli = Cli::command();
    cli.build();
    if cli.find_subcommand(text).is_some() || Path::new(word).symlink_metadata().is_ok() {
        return None;
    }
    let alike = |name: &str| strsim::jaro(name, text);
    let command = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .max_by(|one, other| alike(one).total_cmp(&alike(other)))?;
    (alike(command) > 0.7).then(|| {
        Error::misuse(format_args!(
            "{text}: neither a command nor a file; did you mean `heapglass {command}`?"
        ))
    })
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Report(Report),
    Flamegraph(Flamegraph),
    Diff(Diff),
    Check(Check),
    Tui(Tui),
    Export(Export),
    Pack(Pack),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Run a command and record it
///
/// Its standard input and output are left alone, signals are passed on, and its exit status becomes that of heapglass (128 +
/// number when a signal killed it). A summary and every recording it left, those of child processes included, go to
/// standard error. Live recordings lie in $XDG_RUNTIME_DIR or /dev/shm when twice HEAPGLASS_MAX_BYTES is free there,
/// under a link at the path they get in the end.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass run -- target/release/app --its-own-flag
  heapglass run --out load.hg -- target/release/app < input.json > output.json
  heapglass run --tui -- target/release/server")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) out: Out,
    /// How to record: `exact` is every event with its stack; `count` is every event without stacks, for less: totals, peak,
    /// phases, fields and arenas
    #[arg(long, value_name = "MODE", value_parser = mode::NAMES.map(|(_, name)| name))]
    pub(crate) mode: Option<String>,
    /// Explore while it runs; what the command prints goes to a log file beside the recording
    #[arg(long)]
    pub(crate) tui: bool,
    /// Print no summary, only what went wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The summary as one line of JSON, on standard error; also with --quiet
    #[arg(long)]
    pub(crate) json: bool,
    /// Treat only this crate as your own code, and keep that in the recording; may be given several times [default: $HEAPGLASS_OWN,
    /// names with commas between; else every crate whose sources lie outside registries, git checkouts and the toolchain]
    #[arg(long, value_name = "CRATE")]
    pub(crate) own: Vec<String>,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

/// Print a recording's figures: text, or JSON for scripts
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass report app.hg
  heapglass report app.hg --measure total --top 5
  heapglass report app.hg --by owner           which of your functions
  heapglass report app.hg --by type            what blocks hold
  heapglass report app.hg --by field           where in the data, of Profiled<T>
  heapglass report app.hg --by phase           with bytes for each byte of input
  heapglass report app.hg --by thread --json | jq '.rows[0]'

Values that the program measured with footprint(..) stand below every report.")]
pub(crate) struct Report {
    /// What a row is: a call site, the function that owns the blocks, what blocks hold, a place in data deserialized as
    /// Profiled<T>, a function (itself and with all that it calls), a crate, a loaded image, a thread, a phase, or an
    /// arena (figures inside it)
    #[arg(long, value_name = "BY", default_value = "site", value_parser = values::word(By::ALL, By::name))]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) measure: MeasureFlag,
    /// Most rows [default: 10 in text, all in JSON]
    #[arg(long, value_name = "N", value_parser = values::top())]
    pub(crate) top: Option<usize>,
    /// Say what the columns mean, and all that is known of each row: its stack, sizes, lifetimes, growth
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) frames: FramesFlag,
    /// JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}

/// Draw a recording as a flamegraph, one SVG to look at in a browser
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass flamegraph app.hg -o app.svg
  heapglass flamegraph app.hg -o fields.svg --by field
  heapglass flamegraph app.hg -o cities.svg --by arena --arena cities
  heapglass flamegraph app.hg -o - --measure total --inverted > churn.svg")]
pub(crate) struct Flamegraph {
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "OUT.svg")]
    pub(crate) output: PathBuf,
    /// What a frame is: a function on the stack, a field of data deserialized as Profiled<T>, what blocks hold, or an
    /// arena and what lies inside it
    #[arg(long, value_name = "BY", default_value = "stack", value_parser = values::word(flamegraph::By::ALL, flamegraph::By::name))]
    pub(crate) by: flamegraph::By,
    /// By arena: only the one of that name
    #[arg(long, value_name = "NAME")]
    pub(crate) arena: Option<String>,
    /// What is measured, as in `report` [default: peak; by arena live, total where no arena holds anything]
    #[arg(long, value_name = "MEASURE", value_parser = values::word(Measure::ALL, Measure::name))]
    pub(crate) measure: Option<Measure>,
    /// Allocations at the top, their callers (what is around them, by field and type) below
    #[arg(long)]
    pub(crate) inverted: bool,
    /// Phases as the outermost frames
    #[arg(long)]
    pub(crate) phases: bool,
    /// Only this phase and what lies inside it: its name, or its path as `report --by phase` says it
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) frames: FramesFlag,
    /// Say what was drawn as JSON, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explore a recording in the terminal; live when its program still runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass tui app.hg
  heapglass tui after.hg --base before.hg   every figure with its change since BASE")]
pub(crate) struct Tui {
    /// A recording to compare with: tables get a column of changes, the flamegraph is red where there is more and blue
    /// where there is less
    #[arg(long, value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,
    /// The executable that BASE ran, if it is not where it was; must be of the same build
    #[arg(long, value_name = "PATH", requires = "base")]
    pub(crate) base_binary: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) measure: MeasureFlag,
    #[command(flatten)]
    pub(crate) input: Input,
}

/// Make a recording self-contained: with symbols, inlined frames and source lines, to take away from CI or a container
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  heapglass pack app.hg -o app.packed.hg    where the binary is")]
pub(crate) struct Pack {
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Say what was packed as JSON, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Profile real input with nothing to prepare: what `cargo metadata` says of this workspace, deserialized twice
///
/// Once into types, counted by field, and once into `serde_json::Value`; both are then measured. Writes
/// heapglass-demo-PID.hg and .svg into the current folder, then explores the recording on a terminal or prints
/// the report elsewhere. Outside a workspace the input is generated.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the report even on a terminal
    #[arg(long)]
    pub(crate) no_tui: bool,
}

/// Print a completion script for a shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page of heapglass, or write those of all commands into a folder
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass man | man -l -
  heapglass man -o ~/.local/share/man/man1     then: man heapglass-export")]
pub(crate) struct Man {
    /// A folder for heapglass.1, heapglass-run.1 and so on; it is made if there is none
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Run an executable for cargo: what `cargo heapglass` puts in front of each
#[derive(Args, Debug)]
pub(crate) struct Runner {
    /// The executable and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

/// Where recordings go.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Out {
    /// Write the recording here; %p, %e and %t stand for process id, program and start time. A path that is taken
    /// gets a suffix, NAME-PID.hg [default: $HEAPGLASS_OUT, else ./%e-%p.hg]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a recording that has the path of --out; one that is still written keeps it
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

/// What figures to order by and to draw.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MeasureFlag {
    /// What is measured: bytes live at the peak, live at exit, bytes or blocks allocated in total, bytes of
    /// temporary blocks, bytes copied by growth, or how often blocks grew
    #[arg(long = "measure", value_name = "MEASURE", default_value = "peak", value_parser = values::word(Measure::ALL, Measure::name))]
    pub(crate) measure: Measure,
}

/// The recording that is read.
#[derive(Args, Debug)]
pub(crate) struct Input {
    /// The recording
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

/// Where symbols come from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Symbols {
    /// The executable that ran, if it is not where it was; must be of the same build
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Option<PathBuf>,
    /// A folder with separate debug information; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Treat only this crate as your own code; may be given several times [default: those that the recording names, else
    /// those whose sources lie outside registries, git checkouts and the toolchain]
    #[arg(long, value_name = "CRATE")]
    pub(crate) own: Vec<String>,
}

impl Symbols {
    /// The same for another recording, of another binary.
    pub(crate) fn with_binary(&self, binary: &Option<PathBuf>) -> Symbols {
        Symbols {
            binary: binary.clone(),
            ..self.clone()
        }
    }
}

/// Which frames count.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FramesFlag {
    /// Which frames of a stack are shown: `folded`, where a run of frames outside your crates is one frame that says what
    /// it does; `own`, only those of your crates; `all`; `trimmed`, all but start-up and the machinery of the allocator
    #[arg(long, value_name = "FRAMES", default_value = "folded", value_parser = values::word(Frames::ALL, Frames::name))]
    #[arg(default_value_if("keep_all", "true", "all"))]
    pub(crate) frames: Frames,
    #[arg(
        long = "keep-all",
        id = "keep_all",
        hide = true,
        conflicts_with = "frames"
    )]
    _keep_all: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_flag_is_consistent_with_every_other() {
        Cli::command().debug_assert();
        CargoCli::command().debug_assert();
    }

    #[test]
    fn a_bare_file_is_explored_and_a_command_is_a_command() {
        let cli = Cli::try_parse_from(["heapglass", "x.hg"]).unwrap();
        assert_eq!(cli.file, Some(PathBuf::from("x.hg")));
        let cli = Cli::try_parse_from(["heapglass", "tui", "x.hg"]).unwrap();
        assert!(matches!(cli.command, Some(Command::Tui(_))));
    }

    #[test]
    fn flags_of_the_command_to_run_stay_its_own() {
        for words in [
            &["heapglass", "run", "--out", "a", "--", "p", "--out", "b"][..],
            &["heapglass", "run", "--out", "a", "p", "--out", "b"],
        ] {
            let Some(Command::Run(run)) = Cli::try_parse_from(words).unwrap().command else {
                panic!("not run");
            };
            assert_eq!(run.command, ["p", "--out", "b"]);
            assert_eq!(run.out.out, Some("a".into()));
        }
    }

    #[test]
    fn the_measure_of_a_flamegraph_is_known_from_one_not_given() {
        let words = ["heapglass", "flamegraph", "x", "-o", "-", "--by", "arena"];
        let Some(Command::Flamegraph(given)) = Cli::try_parse_from(words).unwrap().command else {
            panic!("not flamegraph");
        };
        assert_eq!((given.by.name(), given.measure), ("arena", None));
    }

    #[test]
    fn what_is_not_built_is_not_offered() {
        for words in [
            &["heapglass", "report", "x", "--by", "stack"][..],
            &["heapglass", "run", "--mode", "sample", "--", "p"],
            &["heapglass", "flamegraph", "x", "-o", "-", "--by", "site"],
            &["heapglass", "report", "x", "--top", "0"],
            &["heapglass", "run", "--force", "--", "p"],
        ] {
            let error = Cli::try_parse_from(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}");
        }
    }
}
