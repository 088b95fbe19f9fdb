//! The command line of `cargo heapglass`.

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser, Subcommand};

use super::{Out, Runner, TakeSnapshots};

/// The arguments of `cargo heapglass`.
#[derive(Debug, Parser)]
#[command(
    name = "cargo heapglass",
    bin_name = "cargo heapglass",
    version,
    about = "Build a program for profiling, run it, record it and explore the recording",
    after_help = "\
Builds into target/heapglass and adds frame pointers and `debug = \"limited\"` to
your own rustflags and profile. Records each program that cargo runs, but not cargo
itself, build scripts or macros. On a terminal, `run` then opens the recording.
You may put the options above anywhere before `--`.

Examples:
  cargo heapglass run --release -- input.json
  cargo heapglass run --release --no-tui -o app.hg --force
  cargo heapglass run --release --snapshot --types
  cargo heapglass test --test load
  cargo heapglass bench -p parser
  cargo heapglass build --release",
    max_term_width = 100
)]
pub(crate) struct CargoCli {
    /// Do not open the terminal UI after `run`
    #[arg(long)]
    pub(crate) no_tui: bool,
    #[command(flatten)]
    pub(crate) out: Out,
    #[command(flatten)]
    pub(crate) snapshots: TakeSnapshots,
    /// Build with the layouts of types (`debug = "full"`), by which snapshots name fields, B-trees
    /// and the locals of async functions
    #[arg(long)]
    pub(crate) types: bool,
    #[command(subcommand)]
    pub(crate) command: CargoCommand,
}

impl CargoCli {
    /// Parses the arguments of `cargo heapglass`. Ends the process on `--help`, `--version` and
    /// misuse.
    pub(crate) fn parse_words(words: impl Iterator<Item = OsString>) -> CargoCli {
        CargoCli::parse_from(ours_first(words.collect()))
    }

    /// Returns the command line for manual pages and completions, which are found by the name of
    /// the program.
    pub(crate) fn for_shells() -> clap::Command {
        CargoCli::command()
            .name("cargo-heapglass")
            .display_name("cargo-heapglass")
    }
}

/// Moves the options of `cargo heapglass` that stand before `--` to the front. Clap passes
/// everything after the first unknown argument to cargo.
fn ours_first(words: Vec<OsString>) -> Vec<OsString> {
    // Options of the executable that the runner runs are not ours.
    if words.get(1).is_some_and(|word| word == "runner") {
        return words;
    }
    let mut words = words.into_iter();
    let mut ours: Vec<OsString> = words.next().into_iter().collect();
    let mut cargos = Vec::new();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--no-tui" | "--force" | "--snapshot" | "--force-snapshot" | "--types") => {
                ours.push(word);
            }
            Some("-o" | "--out") => ours.extend([Some(word), words.next()].into_iter().flatten()),
            Some(text) if text.starts_with("--out=") || text.starts_with("--snapshot=") => {
                ours.push(word);
            }
            Some("--") => {
                // Directly after the command, clap drops one `--` and keeps the next one.
                if cargos.len() == 1 {
                    cargos.push(word.clone());
                }
                cargos.push(word);
                break;
            }
            _ => cargos.push(word),
        }
    }
    ours.extend(cargos);
    ours.extend(words);
    ours
}

/// A command of cargo.
#[derive(Debug, Subcommand)]
pub(crate) enum CargoCommand {
    /// Build and record a program, like `cargo run`
    #[command(visible_alias = "r")]
    Run(CargoArgs),
    /// Build and record tests, like `cargo test`: one recording per test binary
    #[command(visible_alias = "t")]
    Test(CargoArgs),
    /// Build and record benchmarks, like `cargo bench`: one recording per benchmark binary
    Bench(CargoArgs),
    /// Build for profiling, like `cargo build`, and print the paths of the binaries for `heapglass
    /// run`
    #[command(visible_alias = "b")]
    Build(CargoArgs),
    #[command(hide = true)]
    Runner(Runner),
}

/// Arguments for cargo and the program.
#[derive(Args, Debug)]
pub(crate) struct CargoArgs {
    /// Arguments for the cargo command and, after `--`, for the program
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CARGO ARGS"
    )]
    pub(crate) arguments: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_after_two_dashes_reach_cargo_with_the_dashes() {
        let words = ["cargo heapglass", "run", "--release", "--", "-x"];
        let CargoCommand::Run(run) = CargoCli::try_parse_from(words).unwrap().command else {
            panic!("not run");
        };
        assert_eq!(run.arguments, ["--release", "--", "-x"]);
    }

    #[test]
    fn two_dashes_reach_cargo_whatever_stands_before_them() {
        for before in [
            "",
            "--release ",
            "--no-tui ",
            "-o a.hg ",
            "-p app --force -o a.hg ",
        ] {
            for verb in ["run", "test", "bench", "t"] {
                let line = format!("heapglass {verb} {before}-- -x -- --no-tui");
                let words = line.split(' ').map(OsString::from).collect();
                let cli = CargoCli::try_parse_from(ours_first(words)).unwrap();
                let (CargoCommand::Run(args)
                | CargoCommand::Test(args)
                | CargoCommand::Bench(args)) = cli.command
                else {
                    panic!("{line}");
                };
                let rest = ["--", "-x", "--", "--no-tui"].map(OsString::from);
                assert!(
                    args.arguments.ends_with(&rest),
                    "{line}: {:?}",
                    args.arguments
                );
                assert!(!cli.no_tui || before == "--no-tui ", "{line}");
            }
        }
    }

    #[test]
    fn options_of_cargo_heapglass_may_stand_anywhere_before_two_dashes() {
        let words = "heapglass run --release --no-tui -o a.hg --snapshot=exit -p app --force -- -o b --no-tui"
            .split(' ')
            .map(OsString::from)
            .collect();
        let cli = CargoCli::try_parse_from(ours_first(words)).unwrap();
        assert!(cli.no_tui && cli.out.force);
        assert_eq!(cli.out.out, Some("a.hg".into()));
        assert!(
            cli.snapshots
                .snapshot
                .is_some_and(|moments| moments.at_exit)
        );
        let CargoCommand::Run(run) = cli.command else {
            panic!("not run");
        };
        let rest = ["--release", "-p", "app", "--", "-o", "b", "--no-tui"];
        assert_eq!(run.arguments, rest);
        let runner: Vec<OsString> = ["x", "runner", "app", "--force"].map(OsString::from).into();
        assert_eq!(ours_first(runner.clone()), runner);
    }
}
