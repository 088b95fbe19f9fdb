//! `cargo heapglass run|test|bench`: cargo itself does the building, choosing and running; this room gives it flags,
//! a profile, a target folder and a runner.
//!
//! Must never take anything away from the user's own configuration: flags are added behind theirs, their runner still
//! runs, and a profile with more debug information keeps it. Must never record cargo, build scripts or macros.

mod arguments;
mod profile;
pub(crate) mod runner;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use heapglass_profiler::profile::Measure;

use crate::args::{CargoArgs, CargoCli, CargoCommand, Symbols};
use crate::commands::run::{DEFAULT_PATTERN, remember};
use crate::commands::tui;
use crate::error::Error;
use crate::files::place::Spool;
use crate::say;
use crate::summary::{self, Form, Run, Shown};
use crate::supervise;
use arguments::Arguments;
use settings::Settings;

/// Does what the command line says; the answer is the exit status.
pub(crate) fn dispatch(cli: CargoCli) -> Result<u8, Error> {
    match cli.command {
        CargoCommand::Run(args) => run("run", &args, !cli.no_tui),
        CargoCommand::Test(args) => run("test", &args, false),
        CargoCommand::Bench(args) => run("bench", &args, false),
        CargoCommand::Runner(args) => runner::run(&args),
    }
}

fn run(verb: &'static str, args: &CargoArgs, explore: bool) -> Result<u8, Error> {
    let arguments = Arguments::parse(&args.arguments)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let workspace = workspace(&cargo, &arguments)?;
    let settings = Settings::load(&arguments.targets)?;
    let mut command = Command::new(&cargo);
    command.arg(verb);
    for flag in profile::flags(verb, &arguments, &workspace.root) {
        command.arg("--config").arg(flag);
    }
    let folder = workspace.target.join("heapglass");
    if !arguments.has_target_dir {
        command.arg("--target-dir").arg(&folder);
    }
    command.args(&args.arguments);
    settings.apply(&mut command)?;
    let ran = Ran::new(&folder);
    ran.announce(&mut command);
    // Cargo and what it builds with are not what is studied.
    command.env_remove("HEAPGLASS_OUT");
    let wanted = std::env::var_os("HEAPGLASS_OUT")
        .filter(|pattern| !pattern.is_empty())
        .map_or_else(|| PathBuf::from(DEFAULT_PATTERN), PathBuf::from);
    let spool = Spool::new(&wanted)?;
    let finished = supervise::start(command, spool, runner::OUT)?.wait()?;
    let executables = ran.executables();
    if executables.is_empty() && finished.kept.is_empty() {
        // Nothing was run: cargo said why, or was not asked to.
        return Ok(finished.ended.status());
    }
    remember(&finished);
    let mut words = vec![OsString::from("cargo"), OsString::from(verb)];
    words.extend(args.arguments.iter().cloned());
    let described = Run {
        name: format!("cargo {verb}"),
        shown: if verb == "run" {
            Shown::First
        } else {
            Shown::Largest
        },
        command: &words,
        executables: &executables,
        finished: &finished,
    };
    let guard = finished.interruptible();
    summary::write(&described, Form::Text);
    // The terminal UI has its own way with signals: it must leave the terminal as it was.
    drop(guard);
    if explore
        && tui::has_terminal()
        && let Some(first) = finished.kept.first()
        && let Err(error) = tui::show_file(&first.path, &Symbols::default(), Measure::Peak)
    {
        // The program's status stays what it is.
        say::line(format_args!("heapglass: {error}"));
    }
    Ok(finished.ended.status())
}

struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

/// Asks cargo where the workspace and its target folder are.
fn workspace(cargo: &OsString, arguments: &Arguments) -> Result<Workspace, Error> {
    let mut command = cargo_metadata::MetadataCommand::new();
    command.cargo_path(cargo).no_deps();
    if let Some(path) = &arguments.manifest_path {
        command.manifest_path(path);
    }
    let metadata = command.exec().map_err(|error| {
        let text = error.to_string();
        let text = text.trim_start_matches("`cargo metadata` exited with an error: ");
        Error::misuse(format_args!(
            "cargo cannot read the workspace: {}",
            text.trim_start_matches("error: ").trim()
        ))
    })?;
    Ok(Workspace {
        root: metadata.workspace_root.into(),
        target: metadata.target_directory.into(),
    })
}

/// The list of executables that the runner ran.
struct Ran(PathBuf);

impl Ran {
    fn new(folder: &Path) -> Ran {
        // Without the folder nothing was ever built there; the list is a convenience.
        let _ = std::fs::create_dir_all(folder);
        let path = folder.join(format!(".ran-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Ran(path)
    }

    fn announce(&self, command: &mut Command) {
        command.env(runner::RAN, &self.0);
    }

    fn executables(&self) -> Vec<PathBuf> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let mut paths: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
