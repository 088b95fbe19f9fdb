//! `heapglass demo`: records real input without any preparation.
//!
//! The recorded program is this binary itself, run again as the target, because its allocator is
//! TrackingAlloc.

mod input;
mod target;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use heapglass_profiler::flamegraph::write_svg;
use heapglass_profiler::question::Question;
use heapglass_profiler::report::{ReportOptions, write_json, write_text};
use heapglass_profiler::units::Bytes;

use crate::args::{Demo, Symbols, TakeSnapshots, Window};
use crate::error::Error;
use crate::explore::show_file;
use crate::files::leftovers::{Kind, Leftover};
use crate::files::output::Output;
use crate::files::spool::Spool;
use crate::terminal::{self, has_terminal};
use crate::{open, supervise};

/// The first arguments that make this binary the target of the demo.
const TARGET: [&str; 2] = ["demo", "--target"];

/// Runs the target of the demo if the arguments are `heapglass demo --target INPUT`, which no help
/// text mentions. This happens before any other parsing, so that the recording shows only
/// allocations of the target.
pub(crate) fn as_target(words: impl Iterator<Item = OsString>) -> Option<Result<u8, Error>> {
    let mut words = words.skip(1);
    let is_target = TARGET
        .iter()
        .all(|word| words.next().is_some_and(|given| given == *word));
    let input = words.next().filter(|_| is_target)?;
    Some(target::run(Path::new(&input)))
}

/// Runs the demo.
pub(crate) fn run(args: &Demo) -> Result<(), Error> {
    let stem = format!("heapglass-demo-{}", std::process::id());
    let wanted = PathBuf::from(format!("{stem}.hg"));
    let picture = PathBuf::from(format!("{stem}.svg"));
    let svg = Output::open(&picture, &[])?;
    let spool = Spool::new(&wanted, false)?;
    let (what, json) = input::of_this_workspace();
    terminal::eprint_line(format_args!(
        "heapglass demo: deserializing {what} ({})",
        Bytes(json.len() as u64)
    ));
    let path = spool.folder().join(".input.json");
    let cannot = format!("cannot write the demo's input to {}", path.display());
    let created = Leftover::create(path, Kind::File, |path| File::create_new(path));
    let (input, mut file) = created.map_err(Error::wrap(cannot.clone()))?;
    file.write_all(json.as_bytes())
        .map_err(Error::wrap(cannot))?;
    drop(file);
    let unknown = "cannot find the heapglass executable";
    let me = std::env::current_exe().map_err(Error::wrap(unknown))?;
    let mut command = Command::new(me);
    command
        .args(TARGET)
        .arg(input.path())
        .env("HEAPGLASS_MODE", "exact")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let (no_snapshots, whole) = (TakeSnapshots::default(), Window::default());
    let finished =
        supervise::start(command, spool, "HEAPGLASS_OUT", &no_snapshots, whole)?.wait()?;
    drop(input);
    if finished.ended.status() != 0 {
        return Err(Error::misuse(format_args!(
            "the demo program {}, which is a bug in heapglass",
            finished.ended
        )));
    }
    let Some(kept) = finished.kept.first() else {
        return Err(Error::misuse(
            "the demo program recorded nothing; recording requires Linux with glibc on x86-64 or aarch64, \
             and the program's own messages are above",
        ));
    };
    let mut question = Question::default();
    question.shape.scopes = true;
    let profile = finished.interruptible(|| {
        let profile = open::open(&kept.path, &Symbols::default())?;
        svg.write(|out| write_svg(&profile, &question, out))?;
        Ok::<_, Error>(profile)
    })?;
    let name = kept.path.file_name().map(PathBuf::from).unwrap_or_default();
    terminal::eprint_line(format_args!(
        "heapglass demo: wrote recording {} and picture {}",
        name.display(),
        picture.display()
    ));
    if has_terminal() && !args.json && !args.no_tui {
        show_file(&kept.path, &Symbols::default())?;
        terminal::eprint_line(format_args!(
            "heapglass demo: to explore the recording again, run heapglass {}",
            name.display()
        ));
        return Ok(());
    }
    let stdout = std::io::stdout();
    let recording = name.display().to_string();
    let options = ReportOptions {
        recording: Some(&recording),
        ..terminal::report_options(&stdout)
    };
    let written = Output::Stdout.write(|out| {
        if args.json {
            write_json(&profile, &options, out)
        } else {
            write_text(&profile, &options, out)
        }
    });
    written.map(drop)
}
