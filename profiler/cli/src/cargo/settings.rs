//! The user's cargo configuration, and what is put behind it: frame pointers, and a runner around theirs.
//!
//! `CARGO_ENCODED_RUSTFLAGS` overrides every other place of rustflags, so the flags that cargo would have used are
//! worked out first and given again in front of ours.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::Command;

use cargo_config2::{Config, PathAndArgs};

use super::runner;
use crate::error::Error;

/// What profiling needs of the code generator.
const FLAGS: [&str; 2] = ["-C", "force-frame-pointers=yes"];

/// What cargo would have used, by target.
#[derive(Debug)]
pub(super) struct Settings {
    rustflags: String,
    targets: Vec<String>,
    runner: Option<PathAndArgs>,
}

impl Settings {
    /// Reads configuration files and environment for the targets given, else the configured or host one.
    ///
    /// # Errors
    /// When the configuration cannot be read, or its targets want different rustflags or runners.
    pub(super) fn load(targets: &[String]) -> Result<Settings, Error> {
        let unreadable = Error::wrap("cannot read cargo's configuration (.cargo/config.toml)");
        let config = Config::load().map_err(&unreadable)?;
        let targets = config
            .build_target_for_config(targets.iter().map(String::as_str))
            .map_err(&unreadable)?;
        let mut settings: Option<Settings> = None;
        for target in targets {
            let triple = target.triple().to_owned();
            let theirs = config.rustflags(&target).map_err(&unreadable)?;
            let mut flags = theirs.unwrap_or_default();
            FLAGS.iter().for_each(|flag| flags.push(*flag));
            let rustflags = flags.encode().map_err(&unreadable)?;
            let runner = config.runner(&target).map_err(&unreadable)?;
            match &mut settings {
                None => {
                    settings = Some(Settings {
                        rustflags,
                        targets: vec![triple],
                        runner,
                    });
                }
                Some(first) if first.rustflags == rustflags && first.runner == runner => {
                    first.targets.push(triple);
                }
                Some(first) => {
                    return Err(Error::misuse(format_args!(
                        "the targets {} and {triple} are configured differently; give one --target at a time",
                        first.targets.join(", ")
                    )));
                }
            }
        }
        settings.ok_or_else(|| Error::misuse("cargo's configuration names no target to build for"))
    }

    /// Puts them into the environment of a cargo command.
    ///
    /// # Errors
    /// When the path of this executable is not known or cannot be given to cargo.
    pub(super) fn apply(&self, command: &mut Command) -> Result<(), Error> {
        command.env("CARGO_ENCODED_RUSTFLAGS", &self.rustflags);
        let unknown = "cannot tell where heapglass itself lies, which cargo is to run";
        let me = runner_path(std::env::current_exe().map_err(Error::wrap(unknown))?)?;
        for target in &self.targets {
            let name = target.to_uppercase().replace(['-', '.'], "_");
            // A string is split at blanks, see `runner_path`.
            let variable = format!("CARGO_TARGET_{name}_RUNNER");
            command.env(variable, format!("{me} runner"));
        }
        command.env_remove(runner::INNER);
        if let Some(theirs) = &self.runner {
            let words = std::iter::once(theirs.path.as_os_str())
                .chain(theirs.args.iter().map(|word| word.as_os_str()));
            command.env(runner::INNER, runner::encode(words)?);
        }
        Ok(())
    }
}

/// The path of this executable as a runner: cargo splits the words at blanks and has no way to quote.
fn runner_path(me: PathBuf) -> Result<String, Error> {
    let refuse = |why, me: &dyn Display| {
        Error::misuse(format_args!(
            "cargo cannot run a runner whose path {why} ({me}); install heapglass elsewhere"
        ))
    };
    match me.into_os_string().into_string() {
        Ok(me) if !me.contains(char::is_whitespace) => Ok(me),
        Ok(me) => Err(refuse("has blanks in it", &me)),
        Err(me) => Err(refuse("is not UTF-8", &me.display())),
    }
}
