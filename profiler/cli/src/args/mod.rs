//! The command line: every flag with its help text.
//!
//! This module defines flags. Which questions have an answer is a table of the profiler (see
//! [`Ask`]); each command checks which of its other flags can be combined.

mod advise;
mod ask;
mod attach;
mod cargo;
mod check;
mod compare_allocators;
mod diff;
mod export;
mod groups;
mod merge;
mod pause;
#[cfg(feature = "serve")]
mod push;
#[cfg(feature = "serve")]
mod serve;
mod snapshot;
mod values;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::table::By;
use tracking_alloc_recording::mode;

use crate::error::Error;

pub(crate) use advise::Advise;
pub(crate) use ask::{Ask, AskFigures, snapshot_of};
pub(crate) use attach::{Attach, Detach};
pub(crate) use cargo::{CargoArgs, CargoCli, CargoCommand};
pub(crate) use check::Check;
pub(crate) use compare_allocators::CompareAllocators;
pub(crate) use diff::Diff;
pub(crate) use export::{Export, ExportTo};
pub(crate) use merge::Merge;
pub(crate) use pause::{Pause, Resume, Set, Wait, Window};
#[cfg(feature = "serve")]
pub(crate) use push::{Push, Receiver};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use snapshot::{Moments, Snapshot, TakeSnapshots};

const EXAMPLES: &str = "\
Examples:
  heapglass demo                               see a complete example
  heapglass run -- target/release/app in.json  record a program, print a summary
  heapglass app-1234.hg                        explore, even while the program runs
  heapglass report app-1234.hg --json          get the same figures for scripts
  heapglass advise app-1234.hg                 list changes that save memory
  heapglass attach 1234                        record a program that runs already
  heapglass snapshot 1234                      see who holds the heap of a running program
  heapglass flamegraph app-1234.hg -o app.svg  draw a picture to share
  heapglass export app-1234.hg --to pprof -o app.pb.gz
                                               use go tool pprof, DHAT, speedscope, ...
  heapglass serve app-1234.hg                  serve live profiles for pprof, Parca, Prometheus
  heapglass diff before.hg after.hg            see what a change cost or saved
  heapglass check app.hg --max-peak 30MiB      fail if the peak is larger
  heapglass compare-allocators -- ./app        see which allocator takes least time and memory
  cargo heapglass run --release -- in.json     build for profiling, record, explore

Exit status: 0 on success, 1 if a check failed, 2 for misuse or unreadable input.
`heapglass run` exits with the status of the command it ran.";

/// The arguments of `heapglass`.
#[derive(Debug, Parser)]
#[command(
    name = "heapglass",
    version,
    about = "A heap profiler for Rust, and for any other program: which call sites, types and fields own the heap",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Recording to explore, as in `heapglass tui FILE`. Without FILE, choose from the recordings
    /// in this folder and recent ones
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
    /// List recordings as JSON instead of choosing one
    #[arg(long, conflicts_with = "file")]
    pub(crate) json: bool,
}

/// Parses the arguments of the process. Ends the process on `--help`, `--version` and misuse, as
/// clap does.
///
/// # Errors
/// Returns an error if the first argument looks like a misspelt command.
pub(crate) fn parse() -> Result<Cli, Error> {
    let matches = groups::grouped(Cli::command()).try_get_matches();
    let parsed = matches.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    // NOTE: clap takes a misspelt command for FILE, then complains about the next argument.
    let has_command = parsed.as_ref().is_ok_and(|cli| cli.command.is_some());
    let first = std::env::args_os().nth(1).filter(|_| !has_command);
    match first.and_then(|word| misspelt(&word)) {
        Some(error) => Err(error),
        None => Ok(parsed.unwrap_or_else(|error| error.exit())),
    }
}

/// Returns the error for a word that is neither a command nor a file but resembles a command.
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

