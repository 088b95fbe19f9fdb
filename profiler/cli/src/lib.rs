//! The `heapglass` and `cargo heapglass` commands, as a library that both binaries share.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the command line |
//! | `commands` | one file per command, which checks its flags and calls the profiler or the TUI |
//! | `preload` | the library that is preloaded into other programs |
//! | `push` | profiles to a server |
//! | `serve` | profiles over HTTP |
//! | `supervise` | running a command: signals, exit status, out of memory |
//! | `files` | outputs, paths of recordings, lists of recordings |
//! | `summary` | the summary of a run on standard error |
//! | `cargo` | `cargo heapglass`: flags, profile and runner for cargo |
//! | `executable` | what a program file says of how it can be recorded |
//! | `progress` | the line that says what takes long |
//! | `explore` | showing a recording in the terminal UI |
//! | `snapshots` | snapshots of running programs: their text, file and place in a recording |
//! | `jit_names` | the names of generated code in recordings |
//! | `demo` | the input and the recorded program of `heapglass demo` |
//!
//! This crate computes no figures. All figures come from the profile, so that the command, the SVG
//! and the TUI agree.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod args;
mod cargo;
mod commands;
mod demo;
mod error;
mod executable;
mod explore;
mod files;
mod jit_names;
mod no_effect;
mod open;
mod preload;
mod progress;
#[cfg(feature = "serve")]
mod push;
#[cfg(feature = "serve")]
mod serve;
#[cfg(target_os = "linux")]
mod snapshots;
mod summary;
mod supervise;
mod terminal;

use std::process::ExitCode;

use error::Error;

/// Runs the `heapglass` command with the arguments of the process and returns its exit code.
///
/// Ends the process on `--help`, `--version` and misuse (status 2), as clap does.
pub fn heapglass() -> ExitCode {
    if let Some(target) = demo::as_target(std::env::args_os()) {
        return answer(target);
    }
    answer(args::parse().and_then(commands::dispatch))
}

/// Runs the `cargo heapglass` command, called by cargo as `cargo-heapglass heapglass ..` or
/// directly.
pub fn cargo_heapglass() -> ExitCode {
    let words = std::env::args_os()
        .enumerate()
        .filter(|(at, word)| !(*at == 1 && word == "heapglass"))
        .map(|(_, word)| word);
    answer(cargo::dispatch(args::CargoCli::parse_words(words)))
}

fn answer(result: Result<u8, Error>) -> ExitCode {
    // Threads of the terminal UI may still write a file.
    files::leftovers::remove_all();
    let status = result.unwrap_or_else(|error| {
        terminal::eprint_line(format_args!("heapglass: {error}"));
        error.status
    });
    ExitCode::from(status)
}
