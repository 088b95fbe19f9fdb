//! One file per command. Each checks its flags, calls the profiler or the terminal UI, and prints
//! the result.

mod advise;
mod attach;
mod check;
mod compare_allocators;
mod completions;
mod diff;
mod export;
mod flamegraph;
mod list;
mod man;
mod merge;
mod pack;
#[cfg(feature = "parquet")]
mod parquet;
mod pause;
mod preload;
#[cfg(feature = "serve")]
mod push;
mod report;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod set;
mod snapshot;
mod tui;

use crate::args::{Cli, Command};
use crate::demo;
use crate::error::Error;
use crate::explore::show_file;

/// Runs the given command and returns the exit status.
pub(crate) fn dispatch(cli: Cli) -> Result<u8, Error> {
    match cli.command {
        Some(Command::Run(args)) => return run::run(&args),
        Some(Command::Check(args)) => return check::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Advise(args)) => advise::run(&args),
        Some(Command::Attach(args)) => attach::run(&args),
        Some(Command::Detach(args)) => attach::end(&args),
        Some(Command::Snapshot(args)) => snapshot::run(&args),
        Some(Command::Pause(args)) => pause::run(&args.target, args.wait, true),
        Some(Command::Resume(args)) => pause::run(&args.target, args.wait, false),
        Some(Command::Set(args)) => set::run(&args),
        Some(Command::Flamegraph(args)) => flamegraph::run(&args),
        Some(Command::Diff(args)) => diff::run(&args),
        Some(Command::CompareAllocators(args)) => compare_allocators::run(&args),
        Some(Command::Tui(args)) => tui::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => serve::run(&args),
        #[cfg(feature = "serve")]
        Some(Command::Push(args)) => push::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::Pack(args)) => pack::run(&args),
        Some(Command::Preload(_)) => preload::run(),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man(args)) => man::run(&args),
        None => match cli.file {
            Some(file) => show_file(&file, &cli.symbols),
            None => list::run(&cli.symbols, cli.json),
        },
    }
    .map(|()| 0)
}
