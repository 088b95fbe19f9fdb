//! The recorded process, and its state.

use crate::profile::{Merged, Pause, Pauses, Process, State};
use tracking_alloc_recording::{HeaderValue, Recording, Writer, state};

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
    let command = words
        .into_iter()
        .flatten()
        .map(|word| String::from_utf8_lossy(word).into_owned());
    let last_point = recording.timeline.last().map_or(0, |point| point.time_ns);
    let duration_ns = header.elapsed_ns.max(last_point);
    let is_merged = header.state == state::MERGED;
    Process {
        program: program.to_owned(),
        executable,
        command: command.collect(),
        pid: header.pid,
        started_unix_ns: header.started_unix_ns,
        duration_ns,
        pauses: pauses(header, duration_ns),
        merged: is_merged.then(|| Merged::of(&recording.merged)),
        state: match Writer::of(header) {
            _ if is_merged => State::Merged,
            _ if header.state == state::NOT_RECORDED => State::NotRecorded,
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

/// Returns the pauses, none of which is longer than the recording.
fn pauses(header: &HeaderValue, duration_ns: u64) -> Pauses {
    let times = header.pause_begins_ns.iter().zip(header.pause_ends_ns);
    let kept = if header.state == state::MERGED {
        // Their times are those of single programs.
        0
    } else {
        usize::try_from(header.pauses).unwrap_or(usize::MAX)
    };
    // A pause until the last check lasts until the end, which may be a little later.
    let lasts_to_end = |end: u64| end != 0 && end == header.elapsed_ns;
    let first = times.take(kept).map(|(begin, end)| {
        let begin_ns = (*begin).min(duration_ns);
        let end = if lasts_to_end(end) { duration_ns } else { end };
        Pause {
            begin_ns,
            end_ns: (end != 0).then(|| end.clamp(begin_ns, duration_ns)),
        }
    });
    let last_ns = if header.paused_since_ns > 0 {
        duration_ns.saturating_sub(header.paused_since_ns)
    } else if header.pause_ends_ns.iter().any(|end| lasts_to_end(*end)) {
        duration_ns - header.elapsed_ns
    } else {
        0
    };
    let paused_ns = header.paused_ns.saturating_add(last_ns).min(duration_ns);
    Pauses {
        count: header.pauses,
        paused_ns,
        first: first.collect(),
        is_open: header.paused_since_ns > 0,
    }
}
