//! One run in its own process: measures its time and memory, and checks what its profiler wrote.

use crate::figures::Sample;
use crate::programs::{Profiler, Program};
use peers_work::Workload;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The settings of all runs.
pub(crate) struct Setting {
    /// Path of the `heapglass` command, which reads recordings.
    pub(crate) heapglass: PathBuf,
    /// Path of the input of the workload `geojson`.
    pub(crate) geojson: PathBuf,
    /// A folder for the files of a run, emptied after each run.
    pub(crate) folder: PathBuf,
    pub(crate) quick: bool,
    pub(crate) timeout: Duration,
    /// `true` after ^C.
    pub(crate) interrupted: Arc<AtomicBool>,
}

/// The result of a run.
pub(crate) struct Run {
    pub(crate) sample: Sample,
    /// Allocations and events of the work, from the program that counts them.
    pub(crate) counts: Option<(u64, u64)>,
}

/// Runs `program` once. `allocations` is the number in the work: a profile with fewer is wrong.
pub(crate) fn run(
    setting: &Setting,
    program: &Program,
    executable: &Path,
    workload: &Workload,
    round: usize,
    allocations: Option<u64>,
) -> Result<Run, String> {
    let folder = setting.folder.join("run");
    let left = folder.join("left");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&left).map_err(|error| format!("{}: {error}", left.display()))?;
    let mut command = command(setting, program, executable, &left);
    command.arg(workload.name);
    if setting.quick {
        command.arg("--quick");
    }
    if let Profiler::NotStartedProfiled | Profiler::Recording { profiled: true, .. } =
        program.profiler
    {
        command.arg("--profiled");
    }
    let process = wait(setting, &mut command, &folder.join("program"))?;
    let said = Said::parse(&process.stdout)?;
    let profiles = program.profiler.leaves_a_profile();
    let output_bytes = profiles.then(|| size(&left)).transpose()?;
    let reported_ns = match report(setting, program.profiler, &left, &folder)? {
        Some(process) => process.ended_ns,
        None => process.ended_ns,
    };
    let report_ms = reported_ns.saturating_sub(said.ended_ns) as f64 / 1e6;
    if profiles {
        let found = profile(setting, program.profiler, &left, &folder)?;
        found.check(program.profiler, allocations)?;
    }
    // A process starts with the peak of its parent. If that is larger, the peak that the program
    // printed about itself is used.
    let is_own = process.peak_rss_kib > peers_work::peak_rss_kib();
    let peak_rss_kib = if is_own {
        process.peak_rss_kib
    } else {
        said.peak_rss_kib
    };
    let _ = fs::remove_dir_all(&folder);
    Ok(Run {
        sample: Sample {
            round,
            ns: said.ns as f64,
            peak_rss_kib: peak_rss_kib as f64,
            output_bytes: output_bytes.map(|bytes| bytes as f64),
            report_ms: profiles.then_some(report_ms),
        },
        counts: said.counts,
    })
}

/// Returns the command that runs a program under its profiler.
fn command(setting: &Setting, program: &Program, executable: &Path, left: &Path) -> Command {
    let mut command = match program.profiler {
        Profiler::Heaptrack => {
            let mut command = Command::new("heaptrack");
            command
                .arg("-o")
                .arg(left.join("heaptrack"))
                .arg(executable);
            command
        }
        Profiler::ValgrindDhat => {
            let mut command = Command::new("valgrind");
            let mut output = OsString::from("--dhat-out-file=");
            output.push(left.join("dhat.json"));
            command.arg("--tool=dhat").arg(output).arg(executable);
            command
        }
        _ => Command::new(executable),
    };
    without_settings(&mut command);
    command
        .env(peers_work::INPUT, &setting.geojson)
        .env(peers_work::OUTPUT, left.join("dhat.json"));
    match program.profiler {
        Profiler::Recording { mode, .. } => {
            command
                .env("HEAPGLASS_OUT", left.join("recording.hg"))
                .env("HEAPGLASS_MODE", mode);
        }
        Profiler::Jemalloc => {
            let mut settings =
                OsString::from("prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:");
            settings.push(left.join("jemalloc"));
            command.env("_RJEM_MALLOC_CONF", settings);
        }
        _ => (),
    }
    command
}

/// A process that succeeded.
pub(crate) struct Process {
    stdout: String,
    ended_ns: u64,
    /// Time from the start of the process to its end.
    pub(crate) wall_seconds: f64,
    /// Time of the processor, in user mode and in the kernel, of the process and of those that it
    /// waited for.
    pub(crate) processor_seconds: f64,
    /// Peak resident set of the process or of a process that it waited for, whichever is larger,
    /// KiB.
    peak_rss_kib: u64,
}

/// Removes what the environment sets for heapglass from that of a command.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HEAPGLASS_") {
            command.env_remove(name);
        }
    }
}

