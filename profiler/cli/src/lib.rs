//! The `heapglass` and `cargo heapglass` commands, as a library so that both binaries share one of everything.
//!
//! | module | what happens there |
//! |---|---|
//! | `args` | the command line as it is typed |
//! | `commands` | one file a command: flags checked, work handed to the profiler or the TUI |
//! | `supervise` | running a command: signals, exit status, out of memory |
//! | `files` | what is written, where recordings go, which there are |
//! | `summary` | what a run leaves on standard error |
//! | `cargo` | `cargo heapglass`: flags, profile and runner for cargo |
//! | `demo` | the input of `heapglass demo` and the program that is recorded |
//!
//! No figure is computed here: every one comes from the profile, so that the command, the SVG and the TUI agree.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod args;
mod cargo;
mod commands;
mod demo;
mod error;
mod files;
mod no_effect;
mod open;
mod summary;
mod supervise;
mod terminal;

use std::process::ExitCode;

use error::Error;

/// The `heapglass` command: parses the process's arguments, does it, and says how to exit.
///
/// Ends the process itself for `--help`, `--version` and misuse (status 2), as clap does.
pub fn heapglass() -> ExitCode {
    if let Some(target) = demo::as_target(std::env::args_os()) {
        return answer(target);
    }
    answer(args::parse().and_then(commands::dispatch))
}

/// The `cargo heapglass` command, given as `cargo-heapglass heapglass ..` by cargo or called by itself.
pub fn cargo_heapglass() -> ExitCode {
    let words = std::env::args_os()
        .enumerate()
        .filter(|(at, word)| !(*at == 1 && word == "heapglass"))
        .map(|(_, word)| word);
    answer(cargo::dispatch(args::CargoCli::parse_words(words)))
}

fn answer(result: Result<u8, Error>) -> ExitCode {
    let status = result.unwrap_or_else(|error| {
        terminal::eprint_line(format_args!("heapglass: {error}"));
        error.status
    });
    ExitCode::from(status)
}
