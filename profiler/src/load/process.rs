//! Who was recorded, and whether the process still runs.

use crate::profile::{Process, State};
use tracking_alloc_recording::{HeaderValue, Recording, state};

/// Describes the process of a recording.
pub(super) fn describe(recording: &Recording) -> Process {
    let header = &recording.header;
    let executable = recording.string(header.executable).unwrap_or_default();
    let program = executable
        .trim_end_matches(" (deleted)")
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let words = recording.string_bytes(header.command).unwrap_or_default();
    let words = words.strip_suffix(b"\0").unwrap_or(words);
    let command = if words.is_empty() {
        Vec::new()
    } else {
        words
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    };
    let last_point = recording.timeline.last().map_or(0, |point| point.time_ns);
    Process {
        program: program.to_owned(),
        executable,
        command,
        pid: header.pid,
        started_unix_ns: header.started_unix_ns,
        duration_ns: header.elapsed_ns.max(last_point),
        state: ended(header),
    }
}

/// What is known of the process's end.
fn ended(header: &HeaderValue) -> State {
    if header.state == state::FINISHED {
        return State::Finished;
    }
    match same_world(header) {
        Some(true) => match start_ticks(header.pid) {
            Some(ticks) if ticks == header.start_ticks => State::Running,
            _ => State::Ended,
        },
        // Another boot of this machine, or another machine: a process of then does not run here.
        Some(false) | None => State::Unknown,
    }
}

/// Whether process ids of the recording mean anything here: same boot, same pid namespace.
fn same_world(header: &HeaderValue) -> Option<bool> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits = boot.chars().filter_map(|digit| digit.to_digit(16)).take(32);
    let mut words = [0u64; 2];
    for (index, digit) in digits.enumerate() {
        let word = &mut words[usize::from(index >= 16)];
        *word = *word << 4 | u64::from(digit);
    }
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let inode = namespace.to_string_lossy();
    let inode: u64 = inode
        .trim_start_matches("pid:[")
        .trim_end_matches(']')
        .parse()
        .ok()?;
    Some(words == header.boot_id && inode == header.pid_namespace)
}

/// Start time of a process in clock ticks (field 22 of its stat).
fn start_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    // A zombie has ended: only its entry is left.
    let mut fields = rest.split_ascii_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
