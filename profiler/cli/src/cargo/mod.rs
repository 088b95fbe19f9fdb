//! `cargo heapglass run|test|bench|build`. Cargo builds, selects and runs the programs. This module
//! passes it flags, a profile, a target folder and a runner.
//!
//! Preserves the user's configuration: flags are appended to theirs, their runner still runs, and a
//! profile with more debug information keeps it. Never records cargo, build scripts or macros.

mod arguments;
mod metadata;
mod profile;
mod runner;
mod settings;
mod unrecorded;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::SystemTime;

use cargo_metadata::Package;
use heapglass_profiler::units::printable;

use crate::args::{CargoArgs, CargoCli, CargoCommand, Symbols, Window};
use crate::error::Error;
use crate::executable::recorded_itself;
use crate::explore::show_file;
use crate::files::output::Temporary;
use crate::files::since_epoch;
use crate::files::spool::Spool;
use crate::no_effect;
use crate::summary::{self, Form, Run};
use crate::supervise::{self, Finished};
use crate::terminal::{self, has_terminal};
use arguments::Arguments;
use metadata::Declared;
use runner::Started;

/// A command of cargo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Verb {
    Run,
    Test,
    Bench,
    Build,
}

impl Verb {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// Runs the given command and returns the exit status.
pub(crate) fn dispatch(cli: CargoCli) -> Result<u8, Error> {
    let (verb, args) = match &cli.command {
        CargoCommand::Runner(args) => return runner::run(args),
        CargoCommand::Run(args) => (Verb::Run, args),
        CargoCommand::Test(args) => (Verb::Test, args),
        CargoCommand::Bench(args) => (Verb::Bench, args),
        CargoCommand::Build(args) => (Verb::Build, args),
    };
    let arguments = Arguments::parse(&args.arguments)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let workspace = Workspace::ask(&cargo, &arguments)?;
    let debug = if cli.types {
        profile::Debug::Full
    } else {
        profile::Debug::Limited
    };
    let has_recorder = workspace.packages.iter().any(unrecorded::depends);
    let flags = profile::flags(
        verb.name(),
        &arguments,
        &workspace.root,
        debug,
        has_recorder,
    );
    let command = prepare(verb, &cargo, (&arguments, &flags), &workspace, args)?;
    match verb {
        Verb::Build => {
            let out = &cli.out;
            if let Some(path) = &out.out {
                let force = if out.force { " --force" } else { "" };
                let option = format!("--out {}{force}", path.display());
                no_effect::warn(option, "build records nothing");
            }
            build(command)
        }
        _ => run(verb, command, &workspace, args, &cli),
    }
}

/// Returns a cargo command with the settings that profiling needs.
fn prepare(
    verb: Verb,
    cargo: &OsStr,
    (arguments, flags): (&Arguments, &[String]),
    workspace: &Workspace,
    args: &CargoArgs,
) -> Result<Command, Error> {
    let mut command = Command::new(cargo);
    settings::apply(&mut command, &arguments.targets)?;
    command.arg(verb.name());
    for flag in flags {
        command.arg("--config").arg(flag);
    }
    if !arguments.has_target_dir {
        command.arg("--target-dir").arg(&workspace.folder);
    }
    if verb == Verb::Build {
        if arguments.has_message_format {
            return Err(Error::misuse(
                "cargo heapglass build does not support --message-format, because it reads cargo's messages; \
                 leave the option out",
            ));
        }
        command.arg("--message-format=json-render-diagnostics");
    }
    command.args(&args.arguments);
    // Do not record cargo, nor the programs that it builds with.
    command.env_remove("HEAPGLASS_OUT");
    if std::env::var_os(supervise::OWN_CRATES).is_none() && !workspace.declared.own.is_empty() {
        command.env(supervise::OWN_CRATES, &workspace.declared.own);
    }
    Ok(command)
}

/// Builds, and prints the paths of the binaries.
fn build(mut command: Command) -> Result<u8, Error> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::wrap("cannot run cargo"))?;
    let mut commands: Vec<String> = cargo_metadata::Message::parse_stream(&output.stdout[..])
        .filter_map(|message| match message {
            Ok(cargo_metadata::Message::CompilerArtifact(artifact)) => artifact.executable,
            _ => None,
        })
        .map(|binary| summary::quoted(&summary::from_here(binary.as_std_path())))
        .collect();
    commands.dedup();
    for command in &commands {
        terminal::eprint_line(format_args!("heapglass: built {command}"));
    }
    if let Some(command) = commands.last() {
        terminal::eprint_line(format_args!("  next        heapglass run -- {command}"));
    } else if output.status.success() {
        terminal::eprint_line("heapglass: built no binary");
    }
    Ok(status_of(output.status))
}

fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(u8::from(!status.success()))
}

