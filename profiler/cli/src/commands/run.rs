//! `heapglass run`: runs and observes a command, then prints a summary to standard error.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use heapglass_profiler::profile::Profile;
use heapglass_profiler::snapshot::Snapshot;
use heapglass_profiler::{Early, Session};
use heapglass_tui::{Options, Source};
use tracking_alloc_recording::mode;

use crate::args::{DEFAULT_PATTERN, Run, Symbols};
use crate::error::Error;
use crate::executable::recorded_itself;
use crate::files::first_free;
use crate::files::spool::Spool;
use crate::open;
use crate::preload::{Choice, Plan};
use crate::summary::{self, Form};
use crate::supervise::{self, Finished, lock};
use crate::terminal::{self, has_terminal};
use crate::{jit_names, no_effect};

pub(super) fn run(args: &Run) -> Result<u8, Error> {
    let pattern = args.out.pattern()?;
    let mut command = supervise::command(&args.command)
        .ok_or_else(|| Error::misuse("no command to run; use heapglass run -- COMMAND"))?;
    if let Some(mode) = &args.mode {
        command.env("HEAPGLASS_MODE", mode);
    }
    let samples = args.mode.as_deref().and_then(mode::from_name) == Some(mode::SAMPLE);
    if samples && args.snapshots.snapshot.is_some() {
        return Err(Error::misuse(
            "a snapshot needs every block, and --mode sample does not know them all; drop one of both",
        ));
    }
    if let Some(bytes) = args.sample_bytes {
        command.env("HEAPGLASS_SAMPLE_BYTES", bytes.to_string());
    }
    if args.sample_counts {
        command.env("HEAPGLASS_SAMPLE_COUNTS", "1");
    }
    if !args.own.is_empty() {
        command.env(supervise::OWN_CRATES, args.own.join(","));
    }
    if args.jit_names {
        jit_names::ask(&mut command);
    }
    let executable = executable(&args.command);
    let plan = match &executable {
        Some(executable) => Plan::of(executable, choice(args))?,
        None => Plan::default(),
    };
    plan.apply(&mut command);
    let mut spool = Spool::new(&pattern, args.out.force)?;
    if plan.preloads() {
        spool.prefer(recorded_itself);
    }
    if args.children {
        spool.keep_replaced();
    }
    let mut log_path = None;
    if args.tui {
        let (log, path) = log_beside(&pattern)?;
        let unusable = format!("cannot use the log file {}", path.display());
        let copy = log.try_clone().map_err(Error::wrap(unusable))?;
        command.stdin(Stdio::null()).stdout(copy).stderr(log);
        log_path = Some(path);
    }
    let running = supervise::start(
        command,
        spool,
        "HEAPGLASS_OUT",
        &args.snapshots,
        args.window,
    )?;
    let finished = match &log_path {
        Some(path) => watch(running, program_name(&args.command), path)?,
        None => running.wait()?,
    };
    keep_names(&finished, args.jit_names);
    let run = summary::Run {
        name: program_name(&args.command),
        how: plan.how.as_deref(),
        preloads: plan.preloads(),
        own: &args.own,
        command: &args.command,
        executables: executable.as_slice(),
        finished: &finished,
    };
    let form = if args.json {
        Form::Json
    } else if args.quiet {
        Form::Quiet
    } else {
        Form::Text
    };
    finished.interruptible(|| summary::write(&run, form));
    Ok(finished.ended.status())
}

/// Keeps the names of generated code in the recordings.
fn keep_names(finished: &Finished, asked: bool) {
    match jit_names::keep(&finished.kept, asked) {
        Ok(0) if asked => no_effect::warn(
            "--jit-names",
            "no names of generated code were found for the recorded stacks; Node, Python (3.12 and later) and Java (17 and later) write them",
        ),
        Ok(_) => {}
        Err(error) => terminal::eprint_line(format_args!("heapglass: {error}")),
    }
}

fn choice(args: &Run) -> Choice {
    if args.no_preload {
        Choice::Never
    } else if args.preload || args.children {
        Choice::Always {
            with_children: args.children,
        }
    } else {
        Choice::ByProgram
    }
}

