//! The target programs of the tests under `tests/trust`, with one module per test module.

mod figures;
mod files;
mod lifecycle;
mod peak;
mod sandbox;

use std::process::ExitCode;

/// Runs a case. Returns `None` if no case has that name.
pub(super) fn run(name: &str, words: &[&str]) -> Option<ExitCode> {
    figures::run(name, words)
        .or_else(|| files::run(name, words))
        .or_else(|| lifecycle::run(name, words))
        .or_else(|| peak::run(name, words))
        .or_else(|| sandbox::run(name, words))
}