/// A command with its flags.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Report(Report),
    Advise(Advise),
    Attach(Attach),
    Detach(Detach),
    Snapshot(Snapshot),
    Pause(Pause),
    Resume(Resume),
    Set(Set),
    Flamegraph(Flamegraph),
    Diff(Diff),
    Check(Check),
    CompareAllocators(CompareAllocators),
    Tui(Tui),
    Export(Export),
    #[cfg(feature = "serve")]
    Serve(Serve),
    #[cfg(feature = "serve")]
    Push(Push),
    Merge(Merge),
    Pack(Pack),
    Preload(Preload),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Run a command and record it
///
/// A program that links tracking-alloc records itself. In any other one a preloaded library records
/// malloc and its relatives, of C, C++ and Rust. If the command becomes another program (exec),
/// that program is recorded too; programs that it starts are recorded with --children, or if they
/// link tracking-alloc.
///
/// Leaves the command's standard input and output alone and passes signals on to it. Exits with the
/// command's status, or with 128 + number if a signal killed it. Prints a summary to standard
/// error, with the path of every recording, including those of child processes.
///
/// While a program runs, its recording is kept in $XDG_RUNTIME_DIR or /dev/shm if twice
/// HEAPGLASS_MAX_BYTES is free there. Until the recording is moved to its final path, that path is
/// a link to it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass run -- target/release/app --its-own-flag
  heapglass run --out load.hg -- target/release/app < input.json > output.json
  heapglass run --snapshot -- target/release/app     see who holds the heap at its peak and end
  heapglass run -- python3 script.py                 any program, without a change of it
  heapglass run --delay 10 --duration 5 -- target/release/server
                                                     record 5 seconds, after the first 10
  heapglass run --mode sample -- target/release/server
                                                     estimates, at almost no cost
  heapglass run --tui -- target/release/server")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) out: Out,
    /// Choose what to record. `exact`: every event with its stack. `count`: every event without
    /// its stack, which costs less and still gives totals, peak, phases, fields and arenas.
    /// `sample`: a sample of the events with their stacks, which costs almost nothing and gives
    /// estimates with intervals
    #[arg(long, value_name = "MODE", value_parser = mode::NAMES.map(|(_, name)| name))]
    pub(crate) mode: Option<String>,
    /// Take one sample for each SIZE bytes allocated, on average (512KiB, 64KiB). Fewer bytes give
    /// more exact estimates and cost more [default: 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = values::sample_bytes)]
    pub(crate) sample_bytes: Option<u64>,
    /// Count blocks and frees exactly while samples are taken, in addition to bytes allocated
    #[arg(long)]
    pub(crate) sample_counts: bool,
    #[command(flatten)]
    pub(crate) window: Window,
    #[command(flatten)]
    pub(crate) snapshots: TakeSnapshots,
    /// Preload the library that records programs without tracking-alloc even if the command links
    /// it. The library sees malloc and its relatives, of C, C++ and Rust; it needs glibc and a
    /// program that is linked dynamically [default: preload it if the command does not link
    /// tracking-alloc]
    #[arg(long, conflicts_with = "no_preload")]
    pub(crate) preload: bool,
    /// Record only programs that link tracking-alloc
    #[arg(long)]
    pub(crate) no_preload: bool,
    /// Also record the programs that the command starts, by the preloaded library
    #[arg(long, conflicts_with = "no_preload")]
    pub(crate) children: bool,
    /// Ask Node, Python (3.12 and later) and Java for the names of the code that they generate, and
    /// keep the names in the recording. Sets NODE_OPTIONS, PYTHONPERFSUPPORT and JAVA_TOOL_OPTIONS
    /// for the command
    #[arg(long)]
    pub(crate) jit_names: bool,
    /// Explore the recording while the command runs; write the command's output to a log file next
    /// to the recording
    #[arg(long)]
    pub(crate) tui: bool,
    /// Print problems only, no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print the summary as one line of JSON on standard error, even with --quiet
    #[arg(long)]
    pub(crate) json: bool,
    /// Treat only this crate as your own code, and store its name in the recording; may be given
    /// several times [default: $HEAPGLASS_OWN, a list separated by commas; else every crate whose
    /// sources lie outside registries, git checkouts and the toolchain]
    #[arg(long, value_name = "CRATE")]
    pub(crate) own: Vec<String>,
    /// Command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

