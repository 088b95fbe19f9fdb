//! One run of a command with an allocator: recorded, or timed.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heapglass_profiler::allocator::Allocator as Known;
use heapglass_profiler::profile::Profile;
use heapglass_profiler::table::all_snapshots;
use serde::Serialize;

use super::library::Allocator;
use crate::args::Symbols;
use crate::error::Error;
use crate::files::leftovers::{Kind, Leftover, Writing, private_folder};
use crate::open;
use crate::progress::Working;
use crate::supervise;

/// The variable of `tracking_alloc::Chosen`.
const CHOICE: &str = "HEAPGLASS_ALLOCATOR";
/// Nanoseconds of a clock tick of `/proc`, on every architecture that is supported.
const TICK_NS: u64 = 10_000_000;

/// The figures of a recorded run. The names are the keys in JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Recorded {
    /// Bytes live at the peak.
    pub(super) peak_bytes: u64,
    pub(super) peak_blocks: u64,
    pub(super) total_blocks: u64,
    /// Live bytes at the moment of the usable bytes.
    pub(super) usable_at_live_bytes: Option<u64>,
    /// Bytes requested for blocks of up to 64 KiB at that moment, and what the allocator gave.
    pub(super) requested_bytes: Option<u64>,
    pub(super) usable_bytes: Option<u64>,
    /// The largest resident set that was read, and the last one, without the profiler's memory.
    pub(super) resident_most_bytes: Option<u64>,
    pub(super) resident_exit_bytes: Option<u64>,
    /// The allocator that the program used, if it is known.
    #[serde(skip)]
    pub(super) used: Option<String>,
}

impl Recorded {
    fn of(profile: &Profile) -> Recorded {
        let (totals, capture) = (profile.totals(), profile.capture());
        let snapshots = all_snapshots(profile).map(|at| at.snapshot);
        let known = snapshots.filter(|snapshot| snapshot.usable().is_some());
        let largest = known.max_by_key(|snapshot| snapshot.moment().live_bytes);
        let usable = largest.and_then(|snapshot| snapshot.usable());
        let built_in = Known::of_name(&capture.allocator).filter(|known| *known != Known::Glibc);
        let used = usable.map(|usable| usable.allocator.clone());
        let mut resident = profile
            .timeline()
            .iter()
            .filter(|point| point.rss_bytes > 0)
            .map(|point| point.rss_bytes.saturating_sub(point.own_bytes));
        Recorded {
            peak_bytes: totals.peak_bytes,
            peak_blocks: totals.peak_blocks,
            total_blocks: totals.total_blocks,
            usable_at_live_bytes: largest.map(|snapshot| snapshot.moment().live_bytes),
            requested_bytes: usable.map(|usable| usable.requested_bytes()),
            usable_bytes: usable.map(|usable| usable.usable_bytes()),
            resident_most_bytes: resident.clone().max(),
            resident_exit_bytes: resident.next_back(),
            used: used.or_else(|| built_in.map(|known| known.name().to_owned())),
        }
    }
}

/// The time of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) wall: Duration,
    /// Time of the processor, of the process and of those that it waited for.
    pub(super) processor_ns: Option<u64>,
}

/// A folder for recordings, which is removed at the end.
pub(super) struct Folder(Leftover);

impl Folder {
    pub(super) fn create() -> Result<Folder, Error> {
        let base = std::env::temp_dir();
        let what = format!("cannot create a folder in {}", base.display());
        let folder = private_folder(&base, "heapglass-compare", Kind::Folder);
        folder.map(Folder).map_err(Error::wrap(what))
    }
}

/// Records a run.
///
/// # Errors
/// Returns the reason if there is no recording, or if the command failed.
pub(super) fn record(
    command: &[OsString],
    allocator: &Allocator,
    folder: &Folder,
    number: usize,
) -> Result<Recorded, String> {
    let out = folder.0.path().join(format!("{number}.hg"));
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut run = Command::new(program);
    run.args(["run", "--quiet", "--snapshot=peak,exit", "--out"]);
    run.arg(&out).arg("--").args(command);
    apply(&mut run, allocator);
    let working = Working::new(format_args!("recording with {}", allocator.name));
    let mut child = run.spawn().map_err(|error| error.to_string())?;
    let writing = Writing::new(&child);
    let status = child.wait().map_err(|error| error.to_string())?;
    drop((writing, working));
    if !out.exists() {
        return Err("nothing was recorded; `heapglass run -- COMMAND` says why".to_owned());
    }
    if !status.success() {
        return Err(format!("the command failed ({status})"));
    }
    let profile = open::open(&out, &Symbols::default()).map_err(|error| error.to_string())?;
    let _ = fs::remove_file(&out);
    Ok(Recorded::of(&profile))
}

/// Measures the time of a run without a recording.
///
/// # Errors
/// Returns the reason if the command failed.
pub(super) fn time(command: &[OsString], allocator: &Allocator) -> Result<Timed, String> {
    let mut run = supervise::command(command).ok_or("no command to run")?;
    run.env_remove("HEAPGLASS_OUT");
    apply(&mut run, allocator);
    let began = Instant::now();
    let mut child = run.spawn().map_err(|error| error.to_string())?;
    let writing = Writing::new(&child);
    let pid = child.id();
    // The process stays until it is reaped, with its times.
    supervise::wait_without_reaping(pid);
    let wall = began.elapsed();
    let processor_ns = processor_ns(pid);
    let status = child.wait().map_err(|error| error.to_string())?;
    drop(writing);
    if !status.success() {
        return Err(format!("the command failed ({status})"));
    }
    Ok(Timed { wall, processor_ns })
}

/// Sets the environment for an allocator, and takes input and output away.
fn apply(command: &mut Command, allocator: &Allocator) {
    match allocator.choice() {
        Some(name) => command.env(CHOICE, name),
        None => command.env_remove(CHOICE),
    };
    if let Some(preload) = allocator.preload() {
        command.env("LD_PRELOAD", preload);
    }
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
}

/// Returns the time of the processor of a process that ended and was not waited for.
fn processor_ns(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may have spaces. Behind it, the state is the first field.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<u64> = fields
        .split_ascii_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse().ok())
        .collect();
    (ticks.len() == 4).then(|| ticks.iter().sum::<u64>() * TICK_NS)
}