/// Runs a command to its end. Its output goes to files whose names begin with `files`.
pub(crate) fn wait(
    setting: &Setting,
    command: &mut Command,
    files: &Path,
) -> Result<Process, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (out, err) = (files.with_extension("out"), files.with_extension("err"));
    let create =
        |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    command
        .stdin(Stdio::null())
        .stdout(create(&out)?)
        .stderr(create(&err)?)
        // Creates a process group, so that ending a script also ends what it started.
        .process_group(0);
    let begin = Instant::now();
    let child = command
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    let pid = child.id() as libc::pid_t;
    let mut ended_badly = None;
    let (status, usage) = loop {
        if let Some(ended) = try_wait(pid).map_err(|error| format!("{name}: {error}"))? {
            break ended;
        }
        if ended_badly.is_none() {
            if setting.interrupted.load(Ordering::Relaxed) {
                ended_badly = Some("interrupted".to_owned());
            } else if begin.elapsed() > setting.timeout {
                ended_badly = Some(format!("took more than {} s", setting.timeout.as_secs()));
            }
            if ended_badly.is_some() {
                // SAFETY: this signals the group of a child that has not been waited for.
                unsafe { libc::kill(-pid, libc::SIGKILL) };
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let wall_seconds = begin.elapsed().as_secs_f64();
    let ended_ns = peers_work::monotonic_ns();
    if let Some(reason) = ended_badly {
        return Err(reason);
    }
    let read = |path: &Path| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    if !status.success() {
        let said = read(&err);
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        return Err(format!("{status}: {}", last.unwrap_or("no message").trim()));
    }
    Ok(Process {
        stdout: read(&out),
        ended_ns,
        wall_seconds,
        processor_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_rss_kib: usage.ru_maxrss as u64,
    })
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Returns the status and usage of a child, or `None` if it still runs.
fn try_wait(pid: libc::pid_t) -> std::io::Result<Option<(ExitStatus, libc::rusage)>> {
    let mut status = 0;
    // SAFETY: this is a struct of numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid to write into.
    let waited = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
    match waited {
        0 => Ok(None),
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(Some((ExitStatus::from_raw(status), usage))),
    }
}

/// The output of a program about its work.
#[derive(Debug, PartialEq)]
struct Said {
    ns: u64,
    ended_ns: u64,
    peak_rss_kib: u64,
    counts: Option<(u64, u64)>,
}

impl Said {
    fn parse(stdout: &str) -> Result<Said, String> {
        let line = stdout
            .lines()
            .find_map(|line| line.strip_prefix(peers_work::LINE))
            .ok_or("it printed no figures")?;
        let find = |name: &str| {
            let mut fields = line
                .split_whitespace()
                .filter_map(|field| field.split_once('='));
            let (_, number) = fields.find(|(field, _)| *field == name)?;
            number.parse::<u64>().ok()
        };
        let required =
            |name: &str| find(name).ok_or_else(|| format!("it printed no {name}: {line}"));
        Ok(Said {
            ns: required("ns")?,
            ended_ns: required("ended_ns")?,
            peak_rss_kib: required("peak_rss_kib")?,
            counts: find("allocations").zip(find("events")),
        })
    }
}

/// Returns the total size of the files in a folder.
fn size(folder: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    for path in files(folder)? {
        let file = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        bytes += file.len();
    }
    Ok(bytes)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    entries
        .map(|entry| Ok(entry.map_err(|error| error.to_string())?.path()))
        .collect()
}

/// Returns the only file that a profiler wrote.
fn only_file(folder: &Path) -> Result<PathBuf, String> {
    match files(folder)?.as_slice() {
        [file] => Ok(file.clone()),
        files => Err(format!("it left {} files instead of one", files.len())),
    }
}

/// Creates the report, if the profiler's data is not a report already. Symbolizes again each time.
fn report(
    setting: &Setting,
    profiler: Profiler,
    left: &Path,
    folder: &Path,
) -> Result<Option<Process>, String> {
    let mut command = match profiler {
        Profiler::Recording { .. } => {
            let mut command = Command::new(&setting.heapglass);
            command.arg("report").arg(only_file(left)?);
            command.env("XDG_CACHE_HOME", folder.join("cache"));
            command
        }
        Profiler::Heaptrack => {
            let mut command = Command::new("heaptrack_print");
            command.arg(only_file(left)?);
            command
        }
        _ => return Ok(None),
    };
    let report = wait(setting, &mut command, &folder.join("report"));
    report
        .map(Some)
        .map_err(|error| format!("no report: {error}"))
}

/// The totals of a profile for the whole program.
#[derive(Debug, Default, PartialEq)]
struct Profile {
    /// `None` if the profiler samples.
    allocations: Option<u64>,
    unwinder: Option<String>,
}

/// Reads the profile that the profiler wrote.
fn profile(
    setting: &Setting,
    profiler: Profiler,
    left: &Path,
    folder: &Path,
) -> Result<Profile, String> {
    let file = only_file(left)?;
    let read = |file: &Path| {
        fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
    };
    match profiler {
        Profiler::Recording { .. } => {
            let mut command = Command::new(&setting.heapglass);
            command
                .arg("report")
                .arg(file)
                .args(["--json", "--top", "1"]);
            command.env("XDG_CACHE_HOME", folder.join("cache"));
            Profile::of_heapglass(&wait(setting, &mut command, &folder.join("json"))?.stdout)
        }
        Profiler::Dhat | Profiler::ValgrindDhat => Profile::of_dhat(&read(&file)?),
        Profiler::Heaptrack => Profile::of_heaptrack(&read(&folder.join("report.out"))?),
        Profiler::Jemalloc if read(&file)?.starts_with("heap_v2/") => Ok(Profile::default()),
        _ => Err("the file is no profile".to_owned()),
    }
}

impl Profile {
    fn of_heapglass(json: &str) -> Result<Profile, String> {
        let json: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let is_exact = json["exact"] != false;
        Ok(Profile {
            allocations: json["totals"]["total_blocks"].as_u64().filter(|_| is_exact),
            unwinder: json["unwinder"].as_str().map(str::to_owned),
        })
    }

    fn of_dhat(json: &str) -> Result<Profile, String> {
        let json: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let sites = json["pps"].as_array().ok_or("the file has no sites")?;
        let blocks: Option<u64> = sites.iter().map(|site| site["tbk"].as_u64()).sum();
        Ok(Profile {
            allocations: Some(blocks.ok_or("a site has no blocks")?),
            unwinder: None,
        })
    }

    fn of_heaptrack(report: &str) -> Result<Profile, String> {
        let number = report
            .lines()
            .find_map(|line| line.strip_prefix("calls to allocation functions: "))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        Ok(Profile {
            allocations: Some(number.ok_or("the report has no number of allocations")?),
            unwinder: None,
        })
    }

    /// Checks a profile. It is wrong if it has fewer allocations than the work, or was not created
    /// as its row says.
    fn check(&self, profiler: Profiler, allocations: Option<u64>) -> Result<(), String> {
        match (self.allocations, allocations) {
            (None, _) if !profiler.samples() => {
                return Err("the profile has no number of allocations".into());
            }
            (Some(found), Some(made)) if found < made => {
                return Err(format!("the profile has {found} of {made} allocations"));
            }
            _ => (),
        }
        if let Profiler::Recording {
            unwinder: Some(expected),
            ..
        } = profiler
            && self.unwinder.as_deref() != Some(expected)
        {
            let found = self.unwinder.as_deref().unwrap_or("nothing");
            return Err(format!("stacks were walked by {found}, not {expected}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_program_is_found_among_what_a_tool_prints() {
        let said = Said::parse(
            "heaptrack output will be written to x\npeers: ns=5 ended_ns=9 peak_rss_kib=7\n",
        );
        let expected = Said {
            ns: 5,
            ended_ns: 9,
            peak_rss_kib: 7,
            counts: None,
        };
        assert_eq!(said, Ok(expected));
        let counted = Said::parse("peers: ns=5 ended_ns=9 peak_rss_kib=7 allocations=3 events=6");
        assert_eq!(counted.expect("figures").counts, Some((3, 6)));
        assert!(Said::parse("peers: ns=5 ended_ns=x").is_err());
        assert!(Said::parse("").is_err());
    }

    #[test]
    fn profiles_say_how_many_allocations_they_have() {
        let dhat = Profile::of_dhat(r#"{"pps": [{"tbk": 3}, {"tbk": 4}]}"#);
        assert_eq!(dhat.expect("sites").allocations, Some(7));
        assert!(Profile::of_dhat(r#"{"pps": [{}]}"#).is_err());
        assert!(Profile::of_dhat("{}").is_err());
        let text = "total runtime: 0.11s.\ncalls to allocation functions: 12 (109/s)\n";
        let heaptrack = Profile::of_heaptrack(text);
        assert_eq!(heaptrack.expect("a number").allocations, Some(12));
        assert!(Profile::of_heaptrack("").is_err());
        let json = r#"{"unwinder": "eh-frame", "totals": {"total_blocks": 5}}"#;
        let expected = Profile {
            allocations: Some(5),
            unwinder: Some("eh-frame".to_owned()),
        };
        assert_eq!(Profile::of_heapglass(json), Ok(expected));
        let estimated = r#"{"exact": false, "totals": {"total_blocks": 5}}"#;
        let estimated = Profile::of_heapglass(estimated).expect("a report");
        assert_eq!(estimated.allocations, None);
    }

    #[test]
    fn a_profile_that_lacks_allocations_or_was_made_otherwise_is_an_error() {
        let exact = Profiler::Recording {
            mode: "exact",
            profiled: false,
            unwinder: Some("frame-pointers"),
        };
        let profile = |allocations, unwinder: &str| Profile {
            allocations,
            unwinder: Some(unwinder.to_owned()),
        };
        assert_eq!(
            profile(Some(9), "frame-pointers").check(exact, Some(9)),
            Ok(())
        );
        assert!(
            profile(Some(8), "frame-pointers")
                .check(exact, Some(9))
                .is_err()
        );
        assert!(profile(Some(9), "eh-frame").check(exact, Some(9)).is_err());
        assert!(profile(None, "").check(Profiler::Dhat, Some(9)).is_err());
        assert_eq!(profile(None, "").check(Profiler::Jemalloc, Some(9)), Ok(()));
    }
}
