//! Programs that are recorded unchanged: by heapglass's preloaded library, and by heaptrack.

use crate::figures::median;
use crate::machine;
use crate::measure::{self, Setting, without_settings};
use crate::programs::{Build, Flavor, Profiler};
use crate::results::Machine;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

/// The variable that names the `rustc` to record, instead of Debian's or rustup's.
const RUSTC: &str = "PEERS_RUSTC";
/// The crate that `rustc` compiles. It has no dependencies.
const CRATE: &str = "regex-syntax";

/// A program that is recorded as it is.
struct Subject {
    name: &'static str,
    title: &'static str,
    goal: Goal,
    /// `true` if a recording contains each of the processes that the program starts. heaptrack does
    /// not follow them.
    with_children: bool,
    command: Result<Vec<OsString>, String>,
}

/// The cost that is meant to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Goal {
    /// At most this multiple of the bare program's time, if there is such a goal; and what
    /// heaptrack adds is at least this multiple of what heapglass adds.
    Ratio(Option<f64>, f64),
    /// At most this multiple for a program and its children.
    Children(f64),
    /// At most this many milliseconds more.
    Start(f64),
}

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    format: u32,
    date: String,
    machine: Machine,
    versions: BTreeMap<String, String>,
    quick: bool,
    rounds: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    title: &'static str,
    goal: Goal,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Measured(Box<Measured>),
    Skipped(String),
    Failed(String),
}

#[derive(Debug, Serialize)]
struct Measured {
    bare: Times,
    heapglass: Compared,
    /// `None` without heaptrack, and where it records nothing.
    heaptrack: Option<Compared>,
    /// The ratio of what heaptrack adds to what heapglass adds: processor time and wall time.
    saved: Option<Times>,
}

/// Seconds, or ratios of seconds: of the processor, and of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Times {
    processor: f64,
    wall: f64,
}

/// A program's times and its multiples of the bare times: medians over the rounds.
#[derive(Debug, PartialEq, Serialize)]
struct Compared {
    runs: usize,
    times: Times,
    ratio: Times,
    added: Times,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Bare,
    Heapglass,
    Heaptrack,
}

/// Measures all programs.
pub(crate) fn measure(
    root: &Path,
    target: &Path,
    setting: &Setting,
    rounds: usize,
    slow_seconds: f64,
) -> Result<Results, String> {
    machine::build_heapglass(root, target)?;
    let work = machine::build(
        root,
        target,
        Build {
            executable: "peers_bare",
            rival: None,
            flavor: Flavor::NoFramePointers,
        },
    )?;
    std::fs::create_dir_all(&setting.folder)
        .map_err(|error| format!("{}: {error}", setting.folder.display()))?;
    let library = printed(Command::new(&setting.heapglass).arg("preload"))
        .map_err(|error| format!("no library to preload: {error}"))?;
    let mut versions = machine::versions(root);
    let mut rows = Vec::new();
    for subject in subjects(root, setting, &work) {
        eprintln!("{}", subject.name);
        let outcome = match &subject.command {
            Err(reason) => Outcome::Skipped(reason.clone()),
            Ok(words) => {
                if let Some(version) = version(&words[0], subject.name) {
                    versions.insert(format!("{}, recorded", subject.name), version);
                }
                let starts = matches!(subject.goal, Goal::Start(_));
                // A start takes milliseconds, so it needs more rounds.
                let rounds = if starts && !setting.quick { 40 } else { rounds };
                match compare(setting, &subject, words, &library, rounds, slow_seconds) {
                    Ok(measured) => Outcome::Measured(Box::new(measured)),
                    Err(_) if setting.interrupted.load(Ordering::Relaxed) => {
                        let _ = std::fs::remove_dir_all(&setting.folder);
                        return Err("interrupted".to_owned());
                    }
                    Err(reason) => Outcome::Failed(reason),
                }
            }
        };
        if let Outcome::Skipped(reason) | Outcome::Failed(reason) = &outcome {
            eprintln!("  {reason}");
        }
        rows.push(Row {
            name: subject.name,
            title: subject.title,
            goal: subject.goal,
            outcome,
        });
    }
    let _ = std::fs::remove_dir_all(&setting.folder);
    Ok(Results {
        format: 1,
        date: machine::date(),
        machine: machine::machine(),
        versions,
        quick: setting.quick,
        rounds,
        rows,
    })
}

