//! Builds, records and judges programs.

use crate::leaks;
use crate::program::{Generator, Program};
use crate::silence::Silent;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A level of debug information.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    flag: &'static str,
    /// `true` if leaks must be found.
    finds_leaks: bool,
}

pub(crate) const LEVELS: [Level; 3] = [
    Level {
        name: "full",
        flag: "debuginfo=2",
        finds_leaks: true,
    },
    Level {
        name: "limited",
        flag: "debuginfo=1",
        finds_leaks: true,
    },
    Level {
        name: "lines",
        flag: "debuginfo=line-tables-only",
        finds_leaks: false,
    },
];

/// Savings of at most this are no wrong `unused_capacity`, bytes: the runtime's own lists.
const SMALL: u64 = 4096;

/// `pinned_pages` of less is true of every program, bytes.
const PAGES: u64 = 64 * 1024;

/// The share of leaks that must be found, percent.
const FOUND: usize = 95;

/// The time between snapshots.
const EVERY: &str = "--snapshot=every:300ms";

/// The time for which a program runs, in milliseconds: the next number if there are no two
/// snapshots.
const TIMES: [u64; 4] = [1_200, 5_000, 20_000, 60_000];

/// The row of a snapshot for blocks that no pointer leads to.
const NOT_REACHED: &str = "not reached at this moment";

/// The verdict on one program.
#[derive(Clone, Debug, Default)]
struct Verdict {
    /// The statements that are not true.
    wrong: Vec<String>,
    /// `Some(false)` if the leak was not found.
    leak: Option<bool>,
}

/// The statements of heapglass about a program.
struct Said {
    live: u64,
    rows: Vec<(String, u64)>,
    findings: Vec<Value>,
}

/// Runs programs and commands in a folder.
pub(crate) struct Judge {
    heapglass: PathBuf,
    /// The program with the near misses that concern libraries.
    silent: PathBuf,
    folder: PathBuf,
    jobs: usize,
}

impl Judge {
    /// Finds the command: `HEAPGLASS`, or the one beside this program.
    pub(crate) fn new(jobs: usize) -> Result<Judge, String> {
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let heapglass = std::env::var_os("HEAPGLASS")
            .map_or_else(|| here.with_file_name("heapglass"), PathBuf::from);
        let silent = here.with_file_name("silent");
        if !heapglass.is_file() {
            return Err(format!(
                "{} is not there; build it with `cargo build --package heapglass`",
                heapglass.display()
            ));
        }
        let folder = std::env::var_os("TRUTH_OUT").map_or("target/truth".into(), PathBuf::from);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let folder = folder.canonicalize().map_err(|error| error.to_string())?;
        Ok(Judge {
            heapglass,
            silent,
            folder,
            jobs: jobs.max(1),
        })
    }

    /// Judges random programs of these seeds at these levels.
    pub(crate) fn random(
        &self,
        generators: &[Generator],
        from: u64,
        to: u64,
        levels: &[Level],
    ) -> bool {
        let all: Vec<(Program, Level)> = levels
            .iter()
            .flat_map(|level| {
                generators.iter().flat_map(move |generator| {
                    (from..=to).map(move |seed| (Program::new(*generator, seed), *level))
                })
            })
            .collect();
        let verdicts = self.each(&all, |(program, level)| {
            let said = self.ask(&program.name, &program.source, *level);
            let mut line = format!("{} {}", level.name, program.name);
            let verdict = match &said {
                Ok(said) => {
                    let _ = write!(line, ": live {}", said.live);
                    verdict(program, said)
                }
                Err(error) => Verdict {
                    wrong: vec![error.clone()],
                    leak: None,
                },
            };
            tell(&mut line, &verdict, program);
            println!("{line}");
            verdict
        });
        let mut is_right = verdicts.iter().all(|verdict| verdict.wrong.is_empty());
        for level in levels {
            let of_level = || {
                all.iter()
                    .zip(&verdicts)
                    .filter(|((_, of), _)| of.name == level.name)
            };
            let wrong = of_level()
                .filter(|(_, verdict)| !verdict.wrong.is_empty())
                .count();
            let leaks: Vec<bool> = of_level().filter_map(|(_, verdict)| verdict.leak).collect();
            let found = leaks.iter().filter(|found| **found).count();
            println!(
                "{}: {} programs, {wrong} wrong; {found} of {} leaks found",
                level.name,
                of_level().count(),
                leaks.len()
            );
            is_right &= !level.finds_leaks || found * 100 >= leaks.len() * FOUND;
        }
        is_right
    }

