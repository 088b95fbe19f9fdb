//! The user's cargo configuration and the settings added to it: frame pointers, and a runner around
//! theirs.
//!
//! `CARGO_ENCODED_RUSTFLAGS` overrides every other source of rustflags. So this module first
//! determines the flags that cargo would have used, and passes them before ours.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::Command;

use cargo_config2::Config;

use super::runner;
use crate::error::Error;

/// The compiler flags that profiling needs.
const FLAGS: [&str; 2] = ["-C", "force-frame-pointers=yes"];

/// Adds what profiling needs to the environment of a cargo command, after the settings that cargo
/// would have used for the given targets, else for the configured target or the host.
///
/// # Errors
/// Returns an error if the configuration cannot be read, if the targets have different rustflags or
/// runners, or if the path of this executable is unknown or unusable for cargo.
pub(super) fn apply(command: &mut Command, targets: &[String]) -> Result<(), Error> {
    let unreadable = Error::wrap("cannot read cargo's configuration (.cargo/config.toml)");
    let config = Config::load().map_err(&unreadable)?;
    let targets = config
        .build_target_for_config(targets.iter().map(String::as_str))
        .map_err(&unreadable)?;
    let mut settings = None;
    let mut triples: Vec<&str> = Vec::new();
    for target in &targets {
        let theirs = config.rustflags(target).map_err(&unreadable)?;
        let mut flags = theirs.unwrap_or_default();
        FLAGS.iter().for_each(|flag| flags.push(*flag));
        let rustflags = flags.encode().map_err(&unreadable)?;
        let of_target = (rustflags, config.runner(target).map_err(&unreadable)?);
        if *settings.get_or_insert_with(|| of_target.clone()) != of_target {
            return Err(Error::misuse(format_args!(
                "cargo's configuration has different rustflags or runners for {} and {}; \
                 pass one --target at a time",
                triples.join(", "),
                target.triple()
            )));
        }
        triples.push(target.triple());
    }
    let none = || {
        Error::misuse("cargo's configuration names no target to build for; pass one with --target")
    };
    let (rustflags, inner) = settings.ok_or_else(none)?;
    command.env("CARGO_ENCODED_RUSTFLAGS", rustflags);
    let unknown = "cannot find the heapglass executable, which cargo needs as its runner";
    let me = runner_path(std::env::current_exe().map_err(Error::wrap(unknown))?)?;
    for triple in triples {
        let name = triple.to_uppercase().replace(['-', '.'], "_");
        // Cargo splits this string at spaces, see `runner_path`.
        let variable = format!("CARGO_TARGET_{name}_RUNNER");
        command.env(variable, format!("{me} runner"));
    }
    command.env_remove(runner::INNER);
    if let Some(inner) = inner {
        let words = std::iter::once(inner.path.as_os_str())
            .chain(inner.args.iter().map(|word| word.as_os_str()));
        command.env(runner::INNER, runner::encode(words)?);
    }
    Ok(())
}

/// Returns the path of this executable as a runner. Cargo splits the words at spaces and has no
/// quoting.
fn runner_path(me: PathBuf) -> Result<String, Error> {
    let refuse = |why, me: &dyn Display| {
        Error::misuse(format_args!(
            "cargo cannot use {me} as its runner, because the path {why}; install heapglass elsewhere"
        ))
    };
    match me.into_os_string().into_string() {
        Ok(me) if !me.contains(char::is_whitespace) => Ok(me),
        Ok(me) => Err(refuse("contains spaces", &me)),
        Err(me) => Err(refuse("is not UTF-8", &me.display())),
    }
}