/// Returns all programs, with their commands.
fn subjects(root: &Path, setting: &Setting, work: &Path) -> Vec<Subject> {
    let quick = setting.quick;
    let times = |usually: u32| {
        (if quick { usually / 50 } else { usually })
            .max(1)
            .to_string()
    };
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<OsString>>();
    let installed = |name: &'static str, rest: &[&str]| {
        let program = machine::find(name).ok_or_else(|| format!("{name} is not installed"))?;
        Ok(std::iter::once(program.into_os_string())
            .chain(words(rest))
            .collect())
    };
    let of_work = |name: &str, usually| {
        let mut command = vec![work.as_os_str().to_owned()];
        command.extend(words(&[name, &times(usually)]));
        Ok(command)
    };
    let ratio = |name, title, goal: Option<f64>, saved, command| Subject {
        name,
        title,
        goal: Goal::Ratio(goal, saved),
        with_children: false,
        command,
    };
    let other = |name, title, goal, command| Subject {
        name,
        title,
        goal,
        with_children: matches!(goal, Goal::Children(_)),
        command,
    };
    let sql = format!(
        "create table t(x integer primary key, s text, n int); \
         with recursive c(x) as (select 1 union all select x+1 from c where x<{rows}) \
         insert into t select x, printf('name %d of %d', x*7919%{rows}, x), x%1000 from c; \
         create index i on t(s); \
         select count(*), max(length(s)) from (select s, group_concat(n) from t group by substr(s,1,8)); \
         select count(*) from t a join t b on a.s=b.s where a.n<500;",
        rows = if quick { 60_000 } else { 3_000_000 }
    );
    let script = format!(
        "let n = 0; for (let r = 0; r < {}; r++) {{ \
         const t = JSON.stringify(Array.from({{length: 20000}}, (_, i) => ({{id: i, name: 'vessel ' + i, at: [i, i * 2]}}))); \
         n += JSON.parse(t).length; n += Buffer.from(t).toString('base64').length }} console.log(n)",
        times(400)
    );
    let folder = root.to_string_lossy();
    let log = |rest: &[&str]| {
        let mut all = vec![
            "-C",
            &folder,
            "log",
            "-p",
            "--stat",
            "-C",
            "--output=/dev/null",
        ];
        all.extend(rest);
        installed("git", &all)
    };
    let git = if quick {
        log(&["-n", "50"])
    } else {
        log(&["--histogram", "--find-copies-harder"])
    };
    let children = |each: &str| {
        let loops = format!(
            "i=0; while [ $i -lt {} ]; do {each}; i=$((i+1)); done",
            if quick { 10 } else { 200 }
        );
        installed("sh", &["-c", &loops])
    };
    vec![
        ratio(
            "json",
            "Rust, serde_json",
            Some(1.6),
            5.0,
            of_work("json", 50),
        ),
        ratio(
            "postcard",
            "Rust, postcard",
            Some(1.7),
            2.5,
            of_work("postcard", 70),
        ),
        // There is no goal for the ratio: the program does nothing but allocate and free.
        ratio("churn", "Rust, churn", None, 5.0, of_work("churn-1", 70)),
        ratio(
            "sqlite3",
            "sqlite3, a table and queries in memory",
            Some(1.25),
            2.5,
            installed("sqlite3", &["-init", "/dev/null", ":memory:", &sql]),
        ),
        ratio(
            "git",
            "git log -p --stat of this checkout",
            Some(1.25),
            2.5,
            git,
        ),
        ratio(
            "node",
            "node, JSON and buffers",
            Some(1.35),
            2.5,
            installed("node", &["-e", &script]),
        ),
        ratio(
            "containers",
            "C++ containers and exceptions",
            Some(1.8),
            2.5,
            containers(root, setting).map(|program| {
                let mut command = vec![program.into_os_string()];
                command.extend(words(&[&times(6000)]));
                command
            }),
        ),
        ratio(
            "rustc",
            "rustc compiling regex-syntax",
            Some(2.0),
            2.5,
            rustc(root, setting),
        ),
        other(
            "children",
            "200 processes of git with HEAPGLASS_CHILDREN",
            Goal::Children(1.3),
            children(&format!(
                "git -C '{folder}' log -p --stat --output=/dev/null -n 30"
            )),
        ),
        other(
            "start-git",
            "start of git --version (3 libraries)",
            Goal::Start(10.0),
            installed("git", &["--version"]),
        ),
        other(
            "start-sqlite3",
            "start of sqlite3 -version (6 libraries)",
            Goal::Start(10.0),
            installed("sqlite3", &["-version"]),
        ),
    ]
}

