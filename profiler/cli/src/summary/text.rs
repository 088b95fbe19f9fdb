//! The summary for people.

use std::io::{self, StderrLock};

use heapglass_profiler::advice;
use heapglass_profiler::profile::Profile;
use heapglass_profiler::report::{ReportOptions, Style, write_entry, write_summary};
use heapglass_profiler::units::{Bytes, Nanos, printable};

use super::{Run, RunRecording, from_here, main_recording, no_recording, not_seen, quoted};
use crate::supervise::Killed;
use crate::terminal;

/// Maximum number of recordings to list.
const NAMED: usize = 100;

pub(super) fn write(run: &Run<'_>, all: &[RunRecording<'_>], quiet: bool) {
    let finished = run.finished;
    let main = main_recording(run, all);
    let profile = main.and_then(RunRecording::profile);
    let took = Nanos(u64::try_from(finished.took.as_nanos()).unwrap_or(u64::MAX));
    if !quiet && finished.is_detached {
        terminal::eprint_line(format_args!(
            "heapglass: detached from {} after {took}",
            printable(&run.name)
        ));
    } else if !quiet {
        terminal::eprint_line(format_args!(
            "heapglass: {} {} after {took}",
            printable(&run.name),
            finished.ended
        ));
    }
    if let Some(how) = run.how.filter(|_| !quiet) {
        entry(Style::Faint, "records", how);
    }
    if let Some(killed) = &finished.killed {
        out_of_memory(killed, profile);
    }
    if finished.kept.is_empty() {
        terminal::eprint_line(no_recording::why(run.executables, run.preloads));
        return;
    }
    if quiet {
        for kept in &finished.kept {
            if let Some(note) = &kept.note {
                terminal::eprint_line(format_args!("heapglass: {}: {note}", kept.path.display()));
            }
        }
        return;
    }
    let figures_of = main.zip(profile);
    if let Some((main, profile)) = figures_of {
        if all.len() > 1 {
            let path = from_here(&main.kept.path);
            terminal::eprint_line(format_args!(
                "  of {}, {}:",
                printable(main.program()),
                printable(&path.to_string_lossy())
            ));
        }
        figures(profile);
    }
    for note in not_seen(all) {
        entry(Style::Warning, "note", &printable(&note));
    }
    snapshots(run, profile);
    recordings(all, main);
    if let Some(profile) = profile {
        findings(profile);
    }
    if let Some((main, _)) = figures_of {
        let path = from_here(&main.kept.path);
        let file = quoted(&path);
        terminal::eprint_line(format_args!("  explore     heapglass {file}"));
    }
}

/// Prints a text behind its name.
fn entry(style: Style, name: &str, text: &str) {
    print(|options, out| write_entry(style, name, text, options, out));
}

/// Prints a part of a report.
fn print(write: impl FnOnce(&ReportOptions<'_>, StderrLock<'_>) -> io::Result<()>) {
    let stderr = io::stderr();
    let options = terminal::report_options(&stderr);
    // NOTE: a closed standard error is not a failure of the command.
    let _ = write(&options, stderr.lock());
}

/// Prints totals, peak, resident memory, losses and the top five sites, as in
/// the report.
fn figures(profile: &Profile) {
    print(|options, out| write_summary(profile, options, out));
}

/// Prints the snapshots that were taken, why there are no others, or that there could be some.
fn snapshots(run: &Run<'_>, profile: Option<&Profile>) {
    for problem in &run.finished.snapshot_problems {
        terminal::eprint_line(format_args!("  no snapshot  {problem}"));
    }
    let Some(profile) = profile else { return };
    #[cfg(target_os = "linux")]
    for snapshot in profile.snapshots() {
        let line = crate::snapshots::line(snapshot, profile.totals().peak_bytes);
        entry(Style::Faint, "snapshot", &line);
    }
    let may_have_one = profile.capture().sampling.is_none();
    if !run.finished.wanted_snapshots && may_have_one && cfg!(target_os = "linux") {
        terminal::eprint_line("  `--snapshot` also shows who holds the heap and how full it is");
    }
}

/// Prints the largest findings, if there are any, and what grew and was freed.
fn findings(profile: &Profile) {
    let advice = advice::advice(profile, false);
    print(|options, out| advice::write_summary(profile, &advice, options, out));
}

fn out_of_memory(killed: &Killed, profile: Option<&Profile>) {
    let who = if killed.was_the_command {
        "it"
    } else {
        "a process in its control group"
    };
    let limit = killed
        .limit_bytes
        .map(|limit| format!(", limit {}", Bytes(limit)))
        .unwrap_or_default();
    terminal::eprint_line(format_args!(
        "  out of memory: the kernel killed {who} (oom_kill + {} in {}{limit})",
        killed.kills,
        killed.counter.display()
    ));
    let Some(profile) = profile else { return };
    let capture = profile.capture();
    let totals = profile.totals();
    // 0 means that the recording was cut short before the figure was read once.
    let own = match capture.own_bytes {
        0 => "profiler overhead not yet read".to_owned(),
        own => format!("including {} of profiler overhead", Bytes(own)),
    };
    let resident = match profile.resident() {
        Some(resident) => format!(
            "resident {} when last read, {own}",
            Bytes(resident.rss_bytes.max(capture.peak_rss_bytes)),
        ),
        None => "resident size never read".to_owned(),
    };
    terminal::eprint_line(format_args!(
        "  when it ended: {} live, peak {}; {resident}",
        Bytes(totals.live_bytes),
        Bytes(totals.peak_bytes)
    ));
}

fn recordings(all: &[RunRecording<'_>], main: Option<&RunRecording<'_>>) {
    let mut title = if all.len() == 1 {
        "recording"
    } else {
        "recordings"
    };
    for one in all.iter().take(NAMED) {
        let kept = one.kept;
        let path = from_here(&kept.path);
        let mut line = format!("  {title:<10}  {}", printable(&path.to_string_lossy()));
        title = "";
        let program = printable(one.program());
        match &one.profile {
            Some(Ok(profile)) if !main.is_some_and(|main| std::ptr::eq(main, one)) => {
                line.push_str(&format!(
                    "  ({program}, pid {}: peak {}, allocated {})",
                    kept.pid,
                    Bytes(profile.totals().peak_bytes),
                    Bytes(profile.totals().total_bytes)
                ));
            }
            Some(Err(error)) => line.push_str(&format!("  ({error})")),
            // The figures of the only recording are above, and the run has its name.
            Some(Ok(_)) if all.len() == 1 => {}
            Some(Ok(_)) | None => line.push_str(&format!("  ({program}, pid {})", kept.pid)),
        }
        if let Some(note) = &kept.note {
            line.push_str(&format!("  ({})", printable(note)));
        }
        terminal::eprint_line(line);
    }
    if all.len() > NAMED {
        terminal::eprint_line(format_args!("              and {} more", all.len() - NAMED));
    }
}
