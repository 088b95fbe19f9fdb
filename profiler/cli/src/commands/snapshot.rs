//! `heapglass snapshot`: takes a snapshot of a running program, or of one in a core file.

use crate::args::Snapshot;
use crate::error::Error;

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &Snapshot) -> Result<(), Error> {
    Err(Error::misuse(
        "snapshots can only be taken on Linux; open one that was taken there with heapglass FILE",
    ))
}

#[cfg(target_os = "linux")]
pub(super) fn run(args: &Snapshot) -> Result<(), Error> {
    use crate::files::{live, output::Output};
    use crate::progress::Working;
    use crate::{open, snapshots, terminal};
    use heapglass_profiler::attach::Progress;
    use heapglass_profiler::image::Image;
    use heapglass_profiler::units::{Bytes, Nanos};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::Duration;

    /// The time without an allocation after which the command says that it waits.
    const QUIET: Duration = Duration::from_secs(1);

    if Image::is_core(&args.target) {
        return of_core(args);
    }
    let live = live::find(&args.target)?;
    let path = args.output.clone();
    let path = path.unwrap_or_else(|| snapshots::free_path(&live.path, live.header.pid));
    let output = Output::open(&path, &[&live.path])?;
    let working = Working::new("attaching to the program");
    let is_told = AtomicBool::new(false);
    let show = |progress| {
        working.show(snapshots::sentence(progress));
        if let Progress::Waiting {
            waited,
            quiet_since_ns: Some(since),
        } = progress
            && waited >= QUIET
            && !is_told.swap(true, Relaxed)
        {
            terminal::eprint_line(format_args!(
                "{}: the program has not allocated since {}; it makes the copy at its next allocation, which this command waits for up to {} s",
                live.path.display(),
                Nanos(since),
                args.patience().as_secs()
            ));
        }
        true
    };
    let options = open::options(&args.symbols);
    let is_forced = args.force.force_snapshot;
    let snapshots = [snapshots::take(
        &live.path,
        is_forced,
        options,
        args.patience(),
        &show,
    )?];
    drop(working);
    let packed = open::pack(&live.path, &args.symbols)?;
    let bytes = snapshots::put_into(packed, &snapshots)?;
    let profile = open::open(&live.path, &args.symbols)?;
    let [snapshot] = &snapshots;
    let is_stdout = output.is_stdout();
    let written = output.write(|out| out.write_all(&bytes))?;
    let line = snapshots::line(snapshot, profile.totals().peak_bytes);
    terminal::eprint_line(format_args!("snapshot {line}"));
    for note in snapshot.notes() {
        terminal::eprint_line(format_args!("  note: {note}"));
    }
    if written.is_some() && !is_stdout {
        terminal::eprint_line(format_args!(
            "wrote {}: {}; open it: heapglass {}",
            path.display(),
            Bytes(bytes.len() as u64),
            crate::summary::quoted(&path)
        ));
    }
    Ok(())
}

/// Takes a snapshot of the program in a core file.
#[cfg(target_os = "linux")]
fn of_core(args: &Snapshot) -> Result<(), Error> {
    use crate::files::output::Output;
    use crate::progress::Working;
    use crate::{open, snapshots, terminal};
    use heapglass_profiler::image::{Image, Progress};
    use heapglass_profiler::units::{Bytes, counted, printable};
    use std::path::Path;

    if let Some(flag) = args.only_for_programs() {
        return Err(Error::misuse(format!(
            "{flag} is for running programs; leave it out, because {} is a core file",
            args.target.display()
        )));
    }
    let image = Image::of_core(&args.target, args.symbols.binary.as_deref());
    let image = image.map_err(Error::misuse)?;
    let name = Path::new(image.executable()).file_name();
    let name = name.unwrap_or("core".as_ref()).to_string_lossy();
    let path = args.output.clone();
    let path = path.unwrap_or_else(|| snapshots::free_path(Path::new(&*name), image.process()));
    let output = Output::open(&path, &[&args.target])?;
    let working = Working::new("finding blocks");
    let show = |progress| {
        working.show(match progress {
            Progress::Blocks => "finding blocks".to_owned(),
            Progress::Types => "reading types".to_owned(),
            Progress::Analysis(step) => snapshots::step(step),
            _ => String::new(),
        });
    };
    let taken = image.snapshot(&open::options(&args.symbols), &show);
    let taken = taken.map_err(Error::misuse)?;
    drop(working);
    let bytes = image.recording(&taken);
    let snapshot = &taken.snapshot;
    let is_stdout = output.is_stdout();
    let written = output.write(|out| out.write_all(&bytes))?;
    terminal::eprint_line(format_args!(
        "snapshot of {}: {} live in {}; basis: {}",
        printable(&name),
        Bytes(snapshot.moment().live_bytes),
        counted(snapshot.blocks(), "block"),
        snapshot.basis().text(),
    ));
    for note in snapshot.notes() {
        terminal::eprint_line(format_args!("  note: {}", printable(note)));
    }
    if written.is_some() && !is_stdout {
        terminal::eprint_line(format_args!(
            "wrote {}: {}; who holds the heap: heapglass report --by holder {}",
            path.display(),
            Bytes(bytes.len() as u64),
            crate::summary::quoted(&path)
        ));
    }
    Ok(())
}