/// Print the figures of a recording as text, or as JSON for scripts
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass report app.hg
  heapglass report app.hg --measure total --top 5
  heapglass report app.hg --by owner           your functions that own blocks
  heapglass report app.hg --by type            the types that blocks hold
  heapglass report app.hg --by field           the fields of data in Profiled<T>
  heapglass report app.hg --by phase           with bytes per byte of input
  heapglass report app.hg --by thread --json | jq '.rows[0]'
  heapglass report app.hg --by holder          who holds the heap, from a snapshot
  heapglass report app.hg --by type --measure unused --at exit
  heapglass report app.hg --from warm --to end  what grew since the mark `warm`
  heapglass report app.hg --from 10s --to 60s --by owner
  heapglass report app.hg --by holder --explain   also how close together blocks lie")]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) between: Between,
    /// Print at most this many rows [default: 10 in text, 20 by holder, all in JSON]
    #[arg(long, value_name = "N", value_parser = values::top())]
    pub(crate) top: Option<usize>,
    /// Print the details of the recording below the table: the command, all totals, the resident
    /// set, marks, snapshots, and the values that the program measured with footprint(..)
    #[arg(long)]
    pub(crate) details: bool,
    /// Explain the columns, and print the details of each row (stack, sizes, lifetimes and growth)
    /// and of the recording
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) frames: FramesFlag,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}

/// The groupings that have a picture, in the order of the help.
const PICTURES: [By; 5] = [By::Site, By::Field, By::Type, By::Arena, By::Holder];

/// Returns the word of a grouping of a picture.
pub(crate) fn picture_name(by: By) -> &'static str {
    match by {
        By::Site => "stack",
        _ => by.name(),
    }
}

/// Draw a recording as a flamegraph, an SVG for the browser
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass flamegraph app.hg -o app.svg
  heapglass flamegraph app.hg -o fields.svg --by field
  heapglass flamegraph app.hg -o held.svg --by holder
  heapglass flamegraph app.hg -o unused.svg --by holder --measure unused --at exit
  heapglass flamegraph app.hg -o cities.svg --by arena --arena cities
  heapglass flamegraph app.hg -o - --measure total --inverted > churn.svg")]
pub(crate) struct Flamegraph {
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "OUT.svg")]
    pub(crate) output: PathBuf,
    /// Draw frames of this kind. `stack`: the functions on the stack. `field`: the fields of data
    /// deserialized as Profiled<T>. `type`: the types that blocks hold. `arena`: the arenas and
    /// what they hold. `holder`: who holds the heap in a snapshot. With a measure of snapshots,
    /// frames by type or field hold those above them [default: stack; with a measure of snapshots,
    /// holder]
    #[arg(long, value_name = "BY", value_parser = values::word(PICTURES, picture_name))]
    pub(crate) by: Option<By>,
    /// Draw only the arena of this name; needs --by arena. To draw one instance, give it a name of
    /// its own in the program
    #[arg(long, value_name = "NAME")]
    pub(crate) arena: Option<String>,
    #[command(flatten)]
    pub(crate) figures: AskFigures,
    /// Start with what asked for the blocks, and put its callers inside; with --by field or type,
    /// put the enclosing fields or types inside
    #[arg(long)]
    pub(crate) inverted: bool,
    /// Draw the outermost frames at the bottom and what is inside them above, instead of below
    #[arg(long)]
    pub(crate) upwards: bool,
    /// Draw phases as the outermost frames
    #[arg(long)]
    pub(crate) phases: bool,
    /// Draw only this phase and the phases inside it. Takes the phase's name, or its path as
    /// printed by `report --by phase`
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) frames: FramesFlag,
    /// Describe the picture as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explore a recording in the terminal, live while its program runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass tui app.hg
  heapglass tui 1234                        the recording of the running process 1234
  heapglass tui after.hg --base before.hg   show each figure's change since BASE
  heapglass tui app.hg --source-dir ~/app   show and open source files of another folder")]