/// Builds the C++ program.
fn containers(root: &Path, setting: &Setting) -> Result<PathBuf, String> {
    let built = setting.folder.join("containers");
    let source = root.join("examples/peers/programs/containers.cpp");
    let mut compiler = Command::new("c++");
    printed(compiler.arg("-O2").arg("-o").arg(&built).arg(source))?;
    Ok(built)
}

/// Returns a command that compiles a crate.
fn rustc(root: &Path, setting: &Setting) -> Result<Vec<OsString>, String> {
    // rustup's starter becomes another program, which is what is to be recorded.
    let of_rustup = || {
        let sysroot = printed(Command::new("rustc").args(["--print", "sysroot"]))?;
        Ok::<_, String>(Path::new(sysroot.to_string_lossy().trim()).join("bin/rustc"))
    };
    let of_debian = Path::new("/usr/bin/rustc");
    let rustc = match std::env::var_os(RUSTC) {
        Some(rustc) => rustc.into(),
        None if of_debian.exists() => of_debian.to_owned(),
        None => of_rustup()?,
    };
    let metadata = printed(
        Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--locked", "--offline"])
            .current_dir(root),
    )?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata.to_string_lossy()).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array();
    let source = packages
        .into_iter()
        .flatten()
        .find(|package| package["name"] == CRATE)
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .ok_or_else(|| format!("the sources of {CRATE} are not here"))?
        .join("src/lib.rs");
    let mut command = vec![rustc.into_os_string()];
    command.extend(
        [
            "--crate-type=rlib",
            "--edition=2021",
            if setting.quick {
                "-Copt-level=0"
            } else {
                "-Copt-level=3"
            },
            "--cap-lints=allow",
        ]
        .map(OsString::from),
    );
    for feature in [
        "std",
        "unicode",
        "unicode-age",
        "unicode-bool",
        "unicode-case",
    ]
    .into_iter()
    .chain([
        "unicode-gencat",
        "unicode-perl",
        "unicode-script",
        "unicode-segment",
    ]) {
        command.extend(["--cfg".into(), format!("feature=\"{feature}\"").into()]);
    }
    command.push("-o".into());
    command.push(setting.folder.join("lib.rlib").into_os_string());
    command.push(source.into_os_string());
    Ok(command)
}

/// Returns what a command prints, without the end of the line.
fn printed(command: &mut Command) -> Result<OsString, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout).into())
    } else {
        Err(format!(
            "{name}: {}: {}",
            output.status,
            text(&output.stderr)
        ))
    }
}

fn version(program: &OsString, name: &str) -> Option<String> {
    let word = match name {
        "sqlite3" => "-version",
        "git" | "node" | "rustc" => "--version",
        _ => return None,
    };
    let printed = printed(Command::new(program).arg(word)).ok()?;
    Some(printed.to_string_lossy().into_owned())
}

/// Runs a program in turns: bare, with heapglass, with heaptrack.
fn compare(
    setting: &Setting,
    subject: &Subject,
    words: &[OsString],
    library: &OsString,
    rounds: usize,
    slow_seconds: f64,
) -> Result<Measured, String> {
    let no_heaptrack = subject.with_children
        || matches!(subject.goal, Goal::Start(_))
        || machine::missing_tool(Profiler::Heaptrack).is_some()
        || exports_malloc(words);
    let mut bare = Vec::new();
    let mut own = Vec::new();
    let mut heaptrack = Vec::new();
    let mut is_slow = false;
    for _ in 0..rounds {
        let once = |how| once(setting, subject, words, library, how);
        bare.push(once(How::Bare)?);
        own.push(once(How::Heapglass)?);
        if !no_heaptrack && !is_slow {
            let times = once(How::Heaptrack)?;
            is_slow = times.wall > slow_seconds;
            heaptrack.push(times);
        }
    }
    let own = compared(&own, &bare).ok_or("there were no rounds")?;
    let heaptrack = compared(&heaptrack, &bare);
    let saved = heaptrack
        .as_ref()
        .map(|heaptrack| each(heaptrack.added, own.added, |theirs, ours| theirs / ours));
    Ok(Measured {
        bare: medians(&bare).ok_or("there were no rounds")?,
        heapglass: own,
        heaptrack,
        saved,
    })
}

