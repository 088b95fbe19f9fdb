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

    if Image::is_core(&args.target) {
        return of_core(args);
    }
    let live = match live::find(&args.target) {
        Ok(live) => live,
        Err(error) => {
            let process = live::process(&args.target).ok_or(error)?;
            return of_process(args, process);
        }
    };
    if args.no_copy {
        return Err(Error::misuse(format!(
            "--no-copy is for programs that do not record; leave it out, because {} is the recording of this one",
            live.path.display()
        )));
    }
    let path = args.output.clone();
    let path = path.unwrap_or_else(|| snapshots::free_path(&live.path, live.header.pid));
    let output = Output::open(&path, &[&live.path])?;
    let working = Working::new("attaching to the program");
    let copies = AtomicBool::new(false);
    let show = |progress| {
        working.show(snapshots::sentence(progress));
        match progress {
            Progress::Copying {
                quiet_since_ns: Some(since),
            } => {
                terminal::eprint_line(format_args!(
                    "{}: the program has not allocated since {}, so heapglass copies it",
                    live.path.display(),
                    Nanos(since)
                ));
                copies.store(true, Relaxed);
            }
            Progress::Waiting { .. } if copies.swap(false, Relaxed) => {
                terminal::eprint_line(format_args!(
                    "{}: the program cannot be copied; it makes the copy at its next allocation, which this command waits for up to {} s",
                    live.path.display(),
                    args.patience().as_secs()
                ));
            }
            _ => {}
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
    use heapglass_profiler::image::Image;

    let flag = args
        .only_for_recordings()
        .or_else(|| args.no_copy.then_some("--no-copy"));
    if let Some(flag) = flag {
        return Err(Error::misuse(format!(
            "{flag} is for running programs; leave it out, because {} is a core file",
            args.target.display()
        )));
    }
    let image = Image::of_core(&args.target, args.symbols.binary.as_deref());
    let image = image.map_err(Error::misuse)?;
    write(args, "core", image.executable(), image.process(), &|show| {
        let taken = image.snapshot(&crate::open::options(&args.symbols), show);
        taken.map(|taken| (image.recording(&taken), taken.snapshot))
    })
}

/// Takes a snapshot of a process that does not record.
#[cfg(target_os = "linux")]
fn of_process(args: &Snapshot, process: u32) -> Result<(), Error> {
    use heapglass_profiler::image::{Way, snapshot_of_process};

    if let Some(flag) = args.only_for_recordings() {
        return Err(Error::misuse(format!(
            "{flag} is for programs that record; leave it out, because process {process} does not"
        )));
    }
    let way = if args.no_copy { Way::Stop } else { Way::Copy };
    let link = std::fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    let text = link.to_string_lossy();
    let executable = text.trim_end_matches(" (deleted)");
    write(args, "process", executable, process, &|show| {
        let options = crate::open::options(&args.symbols);
        let (image, taken) = snapshot_of_process(process, way, &options, show)?;
        let how = if image.is_copy() {
            "copied its memory"
        } else {
            "stopped it and read its memory"
        };
        crate::terminal::eprint_line(format_args!(
            "process {process} does not record; {how}; what allocates from now on: heapglass attach {process}"
        ));
        Ok((image.recording(&taken), taken.snapshot))
    })
}

/// Shows the progress of a snapshot.
#[cfg(target_os = "linux")]
type Show<'a> = dyn Fn(heapglass_profiler::image::Progress) + Sync + 'a;

/// Returns the bytes of a recording, and the snapshot that is in it.
#[cfg(target_os = "linux")]
type Take<'a> = dyn Fn(
        &Show<'_>,
    ) -> Result<
        (Vec<u8>, heapglass_profiler::snapshot::Snapshot),
        heapglass_profiler::image::Error,
    > + 'a;

/// Takes a snapshot of a program that was not recorded, and writes it.
#[cfg(target_os = "linux")]
fn write(
    args: &Snapshot,
    source: &str,
    executable: &str,
    process: u32,
    take: &Take<'_>,
) -> Result<(), Error> {
    use crate::files::output::Output;
    use crate::progress::Working;
    use crate::{snapshots, terminal};
    use heapglass_profiler::image::Progress;
    use heapglass_profiler::units::{Bytes, counted, printable};
    use std::path::Path;

    let name = Path::new(executable)
        .file_name()
        .unwrap_or(source.as_ref())
        .to_string_lossy();
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| snapshots::free_path(Path::new(&*name), process));
    let output = Output::open(&path, &[&args.target])?;
    let working = Working::new("finding blocks");
    let show = |progress| {
        working.show(match progress {
            Progress::Copy => "copying the program".to_owned(),
            Progress::Blocks => "finding blocks".to_owned(),
            Progress::Types => "reading types".to_owned(),
            Progress::Analysis(step) => snapshots::step(step),
            _ => String::new(),
        });
    };
    let taken = take(&show);
    drop(working);
    let (bytes, snapshot) = taken.map_err(Error::misuse)?;
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