pub(crate) struct Tui {
    /// Compare with this recording. Tables get a column of changes. The flamegraph is red where
    /// there is more than in BASE, and blue where there is less
    #[arg(long, value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,
    /// Read symbols of BASE from this executable, if the executable has moved; it must be the same
    /// build
    #[arg(long, value_name = "PATH", requires = "base")]
    pub(crate) base_binary: Option<PathBuf>,
    /// Also find sources below this folder; may be given several times. Without this flag, sources
    /// are found below the current folder, and only these can be opened in an editor
    #[arg(long, value_name = "DIR")]
    pub(crate) source_dir: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) measure: MeasureFlag,
    #[command(flatten)]
    pub(crate) input: Input,
}

/// Add symbols, inlined frames and source lines to a recording, so that it can be opened on another
/// machine
#[derive(Args, Debug)]
#[command(after_help = "\
Example, on the machine that has the binary:
  heapglass pack app.hg -o app.packed.hg")]
pub(crate) struct Pack {
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Describe the packed recording as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Record a small program that deserializes the output of `cargo metadata` for this workspace
///
/// The program deserializes its input twice: into types, counted by field, and into
/// `serde_json::Value`. It then measures both values. Writes heapglass-demo-PID.hg and .svg into
/// the current folder. Then explores the recording on a terminal, or prints the report elsewhere.
/// Outside a workspace, the input is generated.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the report even on a terminal
    #[arg(long)]
    pub(crate) no_tui: bool,
}

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass completions bash > ~/.local/share/bash-completion/completions/heapglass
  heapglass completions fish > ~/.config/fish/completions/heapglass.fish
  heapglass completions zsh --cargo > ~/.zfunc/_cargo-heapglass   in a folder of $fpath")]
pub(crate) struct Completions {
    /// Shell that the script is for
    pub(crate) shell: clap_complete::Shell,
    /// Print the script for `cargo-heapglass`. In zsh it also completes `cargo heapglass`
    #[arg(long)]
    pub(crate) cargo: bool,
}

/// Print the path of the library that records programs without tracking-alloc
///
/// For containers and services, where `heapglass run` cannot start the program: copy the library
/// there, and set LD_PRELOAD to its path and HEAPGLASS_OUT to the path of the recording. It records
/// malloc and free of C, C++ and Rust. Programs that the recorded one starts are not recorded
/// unless HEAPGLASS_CHILDREN=1 is set.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  LD_PRELOAD=$(heapglass preload) HEAPGLASS_OUT=app.hg ./app
  cp $(heapglass preload) image/libheapglass.so")]
pub(crate) struct Preload {}

/// Print the manual page of heapglass, or write the pages of all commands to a folder
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass man | man -l -
  heapglass man -o ~/.local/share/man/man1     install the pages; man heapglass-run shows one")]
