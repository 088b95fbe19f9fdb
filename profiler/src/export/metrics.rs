//! The totals of a program as metrics of Prometheus, in its text format.

use std::io::{self, Write};

use crate::profile::{Profile, State};
use crate::units::printable;

/// The type of the text that [`write_metrics`] writes.
pub const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes the totals of a program as metrics of Prometheus.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_metrics(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    let (totals, capture, process) = (profile.totals(), profile.capture(), profile.process());
    let labels = [
        ("program", process.program.clone()),
        ("pid", process.pid.to_string()),
        ("mode", capture.mode.clone()),
    ];
    let labels = labels.map(|(key, value)| format!("{key}=\"{}\"", escaped(&value)));
    writeln!(out, "# HELP heapglass_info The recorded program.")?;
    writeln!(out, "# TYPE heapglass_info gauge")?;
    writeln!(out, "heapglass_info{{{}}} 1", labels.join(","))?;
    let is_running = process.state == State::Running;
    let total = |key: &str, sum: u64| profile.exact_total(key).unwrap_or(sum);
    let numbers: [(&str, &str, &str, u64); 13] = [
        (
            "gauge",
            "running",
            "1 while the program runs and is recorded.",
            is_running.into(),
        ),
        (
            "gauge",
            "live_bytes",
            "Bytes that are allocated now.",
            totals.live_bytes,
        ),
        (
            "gauge",
            "live_blocks",
            if profile.number("live_blocks").is_lower_bound {
                "Blocks that are allocated now, at least: small ones may never have been sampled."
            } else {
                "Blocks that are allocated now."
            },
            profile.number("live_blocks").value,
        ),
        (
            "gauge",
            "peak_bytes",
            match process.merged {
                Some(_) => "Sum of the peaks of several recordings.",
                None => "Bytes live at the program's peak.",
            },
            totals.peak_bytes,
        ),
        (
            "gauge",
            "peak_error_bytes",
            "Bound on the error of the peak.",
            capture.peak_error_bytes,
        ),
        (
            "counter",
            "allocated_bytes_total",
            "Bytes allocated; a realloc counts with its new size.",
            total("total_bytes", totals.total_bytes),
        ),
        (
            "counter",
            "allocated_blocks_total",
            "Allocations, including reallocs.",
            profile.number("total_blocks").value,
        ),
        (
            "counter",
            "freed_bytes_total",
            "Bytes freed; a realloc counts with its old size.",
            total("freed_bytes", totals.freed_bytes),
        ),
        (
            "counter",
            "freed_blocks_total",
            "Frees, including reallocs.",
            profile.number("freed_blocks").value,
        ),
        (
            "counter",
            "failed_requests_total",
            "Requests that the allocator refused.",
            profile.failed_request_count(),
        ),
        (
            "gauge",
            "resident_bytes",
            "Resident set of the program when it was last read; 0 if it never was.",
            capture.rss_bytes,
        ),
        (
            "gauge",
            "overhead_bytes",
            "Resident bytes of the recorder in the program.",
            capture.own_bytes,
        ),
        (
            "gauge",
            "recording_bytes",
            "Size of the recording.",
            capture.recording_bytes,
        ),
    ];
    // A lower bound may fall when a smaller block is sampled, which no counter does.
    let is_unknown = |name: &str| {
        let counters = [
            ("allocated_blocks_total", "total_blocks"),
            ("freed_blocks_total", "freed_blocks"),
        ];
        let mut counters = counters.into_iter();
        counters.any(|(counter, key)| counter == name && profile.number(key).is_lower_bound)
    };
    let known = numbers
        .into_iter()
        .filter(|(_, name, ..)| !is_unknown(name));
    for (kind, name, help, value) in known {
        metric(&mut out, kind, name, help, value)?;
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    let started = "Start of the recording since the Unix epoch.";
    metric(
        &mut out,
        "gauge",
        "start_time_seconds",
        started,
        seconds(process.started_unix_ns),
    )?;
    let recorded = "Time from the start of the recording to its last event.";
    metric(
        &mut out,
        "gauge",
        "recorded_seconds",
        recorded,
        seconds(process.duration_ns),
    )?;
    out.flush()
}

fn metric(
    out: &mut impl Write,
    kind: &str,
    name: &str,
    help: &str,
    value: impl std::fmt::Display,
) -> io::Result<()> {
    writeln!(out, "# HELP heapglass_{name} {help}")?;
    writeln!(out, "# TYPE heapglass_{name} {kind}")?;
    writeln!(out, "heapglass_{name} {value}")
}

/// Escapes the value of a label.
fn escaped(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}