    /// Judges programs about which a kind of finding must be silent.
    pub(crate) fn silence(&self, programs: &[Silent], levels: &[Level]) -> bool {
        let all: Vec<(&Silent, Level)> = levels
            .iter()
            .flat_map(|level| programs.iter().map(move |program| (program, *level)))
            // Programs that are built with libraries have one level.
            .filter(|(program, level)| !program.source.is_empty() || level.name == levels[0].name)
            .collect();
        let wrong = self.each(&all, |(program, level)| {
            let name = format!("silence {} {}", program.kind, program.number);
            let said = if program.source.is_empty() {
                let number = program.number.to_string();
                let words = [
                    self.silent.as_os_str(),
                    program.kind.as_ref(),
                    number.as_ref(),
                ];
                self.record(&name.replace(' ', "_"), &words)
            } else {
                self.ask(&name, &program.source, *level)
            };
            let wrong = match said {
                Ok(said) => not_silent(program, &said),
                Err(error) => vec![error],
            };
            let verdict = if wrong.is_empty() {
                "silent".to_owned()
            } else {
                format!("WRONG {wrong:?}")
            };
            println!("{} {name}: {}: {verdict}", level.name, program.what);
            !wrong.is_empty()
        });
        let wrong = wrong.iter().filter(|wrong| **wrong).count();
        println!("{} programs, {wrong} wrong", all.len());
        wrong == 0
    }