pub(crate) struct Man {
    /// Write heapglass.1, heapglass-run.1, cargo-heapglass.1 and so on to this folder, which is
    /// created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Run an executable for cargo; `cargo heapglass` configures this as cargo's runner
#[derive(Args, Debug)]
pub(crate) struct Runner {
    /// Executable and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

/// Two moments of a recording.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Between {
    /// Compare live bytes from this moment on, at the nearest checkpoint: the name of a mark, or
    /// of an outermost phase, which stands for its end; a time such as `12s`, `1.5 s` or
    /// `2min`; `start`, `peak` or `end`. If several marks have this name, the first one
    #[arg(long, value_name = "T")]
    pub(crate) from: Option<String>,
    /// Compare live bytes up to this moment. If several marks have this name, up to the last one
    #[arg(long, value_name = "T")]
    pub(crate) to: Option<String>,
}

impl Between {
    pub(crate) fn are_given(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }
}

/// The path for recordings.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Out {
    /// Write the recording to this path; %p is the process id, %e the program and %t the start
    /// time. If the path is taken, it gets a suffix: NAME-PID.hg [default: $HEAPGLASS_OUT, else
    /// ./%e-%p.hg]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite the file at --out, unless it is a recording that a program still writes
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

/// The default path pattern of recordings.
pub(crate) const DEFAULT_PATTERN: &str = "%e-%p.hg";

impl Out {
    /// Returns the path pattern of recordings: from the flag, the environment or the default.
    ///
    /// # Errors
    /// Returns an error if the flag names no file.
    pub(crate) fn pattern(&self) -> Result<PathBuf, Error> {
        match self.out.as_deref() {
            Some(path) if path.as_os_str() == "-" => Err(Error::misuse(
                "cannot write the recording to standard output, which the command uses; name a file with --out",
            )),
            Some(path) if path.as_os_str().is_empty() => Err(Error::misuse(
                "--out is empty; name a file, or omit --out to write ./PROGRAM-PID.hg",
            )),
            Some(path) => Ok(path.to_owned()),
            None => Ok(std::env::var_os("HEAPGLASS_OUT")
                .filter(|pattern| !pattern.is_empty())
                .map_or_else(|| PathBuf::from(DEFAULT_PATTERN), PathBuf::from)),
        }
    }
}

/// The measure to sort and draw by.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MeasureFlag {
    /// Use this measure. `peak`: bytes live at the peak. `live`: bytes live at exit. `total`:
    /// bytes allocated in total. `blocks`: number of allocations. `temporary`: bytes of
    /// temporary blocks. `copied`: bytes copied by growth. `grows`: number of growing
    /// reallocations
    #[arg(long = "measure", value_name = "MEASURE", default_value = "peak", value_parser = values::word(Measure::COUNTED, Measure::name))]
    pub(crate) measure: Measure,
}

/// The recording to read.
#[derive(Args, Debug)]
pub(crate) struct Input {
    /// Recording to read
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

/// The sources of symbols.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Symbols {
    /// Read symbols from this executable, if the executable has moved; it must be the same build
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Option<PathBuf>,
    /// Look for separate debug information in this folder; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Treat only this crate as your own code; may be given several times [default: the crates
    /// that the recording names, else every crate whose sources lie outside registries, git
    /// checkouts and the toolchain]
    ///
    /// In a program in C or C++: treat this function as the owner of its blocks, even if it is a
    /// wrapper of an allocator
    #[arg(long, value_name = "CRATE")]
    pub(crate) own: Vec<String>,
    /// Treat functions with this name as wrappers of an allocator, and charge their blocks to their
    /// callers; may be given several times. `*` stands for any text. Example: --wrapper 'pool_*'
    #[arg(long, value_name = "PATTERN")]
    pub(crate) wrapper: Vec<String>,
}

impl Symbols {
    /// Returns the same sources with another binary.
    pub(crate) fn with_binary(&self, binary: &Option<PathBuf>) -> Symbols {
        Symbols {
            binary: binary.clone(),
            ..self.clone()
        }
    }
}

/// The frames to show.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FramesFlag {
    /// Choose the frames of each stack. `folded`: each run of frames outside your crates becomes
    /// one frame that says what it does. `own`: only frames of your crates. `all`: every frame.
    /// `trimmed`: all except start-up and the allocator's internals
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
        assert_eq!((given.by, given.figures.measure), (Some(By::Arena), None));
    }

    #[test]
    fn what_is_not_built_is_not_offered() {
        for words in [
            &["heapglass", "report", "x", "--by", "stack"][..],
            &["heapglass", "run", "--mode", "fast", "--", "p"],
            &["heapglass", "flamegraph", "x", "-o", "-", "--by", "site"],
            &["heapglass", "report", "x", "--top", "0"],
            &["heapglass", "run", "--force", "--", "p"],
        ] {
            let error = Cli::try_parse_from(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}");
        }
    }
}