fn program_name(command: &[OsString]) -> String {
    let program = command.first().map(Path::new);
    let name = program.and_then(|path| path.file_name().or(Some(path.as_os_str())));
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the file that the first word of the command refers to.
fn executable(command: &[OsString]) -> Option<PathBuf> {
    let program = Path::new(command.first()?);
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&folders).map(|folder| folder.join(program));
    candidates.find(|candidate| candidate.is_file())
}

/// Creates the file for the output of the command while the UI uses the terminal: `RECORDING.log`,
/// with a number if that is taken. Removes the percent signs of patterns.
fn log_beside(pattern: &Path) -> Result<(File, PathBuf), Error> {
    if !has_terminal() {
        return Err(Error::misuse(
            "--tui needs a terminal on standard input and output; run without --tui and open the recording later",
        ));
    }
    let stem = if pattern == Path::new(DEFAULT_PATTERN) {
        PathBuf::from(format!("heapglass-run-{}", std::process::id()))
    } else {
        PathBuf::from(pattern.to_string_lossy().replace('%', ""))
    };
    let log = first_free(1000, |attempt| {
        let mut path = stem.clone().into_os_string();
        path.push(match attempt {
            0 => ".log".to_owned(),
            number => format!(".{number}.log"),
        });
        let path = PathBuf::from(path);
        File::create_new(&path).map(|file| (file, path))
    });
    let stem = stem.display();
    log.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::misuse(format_args!(
            "there are too many log files named {stem}.*.log; remove some"
        )),
        _ => Error::misuse(format_args!(
            "cannot write the command's output to {stem}.log: {error}; give another path with --out"
        )),
    })
}

/// Shows the recording of the command while it runs, then waits for the command to end.
fn watch(running: supervise::Running, name: String, log: &Path) -> Result<Finished, Error> {
    let source = Live {
        name,
        recordings: Arc::clone(&running.recordings),
        session: open::session(&Symbols::default()),
        live: true,
        taken: Vec::new(),
    };
    if let Err(error) = heapglass_tui::run(source, Options::from_env()).map_err(Error::misuse) {
        terminal::eprint_line(format_args!("heapglass: {error}"));
    }
    terminal::eprint_line(format_args!(
        "heapglass: the command's output is in {}",
        log.display()
    ));
    if running.is_running() {
        terminal::eprint_line(
            "heapglass: the command is still running; waiting for it to end (Ctrl-C ends it)",
        );
    }
    running.wait()
}

/// The first recording of a running command.
struct Live {
    name: String,
    recordings: Arc<Mutex<Spool>>,
    session: Session,
    live: bool,
    /// The snapshots that were taken meanwhile, if no run keeps them beside the recording.
    taken: Vec<Snapshot>,
}

impl Live {
    fn path(&self) -> Option<PathBuf> {
        lock(&self.recordings).first_recording().map(Path::to_owned)
    }
}

impl Source for Live {
    fn title(&self) -> String {
        self.path()
            .map_or_else(|| self.name.clone(), |path| path.display().to_string())
    }

    fn load(&mut self, progress: &dyn Fn(&str), _: Option<Early<'_>>) -> Result<Profile, String> {
        loop {
            let over = lock(&self.recordings).is_settled();
            if let Some(path) = self.path() {
                let profile = open::open_quietly(&mut self.session, &path, progress, None);
                // While a recording is being moved, it may be missing for a moment.
                if profile.is_ok() || over {
                    self.live = !over;
                    let mut profile = profile.map_err(|error| error.to_string())?;
                    open::add_taken(&mut profile, &self.taken);
                    return Ok(profile);
                }
            } else if over {
                return Err("the command recorded nothing".to_owned());
            }
            progress("waiting for the command's first allocation");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_live(&self) -> bool {
        self.live
    }

    #[cfg(target_os = "linux")]
    fn snapshot(&mut self) -> Result<String, String> {
        let path = self.path().ok_or("no snapshot: nothing is recorded yet")?;
        let taken = crate::snapshots::take_into_file(&path, &Symbols::default());
        let (text, snapshot) = taken.map_err(|error| error.to_string())?;
        self.taken.push(snapshot);
        Ok(text)
    }
}