/// Builds and runs the programs, then prints a summary of the recordings.
fn run(
    verb: Verb,
    mut command: Command,
    workspace: &Workspace,
    args: &CargoArgs,
    cli: &CargoCli,
) -> Result<u8, Error> {
    // Without this folder, nothing was ever built there. The list is a convenience.
    let _ = std::fs::create_dir_all(&workspace.folder);
    let list_file = Temporary::beside(&workspace.folder.join("ran"), None).ok();
    let list = list_file.as_ref().map_or(Path::new(""), Temporary::path);
    command.env(runner::RAN, list);
    match verb {
        // `cargo test` also runs each benchmark once.
        Verb::Test => command.env(runner::LISTED, ""),
        Verb::Bench => command.env(runner::LISTED, ": benchmark"),
        Verb::Run | Verb::Build => command.env_remove(runner::LISTED),
    };
    let mut spool = Spool::new(&cli.out.pattern()?, cli.out.force)?;
    if verb == Verb::Run {
        // Others are recorded by the preloaded library.
        spool.prefer(recorded_itself);
    }
    let began = SystemTime::now();
    let whole = Window::default();
    let mut snapshots = cli.snapshots.clone();
    snapshots.containers = workspace.declared.containers.clone();
    let mut finished = supervise::start(command, spool, runner::OUT, &snapshots, whole)?.wait()?;
    let started = runner::started(list);
    if started.is_empty() && finished.kept.is_empty() {
        // Cargo ran nothing, and either gave the reason or was not asked to.
        return Ok(finished.ended.status());
    }
    // Leave the time of the build out.
    let began = since_epoch(began);
    if let Some(first) = started.iter().map(|started| started.at).min() {
        let building = first.saturating_sub(began);
        finished.took = finished.took.saturating_sub(building);
    }
    // The terminal UI handles signals itself, because it must restore the terminal.
    finished.interruptible(|| write_summary(verb, args, &finished, &started, workspace));
    if verb == Verb::Run
        && !cli.no_tui
        && has_terminal()
        && let Some(first) = finished.kept.first()
        && let Err(error) = show_file(&first.path, &Symbols::default())
    {
        // Keep the exit status of the program.
        terminal::eprint_line(format_args!("heapglass: {error}"));
    }
    Ok(finished.ended.status())
}

/// Says how a program without tracking-alloc was recorded, and what tracking-alloc would add.
const PRELOADED: &str = "malloc and free of a program without tracking-alloc, by a preloaded library; \
     tracking-alloc would add phases, marks, fields of deserialized data, arenas, and limits in tests";

fn write_summary(
    verb: Verb,
    args: &CargoArgs,
    finished: &Finished,
    started: &[Started],
    workspace: &Workspace,
) {
    let mut words = vec![OsString::from("cargo"), OsString::from(verb.name())];
    words.extend(args.arguments.iter().cloned());
    let of_tests = verb != Verb::Run;
    let mut programs = started.iter().map(|started| &started.executable);
    let name = match programs.next().and_then(|first| first.file_name()) {
        Some(program) if !of_tests => program.to_string_lossy().into_owned(),
        _ => format!("cargo {}", verb.name()),
    };
    if of_tests && finished.kept.is_empty() {
        let name = printable(&name);
        terminal::eprint_line(format_args!(
            "heapglass: {name} {}; nothing was recorded",
            finished.ended
        ));
    } else {
        let executables: BTreeSet<PathBuf> = started
            .iter()
            .map(|started| started.executable.clone())
            .collect();
        let preloads = started.iter().any(|started| started.is_preloaded);
        let described = Run {
            name,
            how: preloads.then_some(PRELOADED),
            preloads,
            own: &[],
            command: &words,
            executables: &executables.into_iter().collect::<Vec<_>>(),
            finished,
        };
        summary::write(&described, Form::Text);
    }
    if of_tests {
        let recorded: Vec<u32> = finished.kept.iter().map(|kept| kept.pid).collect();
        for line in unrecorded::lines(verb, started, &recorded, workspace) {
            terminal::eprint_line(line);
        }
    }
}

/// The workspace, as described by cargo.
struct Workspace {
    root: PathBuf,
    /// The default folder of builds.
    folder: PathBuf,
    packages: Vec<Package>,
    /// The settings in the Cargo.toml of its packages.
    declared: Declared,
}

impl Workspace {
    fn ask(cargo: &OsStr, arguments: &Arguments) -> Result<Workspace, Error> {
        let mut command = cargo_metadata::MetadataCommand::new();
        command.cargo_path(cargo).no_deps();
        if let Some(path) = &arguments.manifest_path {
            command.manifest_path(path);
        }
        let metadata = command.exec().map_err(|error| {
            let message = error.to_string();
            let cause = message
                .trim_start_matches("`cargo metadata` exited with an error: ")
                .trim_start_matches("error: ")
                .trim();
            Error::misuse(format_args!("cargo cannot read the workspace: {cause}"))
        })?;
        Ok(Workspace {
            declared: metadata::read(&metadata)?,
            root: metadata.workspace_root.into(),
            folder: metadata.target_directory.join("heapglass").into(),
            packages: metadata.packages,
        })
    }
}