/// Returns `true` if a program has its own `malloc`: heaptrack then records nothing.
fn exports_malloc(words: &[OsString]) -> bool {
    let symbols = printed(
        Command::new("nm")
            .arg("-D")
            .arg("--defined-only")
            .arg(&words[0]),
    );
    let symbols = symbols.unwrap_or_default();
    let symbols = symbols.to_string_lossy();
    symbols
        .lines()
        .any(|line| line.split_whitespace().next_back() == Some("malloc"))
}

/// Runs a program once and checks that there is a recording.
fn once(
    setting: &Setting,
    subject: &Subject,
    words: &[OsString],
    library: &OsString,
    how: How,
) -> Result<Times, String> {
    let folder = setting.folder.join("run");
    let left = folder.join("left");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&left).map_err(|error| format!("{}: {error}", left.display()))?;
    let mut command = match how {
        How::Heaptrack => {
            let mut command = Command::new("heaptrack");
            command.arg("-o").arg(left.join("heaptrack")).arg(&words[0]);
            command
        }
        _ => Command::new(&words[0]),
    };
    command.args(&words[1..]);
    without_settings(&mut command);
    if let How::Heapglass = how {
        command
            .env("LD_PRELOAD", library)
            .env("HEAPGLASS_OUT", left.join("recording.hg"));
        if subject.with_children {
            command.env("HEAPGLASS_CHILDREN", "1");
        }
    }
    let process = measure::wait(setting, &mut command, &folder.join("program"))?;
    let recordings = std::fs::read_dir(&left).map_or(0, Iterator::count);
    let is_expected = match how {
        How::Bare => recordings == 0,
        How::Heapglass if subject.with_children => recordings > 10,
        _ => recordings == 1,
    };
    let _ = std::fs::remove_dir_all(&folder);
    if !is_expected {
        return Err(format!("{how:?} left {recordings} recordings"));
    }
    let times = Times {
        processor: process.processor_seconds,
        wall: process.wall_seconds,
    };
    eprintln!(
        "  {:<10} {:>8.3} s of the processor, {:>8.3} s",
        format!("{how:?}").to_lowercase(),
        times.processor,
        times.wall
    );
    Ok(times)
}

fn each(left: Times, right: Times, figure: impl Fn(f64, f64) -> f64) -> Times {
    Times {
        processor: figure(left.processor, right.processor),
        wall: figure(left.wall, right.wall),
    }
}

fn medians(all: &[Times]) -> Option<Times> {
    Some(Times {
        processor: median(all.iter().map(|times| times.processor))?,
        wall: median(all.iter().map(|times| times.wall))?,
    })
}

/// Compares each run with the bare run of its round.
fn compared(all: &[Times], bare: &[Times]) -> Option<Compared> {
    let pairs = |figure: fn(f64, f64) -> f64| -> Vec<Times> {
        let pairs = all.iter().zip(bare);
        pairs
            .map(|(with, bare)| each(*with, *bare, figure))
            .collect()
    };
    Some(Compared {
        runs: all.len(),
        times: medians(all)?,
        ratio: medians(&pairs(|with, bare| with / bare))?,
        added: medians(&pairs(|with, bare| with - bare))?,
    })
}

/// Returns the table of the guide.
pub(crate) fn table(results: &Results) -> String {
    let machine = &results.machine;
    let quick = if results.quick {
        " With `--quick`: the figures mean nothing."
    } else {
        ""
    };
    let mut text = format!(
        "Measured by `cargo peers --unchanged` on {}: {}, {} cores, load {:.1}, Linux {}, {}; medians of {} rounds \
         of runs in turns.{quick}\n\n",
        results.date,
        machine.processor,
        machine.cores,
        machine.load,
        machine.kernel,
        results
            .versions
            .get("heaptrack")
            .map_or("no heaptrack", String::as_str),
        results.rounds,
    );
    // Programs that share the processor with others wait for it, and do not wait equally long.
    let is_busy = machine.load > machine.cores as f64;
    let unit = if is_busy {
        "processor"
    } else {
        "processor, wall"
    };
    if is_busy {
        text +=
            "The machine was busy, so wall times are not shown: they depend on the other work.\n\n";
    }
    let mut rows = vec![vec![
        "recorded unchanged".to_owned(),
        format!("bare: {unit}"),
        format!("heapglass: {unit}"),
        format!("heaptrack: {unit}"),
        "heaptrack adds, times what heapglass adds".to_owned(),
        "goal".to_owned(),
    ]];
    let mut notes = String::new();
    for row in &results.rows {
        match &row.outcome {
            Outcome::Measured(measured) => rows.push(cells(row, measured, is_busy)),
            Outcome::Skipped(reason) => notes += &format!("- {}: skipped: {reason}\n", row.name),
            Outcome::Failed(reason) => notes += &format!("- {}: failed: {reason}\n", row.name),
        }
    }
    text += &crate::table::markdown(&rows);
    if !notes.is_empty() {
        text += "\n";
        text += &notes;
    }
    text
}

