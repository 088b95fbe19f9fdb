//! The processes of a program.

use std::fmt::Write;

/// A process, as `/proc/PID/stat` has it.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    id: u32,
    parent: u32,
    name: String,
    /// `R` while it runs, `S` while it sleeps, `T` while it is stopped, `Z` after its end.
    state: String,
    /// The time of all its threads, in ticks.
    ticks: u64,
}

impl Process {
    fn read(id: u32) -> Option<Process> {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name is in parentheses, and may contain any of them.
        let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        Some(Process {
            id,
            parent: words.get(1)?.parse().ok()?,
            name: name.to_owned(),
            state: (*words.first()?).to_owned(),
            ticks: number(11)? + number(12)?,
        })
    }
}

/// Returns a program and all that it started and that is still its descendant.
pub(crate) fn of(id: u32) -> Vec<Process> {
    let all: Vec<Process> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect();
    let mut found: Vec<Process> = all.iter().filter(|each| each.id == id).cloned().collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|each| each.id) {
        found.extend(all.iter().filter(|each| each.parent == parent).cloned());
        at += 1;
    }
    found
}

/// Says what processes are doing.
pub(crate) fn describe(found: &[Process]) -> String {
    let mut text = String::new();
    for each in found {
        let _ = writeln!(
            text,
            "    {} {}: state {}, {} ticks of processor time",
            each.id, each.name, each.state, each.ticks
        );
    }
    text
}

/// Kills these processes and the process group of a program.
#[cfg(unix)]
pub(crate) fn kill(id: u32, found: &[Process]) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    let pid = |id: u32| Pid::from_raw(id.cast_signed());
    // Those that are gone cannot be killed.
    if let Some(pid) = pid(id) {
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = kill_process(pid, Signal::KILL);
    }
    for pid in found.iter().filter_map(|each| pid(each.id)) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Waits for the end of a program, and leaves its status to be read.
#[cfg(unix)]
pub(crate) fn ended(id: u32) {
    use rustix::io::Errno;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let Some(pid) = Pid::from_raw(id.cast_signed()) else {
        return;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
}

#[cfg(not(unix))]
pub(crate) fn kill(_: u32, _: &[Process]) {}

#[cfg(not(unix))]
pub(crate) fn ended(_: u32) {}