    /// Does `work` for each, with several threads. Returns the results in order.
    fn each<A: Sync, B: Send>(&self, all: &[A], work: impl Fn(&A) -> B + Sync) -> Vec<B> {
        let next = Mutex::new(all.iter().enumerate());
        let results = Mutex::new(Vec::new());
        std::thread::scope(|threads| {
            for _ in 0..self.jobs {
                threads.spawn(|| {
                    loop {
                        let taken = next.lock().expect("no panic").next();
                        let Some((at, item)) = taken else { break };
                        let result = work(item);
                        results.lock().expect("no panic").push((at, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().expect("no panic");
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Builds and records a program, and reads what is said about it.
    fn ask(&self, name: &str, source: &str, level: Level) -> Result<Said, String> {
        let stem = format!("{}_{}", name.replace(' ', "_"), level.name);
        let program = self.folder.join(&stem);
        let file = program.with_extension("rs");
        std::fs::write(&file, source).map_err(|error| error.to_string())?;
        let mut rustc = Command::new("rustc");
        rustc.args([
            "--edition",
            "2021",
            "-A",
            "warnings",
            "-O",
            "-C",
            level.flag,
            "-o",
        ]);
        succeed(rustc.arg(&program).arg(&file))?;
        self.record(&stem, &[program.as_os_str()])
    }

    /// Records a program, which takes its milliseconds as the last word, and reads what is said
    /// about it.
    fn record(&self, stem: &str, program: &[&OsStr]) -> Result<Said, String> {
        let recording = self.folder.join(stem).with_extension("hg");
        // Two snapshots are needed to call a block unreachable. A slow machine takes fewer in the
        // same time, so the program is run again for longer.
        for milliseconds in TIMES {
            let mut run = self.command();
            run.args(["run", "-q", "--force", EVERY, "-o"])
                .arg(&recording)
                .arg("--");
            succeed(run.args(program).arg(milliseconds.to_string()))?;
            let last = self.json(&["report", "--by", "holder", "--at", "last"], &recording);
            let Ok(last) = last else { continue };
            if last["snapshots"]
                .as_array()
                .is_none_or(|taken| taken.len() < 2)
            {
                continue;
            }
            let advice = self.json(&["advise", "--all"], &recording)?;
            let rows = last["rows"].as_array().map_or(&[][..], |rows| rows);
            let outermost = rows.iter().filter(|row| row["depth"] == 0).map(|row| {
                let name = row["name"].as_str().unwrap_or("").to_owned();
                (name, row["retained_bytes"].as_u64().unwrap_or(0))
            });
            return Ok(Said {
                live: last["snapshot"]["live_bytes"].as_u64().unwrap_or(0),
                rows: outermost.collect(),
                findings: advice["findings"].as_array().cloned().unwrap_or_default(),
            });
        }
        let longest = TIMES[TIMES.len() - 1] / 1_000;
        Err(format!(
            "{stem}: no two snapshots were taken in {longest} s"
        ))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.heapglass);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HEAPGLASS_") {
                command.env_remove(name);
            }
        }
        command
    }

    fn json(&self, words: &[&str], recording: &Path) -> Result<Value, String> {
        let text = succeed(self.command().args(words).arg("--json").arg(recording))?;
        serde_json::from_slice(&text).map_err(|error| format!("{words:?}: {error}"))
    }
}

/// Returns the output of a command that must succeed.
fn succeed(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?}: {}\n{said}", output.status))
    }
}

fn kind(finding: &Value) -> &str {
    finding["kind"].as_str().unwrap_or("")
}

fn bytes(finding: &Value) -> u64 {
    finding["saves_bytes"].as_u64().unwrap_or(0)
}

/// Describes a finding in a few words.
fn short(finding: &Value) -> String {
    format!(
        "{} of {} in {}: {} B",
        kind(finding),
        finding["type"].as_str().unwrap_or("?"),
        finding["owner"].as_str().unwrap_or("?"),
        bytes(finding)
    )
}

/// Compares what is said with what is true.
fn verdict(program: &Program, said: &Said) -> Verdict {
    let mut verdict = Verdict::default();
    let leaked = program
        .leak
        .as_ref()
        .map_or(0, |leak| (leak.calls * leak.bytes) as u64);
    let lines = leaks::lines(&program.source);
    let is_lost = |finding: &&Value| {
        let owner = finding["owner"].as_str().unwrap_or("");
        // Line tables have no names of the functions that closures are in.
        matches!(kind(finding), "unreachable" | "cycle")
            && (owner.contains(leaks::FUNCTION)
                || finding["line"]
                    .as_u64()
                    .is_some_and(|line| lines.contains(&line)))
    };
    let (lost, rest): (Vec<&Value>, Vec<&Value>) = said.findings.iter().partition(is_lost);
    let found: u64 = lost.iter().map(|finding| bytes(finding)).sum();
    if program.leak.is_some() {
        // A pointer to a few lost blocks may be left somewhere on the stack.
        verdict.leak = Some(found * 10 >= leaked * 8);
    }
    let blocks: u64 = lost
        .iter()
        .filter_map(|finding| finding["saves_blocks"].as_u64())
        .sum();
    let leaked_blocks = program
        .leak
        .as_ref()
        .map_or(0, |leak| (leak.calls * leak.blocks) as u64);
    if found > leaked || blocks > leaked_blocks {
        verdict.wrong.push(format!(
            "{found} B in {blocks} blocks called lost, {leaked} B in {leaked_blocks} are"
        ));
    }
    let not_reached: u64 = said
        .rows
        .iter()
        .filter(|(name, _)| name.starts_with(NOT_REACHED))
        .map(|row| row.1)
        .sum();
    if not_reached > leaked {
        verdict
            .wrong
            .push(format!("{not_reached} B not reached, {leaked} B are lost"));
    }
    let unused: u64 = rest
        .iter()
        .filter(|finding| kind(finding) == "unused_capacity")
        .map(|finding| bytes(finding))
        .sum();
    let unused_is_wrong = unused > program.unused as u64 + SMALL;
    for finding in rest {
        let is_true = match kind(finding) {
            "unused_capacity" => !unused_is_wrong,
            // Channels of std keep the empty list of the threads that waited.
            "empty_container" => finding["type"] == "Vec<Entry>",
            kind => program.kinds.contains(&kind) || is_of_every_program(finding),
        };
        if !is_true {
            verdict.wrong.push(short(finding));
        }
    }
    for (name, retained) in &said.rows {
        if name.contains("thread-local") && !program.has_thread_locals && *retained > SMALL {
            verdict
                .wrong
                .push(format!("{retained} B held by {name}, which does not exist"));
        }
    }
    verdict
}

/// Adds the verdict to the line of a program.
fn tell(line: &mut String, verdict: &Verdict, program: &Program) {
    if let Some(leak) = &program.leak {
        let found = if verdict.leak == Some(true) {
            "found"
        } else {
            "NOT FOUND"
        };
        let _ = write!(line, ", leak ({}) {found}", leak.name);
    }
    if verdict.wrong.is_empty() {
        *line += ", right";
    } else {
        let _ = write!(line, ", WRONG");
        for wrong in &verdict.wrong {
            let _ = write!(line, "\n    {wrong}");
        }
        let _ = write!(line, "\n    of {:?}", program.shapes);
    }
}

/// Returns `true` for pages at the edges of the heap, which few blocks keep in every program.
fn is_of_every_program(finding: &Value) -> bool {
    kind(finding) == "pinned_pages" && bytes(finding) < PAGES
}

/// Returns the findings of the program's kind.
fn not_silent(program: &Silent, said: &Said) -> Vec<String> {
    said.findings
        .iter()
        .filter(|finding| program.kind == kind(finding))
        .filter(|finding| !is_of_every_program(finding))
        .map(short)
        .collect()
}
