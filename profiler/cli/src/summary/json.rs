//! The summary for scripts: one line of JSON, the last line on standard error.

use serde_json::{Value, json};

use super::{Run, RunRecording, main_recording, no_recording, not_seen};
use crate::terminal;

pub(super) fn write(run: &Run<'_>, recordings: &[RunRecording<'_>]) {
    let finished = run.finished;
    let words: Vec<_> = run
        .command
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let main = main_recording(run, recordings);
    let is_main = |one| main.is_some_and(|main| std::ptr::eq(main, one));
    let described: Vec<Value> = recordings
        .iter()
        .map(|one| {
            let RunRecording { kept, profile, .. } = one;
            let mut recording = json!({
                "path": kept.path.to_string_lossy(),
                "program": one.program(),
                "pid": kept.pid,
                "note": kept.note,
                "main": is_main(one),
                "preloaded": one.is_preloaded,
            });
            match profile {
                Some(Ok(profile)) => {
                    recording["totals"] = json!(profile.totals());
                    let moments = profile.snapshots().iter().map(|snapshot| snapshot.moment());
                    recording["snapshots"] = json!(moments.collect::<Vec<_>>());
                    recording["peak_error_bytes"] = json!(profile.capture().peak_error_bytes);
                    // 0 means that the figure was never read.
                    let read = |bytes: u64| (bytes > 0).then_some(bytes);
                    recording["rss_bytes"] = json!(read(profile.capture().rss_bytes));
                    recording["peak_rss_bytes"] = json!(read(profile.capture().peak_rss_bytes));
                    recording["own_bytes"] = json!(read(profile.capture().own_bytes));
                }
                Some(Err(error)) => recording["error"] = json!(error.to_string()),
                None => {}
            }
            recording
        })
        .collect();
    let mut summary = json!({
        "format": 1,
        "command": words,
        "status": finished.ended.status(),
        "signal": finished.ended.signal(),
        "seconds": finished.took.as_secs_f64(),
        // The kernel gave the path of the counter as text.
        "out_of_memory": finished.killed,
        "snapshot_problems": finished.snapshot_problems,
        "records": run.how,
        "not_seen": not_seen(recordings),
        "recordings": described,
    });
    if finished.kept.is_empty() {
        summary["nothing_recorded"] = json!(no_recording::why(run.executables, run.preloads));
    }
    terminal::eprint_line(summary);
}
