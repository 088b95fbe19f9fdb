//! The recorded process, and its state.

use crate::profile::{Process, State};
use tracking_alloc_recording::{Recording, Writer};

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
    let words = (!words.is_empty()).then(|| words.split(|byte| *byte == 0));
    let command = words.into_iter().flatten();
    let command = command.map(|word| String::from_utf8_lossy(word).into_owned());
    let last_point = recording.timeline.last().map_or(0, |point| point.time_ns);
    Process {
        program: program.to_owned(),
        executable,
        command: command.collect(),
        pid: header.pid,
        started_unix_ns: header.started_unix_ns,
        duration_ns: header.elapsed_ns.max(last_point),
        state: match Writer::of(header) {
            Writer::Finished => State::Finished,
            Writer::Copied => State::Copied,
            Writer::Running => State::Running,
            Writer::Ended => State::Ended,
            // Another boot of this machine, or another machine: a process of then does not run
            // here.
            Writer::OtherBoot | Writer::Unknown => State::Unknown,
        },
    }
}