fn cells(row: &Row, measured: &Measured, is_busy: bool) -> Vec<String> {
    let is_start = matches!(row.goal, Goal::Start(_));
    let seconds = |seconds: f64| {
        if seconds < 0.1 {
            format!("{:.1} ms", seconds * 1e3)
        } else {
            format!("{seconds:.2} s")
        }
    };
    let both = |times: Times, text: &dyn Fn(f64) -> String| {
        let processor = text(times.processor);
        if is_busy {
            processor
        } else {
            format!("{processor}, {}", text(times.wall))
        }
    };
    let ratio = |compared: &Compared| {
        if is_start {
            both(compared.added, &|added| format!("+{}", seconds(added)))
        } else {
            both(compared.ratio, &|ratio| format!("{ratio:.2}x"))
        }
    };
    let none = || "–".to_owned();
    vec![
        row.title.to_owned(),
        both(measured.bare, &seconds),
        ratio(&measured.heapglass),
        measured.heaptrack.as_ref().map_or_else(none, ratio),
        measured
            .saved
            .map_or_else(none, |saved| both(saved, &|saved| format!("{saved:.2}x"))),
        row.goal.text(measured),
    ]
}

impl Goal {
    /// Returns the goal, and whether the time of the processor keeps it.
    fn text(self, measured: &Measured) -> String {
        let ratio = measured.heapglass.ratio.processor;
        let missed = |is_kept: bool| if is_kept { "" } else { " (missed)" };
        match self {
            Goal::Ratio(most, least) => {
                let mut parts = Vec::new();
                if let Some(most) = most {
                    parts.push(format!("at most {most}x{}", missed(ratio <= most)));
                }
                if let Some(saved) = measured.saved {
                    parts.push(format!("{least}x less{}", missed(saved.processor >= least)));
                }
                parts.join(", ")
            }
            Goal::Children(most) => format!("at most {most}x{}", missed(ratio <= most)),
            Goal::Start(most) => {
                let added = measured.heapglass.added.processor * 1e3;
                format!("at most {most} ms{}", missed(added <= most))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(processor: f64, wall: f64) -> Times {
        Times { processor, wall }
    }

    #[test]
    fn runs_are_compared_with_those_of_their_round() {
        let bare = [times(1.0, 2.0), times(2.0, 4.0), times(4.0, 9.0)];
        let with = [times(2.0, 3.0), times(3.0, 8.0), times(5.0, 9.0)];
        let compared = compared(&with, &bare).expect("runs");
        assert_eq!(compared.runs, 3);
        assert_eq!(compared.times, times(3.0, 8.0));
        assert_eq!(compared.ratio, times(1.5, 1.5));
        assert_eq!(compared.added, times(1.0, 1.0));
        assert_eq!(super::compared(&[], &bare), None);
    }

    #[test]
    fn a_goal_that_is_missed_is_marked() {
        let compared = |ratio, added| Compared {
            runs: 1,
            times: times(0.0, 0.0),
            ratio: times(ratio, ratio),
            added: times(added, added),
        };
        let measured = Measured {
            bare: times(1.0, 1.0),
            heapglass: compared(1.5, 0.5),
            heaptrack: Some(compared(3.0, 2.0)),
            saved: Some(times(4.0, 4.0)),
        };
        let text = |goal: Goal| goal.text(&measured);
        assert_eq!(text(Goal::Ratio(Some(1.6), 2.5)), "at most 1.6x, 2.5x less");
        assert_eq!(
            text(Goal::Ratio(Some(1.25), 5.0)),
            "at most 1.25x (missed), 5x less (missed)"
        );
        assert_eq!(text(Goal::Ratio(None, 2.5)), "2.5x less");
        assert_eq!(text(Goal::Children(1.3)), "at most 1.3x (missed)");
        assert_eq!(text(Goal::Start(10.0)), "at most 10 ms (missed)");
    }
}
